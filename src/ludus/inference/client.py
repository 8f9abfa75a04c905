"""Actors whose decisions an inference server makes. This module needs neither torch nor networks.

A decision depends only on the request and the weights that it names. So a request whose server died is asked
again, of the successor, and gives the same decision: nothing is lost, and nothing happens twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.flow.errors import NotFinite
from ludus.flow.slab import Array
from ludus.inference.link import Link, ServerLost
from ludus.inference.messages import Ask, Kind, NetworkCard, ReplyArrays, ServedMind, check_arrays
from ludus.pool import PoolError
from ludus.rollouts.actor import ActInput, Decision

PATIENCE_S = 300.0  # for an answer, and for a successor of a server that died
RETRY_S = 0.05  # between two tries to find a successor
MAX_LOSSES = 5  # servers that may die at one request


class InferenceClient:
    """Asks one server, and its successors. One thread uses it."""

    def __init__(
        self,
        number: int,
        connect: Callable[[], Link],
        patience_s: float = PATIENCE_S,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Connect at the first request.

        Args:
            number: Number of the server, for messages.
            connect: Connects to the server or its successor; raises ``ServerLost`` while there is none.
            patience_s: See :data:`PATIENCE_S`.
            pause: Sleeps.
        """
        self._number, self._connect = number, connect
        self._patience_s, self._pause = patience_s, pause
        self._link: Link | None = None
        self._asked = 0
        self.losses = 0  #: servers that were lost while they were asked

    def ask(
        self,
        kind: Kind,
        minds: tuple[ServedMind, ...],
        parts: tuple[tuple[int, int], ...] = (),
        step: int = 0,
        arrays: Mapping[str, Array] | None = None,
    ) -> ReplyArrays:
        """Return the answer to a request, asked until some server answers.

        Args:
            kind: See :class:`ludus.inference.messages.Ask`.
            minds: See there.
            parts: See there.
            step: See there.
            arrays: Arrays of the request.

        Raises:
            NotFinite: Weights or observations are not finite.
            PoolError: No server answers, or the request is refused.
        """
        self._asked += 1
        ask = Ask(self._asked, kind, minds, parts, step)
        given = {name: np.ascontiguousarray(a) for name, a in (arrays or {}).items()}
        check_arrays(ask, given)
        lost, since = 0, time.monotonic()
        while True:
            try:
                if self._link is None:
                    self._link = self._connect()
            except ServerLost as error:
                if time.monotonic() - since > self._patience_s:
                    raise self._gone(f"has no successor after {self._patience_s:g} s", error) from error
                self._pause(RETRY_S)
                continue
            try:
                answered = self._link.ask(ask, given, self._patience_s)
            except ServerLost as error:
                self.close()
                self.losses, lost, since = self.losses + 1, lost + 1, time.monotonic()
                if lost >= MAX_LOSSES:
                    raise self._gone(f"died {lost} times at one request", error) from error
                continue
            return self._checked(answered)

    def _gone(self, text: str, error: ServerLost) -> PoolError:
        return PoolError(error, where=f"inference server {self._number} {text}")

    def _checked(self, answered: ReplyArrays) -> ReplyArrays:
        reply = answered.reply
        if reply.diverged:
            raise NotFinite(reply.error)
        if reply.error:
            raise PoolError(reply.error, where=f"inference server {self._number}")
        return answered

    def close(self) -> None:
        """End the connection. The next request makes a new one. Idempotent."""
        if self._link is not None:
            self._link.close()
            self._link = None


def mind_of(card: NetworkCard, policy: int, seed: int) -> ServedMind:
    """Return what decides for ``policy`` by the network of ``card``."""
    return ServedMind(policy, card.name, card.stock, card.version, seed, card.greedy)


class ServedActor:
    """Stands for one network, or for the lanes of all networks of one architecture."""

    def __init__(self, client: InferenceClient, card: NetworkCard, seeds: Mapping[int, int]) -> None:
        """Decide by the network of ``card`` for one policy id.

        Args:
            client: Asks the server.
            card: The network.
            seeds: Seed of the draws of the policy id.
        """
        self._client, self._card = client, card
        self._minds = tuple(mind_of(card, policy, seed) for policy, seed in seeds.items())
        self._several = len(self._minds) > 1

    @classmethod
    def of_lanes(cls, client: InferenceClient, lanes: Mapping[int, tuple[NetworkCard, int]]) -> ServedActor:
        """Return the actor of several lanes: the card of each, all of one architecture, and its seed."""
        made = cls(client, next(iter(lanes.values()))[0], {})
        made._minds = tuple(mind_of(card, lane, seed) for lane, (card, seed) in sorted(lanes.items()))
        made._several = True
        return made

    @property
    def version(self) -> int:
        """Version of the weights; of several lanes, of the first one's."""
        return self._minds[0].version

    @property
    def minds(self) -> tuple[ServedMind, ...]:
        """Weights and draws that decide, by rising policy id."""
        return self._minds

    @property
    def card(self) -> NetworkCard:
        """The network, of lanes one of them."""
        return self._card

    @property
    def memory_shape(self) -> tuple[int, ...] | None:
        """Shape of a row's memory; None without one."""
        return self._card.memory_shape

    def load(self, version: int) -> None:
        """Decide by ``version`` of a learner's weights from now on."""
        (mind,) = self._minds
        if version != mind.version:
            self._minds = (msgspec.structs.replace(mind, stock=version, version=version),)

    def act(self, batch: ActInput) -> Decision:
        """See :meth:`ludus.rollouts.actor.Actor.act`."""
        rows = len(batch.rows)
        arrays = {f"obs.{name}": batch.obs[name] for name in self._card.inputs}
        arrays |= {"mask": batch.mask, "first": batch.is_first, "rows": batch.rows}
        if batch.memory is not None:
            arrays["memory"] = batch.memory
        parts = batch.policies or ((self._minds[0].policy, rows),)
        answer = self._client.ask("act", self._minds, parts, batch.step, arrays).arrays
        self._check(answer, ("actions", "log_prob", "value"), rows)
        versions = answer.get("versions")
        return Decision(
            answer["actions"].astype(np.int32, copy=False),
            answer["log_prob"].astype(np.float32, copy=False),
            answer["value"].astype(np.float32, copy=False),
            answer.get("memory"),
            None if versions is None else versions.astype(np.int32, copy=False),
        )

    def value(
        self, obs: Mapping[str, Array], memory: Array | None, is_first: Array
    ) -> npt.NDArray[np.float32]:
        """See :meth:`ludus.rollouts.actor.Actor.value`. Lanes are not valued: raises ``TypeError``."""
        if self._several:
            raise TypeError("lanes of frozen networks are not valued")
        arrays = {f"obs.{name}": obs[name] for name in self._card.inputs} | {"first": is_first}
        if memory is not None:
            arrays["memory"] = memory
        parts = ((self._minds[0].policy, len(is_first)),)
        answer = self._client.ask("value", self._minds, parts, 0, arrays).arrays
        self._check(answer, ("value",), len(is_first))
        return answer["value"].astype(np.float32, copy=False)

    def digest(self) -> str:
        """Return the digest of the weights that decide."""
        return self._client.ask("digest", self._minds).reply.digest

    def _check(self, arrays: Mapping[str, Array], names: Sequence[str], rows: int) -> None:
        """Check that the arrays of an answer have one row for each of the request. Raises ``PoolError``."""
        for name in (
            *names,
            *(["memory"] if self._card.memory_shape is not None and "actions" in names else []),
        ):
            if name not in arrays or len(arrays[name]) != rows:
                found = f"shape {arrays[name].shape}" if name in arrays else "none"
                raise PoolError(f"answer of an inference server: {name}: {found}, expected {rows} rows")

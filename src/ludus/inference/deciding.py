"""Decisions of an inference server: one request alone, or equal ones of several rollouts in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ludus.flow.errors import NotFinite
from ludus.flow.slab import Array
from ludus.inference.messages import Ask, Reply, check_arrays
from ludus.inference.shelves import Shelves
from ludus.policies.protocol import Network
from ludus.rollouts.actor import ActInput, Decision
from ludus.rollouts.network_actor import NetworkActor

FILL_ROWS = 1024  # rows at which a batch is full
FILL_S = 0.002  # seconds for which a batch that is not full waits


class Recipient(Protocol):
    """Where a request came from."""

    def answer(self, reply: Reply, arrays: Mapping[str, Array]) -> None:
        """Send an answer; nothing happens if the other side has gone."""
        ...


@dataclass(eq=False, slots=True)
class InferenceRequest:
    """A request that was received.

    Args:
        ask: The request.
        arrays: Its arrays.
        recipient: Where it came from.
        since: When it arrived, in seconds.
        rows: Number of its rows.
    """

    ask: Ask
    arrays: Mapping[str, Array]
    recipient: Recipient
    since: float
    rows: int = field(init=False)

    def __post_init__(self) -> None:
        """Check the arrays. Raises ``ValueError``."""
        self.rows = check_arrays(self.ask, self.arrays)

    @property
    def key(self) -> object:
        """Requests with equal ones may be decided in one call."""
        if len(self.ask.minds) > 1 or self.ask.kind == "digest":
            return id(self)
        mind = self.ask.minds[0]
        shapes = tuple((n, a.dtype.str, a.shape[1:]) for n, a in sorted(self.arrays.items()))
        return self.ask.kind, mind.name, mind.stock, mind.greedy, shapes


class Filling:
    """Which requests are decided together, and when.

    Without ``joins`` each is decided alone and at once: its bits do not depend on other rollouts. Otherwise
    a batch is decided when it is full, when its first request has waited, or when all rollouts wait.
    """

    def __init__(self, joins: bool, rows: int = FILL_ROWS, seconds: float = FILL_S) -> None:
        """Bound batches by ``rows`` and ``seconds``."""
        self.joins, self.rows, self.seconds = joins, rows, seconds

    def ready(
        self, waiting: Sequence[InferenceRequest], now: float, recipients: int
    ) -> tuple[list[list[InferenceRequest]], float | None]:
        """Return the batches to decide now, and the seconds until others must be; None without any.

        Args:
            waiting: Requests whose weights are there, oldest first.
            now: The present second.
            recipients: Number of rollouts that are connected.
        """
        if not self.joins:
            return [[request] for request in waiting], None
        batches: dict[object, list[InferenceRequest]] = {}
        for request in waiting:
            batches.setdefault(request.key, []).append(request)
        everyone = len({id(request.recipient) for request in waiting}) >= recipients
        made: list[list[InferenceRequest]] = []
        rest: float | None = None
        for batch in batches.values():
            left = batch[0].since + self.seconds - now
            if everyone or left <= 0 or sum(request.rows for request in batch) >= self.rows:
                made += self._bounded(batch)
            else:
                rest = left if rest is None else min(rest, left)
        return made, rest

    def _bounded(self, batch: list[InferenceRequest]) -> list[list[InferenceRequest]]:
        """Cut a batch into some of at most ``rows`` rows, or of one request."""
        parts: list[list[InferenceRequest]] = [[]]
        for request in batch:
            if parts[-1] and sum(r.rows for r in parts[-1]) + request.rows > self.rows:
                parts.append([])
            parts[-1].append(request)
        return parts


class Decider:
    """Answers batches of requests. One thread calls it."""

    def __init__(self, shelves: Shelves, digest: Callable[[Network], str]) -> None:
        """Decide by the networks of ``shelves``; ``digest`` describes weights."""
        self._shelves, self._digest = shelves, digest
        self.calls, self.rows = 0, 0  #: calls of networks, and rows of all of them

    def answer(self, batch: Sequence[InferenceRequest]) -> None:
        """Answer every request of a batch. Errors become answers."""
        try:
            answers = self._answers(batch)
        except NotFinite as error:
            self._refuse(batch, str(error), diverged=True)
        except Exception as error:
            self._refuse(batch, f"{type(error).__name__}: {error}")
        else:
            self.calls, self.rows = self.calls + 1, self.rows + sum(r.rows for r in batch)
            for request, (reply, arrays) in zip(batch, answers, strict=True):
                request.recipient.answer(reply, arrays)

    def _refuse(self, batch: Sequence[InferenceRequest], text: str, *, diverged: bool = False) -> None:
        for request in batch:
            request.recipient.answer(Reply(request.ask.number, text[:4096], diverged), {})

    def _answers(self, batch: Sequence[InferenceRequest]) -> list[tuple[Reply, dict[str, Array]]]:
        first = batch[0]
        if first.ask.kind == "digest":
            network = self._shelves.network(first.ask.minds[0])
            return [(Reply(first.ask.number, digest=self._digest(network)), {})]
        actor = self._shelves.actor_of(first.ask)
        if first.ask.kind == "value":
            obs, memory, is_first = _joined(batch)
            parts = _apart(batch, {"value": actor.value(obs, memory, is_first)})
        elif len(batch) == 1:
            parts = [_arrays_of(actor.act(_input(first)))]
        else:
            parts = _apart(batch, _arrays_of(self._together(batch, actor)))
        return [(Reply(request.ask.number), part) for request, part in zip(batch, parts, strict=True)]

    def _together(self, batch: Sequence[InferenceRequest], actor: object) -> Decision:
        """Decide for the rows of several rollouts, each with the draws that it has alone."""
        if not isinstance(actor, NetworkActor):
            raise TypeError(f"{type(actor).__name__} decides for one rollout")
        inputs = [_input(request) for request in batch]
        obs, memory, is_first = _joined(batch)
        mask = np.concatenate([given.mask for given in inputs])
        rows = np.concatenate([given.rows for given in inputs])
        draws = None
        if not actor.greedy:
            made = []
            for request, given in zip(batch, inputs, strict=True):
                own = NetworkActor(actor.network, request.ask.minds[0].seed).draws(given)
                assert own is not None
                made.append(own)
            draws = np.concatenate(made)
        return actor.decide(ActInput(obs, mask, memory, is_first, 0, rows), draws)


def _input(request: InferenceRequest) -> ActInput:
    arrays = request.arrays
    obs = {name.removeprefix("obs."): a for name, a in arrays.items() if name.startswith("obs.")}
    rows = arrays["rows"].astype(np.int32, copy=False)
    ask = request.ask
    return ActInput(obs, arrays["mask"], arrays.get("memory"), arrays["first"], ask.step, rows, ask.parts)


def _joined(batch: Sequence[InferenceRequest]) -> tuple[dict[str, Array], Array | None, Array]:
    """Return observations, memory and first decisions of all rows of a batch."""

    def whole(name: str) -> Array:
        parts = [request.arrays[name] for request in batch]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    first = batch[0].arrays
    obs = {name.removeprefix("obs."): whole(name) for name in first if name.startswith("obs.")}
    return obs, whole("memory") if "memory" in first else None, whole("first")


def _arrays_of(decision: Decision) -> dict[str, Array]:
    arrays: dict[str, Array] = {
        "actions": decision.actions,
        "log_prob": decision.log_prob,
        "value": decision.value,
    }
    if decision.memory is not None:
        arrays["memory"] = decision.memory
    if decision.versions is not None:
        arrays["versions"] = decision.versions
    return arrays


def _apart(batch: Sequence[InferenceRequest], arrays: Mapping[str, Array]) -> list[dict[str, Array]]:
    """Return the rows of each request of a batch."""
    parts: list[dict[str, Array]] = []
    end = 0
    for request in batch:
        begin, end = end, end + request.rows
        parts.append({name: a[begin:end] for name, a in arrays.items()})
    return parts

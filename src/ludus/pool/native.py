"""The pool of the compiled games: matches on worker threads, observations written in place."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple, final

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.flow import Lineup, MatchResult, PoolOptions, PoolStats, Slab, StepBatch, Terms, decode_spec
from ludus.flow.slab import Allocator, Array
from ludus.games import registry
from ludus.pool.base import PoolBase
from ludus.pool.core_arguments import encode_lineup, input_bits
from ludus.pool.errors import MatchError
from ludus.pool.orders import Controllers, InPlay, Tags

Rows = npt.NDArray[np.int32]


class StoredSlot(NamedTuple):
    """A slot as a snapshot holds it, for a pool of other settings to take over.

    ``match`` is the match in play as the core stores it, empty if the slot's next one is due; ``next`` is the
    number of that one. ``players``: seat and policy of the match in play.
    """

    next: int
    match: bytes = b""
    players: Sequence[tuple[int, int]] = ()


@final
class NativePool(PoolBase):
    """Match slots of a compiled game, played by threads of the core.

    Implements :class:`ludus.pool.protocol.Pool`. Slot s plays matches s, s + N, s + 2N, ...; match m
    takes all randomness from ``(seed, m)``, so it depends only on the actions, never on threads or
    groups.

    A pool without rows (bots only) needs no slab: ``recv`` and ``send`` continue until :attr:`finished`.
    """

    def __init__(self, game: str, params: Mapping[str, object], lineup: Lineup, options: PoolOptions) -> None:
        """Make the slots and start the threads; matches start at the first attach.

        Args:
            game: Any reference that :func:`ludus.games.registry.find` resolves.
            params: Parameters of the rules.
            lineup: Controllers of each role of a match.
            options: Size, seed and behaviour. ``states`` and the timeouts have no effect here.

        Raises:
            ValueError: Invalid arguments (``ParamError`` and ``PoolError`` of the core included).
        """
        name, native = registry.find(game)
        text = registry.text_params(params)
        super().__init__(decode_spec(native.spec_json(name, text)), lineup, options)
        inputs = input_bits(self._spec, options.inputs)
        self._core = native.make_pool(
            name, text, encode_lineup(self._spec, lineup), lineup.rotate, options, inputs
        )
        self._closer = weakref.finalize(self, self._core.close)
        groups = range(options.groups)
        self._set_rows(
            np.asarray(self._core.row_slot, np.int32),
            np.asarray(self._core.row_seat, np.int32),
            [slice(*self._core.group_rows(g)) for g in groups],
        )
        policies = sorted({c.policy for p in lineup.plans for c in p.controllers if c.policy >= 0})
        self._policy_rows: list[list[tuple[int, Rows]]] = [
            [(p, self._core.policy_rows(g, p)) for p in policies] for g in groups
        ]
        self._final_rows: list[Rows] = [self._core.final_rows(g) for g in groups]
        self._final_obs = [self._final_views(g) for g in groups]
        self._arrivals: list[int] | None = [] if options.log_arrivals else None
        self._follow: deque[int] = deque(options.follow)
        self._slabs: list[Slab | None] = [None] * options.groups
        if self._rows == 0:  # nothing is written; a batch still names a slab
            self._slabs = [Slab(self._spec, 1, 1)] * options.groups

    def _final_views(self, group: int) -> dict[str, Array]:
        views: dict[str, Array] = {}
        for i, t in enumerate(self._spec.observation):
            raw = self._core.final_bytes(group, i).view(t.packed_dtype)
            views[t.name] = raw.reshape(-1, *t.packed_shape)
        return views

    def group_finished(self, group: int) -> bool:
        """Return whether the group has played its matches and all of them have been received."""
        return bool(self._core.group_finished(group))

    def _new_slab(self, steps: int, allocate: Allocator) -> Slab:
        return Slab(self._spec, steps, max(1, self._rows), allocate)

    def attach(self, group: int, slab: Slab) -> None:
        """Let the group write into ``slab`` from t = 0 on; the first attach starts its matches."""
        if self._rows == 0:
            raise ValueError("attach: a pool of bots has no rows, so nothing to attach")
        self._core.attach(group, list(slab.obs.values()), slab.fields(), slab)
        self._slabs[group] = slab

    def recv(self, group: int | None = None) -> StepBatch:
        """Wait for ``group``, or for the group that has been ready longest. Releases the GIL.

        ``policy_rows`` holds every policy of the lineup, with an empty array where none of its rows is
        active. Its arrays, ``final_rows`` and ``final_obs`` are overwritten by the group's next send.
        Receiving a group again before its send returns the same time step, without its results.

        Raises:
            MatchError: A match failed and ``on_error`` is ``"raise"``.
        """
        if group is None and self._follow:
            group = self._follow.popleft()
            g, t, finals, results, counts = self._core.recv(group)
        else:
            g, t, finals, results, counts = self._core.recv(-1 if group is None else group)
        if self._arrivals is not None:
            self._arrivals.append(g)
        if self._raise and results:
            failed = self._core.failure(g)
            if failed is not None:
                slot, match, tick, message = failed
                raise MatchError(self._spec.name, slot, self._seed, match, tick, message)
        slab = self._slabs[g]
        assert slab is not None
        return StepBatch(
            group=g,
            t=t,
            slab=slab,
            rows=self._group_rows[g],
            policy_rows={p: rows[: counts[p]] for p, rows in self._policy_rows[g]},
            final_rows=self._final_rows[g][:finals],
            final_obs={name: a[:finals] for name, a in self._final_obs[g].items()},
            results=[MatchResult(*r) for r in self._core.results(g)] if results else [],
        )

    def send(self, group: int) -> None:
        """Take ``slab.actions[t]`` of the group's active rows and start playing. Never blocks."""
        self._core.send(group)

    def reset(self, slots: Sequence[int]) -> None:
        """Start the slots' next match at their group's next send; a match in play ends truncated there.

        Only for slots of groups that are not playing. Works in every autoreset mode.
        """
        self._core.reset(list(slots))

    def set_mixture(self, plan: int, weights: list[float]) -> None:
        """Set the weights of a plan's controllers for matches that start after the group's next send."""
        self._core.set_mixture(plan, [float(w) for w in weights])

    def set_terms(self, terms: Terms) -> None:
        """Change conditions of play (:meth:`ludus.pool.Pool.set_terms`)."""
        if terms.handover is not None:
            if not 0 <= terms.handover < 2**31:
                raise ValueError(f"handover={terms.handover}, expected >= 0")
            self._core.set_handover(0, terms.handover)
        if terms.spirit is not None:
            self._core.set_spirit(terms.spirit)

    def _set_orders(self, controllers: Controllers, tags: Tags) -> None:
        self._core.set_orders(controllers, tags)

    def _fill_in_play(self, group: int, matches: InPlay) -> None:
        self._core.in_play(group, matches.tags, matches.controllers)

    def random_actions(self, group: int, seed: int = 0) -> None:
        """Fill ``slab.actions[t]`` of a received group with uniformly random legal choices of every head.

        The draw depends only on (seed, match, tick, seat): for benchmarks and tests without a network.
        """
        self._core.random_actions(group, seed)

    def slot_hash(self, slot: int) -> int:
        """Return the game's 64-bit hash of the slot's state, between recv and send of its group."""
        return int(self._core.slot_hash(slot))

    def slot_state(self, slot: int) -> bytes:
        """Return the slot's state as the core stores it, for a search, between recv and send of its group."""
        return self._core.slot_state(slot)

    def slot_tick(self, slot: int) -> int:
        """Return the ticks since the slot's match started, from the game's view."""
        return msgspec.json.decode(self._core.slot_view(slot), type=_ViewTick).tick

    def slot_view(self, slot: int) -> str:
        """Return the slot's state as JSON for viewers, between recv and send of its group."""
        return str(self._core.slot_view(slot))

    @property
    def arrivals(self) -> list[int]:
        """Groups in the order in which ``recv`` returned them, with the option ``log_arrivals``."""
        return list(self._arrivals or ())

    def snapshot(self) -> bytes:
        """Return the exact state of every match, stream and setting.

        Call it between recv and send of all groups.
        """
        return self._core.snapshot()

    def restore(self, data: bytes) -> None:
        """Return to a snapshot of a pool made with the same arguments; threads and groups may differ.

        Attach slabs again afterwards: the current time step is written at t = 0. Games' states are copied
        unchecked: the caller guarantees that a pool of this user wrote the bytes
        (:mod:`ludus.storage.signing`).

        Raises:
            ValueError: Damaged bytes, or bytes of another pool. Nothing has changed.
        """
        self._core.restore(data)

    def snapshot_parts(self, data: bytes) -> list[StoredSlot]:
        """Return the slots of a snapshot that :meth:`restore` would take.

        Raises:
            ValueError: As for :meth:`restore`; matches that are recorded.
        """
        return [StoredSlot(*slot) for slot in self._core.snapshot_parts(data)]

    def snapshot_join(self, slots: Sequence[StoredSlot]) -> bytes:
        """Return a snapshot of this pool with other slots, without orders.

        Args:
            slots: One for each slot of this pool, of the same game and build. A match gets the number before
                ``next``, by which its slot finds the next one; its own draws stay.
        """
        return self._core.snapshot_join(slots)

    def stats(self) -> PoolStats:
        """Return the counters since the pool was made."""
        return PoolStats(*self._core.stats())

    def close(self) -> None:
        """Stop the workers, matches in flight included. Idempotent."""
        self._closer()


class _ViewTick(msgspec.Struct):
    tick: int = 1 << 30

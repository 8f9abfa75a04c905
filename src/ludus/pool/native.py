"""The pool of the compiled games: matches on worker threads, observations written in place."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Literal, final

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, Lineup, MatchResult, PoolStats, Slab, StepBatch, decode_spec
from ludus.flow.names import did_you_mean
from ludus.flow.slab import Array
from ludus.games import registry
from ludus.pool.errors import MatchError
from ludus.pool.orders import InPlay, checked_orders

Rows = npt.NDArray[np.int32]


@final
class NativePool:
    """``slots`` match slots of ``game``, in ``groups`` contiguous groups, on ``threads`` workers.

    Implements :class:`ludus.pool.protocol.Pool`. Slot s plays matches s, s + N, s + 2N, ...; match m
    takes all randomness from ``(seed, m)``, so it depends on the actions alone, never on threads or
    groups. ``game`` is any reference that :func:`ludus.games.registry.find` knows.

    ``threads=0`` plays inside :meth:`recv` on the caller's thread. ``num_matches=M`` plays exactly matches
    0..M-1, then slots idle (:attr:`finished`): evaluations count these, not the first to finish.
    ``autoreset``: ``"same_step"`` shows the next match at once; ``"next_step"`` leaves the finished row
    inactive with its last observation for one step; ``"off"`` leaves it inactive until :meth:`reset`.
    ``truncate_ticks`` cuts a match off (0 = never). ``on_error="raise"`` lets :meth:`recv` raise
    :class:`MatchError` once for a step in which a match threw; ``"truncate"`` reports it in the result
    alone; both end that match truncated.

    ``record`` names the matches whose replay comes in ``MatchResult.replay``, with a state hash every
    ``hash_every`` ticks (empty for a match that failed). ``inputs`` names the observation tensors in use
    (empty = all): a game may leave the others unwritten. ``log_arrivals`` keeps the order in which ``recv()``
    returned groups, in :attr:`arrivals`; ``follow`` makes ``recv()`` return groups in that order first:
    a ready-first run replayed exactly.

    A pool without rows (bots only) needs no slab: ``recv`` and ``send`` continue until :attr:`finished`.
    Raises ``ValueError`` (``ParamError``, ``PoolError``) for invalid arguments.
    """

    def __init__(
        self,
        game: str,
        params: Mapping[str, object] | None = None,
        lineup: Lineup | None = None,
        *,
        slots: int,
        groups: int = 2,
        threads: int = 1,
        seed: int = 0,
        num_matches: int | None = None,
        autoreset: Literal["same_step", "next_step", "off"] = "same_step",
        truncate_ticks: int = 0,
        on_error: Literal["raise", "truncate"] = "raise",
        record: Literal["none", "all"] | Sequence[int] = "none",
        hash_every: int = 100,
        inputs: Sequence[str] = (),
        log_arrivals: bool = False,
        follow: Sequence[int] | None = None,
    ) -> None:
        if lineup is None:
            raise ValueError(f"{game} pool: lineup is missing")
        name, native = registry.find(game)
        text = registry.text_params(params or {})
        self._spec = decode_spec(native.spec_json(name, text))
        self._lineup = lineup
        self._slots, self._groups, self._seed = slots, groups, seed
        if on_error not in ("raise", "truncate"):
            raise ValueError(f"on_error={on_error!r}, expected 'raise' or 'truncate'")
        for key, value, top in (("seed", seed, 2**64), ("truncate_ticks", truncate_ticks, 2**32)):
            if not 0 <= value < top:
                raise ValueError(f"{key}={value}, expected 0..{top - 1}")
        if num_matches is not None and not 0 <= num_matches < 2**62:
            raise ValueError(f"num_matches={num_matches}: expected an integer >= 0")
        if isinstance(record, str) and record not in ("none", "all"):
            raise ValueError(f"record={record!r}, expected 'none', 'all' or match numbers")
        if not 1 <= hash_every < 2**30:
            raise ValueError(f"hash_every={hash_every}, expected a number of ticks >= 1")
        wanted = input_bits(self._spec, inputs)
        self._raise = on_error == "raise"
        self._core = native.make_pool(
            game=name,
            params=text,
            plans=encode_lineup(self._spec, lineup),
            rotate=lineup.rotate,
            slots=slots,
            groups=groups,
            threads=threads,
            seed=seed,
            num_matches=num_matches,
            autoreset=autoreset,
            truncate_ticks=truncate_ticks,
            raise_errors=self._raise,
            record_all=record == "all",
            record_matches=() if isinstance(record, str) else sorted(set(record)),
            hash_every=hash_every,
            inputs=wanted,
        )
        self._closer = weakref.finalize(self, self._core.close)
        self._rows: int = self._core.rows
        self._row_slot = np.asarray(self._core.row_slot, np.int32)
        self._row_seat = np.asarray(self._core.row_seat, np.int32)
        self._group_rows = [slice(*self._core.group_rows(g)) for g in range(groups)]
        policies = sorted({c.policy for p in lineup.plans for c in p.controllers if c.policy >= 0})
        self._policy_rows: list[list[tuple[int, Rows]]] = [
            [(p, self._core.policy_rows(g, p)) for p in policies] for g in range(groups)
        ]
        self._final_rows: list[Rows] = [self._core.final_rows(g) for g in range(groups)]
        self._final_obs = [self._final_views(g) for g in range(groups)]
        self._arrivals: list[int] | None = [] if log_arrivals else None
        self._follow: deque[int] = deque(follow or ())
        self._slabs: list[Slab | None] = [None] * groups
        if self._rows == 0:  # nothing is written; a batch still names a slab
            self._slabs = [Slab(self._spec, 1, 1)] * groups

    def _final_views(self, group: int) -> dict[str, Array]:
        views: dict[str, Array] = {}
        for i, t in enumerate(self._spec.observation):
            raw = self._core.final_bytes(group, i).view(t.packed_dtype)
            views[t.name] = raw.reshape(-1, *t.packed_shape)
        return views

    @property
    def spec(self) -> GameSpec:
        return self._spec

    @property
    def lineup(self) -> Lineup:
        return self._lineup

    @property
    def slots(self) -> int:
        """Slots."""
        return self._slots

    @property
    def rows(self) -> int:
        """``R``: rows of all groups."""
        return self._rows

    @property
    def groups(self) -> int:
        return self._groups

    @property
    def row_slot(self) -> Array:
        """int32[R]: slot of each row."""
        return self._row_slot

    @property
    def row_seat(self) -> Array:
        """int32[R]: seat of each row."""
        return self._row_seat

    def group_rows(self, group: int) -> slice:
        """The contiguous rows of a group."""
        return self._group_rows[group]

    def group_finished(self, group: int) -> bool:
        """Whether the group has played its matches and all of them have been received."""
        return bool(self._core.group_finished(group))

    @property
    def finished(self) -> bool:
        """Whether the ``num_matches`` matches are played and received."""
        return all(self._core.group_finished(g) for g in range(self._groups))

    def slab(self, steps: int) -> Slab:
        """A slab of ``steps`` steps; the core writes into any memory of this process."""
        slab = Slab(self._spec, steps, max(1, self._rows))
        if self._rows:
            slab.row_slot, slab.row_seat = self.row_slot, self.row_seat
        return slab

    def attach(self, group: int, slab: Slab) -> None:
        """The group writes into ``slab`` from t = 0 on; the first attach starts its matches."""
        if self._rows == 0:
            raise ValueError("attach: a pool of bots has no rows, so nothing to attach")
        self._core.attach(group, list(slab.obs.values()), slab.fields(), slab)
        self._slabs[group] = slab

    def recv(self, group: int | None = None) -> StepBatch:
        """Waits for ``group``, or for the group that has been ready longest. Releases the GIL.

        ``policy_rows`` holds every policy of the lineup, with an empty array where none of its rows is
        active. Its arrays, ``final_rows`` and ``final_obs`` are overwritten by the group's next send.
        Receiving a group again before its send returns the same time step, without its results.
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
        """Takes ``slab.actions[t]`` of the group's active rows and starts playing. Never blocks."""
        self._core.send(group)

    def reset(self, slots: Sequence[int]) -> None:
        """The slots start their next match at their group's next send; a match in play ends truncated there.

        Only for slots of groups that are not playing. Works in every autoreset mode.
        """
        self._core.reset(list(slots))

    def set_handover(self, plan: int, ticks: int) -> None:
        """``handover_ticks`` of a plan for matches that start after the group's next send."""
        if not 0 <= ticks < 2**31:
            raise ValueError(f"set_handover: ticks={ticks}, expected >= 0")
        self._core.set_handover(plan, ticks)

    def set_mixture(self, plan: int, weights: list[float]) -> None:
        """Weights of a plan's controllers for matches that start after the group's next send."""
        self._core.set_mixture(plan, [float(w) for w in weights])

    def set_orders(self, orders: npt.NDArray[np.integer], tags: npt.NDArray[np.integer]) -> None:
        """Standing orders for matches that start after the group's next send, until the next call.

        ``orders: [slots, plans]``: index of each plan's controller, -1 = drawn. ``tags: [slots]``: for
        ``MatchResult.tag``. An order for one plan of a team holds for the whole team. Call it when no group
        is playing: then equal seeds give equal matches for any number of threads and groups.
        """
        self._core.set_orders(*checked_orders(self._spec, self._lineup, self._slots, orders, tags))

    def in_play(self, group: int) -> InPlay:
        """Tag and controllers of the match in each slot of a group that is not playing."""
        slots = self._slots * (group + 1) // self._groups - self._slots * group // self._groups
        matches = InPlay(np.zeros(slots, np.uint64), np.full((slots, len(self._lineup.plans)), -1, np.int32))
        self._core.in_play(group, *matches)
        return matches

    def random_actions(self, group: int, seed: int = 0) -> None:
        """Fills ``slab.actions[t]`` of a received group with uniformly random legal choices of every head.

        The draw depends on (seed, match, tick, seat) alone: for benchmarks and tests without a network.
        """
        self._core.random_actions(group, seed)

    def slot_hash(self, slot: int) -> int:
        """The game's 64-bit hash of the slot's state, between recv and send of its group."""
        return int(self._core.slot_hash(slot))

    def slot_state(self, slot: int) -> bytes:
        """The slot's state as the core stores it, for a search, between recv and send of its group."""
        return self._core.slot_state(slot)

    def slot_tick(self, slot: int) -> int:
        """Ticks since the slot's match began, from the game's view."""
        return msgspec.json.decode(self._core.slot_view(slot), type=_Moment).tick

    def slot_view(self, slot: int) -> str:
        """The slot's state as JSON for viewers, between recv and send of its group."""
        return str(self._core.slot_view(slot))

    @property
    def arrivals(self) -> list[int]:
        """Groups in the order in which ``recv`` returned them, if the pool was made with ``log_arrivals``."""
        return list(self._arrivals or ())

    def snapshot(self) -> bytes:
        """The exact state of every match, stream and setting. Call between recv and send of all groups."""
        return self._core.snapshot()

    def restore(self, data: bytes) -> None:
        """Back to a snapshot of a pool made with the same arguments, threads and groups apart.

        Attach slabs again afterwards: the current time step is written at t = 0. Raises ``ValueError``,
        changing nothing, for damaged bytes and for those of another pool. Games' states are copied unchecked:
        the caller guarantees that a pool of this user wrote the bytes (:mod:`ludus.storage.signing`).
        """
        self._core.restore(data)

    def stats(self) -> PoolStats:
        return PoolStats(*self._core.stats())

    def close(self) -> None:
        """Stops workers, matches in flight included. Idempotent."""
        self._closer()

    def __enter__(self) -> NativePool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Moment(msgspec.Struct):
    tick: int = 1 << 30


def input_bits(spec: GameSpec, inputs: Sequence[str]) -> int:
    """Bit i: tensor i of the spec is in use (empty = all). Raises ``ValueError`` with the nearest name."""
    names = [t.name for t in spec.observation]
    for name in inputs:
        if name not in names:
            hint = did_you_mean(name, names, "valid", 0.4)
            raise ValueError(f"inputs: {spec.name} does not observe {name!r}{hint}")
    return sum(1 << i for i, name in enumerate(names) if not inputs or name in inputs)


EncodedController = tuple[int, int, float, str]
EncodedPlan = tuple[list[EncodedController], int, int, int]


def encode_lineup(spec: GameSpec, lineup: Lineup) -> list[EncodedPlan]:
    """Resolves names to numbers. Raises ``ValueError`` with plan, value and nearest valid name."""
    if len(lineup.plans) != spec.seats:
        raise ValueError(f"{spec.name} has {spec.seats} seats, the lineup {len(lineup.plans)} plans")
    names = [b.name for b in spec.bots]

    def bot_index(name: str, where: str) -> int:
        if name in names:
            return names.index(name)
        hint = did_you_mean(name, names, "valid", 0.4)
        raise ValueError(f"{where}: {spec.name} has no bot {name!r}{hint}")

    plans: list[EncodedPlan] = []
    for i, plan in enumerate(lineup.plans):
        where = f"plan {i}"
        if not plan.controllers:
            raise ValueError(f"{where}: no controllers; name a bot or a policy")
        if plan.frame_skip < 0:
            raise ValueError(f"{where}: frame_skip={plan.frame_skip}, expected >= 0 (0 = the game's default)")
        if plan.handover_ticks < 0:
            raise ValueError(f"{where}: handover_ticks={plan.handover_ticks}, expected >= 0")
        if plan.handover_ticks > 0 and not plan.handover_bot:
            raise ValueError(f"{where}: handover_ticks={plan.handover_ticks} without a handover_bot")
        handover = bot_index(plan.handover_bot, f"{where}: handover_bot") if plan.handover_bot else -1
        controllers: list[EncodedController] = []
        for c in plan.controllers:
            if not c.bot and c.policy < 0:
                raise ValueError(f"{where}: {c}: expected a bot, a policy or both")
            if not c.weight >= 0:
                raise ValueError(f"{where}: weight={c.weight} of a controller, expected >= 0")
            bot = bot_index(c.bot, where) if c.bot else -1
            if c.policy >= 0 and bot >= 0 and not spec.bots[bot].demonstrates:
                raise ValueError(f"{where}: {spec.cannot_demonstrate(c.bot)}")
            controllers.append((bot, max(c.policy, -1), c.weight, c.name))
        if not sum(c.weight for c in plan.controllers) > 0:
            raise ValueError(f"{where}: the weights of the controllers sum to 0")
        plans.append((controllers, plan.frame_skip, handover, plan.handover_ticks))
    return plans

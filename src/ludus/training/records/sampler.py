"""A sampler that fills slabs with the decisions of recorded matches, in place of matches that are played."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from ludus.flow import RolloutStats, Slab
from ludus.flow.command import R, SamplerCommand
from ludus.flow.seeds import SEED_ACTING, SEED_EVALUATION, SEED_POOL, derive_seed
from ludus.flow.slab import Array
from ludus.league.matchmaker import LATEST
from ludus.policies.accelerator import executor_of
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.errors import RunFailed
from ludus.presets.hardware import pool_thread_count
from ludus.rollouts import commands
from ludus.rollouts.exchange import TIME_STEP, Facts, Sampler, SamplerState
from ludus.rollouts.match_sampler import NO_WEIGHTS
from ludus.rollouts.network_actor import NetworkActor
from ludus.training.actor_learner.sampler import first_acting
from ludus.training.opponents import opponents_of, policy_ids, trained_rows
from ludus.training.records.held_out import HeldOut
from ludus.training.records.order import RowReader, epoch_order
from ludus.training.records.recorded import Ints, Records, SeatRecord, open_records

EPOCH = "imitation/epoch"  # metric: how often the data set has been read, parts of an epoch included
PLACE, ROWS = "records.place", "records.rows"  # arrays of a snapshot
MOST_AHEAD = 64  # entries that are decoded before a row reads them
AHEAD_BYTES = 256 << 20  # of them, by the mean length of a match


class _RowPlace(NamedTuple):
    """Where a row of the slab is.

    ``entry``: number of its match and seat in the data set's entries. ``at``: its next decision.
    """

    entry: int
    at: int


class RecordSampler:
    """A :class:`ludus.rollouts.exchange.Sampler` of recorded matches.

    Each row of a slab walks through matches of one seat, from their first to their last decision, and takes
    the next one of the epoch's order then. All rows decide in every time step. ``Slab.value`` holds the
    result of the match for the seat: +1, 0, -1, and NaN where it is unknown.
    """

    def __init__(self, records: Records, facts: Facts, policy: int, seed: int, threads: int) -> None:
        """Start before the first decision.

        Args:
            records: The recorded matches.
            facts: Properties of the sampler; each slab has a row for each slot.
            policy: Policy id of the recorded decisions.
            seed: Seed of the order of the matches.
            threads: Threads that decode; they change no result.
        """
        self.records, self._facts, self._policy, self._seed = records, facts, policy, seed
        self._reader = RowReader(records, max(1, threads))
        self._ahead = matches_ahead(records)
        self._epoch, self._next = 0, 0  # of the entry that the next free row takes
        self._order = epoch_order(records.trained, seed, 0)
        self._coming: Ints = np.zeros(0, np.int64)  # order of the next epoch, once it is needed
        self._rows: list[_RowPlace] = []
        self._time_step, self._played = 0, False

    # ---- the interface of samplers -----------------------------------------------------------------

    @property
    def facts(self) -> Facts:
        """See :class:`ludus.rollouts.exchange.Sampler`."""
        return self._facts

    @property
    def state(self) -> SamplerState:
        """See :class:`ludus.rollouts.exchange.Sampler`."""
        return SamplerState(self._time_step, self._played, {})

    def send(self, command: SamplerCommand[R]) -> R:
        """See :class:`ludus.rollouts.exchange.Sampler`. Recorded matches seat no players."""
        return cast(R, self._answer(command))

    def _answer(self, command: SamplerCommand[Any]) -> object:
        match command:
            case commands.LoadWeights():
                for policy, source in command.policies.items():
                    actor = self._facts.actors[policy]
                    if actor.version != source.version:
                        actor.version = source.copy_to(actor.network)
            case commands.MissingPlayers():
                return []
            case commands.SeatPlayers():
                return commands.Seated(True, {})
            case commands.PlayAhead():
                return False
            case commands.CountInPlay():
                return {}
            case commands.LanesInPlay():
                return ()
            case commands.TakeSnapshot():
                return self._snapshot()
            case commands.RestoreMatches():
                self._restore(command.arrays)
            case commands.StartAt():
                self._time_step = command.time_step
            case _:
                pass  # terms and players of matches: none is played
        return None

    def close(self) -> None:
        """Stop the threads. Idempotent."""
        self._reader.close()

    # ---- slabs -------------------------------------------------------------------------------------

    def play(self, slab: Slab, between: Callable[[], None] | None = None) -> RolloutStats:
        """Fill ``slab`` with the next decisions of every row. ``between`` is called once, before it."""
        start = time.perf_counter()
        if between is not None:
            between()
        self._clear(slab)
        if not self._rows:
            self._rows = [_RowPlace(-1, 0)] * slab.rows
        ticks = 0
        free = [(0, row) for row in range(slab.rows)]  # time steps from which rows are to be filled
        while free:
            step, row = heapq.heappop(free)
            where, record = self._readable(row)
            rows = record.rows
            count = len(rows.actions)
            taken = min(count - where.at, slab.steps - step)
            self._fill(slab, (row, step), where.at, record, taken)
            if taken:
                ticks += int(rows.tick[where.at + taken - 1] - rows.tick[where.at]) + 1
            self._rows[row] = _RowPlace(where.entry, where.at + taken)
            if step + taken < slab.steps or (where.at + taken == count and step < slab.steps):
                heapq.heappush(free, (step + taken, row))
        self._time_step += slab.steps
        self._played = True
        total = time.perf_counter() - start
        steps = slab.steps * slab.rows
        epochs = self._epoch + self._next / len(self.records.trained)
        return RolloutStats(steps, steps, ticks, total_s=total, wait_s=total, numbers={EPOCH: epochs})

    def _readable(self, row: int) -> tuple[_RowPlace, SeatRecord]:
        """Return where a row is, at a decision that is there, and the decisions of its match."""
        empty = 0
        while True:
            where = self._rows[row]
            if where.entry >= 0:
                record = self._record(where.entry)
                if where.at < len(record.rows.actions):
                    return where, record
                empty += len(record.rows.actions) == 0
                if empty > len(self.records.trained):
                    raise RunFailed("no recorded decision can be learned", where=self.records.where)
            self._rows[row] = _RowPlace(self._take(), 0)
            self._read_ahead()

    def _fill(self, slab: Slab, place: tuple[int, int], at: int, record: SeatRecord, taken: int) -> None:
        """Write ``taken`` decisions, from number ``at`` on, and what is observed after them.

        ``place``: row, and the time step of the first.
        """
        (row, step), rows, outcome = place, *record
        count = len(rows.actions)
        shown = min(taken + 1, count - at, slab.steps + 1 - step)  # at the end one more is seen
        seen, decided = slice(step, step + shown), slice(step, step + taken)
        for name, array in slab.obs.items():
            array[seen, row] = rows.obs[name][at : at + shown]
        slab.mask[seen, row] = rows.mask[at : at + shown]
        slab.is_first[seen, row] = 0
        if at == 0:
            slab.is_first[step, row] = 1
        slab.actions[decided, row] = rows.actions[at : at + taken]
        slab.reward[decided, row] = rows.reward[at : at + taken]
        slab.value[seen, row] = outcome
        if taken and at + taken == count:
            ends = slab.truncated if np.isnan(outcome) else slab.terminated
            ends[step + taken - 1, row] = 1

    def _clear(self, slab: Slab) -> None:
        for array in (slab.terminated, slab.truncated, slab.log_prob, slab.final_value, slab.version):
            array[:] = 0
        slab.active[:] = 1
        slab.policy[:] = self._policy

    # ---- the order ---------------------------------------------------------------------------------

    def _take(self) -> int:
        """Return the next entry of the epoch, or of the next epoch after the last one."""
        if self._next == len(self._order):
            self._order = self._following()
            self._coming = np.zeros(0, np.int64)
            self._epoch, self._next = self._epoch + 1, 0
        entry = int(self._order[self._next])
        self._next += 1
        return entry

    def _following(self) -> Ints:
        if not len(self._coming):
            self._coming = epoch_order(self.records.trained, self._seed, self._epoch + 1)
        return self._coming

    def _read_ahead(self) -> None:
        """Let the threads decode the matches of the next entries, and drop those that no row reads."""
        ahead = self._ahead
        coming = self._order[self._next : self._next + ahead]
        if len(coming) < ahead:
            coming = np.concatenate([coming, self._following()[: ahead - len(coming)]])
        used = [where.entry for where in self._rows if where.entry >= 0]
        self._reader.keep(self.records.trained.match[[*used, *coming.tolist()]].tolist())

    def _record(self, entry: int) -> SeatRecord:
        entries = self.records.trained
        return self._reader.record(int(entries.match[entry]), int(entries.seat[entry]))

    # ---- checkpoints -------------------------------------------------------------------------------

    def _snapshot(self) -> dict[str, Array]:
        step: dict[str, Array] = {TIME_STEP: np.array([self._time_step], np.int64)}
        if not self._played:
            return step
        rows = np.array([[where.entry, where.at] for where in self._rows], np.int64)
        return step | {PLACE: np.array([self._epoch, self._next], np.int64), ROWS: rows}

    def _restore(self, arrays: Mapping[str, Array]) -> None:
        """Set the arrays of a snapshot. Raises ``ValueError`` where they do not fit."""
        self._time_step = commands.stored_number(arrays, TIME_STEP)
        if arrays.keys() == {TIME_STEP}:
            return
        entries, slots = len(self.records.trained), self._facts.slots
        place, rows = (_numbers(arrays, n, s) for n, s in ((PLACE, (2,)), (ROWS, (slots, 2))))
        if not (0 <= place[0] < 1 << 40 and 0 <= place[1] <= entries):
            raise ValueError(f"{PLACE}: {place.tolist()}, expected an epoch and at most {entries} entries")
        if rows.min() < 0 or rows[:, 0].max() >= entries:
            raise ValueError(f"{ROWS}: expected numbers of {entries} entries")
        self._epoch, self._next = int(place[0]), int(place[1])
        self._order = epoch_order(self.records.trained, self._seed, self._epoch)
        self._coming = np.zeros(0, np.int64)
        self._rows = [_RowPlace(int(entry), int(at)) for entry, at in rows]
        self._played = True
        self._read_ahead()


def matches_ahead(records: Records) -> int:
    """Return how many entries are decoded before rows read them: as many as fit the memory for them."""
    spec, entries = records.spec, records.trained
    row = spec.mask_size + sum(
        int(np.prod(t.packed_shape)) * np.dtype(t.packed_dtype).itemsize for t in spec.observation
    )
    mean = float(records.dataset.decisions[entries.match, entries.seat].mean())
    return max(1, min(MOST_AHEAD, int(AHEAD_BYTES / (row * mean))))


def _numbers(arrays: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Ints:
    """Return an array of whole numbers. Raises ``ValueError``."""
    array = arrays.get(name)
    if array is None or array.shape != shape or array.dtype != np.int64:
        raise ValueError(f"{name}: expected int64{list(shape)}")
    return cast(Ints, array)


def held_out_of(preset: Preset, sampler: Sampler) -> HeldOut | None:
    """Return what measures a run that learns from recorded matches; None for other runs."""
    if not isinstance(sampler, RecordSampler):
        return None
    seed = derive_seed(preset.run.seed, SEED_EVALUATION)
    return HeldOut(sampler.records, sampler.records.config.held_out_decisions, seed)


def build_record_sampler(preset: Preset, *, slabs: int, restarts: int = 0) -> RecordSampler:
    """Build the sampler of a run that learns from recorded matches.

    Args:
        preset: Settings of the run.
        slabs: Number of slabs that it fills in turn.
        restarts: How often the run's records started again; each time in another order.

    Raises:
        ConfigError: The data set does not fit.
    """
    spec, params = resolve_spec(preset)
    records = open_records(preset)
    seed = preset.run.seed
    acting = first_acting(preset, spec)
    learner = policy_ids(opponents_of(spec, preset)).learner
    allocate = executor_of(acting.device).allocate
    slots, steps = preset.pool.slots, preset.pool.rollout_length
    facts = Facts(
        spec=spec,
        params=params,
        slots=slots,
        all_slots=slots,
        slabs=[Slab(spec, steps, slots, allocate) for _ in range(slabs)],
        labels={f"policy:{learner}": LATEST},
        actors={learner: NetworkActor(acting, derive_seed(seed, SEED_ACTING), NO_WEIGHTS)},
        learned=(),
    )
    own = derive_seed(seed, SEED_POOL, restarts) if restarts else derive_seed(seed, SEED_POOL)
    return RecordSampler(records, facts, trained_rows(spec, preset), own, pool_thread_count(preset))

"""The recorded matches that a run learns from: opened, checked against the game, and tied to the run."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.datasets import DataSet, DataSetError
from ludus.flow import GameSpec
from ludus.flow.inputs.shown import shown
from ludus.flow.names import did_you_mean
from ludus.flow.spec_difference import interface_difference
from ludus.games import replays
from ludus.games.records.rows import MatchRows, read_rows
from ludus.games.registry import spec as game_spec
from ludus.games.registry import text_params
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.training.teacher import RecordedDecisions, data_of, records_of

OBSERVED = (
    "features",
)  # parameters that change only what is observed: the learner's own replace recorded ones
PATH = "algorithm.data"
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Entries:
    """Decisions of ``N`` matches: pairs of a match and a seat, in the order of the matches.

    Args:
        match: ``int64[N]``, indices into the data set, ascending.
        seat: ``int64[N]``.
    """

    match: Ints
    seat: Ints

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.match)


class SeatRecord(NamedTuple):
    """Decisions of one seat in a match.

    Args:
        rows: Its decisions, those that are known.
        outcome: +1 won, 0 drawn, -1 lost; NaN where the result is unknown.
    """

    rows: MatchRows
    outcome: float


@dataclass(frozen=True, slots=True)
class Records:
    """Recorded matches as one run reads them.

    Args:
        dataset: The matches.
        spec: Interface of the learner's game.
        game: The game as the preset names it.
        observed: Parameters of the learner's observation, which replace those of the matches.
        config: Which decisions are learned.
        trained: Decisions that are learned.
        held_out: Decisions that measure the clone.
    """

    dataset: DataSet
    spec: GameSpec
    game: str
    observed: Mapping[str, str]
    config: RecordedDecisions
    trained: Entries
    held_out: Entries
    lock: Lock = field(default_factory=Lock)  # a data set is read by one thread at a time

    @property
    def where(self) -> str:
        """The setting and its value, for messages."""
        return f'{PATH} = "{shown(str(self.dataset.path))}"'

    def read(self, match: int, seats: Collection[int]) -> dict[int, SeatRecord]:
        """Return the decisions of some seats of a match, by seat. Any thread may call it.

        Only decisions that are known are left, and rewards between two of them belong to the earlier one. The
        result of a match that its rules did not end is the last reward.

        Raises:
            ReplayError: A record that does not fit the game, or is damaged.
        """
        with self.lock:
            recorded = self.dataset.match(match)
        reference = "" if self.game == self.spec.name else self.game
        found = read_rows(recorded.replay, reference, self._replaced(recorded.params), seats)
        ended = replays.info(recorded.replay).over
        made = {}
        for rows in found:
            result = math.nan if recorded.outcome is None else float(recorded.outcome[rows.seat])
            own = known_rows(rows, 0.0 if ended or math.isnan(result) else result)
            made[rows.seat] = SeatRecord(own, result)
        return made

    def _replaced(self, params: Mapping[str, str]) -> dict[str, str]:
        return {n: v for n, v in self.observed.items() if params.get(n) != v}


def known_rows(rows: MatchRows, result: float) -> MatchRows:
    """Return the decisions that are shown, with all rewards; ``result`` is added to the last."""
    keep = np.flatnonzero(rows.shown)
    reward = np.zeros(len(keep), np.float32)
    if len(keep):
        owner = np.searchsorted(keep, np.arange(len(rows.shown)), side="right") - 1
        np.add.at(reward, owner[owner >= 0], rows.reward[owner >= 0])
        reward[-1] += np.float32(result)
    if len(keep) == len(rows.shown):
        return rows._replace(reward=reward)
    obs = {name: a[keep] for name, a in rows.obs.items()}
    return MatchRows(
        rows.seat, obs, rows.mask[keep], rows.actions[keep], rows.tick[keep], reward, rows.shown[keep]
    )


def open_records(preset: Preset) -> Records:
    """Open the data set of a preset and check that it fits.

    Raises:
        ConfigError: It is not there, damaged, of another game, or nothing of it is learned.
    """
    config = records_of(preset)
    if config is None:
        raise ConfigError(f"{PATH}: expected a data set")
    spec, params = resolve_spec(preset)
    dataset = open_data(config.data)
    where = f'{PATH} = "{shown(config.data)}"'
    if not len(dataset):
        raise ConfigError(f"{where}: has no matches")
    _check_fits(dataset, preset, spec, params, where)
    records = Records(
        dataset=dataset,
        spec=spec,
        game=preset.game.name,
        observed=_observed(spec, params),
        config=config,
        trained=_entries(dataset, "train", config, where),
        held_out=_entries(dataset, "held_out", config, where),
    )
    _check_frame_skip(records, preset)
    return records


def open_data(path: str) -> DataSet:
    """Open a data set. Raises ``ConfigError``."""
    try:
        return DataSet.open(Path(path))
    except (DataSetError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ConfigError(f"{why}", where=f'{PATH} = "{shown(path)}"') from error


def with_data_path(preset: Preset) -> Preset:
    """Return the preset with an absolute path of its data set, as a run keeps it."""
    if not (data := data_of(preset)):
        return preset
    own = msgspec.structs.replace(preset.algorithm, data=str(Path(data).resolve()))
    return msgspec.structs.replace(preset, algorithm=own)


def data_hash(preset: Preset) -> str:
    """Return the hash of the content of the preset's data set; empty without one. Raises ``ConfigError``."""
    return open_data(data).sha256 if (data := data_of(preset)) else ""


def check_unchanged(preset: Preset, before: str) -> None:
    """Check that the data set of a resumed run is the one that it was started with.

    Args:
        preset: Settings of the run.
        before: Hash of its content when the run was started; empty: unknown.

    Raises:
        ConfigError: It is not there, or has changed.
    """
    now = data_hash(preset)
    if before and now != before:
        raise ConfigError(
            f"the run was started with the content {shown(before[:16])}, now it is {now[:16]}; a run learns "
            "from one data set: name the place of that one, or start another run from these weights "
            "(run.start)",
            where=f'{PATH} = "{shown(data_of(preset))}"',
        )


def _check_fits(
    dataset: DataSet, preset: Preset, spec: GameSpec, params: Mapping[str, str], where: str
) -> None:
    """Raise ``ConfigError`` where recorded matches are not of the preset's game."""
    has = dataset.manifest
    if has.game != spec.name:
        raise ConfigError(
            f"has matches of {shown(has.game)}; expected {spec.name}, the preset's game", where=where
        )
    if has.version != spec.version:
        raise ConfigError(
            f"has matches under version {has.version} of {spec.name}; this is version {spec.version}",
            where=where,
        )
    defaults = {p.name: p.default_value for p in spec.params}
    mine = defaults | dict(params)
    for recorded in has.params:
        try:
            theirs = game_spec(preset.game.name, text_params({**recorded, **_observed(spec, params)}))
        except ValueError as error:
            raise ConfigError(error, where=where) from error
        if (odd := interface_difference(theirs, spec)) is None:
            continue
        differs = [
            f"game.params.{n} = {shown(mine[n])}: the matches have {shown(value)}"
            for n, value in (defaults | recorded).items()
            if n in mine and n not in OBSERVED and not _equal(mine[n], value)
        ]
        why = "; ".join(differs[:4]) or f"{odd.place} is {odd.one}, expected {odd.other}"
        raise ConfigError(f"has matches of another interface: {why}", where=where)


def _equal(one: str, other: str) -> bool:
    """Return whether two parameters are equal, as texts or as numbers (7 and 7.0)."""
    with contextlib.suppress(ValueError):
        return float(one) == float(other)
    return one == other


def _observed(spec: GameSpec, params: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of the learner's observation, defaults included."""
    return {p.name: params.get(p.name, p.default_value) for p in spec.params if p.name in OBSERVED}


def _check_frame_skip(records: Records, preset: Preset) -> None:
    """Raise ``ConfigError`` where recorded seats decide at other ticks than the clone would."""
    spec, entries = records.spec, records.trained
    if spec.turn_based:
        return
    match, seat = int(entries.match[0]), int(entries.seat[0])
    try:
        ticks = records.read(match, (seat,))[seat].rows.tick
    except (ValueError, KeyError) as error:
        raise ConfigError(f"match {match}: {error}", where=records.where) from error
    skip = preset.game.frame_skip or spec.default_frame_skip
    least = int(np.diff(ticks).min()) if len(ticks) > 1 else skip
    if least != skip:
        raise ConfigError(
            f"its players decide every {least} ticks; expected game.frame_skip = {skip}, as the clone does",
            where=records.where,
        )


def _entries(
    dataset: DataSet, split: Literal["train", "held_out"], config: RecordedDecisions, where: str
) -> Entries:
    """Return what is learned of a split. Raises ``ConfigError`` where that is nothing."""
    matches = np.sort(dataset.indices(split))
    name = "held-out matches" if split == "held_out" else "matches to learn from"
    if not len(matches):
        raise ConfigError(f"has no {name}", where=where)
    taken = dataset.decisions[matches] > 0
    if config.players or config.winners:
        names: Counter[str] = Counter()
        for i, index in enumerate(matches):
            match = dataset.match(int(index))
            names.update(match.players)
            for seat, player in enumerate(match.players):
                lost = match.outcome is None or match.outcome[seat] < 0
                if (config.players and player not in config.players) or (config.winners and lost):
                    taken[i, seat] = False
        for player in config.players:
            if player not in names and split == "train":
                there = ", ".join(shown(n) for n, _ in names.most_common(8))
                raise ConfigError(
                    f"algorithm.players: no player is called {shown(player)}{did_you_mean(player, names)}; "
                    f"the players are: {there}",
                    where=where,
                )
    found = np.argwhere(taken).astype(np.int64)
    if not len(found):
        raise ConfigError(
            f"has no {name} with decisions that algorithm.players and winners leave", where=where
        )
    return Entries(matches[found[:, 0]], found[:, 1])

"""Positions of recorded matches: a fixed sample of a data set, spread over its matches."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ludus.analyses.positions.version_reader import AskedPositions, blocks_of
from ludus.analyses.subject import AnalysedGame
from ludus.datasets.dataset import DataSet, RecordedMatch
from ludus.datasets.errors import DataSetError
from ludus.flow.inputs.shown import shown
from ludus.flow.seeds import SEED_ANALYSIS, derive_seed
from ludus.flow.spec import GameSpec
from ludus.flow.spec_difference import interface_difference
from ludus.games import replays
from ludus.games import spec as game_spec
from ludus.games.match import GameError, Match, ParamError
from ludus.games.records.rows import MatchRows, read_rows
from ludus.games.registry import is_python
from ludus.games.replays import READING_PARAMS
from ludus.presets.errors import ConfigError

Split = Literal["held_out", "train", "all"]
BLOCK = 256  # positions of a block, about
_FEW = 3  # values of a parameter in a message
_KEPT_BYTES = 256 << 20  # of blocks that are kept for the next version


class SampledMatch(NamedTuple):
    """Sampled decisions of a match: numbers among all of its decisions, seat by seat, rising."""

    index: int  # type: ignore[assignment]  # tuple.index is hidden
    decisions: tuple[int, ...]


class AnsweredPositions(NamedTuple):
    """``N`` positions of recorded matches and what was played there.

    Attributes:
        asked: The positions, grouped by the parameters of their matches.
        about: For each group, what is known of each of its positions.
    """

    asked: tuple[AskedPositions, ...]
    about: tuple[tuple[RecordedMove, ...], ...]


class RecordedMove(NamedTuple):
    """A recorded decision.

    Attributes:
        match: Place of its match in the data set.
        seat: The seat.
        move: Number of the move in the match, from 1; where seats decide at once, of the seat's decision.
        legal: Number of legal moves.
        played: The recorded move.
        outcome: +1 the seat won, 0 drew, -1 lost; None = unknown.
    """

    match: int
    seat: int
    move: int
    legal: int
    played: int
    outcome: float | None


def sample(
    decisions: npt.NDArray[np.int32], matches: npt.NDArray[np.int64], positions: int, seed: int
) -> list[SampledMatch]:
    """Return at most ``positions`` decisions, spread over the matches as evenly as their lengths allow.

    Args:
        decisions: ``int32[M, seats]``, decisions of all matches.
        matches: Places of the matches that are sampled.
        positions: Number of decisions.
        seed: Determines them.
    """
    rng = np.random.Generator(np.random.Philox(derive_seed(seed, SEED_ANALYSIS)))
    order = rng.permutation(matches)
    total = decisions[order].sum(axis=1, dtype=np.int64)
    shares = _shares(total, positions)
    found = []
    for index, count, share in zip(order.tolist(), total.tolist(), shares.tolist(), strict=True):
        if share:
            chosen = rng.choice(count, share, replace=False)
            found.append(SampledMatch(index, tuple(sorted(chosen.tolist()))))
    return sorted(found)


def _shares(total: npt.NDArray[np.int64], positions: int) -> npt.NDArray[np.int64]:
    """Return how many decisions of each match are sampled: as equal as possible, at most all of them."""
    shares = np.zeros(len(total), np.int64)
    left = min(positions, int(total.sum()))
    while left:
        open_ = np.flatnonzero(shares < total)
        each = left // len(open_)
        if not each:
            shares[open_[:left]] += 1
            break
        more = np.minimum(each, total[open_] - shares[open_])
        shares[open_] += more
        left -= int(more.sum())
    return shares


def blocks(sampled: Sequence[SampledMatch]) -> list[tuple[SampledMatch, ...]]:
    """Return the sample in blocks of about :data:`BLOCK` positions; a match with more is divided."""
    found: list[list[SampledMatch]] = []
    count = BLOCK
    for match in sampled:
        for part in blocks_of(len(match.decisions), BLOCK):
            if count >= BLOCK:
                found.append([])
                count = 0
            found[-1].append(SampledMatch(match.index, match.decisions[part.start : part.stop]))
            count += len(part)
    return [tuple(block) for block in found]


class RecordedPositions:
    """Reader of sampled positions, as weights of one game see them. Any thread may read."""

    def __init__(self, data: DataSet, game: AnalysedGame, named: str = "", *, states: bool = False) -> None:
        """Read positions of ``data``.

        Args:
            data: The data set.
            game: The game of the weights.
            named: A person's reference of a game outside of the package.
            states: Whether a search needs the states of the matches.

        Raises:
            ConfigError: A data set of another game or of other rules of its observations and choices.
            DataSetError: The rules have another version here.
        """
        check_rules(data, game, named)
        if states and is_python(named or game.spec.name):
            raise ConfigError(
                f"{game.spec.name} is written in Python: its recorded positions cannot be searched"
            )
        self._data, self._game, self._named, self._states = data, game, named, states
        self._changes = changes_of(game, named)
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, AnsweredPositions] = OrderedDict()
        self._bytes = 0

    def read(self, number: int, block: Sequence[SampledMatch]) -> AnsweredPositions:
        """Return the positions of block ``number``, without decisions that the record does not show.

        Raises:
            DataSetError: A damaged match.
        """
        with self._lock:
            if number not in self._kept:
                found = self._read(block)
                size = _bytes_of(found)
                if self._bytes + size > _KEPT_BYTES:
                    return found
                self._kept[number] = found
                self._bytes += size
            return self._kept[number]

    def _read(self, block: Sequence[SampledMatch]) -> AnsweredPositions:
        groups: dict[tuple[tuple[str, str], ...], list[_MatchPositions]] = {}
        for chosen in block:
            match = self._data.match(chosen.index)
            try:
                found = self._positions(match, chosen)
            except (ValueError, GameError) as error:
                raise DataSetError(f"{self._data.path}: match {chosen.index}: {error}") from error
            if found.about:
                groups.setdefault(tuple(sorted(found.params.items())), []).append(found)
        asked = tuple(
            AskedPositions(
                dict(params),
                {t.name: np.concatenate([p.obs[t.name] for p in some]) for t in self._game.spec.observation},
                np.concatenate([p.mask for p in some]),
                tuple(state for p in some for state in p.states),
            )
            for params, some in groups.items()
        )
        return AnsweredPositions(
            asked, tuple(tuple(m for p in some for m in p.about) for some in groups.values())
        )

    def _positions(self, match: RecordedMatch, chosen: SampledMatch) -> _MatchPositions:
        rows = read_rows(match.replay, self._named, self._changes)
        counts = [len(row.tick) for row in rows]
        if tuple(counts) != tuple(match.decisions):
            raise ValueError(f"{tuple(counts)} decisions, expected {tuple(match.decisions)}")
        starts = np.cumsum([0, *counts])
        picked: list[tuple[MatchRows, int]] = []
        for number in chosen.decisions:
            seat = int(np.searchsorted(starts, number, "right")) - 1
            at = number - int(starts[seat])
            if rows[seat].shown[at]:
                picked.append((rows[seat], at))
        picked.sort(key=lambda found: int(found[0].tick[found[1]]))
        in_turn = self._game.spec.turn_based
        about = tuple(
            RecordedMove(
                match.index,
                row.seat,
                1 + (int(row.tick[at]) if in_turn else at),
                int(np.count_nonzero(row.mask[at])),
                int(row.actions[at, 0]),
                None if match.outcome is None else float(match.outcome[row.seat]),
            )
            for row, at in picked
        )
        params = {**match.params, **self._changes}
        names = [t.name for t in self._game.spec.observation]
        if not picked:
            return _MatchPositions(params, {}, np.zeros((0, 0), np.uint8), about, ())
        return _MatchPositions(
            params,
            {name: np.stack([row.obs[name][at] for row, at in picked]) for name in names},
            np.stack([row.mask[at] for row, at in picked]),
            about,
            _states(match.replay, params, [int(row.tick[at]) for row, at in picked]) if self._states else (),
        )


class _MatchPositions(NamedTuple):
    """Sampled positions of one match."""

    params: Mapping[str, str]
    obs: Mapping[str, npt.NDArray[np.generic]]
    mask: npt.NDArray[np.uint8]
    about: tuple[RecordedMove, ...]
    states: tuple[bytes, ...]


def _bytes_of(found: AnsweredPositions) -> int:
    arrays = sum(a.nbytes for asked in found.asked for a in (*asked.obs.values(), asked.mask))
    return arrays + sum(len(state) for asked in found.asked for state in asked.states)


def _states(replay: bytes, params: Mapping[str, str], ticks: Sequence[int]) -> tuple[bytes, ...]:
    """Return the states of a recorded match of a compiled game before ``ticks``, which ascend."""
    about = replays.info(replay)
    match = Match(about.game, params, seed=about.seed, match=about.match)
    made: dict[int, list[replays.ReplayDecision]] = {}
    for decision in replays.decisions(replay):
        made.setdefault(decision.tick, []).append(decision)
    found = []
    for tick in ticks:
        while match.tick < tick:
            for decision in made.get(match.tick, ()):
                match.act(decision.seat, *decision.action)
            match.advance()
        found.append(match.state)
    return tuple(found)


def changes_of(game: AnalysedGame, named: str = "") -> dict[str, str]:
    """Return the parameters under which weights see matches of a compiled game, defaults included."""
    if is_python(named or game.spec.name):
        return {}
    declared = {p.name: p.default_value for p in game.spec.params if p.name in READING_PARAMS}
    return {name: game.params.get(name, value) for name, value in declared.items()}


def check_rules(data: DataSet, game: AnalysedGame, named: str = "") -> None:
    """Check that weights can see and answer every match of a data set.

    Raises:
        ConfigError: Another game, or other observations or choices; the message names the differences.
        DataSetError: The rules have another version here.
    """
    theirs = data.manifest.game
    if theirs != game.spec.name:
        raise ConfigError(f"{data.path}: matches of {shown(theirs)}, the weights are of {game.spec.name}")
    data.check_game(named)
    changes = changes_of(game, named)
    for params in data.manifest.params:
        try:
            spec = game_spec(named or theirs, {**params, **changes})
        except ParamError as error:
            raise ConfigError(f"{data.path}: {error}") from error
        odd = interface_difference(spec, game.spec)
        if odd is not None:
            told = "; ".join(differences([params], game)) or f"{odd.place} is another"
            raise ConfigError(f"{data.path}: matches of {shown(theirs)} with other rules: {told}")


def differences(records: Iterable[Mapping[str, str]], game: AnalysedGame) -> list[str]:
    """Return in words the rules in which recorded matches differ from those of weights.

    Args:
        records: Parameters of recorded matches.
        game: The game of the weights.
    """
    given: dict[str, set[str]] = {}
    mine = _rules(game.spec, game.params)
    for params in records:
        for name, value in _rules(game.spec, params).items():
            if value != mine[name]:
                given.setdefault(name, set()).add(value)
    found = []
    for name, values in given.items():
        some = ", ".join(shown(value) for value in sorted(values)[:_FEW])
        found.append(f"{name} is {some}, of the weights {shown(mine[name])}")
    return found


def _rules(spec: GameSpec, params: Mapping[str, str]) -> dict[str, str]:
    """Return all parameters but the observed ones, equal numbers as equal texts."""
    found = {}
    for p in spec.params:
        if p.name not in READING_PARAMS:
            value = params.get(p.name, p.default_value)
            found[p.name] = value if p.kind == "text" else f"{float(value):g}"
    return found


def other_rules(data: DataSet, game: AnalysedGame) -> tuple[str, ...]:
    """Return a note on the rules in which a data set differs from the weights, if any."""
    found = differences(data.manifest.params, game)
    return (f"records with other rules: {'; '.join(found)}",) if found else ()


def matches_of(data: DataSet, split: Split) -> npt.NDArray[np.int64]:
    """Return the places of the matches of a split.

    Raises:
        ConfigError: It has none, or none with a decision.
    """
    found = np.arange(len(data), dtype=np.int64) if split == "all" else data.indices(split)
    if not len(found) or not int(data.decisions[found].sum(dtype=np.int64)):
        held = data.manifest.held_out
        raise ConfigError(
            f"{data.path}: no matches for split {split}: {held} held out, {len(data) - held} to learn from"
        )
    return found


def open_set(path: str) -> DataSet:
    """Open a data set. Raises ``DataSetError``."""
    return DataSet.open(Path(path))


def longest(data: DataSet, matches: npt.NDArray[np.int64], game: AnalysedGame) -> int:
    """Return the moves of the longest of ``matches``; where seats decide at once, of one seat."""
    decisions = data.decisions[matches]
    counts = decisions.sum(axis=1, dtype=np.int64) if game.spec.turn_based else decisions.max(axis=1)
    return int(counts.max())

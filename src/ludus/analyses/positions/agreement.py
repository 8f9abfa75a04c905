"""Recorded moves that a version would play: figures 3c, 4a and 4b of ELF OpenGo.

By version and by stage of the match, with the error of its value against the outcome.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from ludus.analyses.analysis import UNIT, TableCurve, WorkUnit
from ludus.analyses.matches import number, whole, word
from ludus.analyses.positions.recorded import RecordedMove, RecordedPositions, SampledMatch
from ludus.analyses.positions.shares import match_interval, share_cells
from ludus.analyses.positions.version_reader import BEST, MOST_PLAYERS, ReaderShelf, check_answers
from ludus.analyses.record import Cell, Line, RecordColumn, RecordTable
from ludus.analyses.subject import AnalysedGame, KeptVersion, analysed_game
from ludus.evaluation.evaluate import decide_game
from ludus.evaluation.play import UNIFORM
from ludus.evaluation.settings import MatchHooks
from ludus.flow.seeds import SEED_ANALYSIS, derive_seed
from ludus.games import spec as game_spec
from ludus.presets.config import Device
from ludus.presets.errors import ConfigError

_NONE = -1  # version of a player that is none
MOST_STAGES = 16
OPENGO_STAGES = (60, 120, 180)
NOTES = (
    "positions of one match are not independent: Wilson's interval takes them as independent, the one by "
    "matches draws whole matches",
    "uniform play is drawn once; its expected share follows from the number of legal moves; its value is 0, "
    "so its error is that of knowing nothing",
)


class AgreementAnalysis:
    """Recorded moves and outcomes foretold. See :class:`ludus.analyses.analysis.Analysis`."""

    name: ClassVar[str] = "agreement"
    title: ClassVar[str] = "Agreement with recorded moves"
    curves: ClassVar[tuple[TableCurve, ...]] = (
        TableCurve(0, "version", ("top 1", f"top {BEST}")),
        TableCurve(1, "version", ("top 1",), "low", "high", by="moves"),
        TableCurve(2, "version", ("error",), "low by matches", "high by matches", by="moves"),
    )

    @staticmethod
    def tables(lines: Sequence[Line]) -> tuple[RecordTable, ...]:
        """Return agreement by player, agreement by player and stage, and errors of the value."""
        players: dict[str, list[Line]] = {}
        stages: dict[str, int] = {}
        for line in lines:
            _check(line)
            players.setdefault(word(line, "player"), []).append(line)
            stages[word(line, "moves")] = _first(word(line, "moves"))
        if len(players) > MOST_PLAYERS or len(stages) > MOST_STAGES:
            raise ValueError(f"{len(players)} players and {len(stages)} stages")
        in_order = sorted(stages, key=lambda stage: stages[stage])
        return _agreement(players), _by_stage(players, in_order), _errors(players, in_order)


def _first(stage: str) -> int:
    """Return the first move of a stage (``61-120``, ``181+``). Raises ``ValueError`` for another text."""
    first, dash, _ = stage.partition("-")
    return int(first if dash else stage.removesuffix("+"))


def _last(stage: str) -> float:
    return float("inf") if stage.endswith("+") else int(stage.partition("-")[2])


def _check(line: Line) -> None:
    """Raise ``ValueError`` for a line that cannot be."""
    stage, move = word(line, "moves"), whole(line, "move")
    if not _first(stage) <= move <= _last(stage):
        raise ValueError(f"move {move} in stage {stage!r}")
    legal, rank = whole(line, "legal"), whole(line, "rank")
    if legal < 1 or not 0 <= rank <= min(BEST, legal):
        raise ValueError(f"rank {rank} among {legal} legal moves")
    if line["outcome"] is not None and abs(number(line, "outcome")) > 1.0:
        raise ValueError(f"outcome {line['outcome']!r}")
    number(line, "value")
    whole(line, "match_index")


_WHO = (RecordColumn("version"), RecordColumn("player"))
_ENDS = (RecordColumn("low", "%", 1), RecordColumn("high", "%", 1))
_BY_MATCHES = (RecordColumn("low by matches", "%", 1), RecordColumn("high by matches", "%", 1))


def _who(lines: Sequence[Line]) -> tuple[Cell, Cell]:
    version = whole(lines[0], "version")
    return version if version != _NONE else None, word(lines[0], "player")


def _agree(line: Line, best: int) -> bool:
    return 0 < whole(line, "rank") <= best


def _top(lines: Sequence[Line], best: int) -> tuple[Cell, ...]:
    """Return the share of recorded moves among the ``best`` first, with both intervals."""
    agreed = [_agree(line, best) for line in lines]
    by_matches = match_interval(agreed, [whole(line, "match_index") for line in lines])
    return (*share_cells(sum(agreed), len(agreed)), *by_matches)


def _expected(lines: Sequence[Line], best: int) -> Cell:
    """Return the share that uniform play expects; None of another player."""
    if word(lines[0], "player") != UNIFORM:
        return None
    return sum(min(1.0, best / whole(line, "legal")) for line in lines) / len(lines)


def _agreement(players: Mapping[str, Sequence[Line]]) -> RecordTable:
    rows = []
    for lines in players.values():
        floor = "floor" if whole(lines[0], "version") <= 0 else ""
        matches = len({whole(line, "match_index") for line in lines})
        top, more = _top(lines, 1), _top(lines, BEST)
        rows.append(
            (
                *_who(lines),
                floor,
                len(lines),
                matches,
                *top,
                _expected(lines, 1),
                *more[:1],
                *more[3:],
                _expected(lines, BEST),
            )
        )
    columns = (
        *_WHO,
        RecordColumn("is"),
        RecordColumn("positions"),
        RecordColumn("matches"),
        RecordColumn("top 1", "%", 1),
        *_ENDS,
        *_BY_MATCHES,
        RecordColumn("expected", "%", 1),
        RecordColumn(f"top {BEST}", "%", 1),
        RecordColumn(f"low of {BEST}", "%", 1),
        RecordColumn(f"high of {BEST}", "%", 1),
        RecordColumn(f"expected of {BEST}", "%", 1),
    )
    return RecordTable("Recorded moves among the likeliest ones of each player", columns, tuple(rows))


def _stages(lines: Sequence[Line], stages: Sequence[str]) -> Iterable[tuple[str, list[Line]]]:
    found: dict[str, list[Line]] = {stage: [] for stage in stages}
    for line in lines:
        found[word(line, "moves")].append(line)
    return [(stage, some) for stage, some in found.items() if some]


def _by_stage(players: Mapping[str, Sequence[Line]], stages: Sequence[str]) -> RecordTable:
    rows = []
    for lines in players.values():
        for stage, some in _stages(lines, stages):
            more = share_cells(sum(_agree(line, BEST) for line in some), len(some))
            rows.append((*_who(lines), stage, len(some), *_top(some, 1), _expected(some, 1), more[0]))
    columns = (
        *_WHO,
        RecordColumn("moves"),
        RecordColumn("positions"),
        RecordColumn("top 1", "%", 1),
        *_ENDS,
        *_BY_MATCHES,
        RecordColumn("expected", "%", 1),
        RecordColumn(f"top {BEST}", "%", 1),
    )
    return RecordTable("Agreement by stage of the match", columns, tuple(rows))


def _errors(players: Mapping[str, Sequence[Line]], stages: Sequence[str]) -> RecordTable:
    """Return mean squared errors of the value against the outcome, where that is known."""
    rows: list[tuple[Cell, ...]] = []
    for lines in players.values():
        for stage, some in (("all", list(lines)), *_stages(lines, stages)):
            known = [line for line in some if line["outcome"] is not None]
            if not known:
                continue
            errors = [(number(line, "value") - number(line, "outcome")) ** 2 for line in known]
            mean = sum(errors) / len(errors)
            ends = match_interval(errors, [whole(line, "match_index") for line in known])
            rows.append((*_who(lines), stage, len(known), mean, *ends))
    columns = (
        *_WHO,
        RecordColumn("moves"),
        RecordColumn("positions"),
        RecordColumn("error", "", 3),
        RecordColumn("low by matches", "", 3),
        RecordColumn("high by matches", "", 3),
    )
    return RecordTable("Mean squared error of the value against the outcome", columns, tuple(rows))


# ---- stages and answers ------------------------------------------------------------------------------


def asked_game(references: Sequence[str], named: str = "", *, searched: bool) -> AnalysedGame:
    """Return the game of weights: of two seats, with one choice a decision.

    Args:
        references: The weights.
        named: The game as a person named it, where it is neither built in nor installed.
        searched: Whether they search, which the game must allow.

    Raises:
        ConfigError: Another game, or weights of different games.
        StorageError: No such weights.
    """
    if searched:
        game = analysed_game(references, named)
    else:
        name, params = decide_game(references, named)
        game = AnalysedGame(game_spec(name, params), params)
    spec = game.spec
    if spec.seats != 2:
        raise ConfigError(f"{spec.name} has {spec.seats} seats, expected a game of two")
    if len(spec.heads) != 1 or spec.heads[0].kind != "discrete":
        heads = ", ".join(head.name for head in spec.heads)
        raise ConfigError(f"{spec.name} decides by {heads}: expected one discrete choice a decision")
    return game


def stages_of(text: str) -> tuple[int, ...]:
    """Return the last moves of stages: ``60,120,180``. Raises ``ConfigError`` for another text."""
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    rising = all(a < b for a, b in zip((0, *found), found, strict=False))
    if not found or not rising or len(found) >= MOST_STAGES or found[-1] > 1_000_000:
        raise ConfigError(f"stages {text!r}: expected rising numbers of moves, as 60,120,180")
    return found


def default_stages(game: AnalysedGame, longest: int) -> tuple[int, ...]:
    """Return OpenGo's stages on boards of 19 lines, thirds of the longest match elsewhere.

    Args:
        game: The game.
        longest: Moves of the longest match.
    """
    if game.spec.name == "go" and game.params.get("size") == "19":
        return OPENGO_STAGES
    third = max(1, -(-longest // 3))
    return third, 2 * third


def stage_name(move: int, stages: Sequence[int]) -> str:
    """Return the stage of a move: ``61-120``, ``181+``."""
    first = 1
    for last in stages:
        if move <= last:
            return f"{first}-{last}"
        first = last + 1
    return f"{first}+"


def agreement_units(
    positions: RecordedPositions,
    blocks: Sequence[Sequence[SampledMatch]],
    versions: Iterable[KeptVersion],
    visits: int,
    stages: Sequence[int],
    game: AnalysedGame,
    seed: int,
    device: Device = "auto",
) -> list[WorkUnit]:
    """Return the units of an analysis: a version and a block of matches each, uniform play last.

    Args:
        positions: Reads the sample.
        blocks: The sample.
        versions: The versions.
        visits: Visits of a decision; 0 = the network alone.
        stages: Last moves of the stages but the last one.
        game: The game of the versions.
        seed: Seed of all draws.
        device: Device of the networks.

    Raises:
        ConfigError: More answers than a record holds.
    """
    versions = list(versions)
    positions_asked = sum(len(match.decisions) for block in blocks for match in block)
    check_answers(len(versions) + 1, positions_asked, "positions")
    shelf = ReaderShelf(game, device)

    def asked(version: KeptVersion, number: int) -> WorkUnit:
        name = f"{version.name}, block {number}"
        drawn = derive_seed(seed, SEED_ANALYSIS, zlib.crc32(name.encode()))

        def answer(hooks: MatchHooks) -> list[Line] | None:
            reader, found = shelf.reader(version.reference), positions.read(number, blocks[number])
            lines = []
            for some, about in zip(found.asked, found.about, strict=True):
                answers = reader.answers(game.spec.name, some, visits, drawn, hooks.should_stop)
                if visits and hooks.should_stop is not None and hooks.should_stop():
                    return None
                lines += [
                    _line(name, version, move, given.moves, given.value, stages)
                    for move, given in zip(about, answers, strict=True)
                ]
            return lines

        return _unit(name, blocks[number], answer)

    floor = KeptVersion(UNIFORM, _NONE, UNIFORM)

    def uniform(number: int) -> WorkUnit:
        name = f"{UNIFORM}, block {number}"

        def answer(_: MatchHooks) -> list[Line]:
            rng = np.random.Generator(
                np.random.Philox(derive_seed(seed, SEED_ANALYSIS, zlib.crc32(name.encode())))
            )
            found = positions.read(number, blocks[number])
            return [
                _line(name, floor, move, rng.permutation(np.flatnonzero(legal))[:BEST].tolist(), 0.0, stages)
                for some, about in zip(found.asked, found.about, strict=True)
                for legal, move in zip(some.mask, about, strict=True)
            ]

        return _unit(name, blocks[number], answer)

    numbers = range(len(blocks))
    return [
        *(asked(version, number) for version in versions for number in numbers),
        *(uniform(number) for number in numbers),
    ]


def _unit(
    name: str, block: Sequence[SampledMatch], answer: Callable[[MatchHooks], list[Line] | None]
) -> WorkUnit:
    return WorkUnit(name, sum(len(match.decisions) for match in block), answer, plays=False)


def _line(
    unit: str,
    player: KeptVersion,
    move: RecordedMove,
    best: Sequence[int],
    value: float,
    stages: Sequence[int],
) -> Line:
    return {
        UNIT: unit,
        "player": player.name,
        "version": player.version,
        "match_index": move.match,
        "seat": move.seat,
        "move": move.move,
        "moves": stage_name(move.move, stages),
        "legal": move.legal,
        "rank": 1 + best.index(move.played) if move.played in best else 0,
        "value": value,
        "outcome": move.outcome,
    }

"""Ladders by version: figures 4c and 5 of ELF OpenGo.

Half of a suite's ladders pay for the side to move, so that always running, never running and a coin all have
50%. The exact reader that made the suite has 100%.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from ludus.analyses.analysis import UNIT, TableCurve, WorkUnit
from ludus.analyses.matches import number, whole, word
from ludus.analyses.positions.shares import SHARE, share_cells
from ludus.analyses.positions.version_reader import (
    MOST_PLAYERS,
    AskedPositions,
    ReaderShelf,
    blocks_of,
    check_answers,
)
from ludus.analyses.record import Cell, Line, RecordColumn, RecordTable
from ludus.analyses.subject import AnalysedGame, KeptVersion
from ludus.evaluation.play import UNIFORM
from ludus.evaluation.settings import MatchHooks
from ludus.flow.seeds import SEED_ANALYSIS, derive_seed
from ludus.games.go_ladders import SIZES, LadderScenario, ladder_suite, read_ladder
from ludus.games.match import Match, ParamError
from ludus.games.records.ladder_files import LadderFiles
from ludus.presets.config import Device
from ludus.presets.errors import ConfigError

GO = "go"
COIN, ALWAYS, NEVER, SOLVER = "coin", "always runs", "never runs", "exact reader"
#: Players without weights, in the order of their rows.
FLOORS = (COIN, UNIFORM, ALWAYS, NEVER)
BLOCK = 32  # ladders of a unit
MOST = 1000  # ladders of an analysis
_NONE = -1  # version of a player that is none
_LENGTHS = (5, 10, 20, 40)  # last plies of each class of lengths
_IS = {SOLVER: "ceiling"} | dict.fromkeys(FLOORS, "floor")
NOTE = (
    "the stones of a ladder are set up: the network sees no moves before, as at the start of a match with "
    "stones set up"
)
RICH_NOTE = "features = rich: the network observes which chains a ladder takes, so it need not read them"


def notes_of(params: Mapping[str, str]) -> tuple[str, ...]:
    """Return what a reader of the answers must know, for networks of a game with ``params``."""
    return (NOTE, RICH_NOTE) if params.get("features") == "rich" else (NOTE,)


class LaddersAnalysis:
    """Right answers to ladders by version. See :class:`ludus.analyses.analysis.Analysis`."""

    name: ClassVar[str] = "ladders"
    title: ClassVar[str] = "Ladders by version"
    curves: ClassVar[tuple[TableCurve, ...]] = (
        TableCurve(0, "version", ("share",), "low", "high", by="by", level=0.5, level_name="a coin"),
    )

    @staticmethod
    def tables(lines: Sequence[Line]) -> tuple[RecordTable, ...]:
        """Return right answers by player, by length, and by side and outcome."""
        answers: dict[tuple[str, str], list[Line]] = {}
        for line in lines:
            _check(line)
            answers.setdefault((word(line, "player"), word(line, "by")), []).append(line)
        if len(answers) > MOST_PLAYERS:
            raise ValueError(f"{len(answers)} players, expected at most {MOST_PLAYERS}")
        return _overall(answers), _by_length(answers), _by_kind(answers)


def _check(line: Line) -> None:
    """Raise ``ValueError`` unless the parts of a line agree."""
    paid, ran, right = (line[name] for name in ("pays", "runs", "right"))
    if not all(isinstance(flag, bool) for flag in (paid, ran, right)) or right != (paid == ran):
        raise ValueError(f"pays {paid!r}, runs {ran!r}, right {right!r}")
    if whole(line, "length") < 0 or not 0.0 <= number(line, "chance") <= 1.0:
        raise ValueError(f"length {line['length']!r}, chance {line['chance']!r}")
    if word(line, "to_move") not in ("attacker", "defender"):
        raise ValueError(f"to_move {line['to_move']!r}")


Answers = Mapping[tuple[str, str], Sequence[Line]]
_WHO = (RecordColumn("version"), RecordColumn("player"), RecordColumn("by"))
_COUNTS = (RecordColumn("right"), RecordColumn("ladders"), *SHARE)


def _who(lines: Sequence[Line]) -> tuple[Cell, Cell, Cell]:
    version = whole(lines[0], "version")
    return version if version != _NONE else None, word(lines[0], "player"), word(lines[0], "by")


def _counted(lines: Sequence[Line]) -> tuple[Cell, ...]:
    right = sum(line["right"] is True for line in lines)
    return (right, len(lines), *share_cells(right, len(lines)))


def _overall(answers: Answers) -> RecordTable:
    rows: list[tuple[Cell, ...]] = []
    for (player, _), lines in answers.items():
        failing = [line for line in lines if line["pays"] is False]
        ran = sum(line["runs"] is True for line in failing)
        expected = sum(number(line, "chance") for line in lines) / len(lines)
        rows.append(
            (
                *_who(lines),
                _IS.get(player, ""),
                *_counted(lines),
                expected if player in _IS else None,
                ran / len(failing) if failing else None,
            )
        )
    columns = (
        *_WHO,
        RecordColumn("is"),
        *_COUNTS,
        RecordColumn("expected", "%", 1),
        RecordColumn("ran a ladder that fails", "%", 1),
    )
    return RecordTable("Right answers, floors and the exact reader included", columns, tuple(rows))


def length_class(length: int) -> str:
    """Return the class of a ladder's length in plies: ``6-10``, ``41+``."""
    first = 1
    for last in _LENGTHS:
        if length <= last:
            return f"{first}-{last}"
        first = last + 1
    return f"{first}+"


def _by_length(answers: Answers) -> RecordTable:
    rows: list[tuple[Cell, ...]] = []
    for lines in answers.values():
        found: dict[str, list[Line]] = {}
        for line in sorted(lines, key=lambda line: whole(line, "length")):
            found.setdefault(length_class(whole(line, "length")), []).append(line)
        rows += [(*_who(lines), plies, *_counted(some)) for plies, some in found.items()]
    columns = (*_WHO, RecordColumn("plies"), *_COUNTS)
    return RecordTable("Right answers by length of the ladder", columns, tuple(rows))


_KINDS: tuple[tuple[str, Callable[[Line], bool]], ...] = (
    ("the attacker moves", lambda line: line["to_move"] == "attacker"),
    ("the defender moves", lambda line: line["to_move"] == "defender"),
    ("running pays", lambda line: line["pays"] is True),
    ("running fails", lambda line: line["pays"] is False),
)


def _by_kind(answers: Answers) -> RecordTable:
    rows: list[tuple[Cell, ...]] = []
    for lines in answers.values():
        for kind, wanted in _KINDS:
            some = [line for line in lines if wanted(line)]
            rows.append((*_who(lines), kind, *_counted(some)))
    columns = (*_WHO, RecordColumn("ladders in which"), *_COUNTS)
    return RecordTable("Right answers by side and by whether running pays", columns, tuple(rows))


# ---- ladders and their answers -----------------------------------------------------------------------


def board_size(game: AnalysedGame) -> int:
    """Return the lines of the board. Raises ``ConfigError`` for another game than Go."""
    if game.spec.name != GO:
        raise ConfigError(f"weights of {game.spec.name}: ladders are positions of {GO}")
    return int(Match(GO, game.params).view()["width"])


def own_suite(size: int, seed: int, count: int) -> tuple[LadderScenario, ...]:
    """Return the ladders of a board. Raises ``ConfigError`` for a size or a count out of range."""
    if size not in SIZES:
        raise ConfigError(f"a board of {size} lines, expected {SIZES[0]} to {SIZES[-1]}: ladders need room")
    if not 2 <= count <= MOST or count % 2:
        raise ConfigError(
            f"count = {count}: expected an even number from 2 to {MOST}, half of the ladders pay"
        )
    return ladder_suite(size, seed, count)


def listed_suite(
    files: LadderFiles, size: int, count: int
) -> tuple[tuple[LadderScenario, ...], tuple[str, ...]]:
    """Return the first ``count`` ladders of lists on boards of ``size`` lines, and notes on the others.

    Raises:
        ConfigError: There is none.
    """
    fitting = [scenario for scenario in files.scenarios if scenario.size == size]
    others = sorted({scenario.size for scenario in files.scenarios} - {size})
    if not fitting:
        there = f"; the lists have ladders on {', '.join(f'{n}x{n}' for n in others)}" if others else ""
        first = f"; {': '.join(files.left_out[0])}" if files.left_out else ""
        raise ConfigError(f"no ladder on {size}x{size} in the lists{there}{first}")
    notes = []
    if len(fitting) < len(files.scenarios):
        notes.append(f"{len(files.scenarios) - len(fitting)} ladders on boards of other sizes are left out")
    if files.left_out:
        place, why = files.left_out[0]
        notes.append(f"{len(files.left_out)} positions of the lists are left out, the first: {place}: {why}")
    if len(fitting) > count:
        notes.append(f"the first {count} of {len(fitting)} ladders")
    return tuple(fitting[:count]), tuple(notes)


def ladder_match(scenario: LadderScenario, game: AnalysedGame) -> Match:
    """Return a match in the position of a ladder, under the rules and with the observations of ``game``.

    Raises:
        ConfigError: The rules do not allow the position.
    """
    rules = {name: value for name, value in game.params.items() if name != "handicap"}
    try:
        return Match(GO, {**rules, **scenario.params()})
    except ParamError as error:
        raise ConfigError(f"ladder {scenario.name}: {error}") from error


def asked_ladders(
    scenarios: Sequence[LadderScenario], game: AnalysedGame, *, states: bool = False
) -> AskedPositions:
    """Return the positions of ladders as a player of ``game`` sees them in a match."""
    matches = [ladder_match(scenario, game) for scenario in scenarios]
    seen = [match.observe(s.seat) for match, s in zip(matches, scenarios, strict=True)]
    return AskedPositions(
        game.params,
        {t.name: np.stack([obs[t.name] for obs in seen]) for t in game.spec.observation},
        np.stack([match.legal(s.seat) for match, s in zip(matches, scenarios, strict=True)]),
        tuple(match.state for match in matches) if states else (),
    )


def ladder_units(
    scenarios: Sequence[LadderScenario],
    versions: Iterable[KeptVersion],
    visits: Sequence[int],
    game: AnalysedGame,
    seed: int,
    device: Device = "auto",
) -> list[WorkUnit]:
    """Return the units: every version with each number of visits, then players without weights.

    Args:
        scenarios: The ladders.
        versions: The versions.
        visits: Numbers of visits; 0 = the network alone.
        game: The game of the versions.
        seed: Seed of all draws.
        device: Device of the networks.

    Raises:
        ConfigError: More answers than a record holds.
    """
    versions = list(versions)
    check_answers(len(versions) * len(visits) + len(FLOORS) + 1, len(scenarios), "ladders")
    shelf = ReaderShelf(game, device)
    units = [
        _version_unit(scenarios, block, version, count, shelf, game, seed)
        for version in versions
        for count in visits
        for block in blocks_of(len(scenarios), BLOCK)
    ]
    return [*units, *(_floor_unit(scenarios, player, game, seed) for player in (*FLOORS, SOLVER))]


def reader_name(visits: int) -> str:
    """Return how a version answers: ``policy``, ``64 visits``."""
    return f"{visits} visits" if visits else "policy"


def _version_unit(
    scenarios: Sequence[LadderScenario],
    block: range,
    version: KeptVersion,
    visits: int,
    shelf: ReaderShelf,
    game: AnalysedGame,
    seed: int,
) -> WorkUnit:
    by = reader_name(visits)
    name = f"{version.name}, {by}, from {block.start}"

    def answer(hooks: MatchHooks) -> list[Line] | None:
        some = [scenarios[k] for k in block]
        asked = asked_ladders(some, game, states=visits > 0)
        drawn = derive_seed(seed, SEED_ANALYSIS, zlib.crc32(name.encode()))
        answers = shelf.reader(version.reference).answers(GO, asked, visits, drawn, hooks.should_stop)
        if visits and hooks.should_stop is not None and hooks.should_stop():
            return None
        return [
            _line(name, version.name, by, version.version, scenario, found.moves[0])
            for scenario, found in zip(some, answers, strict=True)
        ]

    return WorkUnit(name, len(block), answer, plays=False)


def _line(
    unit: str,
    player: str,
    by: str,
    version: int,
    scenario: LadderScenario,
    move: int,
    chance: float | None = None,
) -> Line:
    """Return the line of an answer. ``chance``: of a right answer; None: the player draws none."""
    right = scenario.answered(move)
    return {
        UNIT: unit,
        "player": player,
        "by": by,
        "version": version,
        "ladder": scenario.name,
        "length": scenario.length,
        "to_move": scenario.to_move,
        "pays": scenario.pays,
        "runs": right == scenario.pays,
        "right": right,
        "move": move,
        "chance": float(right) if chance is None else chance,
    }


def _floor_unit(scenarios: Sequence[LadderScenario], player: str, game: AnalysedGame, seed: int) -> WorkUnit:
    def answer(_: MatchHooks) -> list[Line]:
        rng = np.random.Generator(
            np.random.Philox(derive_seed(seed, SEED_ANALYSIS, zlib.crc32(player.encode())))
        )
        lines = []
        for scenario in scenarios:
            legal = np.flatnonzero(ladder_match(scenario, game).legal(scenario.seat)).tolist()
            move, chance = floor_answer(player, scenario, legal, rng)
            lines.append(_line(player, player, "", _NONE, scenario, move, chance))
        return lines

    return WorkUnit(player, len(scenarios), answer, plays=False)


def floor_answer(
    player: str, scenario: LadderScenario, legal: Sequence[int], rng: np.random.Generator
) -> tuple[int, float | None]:
    """Return the answer of a player without weights, and its probability of a right one; None: it draws none.

    Args:
        player: One of :data:`FLOORS`, or :data:`SOLVER`.
        scenario: The ladder.
        legal: Its legal moves.
        rng: Draws.
    """
    run = scenario.moves[0]
    stay = next(move for move in reversed(legal) if move not in scenario.moves)  # a pass, where it is legal
    if player == COIN:
        return (run if rng.random() < 0.5 else stay), 0.5
    if player == UNIFORM:
        right = sum(scenario.answered(move) for move in legal)
        return int(legal[int(rng.integers(len(legal)))]), right / len(legal)
    if player == SOLVER:
        reading = read_ladder(scenario.match(), scenario.chain, scenario.to_move == "defender")
        return (reading.right[0] if reading.right else stay), None
    return (run if player == ALWAYS else stay), None

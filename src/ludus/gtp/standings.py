"""Results of matches between programs: their record in a file, rates with intervals, and ratings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Literal

import msgspec
import numpy as np

from ludus.flow.inputs.bounds import Count, Number
from ludus.flow.inputs.decode import to_json
from ludus.gtp.matches import Fixture, MatchConditions, Outcome, Pairing, PlayedFixture, Role, vertices
from ludus.ratings import bradley_terry, wilson_interval
from ludus.storage.errors import CorruptFile
from ludus.storage.files import read_bounded
from ludus.storage.jsonl import MAX_LINE_BYTES, read_jsonl

CONFIDENCE = 0.95
MOST_LINES = 1_000_000
Text = Annotated[str, msgspec.Meta(max_length=1 << 16)]
Natural = Annotated[int, msgspec.Meta(ge=0, le=1 << 31)]


class ContestHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """First line of a record: the conditions of its matches. Fields as in :class:`MatchConditions`.

    ``main_s`` and ``move_s``: seconds for a match and for a move, 0 = no limit.
    """

    size: Natural
    komi: Number
    opening: Natural
    seed: Natural
    referee: Text
    main_s: Natural
    move_s: Natural
    format: Literal[1] = 1


class ContestLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a record: one match.

    Attributes:
        player: The player, as it was given.
        against: The opponent.
        number: Number of the match between the two, from 0.
        colour: Colour of the player.
        outcome: Result for the player. A void match counts nowhere.
        result: Result as in SGF.
        by: End of the match, or the fault that ended it.
        faulty: Who failed: player, against or referee; empty: no one.
        text: The fault in words.
        moves: Moves, the opening's included.
        seconds: Thinking time of the player and of the opponent.
        opening: Moves of the opening.
        names: Name and version of both programs.
        record: All moves: ``D4 C3 pass``.
    """

    player: Text
    against: Text
    number: Natural
    colour: Literal["black", "white"]
    outcome: Outcome
    result: Text
    by: Text
    faulty: Role | Literal[""]
    text: Text
    moves: Natural
    seconds: tuple[Number, Number]
    opening: Natural
    names: tuple[Text, Text]
    record: Text


class OpponentScore(msgspec.Struct, frozen=True):
    """Results of a player against one opponent.

    ``matches``: those that counted; ``void``: those that did not. ``faults`` and ``opponent_faults``:
    matches that the player and the opponent lost by failing. ``rate``: points a match, a draw is half a
    point; ``low`` and ``high``: Wilson's 95% interval. ``distinct``: matches that differ.
    ``seconds_per_move``: thinking time of the player and of the opponent.
    """

    player: str
    against: str
    matches: Count
    won: Count
    drawn: Count
    lost: Count
    void: Count
    faults: Count
    opponent_faults: Count
    rate: float
    low: float
    high: float
    distinct: Count
    mean_moves: float
    seconds_per_move: tuple[float, float]


class ProgramRating(msgspec.Struct, frozen=True):
    """Rating of a program in Elo above the first opponent, which has 0, with its 95% interval.

    ``bound``: ``low`` or ``high`` if it lost or won all of its matches: then its strength lies beyond what
    they can measure.
    """

    player: str
    elo: float
    elo_low: float
    elo_high: float
    points: float
    matches: Count
    bound: Literal["", "low", "high"] = ""


class ContestResult(msgspec.Struct, frozen=True):
    """Result of matches between programs: ``left_out`` are those that failed too often in a row."""

    conditions: ContestHead
    scores: tuple[OpponentScore, ...]
    ratings: tuple[ProgramRating, ...]
    left_out: tuple[str, ...] = ()
    interrupted: bool = False


def head_of(conditions: MatchConditions) -> ContestHead:
    """Return the first line of a record of matches under these conditions."""
    c = conditions
    return ContestHead(c.size, c.komi, c.opening, c.seed, c.referee, c.time.main, c.time.move)


def line_of(played: PlayedFixture, pairing: Pairing, conditions: MatchConditions) -> ContestLine:
    """Return the line of a match."""
    match, seat = played.match, played.fixture.number % 2
    return ContestLine(
        player=pairing.player,
        against=pairing.against,
        number=played.fixture.number,
        colour="black" if seat == 0 else "white",
        outcome=played.outcome,
        result=match.result,
        by=match.by,
        faulty=played.faulty or "",
        text=played.text,
        moves=len(match.moves),
        seconds=(round(match.seconds[seat], 3), round(match.seconds[1 - seat], 3)),
        opening=conditions.opening,
        names=played.names,
        record=vertices(match, conditions.size),
    )


def read_record(path: Path, head: ContestHead) -> list[ContestLine]:
    """Return the matches in a file; empty without a file. An unfinished last line is left out.

    Raises:
        CorruptFile: The file is no record of matches, or one of matches under other conditions.
    """
    lines: list[ContestLine] = []
    for number, row in enumerate(read_jsonl(path), 1):
        try:
            if number == 1:
                _same(path, msgspec.convert(row, ContestHead), head)
            else:
                lines.append(msgspec.convert(row, ContestLine))
        except msgspec.ValidationError as error:
            raise CorruptFile(f"{path}:{number}: no line of a record of matches: {error}") from None
        if number > MOST_LINES:
            raise CorruptFile(f"{path}: more than {MOST_LINES:,} lines")
    if not lines:
        _check_start(path, head)
    return lines


def _check_start(path: Path, head: ContestHead) -> None:
    """Refuse a file without a whole line that is no start of a record: its text would be cut off."""
    if not path.exists():
        return
    wanted = to_json(head) + b"\n"
    if not wanted.startswith(read_bounded(path, MAX_LINE_BYTES)):
        raise CorruptFile(f"{path}: no record of matches; choose another file")


def _same(path: Path, found: ContestHead, wanted: ContestHead) -> None:
    for name in ContestHead.__struct_fields__:
        one, other = getattr(found, name), getattr(wanted, name)
        if one != other:
            raise CorruptFile(
                f"{path}: its matches have {name} = {one!r}, these have {other!r}; "
                "choose another file, or the same conditions"
            )


def over_of(lines: Iterable[ContestLine], pairings: Sequence[Pairing]) -> set[Fixture]:
    """Return which matches of ``pairings`` the lines hold. Void ones are to be played again."""
    numbers = {pairing: k for k, pairing in enumerate(pairings)}
    places = [(Pairing(line.player, line.against), line) for line in lines if line.outcome != "void"]
    return {Fixture(numbers[pairing], line.number) for pairing, line in places if pairing in numbers}


def score_of(pairing: Pairing, lines: Iterable[ContestLine]) -> OpponentScore:
    """Return the results of a pairing."""
    mine = [line for line in lines if (line.player, line.against) == pairing]
    counted = [line for line in mine if line.outcome != "void"]
    won, drawn, lost = (sum(x.outcome == what for x in counted) for what in ("won", "drawn", "lost"))
    points, count = won + drawn / 2.0, len(counted)
    # Rounded outwards: half points of draws make the interval wider than it has to be.
    low = wilson_interval(math.floor(points), count, CONFIDENCE).low
    high = wilson_interval(math.ceil(points), count, CONFIDENCE).high
    moves = max(1, sum(line.moves - min(line.moves, line.opening) for line in counted))
    first, second = (sum(line.seconds[k] for line in counted) * 2.0 / moves for k in (0, 1))
    return OpponentScore(
        *pairing,
        matches=count,
        won=won,
        drawn=drawn,
        lost=lost,
        void=len(mine) - count,
        faults=sum(line.faulty == "player" for line in counted),
        opponent_faults=sum(line.faulty == "against" for line in counted),
        rate=points / count if count else 0.5,
        low=low,
        high=high,
        distinct=len({line.record for line in counted}),
        mean_moves=sum(line.moves for line in counted) / max(1, count),
        seconds_per_move=(round(first, 3), round(second, 3)),
    )


def ratings_of(scores: Sequence[OpponentScore]) -> tuple[ProgramRating, ...]:
    """Return ratings of all programs from all of their matches, the strongest first; the first opponent is 0.

    Programs without a match are left out.
    """
    played = [score for score in scores if score.matches]
    if not played:
        return ()
    names = list(
        dict.fromkeys([played[0].against, *(s.player for s in played), *(s.against for s in played)])
    )
    points, matches = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)))
    for score in played:
        i, j = names.index(score.player), names.index(score.against)
        own = score.won + score.drawn / 2.0
        points[i, j] += own
        points[j, i] += score.matches - own
        matches[i, j] += score.matches
        matches[j, i] += score.matches
    table = bradley_terry(points, matches)
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2.0)
    found = []
    for i, name in enumerate(names):
        elo, error = table.difference(i, 0)
        own, count = float(points[i].sum()), int(matches[i].sum())
        bound: Literal["", "low", "high"] = "low" if own == 0 else "high" if own == count else ""
        found.append(ProgramRating(name, elo, elo - z * error, elo + z * error, own, count, bound))
    return tuple(sorted(found, key=lambda rating: -rating.elo))


def result_of(
    head: ContestHead,
    pairings: Sequence[Pairing],
    lines: Sequence[ContestLine],
    left_out: Iterable[str] = (),
    *,
    interrupted: bool = False,
) -> ContestResult:
    """Return the result of all matches of ``pairings`` among ``lines``."""
    latest = {(line.player, line.against, line.number): line for line in lines}  # a void one played again
    scores = tuple(score_of(pairing, latest.values()) for pairing in pairings)
    return ContestResult(head, scores, ratings_of(scores), tuple(sorted(left_out)), interrupted)

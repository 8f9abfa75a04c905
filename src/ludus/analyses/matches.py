"""Units of matches between two players, and what tables read from their lines.

A line of a match has ``a`` and ``b``, the players; ``seat``, that of a; ``points`` of a (1 won, 0.5 drawn,
0 lost); ``opening``, its number, equal in the two matches of a pair; ``plies``; and the fields of its unit.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ludus.analyses.analysis import UNIT, WorkUnit
from ludus.analyses.opening import DrawnOpenings, opened
from ludus.analyses.record import Cell, Line, RecordColumn
from ludus.evaluation.play import MatchPlayer, play_matches
from ludus.evaluation.players import resolve_player
from ludus.evaluation.results import seat_of_plan
from ludus.evaluation.settings import MatchHooks, MatchSettings
from ludus.flow.inputs.shown import shown
from ludus.flow.seeds import SEED_ANALYSIS, SEED_OPENING, derive_seed
from ludus.flow.spec import GameSpec
from ludus.presets.config import Device
from ludus.presets.errors import ConfigError
from ludus.ratings import wilson_interval
from ludus.ratings.elo import SCALE

BLOCK = 32  # matches of a unit, at most: they are played side by side
MATCH = "match"


class MatchTerms(NamedTuple):
    """How the matches of an analysis are played.

    ``matches``: of each pairing, an even number, so that openings come in pairs. ``opening``: random plies
    at the start.
    """

    spec: GameSpec
    params: dict[str, str]
    matches: int
    seed: int
    opening: int
    device: Device = "auto"


class PlayedPairing(NamedTuple):
    """Two players that meet: names in lines, references by name, and more fields of their lines."""

    a: str
    b: str
    fields: Mapping[str, Cell] = {}
    #: The name of its seed; matches of pairings with one name have equal seeds and openings.
    name: str = ""


def match_units(
    pairings: Iterable[PlayedPairing], players: Mapping[str, str], terms: MatchTerms
) -> list[WorkUnit]:
    """Return the units of all matches: of each pairing blocks of at most :data:`BLOCK`.

    Args:
        pairings: Who meets.
        players: References of the players by name (:func:`ludus.evaluation.players.resolve_player`).
        terms: How they play.

    Raises:
        ConfigError: An odd number of matches.
    """
    if terms.matches % 2 or terms.matches < 2:
        raise ConfigError(f"matches = {terms.matches}: expected an even number, openings come in pairs")
    units = []
    for pairing in pairings:
        name = pairing.name or f"{pairing.a} - {pairing.b}"
        for start in range(0, terms.matches, BLOCK):
            count = min(BLOCK, terms.matches - start)
            units.append(_unit(pairing, players, terms, f"{name}, from {start}", start, count))
    return units


def _unit(
    pairing: PlayedPairing,
    players: Mapping[str, str],
    terms: MatchTerms,
    name: str,
    start: int,
    count: int,
) -> WorkUnit:
    references = players[pairing.a], players[pairing.b]

    def play(hooks: MatchHooks) -> list[Line] | None:
        seed = derive_seed(terms.seed, SEED_ANALYSIS, zlib.crc32(name.encode("utf-8", "replace")))
        openings = DrawnOpenings(
            terms.spec, terms.params, derive_seed(terms.seed, SEED_OPENING), terms.opening
        )
        first, second = (
            opened(_player(reference, derive_seed(seed, side), terms), openings, start // 2)
            for side, reference in enumerate(references)
        )
        settings = MatchSettings(matches=count, seed=seed, device=terms.device)
        results = play_matches(terms.spec, terms.params, first, second, settings, hooks)
        if len(results) < count:
            return None
        lines: list[Line] = []
        for result in results:
            if result.error:
                raise ConfigError(f"{name}, match {start + result.match}: {shown(result.error)}")
            seat = seat_of_plan(result, 0)
            line: Line = {
                UNIT: name,
                MATCH: start + result.match,
                "opening": start // 2 + result.match // 2,
                "a": pairing.a,
                "b": pairing.b,
                "seat": seat,
                "points": 0.5 + 0.5 * float(result.outcome[seat]),
                "plies": result.ticks,
            }
            lines.append({**line, **pairing.fields})
        return lines

    return WorkUnit(name, count, play)


def _player(reference: str, seed: int, terms: MatchTerms) -> MatchPlayer:
    return resolve_player(reference, terms.spec, seed=seed, params=terms.params, device=terms.device)


class PairScore(NamedTuple):
    """Matches of one player: counts, and the score with its interval (a draw counts half)."""

    matches: int
    won: int
    drawn: int
    lost: int

    @property
    def points(self) -> float:
        """Won matches and half of the drawn ones."""
        return self.won + 0.5 * self.drawn

    def cells(self) -> tuple[Cell, ...]:
        """Return matches, won, drawn, lost, score and the ends of its interval, as :data:`SCORE` names them.

        Without matches the score is None.
        """
        if not self.matches:
            return (0, 0, 0, 0, None, None, None)
        found = wilson_interval(self.points, self.matches)
        return (self.matches, self.won, self.drawn, self.lost, found.rate, found.low, found.high)

    def elo(self) -> tuple[Cell, ...]:
        """Return the difference in Elo and the ends of its interval, as :data:`ELO`; None where infinite."""
        return tuple(_elo(cell) for cell in self.cells()[4:])


#: Columns of :meth:`PairScore.cells`. Intervals are Wilson's, 95%; of a score with draws they are too wide.
SCORE = (
    RecordColumn("matches"),
    RecordColumn("won"),
    RecordColumn("drawn"),
    RecordColumn("lost"),
    RecordColumn("score", "%", 1),
    RecordColumn("low", "%", 1),
    RecordColumn("high", "%", 1),
)
ELO = (RecordColumn("Elo", "Elo"), RecordColumn("Elo low", "Elo"), RecordColumn("Elo high", "Elo"))


def _elo(score: Cell) -> float | None:
    if not isinstance(score, float) or not 0.0 < score < 1.0:
        return None
    return SCALE * (math.log(score) - math.log1p(-score))


def score_of(lines: Iterable[Line], player: str = "a") -> PairScore:
    """Return the score of the first players of lines of matches, or of the second ones.

    Args:
        lines: Lines of matches.
        player: ``a`` or ``b``.

    Raises:
        ValueError: Points other than 0, 0.5 and 1.
    """
    counts = {0.0: 0, 0.5: 0, 1.0: 0}
    for line in lines:
        points = number(line, "points")
        if points not in counts:
            raise ValueError(f"points {points}: expected 0, 0.5 or 1")
        counts[points if player == "a" else 1.0 - points] += 1
    return PairScore(sum(counts.values()), counts[1.0], counts[0.5], counts[0.0])


def matches_in(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of matches."""
    return [line for line in lines if MATCH in line]


def number(line: Line, name: str) -> float:
    """Return the number ``name`` of a line. Raise ``KeyError`` if missing, ``ValueError`` if no number."""
    value = line[name]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} {value!r}: expected a number")
    return float(value)


def word(line: Line, name: str) -> str:
    """Return the text ``name`` of a line. Raise ``KeyError`` if it is missing, ``ValueError`` if no text."""
    value = line[name]
    if not isinstance(value, str):
        raise ValueError(f"{name} {value!r}: expected a string")
    return value


def whole(line: Line, name: str) -> int:
    """Return the integer ``name`` of a line. Raise ``KeyError`` if missing, ``ValueError`` if no integer."""
    value = line[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} {value!r}: expected an integer")
    return value

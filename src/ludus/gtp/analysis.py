"""Analysis in KataGo's form: the arguments of ``kata-analyze`` and ``lz-analyze``, and their lines.

See "GTP Extensions" in KataGo's documentation. Winrate, utility and score are of the side to move.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ludus.games import go
from ludus.gtp.players import Expectation, MoveCandidate, RawNetwork, Restriction, SearchReport
from ludus.gtp.protocol import GtpError
from ludus.gtp.words import colour, integer, is_colour, need

LCB_DEVIATIONS = 5.0  # KataGo's default
SHORTEST_S, LONGEST_S = 0.05, 3600.0
MOST_SCORED = 16  # candidates with their own score estimate
MAX_DEPTH = 1024
FLAGS = ("ownership", "rootInfo", "pvVisits")
KEYS = ("interval", "minmoves", "maxmoves", "avoid", "allow", *FLAGS)


@dataclass(slots=True)
class AnalysisOptions:
    """A controller's request for analysis.

    Attributes:
        seat: Side to analyse for.
        interval: Seconds between two reports.
        least: Minimum number of candidates in a report.
        most: Maximum number of candidates; None = all visited.
        restrictions: Moves that the search avoids, by seat.
        flags: Extra fields of a report, of ``FLAGS``.
    """

    seat: int
    interval: float = 0.0
    least: int = 0
    most: int | None = None
    restrictions: tuple[Restriction, ...] = ()
    flags: set[str] = field(default_factory=set)

    @property
    def pace(self) -> float:
        """Seconds between two reports."""
        return min(max(self.interval, SHORTEST_S), LONGEST_S)


def read_options(words: Sequence[str], seat: int, size: int) -> AnalysisOptions:
    """Parse ``[player] [interval] KEY VALUE...``, with keys in any order.

    Args:
        words: Arguments of the command.
        seat: The seat to move.
        size: Lines of the board.

    Raises:
        GtpError: An unknown key or a wrong value.
    """
    left = list(words)
    if left and is_colour(left[0]):
        seat = colour(left.pop(0))
    options = AnalysisOptions(seat)
    if left and left[0].isascii() and left[0].isdigit():
        options.interval = _centiseconds(left.pop(0))
    rules: list[tuple[str, int, list[int], int]] = []
    while left:
        key = left.pop(0)
        if key not in KEYS:
            raise GtpError(f"syntax error: unknown key {key[:40]}, expected one of {', '.join(KEYS)}")
        if key in ("avoid", "allow"):
            need(left, 3, f"{key} COLOUR VERTEX,VERTEX,... DEPTH")
            points = [_point(v, size) for v in left[1].split(",")]
            rules.append((key, colour(left[0]), points, integer(left[2], 1, MAX_DEPTH, "a depth")))
            del left[:3]
            continue
        need(left, 1, f"{key} VALUE")
        value = left.pop(0)
        if key == "interval":
            options.interval = _centiseconds(value)
        elif key == "minmoves":
            options.least = integer(value, 0, 10**6, "moves")
        elif key == "maxmoves":
            options.most = integer(value, 1, 10**6, "moves")
        elif value not in ("true", "false"):
            raise GtpError(f"syntax error: {key}: expected true or false")
        elif value == "true":
            options.flags.add(key)
        else:
            options.flags.discard(key)
    options.restrictions = _restrictions(rules, size)
    return options


def _centiseconds(text: str) -> float:
    return integer(text, 0, 10**9 - 1, "centiseconds") / 100


def _point(text: str, size: int) -> int:
    point = go.point_of(text, size)
    if point is None:
        raise GtpError("syntax error: expected vertices such as D4,Q16, or pass")
    return point


def _restrictions(rules: Sequence[tuple[str, int, list[int], int]], size: int) -> tuple[Restriction, ...]:
    """Return one restriction for each seat.

    Several ``avoid`` of a seat are merged, with the largest depth; ``allow`` is not merged.
    """
    found = []
    for seat in (go.BLACK, go.WHITE):
        own = [(key, points, depth) for key, who, points, depth in rules if who == seat]
        if not own:
            continue
        named = {p for _, points, _ in own for p in points}
        if any(key == "allow" for key, _, _ in own):
            if len(own) > 1:
                raise GtpError("allow may be given once for a colour, and not together with avoid")
            named = set(range(size * size + 1)) - named
        found.append(Restriction(seat, tuple(sorted(named)), max(depth for _, _, depth in own)))
    return tuple(found)


def shown(report: SearchReport, options: AnalysisOptions) -> list[MoveCandidate]:
    """Return the candidates to report: those with visits, at least ``least`` and at most ``most``."""
    visited = [c for c in report.candidates if c.visits > 0]
    others = sorted((c for c in report.candidates if c.visits == 0), key=lambda c: -c.prior)
    listed = visited + others[: max(0, options.least - len(visited))]
    return listed if options.most is None else listed[: options.most]


def lower_bound(candidate: MoveCandidate) -> float:
    """Return a lower confidence bound of the win rate, in [0, 1].

    It lies ``LCB_DEVIATIONS`` standard errors below the rate. The variance of a value in [0, 1] with mean w
    is at most w (1 - w); the bound uses this maximum.
    """
    win = (candidate.value + 1.0) / 2.0
    error = math.sqrt(max(win * (1.0 - win), 0.0) / max(candidate.visits, 1))
    return max(0.0, win - LCB_DEVIATIONS * error)


def leela_line(report: SearchReport, options: AnalysisOptions, size: int) -> str:
    """Return a report of ``lz-analyze``: rates as integers up to 10,000."""
    parts = []
    for order, c in enumerate(shown(report, options)):
        parts.append(
            f"info move {go.vertex(c.move, size)} visits {c.visits} winrate {_win(c.value) * 10000:.0f} "
            f"prior {c.prior * 10000:.0f} lcb {lower_bound(c) * 10000:.0f} order {order} {_line(c, size)}"
        )
    return " ".join(parts) + "\n"


def kata_line(
    report: SearchReport,
    options: AnalysisOptions,
    size: int,
    root: Expectation,
    after: Callable[[Sequence[int]], Sequence[Expectation]],
) -> str:
    """Return a report of ``kata-analyze``.

    A candidate has a score only if a network predicts one for the position after it: random continuations of
    each move would differ by their noise. Only the root has a score.

    Args:
        report: State of the search.
        options: The controller's request.
        size: Lines of the board.
        root: Expected result of the root position.
        after: Return the expected results of the positions after some moves.
    """
    candidates = shown(report, options)
    sign = 1.0 if options.seat == go.BLACK else -1.0
    scored = [] if root.sampled else after([c.move for c in candidates[:MOST_SCORED]])
    parts = []
    for order, c in enumerate(candidates):
        expected = scored[order] if order < len(scored) else None
        score = "" if expected is None or expected.sampled else f"{_score(expected, sign)} "
        low = lower_bound(c)
        parts.append(
            f"info move {go.vertex(c.move, size)} visits {c.visits} utility {c.value:.6g} "
            f"winrate {_win(c.value):.6g} {score}prior {c.prior:.6g} "
            f"lcb {low:.6g} utilityLcb {2.0 * low - 1.0:.6g} order {order} {_line(c, size)}"
            + (f" pvVisits {' '.join(map(str, c.line_visits))}" if "pvVisits" in options.flags else "")
        )
    if "rootInfo" in options.flags:
        parts.append(
            f"rootInfo visits {report.visits} utility {report.value:.6g} winrate {_win(report.value):.6g} "
            f"{_score(root, sign)}"
        )
    if "ownership" in options.flags:
        parts.append("ownership " + " ".join(f"{sign * x:.4f}" for x in root.ownership))
    return " ".join(parts) + "\n"


def _win(value: float) -> float:
    return (value + 1.0) / 2.0


def _line(c: MoveCandidate, size: int) -> str:
    return "pv " + " ".join(go.vertex(m, size) for m in (c.line or (c.move,)))


def _score(expected: Expectation, sign: float) -> str:
    lead = sign * expected.lead
    return (
        f"scoreMean {lead:.6g} scoreStdev {expected.deviation:.6g} scoreLead {lead:.6g} "
        f"scoreSelfplay {lead:.6g}"
    )


def raw_lines(raw: RawNetwork, symmetry: int, seat: int, size: int) -> str:
    """Return the answer of ``kata-raw-nn``, from White's perspective. Fields of absent heads are 0."""
    white = _win(raw.value if seat == go.WHITE else -raw.value)
    lead = 0.0 if raw.expected is None else -raw.expected.lead
    deviation = 0.0 if raw.expected is None else raw.expected.deviation
    lines = [
        f"symmetry {symmetry}",
        f"whiteWin {white:.6f}",
        f"whiteLoss {1.0 - white:.6f}",
        "noResult 0.000000",
        f"whiteLead {lead:.3f}",
        f"whiteScoreSelfplay {lead:.3f}",
        f"whiteScoreSelfplaySq {lead * lead + deviation * deviation:.3f}",
        "policy",
    ]
    lines += _grid([f"{p:8.6f}" for p in raw.policy[: size * size]], size)
    lines.append(f"policyPass {raw.policy[size * size]:8.6f}")
    if raw.expected is not None:
        lines += ["whiteOwnership", *_grid([f"{-x:9.7f}" for x in raw.expected.ownership], size)]
    return "\n".join(lines)


def _grid(cells: Sequence[str], size: int) -> list[str]:
    return [" ".join(cells[row * size : (row + 1) * size]) for row in range(size)]

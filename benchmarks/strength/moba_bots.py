"""Matches of the bots of MOBA: how even the teams are, how often the ancient decides, and who beats `simple`.

    python -m benchmarks.strength.moba_bots
    python -m benchmarks.strength.moba_bots --record moba-bots --commit 1a2b3c4 --machine Xeon

Each label has one pair of bots and one number of heroes a team. The pool exchanges the
teams from match to match. `random` draws among the legal choices: the floor.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from ludus.flow import Controller, Lineup, MatchResult, PoolOptions, SeatPlan
from ludus.games import spec
from ludus.pool.native import NativePool
from ludus.storage import utc_now
from tools.raw_lines import Line, figures_of, write_record
from tools.records import Record

GAME = "moba"
HEROES = (1, 3)
SEED = 7


def played(heroes: int, first: str, second: str, matches: int) -> list[MatchResult]:
    """Return the results of matches between a team of one bot and a team of another."""
    seats = [SeatPlan((Controller(bot=name),)) for name in (*[first] * heroes, *[second] * heroes)]
    options = PoolOptions(slots=16, num_matches=matches, seed=SEED)
    results: list[MatchResult] = []
    with NativePool(GAME, {"heroes": str(heroes)}, Lineup(tuple(seats)), options) as pool:
        while not pool.finished:
            batch = pool.recv()
            results += batch.results
            pool.send(batch.group)
    return results


def line_of(label: str, outcomes: Iterable[float], player: str, against: str, **detail: float) -> Line:
    """Return the raw line of outcomes: +1 won, 0 drawn, -1 lost, each by ``player``."""
    all_of = list(outcomes)
    won, drawn, lost = (sum(o == kind for o in all_of) for kind in (1.0, 0.0, -1.0))
    return Line(
        label,
        player=player,
        against=against,
        won=won,
        drawn=drawn,
        lost=lost,
        matches=len(all_of),
        detail={**detail},
    )


def measured(heroes: int, matches: int) -> list[Line]:
    """Return the lines of one number of heroes: the first team of two equal ones, `push`, and the floor."""
    size = f"{heroes} against {heroes}"
    even = played(heroes, "simple", "simple", matches)
    limit = spec(GAME, {"heroes": heroes}).max_ticks - 1
    ticks = sum(r.ticks for r in even) / len(even)
    by_ancient = sum(r.ticks < limit and r.outcome[0] != 0.0 for r in even)
    lines = [
        line_of(
            f"{size}, first team, both `simple`",
            (r.outcome[0] for r in even),
            "simple",
            "simple",
            mean_ticks=round(ticks, 1),
            decided_before_the_limit=by_ancient,
        )
    ]
    for bot, label in (
        ("push", f"{size}, `push` against `simple`"),
        ("random", f"uniform play, {size}, against `simple`"),
    ):
        results = played(heroes, bot, "simple", matches // 2)
        outcomes = [r.outcome[r.players.index(bot)] for r in results]
        lines.append(line_of(label, outcomes, bot, "simple"))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--matches", type=int, default=2000, help="of two equal teams; half as many otherwise"
    )
    parser.add_argument("--record", default="", help="name of a record of benchmarks/results to write")
    parser.add_argument("--commit", default="", help="of the record")
    parser.add_argument("--machine", default="", help="of the record")
    args = parser.parse_args()
    lines = [line for heroes in HEROES for line in measured(heroes, args.matches)]
    for line in lines:
        print(f"{line.label}: {line.won} won, {line.drawn} drawn, {line.lost} lost; {line.detail}")
    floors = [line for line in lines if line.label.startswith("uniform")]
    if args.record:
        record = Record(
            schema=2,
            section="strength",
            title="MOBA: the built-in bots among themselves",
            figures=figures_of([line for line in lines if line not in floors], "%", "wilson"),
            floors=figures_of(floors, "%", "wilson"),
            commands=(f"python -m benchmarks.strength.moba_bots --matches {args.matches}",),
            commit=args.commit,
            date=utc_now()[:10],
            machine=args.machine,
            reference="50% for the first of two equal teams",
        )
        write_record(args.record, record, lines)


if __name__ == "__main__":
    main()

"""MiniRTS by search, as in ELF's table 7: how often a planner beats a bot, and what a move costs.

    python -m benchmarks.strength.minirts_planner plan:8x100,opponent=random --against simple --matches 1000
    python -m benchmarks.strength.minirts_planner plan:8x100,opponent=simple,guide=simple --against simple

Both sides decide every 50 ticks. Matches are played in chunks that are always finished, so a limit in
``--minutes`` favours neither short matches nor long ones; with ``--out FILE`` chunks that are there already
are not played again. Processor time and the slowest move, Wilson's 95% intervals.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path

import msgspec

from ludus.evaluation.play import plan_player, play_matches, scripted_player
from ludus.evaluation.results import seat_of_plan
from ludus.games import spec as game_spec
from ludus.pool import Pool
from ludus.ratings import wilson_interval
from ludus.rollouts import Actor
from ludus.rollouts.search_actor import PlannerActor

GAME, SKIP = "minirts", 50


class Chunk(msgspec.Struct, frozen=True):
    """Matches with seeds of their own."""

    player: str
    against: str
    number: int
    matches: int
    won: int
    drawn: int
    lost: int
    moves: int
    processor_s: float
    slowest_s: float = 0.0  # move, on the wall


def play_chunk(player: str, against: str, number: int, matches: int, seed: int) -> Chunk:
    """Matches ``number * matches`` and the following ones of this pairing."""
    spec = game_spec(GAME)
    own = seed * 1_000_003 + number
    planned = plan_player(player, spec, {}, own, SKIP)
    actors: list[PlannerActor] = []

    def noted(pool: Pool) -> Actor:
        assert planned.search is not None
        actor = planned.search(pool)
        assert isinstance(actor, PlannerActor)
        actors.append(actor)
        return actor

    begin = time.process_time()
    results = play_matches(
        spec,
        {},
        dataclasses.replace(planned, search=noted),
        scripted_player(against, spec, own, SKIP),
        matches=matches,
        seed=own,
    )
    spent = time.process_time() - begin
    outcomes = [r.outcome[seat_of_plan(r, 0)] for r in results if not r.error]
    won, lost = sum(o > 0 for o in outcomes), sum(o < 0 for o in outcomes)
    moves = sum(-(-r.ticks // SKIP) for r in results)
    slowest = max(actor.planner.slowest_s for actor in actors)
    drawn = len(results) - won - lost
    return Chunk(player, against, number, len(results), won, drawn, lost, moves, spent, slowest)


def line(chunks: list[Chunk]) -> str:
    """A row of the table."""
    won, matches = sum(c.won for c in chunks), sum(c.matches for c in chunks)
    drawn, lost = sum(c.drawn for c in chunks), sum(c.lost for c in chunks)
    moves = max(1, sum(c.moves for c in chunks))
    interval = wilson_interval(won, matches)
    cost = sum(c.processor_s for c in chunks) / moves
    return (
        f"| `{chunks[0].player}` | {chunks[0].against} | {matches} | {won} | {drawn} | {lost} | "
        f"{interval.rate:.1%} | {interval.low:.1%} to {interval.high:.1%} | {cost:.3f} | "
        f"{max(c.slowest_s for c in chunks):.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("player", help="plan:TREESxROLLOUTS and its settings")
    parser.add_argument("--against", default="simple")
    parser.add_argument("--matches", type=int, default=100)
    parser.add_argument("--chunk", type=int, default=10, help="matches that are always finished together")
    parser.add_argument("--minutes", type=float, default=0.0, help="no chunk begins after that; 0 = no limit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON lines, one a chunk; read first where it exists")
    args = parser.parse_args()
    end = time.monotonic() + 60.0 * args.minutes
    decoder = msgspec.json.Decoder(Chunk)
    text = args.out.read_text(encoding="utf-8") if args.out and args.out.is_file() else ""
    known = [decoder.decode(row) for row in text.splitlines() if row.strip()]
    chunks = [c for c in known if (c.player, c.against) == (args.player, args.against)]
    have = {c.number for c in chunks}
    for number in range(-(-args.matches // args.chunk)):
        if number in have:
            continue
        if args.minutes > 0 and time.monotonic() >= end:
            break
        chunks.append(play_chunk(args.player, args.against, number, args.chunk, args.seed))
        if args.out:
            with args.out.open("ab") as file:
                file.write(msgspec.json.encode(chunks[-1]) + b"\n")
        print(line(chunks), flush=True)
    print(
        "| player | against | matches | won | drawn | lost | won | 95% interval "
        "| processor s a move | slowest, s on the wall |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    if chunks:
        print(line(chunks))


if __name__ == "__main__":
    main()

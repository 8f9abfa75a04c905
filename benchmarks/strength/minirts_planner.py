"""MiniRTS by search, as in ELF's table 7: how often a planner beats a bot, and what a move costs.

    python -m benchmarks.strength.minirts_planner plan:8x100,opponent=random,draw=0 \
        --against simple hit_and_run --matches 100 --out random.jsonl \
        --record minirts-planner-random --commit SHA --machine TEXT
    python -m benchmarks.strength.minirts_planner plan:8x100,opponent=simple,guide=simple --against simple

The first is ELF's rule: rollouts of random self-play, a rollout without a winner is lost. With
``opponent=BOT`` the search knows the program of its opponent. ``--record NAME`` writes a record of
``benchmarks/results``, with uniform play as the floor.

Both sides decide every 50 ticks. Matches are played in chunks that are always finished, so a limit in
``--minutes`` favours neither short matches nor long ones; with ``--out FILE`` chunks that are there already
are not played again. Processor time and the slowest move, Wilson's 95% intervals.
"""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import time
from pathlib import Path

import msgspec

from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.play import plan_player, play_matches, scripted_player
from ludus.evaluation.results import seat_of_plan
from ludus.evaluation.settings import MatchSettings
from ludus.games import spec as game_spec
from ludus.mcts.planner import parse_plan
from ludus.pool import Pool
from ludus.ratings import wilson_interval
from ludus.rollouts import Actor
from ludus.rollouts.search_actor import PlannerActor
from ludus.storage import utc_now
from tools.raw_lines import UNIFORM, Line, figures_of, line_of, write_record
from tools.records import Record

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
    """Play matches ``number * matches`` and the following ones of this pairing."""
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

    started = time.process_time()
    results = play_matches(
        spec,
        {},
        dataclasses.replace(planned, search=noted),
        scripted_player(against, spec, own, SKIP),
        MatchSettings(matches=matches, seed=own),
    )
    spent = time.process_time() - started
    outcomes = [r.outcome[seat_of_plan(r, 0)] for r in results if not r.error]
    won, lost = sum(o > 0 for o in outcomes), sum(o < 0 for o in outcomes)
    moves = sum(-(-r.ticks // SKIP) for r in results)
    slowest = max(actor.planner.slowest_s for actor in actors)
    drawn = len(results) - won - lost
    return Chunk(player, against, number, len(results), won, drawn, lost, moves, spent, slowest)


def line(chunks: list[Chunk]) -> str:
    """Return a row of the table."""
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


def lines_of(chunks: list[Chunk]) -> list[Line]:
    """Return the chunks as raw lines."""
    return [
        Line(
            f"against {c.against}",
            player=c.player,
            against=c.against,
            won=c.won,
            drawn=c.drawn,
            lost=c.lost,
            matches=c.matches,
            detail={
                "chunk": c.number,
                "moves": c.moves,
                "processor_s": round(c.processor_s, 3),
                "slowest_s": round(c.slowest_s, 3),
            },
        )
        for c in chunks
    ]


def floor_of(against: str, matches: int, seed: int) -> Line:
    """Uniform play over the legal choices, at the same frame skip."""
    result = evaluate(UNIFORM, against, MatchSettings(matches=matches, seed=seed, frame_skip=SKIP), game=GAME)
    return line_of(result, f"{UNIFORM}, against {against}", play="drawn")


def record_of(chunks: list[Chunk], floors: list[Line], args: argparse.Namespace) -> tuple[Record, list[Line]]:
    """Return the chunks of one player as a published result, with their raw lines."""
    lines = lines_of(chunks)
    config = parse_plan(args.player)
    knows = f"the opponent's program ({config.opponent})" if config.opponent != "random" else ""
    seen = ", ".join(t for t in (knows, "the whole state and the match's future draws") if t)
    notes = [f"The search knows {seen}."]
    if config.opponent == "random":
        notes.append("Rollouts are random self-play, as in ELF.")
    if config.keep_wins:
        notes.append("`keep_wins` follows the first rollout that wins; ELF's player did not.")
    moves = max(1, sum(c.moves for c in chunks))
    cost = sum(c.processor_s for c in chunks) / moves
    slowest = max(c.slowest_s for c in chunks)
    words = ["python", "-m", "benchmarks.strength.minirts_planner", args.player, "--against", *args.against]
    made = Record(
        schema=2,
        section="strength",
        title="MiniRTS by search on the whole state, "
        + ("rollouts of random self-play" if not knows else "a known opponent"),
        figures=figures_of(lines, "%", "wilson"),
        floors=figures_of(floors, "%", "wilson"),
        commands=(shlex.join([*words, "--matches", str(args.matches), "--seed", str(args.seed)]),),
        commit=args.commit,
        date=utc_now()[:10],
        machine=args.machine,
        budget=f"{cost:.2f} processor seconds a move, at most {slowest:.2f} s on the wall",
        reference="ELF's paper, MCTS against SIMPLE and HIT_AND_RUN: 73.2% and 62.7%",
        notes=(*notes, *args.note),
    )
    return made, [*lines, *floors]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("player", help="plan:TREESxROLLOUTS and its settings")
    parser.add_argument("--against", nargs="+", default=["simple"])
    parser.add_argument("--matches", type=int, default=100)
    parser.add_argument("--chunk", type=int, default=10, help="matches that are always finished together")
    parser.add_argument("--minutes", type=float, default=0.0, help="no chunk starts after that; 0 = no limit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON lines, one a chunk; read first where it exists")
    parser.add_argument("--record", default="", metavar="NAME", help="write a record of benchmarks/results")
    parser.add_argument("--commit", default="", help="of the record")
    parser.add_argument("--machine", default="", help="of the record")
    parser.add_argument("--note", action="append", default=[], help="of the record")
    args = parser.parse_args()
    if args.record and not (args.commit and args.machine):
        parser.error("--record: expected --commit and --machine too")
    end = time.monotonic() + 60.0 * args.minutes
    chunks = [c for against in args.against for c in played(args, against, end)]
    print(
        "| player | against | matches | won | drawn | lost | won | 95% interval "
        "| processor s a move | slowest, s on the wall |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for against in args.against:
        if mine := [c for c in chunks if c.against == against]:
            print(line(mine))
    if args.record and chunks:
        floors = [floor_of(against, args.matches, args.seed) for against in args.against]
        write_record(args.record, *record_of(chunks, floors, args))


def played(args: argparse.Namespace, against: str, end: float) -> list[Chunk]:
    """Return the chunks against one bot: those of ``--out``, and the rest until ``end``."""
    decoder = msgspec.json.Decoder(Chunk)
    text = args.out.read_text(encoding="utf-8") if args.out and args.out.is_file() else ""
    known = [decoder.decode(row) for row in text.splitlines() if row.strip()]
    chunks = [c for c in known if (c.player, c.against) == (args.player, against)]
    have = {c.number for c in chunks}
    for number in range(-(-args.matches // args.chunk)):
        if number in have:
            continue
        if args.minutes > 0 and time.monotonic() >= end:
            break
        chunks.append(play_chunk(args.player, against, number, args.chunk, args.seed))
        if args.out:
            with args.out.open("ab") as file:
                file.write(msgspec.json.encode(chunks[-1]) + b"\n")
        print(line(chunks), flush=True)
    return chunks


if __name__ == "__main__":
    main()

"""MiniRTS by search, as in ELF's table 7: how often a planner beats a bot, and what a move costs.

    python -m benchmarks.strength.minirts_planner plan:8x100,opponent=random,draw=0 \
        --against simple hit_and_run --matches 100 --out random.jsonl --record minirts-planner-random
    python -m benchmarks.strength.minirts_planner plan:8x100,opponent=simple,guide=simple --against simple

The first is ELF's rule: rollouts of random self-play, a rollout without a winner is lost. With
``opponent=BOT`` the search knows the program of its opponent. ``--record NAME`` writes a record of
``benchmarks/results``, with uniform play and every bot as floors.

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

from benchmarks.strength.evaluated import Store, all_floors
from ludus.evaluation.play import plan_player, play_matches, scripted_player
from ludus.evaluation.results import seat_of_plan
from ludus.evaluation.settings import MatchSettings
from ludus.flow.seeds import derive_seed
from ludus.games import spec as game_spec
from ludus.mcts.planner import parse_plan
from ludus.pool import Pool
from ludus.ratings import wilson_interval
from ludus.rollouts import Actor
from ludus.rollouts.search_actor import PlannerActor
from tools.figures import figures_of, floors_of
from tools.kept_weights import FOLDER
from tools.new_record import add_record_options, own_command, published
from tools.play_lines import setting_of
from tools.raw_lines import Line, counted

GAME, SKIP = "minirts", 50


class Chunk(msgspec.Struct, frozen=True):
    """Matches with their own seeds."""

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
    outcomes: str = ""  # of each match: w, d or l
    seed: int = 0  # of the matches


def play_chunk(player: str, against: str, number: int, matches: int, seed: int) -> Chunk:
    """Play matches ``number * matches`` and the following ones of this pairing."""
    spec = game_spec(GAME)
    own = seed * 1_000_003 + number
    planned = plan_player(player, spec, {}, derive_seed(own, 0), SKIP)
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
        scripted_player(against, spec, derive_seed(own, 1), SKIP),
        MatchSettings(matches=matches, seed=own),
    )
    spent = time.process_time() - started
    outcomes = [r.outcome[seat_of_plan(r, 0)] for r in results if not r.error]
    won, lost = sum(o > 0 for o in outcomes), sum(o < 0 for o in outcomes)
    moves = sum(-(-r.ticks // SKIP) for r in results)
    slowest = max(actor.planner.slowest_s for actor in actors)
    drawn = len(results) - won - lost
    text = "".join("w" if o > 0 else "l" if o < 0 else "d" for o in outcomes)
    if len(text) < len(results):
        raise ValueError(f"{len(results) - len(text)} of {len(results)} matches ended with an error")
    return Chunk(player, against, number, len(results), won, drawn, lost, moves, spent, slowest, text, own)


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
    found = []
    for c in chunks:
        setting = setting_of(
            GAME, {}, c.against, "drawn", c.matches, frame_skip=SKIP, against_frame_skip=SKIP
        )
        line = counted(f"against {c.against}", c.outcomes, setting=setting, eval_seed=c.seed)
        times = {"processor_s": round(c.processor_s, 3), "slowest_s": round(c.slowest_s, 3)}
        detail: dict[str, str | float] = {"chunk": c.number, "moves": c.moves, **times}
        found.append(msgspec.structs.replace(line, player=c.player, against=c.against, detail=detail))
    return found


def notes_of(player: str) -> list[str]:
    """Return what the search knows."""
    config = parse_plan(player)
    knows = f"the opponent's program ({config.opponent})" if config.opponent != "random" else ""
    seen = ", ".join(t for t in (knows, "the whole state and the match's future draws") if t)
    notes = [f"The search knows {seen}."]
    if config.opponent == "random":
        notes.append("Rollouts are random self-play, as in ELF.")
    if config.keep_wins:
        notes.append("`keep_wins` follows the first rollout that wins; ELF's player did not.")
    return notes


def publish(args: argparse.Namespace, chunks: list[Chunk]) -> None:
    """Write the chunks of one player as a record, with the floors of each chunk."""
    lines = lines_of(chunks)
    figures = figures_of(lines, "%", "matches")
    floor_lines, kinds = all_floors(lines, [], figures, Store(None), FOLDER)
    moves = max(1, sum(c.moves for c in chunks))
    cost = sum(c.processor_s for c in chunks) / moves
    slowest = max(c.slowest_s for c in chunks)
    known = parse_plan(args.player).opponent != "random"
    published(
        args,
        section="strength",
        title="MiniRTS by search on the whole state, "
        + ("a known opponent" if known else "rollouts of random self-play"),
        lines=[*lines, *floor_lines],
        figures=figures,
        floors=floors_of(floor_lines, figures, kinds),
        commands=[own_command("benchmarks.strength.minirts_planner")],
        budget=f"{cost:.2f} processor seconds a move, at most {slowest:.2f} s on the wall",
        reference="ELF's paper, MCTS against SIMPLE and HIT_AND_RUN: 73.2% and 62.7%",
        notes=(*notes_of(args.player), *args.note),
    )


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("player", help="plan:TREESxROLLOUTS and its settings")
    parser.add_argument("--against", nargs="+", default=["simple"])
    parser.add_argument("--matches", type=int, default=100)
    parser.add_argument("--chunk", type=int, default=10, help="matches that are always finished together")
    parser.add_argument("--minutes", type=float, default=0.0, help="no chunk starts after that; 0 = no limit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON lines, one a chunk; read first where it exists")
    parser.add_argument("--note", action="append", default=[], help="of the record")
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    args = parser_of().parse_args()
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
        publish(args, chunks)


def played(args: argparse.Namespace, against: str, end: float) -> list[Chunk]:
    """Return the chunks against one bot: the ones in ``--out``, and the rest until ``end``."""
    decoder = msgspec.json.Decoder(Chunk)
    text = args.out.read_text(encoding="utf-8") if args.out and args.out.is_file() else ""
    known = [c for c in map(decoder.decode, filter(str.strip, text.splitlines())) if c.outcomes]
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

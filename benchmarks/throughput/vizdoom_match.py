"""A headless ViZDoom match of several seats: its speed beside bare engines behind a barrier, and a soak.

    python benchmarks/throughput/vizdoom_match.py [--players 8] [--bots 0] [--skip 2] [--turns 4]
    python benchmarks/throughput/vizdoom_match.py --soak 200 [--players 1 --bots 7] [--json FILE]

Speed: seats' steps a second of the match as Ludus hosts it (screens shrunk, rewards, frags and the end of the
match included), and of the same engines advanced by one thread each, tic by tic behind a barrier, with no
more than the screen fetched: once as they are, once started as Ludus starts them, so that they let others run
while they wait (``yielding``). All play the same number of decisions in turns, with the same number of bots.
The bare loop has no watchdog: it is killed with the program where an engine freezes.

Soak: so many matches of the same engines; the time of every start, the memory of the engines and of this
process before and after, how many matches failed, whether scores and scoreboard agree, and whether an engine
is left at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ludus.games.adapters.vizdoom import VizdoomMaker
from ludus.games.adapters.vizdoom.engine import gather, host_arguments, join_arguments
from ludus.games.adapters.vizdoom.processes import ReservedPort, engine_processes, yielding

SCENARIO = "cig"
SIZE = {"height": "120", "width": "160"}


def made(players: int, bots: int, skip: int, tics: int) -> VizdoomMaker:
    params = {**SIZE, "players": str(players), "bots": str(bots)}
    params |= {"frame_skip": str(skip), "match_tics": str(tics)}
    return VizdoomMaker(SCENARIO, params)


def choices(game: VizdoomMaker, seed: int) -> np.ndarray:
    heads = [h.size for h in game.spec.heads]
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, c, game.players) for c in heads], axis=1).astype(np.int32)


def hosted(game: VizdoomMaker, decisions: int) -> float:
    """Seconds that a match as Ludus hosts it takes for so many decisions."""
    match = game.make()
    seen = {t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in game.spec.observation}
    earned = np.zeros(game.players, np.float32)
    try:
        match.reset(1)
        started = time.perf_counter()
        for step in range(decisions):
            match.step(choices(game, step))
            match.rewards(earned)
            for seat in range(game.players):
                match.observe(seat, seen)
        return time.perf_counter() - started
    finally:
        match.close()


def bare(game: VizdoomMaker, decisions: int, *, patient: bool = False) -> float:
    """Return the rate of bare engines with equal actions and a barrier a tic; ``patient`` ones yield."""
    engines: list[Any] = [game.engine() for _ in range(game.players)]
    port = ReservedPort()
    pressed = [[game.actions.press(a) for a in choices(game, step)] for step in range(decisions)]
    barrier = threading.Barrier(game.players + 1)

    def seat(number: int) -> None:
        engine = engines[number]
        host = host_arguments(game.players, port.number, game.respawn_s, game.bots)
        engine.add_game_args(join_arguments(number, port.number) if number else host)
        engine.set_episode_timeout(0)
        engine.set_seed(1)
        engine.init()
        if number == 0:
            gather(engine, game.bots)
        barrier.wait()
        for step in range(decisions):
            engine.set_action(pressed[step][number])
            for tic in range(game.frame_skip):
                engine.advance_action(1, tic == game.frame_skip - 1)
                barrier.wait()
            assert engine.get_state().screen_buffer.size > 0
        barrier.wait()

    threads = [threading.Thread(target=seat, args=(n,), daemon=True) for n in range(game.players)]
    with yielding() if patient else contextlib.nullcontext():
        for thread in threads:
            thread.start()
        barrier.wait()
    started = time.perf_counter()
    for _ in range(decisions * game.frame_skip):
        barrier.wait()
    barrier.wait()
    spent = time.perf_counter() - started
    for thread in threads:
        thread.join()
    for engine in engines:
        engine.close()
    port.close()
    return spent


def speed(players: int, bots: int, skip: int, turns: int, decisions: int) -> dict[str, object]:
    game = made(players, bots, skip, decisions * skip + 1)
    ways: dict[str, Callable[[VizdoomMaker, int], float]] = {
        "hosted": hosted,
        "bare": bare,
        "yielding": partial(bare, patient=True),
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(turns):
        for name in list(ways)[:: 1 if turn % 2 == 0 else -1]:
            rates[name].append(players * decisions / ways[name](game, decisions))
    ratios = {
        name: [h / b for h, b in zip(rates["hosted"], rates[name], strict=True)]
        for name in ways
        if name != "hosted"
    }
    print(f"{players} seats, {bots} bots, a decision every {skip} tics, {decisions} decisions, {turns} turns")
    for name, rate in rates.items():
        said = ""
        if name in ratios:
            r = ratios[name]
            said = f", hosted {statistics.median(r):.2f} times that ({min(r):.2f} to {max(r):.2f})"
        print(f"{name:8} {statistics.median(rate):5.0f} seats' steps/s{said}")
    steps = {f"{name}_steps_per_s": rate for name, rate in rates.items()}
    return {"players": players, "bots": bots, "skip": skip, "decisions": decisions, "ratios": ratios, **steps}


def megabytes(pids: set[int]) -> int:
    """Resident memory of processes."""
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE") // 1_000_000


def soak(players: int, bots: int, skip: int, matches: int, tics: int) -> dict[str, object]:
    game = made(players, bots, skip, tics)
    match: Any = game.make()
    starts: list[float] = []
    failed: list[str] = []
    memory: list[tuple[int, int]] = []  # of the engines, and of this process
    scores = np.zeros((players, len(game.spec.scores)), np.float32)
    try:
        for number in range(matches):
            started = time.perf_counter()
            try:
                match.reset(random.Random(number).getrandbits(31))
                starts.append(time.perf_counter() - started)
                step = 0
                while not match.step(choices(game, step)):
                    step += 1
                match.scores(scores)
                frags, kills, deaths, suicides, place = scores[:, :5].T
                wrong = (frags != kills - suicides) | (deaths < suicides) | (place < 1)
                if wrong.any() or place.max() > players + bots:
                    failed.append(f"match {number}: scores {scores.tolist()}")
            except RuntimeError as error:
                failed.append(f"match {number}: {error}")
                print(failed[-1], flush=True)
            memory.append((megabytes(match.engines), megabytes({os.getpid()})))
            if (number + 1) % 20 == 0:
                print(f"{number + 1} matches, {len(failed)} failed, {memory[-1]} MB", flush=True)
    finally:
        match.close()
    time.sleep(1.0)
    left = len(engine_processes())
    median = statistics.median(starts) if starts else float("nan")
    tenth = memory[min(10, len(memory) - 1)]
    print(
        f"{matches} matches of {players} seats and {bots} bots, {tics} tics each, {len(failed)} failed, "
        f"start {1000 * median:.0f} ms (median), {1000 * max(starts, default=0.0):.0f} ms (longest), "
        f"MB of engines and host after ten matches {tenth}, at the end {memory[-1]}, engines left: {left}"
    )
    return {
        "players": players,
        "bots": bots,
        "matches": matches,
        "tics": tics,
        "failed": failed,
        "start_s": [round(s, 4) for s in starts],
        "megabytes": memory,
        "engines_left": left,
    }


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--players", type=int, default=8)
    parser.add_argument("--bots", type=int, default=0)
    parser.add_argument("--skip", type=int, default=2)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--decisions", type=int, default=400, help="of a seat in a turn")
    parser.add_argument("--soak", type=int, default=0, help="matches to play with the same engines")
    parser.add_argument("--tics", type=int, default=200, help="of a match of the soak")
    parser.add_argument("--json", type=Path)
    return parser


def main() -> None:
    args = parser_of().parse_args()
    # Engines print what they do onto the program's own descriptor.
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if args.soak > 0:
        result = soak(args.players, args.bots, args.skip, args.soak, args.tics)
    else:
        result = speed(args.players, args.bots, args.skip, args.turns, args.decisions)
    if args.json is not None:
        args.json.write_text(json.dumps({**result, "load": os.getloadavg()[0]}) + "\n")


if __name__ == "__main__":
    main()

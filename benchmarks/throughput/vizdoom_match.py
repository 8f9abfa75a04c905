"""A headless ViZDoom match of several seats: its speed beside bare engines behind a barrier, and a soak.

    python benchmarks/throughput/vizdoom_match.py [--players 8] [--skip 2] [--turns 4] [--json FILE]
    python benchmarks/throughput/vizdoom_match.py --soak 200 [--json FILE]

Speed: seats' steps a second of the match as Ludus hosts it (screens shrunk, rewards, frags and the end of the
match included), and of the same engines advanced by one thread each, tic by tic behind a barrier, with no
more than the screen fetched: once as they are, once started as Ludus starts them, so that they let others run
while they wait (``yielding``). All play the same number of decisions in turns. The bare loop has no watchdog:
it is killed with the program where an engine freezes.

Soak: so many matches started, played for a few tics and stopped; every start's time, how many failed, and
whether an engine is left at the end.
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
from ludus.games.adapters.vizdoom.match import (
    COMMON,
    HOST,
    VizdoomMatch,
    engine_processes,
    free_port,
    yielding,
)
from ludus.games.registry import maker

SCENARIO = "vizdoom/cig"
SIZE = {"height": "120", "width": "160"}


def made(players: int, skip: int, tics: int) -> VizdoomMaker:
    params = {**SIZE, "players": str(players), "frame_skip": str(skip), "match_tics": str(tics)}
    out = maker(SCENARIO, params)
    assert isinstance(out, VizdoomMaker)
    return out


def choices(game: VizdoomMaker, seed: int) -> np.ndarray:
    heads = [h.size for h in game.spec.heads]
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, c, game.players) for c in heads], axis=1).astype(np.int32)


def hosted(game: VizdoomMaker, decisions: int) -> float:
    """Seconds that a match as Ludus hosts it takes for so many decisions."""
    match = VizdoomMatch(game)
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
    port, eyes = free_port(), game.eyes()
    pressed = [[eyes.press(a) for a in choices(game, step)] for step in range(decisions)]
    barrier = threading.Barrier(game.players + 1)

    def seat(number: int) -> None:
        engine = engines[number]
        role = f"-host {game.players} {HOST}" if number == 0 else "-join 127.0.0.1"
        engine.add_game_args(f"{role} -port {port} {COMMON} +name seat{number} +colorset {number}")
        engine.set_episode_timeout(0)
        engine.set_seed(1)
        engine.init()
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
    return spent


def speed(players: int, skip: int, turns: int, decisions: int) -> dict[str, object]:
    game = made(players, skip, decisions * skip + 1)
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
    print(f"{players} seats, a decision every {skip} tics, {decisions} decisions, {turns} turns")
    for name, rate in rates.items():
        said = ""
        if name in ratios:
            r = ratios[name]
            said = f", hosted {statistics.median(r):.2f} times that ({min(r):.2f} to {max(r):.2f})"
        print(f"{name:8} {statistics.median(rate):5.0f} seats' steps/s{said}")
    steps = {f"{name}_steps_per_s": rate for name, rate in rates.items()}
    return {"players": players, "skip": skip, "decisions": decisions, "ratios": ratios, **steps}


def soak(players: int, skip: int, matches: int) -> dict[str, object]:
    game = made(players, skip, 8 * skip)
    match = VizdoomMatch(game)
    starts: list[float] = []
    failed: list[str] = []
    try:
        for number in range(matches):
            started = time.perf_counter()
            try:
                match.reset(random.Random(number).getrandbits(31))
                starts.append(time.perf_counter() - started)
                step = 0
                while not match.step(choices(game, step)):
                    step += 1
            except RuntimeError as error:
                failed.append(f"match {number}: {error}")
                print(failed[-1], flush=True)
            if (number + 1) % 20 == 0:
                print(f"{number + 1} matches, {len(failed)} failed", flush=True)
    finally:
        match.close()
    time.sleep(1.0)
    left = len(engine_processes())
    median = statistics.median(starts) if starts else float("nan")
    print(
        f"{matches} matches of {players} seats started and stopped, {len(failed)} failed, "
        f"start {median:.1f} s (median), {max(starts, default=0.0):.1f} s (longest), engines left: {left}"
    )
    return {
        "players": players,
        "matches": matches,
        "failed": failed,
        "start_s": [round(s, 2) for s in starts],
        "engines_left": left,
    }


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--players", type=int, default=8)
    parser.add_argument("--skip", type=int, default=2)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--decisions", type=int, default=400, help="of a seat in a turn")
    parser.add_argument("--soak", type=int, default=0, help="matches to start and stop")
    parser.add_argument("--json", type=Path)
    return parser


def main() -> None:
    args = parser_of().parse_args()
    # Engines print what they do onto the program's own descriptor.
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if args.soak > 0:
        result = soak(args.players, args.skip, args.soak)
    else:
        result = speed(args.players, args.skip, args.turns, args.decisions)
    if args.json is not None:
        args.json.write_text(json.dumps({**result, "load": os.getloadavg()[0]}) + "\n")


if __name__ == "__main__":
    main()

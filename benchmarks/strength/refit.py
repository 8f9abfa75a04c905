"""What a fresh network learns from the matches of a finished run: is it the learning or the targets?

    python -m benchmarks.strength.refit RUN OUT --minutes 4 --policy.blocks 4 --policy.filters 32

Nobody plays: a network of the run's settings, changed by the options, learns from the run's matches for some
minutes; the newest ``--held-out`` share of the files is only measured on. ``kl``: nats of the policy targets
beyond their own entropy; ``value``: squared error. ``OUT`` becomes a run directory, ``OUT@last`` a player. If
that plays as well as the run's own weights although it fits the targets worse, the targets are what is
missing.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import msgspec
import numpy as np

from ludus.algorithms.alphazero.learner import errors_on
from ludus.algorithms.alphazero.window import Chunk, Window
from ludus.storage import Checkpoint, RunDirectory
from ludus.storage.games import GameFiles
from ludus.storage.rundir import utc_now
from ludus.train.alphazero_parts import AlphaZeroParts, AlphaZeroState, build_alphazero, read_games
from ludus.train.preset_file import load_preset, to_toml

DRAWN = 1 << 14  # positions that are led to at once
STATISTICS = 2560  # positions over which batch normalisation is measured


def options_of(texts: list[str]) -> dict[str, str]:
    """``--policy.blocks 4`` as the settings that a preset takes."""
    if len(texts) % 2 or any(not t.startswith("--") or "." not in t for t in texts[::2]):
        raise SystemExit(f"{' '.join(texts)}: expected pairs like --policy.blocks 4")
    return {name[2:]: value for name, value in zip(texts[::2], texts[1::2], strict=True)}


def windows_of(parts: AlphaZeroParts, files: GameFiles, held_out: float) -> tuple[Window, Window]:
    """Matches to learn from and newer ones to measure on."""
    numbers = files.numbers()
    held = max(1, round(held_out * len(numbers)))
    if len(numbers) <= held:
        raise SystemExit(f"{files.folder}: {len(numbers)} files of matches, expected more than {held}")
    made = []
    for part in (numbers[:-held], numbers[-held:]):
        window = Window(parts.config, parts.spec.mask_size)
        for number in part:
            games = read_games(files, number, parts.spec)
            window.chunks.append(Chunk(number, games, parts.ends(games) if parts.learns_ends else None))
        made.append(window)
    return made[0], made[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--held-out", type=float, default=0.04, help="share of the files, the newest")
    parser.add_argument("--seed", type=int, default=0)
    args, rest = parser.parse_known_args()
    run = RunDirectory.open(args.run)
    preset = load_preset(str(run.config), options_of(rest)).preset
    parts = build_alphazero(preset)
    recorded = build_alphazero(load_preset(str(run.config)).preset)
    files = GameFiles(run.games, recorded.games_meta())  # parameters of the observation may differ since
    recorded.close()
    info = msgspec.structs.replace(
        run.info(), spec_hash=parts.spec.spec_hash, started=utc_now(), command=tuple(sys.argv)
    )
    made = RunDirectory.create(args.out, to_toml(preset), info)
    learner, random = parts.learner, np.random.default_rng(args.seed)
    window, held = windows_of(parts, files, args.held_out)
    kept = held.draw(1 << 13, random, parts.lead)
    print(f"{window.positions:,} positions to learn from, {held.positions:,} held out", flush=True)
    begin, seen, told, share = time.perf_counter(), 0, 0, 0.0
    while share < 1.0:
        stats = learner.learn(window.draw(DRAWN, random, parts.lead), share)
        seen += stats.samples
        share = min(1.0, (time.perf_counter() - begin) / (60 * args.minutes))
        if int(share * 6) > told:
            told = int(share * 6)
            kl, value = errors_on(learner.publish(window.draw(STATISTICS, random, parts.lead)), kept)
            print(
                f"{share * args.minutes:.1f} min, {seen:,} samples: kl {stats.policy_excess:.3f}, value "
                f"{stats.value_loss:.3f}; held out: kl {kl:.3f}, value {value:.3f}",
                flush=True,
            )
    arrays, counters = learner.state()
    state = msgspec.json.encode(AlphaZeroState(learner=counters))
    made.checkpoints.save(Checkpoint(learner.weights(), arrays, {}, state))
    parts.close()


if __name__ == "__main__":
    main()

"""Time and size of thoughts about a recorded match of MiniRTS.

    python benchmarks/throughput/thoughts.py [RUN@best] [--replay FILE] [--ticks 5000] [--rounds 5]

Without weights: an untrained network of each kind of memory, with the sizes of the preset minirts.
Without a replay: of 40 matches between the game's bots the one whose length is nearest to ``--ticks``.
``load_ms`` reads the weights and builds the network. ``think_ms`` verifies the replay, plays it again and
thinks over every decision of both seats (median of the rounds without the first one). ``bytes`` is the
growth of the page for each decision.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import msgspec
import torch

from ludus.flow import Weights, WeightsMeta
from ludus.games import replays
from ludus.games import spec as spec_of
from ludus.games.match import Match
from ludus.policies.config import EncoderConfig
from ludus.policies.factory import build_network
from ludus.policies.weights import save_weights
from ludus.presets.file import load_preset
from ludus.web.replay_page import to_html
from ludus.web.thoughts.replayed import opinion
from ludus.web.thoughts.resolve import mind_of

GAME = "minirts"


def recorded(ticks: int) -> bytes:
    """Return the replay of a long match of the game's bots."""
    found = []
    for seed in range(40):
        data = replays.record(GAME, {}, seed=seed, bots=[b.name for b in spec_of(GAME).bots[:2]])
        found.append((abs(replays.info(data).ticks - ticks), seed, data))
    return min(found)[2]


def untrained(folder: Path, memory: str, frame_skip: int) -> str:
    """Save initial weights and return their file."""
    spec = spec_of(GAME)
    policy = load_preset(GAME).preset.policy
    assert isinstance(policy, EncoderConfig)
    network = build_network(msgspec.structs.replace(policy, memory=memory), spec, seed=1)
    text = msgspec.json.encode(spec).decode()
    meta = WeightsMeta(0, spec.spec_hash, network.architecture, text, GAME, frame_skip)
    path = folder / f"{memory}.safetensors"
    save_weights(Weights(meta, {n: t.numpy() for n, t in network.state_dict().items()}), path)
    return str(path)


def measured(player: str, replay: bytes, rounds: int) -> dict[str, object]:
    info, made = replays.info(replay), replays.decisions(replay)
    start = time.perf_counter()
    mind = mind_of(player, spec_of(info.game, info.params), info.params)
    load = time.perf_counter() - start
    taken = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        assert replays.verify(replay).same
        match = Match(info.game, info.params, seed=info.seed, match=info.match)
        found = opinion(match, info, made, mind, {})
        taken.append(1e3 * (time.perf_counter() - start))
    more = len(to_html(replay, think=(player,))) - len(to_html(replay))
    return {
        "player": Path(player).name,
        "ticks": info.ticks,
        "decisions": len(found.thoughts),
        "load_ms": round(1e3 * load, 1),
        "first_ms": round(taken[0], 1),
        "think_ms": round(statistics.median(taken[1:]), 1),
        "bytes": round(more / len(found.thoughts), 1),
    }


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("player", nargs="?", default="")
    parser.add_argument("--replay", default="")
    parser.add_argument("--ticks", type=int, default=5000)
    parser.add_argument("--frame-skip", type=int, default=50, help="of untrained networks")
    parser.add_argument("--rounds", type=int, default=5)
    return parser


def main() -> None:
    args = parser_of().parse_args()
    torch.set_num_threads(1)
    replay = Path(args.replay).read_bytes() if args.replay else recorded(args.ticks)
    with tempfile.TemporaryDirectory() as folder:
        kinds = ("none", "recall", "gru")
        players = (
            [args.player] if args.player else [untrained(Path(folder), k, args.frame_skip) for k in kinds]
        )
        for player in players:
            print(json.dumps(measured(player, replay, args.rounds)))


if __name__ == "__main__":
    main()

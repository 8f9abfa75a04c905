"""What the heads for ownership and score do to policy and value: the same matches learned with and without.

    python benchmarks/learning/ends.py --size 7 --seeds 1 2 3

Go by a search over random rollouts (no network, so every learner reads the same matches), ``--matches`` to
learn from and a fifth as many to be judged by. On positions of the latter, with the weights that would play:
how far the policy is from the search's (KL, nats) and the squared error of the value. With the heads less
without, seed by seed; a seed is of the network, the minibatches and the turns of the board.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import msgspec
import numpy as np
import torch

from ludus.algorithms.alphazero.config import AlphaZeroConfig
from ludus.algorithms.alphazero.learner import AlphaZeroLearner, errors_on
from ludus.algorithms.alphazero.samples import Ends, Positions
from ludus.algorithms.alphazero.window import Window
from ludus.flow.slab import Array
from ludus.games import spec as game_spec
from ludus.native import core
from ludus.policies.config import PolicyConfig
from ludus.ratings.interval import mean_interval
from ludus.search import Games, SearchConfig, SelfPlay, SelfPlayConfig

SEED = 1  # of the matches


class Data:
    """Recorded matches of one board, and positions drawn from them."""

    def __init__(self, params: dict[str, str], matches: int, visits: int) -> None:
        self.params, self.spec = params, game_spec("go", params)
        self.config = AlphaZeroConfig(window_games_min=1, window_share=1.0)
        every = self._played(matches + matches // 5, visits)
        self.windows = []
        for number, keep in enumerate((every.match < matches, every.match >= matches)):
            window = Window(self.config, self.spec.mask_size)
            part = _some(every, keep)
            window.add(number, part, self._ends(part))
            self.windows.append(window)

    def _played(self, matches: int, visits: int) -> Games:
        plays = SelfPlayConfig(slots=64, temperature_plies=12, temperature_end=0.3)
        search = SearchConfig(visits=visits)
        play = SelfPlay("go", self.params, search, plays, evaluator="rollout", seed=SEED)
        games = Games.empty()
        while len(games) < matches:
            play.step(64)
            games = Games.join([games, play.take_games()])
        return games

    def _ends(self, games: Games) -> Ends:
        ends = Ends.empty(len(games), self.spec.counted_cells)
        offset = np.concatenate([[0], np.cumsum(games.plies, dtype=np.int64)])
        told = (ends.ownership, ends.score, ends.counted)
        core.read_ends("go", self.params, SEED, games.match, games.action, offset, *told)
        return ends

    def _lead(
        self, match: Array, actions: Array, offset: Array, first: Array, wanted: Array, rows: Array
    ) -> tuple[dict[str, Array], np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
        tensor = self.spec.observation[0]
        planes = np.zeros((len(rows), *tensor.packed_shape), tensor.packed_dtype)
        mask = np.zeros((len(rows), self.spec.mask_size), np.uint8)
        where = (match, actions, offset, first, wanted, rows)
        core.read_positions("go", self.params, SEED, *where, [planes], mask)
        return {tensor.name: planes}, mask

    def draw(self, held: bool, count: int, random: np.random.Generator) -> Positions:
        """Positions to learn from, or held out."""
        return self.windows[int(held)].draw(count, random, self._lead)


def _some(games: Games, keep: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Games:
    """The matches that are marked in ``keep``."""
    plies = np.repeat(keep, games.plies)
    pairs = np.repeat(plies, games.targets)
    columns = games.columns()
    marks = {"target_move": pairs, "target_share": pairs}
    marks |= dict.fromkeys(("action", "seat", "full", "value", "version", "targets"), plies)
    return Games.of({name: array[marks.get(name, keep)] for name, array in columns.items()})


def learned(data: Data, policy: PolicyConfig, seed: int, samples: int, precision: str) -> tuple[float, float]:
    """KL of the policy and squared error of the value on held-out positions."""
    config = AlphaZeroConfig(learning_rate=0.04, warmup=50, rate_factor=0.05, batch=256, ema=0.99)
    learner = AlphaZeroLearner(config, policy, data.spec, seed=seed, precision=precision)
    random = np.random.default_rng(seed)
    blocks = max(1, samples // 4096)
    for i in range(blocks):
        learner.learn(data.draw(False, 4096, random), i / blocks)
    network = learner.publish(data.draw(False, 4096, random))
    return errors_on(network, data.draw(True, 4096, np.random.default_rng(0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=int, default=7)
    parser.add_argument("--komi", default="8.5")
    parser.add_argument("--matches", type=int, default=1000)
    parser.add_argument("--visits", type=int, default=32)
    parser.add_argument("--samples", type=int, default=131072, help="positions that a learner reads")
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--filters", type=int, default=32)
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    data = Data({"size": str(args.size), "komi": args.komi}, args.matches, args.visits)
    plain = PolicyConfig(blocks=args.blocks, filters=args.filters)
    heads = msgspec.structs.replace(plain, ownership=True, score=True)
    rows = []
    for seed in args.seeds:
        row: dict[str, float] = {"seed": seed}
        for name, policy in (("without", plain), ("with", heads)):
            row[f"policy_{name}"], row[f"value_{name}"] = learned(
                data, policy, seed, args.samples, args.precision
            )
        rows.append(row)
        print(json.dumps({k: round(v, 4) for k, v in row.items()}), flush=True)
    for what in ("policy", "value"):
        change = np.array([r[f"{what}_with"] - r[f"{what}_without"] for r in rows])
        if len(change) > 1:
            print(f"{what}: with less without {mean_interval(change)}")
    if args.json:
        args.json.write_text(
            json.dumps({"arguments": vars(args) | {"json": ""}, "rows": rows}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()

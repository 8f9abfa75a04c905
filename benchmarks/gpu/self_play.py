"""AlphaZero's self-play: evaluations a second over sizes of batches, and the share that play reaches."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import numpy as np
import torch

from benchmarks.gpu.stage import Cases, Context, Outcome
from benchmarks.gpu.timing import median_s
from ludus.games import spec as game_spec
from ludus.games.searchable import searchable
from ludus.mcts import LeafBatch, MatchNumbers, SearchConfig, SelfPlay, SelfPlayConfig
from ludus.mcts.network import NetworkEvaluator
from ludus.policies.config import ResnetConfig
from ludus.policies.layers.residual import ResidualNetwork
from ludus.presets.config import RunConfig
from ludus.presets.hardware import fix_order, precision_name, thread_count
from ludus.training.alphazero.workers import Workers

GAME = "go"
#: Side of the board, blocks, filters.
TOWERS = {"6x96 on 9x9": (9, 6, 96), "20x256 on 19x19": (19, 20, 256)}
SMALL_TOWERS = {"1x16 on 9x9": (9, 1, 16)}
SIZES, SMALL_SIZES = (64, 128, 256, 512, 1024, 2048, 4096), (16, 32, 64)
VISITS = 200  # a move
SLOTS, SMALL_SLOTS = 512, 16  # matches a thread, one row of a batch each


def cases(context: Context) -> Cases:
    """Return the cases of this stage."""
    out: dict[str, Callable[[], Outcome]] = {}
    towers = SMALL_TOWERS if context.small else TOWERS
    for k, (name, tower) in enumerate(towers.items()):
        out[name] = functools.partial(_measured, tower, context, len(towers) - k)
    return out


def _measured(tower: tuple[int, int, int], context: Context, left: int) -> Outcome:
    """Time batches of each size on one thread, then self-play on all threads."""
    side, blocks, filters = tower
    if context.device == "cuda":
        fix_order()
    spec = game_spec(GAME, {"size": str(side)})
    network = ResidualNetwork(ResnetConfig(blocks=blocks, filters=filters), spec, 1).to(context.device)
    network.eval()
    precision = precision_name(RunConfig(), context.device)
    sizes = SMALL_SIZES if context.small else SIZES
    seconds = 0.5 * context.left_s / left
    slots = SMALL_SLOTS if context.small else SLOTS
    rates: dict[str, object] = {}
    best = 0.0
    random = np.random.default_rng(1)
    evaluator = NetworkEvaluator(network, precision, rows=slots)
    for rows in sizes:
        batch = LeafBatch(spec, rows)
        for array in batch.obs.values():
            if array.dtype == np.uint8:
                array[...] = random.integers(0, 256, array.shape)
        took = median_s(
            functools.partial(evaluator.evaluate, batch, rows), context, 0.5 * seconds / len(sizes)
        )
        rates[str(rows)] = rows / took
        best = max(best, rows / took)
    played, fill, threads = _played(side, evaluator, slots, 0.5 * seconds)
    numbers: dict[str, object] = {
        "precision": precision,
        "rows_per_s": rates,
        "best_rows_per_s": best,
        "threads": threads,
        "self_play_rows_per_s": played,
        "batch_fill": fill,
    }
    if context.device != "cpu":  # on the processor one thread's rate is no bound of all
        numbers["share"] = played / best
    return Outcome(None, numbers)


def _played(side: int, evaluator: NetworkEvaluator, slots: int, seconds: float) -> tuple[float, float, int]:
    """Return evaluations a second in self-play, the share of batches that was filled, and the threads."""
    threads = thread_count(RunConfig())
    torch.set_num_threads(1)
    workers = Workers(
        [
            SelfPlay(
                GAME,
                {"size": str(side)},
                SearchConfig(visits=VISITS, noise_share=0.25),
                SelfPlayConfig(slots=slots),
                evaluator=evaluator.sibling(k),
                seed=1,
                numbers=MatchNumbers(k, threads),
                native=searchable(GAME).games,
            )
            for k in range(threads)
        ]
    )
    try:
        workers.start()
        time.sleep(0.2 * seconds)
        workers.pause()
        workers.times()  # warm
        started = time.perf_counter()
        workers.start()
        time.sleep(0.8 * seconds)
        workers.pause()
        took, times = time.perf_counter() - started, workers.times()
    finally:
        workers.close()
    return times.evaluations / took, times.evaluations / max(1, times.batches * slots), threads

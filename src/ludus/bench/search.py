"""Speed of search without a network, and the share of a network's own rate that self-play reaches.

The compared parts are timed in turns, several times over, so that other load on the machine affects both
alike; the best turn of each counts for rates, the ratio is over all turns together.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np

from ludus.flow import GameSpec
from ludus.flow.process.as_found import one_thread
from ludus.games import spec as game_spec
from ludus.games.searchable import SearchRef, searchable
from ludus.mcts import LeafBatch, MatchNumbers, SearchConfig, SearchError, SelfPlay, SelfPlayConfig
from ludus.mcts.network import NetworkEvaluator
from ludus.policies.config import ResnetConfig
from ludus.policies.factory import build_network
from ludus.presets.config import RunConfig
from ludus.presets.errors import ConfigError
from ludus.presets.hardware import device_of, device_title, precision_name, thread_count
from ludus.training.alphazero.workers import Workers

TURNS = 3
RUN = RunConfig()
MOST_ROWS = 4096  # of a batch, in search of a GPU's best rate


class SearchBench(msgspec.Struct, frozen=True):
    """Rates of a search.

    ``simulations_per_s``, ``moves_per_s`` and ``rollouts_per_s`` are of one thread and a second of its
    processor time, with an evaluator that costs nothing, rules and observations included. The others are of
    all threads and a second of wall time: ``raw_per_s`` evaluations of the network alone on batches of
    ``raw_batch`` (on the processor self-play's batches, on a GPU the best size), ``self_play_per_s``
    evaluations in self-play, ``share`` their ratio.
    """

    game: str
    slots: int
    visits: int
    simulations_per_s: float
    moves_per_s: float
    rollouts_per_s: float
    network: str = ""
    parameters: int = 0
    precision: str = ""
    device: str = ""
    threads: int = 0
    raw_batch: int = 0
    raw_per_s: float = 0.0
    self_play_per_s: float = 0.0
    share: float = 0.0
    batch_fill: float = 0.0


def bench_search(
    game: str,
    params: dict[str, str],
    *,
    slots: int = 64,
    visits: int = 400,
    blocks: int = 0,
    filters: int = 64,
    run: RunConfig = RUN,
    seconds: float = 6.0,
) -> SearchBench:
    """Time self-play of ``slots`` matches a thread; with ``blocks`` also with a network of that size.

    Args:
        game: Name of the game.
        params: Its parameters.
        slots: Simultaneous matches per thread.
        visits: Visits per move.
        blocks: Residual blocks of the network; 0 = no network.
        filters: Filters per convolution.
        run: ``threads`` of self-play, 0 = all processors; ``device`` and ``precision`` of the network.
        seconds: Measuring time, approximately.

    Raises:
        ConfigError: The game cannot be searched, or there is no such device.
    """
    device_of(run.device)
    ref = searchable(game)
    name, native = ref
    search = SearchConfig(visits=visits, noise_share=0.25)
    plays = SelfPlayConfig(slots=slots)
    try:

        def alone(evaluator: str, matches: int) -> SelfPlay:
            play = SelfPlayConfig(slots=matches)
            return SelfPlay(name, params, search, play, evaluator=evaluator, seed=1, native=native)

        # A round of rollouts plays a whole match a slot: at chess in Python eight are seconds.
        null, rollouts = alone("null", slots), alone("rollout", min(slots, 8))
    except SearchError as error:
        raise ConfigError(error) from error
    share = seconds / (2.0 if blocks == 0 else 4.0)
    best = max(_rate(null.step, lambda: null.simulations, share / TURNS) for _ in range(TURNS))
    # Slow games play no move in that time: then by visits, as if none were kept from move to move.
    moves = best * (null.moves / null.simulations if null.moves else 1.0 / visits)
    random = _rate(rollouts.step, lambda: rollouts.simulations, share / TURNS)
    base = SearchBench(name, slots, visits, best, moves, random)
    if blocks == 0:
        return base
    tower = ResnetConfig(blocks=blocks, filters=filters)
    return _with_network(base, ref, params, search, plays, tower, run, seconds / 2)


def _rate(step: Callable[[int], object], count: Callable[[], int], seconds: float) -> float:
    """Return the count per second of this thread's processor time, independent of other load.

    ``step(rounds)`` is called with increasing numbers of rounds, for games of very different speeds.
    """
    started, before, rounds = time.thread_time(), count(), 1
    now = started
    while now - started < seconds:
        step(rounds)
        last, now = now, time.thread_time()
        if now - last < seconds / 50:
            rounds *= 2
    return (count() - before) / (now - started)


def _with_network(
    base: SearchBench,
    game: SearchRef,
    params: dict[str, str],
    search: SearchConfig,
    plays: SelfPlayConfig,
    tower: ResnetConfig,
    run: RunConfig,
    seconds: float,
) -> SearchBench:
    one_thread()
    device, count = device_of(run.device), thread_count(run)
    precision = precision_name(run, device)
    spec = game_spec(base.game, params)
    try:
        network = build_network(tower, spec, 1)
    except ValueError as error:
        raise ConfigError(error, where=f"{base.game}") from error
    network.to(device)
    evaluator = NetworkEvaluator(network, precision, rows=plays.slots)
    workers = Workers(
        [
            SelfPlay(
                base.game,
                params,
                search,
                plays,
                evaluator=evaluator.sibling(i),
                seed=1,
                numbers=MatchNumbers(i, count),
                native=game.games,
            )
            for i in range(count)
        ]
    )
    raw_rows = plays.slots if device == "cpu" else _best_rows(evaluator, spec, plays.slots, count)
    evaluators = _siblings(evaluator, count)
    raw_s = play_s = 0.0
    raw = played = 0
    filled = batches = 0
    try:
        for turn in range(TURNS + 1):
            started = time.perf_counter()
            done = _raw(evaluators, LeafBatch(spec, raw_rows), seconds / (2 * TURNS))
            took = time.perf_counter() - started
            started = time.perf_counter()
            workers.start()
            time.sleep(seconds / (2 * TURNS))
            workers.pause()
            played_s = time.perf_counter() - started
            times = workers.times()
            if turn == 0:  # warm
                continue
            raw, raw_s = raw + done, raw_s + took
            played, play_s = played + times.evaluations, play_s + played_s
            filled, batches = filled + times.evaluations, batches + times.batches
    finally:
        workers.close()
    return msgspec.structs.replace(
        base,
        network=f"{tower.blocks} blocks x {tower.filters}",
        parameters=sum(p.numel() for p in network.parameters()),
        precision=precision,
        device=device_title(device),
        threads=count,
        raw_batch=raw_rows,
        raw_per_s=raw / raw_s,
        self_play_per_s=played / play_s,
        share=(played / play_s) / (raw / raw_s),
        batch_fill=filled / max(1, batches * plays.slots),
    )


def _best_rows(evaluator: NetworkEvaluator, spec: GameSpec, rows: int, threads: int) -> int:
    """Return the size of batches at which a GPU evaluates most a second: ``rows`` times a power of 2."""
    rates: dict[int, float] = {}
    for size in batch_sizes(rows):
        batch = LeafBatch(spec, size)
        evaluators = _siblings(evaluator, threads)  # only of this size: graphs keep their memory
        _raw(evaluators, batch, 0.05)  # warm
        started = time.perf_counter()
        done = _raw(evaluators, batch, 0.2)
        rates[size] = done / (time.perf_counter() - started)
    return max(rates, key=lambda size: rates[size])


def batch_sizes(rows: int) -> list[int]:
    """Return ``rows`` and its doubles up to :data:`MOST_ROWS`."""
    sizes = [rows]
    while 2 * sizes[-1] <= MOST_ROWS:
        sizes.append(2 * sizes[-1])
    return sizes


def _siblings(evaluator: NetworkEvaluator, threads: int) -> list[NetworkEvaluator]:
    return [evaluator.sibling(k) for k in range(threads)]


def _raw(evaluators: Sequence[NetworkEvaluator], batch: LeafBatch, seconds: float) -> int:
    """Return the number of evaluations of full batches by one thread an evaluator, at least one each."""
    stop = threading.Event()
    random = np.random.default_rng(1)
    for array in batch.obs.values():
        if array.dtype == np.uint8:
            array[...] = random.integers(0, 256, array.shape)

    def work(evaluator: NetworkEvaluator) -> int:
        one_thread()
        done = 0
        while not done or not stop.is_set():
            evaluator.evaluate(batch, batch.rows)
            done += batch.rows
        return done

    with ThreadPoolExecutor(len(evaluators)) as executor:
        running = [executor.submit(work, evaluator) for evaluator in evaluators]
        time.sleep(seconds)
        stop.set()
        return sum(f.result() for f in running)

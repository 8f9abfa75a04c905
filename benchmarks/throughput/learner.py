"""How fast the learner learns, against raw torch on the same network in the same run.

    python benchmarks/throughput/learner.py [--inputs units,globals] [--workers 2] [--json]

The slab is synthetic but laid out like MiniRTS (``cells``, ``units``, ``globals``, nine choices), with
about 22 visible units a moment. ``raw`` is forward and backward of the same network on one packed
micro-batch, without gathering, masks, loss, optimiser. ``share_of_raw`` compares one update with raw
passes over the same samples (V-trace's forward pass included): what is lost around the network. Costs
are processor time, so that a busy machine disturbs less; only ``samples_per_s`` is by the wall clock.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import numpy as np
import torch

from ludus.algorithms.appo import make_learner
from ludus.algorithms.config import AppoConfig
from ludus.algorithms.learner import LearnerContext, SlabLearner
from ludus.flow import GameSpec, HeadSpec, Slab, TensorSpec
from ludus.policies.actions.action_distribution import Independent
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork

UNITS, SIDE, CHOICES = 64, 20, 9


def minirts_like() -> GameSpec:
    """Return a spec with the tensors of MiniRTS and no game behind it."""
    observation = (
        TensorSpec("cells", "u16", (UNITS + 1, 5), 0, 65535, "rts_cells", SIDE, "visible units, packed"),
        TensorSpec("units", "u8", (UNITS, 24), 0, 255, "identity", 1 / 255, "visible units"),
        TensorSpec("globals", "f32", (36,), 0, 1000, "identity", 1.0, "numbers about the seat"),
    )
    heads = (HeadSpec("action", CHOICES),)
    return GameSpec("benchmark", "Benchmark", 1, 2, False, False, 50, 0, observation, heads, (), ())


def random_slab(spec: GameSpec, steps: int, rows: int, seed: int = 0) -> Slab:
    """Every row active at every step; 10 to 34 units a moment."""
    rng = np.random.default_rng(seed)
    slab = Slab(spec, steps, rows)
    moments = (steps + 1, rows)
    alive = np.arange(UNITS) < rng.integers(10, 35, moments)[..., None]
    cells = slab.obs["cells"]
    cells[:, :, :UNITS, 0] = rng.integers(1, SIDE * SIDE + 1, (*moments, UNITS)) * alive
    cells[:, :, :UNITS, 1] = rng.integers(0, 6, (*moments, UNITS)) * alive
    cells[:, :, :UNITS, 2] = 50 * alive
    cells[:, :, :UNITS, 3] = 100 * alive
    cells[:, :, :UNITS, 4] = rng.integers(0, 4000, (*moments, UNITS)) * alive
    cells[:, :, UNITS, 0] = rng.integers(0, 300, moments)
    slab.obs["units"][:] = rng.integers(1, 256, (*moments, UNITS, 24)) * alive[..., None]
    slab.obs["globals"][:] = rng.random((*moments, 36))
    slab.mask[:] = 1
    slab.active[:] = 1
    slab.policy[:] = 0
    slab.reward[:] = rng.normal(size=(steps, rows)) * (rng.random((steps, rows)) < 0.02)
    slab.terminated[:] = rng.random((steps, rows)) < 0.02
    slab.actions[:] = rng.integers(0, CHOICES, slab.actions.shape)
    slab.log_prob[:] = -np.log(CHOICES)
    slab.version[:] = -1  # one version behind: V-trace's second forward pass is paid for
    return slab


@dataclass(frozen=True, slots=True)
class Cost:
    """Best of several runs: processor seconds of all threads, and wall seconds."""

    cpu: float
    wall: float


def best_of(action: Callable[[], None], seconds: float) -> Cost:
    """Least costs of ``action`` over about ``seconds`` and at least three runs after the first."""
    action()
    cpu: list[float] = []
    wall: list[float] = []
    started = time.perf_counter()
    while len(cpu) < 3 or time.perf_counter() - started < seconds:
        a, b = time.process_time(), time.perf_counter()
        action()
        cpu.append(time.process_time() - a)
        wall.append(time.perf_counter() - b)
    return Cost(min(cpu), min(wall))


def run_update(learner: SlabLearner[AppoConfig], slab: Slab, workers: int) -> None:
    """One update by ``workers`` threads."""
    slab.version[:] = learner.version - 1
    plan = learner.start(slab)
    helpers = [threading.Thread(target=plan.help, args=(w,)) for w in range(1, workers)]
    for thread in helpers:
        thread.start()
    plan.help(0)
    for thread in helpers:
        thread.join()
    learner.finish()


def raw_costs(learner: SlabLearner[AppoConfig], slab: Slab, seconds: float) -> tuple[float, float]:
    """Processor seconds a sample of (only forward, forward and backward) by plain torch."""
    network = learner.network
    parameters = list(network.parameters())
    if network.recurrent is None:
        n = min(learner.config.micro_batch, slab.steps * slab.rows)
        flat = {k: torch.from_numpy(x.reshape(-1, *x.shape[2:])[:n]) for k, x in slab.obs.items()}

        def run() -> tuple[torch.Tensor, torch.Tensor]:
            distribution, value = network.flat(flat)
            assert isinstance(distribution, Independent)
            return distribution.logits, value

    else:
        rows = max(1, min(learner.config.micro_batch // slab.steps, slab.rows))
        n = rows * slab.steps
        obs = {k: torch.from_numpy(np.ascontiguousarray(x[:-1, :rows])) for k, x in slab.obs.items()}
        first = torch.zeros(slab.steps, rows, dtype=torch.bool)
        memory = network.initial_memory(rows)

        def run() -> tuple[torch.Tensor, torch.Tensor]:
            out = network.sequence(obs, memory, first)
            return out.logits, out.value

    def forward() -> None:
        with torch.no_grad():
            run()

    def both() -> None:
        logits, value = run()
        torch.autograd.grad(logits.square().sum() + value.square().sum(), parameters, allow_unused=True)

    return best_of(forward, seconds).cpu / n, best_of(both, seconds).cpu / n


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", default="units,globals", help="observation tensors the network reads")
    parser.add_argument("--policy", default="{}", help="PolicyConfig fields as JSON")
    parser.add_argument("--algorithm", default="{}", help="AppoConfig fields as JSON")
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--json", action="store_true")
    return parser


def main() -> None:
    options = parser_of().parse_args()

    torch.set_num_threads(1)
    fields = msgspec.json.decode(options.policy, type=dict[str, object])
    policy = msgspec.convert(
        {"network": "encoder", "inputs": options.inputs.split(","), **fields}, EncoderConfig
    )
    algorithm = msgspec.convert({"name": "appo"} | msgspec.json.decode(options.algorithm), AppoConfig)
    spec = minirts_like()
    learner = make_learner(
        algorithm, PolicyNetwork(policy, spec, 1), LearnerContext(1, workers=options.workers)
    )
    slab = random_slab(spec, options.steps, options.rows)
    samples = options.steps * options.rows

    if learner.network.memory_shape is not None:
        slab.memory[0] = np.zeros((options.rows, *learner.network.memory_shape), np.float32)
    first = raw_costs(learner, slab, options.seconds)
    update = best_of(lambda: run_update(learner, slab, options.workers), options.seconds)
    second = raw_costs(learner, slab, options.seconds)
    forward, both = (min(a, b) for a, b in zip(first, second, strict=True))
    # V-trace looks at every moment of the slab once, the last observations included.
    looked = samples + options.rows if algorithm.vtrace else 0
    ideal = forward * looked + both * samples * algorithm.epochs
    out = {
        "parameters": learner.parameters.size,
        "workers": options.workers,
        "samples_per_s": samples / update.wall,
        "samples_per_cpu_s": samples / update.cpu,
        "raw_forward_us": forward * 1e6,
        "raw_forward_backward_us": both * 1e6,
        "update_us": update.cpu / samples * 1e6,
        "share_of_raw": ideal / update.cpu,
    }
    if options.json:
        print(json.dumps(out))
        return
    for name, number in out.items():
        print(f"{name:26} {number:,.3f}" if isinstance(number, float) else f"{name:26} {number:,}")


if __name__ == "__main__":
    main()

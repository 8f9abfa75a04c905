"""The caller's process after a public function is the process before it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

import ludus
from ludus.flow.process.as_found import as_found, one_thread
from ludus.games import spec as game_spec
from ludus.policies.config import EncoderConfig, ResnetConfig
from ludus.policies.factory import build_network
from ludus.presets import hardware
from ludus.presets.errors import ConfigError, RunFailed
from ludus.presets.file import PresetError
from tests.unit.api.test_load_policy import weights_of

TINY = {
    "run.max_steps": 256,
    "run.threads": 1,
    "pool.slots": 8,
    "pool.rollout_length": 8,
    "evaluation.final_matches": 2,
    "evaluation.initial": False,
    "algorithm.minibatches": 1,
}
TINY_DQN = {k: v for k, v in TINY.items() if k != "algorithm.minibatches"}


def state() -> dict[str, object]:
    """Return what other parts of a program may rely on."""
    name, keys, *rest = np.random.get_state(legacy=True)
    return {
        "threads": torch.get_num_threads(),
        "torch": torch.get_rng_state().numpy().tobytes(),
        "numpy": (name, np.asarray(keys).tobytes(), *rest),
        "python": random.getstate(),
        "dtype": torch.get_default_dtype(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "cudnn": (torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark),
        "grad": torch.is_grad_enabled(),
        "fusion": torch.jit.onednn_fusion_enabled(),  # type: ignore[no-untyped-call]
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "filters": list(warnings.filters),
        "signals": {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)},
        "errors": np.geterr(),
    }


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@contextmanager
def nothing_changes() -> Iterator[None]:
    before = state()
    try:
        yield
    finally:
        after = state()
        assert [name for name in before if before[name] != after[name]] == []


def in_thread(call: Callable[[], object]) -> None:
    """Run ``call`` in a thread that must stay as it is too."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            with nothing_changes():
                call()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


@pytest.mark.parametrize("preset", ["tic_tac_toe", "cartpole-dqn"])
def test_training_and_what_follows_it(preset: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with nothing_changes():
        ludus.train(preset, run, settings=TINY_DQN if "dqn" in preset else TINY)
    with nothing_changes():
        ludus.evaluate(f"{run}@last", "" if "cart" in preset else "random", matches=2)
    with nothing_changes():
        policy = ludus.load_policy(f"{run}@last")
    assert policy.version > 0
    with pytest.raises(ConfigError), nothing_changes():
        ludus.evaluate(f"{run}@last", "no such bot", matches=2)
    in_thread(lambda: ludus.resume(run))


def test_a_search_and_a_run_in_a_thread(tmp_path: Path) -> None:
    match = ludus.Match("connect_four")
    weights = weights_of(tmp_path, "connect_four", ResnetConfig(blocks=1, filters=8))
    for player in ("mcts:8", f"{weights}+search:8"):
        with nothing_changes():
            ludus.search(match, player)
    in_thread(lambda: ludus.train("tic_tac_toe", tmp_path / "run", settings=TINY))


def test_a_failed_run_leaves_the_process_too(tmp_path: Path) -> None:
    def fail(_: object) -> None:
        raise KeyError("mine")

    with pytest.raises(RunFailed), nothing_changes():
        ludus.train("tic_tac_toe", tmp_path / "run", settings=TINY, callback=fail)
    with pytest.raises(PresetError), nothing_changes():
        ludus.train("tic_tac_toe", tmp_path / "other", settings={**TINY, "pool.slots": 7, "pool.groups": 2})


@pytest.mark.parametrize("config", [EncoderConfig(memory="lstm", memory_size=8), ResnetConfig(blocks=1)])
def test_networks_are_built_without_a_draw_of_the_programs_generator(
    config: EncoderConfig | ResnetConfig,
) -> None:
    spec = game_spec("connect_four")
    with nothing_changes():
        first = build_network(config, spec, seed=5).state_dict()
    torch.manual_seed(77)
    second = build_network(config, spec, seed=5).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_switches_and_variables_of_a_graphics_card_are_restored() -> None:
    with nothing_changes(), as_found():
        hardware.fix_order()
        assert "CUBLAS_WORKSPACE_CONFIG" in os.environ
        assert torch.backends.cudnn.deterministic


def test_calls_in_two_threads_leave_the_number_that_the_first_has_found() -> None:
    inside, leave = threading.Event(), threading.Event()

    def first() -> None:
        with as_found():
            one_thread()
            inside.set()
            leave.wait(30)

    counts: list[int] = []

    def second() -> None:
        inside.wait(30)
        with as_found():
            one_thread()
        leave.set()
        counts.append(torch.get_num_threads())

    threads = [threading.Thread(target=run) for run in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fresh = threading.Thread(target=lambda: counts.append(torch.get_num_threads()))
    fresh.start()
    fresh.join()
    assert counts == [3, 3]


def test_the_default_of_a_program_that_loads_torch_later() -> None:
    """The first call loads torch; the program then finds its default, not the one thread of Ludus."""
    code = (
        "import os, sys, ludus\n"
        "ludus.evaluate('uniform', 'random', game='minirts', matches=1, max_ticks=30000)\n"
        "import torch\n"
        "assert torch.get_num_threads() == 2, torch.get_num_threads()\n"
    )
    env = {**os.environ, "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

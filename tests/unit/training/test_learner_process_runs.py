"""Runs whose minibatches are divided among processes: number of parts, refusals, bits, lost processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from ludus.algorithms.config import DqnConfig, SlabLearnerConfig
from ludus.algorithms.registry import Method, register
from ludus.bench.training import _advice
from ludus.flow.slab import Array
from ludus.league.config import LeagueConfig
from ludus.policies.encoders import register_encoder
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError, RunFailed
from ludus.presets.file import PresetError
from ludus.presets.parts import larger_parts, learner_processes, parts_problems, with_parts
from ludus.reporting.metrics import UpdateMetrics
from ludus.reporting.sinks import Sink
from ludus.storage import RunDirectory
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .runs import small_preset

QUICK = {"evaluation__every_steps": 0, "evaluation__matches": 0, "evaluation__final_matches": 0}


def preset_of(**overrides: object) -> Preset:
    """Return a preset without evaluations."""
    return small_preset(**{**QUICK, "run__max_steps": 500, **overrides})


def weights_of(path: Path) -> dict[str, Array]:
    return RunDirectory.open(path).checkpoints.load_last()[0].weights.tensors


def check_equal(one: dict[str, Array], other: dict[str, Array]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def children() -> list[int]:
    """Return the learner processes that this process has started, dead ones included."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            words = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == os.getpid() and b"learner_processes" in words:
            found.append(int(path.parent.name))
    return found


# ---- the number of parts ------------------------------------------------------------------------------


def parts_of(preset: Preset) -> int | str:
    assert isinstance(preset.algorithm, SlabLearnerConfig)
    return preset.algorithm.parts


@pytest.mark.parametrize(
    ("threads", "slots", "parts"),
    [(1, 4096, 1), (2, 4096, 1), (3, 4096, 1), (4, 4096, 2), (16, 4096, 8), (64, 4096, 8), (16, 256, 4)],
)
def test_auto_is_half_of_the_threads_and_at_least_256_decisions_a_part(
    threads: int, slots: int, parts: int
) -> None:
    preset = preset_of(pool__slots=slots)  # 8 time steps, 2 minibatches
    assert parts_of(preset) == "auto"
    assert parts_of(with_parts(preset, threads)) == parts


def test_a_typed_number_stays() -> None:
    preset = preset_of(pool__slots=4096, algorithm__parts=3)
    assert with_parts(preset, 16) is preset


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "dqn": ({}, 'algorithm.name = "dqn"'),
    "turns": ({"run__topology": "one_to_one"}, 'run.topology = "one_to_one"'),
    "card": ({"run__device": "cuda"}, 'run.device = "cuda"'),
    "learners": ({"cluster__learners": 2, "cluster__rollouts": 2}, "cluster.learners = 2"),
    "encoder": (
        {"policy__encoder": "of_this_test"},
        'policy.encoder = "of_this_test" is registered by a program',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.usefixtures("forgotten_extensions")
def test_runs_that_cannot_divide_a_minibatch_have_one_part(name: str) -> None:
    settings, reason = REFUSED[name]
    register_encoder("of_this_test", torch.nn.Identity)
    given = preset_of(pool__slots=4096, algorithm__parts=2, **settings)
    if name == "dqn":
        given = msgspec.structs.replace(given, algorithm=DqnConfig(parts=2))
    (problem,) = parts_problems(given)
    assert problem.path == "algorithm.parts"
    assert str(problem).startswith(f"algorithm.parts = 2: expected 1 where {reason}")
    assert learner_processes(given, 4, "cpu") == 1
    auto = msgspec.structs.replace(given, algorithm=msgspec.structs.replace(given.algorithm, parts="auto"))
    assert not list(parts_problems(auto))
    assert parts_of(with_parts(auto, 16)) == 1


def test_a_league_has_one_part() -> None:
    given = msgspec.structs.replace(preset_of(algorithm__parts=2), league=LeagueConfig())
    (problem,) = parts_problems(given)
    assert "expected 1 where there is a league" in str(problem)


@pytest.mark.usefixtures("forgotten_extensions")
def test_a_method_of_a_program_has_one_part() -> None:
    class ProgramConfig(SlabLearnerConfig, frozen=True, forbid_unknown_fields=True, tag="of_a_program"):
        """Settings of a method that only this process knows."""

    register(Method(ProgramConfig, lambda config, network, context: None, divides=True))
    given = msgspec.structs.replace(preset_of(), algorithm=ProgramConfig(parts=2))
    (problem,) = parts_problems(given)
    assert 'algorithm.name = "of_a_program" is registered by a program' in str(problem)


def test_a_refused_run_has_no_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"algorithm.parts = 2: expected 1 where run.topology"):
        start_run(preset_of(algorithm__parts=2, run__topology="one_to_one"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("value", ["0", "65", "1.5", "many"])
def test_a_wrong_number_is_named(value: str) -> None:
    with pytest.raises(PresetError, match=r"parts = .*: expected auto or an integer from 1 to 64"):
        preset_of(algorithm__parts=value)


def test_processes_are_bounded_by_threads() -> None:
    preset = preset_of(algorithm__parts=4)
    assert [learner_processes(preset, n, "cpu") for n in (1, 2, 3, 4, 16)] == [1, 2, 3, 4, 4]
    assert learner_processes(preset, 4, "cuda") == 1


def test_the_advice_names_more_parts_where_processors_are_left() -> None:
    preset = preset_of(pool__slots=4096)
    assert larger_parts(preset, 4) == 4
    assert larger_parts(preset_of(pool__slots=4096, algorithm__parts=4), 4) == 0
    assert larger_parts(preset_of(pool__slots=32), 4) == 0  # 128 decisions a minibatch
    assert "algorithm.parts = 4 lets 4 processes learn" in _advice(
        9.0, 9.0, 1.0, few_pool_threads=False, parts=4
    )
    assert "parts" not in _advice(1.0, 9.0, 9.0, few_pool_threads=False, parts=4)
    assert "parts" not in _advice(9.0, 9.0, 1.0, few_pool_threads=False, parts=0)


# ---- runs ---------------------------------------------------------------------------------------------


def test_a_run_has_the_bits_of_its_parts_with_any_number_of_processes(tmp_path: Path) -> None:
    for threads in (1, 2):
        start_run(preset_of(algorithm__parts=2, run__threads=threads), tmp_path / str(threads))
    check_equal(weights_of(tmp_path / "1"), weights_of(tmp_path / "2"))
    assert not children()
    start_run(preset_of(), tmp_path / "auto")
    texts = [(tmp_path / name / "config.toml").read_text() for name in ("2", "auto")]
    assert ["parts = 2" in texts[0], "parts = 1" in texts[1]] == [True, True]
    two, one = weights_of(tmp_path / "2"), weights_of(tmp_path / "auto")
    assert any(not np.array_equal(two[name], one[name]) for name in one)


def test_a_run_from_before_the_setting_resumes_with_its_bits(tmp_path: Path) -> None:
    budget = lambda preset: msgspec.structs.replace(  # noqa: E731
        preset, run=msgspec.structs.replace(preset.run, max_steps=900)
    )
    for name in ("new", "old"):
        start_run(preset_of(), tmp_path / name)
        if name == "old":
            config = tmp_path / name / "config.toml"
            config.write_text(config.read_text().replace("parts = 1\n", ""))
        resume_run(tmp_path / name, more=budget)
    check_equal(weights_of(tmp_path / "old"), weights_of(tmp_path / "new"))


class Killer(Sink):
    """Kills a learner process after the second update."""

    def __init__(self) -> None:
        self.updates = 0

    def update(self, metrics: UpdateMetrics) -> None:
        self.updates += 1
        if self.updates == 2:
            (pid,) = children()
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("lag", ["sync", "pipelined"])
def test_a_lost_process_ends_the_run_which_resumes_with_equal_bits(lag: str, tmp_path: Path) -> None:
    preset = preset_of(algorithm__parts=2, run__lag=lag, run__checkpoint_every_minutes=1e-9)
    start_run(preset, tmp_path / "whole")
    with pytest.raises(RunFailed, match=r"process 1 was ended by SIGKILL; the newest checkpoint stands"):
        start_run(preset, tmp_path / "lost", sinks=[Killer()])
    assert not children()
    resume_run(tmp_path / "lost")
    assert not children()
    check_equal(weights_of(tmp_path / "lost"), weights_of(tmp_path / "whole"))


@pytest.mark.slow
def test_async_learns_in_processes_too(tmp_path: Path) -> None:
    result = start_run(preset_of(algorithm__parts=2, run__lag="async", run__threads=3), tmp_path / "run")
    assert result.steps >= 500
    assert not children()

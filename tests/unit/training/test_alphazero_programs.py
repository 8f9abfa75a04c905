"""Runs of AlphaZero whose device replays programs: the tape stands in for graphs."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from ludus.algorithms.alphazero.learner import acting_copy
from ludus.policies.accelerator import Executor, Plain
from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory, read_jsonl
from ludus.training.alphazero.components import build_alphazero
from ludus.training.alphazero.gate import Gate
from ludus.training.runs import start_run
from tests.taped import Counting
from tests.unit.training.runs import reproducible_rows
from tests.unit.training.test_alphazero import TOML


def preset(**changes: str) -> Preset:
    return parse_preset(TOML.encode(), "test", overrides=changes).preset


def run_on(executor: Executor, wanted: Preset, folder: Path) -> tuple[str, list[object], int]:
    """Return a digest of the last weights, the metrics without times and the version of a run."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("ludus.mcts.network", "ludus.algorithms.alphazero.learner"):
            patch.setattr(f"{module}.executor_of", lambda _: executor)
        result = start_run(wanted, folder)
    directory = RunDirectory.open(folder)
    tensors = directory.checkpoints.load_last()[0].weights.tensors
    digest = hashlib.sha256(b"".join(tensors[name].tobytes() for name in sorted(tensors))).hexdigest()
    matches = list(read_jsonl(directory.matches))
    return digest, [*reproducible_rows(directory.metrics_path), *matches], result.version


def test_a_taped_run_is_a_run_of_the_functions(tmp_path: Path) -> None:
    wanted = preset(**{"run.max_steps": "200", "evaluation.against": "mcts:10"})
    taped = run_on(Counting(), wanted, tmp_path / "taped" / "run")
    plain = run_on(Plain(static=True), wanted, tmp_path / "plain" / "run")
    assert taped == plain
    assert taped[2] >= 1


def test_a_publish_prepares_no_program(tmp_path: Path) -> None:
    """Every version plays and learns by the programs of the first."""
    executor = Counting()
    changes = {"evaluation.final_matches": "0", "run.max_steps": "550"}
    _, _, version = run_on(executor, preset(**changes), tmp_path / "run")
    assert version >= 2
    assert executor.prepared == 3  # two threads of self-play, and the learner


def test_the_next_gate_uses_the_programs_of_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = Counting()
    monkeypatch.setattr("ludus.mcts.network.executor_of", lambda _: executor)
    components = build_alphazero(preset(**{"algorithm.gate": "true", "algorithm.gate_matches": "4"}))
    judge = Gate(preset(**{"algorithm.gate_matches": "4"}), components, "r@{}".format)
    learner = components.learner
    playing = acting_copy(learner.publish(None))
    first = judge.gate((learner.playing, 1), (playing, 0), 1, lambda: False)
    prepared = executor.prepared
    assert prepared >= 2
    again = judge.gate((learner.playing, 1), (playing, 0), 1, lambda: False)
    assert again == first
    assert executor.prepared == prepared
    components.close()

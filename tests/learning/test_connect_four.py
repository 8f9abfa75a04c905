"""AlphaZero learns Connect Four from self-play; the solver counts the moves that its network gets right."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.strength.connect_four import cases_of, decide, kept_and_best
from ludus.games.connect_four import Solver
from ludus.presets.file import load_preset
from ludus.training.runs import start_run


@pytest.mark.slow
def test_a_network_alone_keeps_the_value_of_most_positions(tmp_path: Path) -> None:
    changes = {
        "policy.blocks": "2",
        "policy.filters": "32",
        "algorithm.self_play.slots": "64",
        "algorithm.round_positions": "2048",
        "run.max_steps": "24000",
        "evaluation.every_steps": "0",
        "evaluation.final_matches": "2",
        "evaluation.against": "random",
    }
    start_run(load_preset("presets/connect-four.toml", changes).preset, tmp_path / "run")
    cases = cases_of((16, 23), 300, 1, None, Solver(64))
    alone, _ = kept_and_best(cases, decide(f"{tmp_path}/run@last+search:1", cases, 1))
    # Of these positions a random move keeps the value in 60%, and the preset's hour in 99%.
    assert alone > 0.8 * len(cases)

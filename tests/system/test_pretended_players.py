"""Players on a pretended GPU: weights act there wherever ``--device`` or ``device=`` is given."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pretended_players import CASES
from tests.pretended_training import ROOT

SLOW = ("rate", "eval-search", "gtp")
QUICK = tuple(case for case in CASES if case not in SLOW)


def answered(folder: Path, *cases: str) -> dict[str, Any]:
    """Return what cases answer on both devices, with the counts of the GPU."""
    command = [sys.executable, "-m", "tests.pretended_players"]
    command += [f"{folder / name}.safetensors:{name}" for name in cases]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=590, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(cases), done.stderr[-3000:]
    return dict(zip(cases, lines, strict=True))


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return answered(tmp_path_factory.mktemp("weights"), *QUICK)


def check(answer: dict[str, Any]) -> None:
    assert "error" not in answer, answer["error"][-3000:]
    assert answer["upload"] > 0
    assert answer["download"] > 0
    assert answer["launch"] > 0
    assert answer["cuda"] == answer["cpu"]


@pytest.mark.parametrize("case", QUICK)
def test_weights_play_on_the_gpu_as_on_the_processor(case: str, quick: dict[str, Any]) -> None:
    check(quick[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", SLOW)
def test_further_players_play_on_the_gpu_as_on_the_processor(case: str, tmp_path: Path) -> None:
    check(answered(tmp_path, case)[case])

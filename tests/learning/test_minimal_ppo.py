"""The example with torch alone learns tic-tac-toe."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "minimal_ppo.py"


@pytest.mark.slow
def test_the_minimal_example_learns_from_its_command_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "--steps", "160000"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=250,
    )
    means = [float(x) for x in re.findall(r"mean outcome ([+-][0-9.]+)", done.stdout)]
    # Two random players end at 0 on average.
    assert means[-1] > 0.6, done.stdout

"""Commands that the targets of the Makefile run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def dry_run(*arguments: str) -> str:
    command = ["make", "-n", "-o", ".venv/installed", "-o", ".venv/developer", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_the_nightly_target_runs_everything() -> None:
    """Fast and slow Python tests, the C++ tests, and these under each sanitizer."""
    lines = dry_run("test-all").splitlines()
    python = [line for line in lines if "-m pytest" in line and "--collect-only" not in line]
    assert len(python) == 2
    assert ["-m slow" in line for line in python] == [False, True]
    built = [line.split()[-1] for line in lines if line.startswith("tools/test_cpp.sh")]
    assert built == ["release", "asan", "tsan"]


def test_a_part_that_fails_does_not_hide_the_others(tmp_path: Path) -> None:
    """With other parts, the recipe continues after one that fails, and fails at the end."""
    text = (ROOT / "Makefile").read_text()
    recipe = text[text.index("test-all: ") :].split("\n\n")[0]
    recipe = recipe.replace("$(VENV)/developer $(VENV)/installed", "")
    parts = "test:\n\t@echo one; exit 1\ntest-slow:\n\t@echo two\nsanitize:\n\t@echo three\n"
    (tmp_path / "Makefile").write_text(recipe + "\n" + parts)
    # These tests may run under make themselves, whose level and flags another make would take over.
    alone = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    done = subprocess.run(
        ["make", "test-all"], cwd=tmp_path, capture_output=True, text=True, check=False, env=alone
    )
    assert done.stdout.split() == ["one", "two", "three"]
    assert "failed: make test\n" in done.stderr
    assert done.returncode != 0

"""Runs programs and commands as a user does: in a separate folder, with the installed package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LUDUS = str(Path(sys.executable).parent / "ludus")


def run(folder: Path, *command: str, timeout_s: float = 200) -> subprocess.CompletedProcess[str]:
    """Run ``command`` in ``folder``, with one thread for torch and without this checkout on the path."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run(
        command,
        cwd=folder,
        env={**environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def ludus(folder: Path, *words: str) -> str:
    """Return the output of the installed command, which must end with 0."""
    done = run(folder, LUDUS, *words)
    assert done.returncode == 0, f"ludus {' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def python(folder: Path, program: str) -> str:
    """Return the output of a program, which must end with 0."""
    done = run(folder, sys.executable, "-W", "error::UserWarning:gymnasium", "-c", program)
    assert done.returncode == 0, f"{program}\n{done.stdout}\n{done.stderr}"
    return done.stdout

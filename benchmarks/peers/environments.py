"""A virtual environment for each peer, made once: pinned versions, the torch of Ludus's own constraints.

A peer that cannot be installed on this machine is reported with pip's message, and the others run.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: installed one after the other; what is in the second needs the first to be built
STEPS = ("build", "run")


class Unavailable(RuntimeError):
    """A peer that could not be installed, and why."""


def python_of(peer: str, folder: Path, python: str) -> Path:
    """Return the interpreter of ``peer``'s environment in ``folder``, which is made if it is not there.

    ``python`` makes it; ``requirements/PEER-build.txt`` (where there is one) is installed first, then
    ``requirements/PEER-run.txt``. Raises :class:`Unavailable`.
    """
    home = folder / peer
    interpreter = home / "bin" / "python"
    lists = [HERE / "requirements" / f"{peer}-{step}.txt" for step in STEPS]
    wanted = hashlib.sha256(b"".join(p.read_bytes() for p in lists if p.exists())).hexdigest()
    mark = home / "ready"
    if mark.exists() and mark.read_text() == wanted:
        return interpreter
    print(f"== environment of {peer} in {home} (the first time: some minutes)", file=sys.stderr, flush=True)
    if not interpreter.exists():
        _run([python, "-m", "venv", str(home)], f"{peer}: no virtual environment")
    for step, path in zip(STEPS, lists, strict=True):
        if path.exists():
            options = ["--no-build-isolation"] if step == "run" and lists[0].exists() else []
            _run(
                [str(interpreter), "-m", "pip", "install", *options, "-r", str(path)],
                f"{peer}: pip install -r {path.name}",
            )
    mark.write_text(wanted)
    return interpreter


def version_of(interpreter: Path, package: str) -> str:
    """Return the version of an installed package, or ``-``."""
    code = f"from importlib import metadata; print(metadata.version({package!r}))"
    out = subprocess.run([str(interpreter), "-c", code], capture_output=True, text=True, check=False)
    return out.stdout.strip() or "-"


def _run(command: list[str], what: str) -> None:
    # PufferLib asks for CUDA where it finds nvcc; a torch for processors has none.
    places = [p for p in os.environ.get("PATH", "").split(os.pathsep) if not (Path(p) / "nvcc").exists()]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(places),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "MAX_JOBS": "2",
    }
    out = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if out.returncode:
        said = [line.strip() for line in (out.stdout + out.stderr).splitlines() if line.strip()]
        errors = [line for line in said if "error" in line.lower()] or said
        raise Unavailable(f"{what} failed: {' | '.join(errors[-3:])}")

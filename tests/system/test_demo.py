"""`make demo` with a budget of seconds: one set of final matches, and a match to watch."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ludus.storage import read_jsonl

ROOT = Path(__file__).parents[2]


def test_the_demo_plays_its_matches_once_and_leaves_a_replay(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "presets").mkdir()
    for name in ("tools/demo.sh", "tools/pick_replay.py", "presets/minirts.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    budget = "--run.max-minutes 0 --run.max-steps 20000 --pool.slots 32 --evaluation.every-steps 0"
    done = subprocess.run(
        ["bash", "tools/demo.sh"],
        cwd=tmp_path,
        env={
            **os.environ,
            "VENV": str(Path(sys.executable).parents[1]),
            "LUDUS_DEMO_ARGS": f"{budget} --evaluation.matches 4",
            "LUDUS_DEMO_MATCHES": "6",
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "runs").iterdir()
    final = [m for m in read_jsonl(run / "matches.jsonl") if m["evaluation"] == "final"]
    assert len(final) == 6
    # The demo's last lines are the results of these matches; no other matches are played.
    printed = re.findall(r"of (\d+) matches", done.stdout)
    assert set(printed) <= {"6", "4"}, done.stdout
    assert (run / "replay.html").stat().st_size > 10_000
    assert f"open runs/{run.name}/replay.html" in done.stdout
    assert f"ludus play runs/{run.name}@best" in done.stdout
    assert "next steps" not in done.stdout  # one list of commands
    commands = re.findall(r"^ +(\S*ludus) ", done.stdout, re.MULTILINE)
    assert commands
    assert all(Path(tmp_path, command).is_file() for command in commands)  # not a ludus on PATH

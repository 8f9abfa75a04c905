"""Commands after `pip install .` without extras: only numpy and msgspec are installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.test_command_line import ENVIRONMENT

#: Everything that only an extra brings. A finder in front of all others reports it as not installed.
RUN = """\
import sys
MISSING = {"torch", "safetensors", "tensorboard", "rich", "gymnasium", "pettingzoo", "av", "PIL", "scipy"}
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from ludus.cli.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def plain(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Return a command in an installation without extras."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_bots_and_searches_play_and_a_replay_becomes_a_page(tmp_path: Path) -> None:
    words = ["eval", "simple", "--against", "hit_and_run", "--game", "minirts", "--matches", "2", "--json"]
    done = plain(*words, "--record", "kept", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["matches"] == 2
    page = plain("replay", "to-html", result["replays"][0], "--out", "page.html", cwd=tmp_path)
    assert (page.returncode, page.stdout) == (0, "page.html\n"), page.stderr
    assert plain("replay", "verify", *result["replays"], cwd=tmp_path).returncode == 0
    words = ["eval", "mcts:50", "--against", "random", "--game", "tic_tac_toe", "--matches", "2", "--json"]
    done = plain(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["matches"] == 2
    table = plain("rate", "mcts:20", "random", "--game", "tic_tac_toe", "--matches", "2", cwd=tmp_path)
    assert table.returncode == 0, table.stderr


@pytest.mark.parametrize(
    "line",
    [
        "games list",
        "games show minirts",
        "games check tic_tac_toe --matches 2",
        "presets list",
        "presets show minirts",
        "train minirts --explain",
        "bench sim tic_tac_toe --seconds 0.1",
        "signature",
        "doctor",
    ],
)
def test_commands_without_a_neural_network_work(line: str, tmp_path: Path) -> None:
    done = plain(*line.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_command_that_needs_an_extra_names_it(tmp_path: Path) -> None:
    done = plain("train", "tic_tac_toe", "--run.max-steps", "100", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("which is not installed: pip install '.[train]' in the clone of Ludus\n")
    done = plain("games", "show", "pettingzoo/classic/connect_four_v3", cwd=tmp_path)
    assert done.returncode == 2
    assert "pip install '.[pettingzoo]' in the clone of Ludus" in done.stderr
    assert not (tmp_path / "runs").exists()

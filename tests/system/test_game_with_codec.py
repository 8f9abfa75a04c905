"""A Python game outside the tree with its own codec: trained, evaluated, resumed, loaded.

The package is used in both ways: found in the current folder because a person names it, and installed, with
entry points. Every step is a new process, as a user's commands are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ludus.storage import read_weights

SCRIPT = str(Path(sys.executable).with_name("ludus"))
GAME = '''
import sys

from ludus.codecs import register_codec
from ludus.flow import HeadSpec
from ludus.games.python_game import declare, tensor

{register}


class Parity:
    """Say whether the number is odd; eight numbers a match."""

    truncated = False

    def __init__(self):
        self.spec = declare(
            "parity",
            observation=[tensor("number", (1,), "u8", low=0, high=255, codec="digits")],
            heads=[HeadSpec("odd", 2)],
        )

    def reset(self, seed):
        import random

        assert "torch" not in sys.modules, "a process that plays has loaded torch"
        self.rng = random.Random(seed)
        self.tick, self.number, self.right = 0, self.rng.randrange(256), 0

    def to_act(self):
        return (0,)

    def step(self, actions):
        self.right = int(actions[0, 0] == self.number % 2)
        self.number = self.rng.randrange(256)
        self.tick += 1
        return self.tick == 8

    def rewards(self, out):
        out[:] = self.right

    def outcome(self, out):
        out[:] = 0

    def observe(self, seat, out):
        out["number"][:] = self.number


GAME = Parity
'''
CODEC = """
import torch

from ludus.codecs import TensorLayout


class Digits:
    def layout(self, spec):
        return TensorLayout("vector", (8,))

    def decode(self, spec, packed):
        return (packed >> torch.arange(8, device=packed.device) & 1).float()
"""
PRESET = """
[game]
name = "{game}"
[policy]
dense = [16]
hidden = [16]
[evaluation]
every_steps = 0
matches = 8
final_matches = 8
[run]
max_steps = 12000
threads = 2
"""
ENTRY_POINTS = """\
[ludus.games]
parity = parity_game.game:Parity
[ludus.codecs]
digits = parity_game.codec:Digits
"""


def ludus(folder: Path, *arguments: str, path: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [SCRIPT, *arguments, "--json"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == code, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done


def trained(folder: Path, game: str, path: str = "") -> str:
    """Return the last weights of a run of a few updates."""
    (folder / "preset.toml").write_text(PRESET.format(game=game))
    done = ludus(folder, "train", "preset.toml", "--run-dir", "run", "--quiet", path=path)
    result = json.loads(done.stdout)
    assert result["final"][0]["errors"] == 0
    assert result["version"] >= 2
    return "run@last"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a folder with the package ``parity_game``, whose game registers its codec."""
    folder = tmp_path / "here"
    write(folder, 'register_codec("digits", "parity_game.codec:Digits")')
    return folder


def write(folder: Path, register: str) -> None:
    home = folder / "parity_game"
    home.mkdir(parents=True)
    (home / "__init__.py").touch()
    (home / "game.py").write_text(GAME.format(register=register))
    (home / "codec.py").write_text(CODEC)


@pytest.mark.slow
def test_a_game_named_by_its_module_registers_its_codec(package: Path) -> None:
    game = "parity_game.game:Parity"
    last = trained(package, game)
    weights = next((package / "run" / "checkpoints").glob("*/weights.safetensors"))
    assert json.loads(read_weights(weights).meta.spec)["observation"][0]["codec"] == "digits"
    result = json.loads(
        ludus(package, "eval", last, "--matches", "8", "--threads", "2", "--game", game).stdout
    )
    assert (result["matches"], result["errors"]) == (8, 0)

    unnamed = ludus(package, "eval", last, "--matches", "8", "--threads", "2", code=2)
    assert "if you trust its code, name it yourself: --game" in unnamed.stderr
    more = json.loads(ludus(package, "resume", "run", "--run.max-steps", "20000", "--quiet").stdout)
    assert more["steps"] >= 20000

    program = "import ludus; p = ludus.load_policy('run@last', game='{}'); print(p.act({{'number': [3]}}))"
    command = [sys.executable, "-c", program.format(game)]
    acted = subprocess.run(command, capture_output=True, text=True, cwd=package)
    assert acted.stdout.strip() in ("0", "1"), acted.stderr
    command[-1] = "import ludus; ludus.load_policy('run@last')"
    refused = subprocess.run(command, capture_output=True, text=True, cwd=package)
    assert "names the codec 'digits'; known codecs: bits, identity" in refused.stderr


def test_an_installed_game_is_played_by_names_alone(tmp_path: Path) -> None:
    site, folder = tmp_path / "site", tmp_path / "elsewhere"
    folder.mkdir()
    write(site, "")
    about = site / "parity_game-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: parity-game\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    last = trained(folder, "parity", str(site))
    result = json.loads(
        ludus(folder, "eval", last, "--matches", "8", "--threads", "2", path=str(site)).stdout
    )
    assert (result["game"], result["matches"], result["errors"]) == ("parity", 8, 0)

    (site / "parity_game" / "codec.py").write_text("import no_such_library\n")
    broken = ludus(folder, "eval", last, "--matches", "8", "--threads", "2", path=str(site), code=2)
    assert "codec 'digits': the entry point parity_game.codec:Digits of parity-game 1.0" in broken.stderr
    assert "Traceback" not in broken.stderr

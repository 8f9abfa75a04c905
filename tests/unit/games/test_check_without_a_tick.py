"""``ludus games check`` of a game that cannot play: no check passes that was not made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ludus.cli import __main__ as cli

GAME = """
import os
from ludus.flow import HeadSpec
from ludus.games.python_game import declare, tensor

class Game:
    truncated = False
    spec = declare("broken", observation=[tensor("x", (1,))], heads=[HeadSpec("move", 2)], max_ticks=9)
    def __init__(self): self.fail("init")
    def fail(self, where):
        if where == "WHERE": HOW
    def reset(self, seed):
        self.tick = 0
        self.fail("reset")
    def to_act(self):
        self.fail("to_act")
        return [0]
    def step(self, actions):
        self.fail(f"step {self.tick}")
        self.tick += 1
        return self.tick == 3
    def rewards(self, out):
        self.fail("rewards")
        out[...] = 0.0
    def outcome(self, out): out[...] = 0.0
    def observe(self, seat, out):
        self.fail("observe")
        out["x"][...] = 0.0

GAME = Game
"""
OF_TICKS = {"seats", "masks", "observations_written", "observations_in_range", "rewards_finite"}


@pytest.mark.parametrize(
    ("where", "how", "ticks"),
    [
        ("reset", "raise ValueError('no')", False),
        ("to_act", "raise KeyError('no')", False),
        ("observe", "raise KeyError('no')", False),
        ("step 0", "1 / 0", False),
        ("step 1", "1 / 0", True),
        ("step 0", "os._exit(3)", False),
    ],
)
def test_a_game_that_cannot_play_has_no_speed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str, how: str, ticks: bool
) -> None:
    path = tmp_path / "broken.py"
    path.write_text(GAME.replace("WHERE", where).replace("HOW", how))
    assert cli.main(["games", "check", str(path), "--matches", "1"]) == 3
    out, err = capsys.readouterr()
    assert "ticks/s" not in out
    checks = {line.split()[1]: line.split()[0] for line in out.splitlines()}
    assert checks["plays"] == "FAILED"
    assert "speed" not in checks
    assert not {"ends", "deterministic", "hash_order"} & checks.keys()
    assert (checks.keys() >= OF_TICKS) == ticks
    assert f"1 of {len(checks)} checks failed: plays" in err


def test_a_game_that_plays_has_all_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "whole.py"
    path.write_text(GAME)
    assert cli.main(["games", "check", str(path), "--matches", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {"speed", "deterministic", *OF_TICKS} <= {f["check"] for f in report["findings"]}
    assert report["ns_per_tick"] > 0

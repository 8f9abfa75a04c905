"""``ludus games check`` of games whose matches depend on more than the seed: a note if they say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.cli import __main__ as cli
from ludus.games import check_game
from ludus.games.names import typed

GAME = """
import os, time
from ludus.flow import HeadSpec
from ludus.games.python_game import declare, tensor

class Game:
    truncated = False
    spec = declare(
        "clock", observation=[tensor("x", (1,), low=0, high=2)], heads=[HeadSpec("move", 2)], max_ticks=9,
        reproducible=SAID,
    )
    made = 0
    def __init__(self):
        Game.made += 1
        self.objects = Game.made
        self.fail()
    def fail(self):
        if "FAILS" and self.objects > 2: raise OSError("no other engine")
    def reset(self, seed): self.tick = 0
    def to_act(self): return [0]
    def step(self, actions):
        self.tick += 1
        self.x = (time.perf_counter_ns() % 1000) / 1000
        return self.tick == 3
    def rewards(self, out): out[...] = self.x
    def outcome(self, out): out[...] = 0.0
    def observe(self, seat, out): out["x"][...] = 0.5

GAME = Game
"""
REPEATED = ("deterministic", "reset_forgets", "independent")


def findings(said: bool, fails: bool, folder: Path, *, apart: bool) -> dict[str, tuple[bool, str]]:
    path = folder / f"{said}{fails}.py"
    path.write_text(GAME.replace("SAID", str(said)).replace('"FAILS"', str(fails)))
    return {
        f.check: (f.passed, f.detail) for f in check_game(typed(str(path)), matches=2, apart=apart).findings
    }


def test_a_match_that_cannot_be_repeated_fails_unless_the_game_says_so(tmp_path: Path) -> None:
    for said in (True, False):
        found = findings(said, False, tmp_path, apart=not said)
        for name in REPEATED:
            passed, detail = found[name]
            assert passed == (not said)
            assert detail.startswith("not promised (reproducible = False): ") == (not said)
    assert found["hash_order"] == (True, "only the spaces are compared (reproducible = False)")
    assert all(passed for passed, _ in found.values())


def test_another_object_that_fails_is_found_in_such_a_game_too(tmp_path: Path) -> None:
    failed = {
        name: detail
        for name, (passed, detail) in findings(False, True, tmp_path, apart=False).items()
        if not passed
    }
    assert "no other engine" in str(failed)


def test_the_page_of_such_a_game_says_that_replays_may_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "clock.py").write_text(GAME.replace("SAID", "False").replace('"FAILS"', "False"))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["games", "show", "clock.py"]) == 0
    assert "replays may not be reproduced" in capsys.readouterr().out

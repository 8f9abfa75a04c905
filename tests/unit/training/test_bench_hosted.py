"""``ludus bench sim`` of Python games: the pool beside the library, in turns."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
from pathlib import Path

import pytest

from ludus.bench import hosted
from ludus.bench.hosted import TURNS, BareProcesses, bench_hosted
from ludus.cli.__main__ import main
from ludus.games.names import typed
from ludus.pool.errors import PoolError

GAME = """
from ludus.games.python_game import declare, tensor
from ludus.flow import HeadSpec


class Count:
    def __init__(self):
        self.spec = declare("count", observation=[tensor("at", (1,))], heads=[HeadSpec("move", 2)])
        self.truncated = False

    def reset(self, seed):
        self.at = 0

    def to_act(self):
        return (0,)

    def step(self, actions):
        self.at += 1
        return self.at == 5

    def rewards(self, out):
        out[0] = 1.0

    def outcome(self, out):
        out[0] = 0.0

    def observe(self, seat, out):
        out["at"][...] = self.at


GAME = Count
"""


@pytest.fixture
def game(tmp_path: Path) -> str:
    path = tmp_path / "count.py"
    path.write_text(GAME)
    return typed(str(path))


def test_a_game_without_a_bare_library_has_only_the_pools_rate(game: str) -> None:
    found = bench_hosted(game, {}, matches=3, seconds=0.2)
    assert found.matches == 4  # two groups of equal size
    assert found.ticks_per_s > 0
    assert found.frames_per_s == found.ticks_per_s
    assert len(found.turns) == TURNS
    assert found.failed == 0
    assert (found.bare_ticks_per_s, found.share_of_bare, found.bare_turns) == (None, None, ())


def test_the_library_plays_in_turns_with_the_pool_and_its_processes_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    if importlib.util.find_spec("gymnasium") is None:
        pytest.skip("gymnasium is not installed")
    words = ["bench", "sim", "gymnasium/CartPole-v1", "--matches", "2", "--seconds", "0.2"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["turns"]) == len(found["bare_turns"]) == TURNS
    ratios = sorted(a / b for a, b in zip(found["turns"], found["bare_turns"], strict=True))
    assert found["share_of_bare"] == pytest.approx((ratios[1] + ratios[2]) / 2)
    assert not multiprocessing.active_children()
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "without Ludus" in said
    assert "of the library" in said
    assert "frames/s" not in said  # a frame is a tick


def test_a_library_that_cannot_start_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hosted, "START_S", 30.0)
    with pytest.raises(PoolError, match=r"missing\.py"):
        BareProcesses(typed(str(tmp_path / "missing.py")), {}, 1, 1)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("option", [("--bots", "uniform"), ("--frame-skip", "2")])
def test_options_of_compiled_games_are_refused(
    option: tuple[str, str], game: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "sim", str(game), *option]) == 2
    said = capsys.readouterr().err
    assert f"{option[0]} {option[1]}" in said
    assert "expected --param" in said

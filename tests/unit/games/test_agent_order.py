"""Agents of a set are seated alike in every process: the parent, its workers, and another program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ludus.games.adapters.pettingzoo import _teams_by_name
from ludus.games.checks.agent_order import listed

GAME = "pettingzoo/tests.unit.games.set_envs"
PROGRAM = """
import json, sys
import ludus
from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.settings import MatchSettings
from ludus.games import replays, typed
from ludus.games.registry import maker

game, how, out = typed(sys.argv[1]), sys.argv[2], sys.argv[3]
here = [str(a) for a in maker(game, {"listed": how}).agents]
kept = []
settings = MatchSettings(matches=6, seed=4, record=1)
evaluate("random", "uniform", settings, game=game, params={"listed": how}, keep=kept.append)
agreed = [str(a) for a in maker(game, {"listed": how}).agents]
open(out, "wb").write(next(r.replay for r in kept if r.replay))
print(json.dumps({
    "here": here, "agreed": agreed, "outcomes": [r.outcome for r in kept],
    "reproduced": replays.info(open(out, "rb").read()).reproduced,
}))
"""


def run(hash_seed: int, how: str, out: Path) -> dict[str, object]:
    words = [sys.executable, "-c", PROGRAM, GAME, how, str(out)]
    env = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("how", [pytest.param("list", marks=pytest.mark.slow), "set"])
def test_other_hashes_give_the_same_seats_and_results(how: str, tmp_path: Path) -> None:
    found = [run(seed, how, tmp_path / f"{seed}.ludus") for seed in (1, 2)]
    if how == "set":
        assert found[0]["here"] == sorted(found[0]["here"])  # type: ignore[call-overload]
    else:
        assert found[0]["here"] != found[1]["here"]
    assert found[0]["agreed"] == found[1]["agreed"]
    assert found[0]["outcomes"] == found[1]["outcomes"]
    assert [f["reproduced"] for f in found] == ["yes", "yes"]
    words = [sys.executable, "-m", "ludus", "replay", "verify", str(tmp_path / "1.ludus"), "--game", GAME]
    env = {**os.environ, "PYTHONHASHSEED": "3"}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_teams_that_differ_between_processes_are_refused_with_the_cause(tmp_path: Path) -> None:
    words = "eval random --against uniform --matches 2 --param teams=by_name --param listed=teams"
    env = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "ludus", *words.split(), "--game", GAME],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 or "another order in every process" in done.stderr, done.stderr


def test_a_set_is_sorted_by_its_numbers() -> None:
    assert listed({"p10", "p2", "p1"}) == ["p1", "p2", "p10"]
    assert listed(frozenset({"b", "a"})) == ["a", "b"]
    assert listed(["p10", "p2"]) == ["p10", "p2"]
    assert listed({"p10": 0, "p2": 1}.keys()) == ["p10", "p2"]


@pytest.mark.parametrize(
    ("agents", "what"),
    [
        (["0", "1", "2", "3"], r"every agent has only a number for a name"),
        (["_0", "_1"], "every agent has only a number for a name"),
        ([0, 1], "every agent has only a number for a name"),
        (["red_0", "red_1"], "every agent is named red;"),
    ],
)
def test_one_team_is_refused_in_words(agents: list[str], what: str) -> None:
    with pytest.raises(ValueError, match=f"teams = by_name: {what}.*expected two names or more"):
        _teams_by_name(agents)

"""The examples of docs/guides/python_games.md work as written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from ludus.codecs import registry
from ludus.codecs.forms import decoded
from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.settings import MatchSettings
from ludus.games import check_game, hosted
from ludus.games.names import typed
from ludus.games.registry import maker
from ludus.presets.checks.game import check_game as check_preset
from ludus.presets.file import load_preset
from ludus.training.runs import start_run
from tests.unit.api.from_folder import python

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "python_games.md").read_text("utf-8")


def test_the_game_of_the_guide_is_checked_trained_and_rated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hosted, "_loaded", {})  # a game loaded by a test stays in that test
    python = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    Path("nim.py").write_text(python[0])
    Path("nim.toml").write_text(re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)[0])
    report = check_game(typed("./nim.py"), {"heap": 9}, matches=10)
    assert not [f for f in report.findings if not f.passed]

    options = {
        "run.max-steps": "3000",
        "run.threads": "2",
        "pool.slots": "16",
        "evaluation.every-steps": "0",
        "evaluation.matches": "20",
        "evaluation.final-matches": "40",
        "policy.hidden": "16",
        "policy.dense": "",
    }
    loaded = load_preset("nim.toml", options)
    assert check_preset(loaded).name == "nim"
    result = start_run(loaded.preset, tmp_path / "run")
    assert result.steps >= 3000
    (final,) = result.final
    assert (final.against, final.matches, final.errors) == ("random", 40, 0)
    again = evaluate(f"{tmp_path}/run@last", "random", MatchSettings(matches=10))
    assert (again.matches, again.game, again.params) == (10, "nim", {"heap": "21"})


def test_the_codec_of_the_guide_decodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hosted, "_loaded", {})
    monkeypatch.setattr(registry._CODECS, "_registered", {})
    monkeypatch.setattr(registry._CODECS, "_found", {})
    game, *blocks = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    (codec,) = (b for b in blocks if "register_codec" in b)
    assert 'tensor("heap", (1,), "u8", low=0, high=255, codec="heap_bits")' in GUIDE
    Path("nim.py").write_text(codec + game.replace("scale=1 / heap", 'codec="heap_bits"'))
    (heap,) = maker(typed("./nim.py")).spec.observation
    packed = torch.tensor([[12], [0]], dtype=torch.uint8)
    values = decoded(heap, registry.layout_of(heap), packed)
    assert values.tolist() == [[0, 0, 1, 1, 0, 0, 0, 0], [0] * 8]


def test_the_scores_of_the_guide_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hosted, "_loaded", {})
    game, *blocks = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    (scored,) = (b for b in blocks if "def scores" in b)
    named = game.replace(
        "            seats=2,\n", '            seats=2,\n            scores=("taken", "place"),\n'
    )
    Path("counted.py").write_text(named.replace("GAME = Nim", "") + scored + "\nGAME = CountedNim\n")
    settings = MatchSettings(matches=20)
    result = evaluate("uniform", "uniform", settings, game=typed("./counted.py"), params={"heap": 12})
    taken, place = result.named_scores
    assert 3 < taken.mean < 9  # of the twelve, two players
    assert place.mean == pytest.approx(2 - (result.win_rate or 0.0))
    assert not [f for f in check_game(typed("./counted.py"), matches=3).findings if not f.passed]


@pytest.mark.slow
def test_the_environments_of_the_guide_run(tmp_path: Path) -> None:
    """Run in a separate process, in which no test registers the games."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    (faces,) = (b for b in blocks if "parallel_env(" in b)
    (learning,) = (b for b in blocks if "model.learn" in b)
    output = python(
        tmp_path,
        faces + "print(one.reset(seed=1)[1].keys(), many.num_envs, mine.spec, all_seats.possible_agents)\n",
    )
    assert output == "dict_keys(['legal', 'action_mask']) 64 None ['seat_0', 'seat_1']\n"
    python(tmp_path, learning.replace("10_000", "64").replace('v1")', 'v1", n_steps=64)'))

"""The record of a league beside naive self-play: exploiters play their victims' kept weights."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.strength import league_minirts
from benchmarks.strength.evaluated import Played, Store
from tests.unit.tools.synthetic import run_of
from tools.figures import figures_of
from tools.kept_weights import keep_weights
from tools.raw_lines import Setting

REQUIRED = ["--league", "a@main", "--naive", "b@main", "--commands", "ludus train alphastar"]


def test_exploiters_play_the_kept_weights_of_their_victims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = Setting("tic_tac_toe", opponent=league_minirts.LEAGUE, play="drawn", matches=8)
    monkeypatch.setattr(league_minirts, "setting_of_run", lambda *_: setting)
    victims, exploiters = (
        [Played(run_of(cell, seed, tmp_path), tmp_path, "") for seed in (1, 2)]
        for cell in ("league", "naive")
    )
    args = league_minirts.parser_of().parse_args([*REQUIRED, "--matches", "4"])
    store = Store(tmp_path / "lines.jsonl")
    words = (league_minirts.LEAGUE, victims, exploiters, args)
    lines = list(league_minirts.exploited(*words, store, tmp_path))
    assert [(x.seed, x.weights, x.against_weights) for x in lines] == [
        (e.run.seed, e.run.weights, v.run.weights) for v, e in zip(victims, exploiters, strict=True)
    ]
    assert figures_of(lines, "%", "seeds")[0].label == "a new exploiter against the league's main, drawn"
    monkeypatch.setattr(league_minirts, "play", lambda *_, **__: pytest.fail("played again"))
    again = league_minirts.exploited(*words, Store(tmp_path / "lines.jsonl"), tmp_path)
    assert list(again) == lines


def test_weights_that_never_learned_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ludus.presets.file import load_preset
    from ludus.storage.tensors import encode_weights
    from ludus.training.actor_learner.build import build_learner
    from tools import play_lines

    weights = build_learner(load_preset("tic_tac_toe", {"policy.hidden": "[4]"}).preset).weights()
    digest = keep_weights(weights, "x", tmp_path)
    (tmp_path / "w.safetensors").write_bytes(encode_weights(weights))
    monkeypatch.setattr(play_lines, "keep", lambda *_, **__: digest)
    monkeypatch.setattr(play_lines, "run_facts", lambda *_: ("id", 1, 0))
    with pytest.raises(ValueError, match="untrained weights"):
        play_lines.run_of("run@main:0", "ludus train alphastar", folder=tmp_path)


def test_an_exploiter_for_each_victim(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["x", *REQUIRED, "--against-league", "c@x", "d@x"])
    with pytest.raises(SystemExit) as ended:
        league_minirts.main()
    assert ended.value.code == 2
    assert "expected one exploiter for each of --league" in capsys.readouterr().err

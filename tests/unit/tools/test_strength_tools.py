"""The tools that ask how strong a run of AlphaZero is, and whether it lacks learning or targets."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from benchmarks.strength import connect_four_targets, go_curve, gtp_match, refit
from ludus.search import Games
from ludus.search.self_play import DTYPES
from ludus.storage import RunDirectory
from ludus.train.api import evaluate, start_run
from ludus.train.preset_file import load_preset

TINY = {
    "algorithm.batch": "32",
    "algorithm.round_positions": "200",
    "algorithm.reuse": "1",
    "algorithm.window_games_min": "10",
    "search.visits": "8",
    "self_play.slots": "8",
    "policy.blocks": "1",
    "policy.filters": "8",
    "evaluation.every_steps": "0",
    "evaluation.final_matches": "2",
    "evaluation.against": "random",
    "run.max_steps": "800",
    "run.threads": "1",
}


def games(**columns: list[float]) -> Games:
    return Games.of({name: np.array(columns.get(name, []), dtype) for name, dtype in DTYPES.items()})


def test_cases_are_the_positions_searched_in_full_for_the_seat_that_decides() -> None:
    two = games(
        match=[1, 2],
        plies=[3, 2],
        outcome=[1, 0],
        action=[3, 4, 5, 0, 6],
        seat=[0, 1, 0, 0, 1],
        full=[1, 1, 0, 0, 1],
        targets=[1, 2, 0, 0, 1],
        target_move=[3, 4, 2, 6],
        target_share=[65535, 49151, 16384, 65535],
    )
    cases = connect_four_targets.cases_of(two)
    assert [c.columns for c in cases] == [[], [3], [0]]
    assert [c.outcome for c in cases] == [1, -1, 0]
    assert [list(c.target) for c in cases] == [[3], [4, 2], [6]]
    assert cases[1].target[4] == pytest.approx(0.75, abs=1e-4)


def test_options_are_pairs() -> None:
    assert refit.options_of(["--policy.blocks", "4"]) == {"policy.blocks": "4"}
    for wrong in (["--policy.blocks"], ["--blocks", "4"], ["policy.blocks", "4"]):
        with pytest.raises(SystemExit, match="expected pairs"):
            refit.options_of(wrong)


def test_both_work_on_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    start_run(load_preset("presets/connect-four.toml", TINY).preset, run)
    out = tmp_path / "fresh"
    options = ["--minutes", "0.02", "--held-out", "0.3", "--policy.filters", "4"]
    monkeypatch.setattr(sys, "argv", ["refit", str(run), str(out), *options])
    refit.main()
    assert "held out: kl" in capsys.readouterr().out
    assert evaluate(f"{out}@last+search:2", "random", matches=2).matches == 2

    arguments = ["--positions", "20", "--visits", "4", "--bands", "24,16"]
    monkeypatch.setattr(sys, "argv", ["targets", str(run), *arguments])
    connect_four_targets.main()
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("| 24", "| 16"))]
    assert len(rows) == 2
    assert all(row.count("%") == 5 for row in rows)


def test_matches_at_a_time_are_those_of_one_after_the_other(tmp_path: Path) -> None:
    setting = gtp_match.Setting(size=7, komi=0.5, opening=2, referee="tactical")
    one = gtp_match.play_all("mcts:300", "random", setting, 5)
    two = gtp_match.play_all("mcts:300", "random", setting, 5, jobs=2, sgf_folder=tmp_path)
    assert one["matches"] == two["matches"] == 5
    assert one["won"] in (4, 5)  # random moves win now and then
    assert two["won"] in (4, 5)
    assert one["rate"] == one["won"] / 5
    records = sorted(tmp_path.glob("*.sgf"))
    assert [r.name for r in records] == [f"match-{n:04d}.sgf" for n in range(1, 6)]
    starts = [r.read_text().split(";")[2:4] for r in records]  # the stones drawn for a pair
    assert starts[0] == starts[1] != starts[2] == starts[3]
    assert "PB[Ludus" in records[0].read_text()
    reverse = gtp_match.play_all("random", "mcts:300", setting, 4)
    assert reverse["won"] in (0, 1)


def test_the_curve_has_a_row_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = tmp_path / "run", tmp_path / "curve.json"
    keep = {"run.keep_checkpoints": "9", "run.checkpoint_every_minutes": "0.001"}
    start_run(load_preset("presets/go5.toml", TINY | keep).preset, run)
    kept = RunDirectory.open(run).checkpoints.versions()
    versions = [str(kept[0]), str(kept[-1])]
    arguments = ["--size", "5", "--komi", "0.5", "--visits", "4", "--matches", "2", "--referee", "tactical"]
    arguments += ["--against", "tactical", "--versions", *versions, "--json", str(out)]
    monkeypatch.setattr(sys, "argv", ["go_curve", str(run), *arguments])
    assert go_curve.main() == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[0] for row in rows] == [f"| {version}" for version in versions]
    first, last = json.loads(out.read_text())
    assert first["opponent"] == last["opponent"] == "tactical"
    assert first["matches"] == last["matches"] == 2
    assert 0 <= first["minutes"] < last["minutes"]
    assert first["steps"] < last["steps"]

"""The tools that measure how strong a run of AlphaZero is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.strength import go_curve, gtp_match
from ludus.presets.file import load_preset
from ludus.storage import RunDirectory
from ludus.training.runs import start_run

TINY = {
    "algorithm.batch_size": "32",
    "algorithm.round_positions": "200",
    "algorithm.sample_reuse": "1",
    "algorithm.window_matches_min": "10",
    "algorithm.search.visits": "8",
    "algorithm.self_play.slots": "8",
    "policy.blocks": "1",
    "policy.filters": "8",
    "evaluation.every_steps": "0",
    "evaluation.final_matches": "2",
    "evaluation.against": "random",
    "run.max_steps": "800",
    "run.threads": "1",
}


@pytest.mark.slow
def test_concurrent_matches_equal_sequential_ones(tmp_path: Path) -> None:
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


@pytest.mark.slow
@pytest.mark.usefixtures("stepped_self_play")
def test_the_curve_has_a_row_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = tmp_path / "run", tmp_path / "curve.json"
    keep = {"run.keep_checkpoints": "9", "run.checkpoint_every_minutes": "0.0000001"}
    start_run(load_preset("presets/go5.toml", TINY | keep).preset, run)
    kept = RunDirectory.open(run).checkpoints.versions()
    versions = [str(kept[0]), str(kept[-1])]
    arguments = [
        "--size",
        "5",
        "--komi",
        "0.5",
        "--visits",
        "4",
        "--matches",
        "2",
        "--referee",
        "tactical",
    ]
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

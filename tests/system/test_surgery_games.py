"""Surgery on a run whose game changed: a unit type more, verified on matches of the new game."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ludus.cli.__main__ import main
from ludus.flow import decode_spec
from ludus.presets.document import to_toml
from ludus.presets.file import load_preset
from ludus.storage import RunDirectory
from ludus.training.surgery import record
from tests.system.test_surgery_runs import cut
from tests.unit.surgery.test_matches import more_types

SETTINGS = {
    "game.frame_skip": "20",
    "pool.slots": "4",
    "pool.groups": "1",
    "pool.rollout_length": "8",
    "policy.inputs": "units,globals",
    "policy.dense": "16",
    "policy.hidden": "24",
    "policy.norm": "none",
    "policy.memory": "lstm",
    "policy.memory_size": "8",
    "algorithm.minibatches": "2",
    "evaluation.every_steps": "0",
    "evaluation.final_matches": "0",
    "run.max_steps": "400",
    "run.max_minutes": "0",
    "run.threads": "1",
}


@pytest.mark.slow
def test_a_run_with_a_unit_type_more_is_verified_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(record, "STEPS", 16)  # of a recording; its full length takes a minute
    monkeypatch.setattr(record, "SLOTS", 4)
    old = cut(load_preset("extended", SETTINGS).preset, tmp_path / "old", update=3)
    rules = tmp_path / "rules.toml"
    rules.write_text(more_types())
    wider = {**SETTINGS, "game.params.rulebook": str(rules), "policy.memory_size": "12"}
    preset = tmp_path / "new.toml"
    preset.write_text(to_toml(load_preset("extended", wider).preset))
    new = tmp_path / "new"
    words = ["surgery", f"{old}@last", "--to", str(preset), "--run-dir", str(new), "--json"]
    assert main([*words, "--verify", "--matches", "4"]) == 0
    document = json.loads(capsys.readouterr().out)
    before, after = document["proof"]["apart"]
    assert (before["player"], after["player"]) == ("old", "new")
    assert before["against"] == after["against"] == "rush"
    assert before["matches"] == after["matches"] == 4
    found = document["proof"]["differences"]
    assert found["decisions"] == 16 * 4 * 2
    assert max(found["logits"], found["value"], found["memory"]) < 1e-4
    assert document["exact"]
    spec = decode_spec(RunDirectory.open(new).checkpoints.load_last()[0].weights.meta.spec)
    assert "build_pikeman" in spec.heads[0].labels
    assert main(["resume", str(new), "--quiet"]) == 0
    capsys.readouterr()
    like = ["--like", "pikeman=spearman", "--run-dir", str(tmp_path / "like"), "--verify", "--json"]
    assert main([*words[:4], *like]) == 0
    assert not json.loads(capsys.readouterr().out)["exact"]

"""A zoo of one small player with its record, in a separate repository."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")

from ludus.presets.file import load_preset
from ludus.storage import zoo
from ludus.training.runs import start_run
from tools import new_record
from tools import zoo as tool
from tools.records import ROOT
from tools.zoo_measure import measure_player

SETTINGS = {
    "evaluation.every_steps": "0",
    "evaluation.final_matches": "0",
    "evaluation.initial": "false",
    "pool.slots": "16",
    "pool.rollout_length": "8",
    "policy.dense": "8",
    "policy.hidden": "8",
    "algorithm.minibatches": "1",
    "run.max_minutes": "0",
    "run.max_steps": "300",
    "run.seed": "7",
    "run.threads": "1",
}
COMMAND = " ".join(["ludus train tic_tac_toe", *(f"--{k} {v}" for k, v in SETTINGS.items())])
PLAN = 'nought = [{ measure = "value kept", matches = 90 }, { against = "perfect", matches = 40 }]\n'


class SmallZoo:
    """A repository with one player; ``folder`` has its files, ``results`` its record."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "src" / "ludus" / "zoo"
        self.results = root / "benchmarks" / "results"
        self.run = root.parent / "run"

    def copy(self, root: Path) -> SmallZoo:
        """Return a copy to change."""
        shutil.copytree(self.root, root)
        return SmallZoo(root)

    def text(self) -> str:
        """Text of the card."""
        return (self.folder / "nought.toml").read_text(encoding="utf-8")

    def change(self, old: str, new: str) -> None:
        """Replace a part of the card, once."""
        assert self.text().count(old) >= 1, old
        (self.folder / "nought.toml").write_text(self.text().replace(old, new, 1), encoding="utf-8")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> SmallZoo:
    """Return the zoo: its player is added and measured by the tools."""
    small = SmallZoo(tmp_path_factory.mktemp("zoo") / "root")
    small.folder.mkdir(parents=True)
    for path in ("presets/tic_tac_toe.toml", "tools/zoo.py"):
        (small.root / path).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / path, small.root / path)
    plan = small.root / "plan.toml"
    plan.write_text(PLAN, encoding="utf-8")
    start_run(load_preset("tic_tac_toe", SETTINGS).preset, small.run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zoo, "FOLDER", small.folder)
        patch.setattr(new_record, "commit_of", lambda: "0123456789")
        added = ["add", f"{small.run}@last", "--name", "nought", "--level", "1", "--title", "Noughts"]
        assert tool.main([*added, "--strength", "Loses.", "--command", COMMAND, "--trained", "Hardly."]) == 0
        measure_player("nought", tool.parser_of().parse_args(["measure", "nought"]), small.results, plan)
    return small


@pytest.fixture
def small(made: SmallZoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallZoo:
    """Return a copy of the zoo, which is the package's in this test."""
    copied = made.copy(tmp_path / "root")
    monkeypatch.setattr(zoo, "FOLDER", copied.folder)
    return copied

"""Every block of the guide for pandas runs on small runs, and shows what their logs hold."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from ludus.cli.__main__ import main
from ludus.storage import RunDirectory, read_jsonl

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "pandas.md"


def test_every_block_runs(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import matplotlib

    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    for path in ("RUN", "runs/a", "runs/b"):
        shutil.copytree(trained, path)
    text = GUIDE.read_text()
    commands = re.findall(r"`(ludus report [^`]*)`", text)
    assert len(commands) == 2
    for command in commands:
        words, _, target = command.partition(" > ")
        assert main(words.split()[1:]) == 0
        printed = capsys.readouterr().out
        if target:
            Path(target).write_text(printed)
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)  # the guide is ours
    logged = list(read_jsonl(RunDirectory(trained).metrics_path))
    updates = [row for row in logged if row["kind"] == "update"]
    assert list(names["updates"]["loss/value"]) == pytest.approx([row["loss/value"] for row in updates])
    assert len(names["curve"]) == sum(
        row["kind"] == "evaluation" and not row["final"] and not row["playoff"] for row in logged
    )
    assert len(names["runs"]) == 2 * len(logged)
    assert len(names["table"]) == 2 * len(logged)
    assert {"decisions", "mean", "low", "high"} <= set(names["curves"].columns)
    assert (tmp_path / "compared" / "curves.pdf").is_file()
    for column in re.findall(r"^\| ((?:`[^`|]+`(?:, )?)+) \|", text, re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", column):
            start = name.replace("...", "").replace("OPPONENT", "")
            assert any(c.startswith(start) for c in [*names["rows"].columns, *names["curves"].columns]), name

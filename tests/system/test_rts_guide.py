"""docs/guides/new_rts_game.md, followed literally with short runs: its files and its commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ludus.cli import __main__ as cli

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "new_rts_game.md"
#: Shorter than the guide's, so that the test takes seconds.
SHORTER = {"--matches": "4"}
TRAIN = ["--run.max-steps", "4000", "--run.threads", "1", "--pool.slots", "16", "--evaluation.matches", "2",
         "--evaluation.final-matches", "4", "--run.max-minutes", "0"]  # fmt: skip


def blocks(text: str) -> list[tuple[str, str]]:
    return re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL)


def test_the_guide_makes_a_game_and_trains_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = blocks(GUIDE.read_text(encoding="utf-8"))
    tomls = [body for kind, body in found if kind == "toml"]
    assert len(tomls) == 3
    Path("my_rules.toml").write_text(tomls[0], encoding="utf-8")
    Path("my_preset.toml").write_text(tomls[1] + tomls[2], encoding="utf-8")
    Path("my_bot.py").write_text(next(b for k, b in found if k == "python"), encoding="utf-8")
    lines = [
        line for kind, body in found if not kind for line in body.splitlines() if line.startswith("ludus ")
    ]
    assert len(lines) == 7
    for line in lines:
        words = shlex.split(line)[1:]
        for option, value in SHORTER.items():
            if option in words:
                words[words.index(option) + 1] = value
        if words[:2] == ["games", "check"]:
            words += ["--matches", "1"]
        if words[0] == "train":
            words += TRAIN
        assert cli.main(words) == 0, f"{line}: {capsys.readouterr().err}"
        out = capsys.readouterr().out
        if words[:2] == ["games", "check"]:
            assert "build_pikeman" in out
            assert "cavalry 3," in out
    assert list(tmp_path.glob("runs/*/report.md"))
    assert list(tmp_path.glob("replays/*.html"))


def test_mistakes_give_the_messages_of_the_guide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The two messages that the guide shows are the real ones."""
    found = blocks(GUIDE.read_text(encoding="utf-8"))
    rules = next(body for kind, body in found if kind == "toml")
    shown = next(body for kind, body in found if not kind and "did you mean" in body).splitlines()
    path = tmp_path / "my_rules.toml"
    path.write_text(
        rules.replace("[units.pikeman]\n", "[units.pikeman]\nhpp = 1\n").replace(
            "cavalry = 3.0", "cavalry = 30.0"
        ),
        encoding="utf-8",
    )
    assert cli.main(["games", "check", str(path)]) == 3
    assert capsys.readouterr().err.replace(f"{tmp_path}/", "").replace("ludus: ", "").splitlines() == shown

"""The commit-msg hook accepts a scope, a change and a reason, and nothing less."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tools.check_commit import mistakes

ROOT = Path(__file__).resolve().parents[3]
REASON = "\n\nTwo writers corrupted the journal.\n"


@pytest.mark.parametrize(
    "message",
    [
        "storage: refuse a second writer of a run" + REASON,
        "policies, mcts: one card" + REASON,
        "cpp/pool: pad the rows" + REASON + "\nSigned-off-by: A <a@b.c>\n",
        "# a comment\nweb: show results"
        + REASON
        + "# ------------------------ >8 ------------------------\ndiff",
        "Merge branch 'main' into h/a\n",
        'Revert "web: show results"\n',
        "fixup! web: show results\n",
    ],
)
def test_messages_with_scope_and_reason_pass(message: str) -> None:
    assert list(mistakes(message)) == []


@pytest.mark.parametrize(
    ("message", "part"),
    [
        ("wip", "does not name a change"),
        ("WIP 2" + REASON, "does not name a change"),
        ("web: wip" + REASON, "does not name a change"),
        ("--amend" + REASON, "does not name a change"),
        ("Show results" + REASON, "expected SCOPE: CHANGE"),
        ("Merge what both added" + REASON, "expected SCOPE: CHANGE"),
        ("web: " + "x" * 68 + REASON, "has 73 characters; expected at most 72"),
        ("web: show results\n", "the body is missing"),
        ("web: show results\n\nSigned-off-by: A <a@b.c>\n", "the body is missing"),
        ("web: show results\n\n# a comment\n", "the body is missing"),
        ("web: show results\nof one seat\n", "expected a blank line"),
    ],
)
def test_refused_messages_name_the_mistake(message: str, part: str) -> None:
    (mistake,) = mistakes(message)
    assert part in mistake


def test_subject_of_72_characters_passes() -> None:
    assert list(mistakes("web: " + "x" * 67 + REASON)) == []


def test_hook_fails_on_a_refused_message(tmp_path: Path) -> None:
    (tmp_path / "message").write_text("wip\n")
    hook = [sys.executable, "-m", "tools.check_commit", str(tmp_path / "message")]
    ran = subprocess.run(hook, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stdout.startswith("commit message: subject 'wip'")


def test_pre_commit_installs_the_hook() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert "commit-msg" in config["default_install_hook_types"]
    hooks = {hook["id"]: hook for hook in config["repos"][0]["hooks"]}
    assert hooks["commit-message"]["stages"] == ["commit-msg"]
    assert config["default_stages"] == ["pre-commit"]

"""The check against old names: what it finds, and what it leaves alone."""

from __future__ import annotations

import pytest

from tools.check_names import violations


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("src/ludus/train/x.py", "gang = 1\n", "src/ludus/train/x.py:1: gang: write learner_threads"),
        ("src/ludus/flow/x.py", "\nslab.logp[0] = 1\n", "src/ludus/flow/x.py:2: logp: write log_prob"),
        ("src/ludus/pool/cells.py", "", "a file of this name is called control_block.py"),
        ("cpp/pool/x.hpp", "int n;\nint schedule;\n", "cpp/pool/x.hpp:2: schedule: write num_matches"),
        ("presets/x.toml", "[game]\n[search]\nvisits = 1\n", r"presets/x.toml:2: \[search\]"),
        ("docs/x.md", "ludus train x --pool.matches 4", r"docs/x.md:1: --pool.matches: write pool.slots"),
    ],
)
def test_an_old_name_is_found(path: str, text: str, expected: str) -> None:
    found = list(violations(path, text))
    assert len(found) == 1
    assert expected.replace("\\", "") in found[0]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/ludus/train/x.py", '"""A gang of moments."""  # told\n'),
        ("src/ludus/cli/x.py", "schedule = 1\nknown = 2\nparts = []\n"),  # banned elsewhere
        ("cpp/pool/x.hpp", '// the schedule\nauto s = "schedule";\n'),
        ("docs/results.md", "`--pool.matches 64`"),  # the command that made a published result
        ("presets/x.toml", "[algorithm.search]\n"),
    ],
)
def test_prose_other_packages_and_published_commands_are_free(path: str, text: str) -> None:
    assert not list(violations(path, text))

"""docs/guides/matchmaking_rules.md: its code is the example, and its preset is valid."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from ludus.league.rules.rule import METHODS
from ludus.league.rules.view import LeagueView, SeenMember, SeenPlayer
from ludus.presets.checks.game import check_game
from ludus.presets.file import load_preset

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "guides" / "matchmaking_rules.md").read_text("utf-8")
EXAMPLE = (ROOT / "examples" / "pfsp.py").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def test_the_code_of_the_guide_is_the_example() -> None:
    assert [text for kind, text in BLOCKS if kind == "python"] == [EXAMPLE]


def test_the_rule_has_about_twenty_lines() -> None:
    (rule,) = (node for node in ast.parse(EXAMPLE).body if isinstance(node, ast.ClassDef))
    assert rule.end_lineno is not None
    lines = EXAMPLE.splitlines()[rule.lineno - 1 : rule.end_lineno]
    assert len([line for line in lines if line.strip()]) <= 20


def test_the_preset_of_the_guide_is_valid(tmp_path: Path) -> None:
    (text,) = (text for kind, text in BLOCKS if kind == "toml")
    (tmp_path / "pfsp.py").write_text(EXAMPLE)
    (tmp_path / "league.toml").write_text(text)
    loaded = load_preset(str(tmp_path / "league.toml"))
    check_game(loaded)
    assert loaded.preset.league is not None
    assert loaded.preset.league.players[0].params == {"period": 50_000}


def test_the_guide_names_all_that_a_rule_sees() -> None:
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", GUIDE, re.MULTILINE))
    assert [name.partition("(")[0] for name in rows][:3] == list(METHODS)
    words = set(re.findall(r"\w+", " ".join([*rows, *rows.values()])))
    fields = {*LeagueView.__dataclass_fields__, *SeenPlayer.__dataclass_fields__}
    assert {*fields, *SeenMember.__dataclass_fields__} <= words

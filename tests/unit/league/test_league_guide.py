"""docs/guides/league.md: its tables name every rule and role, its settings are valid, its commands run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from ludus.cli import __main__ as cli
from ludus.league import config as cfg
from ludus.league.checks import Surroundings, problems
from ludus.league.roles import ROLES
from ludus.league.standings import PERIOD, SIGMA
from tests.unit.league.recorded import recorded_run

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "league.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
SETTINGS = [text for kind, text in BLOCKS if kind == "toml"]
COMMANDS = [
    line.partition("#")[0].strip()
    for kind, text in BLOCKS
    if not kind
    for line in text.splitlines()
    if line.startswith("ludus league")
]


#: Settings of every rule of a section, explained outside of its table.
ANYWHERE = {
    "Opponents": {"weight"},
    "When to freeze": set[str](),
    "Weights to continue from": {"only_after_timeout"},
    "Populations": set[str](),
}


def section(title: str) -> str:
    found = re.search(rf"^##+ {title}\n(.*?)(?=^##|\Z)", GUIDE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("text", SETTINGS)
def test_settings_are_valid(text: str) -> None:
    table = msgspec.toml.decode(text)["league"]
    league = msgspec.convert(table, cfg.LeagueConfig)
    around = Surroundings(bots=("random", "perfect"), settings={"algorithm.learning_rate": 1e-3})
    assert problems(league, around) == []
    assert len(league.members) >= 2


@pytest.mark.parametrize(
    ("title", "rules"),
    [
        ("Opponents", cfg.AnyMeet),
        ("When to freeze", cfg.AnyFreeze),
        ("Weights to continue from", cfg.AnyOrigin),
        ("Populations", cfg.AnyPopulation),
    ],
)
def test_every_rule_and_each_of_its_settings_has_its_row(title: str, rules: object) -> None:
    text = section(title)
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE))
    kinds = {str(k.__struct_config__.tag): k for k in get_args(rules)}
    kinds.pop("role", None)  # from the player's role
    assert rows.keys() == kinds.keys()
    if title == "Populations":  # many rules with the same settings
        rows = dict.fromkeys(rows, text)
    for name, kind in kinds.items():
        for field in set(kind.__struct_fields__) - ANYWHERE[title]:
            assert f"`{field}`" in rows[name], f"{name}.{field}"
    assert all(field in GUIDE for field in ANYWHERE[title])


def test_every_role_weighting_and_group_is_explained() -> None:
    roles = section("Roles")
    assert set(re.findall(r"^\| `(\w+)` \|", roles, re.MULTILINE)) == ROLES.keys()
    for name in (*get_args(cfg.Weighting), "all", "mains", "exploiters", "bots"):
        assert f"`{name}`" in section("Opponents")


def test_features_of_other_leagues_have_a_place() -> None:
    """Names in the table's right column are rules, roles, settings or commands that there are."""
    rules = [k for u in (cfg.AnyMeet, cfg.AnyFreeze, cfg.AnyOrigin, cfg.AnyPopulation) for k in get_args(u)]
    tags = {str(k.__struct_config__.tag): k for k in rules}
    league, player = cfg.LeagueConfig.__struct_fields__, cfg.PlayerConfig.__struct_fields__
    known = {*tags, *ROLES, *league, *player, *(f"league.{n}" for n in league), PERIOD, SIGMA}
    known |= {f"{tag}.{n}" for tag, rule in tags.items() for n in rule.__struct_fields__}
    rows = re.findall(r"^\| (.+) \| (.+) \|$", section("Features of other leagues"), re.MULTILINE)
    assert len(rows) > 25
    for feature, place in rows[1:]:
        names = re.findall(r"`([^`]+)`", place)
        assert names or re.search(r"\w{4}", place), feature
        for name in names:
            word = name.strip("[]").removeprefix("league.") if name.startswith("[[") else name
            assert word in known or name.startswith("ludus league ") or name == "PLAYER:VERSION", name


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = recorded_run(tmp_path / "run")
    words = [str(run.path) if word == "runs/league" else word for word in shlex.split(command)[1:]]
    assert cli.main(words) == 0
    assert capsys.readouterr().out

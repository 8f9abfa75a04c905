"""Mistakes in a league are reported before a directory is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.cli.words import said
from ludus.presets.checks.game import check_game
from ludus.presets.document import to_toml
from ludus.presets.errors import ConfigError
from ludus.presets.file import PresetError, explain, load_preset, parse_preset
from ludus.training.runs import start_run
from tests.unit.training.league.test_league_runs import LEAGUE, league_preset
from tests.unit.training.runs import resume_run

TEXT = LEAGUE.format(game="matrix", lag="sync", steps=400)

WRONG = {
    'lag = "sync"|lag = "async"': 'run.lag = "async": expected sync or pipelined',
    'role = "pfsp"|role = "pfps"': "league.players.0.role",
    'name = "exploiter"|name = "main"': "league.players.1.name",
    'role = "pfsp"|role = "main_exploiter"': "expected a player of a main role too",
    'rule = "period"|rule = "perid"': "(did you mean period?)",
    'role = "pfsp"|role = "pfsp"\nmeet = [{rule = "bot", name = "rand"}]': "(did you mean random?)",
    'role = "pfsp"|role = "pfsp"\nmeet = [{rule = "fsp", weight = 0}]': "all weights are 0",
    'role = "pfsp"|role = "pfsp"\nseed = "nothing.safetensors"': "no such weights file",
    "rating_share = 0.1|lanes = 2\nrating_share = 0.1": "league.lanes = 2: expected at least 4",
    "[pool]|[[opponents]]\nname = 'random'\n[pool]": "opponents: expected none where there is a league",
    "[algorithm]|[algorithm]\nname = 'alphazero'": "learns from slabs of fresh matches",
    'role = "pfsp"|role = "pfsp"\ntune = {"run.seed" = {low = 1, high = 2}}': "players.0.tune.run.seed",
}


@pytest.mark.parametrize("change", WRONG)
def test_bad_leagues_are_refused(tmp_path: Path, change: str) -> None:
    old, _, new = change.partition("|")
    text = TEXT.replace(old, new, 1)
    assert text != TEXT
    path = tmp_path / "league.toml"
    if "alphazero" in change:
        text = text.replace("learning_rate = 1e-2\nminibatches = 1", "").replace(
            "dense = []\nhidden = [8]", 'network = "resnet"'
        )
    path.write_text(text)
    with pytest.raises(PresetError) as error:
        check_game(load_preset(str(path)))
    assert WRONG[change] in str(error.value)


def test_a_run_without_the_checks_is_refused_too(tmp_path: Path) -> None:
    preset = parse_preset(TEXT.replace('lag = "sync"', 'lag = "async"').encode(), "league").preset
    with pytest.raises(ConfigError, match="expected sync or pipelined"):
        start_run(preset, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_league_is_not_resumed_as_another_one(tmp_path: Path) -> None:
    start_run(league_preset(steps=300), tmp_path / "run")
    config = tmp_path / "run" / "config.toml"
    config.write_text(config.read_text().replace('role = "pfsp"', 'role = "fsp"'))
    with pytest.raises(ConfigError, match=r"league\.players\.0\.role differs"):
        resume_run(tmp_path / "run")


def test_the_way_to_toml_and_back_keeps_a_league() -> None:
    preset = league_preset()
    assert parse_preset(to_toml(preset).encode(), "again").preset == preset
    changed = parse_preset(
        TEXT.encode(), "league", overrides={"league.players.0.freeze.steps": "77", "league.lanes": "6"}
    ).preset
    assert changed.league is not None
    assert changed.league.lanes == 6
    assert getattr(changed.league.players[0].freeze, "steps", 0) == 77


def test_repeated_players_are_explained_and_their_mistakes_named() -> None:
    text = TEXT.replace('name = "exploiter"', 'name = "exploiter"\ncount = 2')
    loaded = parse_preset(text.encode(), "league", overrides={"league.players.0.names": "a,b"})
    shown = {e.path: (e.value, e.origin) for e in explain(loaded) if e.path.startswith("league.players")}
    assert shown["league.players.1.count"] == (2, "preset")
    assert shown["league.players.0.names"] == (("a", "b"), "command line")
    assert "league.players.0.count" not in shown
    assert parse_preset(to_toml(loaded.preset).encode(), "again").preset == loaded.preset
    for count in ("0", "-1", "257"):
        with pytest.raises(PresetError) as error:
            parse_preset(text.encode(), "league", overrides={"league.players.1.count": count})
        assert said(error.value) == (
            f"--league.players.1.count: league.players.1.count = {count}: expected an integer from 1 to 256"
        )

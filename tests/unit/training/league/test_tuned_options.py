"""Settings that a population changes, from the command line: each reaches its place or is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.cli.words import said
from ludus.league.config import LeagueConfig, Tune
from ludus.presets.checks.game import check_game
from ludus.presets.document import to_toml
from ludus.presets.file import LoadedPreset, PresetError, explain, load_preset, parse_preset

PLAYER = """
[[league.players]]
name = "{name}"
role = "population"
freeze = {{rule = "period", steps = 5000}}
[league.players.tune."algorithm.learning_rate"]
low = 1e-5
high = 1e-2
[league.players.tune."game.params.reward_wood"]
low = 0.0
high = 1.0
[league.players.tune."meet.elo.sigma"]
low = 0.01
high = 1.0
[league.players.tune."freeze.steps"]
low = 1000
high = 10000
"""
TEXT = "\n".join(
    (
        '[game]\nname = "pommerman"\nparams = {mode = "one_vs_one"}\n[run]\nmax_steps = 100',
        '[league.population]\nrule = "ftw"',
        *(PLAYER.format(name=name) for name in ("p0", "p1")),
    )
)


def load(tmp_path: Path, **options: str) -> LoadedPreset:
    path = tmp_path / "league.toml"
    path.write_text(TEXT)
    given = {key.replace("__", "."): text for key, text in options.items()}
    loaded = load_preset(str(path), given)
    check_game(loaded)
    return loaded


def tunes(loaded: LoadedPreset, player: int = 0) -> dict[str, Tune]:
    league = loaded.preset.league
    assert isinstance(league, LeagueConfig)
    return league.players[player].tune


@pytest.mark.parametrize(
    "path", ["algorithm.learning_rate", "game.params.reward_wood", "meet.elo.sigma", "freeze.steps"]
)
def test_each_tuned_path_can_be_given_as_an_option(tmp_path: Path, path: str) -> None:
    before = tunes(load(tmp_path))
    middle = (before[path].low + before[path].high) / 2
    option = f"league.players.0.tune.{path.replace('_', '-')}.start"
    loaded = load(tmp_path, **{option: f"{middle}"})
    assert tunes(loaded)[path].start == (middle,)
    assert tunes(loaded, 1) == before
    assert {n: t for n, t in tunes(loaded).items() if n != path} == {
        n: t for n, t in before.items() if n != path
    }
    where = [e.origin for e in explain(loaded) if e.path == f"league.players.0.tune.{path}.start"]
    assert where == ["command line"]
    assert parse_preset(to_toml(loaded.preset).encode(), "again").preset == loaded.preset


def test_a_path_is_tuned_from_the_command_line_alone(tmp_path: Path) -> None:
    option = 'league.players.1.tune."algorithm.entropy_coefficient"'
    loaded = load(tmp_path, **{f"{option}.low": "1e-3", f"{option}.high": "0.1"})
    assert tunes(loaded, 1)["algorithm.entropy_coefficient"] == Tune(low=1e-3, high=0.1)


def test_an_option_that_chooses_a_table_comes_before_its_keys(tmp_path: Path) -> None:
    options = {"league.players.0.freeze.every": "7", "league.players.0.freeze.rule": "updates"}
    path = tmp_path / "league.toml"
    text = TEXT.replace('[league.players.tune."freeze.steps"]\nlow = 1000\nhigh = 10000', "")
    path.write_text(text.replace('freeze = {rule = "period", steps = 5000}', ""))
    league = load_preset(str(path), options).preset.league
    assert league is not None
    assert getattr(league.players[0].freeze, "every", 0) == 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"league.players.0.tune.algorithm.learning-rate": "1e-3"},
            "--league.players.0.tune.algorithm.learning-rate: unknown key league.players.0.tune.algorithm.",
        ),
        (
            {"league.players.0.tune.algorithm.learning-rate.hihg": "1e-3"},
            "unknown key league.players.0.tune.algorithm.learning_rate.hihg (did you mean high?)",
        ),
        (
            {
                "league.players.0.tune.algorithm.discount.low": "0.9",
                "league.players.0.tune.algorithm.discount.high": "2",
            },
            "league.players.0.tune.algorithm.discount.high = 2: expected a number from 0 to 1",
        ),
        (
            {"league.players.0.tune.game.params.reward-wood.low": "-3"},
            "league.players.0.tune.game.params.reward_wood.low = -3: expected a number from -1 to 1",
        ),
        (
            {"league.players.0.tune.meet.elo.sigma.low": "-1"},
            "league.players.0.tune.meet.elo.sigma.low = -1: expected a number > 0",
        ),
        (
            {"algorithm.learning_rate": "0.5"},
            "players.0.tune.algorithm.learning_rate: members start with algorithm.learning_rate = 0.5; "
            "expected a number from 1e-05 to 0.01, or start",
        ),
        (
            {
                "algorithm.learning_rate": "1e-3",
                "league.players.0.tune.algorithm.learning_rate.start": "1e-4",
                "league.players.1.tune.algorithm.learning_rate.start": "1e-4",
            },
            "--algorithm.learning-rate: algorithm.learning_rate: members start with other values; expected "
            "--league.players.0.tune.algorithm.learning-rate.start of each",
        ),
    ],
)
def test_options_that_cannot_apply_are_refused(tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(PresetError) as error:
        load(tmp_path, **options)
    assert message in said(error.value)


def test_an_option_of_a_tuned_setting_holds_where_members_start_with_it(tmp_path: Path) -> None:
    loaded = load(tmp_path, **{"algorithm.learning_rate": "2e-3"})
    from ludus.league.events import Joined
    from ludus.league.league import League
    from ludus.presets.hyper import tunable_defaults

    config = loaded.preset.league
    assert config is not None
    events = League(config, 1, tunable_defaults(loaded.preset)).initial_events()
    began = [e.hyper["algorithm.learning_rate"] for e in events if isinstance(e, Joined)]
    assert began == [2e-3, 2e-3]

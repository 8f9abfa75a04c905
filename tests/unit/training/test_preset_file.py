"""Presets: mistakes with their paths, overrides, origins, and conversion back to TOML."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.algorithms.config import AppoConfig
from ludus.cli.words import said
from ludus.league.config import Beats, LeagueConfig, Period
from ludus.policies.config import EncoderConfig
from ludus.presets.checks.game import check_game
from ludus.presets.config import GameConfig, OpponentConfig, Preset, preset_of
from ludus.presets.document import to_toml
from ludus.presets.file import (
    MAX_BYTES,
    PresetError,
    explain,
    find_preset,
    load_preset,
    parse_preset,
    shipped_presets,
)
from tests.unit.preset_choice import need

GAME = b'[game]\nname = "tic_tac_toe"\n'


def mistakes(raw: bytes, overrides: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(PresetError) as caught:
        check_game(parse_preset(raw, "presets/x.toml", overrides=overrides))
    return [said(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("algorithm.clip_ratoi = 0.2", "unknown key algorithm.clip_ratoi (did you mean clip_ratio?)"),
        ("algorithm.qqqq = 1", "unknown key algorithm.qqqq (keys here: learning_rate, "),
        ("algorithms.clip_ratio = 1", "unknown key algorithms (did you mean algorithm?)"),
        ('algorithm.learning_rate = "x"', 'algorithm.learning_rate = "x": expected a number > 0'),
        ("algorithm.learning_rate = 0", "algorithm.learning_rate = 0: expected a number > 0"),
        ("algorithm.learning_rate = nan", "algorithm.learning_rate = nan: expected a number > 0"),
        ("algorithm.discount = 1.5", "algorithm.discount = 1.5: expected a number from 0 to 1"),
        ("algorithm.vtrace = 1", "algorithm.vtrace = 1: expected true or false"),
        ("pool.slots = 2.5", "pool.slots = 2.5: expected an integer from 1 to 16777216"),
        ("pool.slots = true", "pool.slots = true: expected an integer from 1 to 16777216"),
        (
            "run.max_steps = 99999999999999999999",
            "run.max_steps = 99999999999999999999: expected an integer >= 0",
        ),
        (
            "policy.channels = 3",
            "policy.channels = 3: expected a list of at most 256 integers from 1 to 1048576",
        ),
        ("policy.channels = [3, 0]", "policy.channels.1 = 0: expected an integer from 1 to 1048576"),
        (
            'run.lag = "pipeline"',
            'run.lag = "pipeline": expected one of async, pipelined, sync (did you mean pipelined?)',
        ),
        ("opponents = [{weight = 1}]", "missing opponents.0.name: expected a non-empty string"),
        ("opponents = 3", "opponents = 3: expected a list of tables"),
        ("pool = {slots = 7, groups = 2}", "pool.slots = 7: expected a multiple of pool.groups = 2"),
        (
            "policy = {channels = [8]}",
            "policy.strides has 2 values: expected 1, one for each of policy.channels",
        ),
        ('opponents = [{name = "random", weight = 0}]', "opponents: all weights are 0; expected one above 0"),
        (
            'algorithm = {optimizer = "sgd", max_grad_rms = 5}',
            'algorithm.max_grad_rms = 5: expected 0, or algorithm.optimizer = "adam"',
        ),
        (
            'opponents = [{name = "randm"}]',
            "opponents.0.name: unknown bot randm of tic_tac_toe (did you mean random?)",
        ),
        (
            'curriculum.bot = "perfct"',
            "curriculum.bot: unknown bot perfct of tic_tac_toe (did you mean perfect?)",
        ),
        ('policy.inputs = ["bord"]', "policy.inputs.0: unknown observation bord of tic_tac_toe"),
    ],
)
def test_an_error_names_the_place_the_value_and_the_expectation(line: str, message: str) -> None:
    lines = mistakes(line.encode() + b"\n" + GAME)
    assert len(lines) == 1
    assert lines[0].startswith(f"presets/x.toml: {message}")


def test_all_mistakes_are_reported_at_once() -> None:
    lines = mistakes(GAME + b'[algorithm]\nclip_ratoi = 1\nlearning_rate = "x"\n[run]\nlag = "none"\n')
    assert [line.split(":")[1].split("=")[0].strip() for line in lines] == [
        "unknown key algorithm.clip_ratoi (did you mean clip_ratio?)",
        "algorithm.learning_rate",
        "run.lag",
    ]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "presets/x.toml: missing game: expected a table with name"),
        (b"game = 3", "presets/x.toml: game = 3: expected a table with name"),
        (b"[game", "presets/x.toml: not valid TOML: "),
        (b"\xff\xfd", "presets/x.toml: not UTF-8 text (byte 0)"),
        (b"x" * (MAX_BYTES + 1), f"presets/x.toml: larger than {MAX_BYTES} bytes"),
        (b"a = " + b"[" * 100_000, "presets/x.toml: not valid TOML: "),
        (b'[game]\nname = ""', 'presets/x.toml: game.name = "": expected a non-empty string'),
        (
            b'[game]\nname = "tictactoe"',
            "presets/x.toml: game.name: unknown game tictactoe (did you mean tic_tac_toe?); "
            "see: ludus games list",
        ),
        (
            b'[game]\nname = "minirts"\nparams = {map_sise = 3}',
            "presets/x.toml: unknown parameter game.params.map_sise (did you mean map_size?); "
            "see: ludus games show minirts",
        ),
        (
            b'[game]\nname = "minirts"\nparams = {ruleset = "elv"}',
            'presets/x.toml: game.params.ruleset = "elv": expected one of elf, clean (did you mean elf?)',
        ),
    ],
)
def test_documents_of_other_kinds_are_refused(raw: bytes, message: str) -> None:
    assert mistakes(raw)[0].startswith(message)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_without_a_crash(raw: bytes) -> None:
    with suppress(PresetError):
        assert isinstance(parse_preset(raw, "x").preset, Preset)


def test_overrides_have_their_origins() -> None:
    loaded = parse_preset(
        GAME + b"[algorithm]\ndiscount = 0.9\ngae_lambda = 0.8\n",
        "x",
        overrides={
            "algorithm.learning-rate": "1e-4",
            "algorithm.gae_lambda": "0.7",
            "policy.channels": "16,32",
            "opponents.0.name": "perfect",
            "opponents.1.name": "random",
            "opponents.1.weight": "2",
            "run.max-steps": "5e6",
            "game.params.some-thing": "true",
            "title": "a title",
        },
    )
    preset = loaded.preset
    assert isinstance(preset.algorithm, AppoConfig)
    assert preset.algorithm.learning_rate == 1e-4
    assert isinstance(preset.policy, EncoderConfig)
    assert preset.policy.channels == (16, 32)
    assert preset.opponents == (OpponentConfig("perfect"), OpponentConfig("random", weight=2.0))
    assert preset.run.max_steps == 5_000_000
    assert preset.game.params == {"some_thing": True}
    assert preset.title == "a title"
    origins = {e.path: e.origin for e in explain(loaded)}
    assert origins["algorithm.learning_rate"] == origins["algorithm.gae_lambda"] == "command line"
    assert origins["algorithm.discount"] == "preset"
    assert origins["algorithm.vtrace"] == "default"
    assert origins["opponents.1.weight"] == "command line"


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("run.max-minuts", "3", "--run.max-minuts: unknown key run.max_minuts (did you mean max_minutes?)"),
        ("run.max-minutes", "x", '--run.max-minutes: run.max_minutes = "x": expected a number >= 0'),
        ("pool.slots", "0", "--pool.slots: pool.slots = 0: expected an integer from 1 to 16777216"),
        ("pool.slots", "7", "--pool.slots: pool.slots = 7: expected a multiple of pool.groups = 2"),
        ("algorithm", "3", "--algorithm: algorithm is a table; set one of its keys"),
        (
            "algorithm.discount.x",
            "3",
            "--algorithm.discount.x: algorithm.discount is a number from 0 to 1, it has no part x",
        ),
        (
            "opponents.3.name",
            "x",
            "--opponents.3.name: opponents has 0 entries; expected an index from 0 to 0",
        ),
        (
            "policy.channels",
            "a",
            '--policy.channels.0: policy.channels.0 = "a": expected an integer from 1 to 1048576',
        ),
        (
            "game.name",
            "chess",
            "--game.name: game.name: unknown game chess (did you mean openspiel/chess?); "
            "see: ludus games list",
        ),
    ],
)
def test_a_bad_override_names_its_option(key: str, text: str, message: str) -> None:
    assert mistakes(GAME, {key: text}) == [message]


def test_a_preset_is_a_path_or_a_shipped_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert {"minirts", "minirts-mixture"} <= set(shipped_presets())
    assert find_preset("minirts") == find_preset("presets/minirts.toml") == shipped_presets()["minirts"]
    (tmp_path / "mine.toml").write_bytes(GAME)
    assert load_preset("mine.toml").name == "mine"
    for name, message in [
        ("minirst", "minirst: no such preset or game (did you mean minirts?); see: ludus games list"),
        (
            "presets/minirst.toml",
            "presets/minirst.toml: no such file (did you mean the shipped preset minirts?); shipped",
        ),
        (".", ".: is a folder"),
        ("qqqqqq.toml", "qqqqqq.toml: no such file; shipped presets: ludus presets list"),
    ]:
        with pytest.raises(PresetError) as caught:
            find_preset(name)
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize("name", sorted(shipped_presets()))
def test_shipped_presets_fit_their_games_and_round_trip_through_toml(name: str) -> None:
    need(name)
    loaded = load_preset(name)
    check_game(loaded)
    remarks = {e.path: e.origin for e in explain(loaded)}
    for text in (to_toml(loaded.preset), to_toml(loaded.preset, remarks)):
        assert parse_preset(text.encode(), "again").preset == loaded.preset


def full_size(name: str) -> tuple[Preset, LeagueConfig]:
    small, full = (load_preset(n).preset for n in (name, f"{name}-full"))
    assert small.league is not None
    assert full.league is not None
    assert len(full.league.members) >= len(small.league.members)
    assert full.run.max_minutes > small.run.max_minutes or full.run.max_steps > 1e9
    return full, full.league


def test_shipped_leagues_have_a_second_file_with_the_papers_numbers() -> None:
    _, league = full_size("alphastar")
    assert [p.role for p in league.members] == ["main", "main_exploiter", *["league_exploiter"] * 2]
    for player in league.players:
        assert isinstance(player.freeze, Beats)
        assert (player.freeze.rate, player.freeze.min_steps, player.freeze.max_steps) == (0.7, 2e9, 4e9)
    _, league = full_size("minirts-league")
    assert [p.role for p in league.players] == ["periodic_main", "specific_exploiter", "league_exploiter"]
    preset, league = full_size("openai-five-opponents")
    assert [p.role for p in league.players] == ["openai_five"]
    assert preset.pool.slots * preset.pool.rollout_length == 983_040
    preset, league = full_size("pbt")
    assert [p.role for p in league.members] == ["population"] * 8
    assert league.population.every * int(preset.game.params["frame_skip"]) == 5_000_000
    preset, league = full_size("pommerman-league")
    assert isinstance(league.players[0].freeze, Period)
    assert preset.run.max_steps == 77 * league.players[0].freeze.steps
    assert league.players[0].freeze.steps == 200_000_000


@settings(max_examples=40, deadline=None)
@given(
    st.text(max_size=20), st.text(min_size=1, max_size=10), st.floats(allow_nan=False, allow_infinity=False)
)
def test_any_text_key_and_number_survive_toml(title: str, key: str, number: float) -> None:
    preset = Preset(GameConfig("x", params={key: number, key + "_": title}), title=title)
    assert parse_preset(to_toml(preset).encode("utf-8", "surrogatepass"), "x").preset == preset


def test_a_preset_is_plain_data() -> None:
    """A resumed run reads the settings of its training back, for all types."""
    preset = load_preset("minirts").preset
    assert preset_of(msgspec.to_builtins(preset)) == preset

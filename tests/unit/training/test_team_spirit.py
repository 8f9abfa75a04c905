"""A run whose teams share their rewards: it moves along the budget, repeats, and resumes bit by bit."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ludus.cli.__main__ import main
from ludus.flow import Terms
from ludus.pool import Pool
from ludus.pool.factory import make_pool
from ludus.presets.checks.game import check_game
from ludus.presets.config import ClusterConfig, Preset, TeamConfig
from ludus.presets.errors import Interrupted
from ludus.presets.file import PresetError, load_preset, parse_preset
from ludus.storage import read_jsonl
from ludus.training.actor_learner import sampler
from ludus.training.machines import LOCAL
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .asking import AskedMachines
from .league.test_league_runs import LEAGUE
from .runs import Recorder, reproducible_rows, small_preset
from .test_runs import InterruptAt, last_weights, same_weights

SQUADS: dict[str, object] = {
    "game__name": "pommerman",
    "game__params__mode": "team",
    "game__params__max_steps": 20,
    "game__params__reward_pickup": 0.5,
    "game__params__reward_wood": 0.5,
    "policy__inputs": "about",
    "pool__slots": 8,
    "pool__rollout_length": 8,
    "evaluation__every_steps": 0,
    "evaluation__matches": 0,
    "evaluation__final_matches": 0,
    "evaluation__initial": "false",
    "run__max_steps": 1000,
    "run__threads": 1,
}
MOVING: dict[str, object] = {"team__spirit": 0.3, "team__spirit_final": 1.0, "team__zero_sum": "true"}
START: dict[str, object] = {"team__spirit": 0.3, "team__zero_sum": "true"}  #: as MOVING at first


def squads(**more: object) -> Preset:
    return small_preset(**{**SQUADS, **more})


@pytest.mark.parametrize(
    ("config", "spirits"),
    [
        (TeamConfig(), [0.0, 0.0, 0.0]),
        (TeamConfig(spirit=0.4), [0.4, 0.4, 0.4]),
        (TeamConfig(spirit=0.3, spirit_final=1.0), [0.3, 0.65, 1.0]),
        (TeamConfig(spirit=1.0, spirit_final=0.0), [1.0, 0.5, 0.0]),
    ],
)
def test_a_spirit_moves_linearly_over_the_budget(config: TeamConfig, spirits: list[float]) -> None:
    assert [config.spirit_at(p) for p in (0.0, 0.5, 1.0)] == pytest.approx(spirits)
    assert config.changes == (len(set(spirits)) > 1)


@pytest.mark.parametrize("lag", ["sync", "pipelined"])
def test_a_moving_spirit_resumes_bit_equal(tmp_path: Path, lag: str) -> None:
    preset = squads(**MOVING, run__lag=lag)
    start_run(preset, tmp_path / "whole")
    with pytest.raises(Interrupted):
        start_run(preset, tmp_path / "run", sinks=[InterruptAt(4)])
    resume_run(tmp_path / "run")
    rows = reproducible_rows(tmp_path / "run" / "metrics.jsonl")
    assert rows == reproducible_rows(tmp_path / "whole" / "metrics.jsonl")
    assert same_weights(last_weights(tmp_path / "run"), last_weights(tmp_path / "whole"))
    logged = [row for row in read_jsonl(tmp_path / "whole" / "metrics.jsonl") if row["kind"] == "update"]
    spirits = [float(str(row["team/spirit"])) for row in logged]
    assert spirits == sorted(spirits)
    assert spirits[0] < 0.5
    assert spirits[-1] == pytest.approx(1.0)
    for row, spirit in zip(logged, spirits, strict=True):
        assert spirit == pytest.approx(0.3 + 0.7 * min(1.0, float(str(row["progress"]))))


def test_a_spirit_changes_what_is_learned_and_spirit_0_changes_nothing(tmp_path: Path) -> None:
    weights = []
    teams: dict[str, dict[str, object]] = {
        "none": {},
        "zero": {"team__spirit": 0.0, "team__spirit_final": 0.0},
        "half": {"team__spirit": 0.5},
        "moving": MOVING,
    }
    for name, team in teams.items():
        start_run(squads(**team), tmp_path / name)
        weights.append(last_weights(tmp_path / name))
    none, zero, half, moving = weights
    assert same_weights(none, zero)
    assert not same_weights(none, half)
    assert not same_weights(half, moving)
    rows = reproducible_rows(tmp_path / "none" / "metrics.jsonl")
    assert not any("team/spirit" in row for row in rows)


@pytest.mark.parametrize("more", [{"run__lag": "async"}, {"run__topology": "one_to_one", "run__pools": 2}])
def test_every_sampler_is_given_the_spirit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, object]
) -> None:
    given: list[tuple[Pool, float]] = []

    def noting(*args: object, **kwargs: object) -> Pool:
        pool = make_pool(*args, **kwargs)  # type: ignore[arg-type]
        original = pool.set_terms

        def noted(terms: Terms) -> None:
            if terms.spirit is not None:  # the sampler's thread starts before the first round
                given.append((pool, terms.spirit))
            original(terms)

        monkeypatch.setattr(pool, "set_terms", noted)
        return pool

    monkeypatch.setattr(sampler, "make_pool", noting)
    start_run(squads(**MOVING, **more), tmp_path / "run")
    spirits = [spirit for _, spirit in given]
    assert spirits == sorted(spirits)
    assert spirits[0] < 0.5 < spirits[-1] <= 1.0
    assert len({id(pool) for pool, _ in given}) == int(str(more.get("run__pools", 1)))


def test_every_member_of_a_league_shares_by_the_spirit_of_the_run(tmp_path: Path) -> None:
    """Also where rounds are asked for ahead, by samplers that play when they are asked."""
    changes = {name.replace("__", "."): str(value) for name, value in {**SQUADS, **MOVING}.items()}
    text = LEAGUE.format(game="pommerman", steps=1200, lag="sync")
    league = parse_preset(text.encode(), "league", overrides=changes).preset
    weights = []
    for name, machines in {"here": LOCAL, "there": AskedMachines()}.items():
        ahead = msgspec.structs.replace(league, cluster=ClusterConfig(ahead=1))
        recorder = Recorder()
        start_run(ahead, tmp_path / name, sinks=[recorder], machines=machines)
        weights.append(reproducible_rows(tmp_path / name / "metrics.jsonl"))
        for player in ("main", "exploiter"):
            spirits = [u.numbers["team/spirit"] for u in recorder.updates if u.player == player]
            assert spirits == sorted(spirits)
            assert spirits[0] < 0.6 < 0.9 < spirits[-1]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("preset", "setting", "error"),
    [
        ("minirts", {"team.spirit": "0.5"}, "minirts has no teams under these parameters"),
        ("pommerman-ffa", {"team.zero_sum": "true"}, r"pommerman \(game.params.mode = team\)"),
        ("tic_tac_toe", {"team.spirit_final": "0"}, "games with teams: moba, pommerman"),
        ("pommerman-team", {"team.spirit": "1.5"}, "expected a number from 0 to 1"),
        ("pommerman-team", {"team.spirit_final": "-0.5"}, "expected a number from 0 to 1"),
        ("pommerman-team", {"team.spirt": "0.5"}, r"did you mean (team\.)?spirit"),
    ],
)
def test_settings_that_a_game_cannot_have_are_refused(
    preset: str, setting: dict[str, str], error: str
) -> None:
    with pytest.raises(PresetError, match=error):
        check_game(load_preset(preset, setting))


def test_a_game_without_teams_ends_the_command_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["train", "minirts", "--team.spirit", "0.5", "--run-dir", str(tmp_path / "run")])
    assert code == 2
    assert "pommerman (game.params.mode = team)" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_the_shipped_preset_and_sweep_move_the_spirit() -> None:
    from ludus.sweep.config import read_sweep

    preset = load_preset("pommerman-team-spirit").preset
    assert preset.team == TeamConfig(0.3, 1.0, zero_sum=True)
    plain = load_preset("pommerman-team").preset
    assert msgspec.structs.replace(preset, team=TeamConfig(), title=plain.title) == plain
    root = Path(__file__).parents[3]
    cells = read_sweep(str(root / "sweeps" / "team-spirit.toml")).cells
    pairs = {(c.settings["team.spirit"], c.settings["team.spirit_final"]) for c in cells.values()}
    assert pairs == {(0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (0.3, 1.0)}

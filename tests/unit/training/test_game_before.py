"""Runs whose rules change by degrees: slabs in turn, exact shares, resumes, and settings that are refused."""

from __future__ import annotations

import hashlib
import math
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from ludus.cli.__main__ import main
from ludus.flow import RolloutStats
from ludus.presets.checks.game import check_game
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError, Interrupted
from ludus.presets.file import PresetError, load_preset, parse_preset
from ludus.rollouts.alternating_sampler import AlternatingSampler
from ludus.rollouts.exchange import Sampler
from ludus.storage import RunDirectory, read_jsonl
from ludus.training.actor_learner.build import build
from ludus.training.actor_learner.sampler import LocalSampler
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .runs import TOML, Recorder, reproducible_rows, small_preset
from .test_one_seat import GAME
from .test_runs import InterruptAt, last_weights, same_weights
from .test_team_spirit import MOVING, SQUADS

SHORT: dict[str, object] = {
    "run__max_steps": 1200,
    "evaluation__every_steps": 0,
    "evaluation__matches": 0,
    "evaluation__final_matches": 0,
    "run__threads": 1,
}
BEFORE: dict[str, object] = {"game__before__params__opens": "seat1", "game__before__until": 0.8}
MEMORY: dict[str, object] = {"policy__memory": "gru", "policy__memory_size": 8}


def two_rules(**more: object) -> Preset:
    settings = {k.replace("__", "."): str(v) for k, v in {**SHORT, **BEFORE, **more}.items()}
    text = TOML.replace("minibatches = 2\nmicro_batch = 32\n", "") if "policy.output" in settings else TOML
    return parse_preset(text.encode(), "small", overrides=settings).preset


def files(run: Path) -> dict[str, str]:
    """Return the hashes of what the last checkpoint holds but for its counters, which have times."""
    folder = max(p for p in (run / "checkpoints").iterdir() if p.name.isdecimal())
    names = ("weights.safetensors", "optimizer.safetensors", "rollout.safetensors")
    return {n: hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in names}


def resumed(preset: Preset, folder: Path, update: int) -> Path:
    """Train ``preset`` with an interrupt at ``update`` and a resume, and return the run."""
    run = folder / "resumed" / "run"
    run.parent.mkdir()
    with pytest.raises(Interrupted):
        start_run(preset, run, sinks=[InterruptAt(update)])
    resume_run(run)
    return run


def updates(run: Path) -> list[dict[str, object]]:
    return [row for row in read_jsonl(run / "metrics.jsonl") if row["kind"] == "update"]


DQN = {"policy__output": "q", "algorithm__name": "dqn", "algorithm__buffer_slabs": 4}
CASES: dict[str, dict[str, object]] = {
    "pipelined": {**MEMORY, "run__lag": "pipelined"},
    "past": {"opponents__0__name": "past", "opponents__0__past_every": 2, "run__lag": "sync"},
    "dqn": {**DQN, "algorithm__learning_starts": 16, "algorithm__batch_size": 16, "algorithm__updates": 2},
    "queue": {"run__lag": "sync", "run__queue": 2},
    "in turn": {"run__topology": "one_to_one", "run__pools": 2, "algorithm__minibatches": 1},
    "curriculum": {"curriculum__bot": "random", "curriculum__ticks": 6, "run__lag": "sync"},
}
SLOWER = "past", "dqn", "queue", "in turn", "curriculum"


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOWER)) for n in CASES])
def test_a_run_resumes_bit_equal_in_the_middle_of_the_schedule(tmp_path: Path, name: str) -> None:
    preset = two_rules(**CASES[name])
    start_run(preset, tmp_path / "run")
    run = resumed(preset, tmp_path, update=6)
    rows = updates(run)
    shares = [float(str(row["game/before_share"])) for row in rows]
    assert shares[0] == 1.0 > shares[5] > shares[-1] == 0.0
    assert shares == sorted(shares, reverse=True)
    assert 0 < float(str(rows[5]["game/before_steps"])) < float(str(rows[5]["steps"]))
    assert files(run) == files(tmp_path / "run")
    assert reproducible_rows(run / "metrics.jsonl") == reproducible_rows(tmp_path / "run" / "metrics.jsonl")


@pytest.mark.slow
def test_a_run_resumes_bit_equal_behind_a_setback(tmp_path: Path) -> None:
    changes: dict[str, object] = {
        "evaluation__every_steps": 120,
        "evaluation__matches": 20,
        "evaluation__initial": "false",
        "game__before__setback": 0.01,
        "run__lag": "sync",
        "run__max_steps": 1600,
    }
    preset, recorder = two_rules(**changes), Recorder()
    start_run(preset, tmp_path / "run", sinks=[recorder])
    setbacks = [float(str(row["game/before_setbacks"])) for row in updates(tmp_path / "run")]
    assert setbacks[-1] >= 1.0
    assert sum("the evaluation fell by more than" in line for line in recorder.messages) >= setbacks[-1]
    first = next(i for i, count in enumerate(setbacks) if count)
    shares = [float(str(row["game/before_share"])) for row in updates(tmp_path / "run")]
    assert shares[first] >= shares[first - 1]  # without a setback it would have fallen
    run = resumed(preset, tmp_path, update=first + 1)
    assert files(run) == files(tmp_path / "run")
    assert reproducible_rows(run / "metrics.jsonl") == reproducible_rows(tmp_path / "run" / "metrics.jsonl")


def noted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, bool]]:
    """Return a list that fills with the share at each slab and whether it is one of the old rules."""
    out: list[tuple[float, bool]] = []
    original = AlternatingSampler.play

    def play(self: AlternatingSampler, *args: object, **more: object) -> RolloutStats:
        stats = original(self, *args, **more)  # type: ignore[arg-type]
        out.append((self.share, stats.before_steps > 0))
        return stats

    monkeypatch.setattr(AlternatingSampler, "play", play)
    return out


@pytest.mark.parametrize("lag", ["sync", "pipelined", "async"])
def test_shares_are_counted_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lag: str) -> None:
    slabs = noted(monkeypatch)
    start_run(two_rules(run__lag=lag), tmp_path / "run")
    old, total = 0, Fraction(0)
    for count, (share, is_old) in enumerate(slabs, 1):
        old, total = old + is_old, total + Fraction(share)
        if lag != "async":  # there the share may move while a slab is played
            assert math.floor(total) <= old <= math.floor(total + Fraction(count, 1 << 32))
    assert 3 < old < len(slabs) - 3
    assert not slabs[-1][1]


def test_once_no_slab_is_old_a_run_is_that_of_the_new_rules_alone(tmp_path: Path) -> None:
    start_run(small_preset(**SHORT), tmp_path / "new")
    start_run(two_rules(game__before__until=0), tmp_path / "both")
    assert same_weights(last_weights(tmp_path / "new"), last_weights(tmp_path / "both"))
    rows = [updates(tmp_path / name) for name in ("new", "both")]
    assert not any(key.startswith("game/") for row in rows[0] for key in row)
    assert {(row["game/before_share"], row["game/before_steps"]) for row in rows[1]} == {(0.0, 0.0)}


def test_a_run_without_old_rules_has_one_pool() -> None:
    kinds: list[type[Sampler]] = []
    for preset in (small_preset(**SHORT), two_rules()):
        components = build(preset)
        kinds.append(type(components.sampler))
        components.close()
    assert kinds == [LocalSampler, AlternatingSampler]


def test_evaluations_play_the_new_rules(tmp_path: Path) -> None:
    preset = two_rules(
        game__before__share=1,
        game__before__share_final=1,
        game__params__opens="random",
        evaluation__matches=4,
        evaluation__final_matches=4,
        evaluation__every_steps=400,
        run__max_steps=500,
    )
    recorder = Recorder()
    start_run(preset, tmp_path / "run", sinks=[recorder])
    assert len(recorder.evaluations) >= 3
    assert {r.params["opens"] for e in recorder.evaluations for r in e.results} == {"random"}
    last = updates(tmp_path / "run")[-1]
    assert last["game/before_steps"] == last["steps"]


@pytest.mark.slow
def test_a_python_game_in_processes_repeats_and_resumes(tmp_path: Path) -> None:
    text = f"""
[game]
name = "{GAME}"
params = {{ length = 5 }}
before = {{ params = {{ length = 9 }}, until = 0.8 }}
[pool]
slots = 4
groups = 2
threads = 2
rollout_length = 8
[policy]
dense = []
hidden = [8]
[evaluation]
every_steps = 0
matches = 0
final_matches = 0
[run]
max_steps = 500
threads = 1
lag = "pipelined"
"""
    (tmp_path / "walk.toml").write_text(text)
    preset = load_preset(str(tmp_path / "walk.toml")).preset
    start_run(preset, tmp_path / "run")
    start_run(preset, tmp_path / "again")
    assert files(tmp_path / "again") == files(tmp_path / "run")
    run = resumed(preset, tmp_path, update=5)  # matches in play start again
    rows = updates(run)
    whole = updates(tmp_path / "run")
    assert [row["game/before_share"] for row in rows] == [row["game/before_share"] for row in whole]
    assert [row["game/before_steps"] for row in rows] == [row["game/before_steps"] for row in whole]
    lengths = [row["rollout/length"] for row in rows if "rollout/length" in row]
    assert (lengths[0], lengths[-1]) == (9.0, 5.0)


PIKES = """
extends = "extended"
[units.pikeman]
cost = {cost}
hp = 110
attack = 7
attack_range = 2
vision = 5
speed = 0.05
accepts = ["move", "attack"]
cooldown = {{ attack = 15 }}
[units.town_hall]
builds = ["peasant", "pikeman"]
[bots.pikes]
gatherers = 3
builds = ["barrack"]
trains = ["{trains}"]
attack_at = 5
"""
STAGED = """
[game]
name = "rts"
frame_skip = 50
params = { rulebook = "new.toml" }
[game.before]
share = 0.5
params = { rulebook = "old.toml" }
[[opponents]]
name = "pikes"
[pool]
slots = 8
groups = 1
rollout_length = 16
[policy]
inputs = ["globals"]
dense = []
hidden = [8]
[run]
max_steps = 1000
threads = 1
"""


def rulebooks(folder: Path, old: str) -> str:
    """Write a preset with two rulebooks beside it, and return its path."""
    (folder / "new.toml").write_text(PIKES.format(cost=90, trains="pikeman"))
    (folder / "old.toml").write_text(old)
    (folder / "staged.toml").write_text(STAGED)
    return str(folder / "staged.toml")


def test_a_unit_that_no_one_can_pay_is_legal_under_the_new_rules_alone(tmp_path: Path) -> None:
    loaded = load_preset(rulebooks(tmp_path, PIKES.format(cost=1_000_000, trains="spearman")))
    spec = check_game(loaded)
    choice = spec.heads[0].labels.index("build_pikeman")
    components = build(loaded.preset)
    legal: dict[bool, float] = {}

    slab = components.sampler.facts.slabs[0]
    for _ in range(2):
        stats = components.sampler.play(slab)
        seen = slab.mask[:-1][slab.active[:-1] != 0][:, choice]
        legal[stats.before_steps > 0] = float(seen.mean())
    components.close()
    assert legal[True] == 0.0 < legal[False]


@pytest.mark.parametrize(
    ("old", "message"),
    [
        (
            'extends = "extended"\n',
            r'label \d+ of \w+ is "\w*pikeman" under the new rules, .*cost that no one',
        ),
        (
            PIKES.format(cost=1_000_000, trains="spearman").replace("bots.pikes", "bots.spears"),
            r"opponents\.0\.name: the old rules of game\.before have no bot pikes \(",
        ),
        (PIKES.format(cost=90, trains="pikeman") + "# a remark\n", r"no difference from game\.params"),
        (PIKES.format(cost=-1, trains="pikeman"), r"game\.before\.params\.rulebook: .*old\.toml:4: .*cost"),
        ("cost = ", r"old\.toml: not valid TOML"),
    ],
)
def test_old_rulebooks_that_do_not_fit_are_refused(tmp_path: Path, old: str, message: str) -> None:
    with pytest.raises(PresetError, match=message):
        check_game(load_preset(rulebooks(tmp_path, old)))


def test_old_rules_draw_the_same_numbers_unless_they_name_others(tmp_path: Path) -> None:
    staged = Path(rulebooks(tmp_path, PIKES.format(cost=1_000_000, trains="spearman")))
    staged.write_text(staged.read_text() + '[game.randomise]\n"units.peasant.hp" = [20, 40]\n')
    game = load_preset(str(staged)).preset.game
    assert game.params["randomise"] == game.under_old_rules.params["randomise"] == "units.peasant.hp=20,40\n"
    game = load_preset(str(staged), {"game.before.params.randomise": ""}).preset.game
    assert game.under_old_rules.params["randomise"] == ""
    assert game.params["randomise"]


@pytest.mark.slow
def test_teams_that_share_rewards_meet_new_rules_and_resume(tmp_path: Path) -> None:
    settings = {**SQUADS, **MOVING, "game__before__params__reward_pickup": 0.1, "run__lag": "pipelined"}
    preset = small_preset(**settings)
    start_run(preset, tmp_path / "run")
    run = resumed(preset, tmp_path, update=4)
    assert files(run) == files(tmp_path / "run")
    assert reproducible_rows(run / "metrics.jsonl") == reproducible_rows(tmp_path / "run" / "metrics.jsonl")
    assert updates(run)[0]["game/before_steps"] == updates(run)[0]["steps"]


REFUSED: list[tuple[str, dict[str, str], str]] = [
    (
        "tic_tac_toe",
        {"game.before.params.open": "x"},
        r"unknown parameter game\.before\.params\.open .*opens",
    ),
    (
        "tic_tac_toe",
        {"game.before.params.opens": "seat2"},
        r"opens = \"seat2\": expected one of seat0, seat1",
    ),
    ("tic_tac_toe", {"game.before.params.opens": "seat0"}, "no difference from game.params"),
    ("tic_tac_toe", {"game.before.until": "0.5"}, "no difference from game.params"),
    ("tower-defense", {"game.before.params.hp_reward": "1.0"}, "no difference from game.params"),
    ("tic_tac_toe", {"game.before.share": "1.5"}, "expected a number from 0 to 1"),
    ("tic_tac_toe", {"game.before.share_final": "-1"}, "expected a number from 0 to 1"),
    ("tic_tac_toe", {"game.before.untl": "1"}, r"did you mean until\?"),
    ("tic_tac_toe", {"game.before.params.opens": "seat1", "game.before.share": "0"}, "expected more, or"),
    (
        "tic_tac_toe",
        {
            "game.before.params.opens": "seat1",
            "run.max_steps": "0",
            "run.max_minutes": "0",
            "run.target": "0.9",
        },
        r"game\.before\.until = 0\.5: expected run\.max_steps",
    ),
    (
        "tic_tac_toe",
        {"game.before.params.opens": "seat1", "game.before.setback": "5"},
        r"setback = 5: expected less than 1",
    ),
    (
        "tic_tac_toe",
        {
            "game.before.params.opens": "seat1",
            "game.before.setback": "0.1",
            "evaluation.every_steps": "0",
        },
        r"expected evaluation\.every_steps and evaluation\.matches above 0",
    ),
    (
        "tic_tac_toe",
        {
            "game.before.params.opens": "seat1",
            "game.before.setback": "0.1",
            "game.before.share_final": "1",
        },
        "expected 0 where game.before.share stays as it is",
    ),
    (
        "tic_tac_toe",
        {"game.before.params.opens": "seat1", "cluster.rollouts": "2"},
        r"cluster\.rollouts = 2: expected 0 where there is a table game\.before",
    ),
    (
        "tic_tac_toe-alphazero",
        {"game.before.params.opens": "seat1"},
        'where algorithm.name = "alphazero"',
    ),
    (
        "tic_tac_toe-imitation",
        {"game.before.params.opens": "seat1"},
        'where algorithm.name = "imitation"',
    ),
    (
        "tic_tac_toe",
        {"game.before.params.opens": "seat1", "algorithm.teacher": "runs/a@best"},
        "expected none where there is a teacher",
    ),
    ("minirts-league", {"game.before.params.fog": "off"}, "expected none where there is a league"),
    (
        "minirts",
        {"game.before.params.map_size": "16"},
        "scale of cells is 20.0 under the new rules, 16.0",
    ),
    ("moba-3v3", {"game.before.params.heroes": "1"}, "seats is 6 under the new rules, 2 under the"),
    (
        "pommerman-team",
        {"game.before.params.mode": "ffa"},
        r"teams is \(.*\) under the new rules, \(",
    ),
]


@pytest.mark.parametrize(("name", "settings", "message"), REFUSED)
def test_settings_that_make_no_sense_are_refused(name: str, settings: dict[str, str], message: str) -> None:
    with pytest.raises(PresetError, match=message):
        check_game(load_preset(name, settings))


@pytest.mark.parametrize(
    ("game", "problem"), [("kuhn_poker", "kuhn_poker has one set of rules, without parameters")]
)
def test_a_game_without_parameters_is_refused(game: str, problem: str) -> None:
    text = f'[game]\nname = "{game}"\nbefore = {{}}\n[run]\nmax_steps = 100\n'
    with pytest.raises(PresetError, match=problem):
        check_game(parse_preset(text.encode(), "x"))


def test_a_program_gets_the_same_error(tmp_path: Path) -> None:
    preset = two_rules(game__before__params__opens="seat0")
    with pytest.raises(ConfigError, match=r"no difference from game\.params"):
        start_run(preset, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_command_line_explains_and_refuses_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["train", "tic_tac_toe", "--explain"]
    assert main([*base, "--game.before.params.opens", "seat1", "--game.before.over-steps", "100"]) == 0
    shown = capsys.readouterr().out
    assert "[game.before.params]" in shown
    assert 'opens = "seat1"' in shown
    assert "over_steps = 100" in shown
    code = main(["train", "tic_tac_toe", "--game.before.share", "2", "--run-dir", str(tmp_path / "run")])
    assert code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "game.before.share = 2: expected a number from 0 to 1" in error
    assert not (tmp_path / "run").exists()


def test_a_resume_shows_the_share(tmp_path: Path) -> None:
    preset, run, recorder = two_rules(), tmp_path / "run", Recorder()
    with pytest.raises(Interrupted):
        start_run(preset, run, sinks=[recorder, InterruptAt(6)])
    assert "old rules (game.before) in 100% of the slabs, 0% after 80% of the budget" in recorder.messages
    again = Recorder()
    resume_run(run, sinks=[again])
    (line,) = [m for m in again.messages if m.startswith("old rules")]
    share = float(line.rpartition("now ")[2].removesuffix("%")) / 100
    assert share == pytest.approx(again.updates[0].numbers["game/before_share"], abs=0.1)
    assert 0.0 < share < 1.0
    assert RunDirectory.open(run).config.read_text().count("[game.before") == 2


def test_matches_of_unknown_origin_start_again_and_the_share_continues(tmp_path: Path) -> None:
    preset, recorder = two_rules(run__lag="sync"), Recorder()
    for name in ("first", "second"):
        with pytest.raises(Interrupted):
            start_run(preset, tmp_path / name, sinks=[InterruptAt(6)])
    folder = Path("checkpoints", "000000006")
    shutil.rmtree(tmp_path / "second" / folder)
    shutil.copytree(tmp_path / "first" / folder, tmp_path / "second" / folder)
    resume_run(tmp_path / "second", sinks=[recorder])  # signed for another run
    assert any("matches restart (" in message for message in recorder.messages)
    shares = [float(str(row["game/before_share"])) for row in updates(tmp_path / "second")]
    assert len(shares) > 8
    assert shares == sorted(shares, reverse=True)
    assert 1.0 > shares[5] > shares[6] > 0.0

"""Surgery on whole runs: the same preset changes no byte, wider networks continue, no run is left half."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ludus.cli.__main__ import main
from ludus.flow.slab import Array
from ludus.games import rulebook
from ludus.policies.weights import save_weights
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.presets.errors import Interrupted
from ludus.presets.file import load_preset
from ludus.storage import RunDirectory, read_weights
from ludus.storage.journal import Journal
from ludus.storage.tensors import decode_file, encode_tensors
from ludus.surgery.apply import apply
from ludus.surgery.plan import ConversionPlan, SurgeryError
from ludus.training.actor_learner.build import build_learner
from ludus.training.runs import start_run
from ludus.training.surgery.calibration import new_places
from ludus.training.surgery.operate import Operation, Request
from ludus.training.surgery.proof import prove
from ludus.training.surgery.source import read_source
from tests.unit.training.league.test_league_runs import league_preset
from tests.unit.training.runs import Recorder, resume_run, small_preset
from tests.unit.training.test_dqn_runs import preset_of as dqn_preset
from tests.unit.training.test_runs import InterruptAt

QUIET = {"evaluation__every_steps": 0, "evaluation__final_matches": 0, "run__max_steps": 1000}
#: Settings of runs with all that surgery carries over.
RUNS: dict[str, dict[str, object]] = {
    "sync": {"run__lag": "sync"},
    "queue": {"run__lag": "pipelined", "run__queue": 2},
    "lstm": {"run__lag": "pipelined", "policy__memory": "lstm", "policy__memory_size": 8},
    "past": {"run__lag": "pipelined", "opponents__0__name": "past", "opponents__0__past_every": 3},
    "one_to_one": {
        "run__lag": "sync",
        "run__topology": "one_to_one",
        "run__pools": 2,
        "algorithm__name": "a2c",
        "policy__memory": "gru",
        "policy__memory_size": 8,
    },
}
SLOWER = "queue", "past", "one_to_one"


def preset_named(name: str, **changes: object) -> Preset:
    if name == "dqn":
        return dqn_preset(**{**QUIET, "policy__norm": "none", **changes})
    if name == "league":
        return league_preset(lag="pipelined", steps=1500)
    return small_preset(**{**QUIET, "policy__norm": "none", **RUNS[name], **changes})


def cut(preset: Preset, run: Path, update: int = 5) -> Path:
    """Train until ``update`` and stop."""
    with pytest.raises(Interrupted):
        start_run(preset, run, sinks=[InterruptAt(update)])
    return run


def operated(run: Path, preset: Preset, new: Path, settle: int | None = None) -> Operation:
    operation = Operation(read_source(f"{run}@last"), Request(preset, settle=settle))
    operation.prepare()
    operation.write(new)
    return operation


def digests(run: Path) -> dict[str, str]:
    """SHA-256 of the newest checkpoint's tensors, by file."""
    store = RunDirectory.open(run).checkpoints
    folder = store.path(store.versions()[-1])
    files = sorted(folder.glob("*.safetensors"))
    return {"version": folder.name} | {f.name: digest_of(f) for f in files}


def digest_of(file: Path) -> str:
    """SHA-256 of a file's tensors, without its metadata: these also have the settings of the run."""
    return hashlib.sha256(encode_tensors(decode_file(file)[0])).hexdigest()


def tree(run: Path) -> dict[str, str]:
    """SHA-256 of every file below ``run``."""
    files = (p for p in run.rglob("*") if p.is_file())
    return {str(p.relative_to(run)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.mark.parametrize(
    "name", ["sync", "lstm", "dqn", "league", *(pytest.param(n, marks=pytest.mark.slow) for n in SLOWER)]
)
def test_surgery_to_the_same_preset_changes_no_byte(tmp_path: Path, name: str) -> None:
    preset = preset_named(name)
    start_run(preset, tmp_path / "whole")
    old = cut(preset, tmp_path / "old")
    before = tree(old)
    operation = operated(old, preset, tmp_path / "new")
    assert tree(old) == before
    outline = operation.outline()
    assert not outline.new_matches
    assert not outline.empty_replay_buffer
    assert outline.settle == 0
    assert not RunDirectory.open(tmp_path / "new").checkpoints.load_last()[0].restart
    resume_run(tmp_path / "new")
    found, expected = digests(tmp_path / "new"), digests(tmp_path / "whole")
    if name in ("league", "past"):  # resumed, they have other bytes where no one decided, as without surgery
        resume_run(old)
        expected |= {"rollout.safetensors": digests(old)["rollout.safetensors"]}
    assert found == expected
    (ancestor,) = RunDirectory.open(tmp_path / "new").info().lineage
    assert ancestor.run_id == RunDirectory.open(old).info().run_id


@pytest.mark.parametrize(
    "name", ["lstm", "past", *(pytest.param(n, marks=pytest.mark.slow) for n in ("dqn", "one_to_one"))]
)
def test_a_wider_network_continues_in_mid_match(tmp_path: Path, name: str) -> None:
    preset = preset_named(name)
    old = cut(preset, tmp_path / "old")
    sizes = {"policy__hidden": 24} | ({} if name == "dqn" else {"policy__memory_size": 12})
    wider = preset_named(name, **sizes)
    operation = operated(old, wider, tmp_path / "new", settle=2)
    assert operation.conversion.plan is not None
    assert operation.conversion.plan.exact
    assert not operation.new_matches
    recorder = Recorder()
    resume_run(tmp_path / "new", sinks=[recorder])
    rates = [
        m.numbers["learner/learning_rate"] for m in recorder.updates if "learner/learning_rate" in m.numbers
    ]
    assert rates[:2] == [0.0, 0.0]
    assert min(rates[2:]) > 0.0
    whole = Recorder()
    resume_run(old, sinks=[whole])
    assert recorder.updates[0].lag == whole.updates[0].lag
    assert recorder.updates[0].version == whole.updates[0].version
    path = RunDirectory.open(tmp_path / "new").checkpoints.weights_path("last")
    lineage = read_weights(path).meta.lineage
    assert isinstance(lineage, tuple)
    assert [a.version for a in lineage] == [operation.outline().version]
    if name == "past":
        assert operation.outline().players >= 2
        assert not any("continue without" in text for text in recorder.messages)


def test_settling_moves_moments_and_no_parameter(tmp_path: Path) -> None:
    preset = preset_named("sync")
    old = cut(preset, tmp_path / "old")
    operated(old, preset_named("sync", policy__hidden=24), tmp_path / "new", settle=1000)
    store = RunDirectory.open(tmp_path / "new").checkpoints
    before = store.load_last()[0]
    resume_run(tmp_path / "new")
    after = store.load_last()[0]
    assert after.version > before.version
    moved = {n for n, a in before.optimizer.items() if a.tobytes() != after.optimizer[n].tobytes()}
    assert {n for n in moved if n.startswith("adam.")}
    free = ("network.values.", "network.normaliser.", "network.value_head.")  # PopArt rescales the head
    assert not {n for n in moved if n.startswith("network.") and not n.startswith(free)}


def test_a_wider_league_loses_no_frozen_player(tmp_path: Path) -> None:
    preset = league_preset(lag="pipelined", steps=2500)
    preset = changed(preset, hidden=(8,), norm="none")
    old = cut(preset, tmp_path / "old", update=6)
    frozen = RunDirectory.open(old).frozen
    players = {p: frozen.versions(p) for p in frozen.players()}
    assert sum(map(len, players.values())) >= 2
    operated(old, changed(preset, hidden=(16,), norm="none"), tmp_path / "new")
    new = RunDirectory.open(tmp_path / "new")
    assert {p: new.frozen.versions(p) for p in new.frozen.players()} == players
    for player, versions in players.items():
        for version in versions:
            assert new.frozen.load(player, version).tensors["join.layers.0.weight"].shape[0] == 16
            assert frozen.learner_path(player, version).is_file() == (
                new.frozen.learner_path(player, version).is_file()
            )
    resume_run(tmp_path / "new")
    with Journal.read(new.league) as journal:
        kinds = [row.kind for row in journal.rows()]
    assert "retired" not in kinds
    assert new.checkpoints.load_last()[0].version > 0


PIKES = """
extends = "extended"
[units.pikeman]
cost = 90
hp = 120
attack = 8
attack_range = 2
vision = 5
speed = 0.05
accepts = ["move", "attack"]
cooldown = { attack = 10 }
[units.barrack]
builds = ["spearman", "pikeman"]
"""


@pytest.mark.slow
def test_a_new_unit_type_is_calibrated_and_starts_new_matches(tmp_path: Path) -> None:
    path = tmp_path / "pikes.toml"
    path.write_text(PIKES)
    rules = rulebook.read(path)
    extended = {
        "game__name": "rts",
        "game__params__rulebook": "extended",
        "game__frame_skip": 50,
        "opponents__0__name": "rush",
        "policy__inputs": "globals",
        "policy__memory": "lstm",
        "policy__memory_size": 8,
        "run__max_steps": 700,
    }
    preset = preset_named("sync", **extended)
    old = cut(preset, tmp_path / "old", update=2)
    game = msgspec.structs.replace(preset.game, params={"rulebook": rules})
    operation = operated(old, msgspec.structs.replace(preset, game=game), tmp_path / "new")
    outline = operation.outline()
    assert outline.calibrated == (4, 0)
    assert outline.new_matches == "surgery changed game.params.rulebook"
    one, two = (RunDirectory.open(r).checkpoints.load_last()[0].weights for r in (old, tmp_path / "new"))
    assert one.meta.spec_hash != two.meta.spec_hash
    columns = new_places(operation.conversion.plan).columns
    for name, start in (("normaliser.mean", 0.0), ("normaliser.variance", 1.0)):
        known = np.delete(two.tensors[name], columns)
        assert sorted(known.tolist()) == sorted(one.tensors[name].tolist())
        assert not (two.tensors[name][columns] == start).all(), (
            "statistics of matches, not of a fresh network"
        )
    proof = prove(operation.pair(), verify=True, matches=0)
    assert not proof.failure
    assert proof.differences is not None
    assert proof.differences.decisions >= 4096
    assert proof.differences.scale > 0.0
    with pytest.raises(SurgeryError, match="--matches = 5: expected 0: a weights file does not name"):
        prove(operation.pair()._replace(before=None), verify=True, matches=5)
    recorder = Recorder()
    resume_run(tmp_path / "new", sinks=[recorder])
    assert recorder.updates[0].version == 3
    assert recorder.updates[0].numbers["policy/kl"] == pytest.approx(0.0, abs=1e-6)


def changed(preset: Preset, **policy: object) -> Preset:
    return msgspec.structs.replace(preset, policy=msgspec.structs.replace(preset.policy, **policy))


def test_another_seed_starts_new_matches_and_says_so(tmp_path: Path) -> None:
    old = cut(preset_named("sync"), tmp_path / "old")
    preset = preset_named("sync", opponents__0__name="past", run__seed=7)
    assert operated(old, preset, tmp_path / "new").new_matches == "surgery changed run.seed"
    recorder = Recorder()
    resume_run(tmp_path / "new", sinks=[recorder])
    assert any("surgery changed run.seed" in text for text in recorder.messages)
    assert not any("continue without" in text for text in recorder.messages)
    state = json.loads(RunDirectory.open(tmp_path / "new").checkpoints.load_last()[0].state)
    assert state["new_matches"] == ""
    assert state["restarts"] == 1


def test_other_learning_settings_keep_matches_and_weights(tmp_path: Path) -> None:
    preset = preset_named("lstm")
    old = cut(preset, tmp_path / "old")
    operated(old, preset_named("lstm", algorithm__learning_rate=1e-5), tmp_path / "new")
    one, two = (RunDirectory.open(r).checkpoints.load_last()[0] for r in (old, tmp_path / "new"))
    for a, b in ((one.optimizer, two.optimizer), (one.rollout, two.rollout)):
        assert {n: x.tobytes() for n, x in a.items()} == {n: x.tobytes() for n, x in b.items()}
    recorder = Recorder()
    resume_run(tmp_path / "new", sinks=[recorder])
    assert recorder.updates[0].numbers["learner/learning_rate"] == pytest.approx(1e-5)


def test_an_unsigned_checkpoint_is_not_signed_by_surgery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = preset_named("sync")
    old = cut(preset, tmp_path / "old")
    monkeypatch.setenv("LUDUS_STATE_DIR", str(tmp_path / "another_user"))
    operation = operated(old, preset, tmp_path / "new")
    assert "not signed" in operation.new_matches
    rollout = RunDirectory.open(tmp_path / "new").checkpoints.load_last()[0].rollout
    assert list(rollout) == ["collector.time_step"]


KILLS = """
import os, random, signal, sys, time
from pathlib import Path
from ludus.training.surgery.operate import Operation, Request
from ludus.training.surgery.proof import prove
from ludus.training.surgery.source import read_source
from ludus.presets.file import load_preset
old, preset, new, kills = sys.argv[1:]
operation = Operation(read_source(old + "@last"), Request(load_preset(preset).preset))
operation.prepare()
draw = random.Random(3)
start = time.perf_counter()
operation.write(Path(new + "-first"))
whole = time.perf_counter() - start
killed = 0
for i in range(int(kills)):
    child = os.fork()
    if child == 0:
        operation.write(Path(f"{new}-{i % 5}-{i}"))
        os._exit(0)
    time.sleep(draw.uniform(0.0, 1.3 * whole))
    os.kill(child, signal.SIGKILL)
    killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
operation.write(Path(f"{new}-0-0") if not Path(f"{new}-0-0").exists() else Path(new + "-last"))
print(killed)
"""


@pytest.mark.parametrize("kills", [6, pytest.param(50, marks=pytest.mark.slow)])
def test_kills_leave_the_old_run_and_no_half_of_a_new_one(tmp_path: Path, kills: int) -> None:
    old = cut(preset_named("past"), tmp_path / "old")
    before = tree(old)
    preset = tmp_path / "wider.toml"
    preset.write_text(to_toml(preset_named("past", policy__hidden=24)))
    words = [sys.executable, "-c", KILLS, str(old), str(preset), str(tmp_path / "new"), str(kills)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 1
    assert tree(old) == before
    expected = digests(tmp_path / "new-first")
    made = [p for p in tmp_path.glob("new-*") if not p.name.startswith(".")]
    assert made
    for run in made:
        assert digests(run) == expected
        assert not RunDirectory.open(run).checkpoints.load_last()[0].restart


def test_the_command_writes_a_run_that_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = cut(preset_named("lstm"), tmp_path / "old")
    preset = tmp_path / "wider.toml"
    preset.write_text(to_toml(preset_named("lstm", policy__hidden=24, policy__memory_size=16)))
    words = ["surgery", f"{old}@last", "--to", str(preset), "--run-dir", str(tmp_path / "new")]
    assert main([*words, "--plan"]) == 0
    assert "memory 8 -> 16" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()
    assert main([*words, "--verify", "--matches", "30", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["proof"]["differences"]["decisions"] >= 4096
    assert document["proof"]["differences"]["logits"] < 1e-4
    assert document["exact"]
    assert document["parameters"][1] > document["parameters"][0]
    assert main(["resume", str(tmp_path / "new"), "--quiet"]) == 0
    file = tmp_path / "wider.safetensors"
    assert main(["surgery", f"{old}@last", "--to", str(preset), "-o", str(file), "--verify"]) == 0
    capsys.readouterr()
    assert main(["eval", str(file), "--against", "random", "--matches", "5"]) == 0
    assert main(["surgery", f"{old}@last", "--to", str(preset), "--out", str(file)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_a_changed_weight_fails_verification_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = cut(preset_named("sync"), tmp_path / "old")
    preset = tmp_path / "wider.toml"
    preset.write_text(to_toml(preset_named("sync", policy__hidden=24)))

    def wrong(plan: ConversionPlan, arrays: dict[str, Array], fresh: dict[str, Array]) -> dict[str, Array]:
        new = apply(plan, arrays, fresh)
        new["value_head.weight"] = new["value_head.weight"] + np.float32(0.01)
        return new

    monkeypatch.setattr("ludus.training.surgery.conversion.apply", wrong)
    words = ["surgery", f"{old}@last", "--to", str(preset), "--run-dir", str(tmp_path / "new"), "--verify"]
    assert main(words) == 3
    error = capsys.readouterr().err
    assert "value_head.weight" in error
    assert "nothing was written" in error
    assert not list(tmp_path.glob("*new*"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cut(preset_named("sync"), tmp_path_factory.mktemp("trained") / "run")


def test_surgery_without_a_preset_changes_the_settings_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = cut(preset_named("sync"), tmp_path / "old")
    weights = next(old.glob("checkpoints/*/weights.safetensors"))
    for source in (f"{old}@last", str(old), str(weights)):
        out = ["--out", str(tmp_path / "new.safetensors")] if source == str(weights) else []
        assert main(["surgery", source, "--plan", "--policy.hidden", "24", *out]) == 0
        assert "-> 24" in capsys.readouterr().out
    lone = tmp_path / "lone.safetensors"
    shutil.copy(weights, lone)
    words = ["surgery", str(lone), "--policy.hidden", "24", "-o", str(tmp_path / "new.safetensors"), "--plan"]
    assert main(words) == 0  # its metadata have the preset
    assert "-> 24" in capsys.readouterr().out
    for words, message in (
        ([f"{old}@last"], "--to: expected the preset with the settings after surgery, or a setting"),
        ([str(tmp_path / "no"), "--policy.hidden", "24"], "no: not a run directory"),
    ):
        assert main(["surgery", *words, "--plan"]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "minirts"], "game.name = minirts: expected tic_tac_toe"),
        (["--to", "TOML", "--policy.activation", "tanh"], "policy.activation = tanh"),
        (["--to", "TOML", "--policy.hidden", "8"], "8"),
        (["--to", "TOML", "--run.topology", "one_to_one"], "run.topology = one_to_one: expected many_to_one"),
        (["--to", "TOML", "--algorithm.optimizer", "sgd"], "algorithm.optimizer = sgd: expected adam"),
        (["--to", "tic_tac_toe-alphazero"], "policy.network"),
        (["--to", "tic_tac_toe-imitation"], "algorithm.name"),
        (["--to", "TOML", "--like", "a"], "--like a: expected two names"),
        (["--to", "TOML", "--like", "new=nothing", "--policy.hidden", "24"], "like = new: expected"),
        (["--to", "TOML", "--out", "w.safetensors"], "expected none with --out"),
        ([], "--to: expected"),
        (["--to", "no_such.toml"], "no such file"),
    ],
)
def test_changes_that_are_not_covered_are_refused(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    preset = tmp_path / "to.toml"
    preset.write_text(to_toml(preset_named("sync")))
    given = [str(preset) if w == "TOML" else w for w in words]
    assert main(["surgery", f"{trained}@last", "--run-dir", str(tmp_path / "new"), *given]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert sorted(p.name for p in tmp_path.iterdir()) == ["to.toml"]


def test_damaged_and_foreign_sources_are_refused(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    preset = tmp_path / "to.toml"
    preset.write_text(to_toml(preset_named("sync")))
    damaged = tmp_path / "damaged"
    shutil.copytree(trained, damaged)
    path = next(damaged.glob("checkpoints/0*/optimizer.safetensors"))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    (tmp_path / "text.safetensors").write_text("no weights")
    for source, message in [
        (str(damaged), "does not match its SHA-256"),
        (str(tmp_path / "nothing"), "not a run directory"),
        (f"{trained}@7777777", "no version"),
    ]:
        assert main(["surgery", source, "--to", str(preset), "--run-dir", str(tmp_path / "new")]) == 2
        assert message in capsys.readouterr().err
    foreign = tmp_path / "foreign.safetensors"
    save_weights(build_learner(load_preset("cartpole", {}).preset).weights(), foreign)
    out = ["--out", str(tmp_path / "out.safetensors")]
    assert main(["surgery", str(foreign), "--to", str(preset), *out]) == 2
    assert "game.name = tic_tac_toe: expected" in capsys.readouterr().err
    assert main(["surgery", str(tmp_path / "text.safetensors"), "--to", str(preset), *out]) == 2
    assert "safetensors" in capsys.readouterr().err
    with RunDirectory.open(trained).lock():
        assert main(["surgery", str(trained), "--to", str(preset), "--run-dir", str(tmp_path / "new")]) == 2
    assert "a run that no process trains" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "out.safetensors").exists()
    assert os.path.lexists(trained)


@pytest.mark.parametrize("kind", ["run", "file", "link to nothing"])
@pytest.mark.parametrize("flag", ["--run-dir", "--out"])
def test_a_target_that_exists_is_refused_and_stays(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, flag: str
) -> None:
    preset, target = tmp_path / "to.toml", tmp_path / "target"
    preset.write_text(to_toml(preset_named("sync", policy__hidden=24)))
    if kind == "run":
        shutil.copytree(trained, target)
    elif kind == "file":
        target.write_text("mine")
    else:
        target.symlink_to(tmp_path / "nothing")
    before = tree(target) if target.is_dir() else {}
    assert main(["surgery", f"{trained}@last", "--to", str(preset), flag, str(target)]) == 2
    error = capsys.readouterr().err
    assert "exists already" in error
    assert "Traceback" not in error
    assert not target.is_dir() or tree(target) == before
    assert not target.is_file() or target.read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["target", "to.toml"]

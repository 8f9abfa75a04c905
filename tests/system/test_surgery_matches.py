"""Surgery on settings of matches: those in play continue, each in its slot with its players."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from ludus.cli.__main__ import main
from ludus.games import rulebook
from ludus.policies.weights import save_weights
from ludus.pool.native import NativePool, StoredSlot
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.rollouts.commands import BindLanes, RestoreMatches
from ludus.rollouts.match_sampler import POOL
from ludus.storage import RunDirectory
from ludus.training.actor_learner.build import build_learner
from ludus.training.actor_learner.sampler import LocalSampler, build_sampler
from ludus.training.actor_learner.state import decode_state
from ludus.training.surgery.matches import Moved
from ludus.training.surgery.operate import Operation, Request
from ludus.training.surgery.source import read_source
from tests.system.test_surgery_runs import cut, operated, preset_named
from tests.unit.training.runs import Recorder, resume_run

#: A game whose matches last longer than a slab.
LONG = {
    "game__name": "rts",
    "game__params__rulebook": "extended",
    "game__frame_skip": 50,
    "opponents__0__name": "rush",
    "opponents__1__name": "latest",
    "pool__slots": 8,
    "pool__groups": 1,
    "pool__rollout_length": 4,
    "policy__inputs": "globals",
    "policy__memory": "lstm",
    "policy__memory_size": 8,
    "run__max_steps": 700,
}


def long_preset(**changes: object) -> Preset:
    return preset_named("sync", **{**LONG, **changes})


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cut(long_preset(), tmp_path_factory.mktemp("matches") / "old", update=3)


@contextmanager
def sampler_of(run: Path, preset: Preset) -> Iterator[LocalSampler]:
    """Yield the sampler of a run's newest checkpoint, with its matches."""
    checkpoint = RunDirectory.open(run).checkpoints.load_last()[0]
    sampler = build_sampler(preset, slabs=1)
    try:
        sampler.send(BindLanes(decode_state(checkpoint.state).lanes))
        arrays = {n: a for n, a in checkpoint.rollout.items() if not n.startswith("slab")}
        sampler.send(RestoreMatches(arrays))
        yield sampler
    finally:
        sampler.close()


def hashes(run: Path, preset: Preset, steps: int = 3) -> list[list[int]]:
    """Return the hash of each slot's match after each of ``steps`` time steps of equal decisions."""
    found: list[list[int]] = []
    with sampler_of(run, preset) as sampler:
        pool, slab = sampler.pool, sampler.facts.slabs[0]
        for group in range(pool.groups):
            pool.attach(group, slab)
        for _ in range(steps):
            for group in range(pool.groups):
                pool.recv(group)
            found.append([pool_of(sampler).slot_hash(s) for s in range(pool.slots)])
            for group in range(pool.groups):
                pool.random_actions(group, seed=5)  # by seed, match and tick
                pool.send(group)
        for group in range(pool.groups):
            pool.recv(group)
    return found


def pool_of(sampler: LocalSampler) -> NativePool:
    pool = sampler.pool
    assert isinstance(pool, NativePool)
    return pool


def slots_of(run: Path, preset: Preset) -> list[StoredSlot]:
    """Return the slots of a run's newest checkpoint."""
    with sampler_of(run, preset) as sampler:
        pool = pool_of(sampler)
        return pool.snapshot_parts(sampler.snapshot()[POOL].tobytes())


def test_a_snapshot_is_taken_apart_and_put_together_again(old: Path) -> None:
    with sampler_of(old, long_preset()) as sampler:
        pool = pool_of(sampler)
        before = pool.snapshot_parts(sampler.snapshot()[POOL].tobytes())
        states = [(pool.slot_hash(s), pool.slot_tick(s)) for s in range(8)]
        whole = pool.snapshot_join(before)
        assert pool.snapshot_parts(whole) == before
        pool.restore(whole)
        assert [(pool.slot_hash(s), pool.slot_tick(s)) for s in range(8)] == states
    assert [s.next % 8 for s in before] == list(range(8))
    assert all(s.match and s.players for s in before)
    assert all(tick > 0 for _, tick in states)


def test_only_slots_of_the_same_game_are_put_together(old: Path) -> None:
    with sampler_of(old, long_preset()) as sampler:
        pool = pool_of(sampler)
        slots = pool.snapshot_parts(sampler.snapshot()[POOL].tobytes())
        with pytest.raises(ValueError, match="snapshot_join: 7 slots, expected 8"):
            pool.snapshot_join(slots[:7])
        slots[2] = slots[2]._replace(match=slots[2].match[:-1])
        with pytest.raises(ValueError, match="slot 2 holds another game's match"):
            pool.snapshot_join(slots)
        with pytest.raises(ValueError, match="not a pool's snapshot"):
            pool.snapshot_parts(b"LUDUSREC")


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm__horizon": 60},
        {"opponents__0__weight": 3.0},
        *(
            pytest.param(x, marks=pytest.mark.slow)
            for x in (
                {"opponents__0__frame_skip": 25, "opponents__1__frame_skip": 25},
                {"algorithm__learning_rate": 1e-5},
                {"opponents__2__name": "swords"},
                {"opponents__2__name": "past"},
                {"pool__groups": 2},
                {"pool__rollout_length": 8},
                {"run__lag": "pipelined"},
            )
        ),
    ],
    ids=lambda x: next(iter(x)),
)
def test_matches_continue_with_equal_hashes(old: Path, tmp_path: Path, changes: dict[str, object]) -> None:
    new = long_preset(**changes)
    operation = operated(old, new, tmp_path / "new")
    assert not operation.new_matches
    assert operation.moved is None or operation.moved.kept == 8
    before, after = hashes(old, long_preset()), hashes(tmp_path / "new", new)
    assert after[0] == before[0]
    assert len(set(before[0])) == 8
    if "opponents__0__frame_skip" not in changes:
        assert after == before
    state = RunDirectory.open(tmp_path / "new").checkpoints.load_last()[0].state
    assert decode_state(state).restarts == 0


@pytest.mark.parametrize("slots", [pytest.param(4, marks=pytest.mark.slow), 12])
def test_kept_slots_keep_their_matches_and_new_ones_start(old: Path, tmp_path: Path, slots: int) -> None:
    new = long_preset(pool__slots=slots)
    operation = operated(old, new, tmp_path / "new")
    kept = min(slots, 8)
    assert operation.moved == Moved(kept, 0, max(0, 8 - slots), max(0, slots - 8))
    assert hashes(tmp_path / "new", new, 1)[0][:kept] == hashes(old, long_preset(), 1)[0][:kept]
    one, two = (RunDirectory.open(r).checkpoints.load_last()[0].rollout for r in (old, tmp_path / "new"))
    with sampler_of(old, long_preset()) as a, sampler_of(tmp_path / "new", new) as b:
        rows = min(a.pool.rows, b.pool.rows)
    before, after = slots_of(old, long_preset()), slots_of(tmp_path / "new", new)
    for name in ("collector.last_policy", "collector.memory.0"):
        assert two[name][:rows].tobytes() == one[name][:rows].tobytes()
        assert not two[name][rows:].any() or name == "collector.last_policy"
    played = max(slot.next for slot in before)
    assert all(slot.next >= played for slot in after)  # no match is played twice
    recorder = Recorder()
    resume_run(tmp_path / "new", sinks=[recorder])
    assert recorder.updates
    assert not any("start again" in text for text in recorder.messages)


def test_a_plan_tells_of_matches_before_they_are_moved(old: Path) -> None:
    for changes, text in (
        ({"algorithm__learning_rate": 1e-5}, "continue"),
        ({"pool__slots": 4}, "continue where their players keep a seat"),
        (
            {"pool__rollout_length": 8},
            "continue where their players keep a seat; decisions in flight are dropped",
        ),
    ):
        outline = Operation(read_source(f"{old}@last"), Request(long_preset(**changes))).outline()
        assert (outline.new_matches, outline.matches) == ("", text)


def test_a_match_whose_player_has_no_seat_starts_again(old: Path, tmp_path: Path) -> None:
    both = sum(len(slot.players) == 2 for slot in slots_of(old, long_preset()))
    assert 0 < both < 8
    new = preset_named("sync", **{k: v for k, v in LONG.items() if k != "opponents__1__name"})
    operation = operated(old, new, tmp_path / "new")
    assert operation.moved is not None
    assert (operation.moved.kept, operation.moved.again) == (8 - both, both)
    assert f"{both} start again: a player of theirs has no seat" in operation.outline().matches
    after, before = hashes(tmp_path / "new", new, 1)[0], hashes(old, long_preset(), 1)[0]
    assert sum(a == b for a, b in zip(after, before, strict=True)) >= 8 - both
    resume_run(tmp_path / "new")


@pytest.mark.slow
def test_past_players_in_play_keep_their_lanes(tmp_path: Path) -> None:
    past = {"opponents__1__name": "past", "opponents__1__past_every": 1, "pool__slots": 6}
    old = cut(long_preset(**past), tmp_path / "old", update=4)
    before = decode_state(RunDirectory.open(old).checkpoints.load_last()[0].state)
    assert before.lanes
    new = long_preset(**{**past, "opponents__0__weight": 0.25})
    operated(old, new, tmp_path / "new")
    after = decode_state(RunDirectory.open(tmp_path / "new").checkpoints.load_last()[0].state)
    assert set(before.lanes.items()) <= set(after.lanes.items())
    recorder = Recorder()
    resume_run(tmp_path / "new", sinks=[recorder])
    assert not any("continue without" in text for text in recorder.messages)
    assert len(recorder.updates) > 2


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"game__params__reward_kill": 0.5}, True),
        ({"game__params__mask": "all"}, False),
    ],
)
def test_rewards_change_in_mid_match_and_rules_do_not(
    tmp_path: Path, changes: dict[str, object], kept: bool
) -> None:
    game = {
        **{k: v for k, v in LONG.items() if k.startswith(("pool", "policy__memory"))},
        "game__name": "pommerman",
        "opponents__0__name": "simple",
        "policy__memory": "none",
        "run__max_steps": 400,
    }
    old = cut(preset_named("sync", **game), tmp_path / "old", update=2)
    new = preset_named("sync", **game, **changes)
    operation = operated(old, new, tmp_path / "new")
    if not kept:
        assert operation.new_matches == "surgery changed game.params.mask"
        return
    assert not operation.new_matches
    assert hashes(tmp_path / "new", new) == hashes(old, preset_named("sync", **game))
    resume_run(tmp_path / "new")


def test_rewards_of_a_rulebook_change_in_mid_match(old: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('extends = "extended"\n[reward]\nkill = 0.5\n')
    new = long_preset(game__params__rulebook="extended")
    params = {"rulebook": rulebook.read(rules)}
    new = msgspec.structs.replace(new, game=msgspec.structs.replace(new.game, params=params))
    operation = operated(old, new, tmp_path / "new")
    assert not operation.new_matches
    assert hashes(tmp_path / "new", new) == hashes(old, long_preset())


def test_a_teacher_that_reads_other_inputs_is_refused(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    teacher = tmp_path / "teacher.safetensors"
    save_weights(build_learner(long_preset(policy__inputs="units")).weights(), teacher)
    preset = tmp_path / "to.toml"
    preset.write_text(to_toml(long_preset(algorithm__teacher=teacher, algorithm__kl_coefficient=0.1)))
    words = ["surgery", f"{old}@last", "--to", str(preset), "--run-dir", str(tmp_path / "new")]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "units" in error
    assert "Traceback" not in error
    assert len(error.strip().splitlines()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["teacher.safetensors", "to.toml"]

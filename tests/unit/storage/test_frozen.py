"""Frozen players of a league by name: found, or refused with the nearest name."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from ludus.evaluation.tournament import expand
from ludus.flow import Weights, WeightsMeta
from ludus.flow.league import JournalRow
from ludus.storage import (
    CorruptFile,
    RunDirectory,
    RunInfo,
    RunNotFound,
    load_weights,
    name_of,
    resolve_weights,
)
from ludus.storage.frozen import FrozenPlayers, is_player_name
from ludus.storage.journal import Journal
from ludus.storage.references import labelled


def weights(version: int, fill: float = 1.0) -> Weights:
    meta = WeightsMeta(
        version=version, spec_hash="0" * 16, architecture="{}", spec="{}", game="tic_tac_toe", steps=version
    )
    return Weights(meta, {"a": np.full(3, fill, np.float32)})


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    info = RunInfo(1, "0.1.0", "tic_tac_toe", "0" * 16, 1, "2026-01-01T00:00:00Z", ())
    made = RunDirectory.create(tmp_path / "run", "", info)
    for player, version in (("main", 0), ("main", 40), ("main", 120), ("main_exploiter", 7)):
        made.frozen.save(player, weights(version, version + 0.5))
    return made


def test_a_frozen_player_is_found_by_its_name(run: RunDirectory) -> None:
    for name, version in (("main:40", 40), ("main:0", 0), ("main:000000120", 120), ("main:last", 120)):
        found = load_weights(f"{run.path}@{name}")
        assert (found.meta.version, float(found.tensors["a"][0])) == (version, version + 0.5)
    path = resolve_weights(f"{run.path}@main_exploiter:last")
    assert name_of(path, 7) == "run@main_exploiter:7"


def test_snapshots_without_a_player_keep_their_name(run: RunDirectory) -> None:
    assert name_of(run.checkpoints.path(9) / "weights.safetensors", 9) == "run@9"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mian:40", "did you mean main?"),
        ("main_exploter:last", "did you mean main_exploiter?"),
        ("main:41", "did you mean main:40?"),
        ("main:" + "9" * 30, "no frozen player"),
        ("main:", "expected PLAYER:VERSION"),
        ("main:best", "expected PLAYER:VERSION"),
        ("main", "main:last is its newest frozen player"),
        ("all", "ludus rate takes RUN@all"),
    ],
)
def test_an_unknown_name_gets_the_nearest_one(run: RunDirectory, name: str, message: str) -> None:
    with pytest.raises(RunNotFound, match=message.replace("?", r"\?")):
        resolve_weights(f"{run.path}@{name}")


@pytest.mark.parametrize(
    "name",
    ["../../../etc:1", "..:1", ".:0", "main/../main:40", "/etc:1", "a\\b:1", "main:../40", "main\0:40",
     "Main:40", "main:-1", "main: 40", "main:40:40", "x" * 65 + ":1", "main\n:40"],
)  # fmt: skip
def test_names_that_leave_the_folder_are_refused(run: RunDirectory, name: str) -> None:
    outside = run.path.parent / "etc"
    FrozenPlayers(outside).save("main", weights(1))
    with pytest.raises(RunNotFound):
        resolve_weights(f"{run.path}@{name}")


def test_links_are_not_listed_as_players(run: RunDirectory, tmp_path: Path) -> None:
    other = FrozenPlayers(tmp_path / "other")
    saved = other.save("secret", weights(3))
    (run.snapshots / "linked").symlink_to(saved.parent)
    (run.snapshots / "main" / "000000003.safetensors").symlink_to(saved)
    assert run.frozen.players() == ["main", "main_exploiter"]
    for name in ("linked:3", "main:3"):
        with pytest.raises(RunNotFound):
            resolve_weights(f"{run.path}@{name}")


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", ".a", "-a", "a.b", "a:1", "ä", "x" * 65])
def test_other_names_make_no_path(name: str, tmp_path: Path) -> None:
    assert not is_player_name(name)
    with pytest.raises(ValueError, match="expected a name"):
        FrozenPlayers(tmp_path).path(name, 1)


def test_all_of_a_league_are_its_frozen_players(run: RunDirectory) -> None:
    names = ["main:0", "main:40", "main:120", "main_exploiter:7"]
    assert expand(f"{run.path}@all", 12) == [f"{run.path}@{name}" for name in names]
    with Journal.create(run.league) as journal:  # what never was a player of the league is left out
        for number, version in enumerate((40, 120), 1):
            body = msgspec.json.encode({"event": "frozen", "member": "main", "version": version})
            journal.append([JournalRow(number, "frozen", "main", body, ())])
            assert journal.frozen() == {("main", v) for v in (40, 120)[:number]}
    assert expand(f"{run.path}@all", 12) == [f"{run.path}@main:40", f"{run.path}@main:120"]
    with Journal.open(run.league) as journal:
        journal.append([JournalRow(3, "frozen", "main", b"{}", ())])
    with pytest.raises(CorruptFile, match="a frozen player without a version"):
        expand(f"{run.path}@all", 12)
    run.league.unlink()
    fewer = ["main:0", "main:120", "main_exploiter:7"]
    assert expand(f"{run.path}@all+search:4", 2) == [f"{run.path}@{name}+search:4" for name in fewer]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("run@0", "run@0 (initial weights)"),
        ("run@main:0", "run@main:0 (initial weights)"),
        ("main:0", "main:0 (initial weights)"),  # as a league's tables name it
        ("run@main:0+search:40", "run@main:0 (initial weights)+search:40"),
        ("run@10", "run@10"),
        ("run@main:10", "run@main:10"),
        ("mcts:400", "mcts:400"),
        ("plan:8x100", "plan:8x100"),
        ("run@main:10+search:0", "run@main:10+search:0"),
        ("random", "random"),
    ],
)
def test_version_0_is_shown_as_initial_weights(name: str, shown: str) -> None:
    assert labelled(name) == shown

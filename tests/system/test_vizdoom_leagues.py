"""ViZDoom's leagues as a user runs them: frozen players meet, kills are survived, frags are reported."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ludus.storage.errors import StorageError
from ludus.storage.journal import Journal
from tests.unit.preset_choice import why_absent

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
if importlib.util.find_spec("vizdoom") is None:
    pytest.skip("vizdoom is not installed", allow_module_level=True)

LUDUS = [sys.executable, "-m", "ludus"]
SHORT = [
    *("--run.max-minutes", "0", "--run.checkpoint-every-minutes", "0.1", "--pool.slots", "2"),
    *("--pool.groups", "1", "--pool.rollout-length", "16", "--evaluation.initial", "false"),
    *("--evaluation.every-steps", "0", "--evaluation.final-matches", "2", "--quiet"),
]


def ludus(*words: str) -> str:
    """Return what the command prints; it must succeed."""
    done = subprocess.run([*LUDUS, *words], capture_output=True, text=True, timeout=700, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(run: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Return kind and opponents of every row of a journal, none before there is one."""
    try:
        with Journal.read(run / "league.sqlite") as journal:
            return [(row.kind, tuple(t.opponent for t in row.tallies)) for row in journal.rows()]
    except (OSError, StorageError):
        return []


def killed_after(run: Path, events: int, *words: str) -> None:
    """Start a run and kill it once its journal has so many rows and there is a checkpoint."""
    with subprocess.Popen([*LUDUS, *words, "--run-dir", str(run)], start_new_session=True) as process:
        deadline = time.monotonic() + 600
        while len(rows(run)) < events or not list((run / "checkpoints").glob("*")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.2)
        os.kill(process.pid, signal.SIGKILL)


def test_a_league_of_four_seats_freezes_meets_its_past_and_resumes(tmp_path: Path) -> None:
    run = tmp_path / "cig"
    words = ("--game.params.match-tics", "100", "--league.players.0.freeze.steps", "300")
    killed_after(run, 30, "train", "vizdoom-cig", *words, "--run.max-steps", "3000", *SHORT)
    before = len(rows(run))
    ludus("resume", str(run), "--quiet")
    after = rows(run)
    assert len(after) > before
    frozen = [kind for kind, _ in after].count("frozen")
    assert frozen >= 5
    assert len({player for _, players in after for player in players if ":" in player}) >= 3
    # Weights of a league of four seats play with the built-in bots.
    table = ludus(
        *("eval", f"{run}@best", "--param", "players=1", "--param", "bots=3", "--matches", "2"),
        *("--param", "match_tics=200", "--json", "--quiet"),
    )
    scores = json.loads(table)
    assert "frags" in json.dumps(scores)
    against = ludus(
        "eval", f"{run}@main", "--against", f"{run}@main:0", "--matches", "2", "--json", "--quiet"
    )
    assert json.loads(against)["matches"] == 2


@pytest.mark.skipif(bool(why_absent("vizdoom/duel")), reason="vizdoom/duel is not fetched")
def test_a_population_of_duels_mutates_and_resumes(tmp_path: Path) -> None:
    run = tmp_path / "duel"
    words = ("--game.params.match-tics", "100", "--league.population.every", "128")
    more = ("--league.population.mutation", "0.9", "--run.max-steps", "1600")
    killed_after(run, 30, "train", "vizdoom-duel-pbt", *words, *more, *SHORT)
    ludus("resume", str(run), "--quiet")
    kinds = [kind for kind, _ in rows(run)]
    assert {"mutated", "copied"} & set(kinds)
    status = json.loads(ludus("league", "status", str(run), "--json"))
    assert "game.params.frag_factor" in json.dumps(status)

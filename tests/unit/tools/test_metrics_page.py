"""docs/reference/metrics.md has every key that runs and commands write, and no key that none writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import ludus
from ludus.cli.__main__ import main
from ludus.storage import read_jsonl
from tests.unit.training.recorded import record_matches
from tests.unit.training.runs import small_preset
from tests.unit.training.test_dqn_runs import preset_of as dqn_preset
from tests.unit.training.test_imitation_data import BOARDS
from tests.unit.training.test_imitation_data import preset_of as records_preset
from tests.unit.training.test_imitation_runs import preset_of as imitation_preset

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"
FILES = ("metrics", "events", "matches", "results")

#: Objects whose keys are names of players, of parameters, or lags: the page has them once, in capitals.
NAMED = {"lag": "N", "outcomes": "OPPONENT"}
#: Its keys are metrics, which the row has too.
HELD_OUT = "held_out"
#: The entries of an evaluation are in the table of `ludus eval`.
RESULT = "results[].KEY"
#: Only in runs that a test of seconds does not make.
RARE = {
    "loss/upgo",
    "loss/anchor_kl",
    "loss/teacher_kl",
    "learner/epochs",
    "loss/ownership",
    "loss/score",
    "scores",  # of a game that names some
    "learner/counted",
    "rollout/handover_ticks",
    "rollout/win_rate_with_help/OPPONENT",
    "rollout/handover_win_rate",
    "team/spirit",
    "player",
    "initial_weights",
    "playoff/OPPONENT/KEY",
    "cluster/rollouts",
    "cluster/present",
    "cluster/deaths",
    "cluster/slabs_dropped",
    "cluster/server_deaths",
    "cluster/wait_s",
    "cluster/matches_per_s/N",
    "cluster/lag/N",
    "cluster/idle/N",
    "cluster/ahead",
    "rollout",  # events of a cluster
    "node",
    "node_id",
    "homes",
    "error",
}
#: Scalars whose names have names of players in them.
WITH_OPPONENT = re.compile(r"^(rollout/win_rate(?:_with_help)?/|(?:eval|playoff|final)/).*?((?:/[a-z_]+)?)$")

CELL = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


def documented(file: str) -> set[str]:
    """Return the keys in the first column of the tables of ``file``'s section."""
    section = re.search(rf"^## `{file}\.jsonl`\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert section is not None, f"{PAGE}: no section of {file}.jsonl"
    return set(CELL.findall(section[1]))


def keys(row: Mapping[str, object]) -> Iterator[str]:
    """Return the keys of a row as the page writes them."""
    for key, value in row.items():
        if key == HELD_OUT:
            yield f"{key}.KEY"
        elif key in NAMED and isinstance(value, dict):
            yield from [f"{key}.{NAMED[key]}"] if value else []
        elif isinstance(value, dict) and key != "params":
            yield from (f"{key}.{inner}" for inner in value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for inner in value[0]:
                yield f"{key}[].{inner}"
        elif match := WITH_OPPONENT.match(key):
            yield f"{match[1]}OPPONENT{'/KEY' if match[2] else ''}"
        else:
            yield key


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Return the keys by file, of two runs and of the commands that rate their weights."""
    folder = tmp_path_factory.mktemp("runs")
    small: dict[str, object] = {"run__max_steps": 700, "evaluation__matches": 4}
    small |= {"evaluation__final_matches": 4}
    small |= {"algorithm__horizon": 50, "game__before__params__opens": "seat1", "game__before__setback": 0.9}
    ludus.train(small_preset(**small), folder / "appo")
    ludus.train(dqn_preset(run__max_steps=700, evaluation__every_steps=0), folder / "dqn")
    trpo = {"algorithm__name": "trpo", "policy__critic": "own", "run__max_steps": 300}
    ludus.train(small_preset(evaluation__every_steps=0, **trpo), folder / "trpo")
    ludus.train(imitation_preset(run__max_steps=300), folder / "imitation")
    records = record_matches(folder / "records", "tic_tac_toe", 30)
    ludus.train(records_preset(records, BOARDS, run__max_steps=300), folder / "clone")
    settings: dict[str, str | int | float | bool] = {
        "algorithm.search.visits": 8,
        "algorithm.round_positions": 150,
        "algorithm.self_play.slots": 8,
        "algorithm.window_matches_min": 30,
        "algorithm.gate": True,
        "algorithm.gate_matches": 4,
        "evaluation.visits": 4,
        "evaluation.against": "random,mcts:10",
        "evaluation.final_matches": 4,
        "run.max_steps": 450,
    }
    ludus.train("tic_tac_toe-alphazero", folder / "alphazero", settings=settings)
    ludus.resume(folder / "alphazero")
    weights = f"{folder / 'appo'}@best"
    assert main(["eval", weights, "--against", "random", "--matches", "4", "--json"]) == 0
    assert main(["rate", weights, "random", "--matches", "4", "--json"]) == 0
    rows = {
        file: [row for path in folder.glob(f"*/{file}.jsonl") for row in read_jsonl(path)] for file in FILES
    }
    assert all(rows.values())
    return {file: {key for row in rows[file] for key in keys(row)} for file in FILES}


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_every_written_key_is_on_the_page(file: str, written: dict[str, set[str]]) -> None:
    page = documented(file)
    found = written[file]
    if file == "metrics":
        assert RESULT in page
        found = {re.sub(r"^(results|uniform)\[\]\.", "", key) for key in found}
    elif file == "results":  # the keys of `eval` are the table "A result"
        page |= documented("metrics")
    assert sorted(found - page) == []


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_every_key_on_the_page_is_written(file: str, written: dict[str, set[str]]) -> None:
    found = {re.sub(r"^(results|uniform)\[\]\.", "", key) for key in written[file]}
    stale = documented(file) - found - RARE - {RESULT, "uniform[].KEY", "KEY"}
    if file == "events":  # written by a run that failed or met a problem
        stale -= {"text"}
    assert not stale

"""``ludus cluster status RUN``: the rollouts of a run, from its events. No Ray."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ludus.cli.__main__ import main
from ludus.cluster.elastic.status import rollouts_of
from ludus.presets.config import ClusterConfig
from ludus.storage import RunDirectory
from ludus.storage.errors import CorruptFile
from ludus.training.runs import start_run
from tests.unit.training.runs import small_preset

CLUSTER = ClusterConfig(rollouts=3, min_rollouts=1, address="10.0.0.1:6379")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one update."""
    path = tmp_path_factory.mktemp("runs") / "run"
    ends = {"evaluation__every_steps": 0, "evaluation__matches": 0, "evaluation__final_matches": 0}
    start_run(small_preset(run__max_steps=1, **ends), path)
    return path


@pytest.fixture
def run(made: Path) -> Iterator[RunDirectory]:
    """The run, with its own events again after the test."""
    found = RunDirectory.open(made)
    before = found.events_path.read_bytes()
    yield found
    found.events_path.write_bytes(before)


def tell(
    run: RunDirectory, kind: str, rollout: int, homes: list[int], more: dict[str, object] | None = None
) -> None:
    """Append an event about a rollout."""
    row = {"time": "2026-11-20T10:00:00Z", "event": f"rollout {kind}", "rollout": rollout, "homes": homes}
    row |= {"node": f"rack{rollout}", "node_id": f"{rollout:08}", **(more or {})}
    with run.events_path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def test_rollouts_join_and_leave_in_the_order_of_the_events(run: RunDirectory) -> None:
    tell(run, "joined", 0, [0, 0, 0])
    tell(run, "joined", 1, [0, 0, 1])
    tell(run, "lost", 0, [1, 1, 1], {"error": "gone"})
    tell(run, "joined", 2, [1, 1, 2])
    tell(run, "waits to leave", 1, [1, 1, 2])
    with run.lock():
        found = rollouts_of(run, CLUSTER)
    assert (found.state, found.wanted, found.least, found.lost) == ("running", 3, 1, 1)
    assert [(r.rollout, r.node, r.parts, r.leaving) for r in found.rollouts] == [
        (1, "rack1", (0, 1), True),
        (2, "rack2", (2,), False),
    ]


def test_a_resume_starts_with_other_rollouts(run: RunDirectory) -> None:
    for number in range(3):
        tell(run, "joined", number, [0, 1, 2])
    tell(run, "joined", 0, [0, 0, 0])
    with run.lock():
        (only,) = rollouts_of(run, CLUSTER).rollouts
    assert (only.rollout, only.parts) == (0, (0, 1, 2))


def test_a_run_that_ended_has_no_rollouts(run: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    tell(run, "joined", 0, [0, 0, 0])
    assert main(["cluster", "status", str(run.path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["state"], found["rollouts"], found["wanted"]) == ("finished", [], 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rollout": -1}, "Expected `int` >= 0"),
        ({"node": "x" * 201}, "length <= 200"),
        ({"homes": [0] * 1025}, "length <= 1024"),
        ({"homes": "all"}, "Expected `array`"),
    ],
)
def test_an_event_that_is_none_is_refused_with_its_line(
    changes: dict[str, object], message: str, run: RunDirectory
) -> None:
    lines = len(run.events_path.read_text().splitlines())
    tell(run, "joined", 0, [0, 0, 0], changes)
    with pytest.raises(CorruptFile, match=f"event {lines + 1}: .*{message}"):
        rollouts_of(run, CLUSTER)


def test_names_from_a_file_are_shown_on_one_line(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    tell(run, "joined", 0, [0, 0, 0], {"node": "a\x1b[2J\nb"})
    with run.lock():
        assert main(["cluster", "status", str(run.path)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["status", "nowhere"], "nowhere: not a run directory"),
        (["status", "local:x"], 'cluster.address = "local:x": expected "HOST:PORT"'),
        (["drain", "rack7"], "--address: missing, and there is no RAY_ADDRESS"),
        (["drain", "rack7", "--address", "local"], "belongs to one run"),
    ],
)
def test_bad_input_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert main(["cluster", *words]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert message in out.err

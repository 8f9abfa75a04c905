"""A feeder gives each row once, also after a resume, a cut log, or an error of the sink."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from ludus.presets.config import TrackingConfig
from ludus.reporting.metrics import EvaluationMetrics, UpdateMetrics, metrics_row
from ludus.reporting.sinks import RunStart, Sink
from ludus.reporting.tracking.facts import facts_of, hyper_parameters, tracking_of_run
from ludus.reporting.tracking.feeder import Feeder, SinkFailed
from ludus.storage import CorruptFile, RunDirectory
from ludus.storage.lock import RunBusy

FIRST = TrackingConfig()


class Keeper(Sink):
    """Keeps the versions and kinds of the rows that it receives."""

    rows: ClassVar[list[tuple[str, int]]] = []
    starts: ClassVar[list[RunStart]] = []
    fails_at: ClassVar[int] = 0
    closed: ClassVar[int] = 0

    def start(self, run: RunStart) -> None:
        self.starts.append(run)

    def update(self, metrics: UpdateMetrics) -> None:
        if metrics.version == self.fails_at:
            raise OSError("the server is gone\nwith a second line")
        self.rows.append((f"update {metrics.player}".rstrip(), metrics.version))

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        kind = "final" if evaluation.final else "playoff" if evaluation.playoff else "evaluation"
        self.rows.append((kind, evaluation.version))

    def close(self) -> None:
        type(self).closed += 1


@pytest.fixture
def kept() -> type[Keeper]:
    class Kept(Keeper):
        rows: ClassVar[list[tuple[str, int]]] = []
        starts: ClassVar[list[RunStart]] = []

    return Kept


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> RunDirectory:
    return RunDirectory(Path(shutil.copytree(trained, tmp_path / "small")))


def fed(run: RunDirectory, kind: type[Sink], tracking: TrackingConfig = FIRST) -> int:
    said: list[str] = []
    feeder = Feeder(run, "kept", kind, tracking, said.append)
    try:
        feeder.start()
        feeder.feed()
        feeder.finish()
    finally:
        feeder.close()
    assert said == []
    return feeder.given


def row(version: int, player: str = "") -> bytes:
    made = UpdateMetrics(version, 100 * version, 100, 1, 1, 0.5, {"loss/value": 0.5}, player=player)
    return msgspec.json.encode(metrics_row(made)) + b"\n"


def test_each_row_is_given_once(run: RunDirectory, kept: type[Keeper]) -> None:
    count = len(run.metrics_path.read_bytes().splitlines())
    assert fed(run, kept) == count
    assert fed(run, kept) == 0
    assert len(kept.rows) == len(set(kept.rows)) == count
    assert [start.received for start in kept.starts] == [0, count]
    assert kept.starts[0].preset.run.max_steps == 1600
    assert kept.closed == 2


def test_another_project_receives_all_rows(run: RunDirectory, kept: type[Keeper]) -> None:
    count = fed(run, kept)
    other = TrackingConfig(project="other")
    assert [fed(run, kept, other), fed(run, kept, other), fed(run, kept)] == [count, 0, 0]


def test_rows_that_a_resume_wrote_again_are_left_out(run: RunDirectory, kept: type[Keeper]) -> None:
    run.metrics_path.write_bytes(b"".join(map(row, (1, 2, 3, 4))))
    assert fed(run, kept) == 4
    again = UpdateMetrics(3, 300, 100, 1, 1, 0.5, {"loss/value": 0.625})  # differs after the checkpoint
    run.metrics_path.write_bytes(
        row(1) + row(2) + msgspec.json.encode(metrics_row(again)) + b"\n" + row(4) + row(5)
    )
    assert fed(run, kept) == 1
    assert kept.rows == [("update", version) for version in (1, 2, 3, 4, 5)]


def test_members_of_a_league_count_their_own_versions(run: RunDirectory, kept: type[Keeper]) -> None:
    run.metrics_path.write_bytes(row(1, "main") + row(1, "exploiter") + row(2, "main"))
    assert fed(run, kept) == 3
    assert kept.rows == [("update main", 1), ("update exploiter", 1), ("update main", 2)]


def test_what_a_failing_sink_has_received_is_recorded(run: RunDirectory, kept: type[Keeper]) -> None:
    run.metrics_path.write_bytes(b"".join(map(row, (1, 2, 3))))
    kept.fails_at = 3
    with pytest.raises(SinkFailed, match=r"^kept: OSError: the server is gone$"):
        fed(run, kept)
    kept.fails_at = 0
    assert fed(run, kept) == 1
    assert kept.rows == [("update", 1), ("update", 2), ("update", 3)]


def test_two_feeders_of_one_sink_are_refused(run: RunDirectory, kept: type[Keeper]) -> None:
    feeder = Feeder(run, "kept", kept, FIRST, print)
    with pytest.raises(RunBusy, match="another process already"):
        Feeder(run, "kept", kept, FIRST, print)
    feeder.close()
    assert fed(run, kept) > 0


@pytest.mark.parametrize("state", [b"", b"{", b'{"projects":{"ludus":{"rows":-1}}}', b"[" * 100_000])
def test_a_damaged_record_is_reported(run: RunDirectory, kept: type[Keeper], state: bytes) -> None:
    run.tracking.mkdir()
    (run.tracking / "kept.json").write_bytes(state)
    said: list[str] = []
    feeder = Feeder(run, "kept", kept, FIRST, said.append)
    assert feeder.feed() > 0
    feeder.close()
    assert "all rows are sent again" in said[0]


def test_links_are_refused(run: RunDirectory, kept: type[Keeper], tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    run.tracking.symlink_to(target)
    with pytest.raises(CorruptFile, match="a link"):
        fed(run, kept)
    assert list(target.iterdir()) == []


def test_files_behind_links_are_not_sent(run: RunDirectory, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")
    assert run.page in facts_of(run.path).files
    run.page.unlink()
    run.page.symlink_to(secret)
    replay = next(run.replays.glob("*.ludus"))
    moved = run.replays.rename(tmp_path / "elsewhere")
    run.replays.symlink_to(moved)
    files = facts_of(run.path).files
    assert run.page not in files
    assert replay not in files
    assert run.report in files


def test_a_row_of_another_version_is_named(run: RunDirectory, kept: type[Keeper]) -> None:
    run.metrics_path.write_bytes(row(1) + b'{"schema":1,"kind":"update"}\n')
    with pytest.raises(CorruptFile, match=r"metrics.jsonl: the row that ends at byte \d+: schema 1"):
        fed(run, kept)
    assert kept.rows == [("update", 1)]


def test_settings_are_those_of_the_last_resume(run: RunDirectory) -> None:
    change = {"time": "", "command": [], "settings": {"run.max_steps": [1600, 3200]}}
    run.changes.write_text(json.dumps(change) + "\n")
    found = hyper_parameters(run)
    assert found["run.max_steps"] == 3200
    assert found["game.name"] == "tic_tac_toe"
    assert not any(name.startswith("tracking.") for name in found)


def test_a_run_without_the_table_has_the_defaults(run: RunDirectory) -> None:
    text = run.config.read_text()
    run.config.write_text(text.replace('project = "ludus"', 'project = "mine"'))
    assert tracking_of_run(run).project == "mine"
    run.config.write_text(text.partition("[tracking]")[0])
    assert tracking_of_run(run) == TrackingConfig()

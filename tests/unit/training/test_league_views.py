"""The guide's league: its journal while it trains, its tables, its report, and its players by name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import ludus
from ludus.cli import __main__ as cli
from ludus.evaluation.tournament import expand
from ludus.presets.file import parse_preset
from ludus.reporting.metrics import UpdateMetrics
from ludus.reporting.run_view import RunView
from ludus.reporting.sinks import RunStart, Sink
from ludus.storage import RunDirectory
from ludus.training.runs import start_run

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "league.md").read_text("utf-8")
SMALL = {
    "run.max_steps": "2500",
    "run.threads": "2",
    "pool.slots": "16",
    "pool.rollout_length": "8",
    "pool.threads": "1",
    "policy.hidden": "8",
    "league.players.0.freeze.min_steps": "400",
    "league.players.0.freeze.max_steps": "400",
    "league.rating_share": "0.2",
    "evaluation.matches": "0",
    "evaluation.final_matches": "0",
}


class Reader(Sink):
    """Sink that reads the journal after each update, as another process would."""

    def start(self, run: RunStart) -> None:
        self.run = RunDirectory.open(run.path)
        self.seen: list[tuple[int, dict[str, int]]] = []

    def update(self, metrics: UpdateMetrics) -> None:
        record = RunView(self.run).league()
        self.seen.append((record.league.number, {m.name: m.steps for m in record.members}))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Reader]:
    text = re.findall(r"^```toml\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)[0]
    path, reader = tmp_path_factory.mktemp("league") / "run", Reader()
    start_run(parse_preset(text.encode(), "guide", overrides=SMALL).preset, path, sinks=[reader])
    return path, reader


def test_the_journal_is_readable_while_the_run_trains(trained: tuple[Path, Reader]) -> None:
    _, reader = trained
    numbers = [number for number, _ in reader.seen]
    assert len(numbers) > 10
    assert numbers == sorted(set(numbers))
    assert reader.seen[-1][1]["main"] > reader.seen[1][1]["main"]


def test_the_league_command_shows_every_table(
    trained: tuple[Path, Reader], capsys: pytest.CaptureFixture[str]
) -> None:
    run, _ = trained
    documents = {}
    for name in ("status", "players", "payoff", "ratings", "lineage"):
        assert cli.main(["league", name, str(run), "--json"]) == 0
        documents[name] = json.loads(capsys.readouterr().out)
    members = {m["name"]: m for m in documents["status"]["members"]}
    assert documents["status"]["state"] == "finished"
    assert documents["status"]["ignored"] == {}
    assert members["main"]["steps"] > 1.5 * members["main_exploiter"]["steps"]  # its share is 2
    frozen = [p for p in documents["players"] if p["kind"] == "frozen"]
    assert len(frozen) >= 3
    assert all(p["file"] for p in frozen)
    assert documents["ratings"]["anchors"] == (
        {"random": 0.0} if _met(documents["players"], "random") else {}
    )


def _met(players: list[dict[str, object]], name: str) -> bool:
    return any(p["player"] == name and p["matches"] for p in players)


def test_the_report_has_the_league(trained: tuple[Path, Reader]) -> None:
    run, _ = trained
    text = (run / "report.md").read_text()
    assert "## League" in text
    assert all(f"## Learning of {name}\n" in text for name in ("main", "main_exploiter", "league_exploiter"))
    assert (run / "league_payoff.svg").is_file()


def test_frozen_players_play_by_name(trained: tuple[Path, Reader]) -> None:
    run, _ = trained
    result = ludus.evaluate(f"{run}@main:last", f"{run}@main:0", matches=8)
    versions = RunDirectory.open(run).frozen.versions("main")
    assert (result.player, result.against) == (f"run@main:{versions[-1]}", "run@main:0")
    assert ludus.load_policy(f"{run}@main:{versions[1]}") is not None
    everyone = expand(f"{run}@all", 99)
    assert {f"{run}@main:{version}" for version in versions} <= set(everyone)
    assert RunDirectory.open(run).frozen.versions("main_exploiter")[0] == 0
    assert f"{run}@main_exploiter:0" not in everyone  # it was in no match

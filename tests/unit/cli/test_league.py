"""``ludus league``: tables and documents of a journal, and errors that show what to do."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from ludus.cli import __main__ as cli
from ludus.flow.league import Tally
from ludus.league.events import AnyEvent, Copied, Frozen, Joined, Results, Withdrawn, to_row
from ludus.storage.journal import MAX_COUNT, Journal
from tests.unit.league.recorded import EVENTS, recorded_run

COMMANDS = ("status", "players", "payoff", "ratings", "lineage")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return recorded_run(tmp_path / "run").path


def shown(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert cli.main(["league", *map(str, words)]) == 0
    return capsys.readouterr().out


def test_tables_show_members_players_and_rates(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "main_exploiter" in shown(capsys, "status", run)
    assert "algorithm.learning_rate 0.0003" in shown(capsys, "status", run)
    lines = shown(capsys, "players", run).splitlines()
    assert next(line for line in lines if line.startswith("main:100")).split()[:6] == [
        "main:100", "frozen", "main", "1", "k", "main:0",
    ]  # fmt: skip
    assert "no file" not in "".join(lines)
    assert [line.split()[1] for line in shown(capsys, "payoff", run).splitlines()[1:6]] == [
        "main", "ex", "p0", "p1", "random",
    ]  # fmt: skip
    assert "pfsp 40" in shown(capsys, "payoff", run, "--player", "main")
    assert "+0" in next(
        line for line in shown(capsys, "ratings", run).splitlines() if line.startswith("random")
    )
    assert shown(capsys, "lineage", run).splitlines()[0].startswith("main:0  0 steps, asked")
    assert "reset" in shown(capsys, "lineage", run, "--member", "ex")


def test_documents_have_the_tables_numbers(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {name: json.loads(shown(capsys, name, run, "--json")) for name in COMMANDS}
    assert [m["name"] for m in found["status"]["members"]] == ["main", "ex", "p0", "p1"]
    assert found["payoff"]["wins"][0][5] == 30
    assert {p["player"] for p in found["ratings"]["players"]} == set(found["payoff"]["players"])
    assert [m["what"] for m in found["lineage"]].count("frozen") == 3
    assert json.loads(shown(capsys, "payoff", run, "--player", "main:0", "--json"))[0]["opponent"] == "main"


def test_a_running_league_is_read_and_not_blocked(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Journal.open(run / "league.sqlite") as journal:
        for k in range(1, 4):
            event = Results("main", k, 1000 + k, k, k, (Tally("main", "random", 0, "bot", 1, 0, 0),))
            assert journal.append([to_row(event, journal.last + 1)])
            shown_now = json.loads(shown(capsys, "status", run, "--json"))
            assert shown_now["events"] == len(EVENTS) + k
            assert shown_now["members"][0]["steps"] == 1000 + k


def content(run: Path) -> dict[str, bytes]:
    """All files but SQLite's own memory, which any reader writes."""
    files = (p for p in run.iterdir() if p.is_file() and not p.name.endswith(("-shm", "-wal")))
    return {p.name: p.read_bytes() for p in files}


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * len(data[4096:])
    path.write_bytes(bytes(data))


def newer(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA user_version=99")


def no_league(path: Path) -> None:
    for file in path.parent.glob("league.sqlite*"):
        file.unlink()


def of_another_world(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE events SET body = x'7b7d' WHERE number = 3")


def a_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (no_league, "no league in this run"),
        (damaged, "damaged"),
        (newer, "schema 99"),
        (of_another_world, "event 3"),
        (a_link, "not a regular file"),
    ],
)
def test_journals_that_cannot_be_read(
    run: Path, command: str, spoil: object, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(spoil)
    spoil(run / "league.sqlite")
    before = content(run)
    assert cli.main(["league", command, str(run)]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert "Traceback" not in err
    assert not out
    assert content(run) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["payoff", "--player", "mian"], "did you mean main?"),
        (["lineage", "--member", "exx"], "did you mean ex?"),
        (["ratings", "--anchor", "random"], "expected PLAYER=ELO"),
        (["ratings", "--anchor", "randm=0"], "did you mean random?"),
        (["ratings", "--anchor", "random=inf"], "finite"),
        (["payoff", "--most", "0"], ">= 1"),
    ],
)
def test_mistakes_are_reported_on_stderr(
    run: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["league", words[0], str(run), *words[1:]]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["league", "status", str(tmp_path)]) == 2
    assert "not a run directory" in capsys.readouterr().err


def test_the_payoff_shows_which_matches_a_rate_counts(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, "payoff", run, "--player", "main").splitlines()
    assert [head for head in ("won in all", "rate of", "drawn by, ever") if head in lines[0]] == [
        "won in all",
        "rate of",
        "drawn by, ever",
    ]
    assert all("last 100" in line for line in lines[1:])
    frozen = shown(capsys, "payoff", run, "--player", "main:0").splitlines()
    assert ["last 100" in line for line in frozen[1:]] == [line.startswith("main ") for line in frozen[1:]]
    assert "all" in next(line for line in frozen if line.startswith("random"))
    table = shown(capsys, "payoff", run).splitlines()
    assert [line.split()[2] == "*" for line in table[1:6]] == [True, True, True, True, False]
    document = json.loads(shown(capsys, "payoff", run, "--json"))
    places = {name: k for k, name in enumerate(document["players"])}
    assert document["window"] == pytest.approx(100.0)
    assert document["recent"][places["main"]][places["random"]]
    assert not document["recent"][places["main:0"]][places["random"]]


def test_copies_are_in_the_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events: list[AnyEvent] = [
        Joined("p0", "learner", "population"),
        Joined("p1", "learner", "population"),
        Frozen("p0", 0),
        Frozen("p1", 0),
        Results("p0", 0, 1200, 3, 3, (Tally("p0", "p1", 0, "elo", 1, 0, 9),)),
        Frozen("p0", 3),
        Copied("p1", "p0", {}),
        Frozen("p1", 9),
    ]
    run = recorded_run(tmp_path / "run", events).path
    assert shown(capsys, "lineage", run).splitlines() == [
        "p0:0  0 steps, asked",
        "p0:3  1,200 steps, asked",
        "  p1 copied p0  0 steps",
        "  p1:9  0 steps, asked, from p0:3",
        "p1:0  0 steps, asked",
    ]


def test_a_withdrawn_member_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = recorded_run(tmp_path / "run", [*EVENTS, Withdrawn("p0", "its game failed")]).path
    assert cli.main(["league", "status", str(run)]) == 0
    printed = capsys.readouterr()
    row, _ = [line for line in printed.out.splitlines() if line.startswith("p0 ")]  # and its settings
    assert row.split()[-1] == "withdrawn"
    assert "p0 was withdrawn: its game failed" in printed.err
    rows = {m["name"]: m for m in json.loads(shown(capsys, "status", run, "--json"))["members"]}
    assert {name: m["withdrawn"] for name, m in rows.items() if m["withdrawn"]} == {"p0": "its game failed"}
    (row,) = [line for line in shown(capsys, "players", run).splitlines() if line.startswith("p0 ")]
    assert row.split()[-1] == "withdrawn"
    assert "withdrawn  its game failed" in shown(capsys, "lineage", run, "--member", "p0")


def test_a_reason_that_no_terminal_should_show_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = recorded_run(tmp_path / "run", [*EVENTS, Withdrawn("p0", "its \x1b[2J game")]).path
    assert cli.main(["league", "status", str(run)]) != 0
    assert "a reason that cannot be shown" in capsys.readouterr().err


def test_a_game_of_one_seat_has_no_columns_of_dashes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events: list[AnyEvent] = [
        Joined("p0", "learner", "population"),
        Joined("p1", "learner", "population"),
        Frozen("p0", 0),
        Results("p0", 0, 1200, 3, 3, (), 10, 5.0),
    ]
    run = recorded_run(tmp_path / "run", events).path
    status = shown(capsys, "status", run)
    assert "return" in status
    assert "against frozen" not in status
    players = shown(capsys, "players", run)
    assert "score" not in players
    assert "matches" not in players
    for command in ("payoff", "ratings"):
        assert shown(capsys, command, run) == (
            "no player has met another: a league that has just started, or a game of one seat\n"
        )
    assert "p0 has not met another player" in shown(capsys, "payoff", run, "--player", "p0")


OBJECTS = '{"a":' * 10_000 + "1" + "}" * 10_000


def edited(run: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(run / "league.sqlite", isolation_level=None)) as database:
        assert database.execute(statement).rowcount > 0


@pytest.mark.timeout(60)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("tag", ["rating", "quality", "pfsp"])
def test_huge_counts_are_counted_at_once(
    run: Path, command: str, tag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    where = "player = 'main:0'" if tag == "rating" else "opponent = 'main:0'"
    edited(run, f"UPDATE tallies SET tag = '{tag}', wins = {MAX_COUNT} WHERE {where}")
    assert shown(capsys, command, run)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (f"UPDATE tallies SET wins = {1 << 53} WHERE player = 'ex'", "a count outside"),
        (f"UPDATE tallies SET losses = {(1 << 63) - 1} WHERE player = 'p0'", "a count outside"),
        (f"UPDATE events SET body = CAST('{OBJECTS}' AS BLOB)", "nested more than"),
        (f"UPDATE events SET body = CAST('{'[' * 30_000}{']' * 30_000}' AS BLOB)", "nested more than"),
        (f"UPDATE events SET body = CAST('[1{'0' * 10_000}]' AS BLOB)", "too many digits"),
    ],
)
def test_huge_values_in_a_journal_are_refused(
    run: Path, command: str, statement: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    edited(run, statement)
    assert cli.main(["league", command, str(run)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert len(error) < 500

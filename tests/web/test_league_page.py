"""The page of a league: its numbers are those of ``ludus league``, and bad files are one sentence."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ludus.cli import __main__ as cli
from ludus.flow.league import JournalRow, Tally
from ludus.games.match import Match
from ludus.league.events import AnyEvent, Frozen, Joined, Results, to_row
from ludus.league.record import Record
from ludus.reporting.followed_league import FollowedLeague
from ludus.storage.errors import CorruptFile
from ludus.storage.journal import Journal
from ludus.storage.lock import RunLock, this_process
from ludus.storage.rundir import RunDirectory
from ludus.web.serve.compare import league as league_pages
from ludus.web.serve.compare.league import Leagues
from ludus.web.serve.compare.remade import Remade
from ludus.web.serve.library import Library, UnknownId
from tests.unit.league.recorded import EVENTS, recorded_run
from tests.unit.league.test_many_players import events
from tests.web.browser import Browser
from tests.web.compared import GAME
from tests.web.live import LivePage
from tests.web.serving import Client, served

READY = "window.ludus?.map !== undefined && document.querySelector('#ratings .uplot') !== null"
NAMES = "ludus.map.order.map(k => ludus.payoff.players[k])"


def record_match(folder: Path, name: str, *players: str) -> None:
    """Write a replay of two players."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.ludus").write_bytes(Match(GAME, {}, seed=1, record=True).replay(players))


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return recorded_run(tmp_path / "league")


@pytest.fixture
def client(tmp_path: Path, run: RunDirectory, capfd: pytest.CaptureFixture[str]) -> Iterator[Client]:
    """Yield a client of a server with the league, which still serves afterwards and wrote no traceback."""
    with served(tmp_path) as made:
        yield made
        assert made.ask("/api/alive").status == 200
    assert "error of the server" not in capfd.readouterr().err


def document(capfd: pytest.CaptureFixture[str], command: str, run: RunDirectory) -> Any:  # noqa: ANN401
    """Return what ``ludus league COMMAND RUN --json`` prints."""
    assert cli.main(["league", command, str(run.path), "--json"]) == 0
    return json.loads(capfd.readouterr().out)


def test_pages_have_the_numbers_of_the_command_line(
    client: Client, run: RunDirectory, capfd: pytest.CaptureFixture[str]
) -> None:
    page = client.ask("/api/leagues/league").json
    ratings = client.ask("/api/leagues/league/ratings").json
    payoff = client.ask("/api/leagues/league/payoff?newest=600").json
    assert page["status"] == document(capfd, "status", run)
    assert page["players"] == document(capfd, "players", run)
    assert page["lineage"] == document(capfd, "lineage", run)
    assert ratings == {"events": len(EVENTS), "ratings": document(capfd, "ratings", run)}
    table, pairs = document(capfd, "payoff", run), payoff["pairs"]
    place = [table["players"].index(name) for name in pairs["players"]]
    met = 0
    for k, (i, j) in enumerate(zip(pairs["i"], pairs["j"], strict=True)):
        a, b = place[i], place[j]
        for name in ("wins", "draws", "losses", "recent"):
            assert pairs[name][k] == table[name][a][b]
        rate, weight = pairs["rate"][k] / 1e6, pairs["weight"][k] / 1e3
        half = 1.959964 * (rate * (1 - rate) / (weight + 1)) ** 0.5  # as the page computes it
        assert rate == pytest.approx(table["rate"][a][b], abs=1e-6)
        assert max(0.0, rate - half) == pytest.approx(table["low"][a][b], abs=1e-5)
        assert min(1.0, rate + half) == pytest.approx(table["high"][a][b], abs=1e-5)
        met += 1
    assert met == sum(
        table["wins"][a][b] + table["draws"][a][b] + table["losses"][a][b] > 0
        for a in range(len(place))
        for b in range(a)
    )
    assert (pairs["window"], payoff["left"]) == (table["window"], 0)


def test_meetings_are_the_matches_of_each_member(run: RunDirectory) -> None:
    page = Leagues(Library(run.path.parent)).page("league")
    found = {(m.member, m.opponent, m.kind, m.tag): m.matches for m in page.meetings}
    assert found == {
        ("main", "main", "past", "pfsp"): 40,
        ("main", "random", "bot", "bot"): 40,
        ("main", "main", "itself", "latest"): 10,
        ("ex", "main", "live", "main"): 40,
        ("p0", "p1", "live", "elo"): 10,
        ("p1", "main", "past", "elo"): 10,
    }


def test_matches_of_a_pair_are_found_by_their_names(
    client: Client, run: RunDirectory, tmp_path: Path
) -> None:
    record_match(run.replays, "frozen", "league@main:0", "random")
    record_match(run.replays, "now", "random", "league@main:77")  # weights of main that were not frozen
    record_match(run.path / "played", "search", "league@main:0+search:9", "random")
    record_match(run.path / "played", "typed", "runs/league@main:100", "league@main:0")
    record_match(tmp_path / "plays", "other", "other@main:0", "random")

    def found(a: str, b: str) -> list[str]:
        answer = client.ask(f"/api/leagues/league/matches?a={a}&b={b}").json
        return [replay["name"] for replay in answer["replays"]]

    assert found("main:0", "random") == found("random", "main:0") == ["frozen.ludus"]
    assert found("main", "random") == ["now.ludus"]
    assert found("main:0", "main:100") == ["typed.ludus"]
    assert found("ex", "random") == []
    asked = client.ask("/api/leagues/league/matches?a=random&b=main:0").json
    assert asked["record"].startswith(f"ludus eval {run.path}@main:0 --against random --matches 1")
    assert asked["seats"] == ["random", "league@main:0"]
    why = client.ask("/api/leagues/league/matches?a=main:0&b=main:1000").why
    assert why == "main:1000: no such player in this league (did you mean main:100?)"


def test_only_new_events_are_read(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    followed, read, add = FollowedLeague(run), list[int](), Record.add

    def counted(record: Record, row: JournalRow) -> None:
        read.append(row.number)
        add(record, row)

    monkeypatch.setattr(Record, "add", counted)
    assert followed.read().league.number == len(EVENTS)
    read.clear()
    followed.read()
    assert read == []
    more: list[AnyEvent] = [
        Results("main", 1, 1100, 110, 110, (Tally("main", "random", 0, "bot", 3, 0, 1),)),
        Frozen("main", 110),
    ]
    last = len(EVENTS)
    with Journal.open(run.league) as journal:
        assert journal.append([to_row(e, n, 2e9 + n) for n, e in enumerate(more, last + 1)])
    record = followed.read()
    assert read == [last + 1, last + 2]
    assert record.players[-1].name == "main:110"
    with Journal.open(run.league) as journal:  # a resume cuts the journal and writes others
        journal.rewind(last)
        assert journal.append([to_row(e, n, 3e9 + n) for n, e in enumerate(more, last + 1)])
    read.clear()
    followed.read()
    assert read == list(range(1, last + 3))


def test_a_value_that_takes_long_is_made_rarely() -> None:
    values, made = Remade[int](), list[int]()

    def make() -> int:
        made.append(0)
        return len(made)

    assert [values.get("a", stamp, make) for stamp in (1, 1)] == [1, 1]
    values._made["a"] = values._made["a"]._replace(took=1000.0)
    assert values.get("a", 2, make) == 1
    values._made["a"] = values._made["a"]._replace(took=0.0)
    assert values.get("a", 2, make) == 2
    assert values.get("b", 2, make) == 3


def test_a_large_league_shows_the_newest_players(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded_run(tmp_path / "large", [*events(90), Joined("idle", "learner", "main"), Frozen("idle", 0)])
    leagues = Leagues(Library(tmp_path))
    payoff = leagues.payoff("large", 3)
    assert payoff.pairs.players == ("main", "idle", "random", "main:87", "main:88", "main:89", "idle:0")
    assert payoff.left == 87
    monkeypatch.setattr(league_pages, "MOST_SHOWN", 13)
    assert len(leagues.payoff("large", 600).pairs.players) == 3 + 5 + 1
    assert leagues.payoff("large", 0).pairs.players == ("main", "idle", "random")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/api/leagues/none", "there is no such run; it may have been removed"),
        ("/api/leagues/plain", "this run has no league"),
        ("/api/leagues/plain/ratings", "this run has no league"),
        ("/api/leagues/league/payoff?newest=-1", "newest = -1: expected 0 to 600"),
        ("/api/leagues/league/payoff?newest=601", "newest = 601: expected 0 to 600"),
        ("/api/leagues/league/matches?a=&b=main", ": no such player in this league"),
    ],
)
def test_a_wrong_question_is_one_sentence(client: Client, tmp_path: Path, path: str, why: str) -> None:
    plain = recorded_run(tmp_path / "plain")
    plain.league.unlink()
    answer = client.ask(path)
    assert answer.status in (400, 404)
    assert answer.why.startswith(why)


def test_damaged_journals_are_one_sentence(client: Client, tmp_path: Path, run: RunDirectory) -> None:
    assert client.ask("/api/leagues/league").status == 200
    whole = run.league.read_bytes()
    run.league.write_bytes(whole[: len(whole) // 2])
    assert "league.sqlite" in client.ask("/api/leagues/league/payoff").why
    run.league.write_bytes(b"SQLite format 3\0" + os.urandom(4096))
    assert "league.sqlite" in client.ask("/api/leagues/league").why
    run.league.unlink()
    os.mkfifo(run.league)
    assert "not a regular file" in client.ask("/api/leagues/league").why
    run.league.unlink()
    run.league.symlink_to(tmp_path / "elsewhere.sqlite")
    (tmp_path / "elsewhere.sqlite").write_bytes(whole)
    assert "not a regular file" in client.ask("/api/leagues/league").why
    run.league.unlink()
    run.league.write_bytes(whole)
    with sqlite3.connect(run.league) as database:
        database.execute("UPDATE events SET body = ? WHERE number = 3", (b'{"event": "joined"}',))
    with pytest.raises(CorruptFile, match="event 3: not an event of a league"):
        Leagues(Library(tmp_path)).page("league")
    shutil.rmtree(run.path)
    assert client.ask("/api/leagues/league/ratings").status == 404


def test_hostile_names_are_refused_or_shown_as_text(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>"
    for folder, bot in (("html", name), ("turned", "\u202eevil"), ("long", "x" * 129)):
        run = recorded_run(tmp_path / folder, [Joined("a", "learner", "main")])
        row = to_row(Joined(bot, "bot"), 2, 1.0)
        with sqlite3.connect(run.league) as database:
            values = (row.number, row.kind, row.member, row.time, row.body)
            database.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", values)
    leagues = Leagues(Library(tmp_path))
    assert [p.player for p in leagues.page("html").players] == ["a", name]
    for folder in ("turned", "long"):
        with pytest.raises(CorruptFile, match="event 2: a "):
            leagues.page(folder)
    with pytest.raises(UnknownId, match="no such player"):
        leagues.matches("html", "\x1b[31m" * 1000, name)


# The page.


@pytest.fixture
def page(session_browser: Browser, client: Client) -> Iterator[LivePage]:
    live = LivePage(session_browser, client)
    yield live
    live.check()
    session_browser.go("about:blank", ready="true")  # the server ends before the next page


def test_keys_choose_a_cell_and_open_its_matches(page: LivePage, run: RunDirectory) -> None:
    record_match(run.replays, "frozen", "league@main:0", "random")
    page.go("/league/league", READY)
    names = page.evaluate(NAMES)
    row, column = names.index("main:0"), names.index("random")
    page.evaluate("document.getElementById('heat-map').focus()")
    page.browser.press("ArrowDown")  # the first key shows the cursor
    for key, count in (("ArrowDown", row), ("ArrowRight", column)):
        for _ in range(count):
            page.browser.press(key)
    said = "main:0 (initial weights) beats random in 59% of 20 matches (39 to 79%); 12 won, 0 drawn, 8 lost"
    page.wait(f"document.getElementById('map-text').textContent === {said!r}")
    page.browser.press("Enter")
    page.wait("document.querySelector('#pair-matches li a') !== null")
    assert "@main:0 --against random" in page.text("#pair-matches code")
    assert page.evaluate("document.querySelectorAll('.hyper .uplot').length") == 1  # the learning rate
    assert page.evaluate("document.querySelectorAll('#lineage .jump').length") == 2  # a reset and a copy
    page.click("#watch-pair")
    page.wait("document.querySelector('#pair-matches .failure') !== null")  # weights that are none
    assert page.browser.errors.pop().startswith("Failed to load resource")


def test_the_pointer_says_what_is_under_it_also_on_a_phone(page: LivePage) -> None:
    page.go("/league/league", READY, 390, 800, dark=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    names = page.evaluate(NAMES)
    cell = f"{names.index('ex')}, {names.index('main')}"
    page.evaluate("document.getElementById('heat-map').scrollIntoView({block: 'center'})")
    place = page.evaluate(
        "(() => { const b = document.getElementById('heat-map').getBoundingClientRect();"
        f" const [x, y] = ludus.map.pointOf({cell}); return [b.x + x, b.y + y]; }})()"
    )
    page.browser.mouse("mouseMoved", *place)
    page.wait(
        "document.getElementById('map-text').textContent === 'ex and main have never met in this league'"
    )
    small = (
        "[...document.querySelectorAll('#payoff button, #payoff select')].filter(n => n.offsetParent &&"
        " n.getBoundingClientRect().height < 44).length"
    )
    assert page.evaluate(small) == 0


@pytest.mark.slow
def test_a_page_follows_its_league(page: LivePage, run: RunDirectory) -> None:
    with (
        RunLock(run.path / "lock", this_process("2026-01-01T00:00:00Z")),
        Journal.open(run.league) as journal,
    ):
        page.go("/league/league", READY)
        assert "running tic_tac_toe: 160 matches, 3 frozen players" in page.text("#league-facts")
        event = Results("main", 1, 1100, 110, 110, (Tally("main", "random", 0, "bot", 9, 0, 1),))
        assert journal.append([to_row(event, len(EVENTS) + 1, 2e9)])
        page.wait("document.getElementById('league-facts').textContent.includes(' 170 matches')")
        at = page.evaluate(NAMES).index
        pair = f"ludus.payoff.pair({at('main')}, {at('random')})"
        page.wait(f"{pair}?.matches === 50")


def test_a_page_says_what_it_cannot_read(page: LivePage, run: RunDirectory) -> None:
    run.league.write_bytes(b"no journal")
    page.go("/league/league", "document.querySelector('.failure') !== null")
    assert "league.sqlite" in page.text(".failure")
    assert all(error.startswith("Failed to load resource") for error in page.browser.errors)
    page.browser.errors.clear()


@pytest.mark.slow
def test_a_map_of_300_players_is_drawn_in_its_colours(page: LivePage, tmp_path: Path) -> None:
    many: list[AnyEvent] = list(events(300))
    recorded_run(tmp_path / "large", many)
    page.go("/league/large", READY)
    page.evaluate(
        "(() => { const e = document.getElementById('newest'); e.value = 600;"
        " e.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    page.wait("ludus.map.order.length === 302")
    at = page.evaluate(NAMES).index
    red, _, blue, _ = page.evaluate(
        f"[...ludus.map.context.getImageData(...ludus.map.pointOf({at('random')}, {at('main')})"
        ".map(v => Math.floor(v * devicePixelRatio)), 1, 1).data]"
    )
    assert red > blue + 50  # random loses against main: orange

"""Runs at Python games that are watched: a match after another, from the newest weights."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ludus.cli import __main__ as cli
from ludus.games import replays
from ludus.games.names import typed
from ludus.web.frames import shows
from ludus.web.frames.process import ShowError
from ludus.web.frames.shows import Show, ShowOptions
from ludus.web.serve.library import Library
from ludus.web.serve.server import PageServer
from tests.web.browser import Browser
from tests.web.frames.games import LENGTH, PICTURE, game_file, random_replay
from tests.web.live import make_run
from tests.web.serving import Client, served

PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of a game that draws itself, and a replay of it."""
    path = tmp_path_factory.mktemp("shows")
    game = typed(str(game_file(path, PICTURE, "watched")))
    make_run(path / "runs" / "walk", game, [1])
    (path / "runs" / "walk" / "replays").mkdir(exist_ok=True)
    (path / "runs" / "walk" / "replays" / "match.ludus").write_bytes(random_replay(game))
    return path


@pytest.fixture
def client(folder: Path) -> Iterator[Client]:
    with served(folder / "runs") as client:
        client.server.shows.set_options("walk", ShowOptions(str(folder / "watched.py"), keep=2))
        yield client


def test_matches_follow_one_another(client: Client, session_browser: Browser, folder: Path) -> None:
    browser = session_browser
    ready = "document.body?.classList.contains('ready') && ludus.match.follows"
    browser.go(client.server.url("/film/walk"), ready=ready)
    assert browser.evaluate("location.pathname") == "/film/walk"
    browser.wait("ludus.playing || ludus.tick > 0")
    ways = "[...document.querySelectorAll('header .way-back')].map((a) => a.getAttribute('href'))"
    assert browser.evaluate(ways) == ["/", "/run/walk"]
    assert browser.evaluate("ludus.match.seats") == ["walk@1"]
    assert browser.evaluate("ludus.thoughts.curves") == 1
    assert browser.evaluate("document.getElementById('film-notes').textContent").startswith("Match 1 of the")
    browser.wait("ludus.drawn.pictures > 0")
    browser.evaluate("ludus.set({speed: 5})")
    browser.wait("location.search === '?after=1' && window.ludus?.match")
    assert browser.evaluate("ludus.speed") == 8
    browser.wait(f"ludus.tick === {LENGTH}")
    kept = sorted((folder / "runs" / "walk" / "played").glob("*.ludus"))
    assert 1 <= len(kept) <= 2
    about = replays.info(kept[-1].read_bytes())
    assert (about.game, about.players, about.ticks) == ("watched", ("walk@1",), LENGTH)
    assert replays.verify(kept[-1].read_bytes()).same
    assert browser.errors == []
    assert all(url.startswith(f"http://127.0.0.1:{client.port}/") for url in browser.requests)
    browser.go("about:blank", ready="true")


def test_a_replay_is_a_page_of_the_server(client: Client) -> None:
    listed = client.ask("/api/replays?run=walk").json["replays"]
    (line,) = [line for line in listed if line["name"] == "match.ludus"]
    assert line["returns"] == [0.5 * LENGTH]
    answer = client.ask(f"/replay/{line['id']}")
    assert answer.status == 200
    assert b"match-data" in answer.body
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_what_cannot_be_watched_is_one_sentence(client: Client, folder: Path) -> None:
    gone = client.ask("/film/missing")
    assert (gone.status, gone.why) == (404, "there is no such run; it may have been removed")
    make_run(folder / "runs" / "compiled", "tic_tac_toe", [1])
    library = Library(folder / "runs")
    with pytest.raises(ShowError, match="a run of tic_tac_toe, expected one of a game written in Python"):
        Show(library.run("compiled"), library, ShowOptions(), "cpu")
    game = str(folder / "watched.py")
    with pytest.raises(ValueError, match="mcts:10: watched has one seat"):
        Show(library.run("walk"), library, ShowOptions(game, against="mcts:10"), "cpu")
    with pytest.raises(ValueError, match="the game asked for is tic_tac_toe"):
        Show(library.run("walk"), library, ShowOptions("tic_tac_toe"), "cpu")


def test_the_command_serves_the_page_of_a_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served_runs = []

    def run(self: PageServer) -> None:
        served_runs.append(dict(self.shows._options))
        self.close()
        self.shows.close()

    monkeypatch.setattr(PageServer, "run", run)
    words = ["watch", str(folder / "runs" / "walk"), "--game", str(folder / "watched.py"), "--no-browser"]
    assert cli.main([*words, "--keep", "3", "--rate", "2"]) == 130
    assert "/film/walk?token=" in capsys.readouterr().out
    assert served_runs == [{"walk": ShowOptions(str(folder / "watched.py"), "", 2.0, 3)}]
    assert cli.main([*words, "--against", "random"]) == 2
    assert "--against: random: watched has one seat, expected no opponent" in capsys.readouterr().err


def test_the_command_serves_a_replay_of_ones_own_game(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(PageServer, "run", PageServer.close)
    file = str(folder / "runs" / "walk" / "replays" / "match.ludus")
    assert cli.main(["watch", file, "--game", str(folder / "watched.py"), "--no-browser"]) == 130
    assert "/replay/" in capsys.readouterr().out
    assert cli.main(["watch", file, "--game", "tic_tac_toe", "--no-browser"]) == 2
    assert "--game tic_tac_toe: the replay is of watched" in capsys.readouterr().err


@pytest.mark.slow
def test_the_code_of_a_game_is_named_by_a_person(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from tests.web.serving import served
with served(Path(sys.argv[1])) as client:
    (line,) = client.ask("/api/replays").json["replays"]
    for path in ("/film/walk", f"/replay/{line['id']}"):
        print(client.ask(path).why)
"""
    game = typed(str(game_file(tmp_path, PICTURE, "unnamed")))
    make_run(tmp_path / "runs" / "walk", game, [1])
    (tmp_path / "runs" / "match.ludus").write_bytes(random_replay(game))
    command = [sys.executable, "-c", script, str(tmp_path / "runs")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    film, replay = done.stdout.splitlines()
    how = "ludus watch walk --game ./my_game.py"
    assert film == f"walk: a run of unnamed, whose code a person has to name: {how}"
    how = "ludus replay to-html FILE --game REFERENCE"
    assert replay == f"a match of unnamed, whose code a person has to name: {how}"


@pytest.mark.slow
def test_the_next_match_waits_for_a_page(folder: Path) -> None:
    library = Library(folder / "runs")
    show = Show(library.run("walk"), library, ShowOptions(str(folder / "watched.py")), "cpu")
    try:
        assert show.page(0, PATIENCE_S)
        end = time.monotonic() + PATIENCE_S
        while show.made < 2 and time.monotonic() < end:  # the next one, before a page asks for it
            time.sleep(0.05)
        time.sleep(2.0)
        assert show.made == 2
        assert show.page(1, PATIENCE_S)
    finally:
        show.close()


@pytest.mark.slow
def test_a_game_that_ends_its_process_leaves_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = game_file(tmp_path, PICTURE, "dying")
    make_run(tmp_path / "runs" / "run", typed(str(game)), [1])
    game_file(tmp_path, PICTURE, "dying", in_step="self.t < 5 or os.kill(os.getpid(), 9)")
    with served(tmp_path / "runs") as client:
        client.server.shows.set_options("run", ShowOptions(str(game)))
        for _ in range(2):
            end = time.monotonic() + PATIENCE_S
            while (answer := client.ask("/film/run?after=0")).status == 200 and time.monotonic() < end:
                time.sleep(0.1)
            assert answer.status == 400
            assert answer.why == "step() at tick 4 ended the process (SIGKILL)"
        assert client.ask("/api/alive").status == 200


@pytest.mark.slow
def test_a_long_match_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shows, "MOST_TICKS", 5)
    game = game_file(tmp_path, "", "endless")
    make_run(tmp_path / "runs" / "run", typed(str(game)), [1])
    library = Library(tmp_path / "runs")
    show = Show(library.run("run"), library, ShowOptions(str(game)), "cpu")
    try:
        assert show.page(0, PATIENCE_S)
        (kept,) = (tmp_path / "runs" / "run" / "played").glob("*.ludus")
        about = replays.info(kept.read_bytes())
        assert (about.ticks, about.over) == (5, False)
    finally:
        show.close()

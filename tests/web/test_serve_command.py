"""``ludus serve``, ``play`` and ``watch``: one address on stdout, one line for each mistake."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from ludus.cli import __main__ as cli
from ludus.games import replays
from ludus.web.serve.library import Library
from ludus.web.serve.server import ADDRESS, PageServer
from tests.web.small_runs import make_run

BOARD = "connect_four"
PATIENCE_S = 60


@contextmanager
def started(*words: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a command and yield its process and the line that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ludus", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=folder, env={**os.environ, "BROWSER": "true"},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def page(url: str) -> tuple[str, str]:
    """Open an address as a browser does: return the path that it leads to, and the page."""
    parts = urlsplit(url)
    assert parts.hostname == ADDRESS
    connection = HTTPConnection(ADDRESS, parts.port or 0, timeout=PATIENCE_S)
    connection.request("GET", f"{parts.path}?{parts.query}")
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 303
    path, cookie = answer.headers["Location"], answer.headers["Set-Cookie"].partition(";")[0]
    connection.request("GET", path, headers={"Cookie": cookie})
    answer = connection.getresponse()
    text = answer.read().decode()
    assert answer.status == 200, text
    connection.close()
    return path, text


def test_serve_prints_its_address_and_ends_on_an_interrupt(tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "mine", versions=())
    with started("serve", "--no-browser", folder=tmp_path) as (process, line):
        path, text = page(line.strip())
        assert path == "/"
        assert "<script" in text
        process.send_signal(signal.SIGINT)
        rest, notes = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert rest == ""
    assert notes.splitlines() == ["serving runs; Ctrl-C ends the server", "the server has stopped"]


@pytest.mark.slow
def test_play_and_watch_serve_their_pages(tmp_path: Path) -> None:
    run = make_run(tmp_path / "mine")
    file = run.replays / "match.ludus"
    file.write_bytes(replays.record(BOARD, bots=["random"]))
    for words, leads, number in (
        (("play", "mine@best"), "/play/", signal.SIGHUP),
        (("watch", "mine"), "/watch/", signal.SIGQUIT),
        (("watch", str(file)), "/replay/", signal.SIGTERM),
    ):
        with started(*words, "--no-browser", folder=tmp_path) as (process, line):
            assert page(line.strip())[0].startswith(leads)
            process.send_signal(number)
            _, notes = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130
        assert (notes.splitlines()[0] == "loading the network") == (leads != "/replay/"), notes


@pytest.fixture
def unserved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the present folder, for commands that end when they would serve."""

    def ends(server: PageServer) -> None:
        server.matches.stop(5)
        server.close()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(PageServer, "run", ends)
    return tmp_path


def test_play_has_the_game_of_the_weights_and_opens_its_page(
    unserved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(unserved / "mine")
    assert cli.main(["play", "mine@best", "--seat", "1", "--json", "--no-browser"]) == 130
    out, err = capsys.readouterr()
    made = json.loads(out)
    url = urlsplit(made["url"])
    assert url.path.startswith("/play/")
    assert set(parse_qs(url.query)) == {"key", "token"}
    assert url.netloc == f"{ADDRESS}:{made['port']}"
    assert made["dir"] == str(unserved)
    assert err.splitlines()[:2] == [
        "loading the network",  # before the seconds in which torch is imported
        "tic_tac_toe: mine@7, person; Ctrl-C ends the server",
    ]


@pytest.mark.parametrize(
    ("words", "query"),
    [
        ("play", {}),
        ("play connect_four", {"game": ["connect_four"]}),
        ("play --game go --param size=5", {"game": ["go"], "params": ['{"size": 5}']}),
    ],
)
def test_play_without_a_player_opens_the_set_up(
    unserved: Path, capsys: pytest.CaptureFixture[str], words: str, query: dict[str, list[str]]
) -> None:
    assert cli.main([*words.split(), "--no-browser"]) == 130
    url = urlsplit(capsys.readouterr().out.strip())
    assert url.path == "/play"
    asked = parse_qs(url.query)
    assert asked.pop("token")
    assert asked == query


@pytest.mark.parametrize(("words", "waits"), [((), True), (("--start", "now"), False)])
def test_a_match_waits_for_the_first_order_unless_it_is_to_start_now(
    unserved: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], waits: bool
) -> None:
    found: list[bool] = []

    def ends(server: PageServer) -> None:
        (session,) = server.matches.listed()
        found.append(session.waits)
        server.matches.stop(5)
        server.close()

    monkeypatch.setattr(PageServer, "run", ends)
    assert cli.main(["play", "simple", "--game", "minirts", *words, "--no-browser"]) == 130
    assert found == [waits]


def test_more_seats_are_filled_in_their_order(unserved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "play simple --game pommerman --seat 2 --against noop --no-browser"
    assert cli.main(words.split()) == 130
    assert capsys.readouterr().err.startswith("pommerman: simple, noop, person, simple;")


def test_watch_opens_a_run_or_a_replay(unserved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(unserved / "mine")
    file = run.replays / "match.ludus"
    file.write_bytes(replays.record(BOARD, bots=["random"]))
    assert cli.main(["watch", "mine", "--no-browser"]) == 130
    out, err = capsys.readouterr()
    assert urlsplit(out.strip()).path.startswith("/watch/")
    assert err.startswith("loading the network\nmine@7 against perfect;")
    assert cli.main(["watch", str(file), "--no-browser"]) == 130
    assert urlsplit(capsys.readouterr().out.strip()).path.startswith("/replay/")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("serve missing", "missing: no such folder; expected one with runs or replays"),
        ("serve --port 99999", "--port = 99999: expected an integer from 0 to 65535"),
        ("play simple", "simple: no weights, so the game must be named: --game GAME"),
        ("play simple --game connect_for", "did you mean connect_four?"),
        ("play --game connect_for", "did you mean connect_four?"),
        ("play --game gymnasium/CartPole-v1", "pages set up compiled games"),
        ("play simple --game minirts --start later", "--start"),
        ("play tactcal --game connect_four", "did you mean tactical?"),
        ("play tactical --game connect_four --seat 2", "--seat 2: connect_four has 2 seats, expected 0 to 1"),
        ("play tactical --game connect_four --against random", "2 players against you"),
        ("play tactical --game connect_four --rate 0", "--rate"),
        ("play tactical --game connect_four --clock -1", "--clock"),
        ("play tactical --game go --param siez=9", "did you mean size?"),
        ("play mcts:200 --game minirts", "minirts cannot be searched"),
        ("play missing@best", "missing"),
        ("play mine", "did you mean mine@best?"),
        ("play mine@99", "no version"),
        ("play mine@best --game go", "--game go: mine@best was trained on tic_tac_toe"),
        ("play random --game gymnasium/CartPole-v1", ""),
        (
            "play tactical --game connect_four --rate 2",
            "--rate 2: connect_four waits for decisions, expected 1",
        ),
        (
            "play simple --game minirts --clock 5",
            "--clock 5: minirts does not wait for decisions, expected 0",
        ),
        ("watch mine@best", "mine@best: a player, not a run (did you mean mine?)"),
        ("watch missing", "missing: not a run directory"),
        ("watch missing.ludus", "missing.ludus: no such replay file"),
        ("watch damaged.ludus", "damaged.ludus: "),
        ("watch empty", "no checkpoint yet"),
        ("watch mine --against absent", "--against absent: expected a bot (random, perfect)"),
    ],
)
def test_a_mistake_is_one_line(
    words: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "mine")
    make_run(tmp_path / "empty", versions=())
    (tmp_path / "damaged.ludus").write_bytes(b"LUDUSREC" + bytes(40))
    assert cli.main(words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert why in err
    assert len(err.splitlines()) == 1


def test_a_port_in_use_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    taken = PageServer(Library(tmp_path))
    assert cli.main(["serve", ".", "--port", str(taken.port)]) == 2
    why = f"--port {taken.port}: in use by another process; choose another, or leave --port out\n"
    assert capsys.readouterr().err == why
    taken.close()


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "wsproto"])
def test_without_the_extra_the_command_to_install_it_is_named(package: str, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None; from ludus.cli.__main__ import main; sys.exit(main())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, "serve", "."],
        capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE_S,
    )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stderr == (
        f"this command needs {package}, which is not installed: pip install '.[web]' in the clone of Ludus\n"
    )


def test_without_torch_bots_and_replays_work_and_weights_are_one_line(tmp_path: Path) -> None:
    make_run(tmp_path / "mine")
    (tmp_path / "match.ludus").write_bytes(replays.record(BOARD, bots=["random"]))
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from ludus.cli import __main__ as cli\n"
        "from ludus.web.serve.server import PageServer\n"
        "PageServer.run = lambda self: self.matches.stop(5)\n"
        "for words in sys.argv[1:]: print(cli.main([*words.split(), '--no-browser']))"
    )
    words = [f"play mcts:50 --game {BOARD}", "watch match.ludus", "play mine@best"]
    ended = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE_S
    )
    assert [line for line in ended.stdout.splitlines() if line.isdecimal()] == ["130", "130", "2"]
    refused = ended.stderr.splitlines()[-1]
    assert "torch" in refused
    assert "pip install '.[train]' in the clone of Ludus" in refused
    assert "Traceback" not in ended.stderr

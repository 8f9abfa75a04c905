"""The server refuses whatever does not belong to it, in one sentence, and continues."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ludus.games import replays
from ludus.storage.errors import StorageError
from ludus.web.serve import players as serve_players
from ludus.web.serve.library import Library, UnknownId
from ludus.web.serve.matches import NewMatch, Sessions, UnplayableMatch, rules_of
from ludus.web.serve.messages import CLOSE_FLOOD, CLOSE_FULL, CLOSE_LARGE, MAX_BYTES
from ludus.web.serve.players import PlayerError, roster, seat_of
from ludus.web.serve.server import ADDRESS, PageServer, PortInUse
from tests.web.serving import Client, Refused, served
from tests.web.small_runs import make_run

HOSTILE = "<img src=x onerror=alert(1)>"
BOARD = "connect_four"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with runs, replays, damaged files and links out of it."""
    root = tmp_path_factory.mktemp("served")
    secret = root.parent / "secret"
    secret.mkdir(exist_ok=True)
    (secret / "match.ludus").write_bytes(replays.record(BOARD, bots=["random"]))
    run = make_run(root / "mine")
    run.report.write_text(f"# report {HOSTILE}\n")
    (run.replays / "good.ludus").write_bytes(replays.record(BOARD, bots=["random"]))
    (run.replays / "damaged.ludus").write_bytes(replays.record(BOARD, bots=["random"])[:-9])
    (run.replays / f"{HOSTILE.replace('/', '')}.ludus").write_bytes(b"LUDUSREC" + bytes(50))
    (run.replays / "linked.ludus").symlink_to(secret / "match.ludus")
    (root / "linked").symlink_to(secret)
    make_run(root / HOSTILE)
    make_run(root / "other", game=BOARD)
    damaged = make_run(root / "damaged")
    for version in damaged.checkpoints.versions():
        (damaged.checkpoints.path(version) / "weights.safetensors").write_bytes(b"not weights")
    leads = make_run(root / "leads")
    own = leads.checkpoints.path(7) / "weights.safetensors"
    shutil.copy(own, secret / "weights.safetensors")
    own.unlink()
    own.symlink_to(secret / "weights.safetensors")
    broken = make_run(root / "broken")
    broken.info_path.write_text('{"schema": 1')
    return root


@pytest.fixture(scope="module")
def module_client(folder: Path) -> Iterator[Client]:
    with served(folder) as made:
        yield made


@pytest.fixture
def client(module_client: Client, capfd: pytest.CaptureFixture[str]) -> Iterator[Client]:
    """Yield a client of a server that still serves afterwards, without a traceback and without matches."""
    yield module_client
    matches = module_client.server.matches
    matches.stop(5)
    end = time.monotonic() + 5
    while any(not s.closed for s in matches.listed()) and time.monotonic() < end:
        time.sleep(0.01)
    assert module_client.ask("/api/games").status == 200
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "host",
    [
        "127.evil.example",
        "127.0.0.1:",
        "127.0.0.1:x",
        "127.0.0.1:{port}@evil.example",
        "127.0.0.1,evil.example",
        "evil.example:{port}",
        "localhost.evil.example:{port}",
        "10.0.0.1:{port}",
        "127.0.0.1.evil.example:{port}",
        "",
    ],
)
def test_only_the_own_literal_host_is_served(client: Client, host: str) -> None:
    named = host.format(port=client.port)
    answer = client.ask("/api/games", Host=named)
    assert answer.status in (400, 403)
    assert client.ask(f"/?token={client.token}", Host=named).status in (400, 403)
    with pytest.raises((Refused, ConnectionError)):
        client.socket("0" * 16, Host=named or "x").get("hello")


def test_other_names_of_this_machine_are_its_own_with_any_port(client: Client) -> None:
    """A forwarded port may have another number (ssh -L 9000:127.0.0.1:8642), that of HTTP is left out."""
    made = {"game": BOARD, "seats": ["person", "random"]}
    for name in ("localhost", "127.0.0.1", "[::1]", "127.0.0.2"):
        for host in (f"{name}:{client.port}", f"{name}:9000", f"{name}:1", name):
            assert client.ask("/api/games", Host=host).status == 200
            assert client.ask("/api/games", Host=host, Cookie=None).status == 403
            opened = client.ask(f"/?token={client.token}", Host=host, Cookie=None)
            assert (opened.status, opened.headers["location"]) == (303, "/")
            if host != client.host:
                assert client.post(made, Host=host).status == 403  # of a page at the server's own port
    forwarded = {"Host": "localhost:9000", "Origin": "http://localhost:9000"}
    match = client.post(made, **forwarded).json
    page = client.socket(match["id"], match["key"], **forwarded).greet()
    page.act(3)
    assert page.get("moment")["tick"] == 1
    wrong = client.ask("/", Host="evil.example:80").why
    assert wrong == (
        f"this server answers at 127.0.0.1:{client.port}; "
        f"from another machine: ssh -L {client.port}:127.0.0.1:{client.port}"
    )


@pytest.mark.parametrize(
    "cookie", [None, "", "ludus-{port}=", "ludus-{port}=x", "ludus-1={token}", "{token}", "\x80"]
)
def test_without_the_token_nothing_is_served(client: Client, cookie: str | None) -> None:
    given = None if cookie is None else cookie.format(port=client.port, token=client.token)
    for path in ("/", "/api/games", "/static/app/main.js", "/nothing"):
        answer = client.ask(path, Cookie=given)
        assert answer.status == 403
        assert "token" in answer.why
    assert client.post({"game": BOARD, "seats": ["person", "random"]}, Cookie=given).status == 403


def test_the_token_becomes_a_cookie_that_no_script_reads(client: Client) -> None:
    answer = client.ask(f"/play/5?token={client.token}&key=a%26b", Cookie=None)
    assert answer.status == 303
    assert answer.headers["location"] == "/play/5?key=a%26b"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie  # a link of another site opens the page at once
    assert client.ask("/?token=wrong", Cookie=None).status == 403
    off_site = client.ask(f"//evil.example/?token={client.token}", Cookie=None)
    assert not off_site.headers.get("location", "/").startswith("//")


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://evil.example",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "http://localhost:{port}",
        "https://127.0.0.1:{port}",
    ],
)
def test_what_changes_something_must_come_from_an_own_page(client: Client, origin: str | None) -> None:
    given = None if origin is None else origin.format(port=client.port)
    answer = client.post({"game": BOARD, "seats": ["person", "random"]}, Origin=given)
    assert answer.status == 403
    assert answer.why == "requests from other pages are refused"
    with pytest.raises(Refused):
        client.socket("0" * 16, Origin=given).get("hello")
    assert client.server.matches.listed() == [] or all(s.closed for s in client.server.matches.listed())


def test_every_answer_has_the_policy(client: Client) -> None:
    for path in ("/", "/play", "/api/runs", "/static/app/main.js", "/nothing", "/static/nothing"):
        headers = client.ask(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../messages.py",
        "/static/app/../../serve/app.py",
        "/static/%2e%2e/serve/app.py",
        "/static//etc/passwd",
        "/static/app/%00",
        "/replay/../../secret/match.ludus",
        "/replay/..%2fsecret",
        "/api/runs/..%2f..",
        "/api/runs/linked",
        "/api/runs/%2e%2e/curves",
        "/api/runs/nothing",
        "/etc/passwd",
        "/api/nothing",
    ],
)
def test_no_path_leads_to_a_file(client: Client, path: str) -> None:
    answer = client.ask(path)
    assert answer.status == 404
    assert answer.why


def test_lists_name_damaged_files_with_their_reason_and_follow_no_link(client: Client) -> None:
    lines = client.ask("/api/replays?run=mine").json["replays"]
    named = {line["name"]: line for line in lines}
    assert named["good.ludus"]["game"] == BOARD
    assert named["good.ludus"]["problem"] == ""
    assert named["damaged.ludus"]["problem"]
    assert "linked.ludus" not in named
    assert client.ask(f"/replay/{named['good.ludus']['id']}").status == 200
    refused = client.ask(f"/replay/{named['damaged.ludus']['id']}")
    assert refused.status == 400
    assert "replay" in refused.why
    runs = {run["name"]: run for run in client.ask("/api/runs").json["runs"]}
    assert set(runs) == {"mine", HOSTILE, "other", "damaged", "leads", "broken"}
    assert runs["broken"]["problem"]
    assert runs["mine"]["game"] == "tic_tac_toe"
    assert runs["mine"]["steps"] == 700
    assert all("/" not in run["id"] and "<" not in run["id"] for run in runs.values())


def test_a_replay_page_admits_its_own_script_alone(client: Client) -> None:
    (good,) = (r for r in client.ask("/api/replays").json["replays"] if r["name"] == "good.ludus")
    answer = client.ask(f"/replay/{good['id']}")
    policy = answer.headers["content-security-policy"]
    assert "script-src 'sha256-" in policy
    assert policy.endswith("frame-ancestors 'none'")
    assert "unsafe" not in policy


def test_players_of_the_table_think_over_a_replay(client: Client, folder: Path) -> None:
    file = client.server.library.keep(replays.record("tic_tac_toe", bots=["random"]), "tic_tac_toe")
    shown = client.ask(f"/api/replays/{file.id}/thoughts?with=mine@7").json
    assert shown["name"] == "mine@7"
    assert len(shown["thoughts"]) == replays.info(file.path.read_bytes()).ticks
    page = client.ask(f"/replay/{file.id}?with=mine@7&with=mcts:20")
    assert page.status == 200
    for name in (
        "",
        "mine",
        "random",
        "../x@7",
        "/etc@7",
        "other@2",
        "mcts:999999",
        "mcts:9,cache=1",
        "x.py",
        "m@7+search:0",
    ):
        for path in (f"/api/replays/{file.id}/thoughts?with={name}", f"/replay/{file.id}?with={name}"):
            answer = client.ask(path)
            assert answer.status in (400, 404)
            assert answer.why
    file.path.unlink()


def test_a_run_is_shown_with_its_curves(client: Client) -> None:
    page = client.ask("/api/runs/mine").json
    assert page["about"]["method"] == "appo"
    assert page["versions"] == ["3", "7"]
    assert HOSTILE in page["report"]
    assert set(page["series"]) >= {"loss/value", "eval/perfect/win_rate"}
    curves = client.ask("/api/runs/mine/curves?series=loss/value,eval/perfect/win_rate&points=50").json
    assert curves["x"] == [300, 700]
    assert curves["series"]["eval/perfect/win_rate"]["mean"] == [0.25, 0.5]
    one = client.ask("/api/runs/mine/curves?series=loss/value&points=1&x=minutes").json
    assert one["series"]["loss/value"]["mean"] == [pytest.approx((1 / 3 + 1 / 7) / 2)]
    assert one["series"]["loss/value"]["low"] == [pytest.approx(1 / 7)]
    for query in ("x=hours", "points=0", "points=-1", "points=x", "points=99999999999999999999"):
        assert "expected" in client.ask(f"/api/runs/mine/curves?{query}").why


def test_players_that_do_not_fit_are_listed_with_the_reason(client: Client) -> None:
    listed = client.ask("/api/players?game=tic_tac_toe").json
    lines = {line["name"]: line for line in listed["players"]}
    assert lines["perfect"]["reason"] == ""
    assert lines["mine@best"]["reason"] == ""
    assert lines["mine@best"]["step"] == 700
    assert lines["mine@best"]["rate"] == 0.5
    assert lines["other@best"]["reason"] == f"weights of {BOARD}, expected weights of tic_tac_toe"
    assert lines["damaged@best"]["reason"]
    assert lines["leads@best"]["reason"] == "the file is a link; links are not followed"
    assert lines["broken@best"]["reason"]
    assert lines["mcts:400"]["reason"] == ""
    real_time = client.ask("/api/players?game=minirts").json["players"]
    assert [line["reason"] != "" for line in real_time if line["kind"] in ("search", "plan")] == [True, False]
    (ladder,) = (found for found in listed["ladders"] if found["run"] == "mine")
    assert [rung["name"] for rung in ladder["versions"]] == ["random", "mine@3", "mine@7"]
    sized = client.ask("/api/players?game=go&params=%7B%22size%22%3A5%7D").json
    assert sized["players"][0]["kind"] == "bot"


@pytest.mark.parametrize(
    "query",
    [
        "",
        "game=",
        "game=nothing",
        "game=./my_game.py",
        "game=/etc",
        f"game={HOSTILE}",
        "game=gymnasium/CartPole-v1",
        "game=go&params=[",
        "game=go&params=%7B%22size%22%3A%5B%5D%7D",
        "game=go&params=%7B%22size%22%3A1e9%7D",
        "game=go&params=%7B%22siez%22%3A9%7D",
        "game=go&params=" + "[" * 5000,
    ],
)
def test_wrong_games_and_parameters_are_refused(client: Client, query: str) -> None:
    answer = client.ask("/api/players?" + query.replace(" ", "%20").replace("<", "%3C"))
    assert answer.status == 400
    assert answer.why


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"game": "nothing"}, "no such game"),
        ({"game": "./my_game.py"}, "no such game"),
        ({"game": 3}, "Expected"),
        ({"x": 1}, "unknown field"),
        ({"seats": ["person"]}, "has 2 seats"),
        ({"seats": []}, "length"),
        ({"seats": ["person", "randm"]}, "did you mean random?"),
        ({"seats": ["person", HOSTILE]}, "no such player"),
        ({"seats": ["person", "./bot.py"]}, "no such player"),
        ({"seats": ["person", "/etc/passwd"]}, "no such player"),
        ({"seats": ["person", "../secret/weights.safetensors"]}, "no such player"),
        ({"seats": ["person", "/tmp/run@best"]}, "no such run"),
        ({"seats": ["person", "../secret@best"]}, "no such run"),
        ({"seats": ["person", "mine@../../x"]}, "expected best"),
        ({"seats": ["person", "mine@99"]}, "no version"),
        ({"seats": ["person", "mine@best"]}, "weights of tic_tac_toe"),
        ({"seats": ["person", "damaged@best"]}, ""),
        ({"seats": ["person", "leads@7"]}, "links are not followed"),
        ({"seats": ["person", "mcts:99999999"]}, "N up to"),
        ({"seats": ["person", "mcts:5,cache=1000000000"]}, "expected mcts:N"),
        ({"seats": ["person", "plan:8x100,opponent=missing"]}, "no bot"),
        ({"seats": ["person", "plan:9999x1"]}, "at most"),
        ({"seats": ["person", "x" * 400]}, "length"),
        ({"params": {"columns": -5}}, ""),
        ({"params": {"width": 10**30}}, ""),
        ({"rate": 1e9}, "Expected"),
        ({"clock_s": -1}, "Expected"),
        ({"clock_s": 5, "seats": ["random", "random"]}, "only a person has a clock"),
        ({"seed": -1}, "Expected"),
    ],
)
def test_a_match_that_cannot_be_played_is_refused(client: Client, change: dict[str, Any], why: str) -> None:
    answer = client.post({"game": BOARD, "seats": ["person", "random"], **change})
    assert answer.status == 400
    assert why in answer.why


@pytest.mark.parametrize("body", [b"", b"[", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"game": NaN}'])
def test_bodies_that_are_no_match_are_refused(client: Client, body: bytes) -> None:
    answer = client.post(body)
    assert answer.status == 400
    assert answer.why


def test_a_body_of_a_megabyte_is_refused(client: Client) -> None:
    answer = client.post(b" " * (1 << 20))
    assert answer.status == 413
    assert answer.why


def test_a_fifth_match_waits_for_another_to_end(client: Client) -> None:
    pages = [client.play(BOARD, "person", "random").greet() for _ in range(4)]
    answer = client.post({"game": BOARD, "seats": ["person", "random"]})
    assert answer.status == 429
    assert answer.why == "4 matches are played already, at most 4 at a time; end one first"
    pages[0].send({"type": "resign"})
    pages[0].get("over")
    end = time.monotonic() + 5
    while (again := client.post({"game": BOARD, "seats": ["person", "random"]})).status == 429:
        assert time.monotonic() < end
    assert again.status == 201


def test_a_thirty_third_socket_is_closed(client: Client) -> None:
    page = client.play(BOARD, "person", "random").greet()
    others = [client.socket(page.hello["match"]).greet() for _ in range(31)]
    code, why = client.socket(page.hello["match"]).wait_closed()
    assert code == CLOSE_FULL
    assert "32 pages" in why
    others[0].drop()
    assert joins(client, page.hello["match"])
    page.act(3)
    page.get("moment")
    for other in others:
        other.drop()


def joins(client: Client, match: str) -> bool:
    """Return whether a page can join a match within some seconds."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            client.socket(match).greet()
        except Refused:
            continue
        return True
    return False


@pytest.mark.parametrize(
    "message",
    [
        "",
        "[",
        "null",
        "[]",
        "7",
        '"act"',
        "{}",
        '{"type": "nothing"}',
        '{"type": "pause", "x": 1}',
        '{"type": "act"}',
        '{"type": "act", "echo": 1, "tick": 0, "seat": 0, "action": [1], "more": 1}',
        '{"type": "act", "echo": -1, "tick": 0, "seat": 0, "action": [1]}',
        '{"type": "act", "echo": 1, "tick": 0.5, "seat": 0, "action": [1]}',
        '{"type": "act", "echo": 1, "tick": 0, "seat": 0, "action": ["1"]}',
        '{"type": "act", "echo": 1, "tick": 0, "seat": 0, "action": [1e99]}',
        '{"type": "act", "echo": 1, "tick": 0, "seat": 999, "action": [1]}',
        '{"type": "rate", "value": "1"}',
        '{"type": "rate", "value": 1e999}',
        '{"type": "rate", "value": 0}',
        '{"type": "hello", "you": [0]}',
        "[" * 10_000,
        '{"type": "hints", "on": 1}',
    ],
)
def test_messages_that_are_none_are_refused_and_the_match_goes_on(client: Client, message: str) -> None:
    page = client.play(BOARD, "person", "random").greet()
    page.send(message)
    assert page.get("refused")["why"]
    page.send(b"\xff\xff" + message.encode())
    assert page.get("refused")["why"]
    page.act(3)
    assert page.get("moment")["tick"] == 1


def test_illegal_and_late_decisions_are_refused(client: Client) -> None:
    page = client.play(BOARD, "person", "tactical").greet()
    for action in ([7], [-1], [], [1, 1], [2**31 - 1]):
        page.act(*action, echo=5)
        refused = page.get("refused")
        assert refused["echo"] == 5
        assert refused["why"]
    page.act(1, seat=1)
    assert "not of this page" in page.get("refused")["why"]
    page.act(1, tick=9)
    assert page.get("refused")["why"] == "a decision for tick 9, the match is at tick 0"
    page.act(3)
    page.get("moment")
    page.get("moment")
    page.act(3, tick=0)
    assert page.get("refused")["why"] == "a decision for tick 0, the match is at tick 2"
    assert page.last["tick"] == 2


def test_a_message_of_a_megabyte_closes_its_socket_alone(client: Client) -> None:
    page = client.play(BOARD, "person", "random").greet()
    onlooker = client.socket(page.hello["match"]).greet()
    onlooker.send("x" * (1 << 20))
    code, why = onlooker.wait_closed()
    assert code == CLOSE_LARGE
    assert why
    page.send(" " * MAX_BYTES)
    assert page.get("refused")["why"]
    page.act(3)
    assert page.get("moment")["tick"] == 1


def test_a_flood_closes_its_socket_alone(client: Client) -> None:
    page = client.play(BOARD, "person", "random").greet()
    onlooker = client.socket(page.hello["match"]).greet()
    for _ in range(60):
        onlooker.send({"type": "pause"})
    code, why = onlooker.wait_closed()
    assert code == CLOSE_FLOOD
    assert why == "more than 50 messages in a second"
    page.act(3)
    assert page.get("moment")["tick"] == 1


def test_a_run_that_is_removed_while_it_is_shown_is_one_sentence(client: Client, folder: Path) -> None:
    run = make_run(folder / "gone")
    (run.replays / "a.ludus").write_bytes(replays.record(BOARD, bots=["random"]))
    library = client.server.library
    library._scanned.update(runs=-9, replays=-9)
    assert client.ask("/api/runs/gone").status == 200
    lines = client.ask("/api/replays?run=gone").json["replays"]
    shutil.rmtree(run.path)
    for path in ("/api/runs/gone", "/api/runs/gone/curves", f"/replay/{lines[0]['id']}"):
        answer = client.ask(path)
        assert answer.status == 404
        assert "removed" in answer.why
    refused = client.post({"game": "tic_tac_toe", "seats": ["person", "gone@best"]})
    assert "removed" in refused.why
    library._scanned.update(runs=-9, replays=-9)  # so that later lists are without it


def test_a_run_of_a_hostile_name_plays_and_is_text_on_every_page(client: Client, folder: Path) -> None:
    (run,) = (r for r in client.ask("/api/runs").json["runs"] if r["name"] == HOSTILE)
    page = client.play("tic_tac_toe", f"{run['id']}@7", "person").greet()
    assert page.hello["seats"][0].items() >= {"name": f"{HOSTILE}@7", "kind": "network"}.items()
    while page.last["to_act"] != [1]:
        page.get("moment")
    page.send({"type": "resign"})
    over = page.get("over")
    assert [file.parent.parent.name for file in folder.glob("*/played/*.ludus")] == [HOSTILE]
    shown = client.ask(over["url"])
    assert HOSTILE.encode() not in shown.body
    assert client.ask("/api/replays").headers["content-type"] == "application/json"


def test_half_a_request_and_no_http_at_all_leave_the_server_serving(client: Client) -> None:
    for data in (b"GET / HTTP/1.1\r\nHost:", b"\x16\x03\x01" + os.urandom(300), b"GET " + b"a" * 100_000):
        with socket.create_connection((ADDRESS, client.port), 5) as raw:
            raw.sendall(data)
    assert client.ask("/api/games").status == 200


def test_a_port_in_use_is_one_line_and_a_free_one_is_found(folder: Path, client: Client) -> None:
    with pytest.raises(PortInUse, match=f"--port {client.port}: in use by another process"):
        PageServer(Library(folder), client.port)
    one, two = PageServer(Library(folder)), PageServer(Library(folder))
    assert one.port != two.port
    one.close()
    two.close()


def test_weights_need_torch_and_bots_do_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve_players._meta.cache_clear()
    monkeypatch.setitem(sys.modules, "ludus.policies.weights", None)
    monkeypatch.delitem(sys.modules, "ludus.evaluation.weights", raising=False)  # imported by an earlier test
    rules, library = rules_of("tic_tac_toe", {}), Library(folder)
    lines = {line.name: line for line in roster(rules, library).players}
    assert lines["perfect"].reason == ""
    assert "pip install '.[train]' in the clone of Ludus" in lines["mine@best"].reason
    with pytest.raises(PlayerError, match="not installed: pip install"):
        seat_of("mine@best", rules, 1, library)
    assert seat_of("uniform", rules, 1, library).kind == "bot"
    assert seat_of("mcts:20", rules, 1, library).kind == "search"


def test_a_linked_folder_for_matches_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "plays").symlink_to(tmp_path / "outside")
    with pytest.raises(StorageError, match="a link"):
        Library(tmp_path / "root").keep(b"x", BOARD)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_match_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        Library(tmp_path).keep(b"x", BOARD)
    assert list(tmp_path.rglob("*.*")) == []


def test_python_code_is_named_on_the_command_line_alone(tmp_path: Path) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text("class Bot:\n    def decide(self, scene):\n        return scene.legal()[0]\n")
    rules = rules_of("tic_tac_toe", {})
    with pytest.raises(PlayerError, match="no such player"):
        seat_of(str(bot), rules, 1, Library(tmp_path))
    assert seat_of(str(bot), rules, 1).kind == "bot"
    matches = Sessions(Library(tmp_path))
    with pytest.raises(UnplayableMatch, match="no such player"):
        matches.create(NewMatch("tic_tac_toe", ("person", str(bot))))


def test_ids_of_a_sweep_and_of_odd_names_are_unique(tmp_path: Path) -> None:
    (tmp_path / "sweep" / "runs").mkdir(parents=True)
    (tmp_path / "sweep" / "sweep.json").write_text("{}")
    for name in ("sweep/runs/a", "sweep.a", "a b", "ü"):
        make_run(tmp_path / name, versions=())
    runs = Library(tmp_path).runs()
    assert len(runs) == 4
    assert {run.path.name for run in runs.values()} == {"a", "sweep.a", "a b", "ü"}
    assert all(run.replace(".", "").isalnum() for run in runs)
    assert list(Library(tmp_path / "sweep").runs()) == ["a"]
    assert list(Library(tmp_path / "sweep" / "runs" / "a").runs()) == ["a"]
    with pytest.raises(UnknownId):
        Library(tmp_path).run("../x")


def test_a_person_sees_no_more_of_a_hidden_game_than_its_seat(client: Client) -> None:
    page = client.play("kuhn_poker", "person", "random", seed=5).greet()
    assert page.hello["hidden"]
    onlooker = client.socket(page.hello["match"]).greet()
    assert onlooker.last["view"] == page.last["view"]
    open_match = client.play("kuhn_poker", "random", "random", seed=5)
    assert not open_match.greet().hello["hidden"]
    assert json.dumps(open_match.hello["first"]["view"]) != json.dumps(page.hello["first"]["view"])
    assert serve_players.PERSON in [seat["name"] for seat in page.hello["seats"]]

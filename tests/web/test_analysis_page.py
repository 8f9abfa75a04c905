"""Analysis in a browser: hints and the value bar in a match, its mistakes, retries, SGF in and out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ludus.cli.__main__ import main
from ludus.games import replays
from ludus.games.match import Match
from ludus.games.records import go_match, go_record
from ludus.web.replay_page import to_html
from tests.web.browser import Browser
from tests.web.live import PLAYING, LivePage, checked_page, make_run
from tests.web.serving import Client, legal, served

Capture = pytest.CaptureFixture[str]
OVER = "ludus.over !== null"
REPLAY = "location.pathname.startsWith('/replay/') && document.body?.classList.contains('ready')"
#: Seat 1 lets seat 0 make three in a row with two open ends: at tick 3 it plays elsewhere.
BLUNDER = [3, 3, 2, 6, 4, 0, 5]
GO = (
    b"(;GM[1]FF[4]SZ[9]KM[6.5]PB[Anna]PW[Bob]RU[Chinese];B[ee];W[ce];B[cf];W[df];B[de];W[cd];B[dg];W[];B[ef])"
)
ROWS = "[...document.querySelectorAll('.marks:nth-of-type(1) .row')].map(r => r.textContent)"


def recorded(moves: list[int]) -> bytes:
    match = Match("connect_four", record=True)
    for move in moves:
        match.play(move)
    return match.replay(["Anna", "mcts:500"])


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("analysed")
    (folder / "four.ludus").write_bytes(recorded(BLUNDER))
    make_run(folder / "rts", "minirts", (1,))
    make_run(folder / "four-run", "connect_four", (1,))
    make_run(folder / "small", "go", (1,), size=5)
    with served(folder) as made:
        yield made


@pytest.fixture
def page(session_browser: Browser, client: Client) -> Iterator[LivePage]:
    yield from checked_page(session_browser, client)


def replay_id(client: Client, name: str = "four.ludus") -> str:
    listed = client.ask("/api/replays").json["replays"]
    return str(next(line["id"] for line in listed if line["name"] == name))


def expected(mistake: dict[str, Any]) -> str:
    """A row of the page."""
    size = abs(mistake["change"])
    amount = f"{size:.2f}" if size >= 0.0995 else f"{size:.3f}"
    better = f", better  → {mistake['better']}" if mistake["better"] else ""
    return f"{mistake['tick']}seat {mistake['seat']}: {mistake['played']}{better}−{amount}"


def shown(row: str) -> str:
    return row.replace(" → , better ", ", better  → ")


def test_the_list_of_the_page_is_the_one_of_the_command(
    browser: Browser, tmp_path: Path, capsys: Capture
) -> None:
    file, out = tmp_path / "m.ludus", tmp_path / "page.html"
    file.write_bytes(recorded(BLUNDER))
    assert main(["analyze", str(file), "--by", "mcts:400", "--by", "mcts:60", "-o", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["page"] == str(out)
    browser.open(out, height=2200)
    for number, judged in enumerate(found["analysts"]):
        browser.evaluate(f"ludus.set({{opinion: {number}}})")
        assert [shown(row) for row in browser.evaluate(ROWS)] == [expected(m) for m in judged["mistakes"]]
    browser.evaluate("ludus.set({opinion: 0})")
    browser.evaluate("document.querySelector('.marks .row').click()")
    assert browser.evaluate("ludus.tick") == 3
    assert browser.evaluate("ludus.drawn.overlay") == 7
    assert browser.evaluate("ludus.drawn.numbers") >= 2
    assert browser.evaluate("document.querySelector('a.retry')") is None  # a file has no server


def test_weights_of_another_size_are_refused_with_the_size(
    client: Client, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "g.sgf"
    file.write_bytes(GO)
    weights = f"{client.server.library.root / 'small'}@best"
    assert main(["analyze", str(file), "--by", weights]) == 2
    assert "was trained under size = 5, the match is under 9" in capsys.readouterr().err


def test_two_opinions_are_two_curves_and_two_preferred_moves(browser: Browser, tmp_path: Path) -> None:
    file, out = tmp_path / "g.sgf", tmp_path / "g.html"
    file.write_bytes(GO)
    assert main(["analyze", str(file), "--by", "mcts:40", "--by", "mcts:9", "-o", str(out), "--quiet"]) == 0
    browser.open(out, "tick=4", height=1800)
    assert browser.evaluate("ludus.thoughts.curves") == 4
    other = browser.evaluate("document.querySelector('.line.other').textContent")
    second = browser.evaluate("ludus.view.nameOf(ludus.drawn.second)")
    assert other.startswith(f"mcts:9 prefers {second} (")
    browser.evaluate("document.getElementById('owned').click()")
    assert browser.evaluate("ludus.drawn.owned") >= 1
    text = browser.evaluate("ludus.match.record.text")
    moves = go_record.load(GO).moves
    assert go_record.load(text.encode()).moves == moves
    assert browser.evaluate("document.getElementById('save-record').textContent") == "SGF"


@pytest.mark.parametrize(
    ("game", "params"),
    [
        pytest.param("tic_tac_toe", {}),
        pytest.param("gomoku", {}, marks=pytest.mark.slow),
        pytest.param("go", {"size": 13, "max_moves": 12}, marks=pytest.mark.slow),
    ],
)
def test_candidates_stand_on_every_board(
    browser: Browser, tmp_path: Path, game: str, params: dict[str, Any]
) -> None:
    replay = replays.record(game, params, seed=3)
    page = tmp_path / "board.html"
    page.write_text(to_html(replay, think=["mcts:60"]), encoding="utf-8")
    browser.open(page, "tick=2")
    assert browser.evaluate("ludus.drawn.overlay") >= 5
    assert browser.evaluate("ludus.drawn.numbers") >= 1
    browser.press("v")
    assert browser.evaluate("ludus.drawn.overlay") == 0


def test_a_hint_comes_when_asked_for_and_the_value_bar_when_turned_on(page: LivePage) -> None:
    page.play("connect_four", ["person", "mcts:20"], seed=5)
    assert page.evaluate("ludus.game.hello.advisor") == "mcts:400"
    time.sleep(0.6)
    assert page.evaluate("ludus.game.hint === null && ludus.game.valueNow === null")
    assert page.evaluate("document.getElementById('value-bar') === null")
    page.click("#hint")
    page.wait("document.getElementById('hint-line') !== null")
    assert page.text("#hint-panel h2") == "Hint of mcts:400"
    assert page.text("#notice").startswith("Hint: ")
    page.wait("ludus.drawn.overlay === 7")
    page.click("#value-on")
    page.wait("document.getElementById('value-bar')?.textContent.includes('% to win')")
    page.evaluate("ludus.act(3)")
    page.wait("ludus.tick >= 2 && ludus.game.myTurn")
    assert page.evaluate("document.getElementById('hint-line') === null")  # one press, one hint
    page.wait("ludus.game.valueNow.tick === ludus.tick")
    assert page.evaluate("ludus.game.valueBefore.tick") == page.evaluate("ludus.tick") - 2
    page.click("#take-back")
    page.wait("ludus.tick === 0 && ludus.game.valueNow.tick === 0 && ludus.game.valueBefore === null")
    page.click("#value-on")
    assert page.evaluate("document.getElementById('value-bar') === null")


def test_hints_are_for_the_person_at_turn_and_for_no_one_else(client: Client) -> None:
    with client.play("connect_four", "person", "mcts:20") as player:
        player.greet()
        with client.socket(player.hello["match"]) as watcher:
            watcher.greet()
            assert watcher.hello["advisor"] == ""
            watcher.send({"type": "hint", "seat": 0})
            assert "looks on" in watcher.get("refused")["why"]
        player.send({"type": "hint", "seat": 1})
        assert "not the turn" in player.get("refused")["why"]
        for _ in range(12):
            player.send({"type": "hint", "seat": 0})
        kinds = [player.get()["type"] for _ in range(12)]
        assert set(kinds) <= {"hint", "refused"}
        assert 2 <= kinds.count("hint") < 12
        player.act(legal(player.last, 0)[0])
        player.get("moment")


def test_a_network_advises_where_the_game_hides_something(client: Client) -> None:
    with client.play("minirts", "person", "simple", rate=1.0) as player:
        player.greet()
        assert player.hello["advisor"] == "rts@best"
        player.send({"type": "hint", "seat": 0})
        hint = player.get("hint")
        assert hint["wins"] is False
        assert sum(choice["p"] for choice in hint["heads"][0]) == pytest.approx(1.0, abs=0.01)
    with client.play("kuhn_poker", "person", "uniform") as player:
        player.greet()
        assert player.hello["advisor"] == ""  # no search of what a seat does not see
        player.send({"type": "hint", "seat": 0})
        assert "no one gives hints" in player.get("refused")["why"]


def test_a_match_is_analysed_and_its_mistake_is_played_again(page: LivePage) -> None:
    replay = replay_id(page.client)
    offered = page.client.ask(f"/api/replays/{replay}/match").json
    assert [one["name"] for one in offered["analysts"]] == [
        "mcts:500",
        "mcts:400",
        "four-run@best",
        "four-run@best+search:200",
    ]
    page.go(f"/analyse/{replay}", "document.getElementById('analyse-start') !== null")
    page.click("#analyse-start")
    page.wait(REPLAY)
    found = page.client.ask(f"/api/replays/{replay}/analysis?with=mcts:500").json["analysts"][0]["mistakes"]
    assert [shown(row) for row in page.evaluate(ROWS)] == [expected(mistake) for mistake in found]
    page.click("a.retry")
    page.wait("document.getElementById('start')?.disabled === false")
    assert page.evaluate("location.pathname + location.search") == f"/retry/{replay}?tick=3&seat=1"
    page.evaluate("document.getElementById('seat-0').value = 'mcts:400'")
    page.click("#start")
    page.wait("location.pathname.startsWith('/play/') && window.ludus && " + PLAYING)
    assert page.evaluate("ludus.tick") == 3
    assert page.evaluate("ludus.game.hello.you") == [1]
    assert page.evaluate("ludus.game.log.map(move => move.text)") == ["4", "4", "3"]
    page.evaluate("ludus.act(1)")
    page.wait("ludus.tick >= 5 && ludus.game.myTurn")
    page.click("#resign")
    page.wait("document.getElementById('resign-dialog').open")
    page.click("#resign-yes")
    page.wait(OVER)
    page.wait("document.getElementById('analyse-start') !== null")
    again = page.server.library.read(page.server.library.replay(page.evaluate("ludus.over.replay")))
    assert replays.verify(again).same
    assert [d.action[0] for d in replays.decisions(again)][:4] == [*BLUNDER[:3], 1]


@pytest.mark.parametrize(
    ("start", "status", "said"),
    [
        ({"tick": 7}, 400, "the match is over at tick 7"),
        ({"tick": 99}, 400, "the match has 7 ticks"),
        ({"tick": 2, "replay": "../../etc"}, 404, "no such replay"),
        ({"tick": -1}, 400, "from.tick"),
        ({"tick": 1, "path": "/"}, 400, "unknown field"),
    ],
)
def test_retries_of_nothing_are_refused(
    client: Client, start: dict[str, Any], status: int, said: str
) -> None:
    body = {"replay": replay_id(client), **start}
    answer = client.post({"game": "connect_four", "seats": ["person", "mcts:10"], "from": body})
    assert (answer.status, said in answer.why) == (status, True)


def test_a_record_comes_in_by_a_file_and_goes_out_with_the_same_moves(page: LivePage) -> None:
    page.go("/", "document.getElementById('record-input') !== null")
    page.evaluate(
        f"(() => {{ const files = new DataTransfer(); files.items.add(new File([{GO.decode()!r}], 'a.sgf'));"
        " const input = document.getElementById('record-input'); input.files = files.files;"
        " input.dispatchEvent(new Event('change')); })()"
    )
    page.wait(
        "location.pathname.startsWith('/analyse/') && document.getElementById('analyse-start') !== null"
    )
    replay = page.evaluate("location.pathname").removeprefix("/analyse/")
    saved = page.client.ask(f"/api/replays/{replay}/record")
    assert saved.headers["content-disposition"].endswith('.sgf"')
    assert go_record.load(saved.body).moves == go_record.load(GO).moves
    file = page.server.library.replay(replay).path
    assert file.parent.name == "plays"
    assert go_match.record_of(file.read_bytes()).moves == go_record.load(GO).moves


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"(;SZ[25];B[aa])", 400),
        (b"(" * 900_000, 400),
        (b"\xff\x00" * 1000, 400),
        (b"(;SZ[9];B[aa];W[aa]", 400),
        (b"LUDUSREC" + b"\xff" * 100, 400),
        (b"(;SZ[9];B[aa])" + b" " * (1 << 20), 413),
    ],
)
def test_hostile_files_are_one_sentence_and_write_nothing(client: Client, body: bytes, status: int) -> None:
    before = len(client.ask("/api/replays").json["replays"])
    answer = client.ask("/api/records", method="POST", body=body)
    assert answer.status == status
    assert len(answer.why) < 500
    assert len(client.ask("/api/replays").json["replays"]) == before


def test_analyses_are_bounded(client: Client) -> None:
    replay = replay_id(client)
    for name, said in (("mcts:2001", "N up to 2000"), ("../x@1", "no such run"), ("simple", "expected RUN")):
        answer = client.ask(f"/api/replays/{replay}/analysis?with={name}")
        assert (answer.status, said in answer.why) in ((400, True), (404, True)), answer.why
    three = client.ask(f"/api/replays/{replay}/analysis?with=mcts:1&with=mcts:2&with=mcts:3")
    assert "expected 1 to 2" in three.why

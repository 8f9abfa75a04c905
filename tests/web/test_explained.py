"""The page of a match explains it: before the first order, at every button, and at its end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.web.browser import Browser
from tests.web.live import LivePage, checked_page, make_run
from tests.web.serving import Answer, Client, served

HOSTILE = "<img src=x onerror=hacked=1>"
GUIDE = "document.querySelector('#guide')"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("served")
    make_run(folder / "four-20260101-120000-3f2a", "connect_four", (1,))
    with served(folder) as made:
        yield made


@pytest.fixture
def page(session_browser: Browser, client: Client) -> Iterator[LivePage]:
    yield from checked_page(session_browser, client)


def test_a_match_waits_for_the_first_order_on_the_server(client: Client) -> None:
    page = client.play("minirts", "person", "simple", start="order", rate=20.0).greet()
    assert page.hello["first"]["waits"]
    assert page.hello["first"]["paused"]
    session = client.server.matches.listed()[-1]
    time.sleep(0.3)
    assert session.table.match.tick == 0
    page.drop()  # a lost page changes nothing
    with client.socket(session.match, session.key) as again:
        again.greet()
        assert again.hello["first"]["waits"]
        again.send({"type": "pause"})
        again.act(1)
        again.get("resumed")
        while again.get("moment")["tick"] < 50:
            pass
        assert again.last["echo"] == 1
        again.send({"type": "resign"})
        assert again.get("over")["reason"] == "You resigned"


def test_a_match_starts_at_once_where_it_is_asked_to(client: Client) -> None:
    for start, seats in (("now", ("person", "simple")), ("order", ("simple", "simple"))):
        page = client.play("minirts", *seats, start=start, rate=20.0).greet()
        while page.get("moment")["tick"] < 20:
            pass
        client.server.matches.listed()[-1].stop()
    refused = client.post({"game": "minirts", "seats": ["person", "simple"], "start": "later"})
    assert refused.status == 400
    assert "start" in refused.why


def test_a_rematch_has_the_same_players_and_sides_change(client: Client) -> None:
    page = client.play("connect_four", "person", "tactical", seed=5).greet()
    made = client.server.matches.listed()[-1]

    def ask(**fields: object) -> Answer:
        body = {"match": made.match, "key": made.key, **fields}
        return client.ask("/api/rematch", method="POST", body=json.dumps(body).encode())

    assert ask().why.startswith("the match is still played")
    page.send({"type": "resign"})
    page.get("over")
    end = time.monotonic() + 20

    def listed(match: str) -> dict[str, Any]:
        return next(line for line in client.ask("/api/matches").json["matches"] if line["id"] == match)

    while listed(made.match)["state"] != "over":  # the start page offers no finished match
        assert time.monotonic() < end
    again = ask()
    assert again.status == 201
    assert [seat["kind"] for seat in listed(again.json["id"])["seats"]] == ["person", "bot"]
    swapped = ask(swap=True)
    assert [seat["kind"] for seat in listed(swapped.json["id"])["seats"]] == ["bot", "person"]
    for wrong in ({"key": "x"}, {"match": "x"}, {"match": "x" * 300}, {"swap": 3}, {"more": 1}):
        assert ask(**wrong).status == 400


def test_the_explanation_of_a_game_is_asked_for(client: Client) -> None:
    guide = client.ask("/api/guide?game=minirts").json["guide"]
    assert guide["choices"]["strategy"]["build_worker"]["cost"] == 50
    assert client.ask("/api/guide?game=nothing").status == 400
    assert client.ask(f"/api/guide?game=minirts&params={'x' * 50_000}").status in (400, 414)


def test_the_explanation_is_closed_and_opened_by_keys(page: LivePage) -> None:
    page.play("minirts", ["person", "simple"], guide=True, start="order", width=390, height=844)
    page.wait(f"{GUIDE} !== null")
    assert page.text("#match-status") == "Waiting for your first order"
    page.evaluate("document.querySelectorAll('#guide details').forEach((d) => { d.open = true; })")
    for text in ("Gather money", "You win when", "You lose when", "Costs 50.", "crystals", "barracks"):
        assert text in page.text("#guide")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.browser.press("Escape")
    page.wait(f"{GUIDE} === null && document.activeElement === document.body")
    page.evaluate("document.getElementById('how-to-play').focus()")
    page.browser.press("Enter")
    page.wait(f"document.activeElement === {GUIDE}")
    page.browser.press("Escape")
    page.wait(f"{GUIDE} === null && document.activeElement.id === 'how-to-play'")
    page.play("minirts", ["person", "simple"], guide=True, start="order")  # closed once, it stays closed
    page.wait("document.querySelector('#how-to-play') !== null")
    assert page.evaluate(f"{GUIDE} === null")
    page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', {key: '?', bubbles: true}))")
    page.wait(f"{GUIDE} !== null")
    page.click("#guide-close")
    page.wait(f"{GUIDE} === null")
    assert page.evaluate("ludus.tick") == 0


def test_every_button_says_what_it_does_and_why_it_is_closed(page: LivePage) -> None:
    # With one seed: in one match of ten a side starts without a worker, and cannot build a barracks.
    page.play("minirts", ["person", "noop"], start="order", rate=10.0, seed=1)
    page.click(
        "button[data-choice='6']"
    )  # no one is there to attack yet: the match starts, and the order is refused
    page.wait("ludus.tick > 0 && !document.getElementById('start')")
    page.wait(
        "document.getElementById('notice').textContent"
        ".startsWith('attack in range is not possible now: it needs ')"
    )
    page.click("button[data-choice='0']")  # idle workers gather
    open_now = "document.querySelector('button[data-choice=\"2\"]').getAttribute('aria-disabled') === 'false'"
    page.wait(f"ludus.game.moment.legal[0]?.[0][2] === 1 && {open_now}", 90)
    page.click("button[data-choice='2']")  # a barracks for 200, all that one has
    page.wait("ludus.game.moment.view.money[0] < 50 && ludus.game.send('pause')", 60)
    page.wait("ludus.game.moment.paused")
    described = page.evaluate(
        "[...document.querySelectorAll('.choices button')].map((b) =>"
        " [b.getAttribute('aria-disabled'), b.title,"
        " document.getElementById(b.getAttribute('aria-describedby')).textContent, b.textContent])"
    )
    assert len(described) == 9
    for closed, title, description, text in described:
        assert title == description != ""
        assert ("Now it " in title) == (closed == "true"), text
    page.click("button[data-choice='1']")
    page.wait("document.getElementById('notice').textContent.startsWith('build worker costs 50, you have ')")
    assert "The base trains a worker" in page.text("#about")
    assert "50" in described[1][3]


def test_names_of_players_are_short_and_have_sides(page: LivePage) -> None:
    page.play("connect_four", ["person", "four-20260101-120000-3f2a@1"])
    assert page.text("#seats") == "Youblueto movefour@1orange"
    assert page.evaluate("document.querySelectorAll('.seat-name')[1].title") == "four-20260101-120000-3f2a@1"
    page.evaluate("ludus.game.send('resign')")
    page.wait("document.querySelector('#result') !== null")
    assert page.text("#result span") == "You lost. You resigned."
    page.evaluate("document.getElementById('swap').click()")
    page.wait("window.ludus?.game?.hello?.you?.[0] === 1 && ludus.tick === 1")
    assert page.text("#seats").startswith("four@1blueYouorange")


def test_a_hostile_explanation_is_text_and_bounded(
    client: Client, page: LivePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ludus.games.guides.guide import ChoiceGuide, Guide, PieceGuide
    from ludus.web.serve.live import guides

    long = "y" * 1_000_000
    hostile = Guide(
        HOSTILE, (HOSTILE, long), choices={"column": {"*": ChoiceGuide(HOSTILE, HOSTILE)}},
        pieces=(PieceGuide(HOSTILE, HOSTILE),), legend=((HOSTILE, HOSTILE),), words={"__proto__": HOSTILE},
    )  # fmt: skip
    monkeypatch.setattr(guides, "guide_of", lambda game, params: hostile)
    page.play("connect_four", ["person", "random"], guide=True, width=390, height=844)
    page.evaluate("localStorage.clear()")
    page.evaluate("document.getElementById('guide') || document.getElementById('how-to-play').click()")
    page.wait(f"{GUIDE} !== null")
    assert HOSTILE in page.text("#guide .aim")
    assert len(page.text("#guide")) < 10_000
    assert page.evaluate("document.querySelector('#app img') === null && window.hacked === undefined")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.slow
def test_the_set_up_explains_and_chooses_when_the_match_begins(page: LivePage) -> None:
    page.go("/play?game=minirts", "!!document.querySelector('#start:not(:disabled)')")
    page.wait("document.querySelector('.setup-guide .aim') !== null")
    assert "not for this game: 1 run, 2 searches" in page.text(".refused")
    page.evaluate("document.querySelector('#start').click()")
    page.wait("window.ludus?.game?.waits === true")
    page.go("/play?game=minirts", "!!document.querySelector('#start:not(:disabled)')")
    page.evaluate(
        "(() => { const s = document.getElementById('match-start'); s.value = 'now';"
        " s.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    page.evaluate("document.querySelector('#start').click()")
    page.wait("window.ludus?.game?.waits === false && ludus.tick > 0")


def test_a_document_without_a_drawing_is_a_table(page: LivePage) -> None:
    page.go("/", "document.querySelector('#matches') !== null")
    moment = {
        "tick": 3,
        "to_move": 1,
        "over": False,
        "field": ["ab.", "..c"],
        "numbers": [[1, 2], [3, 4]],
        "workers": [{"name": HOSTILE, "at": [1, 2]}, {"name": "y" * 100_000}],
        "deep": {"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}},
    }
    page.evaluate(
        "import('/static/replay/document_view.js').then(({ DocumentView }) => {"
        " const canvas = document.body.appendChild(document.createElement('canvas'));"
        f" window.shown = new DocumentView(canvas, {{ views: [{json.dumps(moment)}], ticks: [0] }});"
        " window.shown.draw({ tick: 0 }); })"
    )
    page.wait("window.shown?.drawn.characters > 0")
    rows = page.evaluate(
        "[...document.querySelectorAll('.fields-table > tbody > tr > th')].map((e) => e.textContent)"
    )
    assert rows[:4] == ["tick", "to move", "over", "field"]
    cells = "[...document.querySelectorAll('.sign-grid')].map((g) => [...g.rows].map((r) => r.textContent))"
    assert page.evaluate(cells) == [["ab.", "..c"], ["12", "34"]]
    assert HOSTILE in page.text(".document")
    assert len(page.text(".document")) < 5_000
    assert page.evaluate("document.querySelector('.document img') === null && window.hacked === undefined")


def test_a_replay_leads_back_to_its_match(page: LivePage) -> None:
    page.play("tic_tac_toe", ["person", "random"])
    page.evaluate("ludus.game.type('b2')")
    page.wait("ludus.tick === 2")
    page.evaluate("ludus.game.send('resign')")
    page.wait(
        "document.querySelector('#replay-link') !== null && document.querySelector('#analyse') !== null"
    )
    page.click("#replay-link")
    page.wait("document.getElementById('back') !== null && document.body.classList.contains('ready')")
    page.click("#back")
    page.wait("window.ludus?.game?.over?.reason === 'You resigned'")

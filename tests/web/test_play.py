"""People play whole matches in a browser, against bots, networks and searches.

Every match is a replay that verifies.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch

from ludus.games import replays
from tests.web.browser import Browser
from tests.web.live import PLAYING, LivePage, checked_page, make_run
from tests.web.serving import Client, served

OVER = "ludus.over !== null"
MY_TURN = "(ludus.over !== null || ludus.game.myTurn)"
FASTEST = 20.0
HOSTILE = "<img src=x onerror=hacked=1>"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("served")
    make_run(folder / "go-run", "go", (1, 2, 3), size=9)
    make_run(folder / "four", "connect_four", (1,))
    make_run(folder / "small", "go", (1,), size=5)
    make_run(folder / "rts", "minirts", (1,))
    make_run(folder / HOSTILE, "tic_tac_toe", (1,))
    with served(folder) as made:
        yield made


@pytest.fixture
def page(session_browser: Browser, client: Client) -> Iterator[LivePage]:
    yield from checked_page(session_browser, client)


def check_replay(page: LivePage, game: str) -> replays.ReplayInfo:
    """The replay that the page links to is saved, verifies, and opens."""
    page.wait(OVER)
    page.wait("document.getElementById('replay-link') !== null")
    link = str(page.evaluate("document.getElementById('replay-link').getAttribute('href')"))
    assert link.startswith("/replay/")
    data = page.server.library.read(page.server.library.replay(link.removeprefix("/replay/")))
    replays.verify(data)
    info = replays.info(data)
    assert info.game == game
    unseen = info.ticks - page.evaluate("ludus.tick")  # a page in real time gets 60 moments a second
    assert unseen == 0 or (page.evaluate("!ludus.game.hello.turn_based") and 0 < unseen < 100)
    return info


def test_connect_four_is_played_by_clicks_against_a_search(page: LivePage) -> None:
    page.play("connect_four", ["person", "mcts:30"])
    rng = random.Random(2)
    for turn in range(21):
        page.wait(MY_TURN)
        if page.evaluate(OVER):
            break
        tick = page.evaluate("ludus.tick")
        free = page.evaluate("ludus.game.moment.legal[0][0].flatMap((ok, c) => (ok ? [c] : []))")
        # Never the cell of the last click: soon after it, that would be one double click.
        page.click_cell(rng.choice(free), turn % 6)
        page.wait(f"ludus.tick > {tick}")
    info = check_replay(page, "connect_four")
    assert info.players[1] == "mcts:30"
    assert info.over
    assert page.text("#result b") in ("You won", "You lost", "A draw")
    page.wait(f"ludus.drawn.marks === {info.ticks}")
    page.click("#replay-link")
    page.wait("document.body?.classList.contains('ready') && location.pathname.startsWith('/replay/')")


def test_go_is_played_by_clicks_against_a_network(page: LivePage) -> None:
    page.play("go", ["person", "go-run@2"], {"size": 9, "max_moves": 60})
    rng = random.Random(1)
    while True:
        page.wait(MY_TURN)
        if page.evaluate(OVER):
            break
        tick = page.evaluate("ludus.tick")
        legal = page.evaluate("ludus.game.moment.legal[0][0].flatMap((ok, c) => (ok ? [c] : []))")
        taken = page.evaluate("ludus.game.view.cells.findIndex((cell) => cell >= 0)")
        if tick == 6:  # a stone lies there: refused on the page, with the reason
            sent = page.evaluate("ludus.game.echo")
            page.click_cell(taken % 9, taken // 9)
            page.wait("document.getElementById('notice').textContent !== ''")
            assert " is not possible now: it needs an empty crossing" in page.text("#notice")
            assert page.evaluate("ludus.game.echo") == sent
        points = [choice for choice in legal if choice < 81]
        if points and tick < 50:
            point = rng.choice(points)
            page.click_cell(point % 9, point // 9)
        else:
            page.click("button[data-choice='81']")
        page.wait(f"ludus.tick > {tick}")
    info = check_replay(page, "go")
    assert info.players[1] == "go-run@2"
    assert page.evaluate("ludus.drawn.crossings") == 81


@pytest.mark.slow
def test_pommerman_is_played_by_keys_that_repeat_while_held(page: LivePage) -> None:
    page.play("pommerman", ["person", "simple", "simple", "simple"], {"mode": "ffa"}, rate=2.0, seed=3)
    for key in ("ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp"):
        before = page.evaluate("ludus.game.moment.echo")
        number = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}[key]
        held = {"key": key, "code": key, "windowsVirtualKeyCode": number}
        page.browser.call("Input.dispatchKeyEvent", type="keyDown", **held)
        page.wait(f"ludus.game.moment.echo >= {before} + 2 || ludus.game.moment.legal[0] === undefined")
        page.browser.call("Input.dispatchKeyEvent", type="keyUp", **held)
    page.evaluate("ludus.game.send('rate', {value: 20})")
    page.browser.press(" ")  # and stay on the bomb
    page.wait(f"{OVER} || ludus.game.moment.view.agents[0].alive === false")
    info = check_replay(page, "pommerman")
    assert info.players == ("person", "simple", "simple", "simple") or info.players[1:] == ("simple",) * 3


def test_minirts_is_played_by_keys_against_a_network(page: LivePage) -> None:
    page.play("minirts", ["person", "rts@1"], {"tick_limit": 2500}, rate=FASTEST, seed=1)
    workers = (
        "ludus.game.moment.view.units.filter((unit) => unit.seat === 0 && unit.type === 'worker').length"
    )
    before = page.evaluate(workers)
    for turn, key in enumerate(("2", "2", "3", "6", "9", "2"), 1):
        page.browser.press(key)
        page.wait(f"{OVER} || ludus.tick > {300 * turn}")
    assert page.evaluate("ludus.game.moment.echo") >= 1
    assert page.evaluate(workers) > before
    info = check_replay(page, "minirts")
    assert info.players[1] == "rts@1"
    assert info.ticks >= 2500
    assert page.evaluate("ludus.drawn.units") > 0


def test_units_are_selected_and_ordered_by_the_mouse(page: LivePage) -> None:
    page.play("minirts", ["person", "noop"], {"commands": "units"}, seed=1, rate=2.0)
    page.wait("ludus.tick > 5")

    def point(what: str) -> tuple[float, float]:
        x, y = page.evaluate(
            "(() => { const b = document.getElementById('map').getBoundingClientRect();"
            f" const unit = {what}; const [x, y] = ludus.game.view.pointOf(unit.x, unit.y);"
            " return [b.x + x, b.y + y]; })()"
        )
        return x, y

    def own(kind: str) -> str:
        return f"ludus.game.units.units.find((unit) => unit.seat === 0 && unit.type === '{kind}')"

    def commanded(what: str) -> str:
        return f"ludus.game.units.chosen.every((unit) => unit.command === '{what}')"

    page.browser.click(*point(own("worker")))
    page.wait("document.getElementById('status').textContent === 'worker selected'")
    page.browser.click(*point("{x: 11, y: 11}"), button="right")  # further than one decision leads
    page.wait(commanded("move"))
    page.wait(f"Math.hypot({own('worker')}.x - 11, {own('worker')}.y - 11) < 2")
    assert page.evaluate("ludus.game.echo") >= 2
    page.browser.click(*point(own("resource")), button="right")
    page.wait(commanded("gather"))
    page.browser.mouse("mousePressed", *point("{x: -0.4, y: -0.4}"))
    page.browser.mouse("mouseMoved", *point("{x: 12, y: 12}"))
    page.browser.mouse("mouseReleased", *point("{x: 12, y: 12}"))
    page.wait("ludus.game.units.selected.size === 3")  # two workers and an attacker, no building
    page.browser.press("1")
    page.wait(commanded("attack"))
    page.browser.press("n")
    page.wait("ludus.game.units.selected.size === 1")
    workers = "ludus.game.units.units.filter((unit) => unit.seat === 0 && unit.type === 'worker').length"
    before = page.evaluate(workers)
    page.browser.click(*point(own("base")))
    page.wait("document.getElementById('status').textContent === 'base selected'")
    page.click("[data-order='gather']")
    page.wait("document.getElementById('notice').textContent === 'What is selected cannot gather'")
    page.click("[data-order='build_worker']")
    page.wait(f"{workers} > {before}")
    page.evaluate("ludus.game.send('resign')")
    check_replay(page, "minirts")


def test_a_match_is_set_up_and_played_by_keyboard_alone(page: LivePage) -> None:
    page.go("/play?game=tic_tac_toe&against=perfect", "!!document.querySelector('#start:not(:disabled)')")
    page.evaluate("localStorage.setItem('ludus.confirm', 'true')")  # as it is where fingers are used
    focused = "document.activeElement?.id"
    for _ in range(30):
        page.browser.press("Tab")
        if page.evaluate(focused) == "start":
            break
    assert page.evaluate(focused) == "start"
    page.browser.press("Enter")
    page.wait("location.pathname.startsWith('/play/') && window.ludus?.game.view && ludus.game.myTurn")
    for _ in range(10):
        page.browser.press("Tab")
        if page.evaluate(focused) == "map":
            break
    assert page.evaluate(focused) == "map"
    page.browser.press("ArrowLeft")  # the cursor appears in the middle
    page.wait("document.getElementById('status').textContent === 'B2, empty'")
    page.browser.press("ArrowUp")
    page.wait("document.getElementById('status').textContent === 'B3, empty'")
    page.browser.press("Enter")
    page.wait("document.getElementById('move').value === 'B3'")
    assert page.evaluate("ludus.tick") == 0
    page.browser.press("Enter")
    page.wait("ludus.tick === 2")
    page.wait("document.getElementById('status').textContent.includes(' plays ')")
    while not page.evaluate(OVER):
        tick = page.evaluate("ludus.tick")
        free = page.evaluate("ludus.game.moment.view.cells.findIndex((cell) => cell < 0)")
        page.evaluate("document.getElementById('move').focus()")
        for letter in page.evaluate(f"ludus.game.view.nameOf({free}).toLowerCase()"):
            page.browser.press(letter)
        page.browser.press("Enter")
        page.wait(f"{OVER} || (ludus.tick > {tick} && ludus.game.myTurn)")
    check_replay(page, "tic_tac_toe")
    page.evaluate("localStorage.removeItem('ludus.confirm')")
    assert page.text("#result b") in ("A draw", "You lost")


def test_moves_are_taken_back_typed_and_refused_with_a_reason(page: LivePage) -> None:
    page.play("connect_four", ["person", "four@1"])
    page.wait(MY_TURN)
    page.evaluate("ludus.game.type('4')")
    page.wait("ludus.tick === 2 && ludus.game.myTurn")
    assert page.evaluate("ludus.game.log.map((move) => move.seat)") == [0, 1]
    page.click("#take-back")
    page.wait("ludus.tick === 0")
    assert page.evaluate("ludus.game.log.length") == 0
    for text, why in (("9", "There is no move 9"), ("", "Type a move first"), ("d9", "There is no move d9")):
        assert page.evaluate(f"ludus.game.type({text!r})") is False
        assert page.evaluate("ludus.game.notice").startswith(why)
    page.click("#resign")
    assert page.evaluate("document.getElementById('resign-dialog').open")
    page.browser.press("Escape")
    assert page.evaluate(OVER) is False
    page.evaluate("ludus.game.type('d')")  # the label of the column
    page.wait("ludus.tick === 2")
    page.click("#resign")
    page.click("#resign-yes")
    info = check_replay(page, "connect_four")
    assert info.ticks == 2
    assert page.text("#result b") in ("You lost", "No result")


def test_fingers_confirm_their_moves_and_a_clock_runs(page: LivePage) -> None:
    page.play("connect_four", ["person", "tactical"], clock_s=60, width=390, height=844)
    assert not page.evaluate("document.getElementById('confirm').checked")  # by a mouse
    page.browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=1)
    page.evaluate("window.before = true; location.reload()")
    page.wait(f"!window.before && document.body !== null && {PLAYING}")
    assert page.evaluate("document.getElementById('confirm').checked")
    page.wait("/^(0:[45]\\d|1:00)$/.test(document.querySelector('.seat-clock')?.textContent ?? '')")
    page.click_cell(2, 3)
    page.wait("document.getElementById('move').value === '3'")
    assert page.evaluate("ludus.tick") == 0
    page.click_cell(2, 3)
    page.wait("ludus.tick === 2")


def test_a_key_starts_a_typed_move_and_passes_by_no_accident(page: LivePage) -> None:
    page.play("go", ["person", "tactical"], {"size": 9})
    page.wait(MY_TURN)
    for key in ("1", "Escape"):
        page.browser.press(key)
    assert page.evaluate("document.getElementById('move').value") == "1"
    page.browser.press("Enter")
    page.wait("document.getElementById('notice').textContent.startsWith('There is no move 1')")
    assert page.evaluate("ludus.tick") == 0
    page.evaluate("document.getElementById('move').select()")
    for key in ("p", "a", "s", "s", "Enter"):
        page.browser.press(key)
    page.wait("ludus.tick === 2")
    assert page.evaluate("ludus.game.log[0].text") == "pass"


def test_a_lost_connection_is_said_and_the_match_resumes(page: LivePage) -> None:
    page.play("minirts", ["person", "noop"], rate=2.0)
    page.wait("ludus.tick > 10")
    page.evaluate(
        "(() => { const open = ludus.game.connection.open.bind(ludus.game.connection);"
        " ludus.game.connection.open = () => {}; window.again = open;"
        " ludus.game.connection.socket.close(); })()"
    )
    page.wait("document.getElementById('match-status').textContent === 'Connection lost, trying again'")
    held = page.evaluate("ludus.tick")
    assert page.evaluate("ludus.act(0)") is False
    page.evaluate("window.again()")
    page.wait(f"ludus.game.link.state === 'open' && ludus.tick > {held} + 5")
    assert page.evaluate(f"ludus.tick < {held} + 2000")
    page.click("#pause")
    page.wait("ludus.game.moment.paused")
    stood = page.evaluate("ludus.tick")
    page.click("#pause")
    page.wait(f"ludus.tick > {stood}")
    page.evaluate("ludus.game.send('resign')")
    page.wait(OVER)


def test_two_players_are_watched_with_their_thoughts(page: LivePage) -> None:
    page.play("connect_four", ["four@1", "mcts:30"], rate=8.0)
    assert page.evaluate("document.getElementById('resign')") is None
    page.wait("document.querySelectorAll('#thoughts .thought').length === 2")
    assert page.evaluate("document.querySelectorAll('#thoughts .bars li').length") > 4
    page.wait("ludus.drawn.overlay > 0")
    page.click("#hints")
    page.wait("document.querySelectorAll('#thoughts .thought').length === 0")
    page.wait(OVER)
    assert page.text("#result b").endswith("won") or page.text("#result b") == "A draw"
    assert page.evaluate("ludus.act(0)") is False
    assert page.evaluate("ludus.drawn.overlay") == 0
    page.wait("document.getElementById('analyse-start') !== null")
    assert page.evaluate("document.getElementById('analyst').value") == "four@1"
    page.click("#analyse-start")
    page.wait("location.pathname.startsWith('/replay/') && document.body?.classList.contains('ready')")
    assert page.evaluate("ludus.match.thoughts.map((opinion) => opinion.name.split('/').at(-1))") == [
        "four@1"
    ]


def test_players_that_do_not_fit_are_shown_with_the_reason(page: LivePage) -> None:
    page.go("/play?game=go", "!!document.querySelector('#start:not(:disabled)')")
    shown = page.evaluate(
        "[...document.querySelectorAll('#seat-1 option')].map((o) => [o.value, o.disabled, o.textContent])"
    )
    assert not [name for name, disabled, _ in shown if disabled or name == "four@best"]
    assert page.text(".refused summary").startswith("not for this game: ")
    assert "expected weights of go" in page.text(".refused ul")
    page.evaluate(
        "(() => { const s = document.getElementById('seat-1'); s.value = 'ladder:go-run';"
        " s.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    page.wait("document.getElementById('strength-1') !== null")
    assert page.evaluate("document.getElementById('strength-1').max") == "3"
    page.evaluate("document.getElementById('strength-1').focus()")
    page.browser.press("Home")
    page.wait("document.querySelector('output[for=strength-1] b').textContent === 'random'")


def test_a_run_shows_its_curves_and_versions(page: LivePage) -> None:
    page.go("/run/go-run", "document.querySelectorAll('#curves canvas').length > 0")
    assert "Win rate against random" in page.text("#curves .curves")
    assert "3 best" in page.text("#versions")
    page.go("/", "document.querySelectorAll('#runs tbody tr').length === 5")
    page.wait("document.querySelectorAll('#replays tbody tr').length > 0")


def test_names_are_shown_as_text_and_run_nothing(page: LivePage) -> None:
    page.go("/", "document.querySelectorAll('#runs tbody tr').length === 5")
    assert HOSTILE in page.text("#runs")
    run = page.evaluate(
        "[...document.querySelectorAll('#runs a')].find((a) => a.textContent.includes('img'))"
        ".getAttribute('href')"
    )
    page.go(run, "document.querySelectorAll('#curves canvas').length > 0")
    assert page.text("h1") == HOSTILE
    player = run.removeprefix("/run/") + "@best"
    page.go(f"/play?game=tic_tac_toe&against={player}", "!!document.querySelector('#start:not(:disabled)')")
    page.wait("document.querySelector('#seat-1').selectedOptions[0].textContent.includes('img')")
    page.play("tic_tac_toe", ["person", player])
    page.wait(MY_TURN)
    page.evaluate("ludus.game.type('b2')")
    page.wait("ludus.tick === 2")
    assert HOSTILE in page.text("#seats")
    assert HOSTILE in page.text("#status")
    assert page.evaluate("document.querySelector('img') === null && !window.hacked")


@pytest.mark.parametrize("path", ["/", "/play?game=go", "/run/go-run"])
def test_pages_fit_a_phone_and_can_be_read(page: LivePage, path: str) -> None:
    page.go(path, "document.querySelectorAll('.panel').length > 1", 390, 844)
    check_layout(page)


@pytest.mark.parametrize("game", ["go", "pommerman", "minirts", "leduc_poker", "matrix"])
def test_a_match_fits_a_phone_and_can_be_read(page: LivePage, game: str) -> None:
    opponents = {"go": ["tactical"], "pommerman": ["simple"] * 3, "minirts": ["simple"]}.get(
        game, ["uniform"]
    )
    page.play(game, ["person", *opponents], width=390, height=844)
    page.wait("document.querySelector('.play-controls') !== null")
    check_layout(page)


def check_layout(page: LivePage) -> None:
    """Nothing is wider than the window, targets are large enough, text stands out from its ground."""
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(CUT_TABLES) == []
    small = page.evaluate(SMALL_TARGETS)
    assert small == []
    for dark in (False, True):
        page.browser.theme(dark)
        assert page.evaluate(CONTRASTS) == []


CUT_TABLES = """
[...document.querySelectorAll('table')].filter((table) => table.getBoundingClientRect().right > innerWidth)
  .map((table) => table.outerHTML)
"""
SMALL_TARGETS = """
[...document.querySelectorAll('button, select, a, summary, input:not([type=checkbox]), label.check')]
  .filter((e) => e.offsetParent)
  .map((e) => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
  .filter(([, box]) => box.height < 43.9 || box.width < 24)
  .map(([html, box]) => `${html} ${box.width}x${box.height}`)
"""
# Texts whose contrast with the colour behind them is below 4.5. A disabled button has no bound.
CONTRASTS = """
(() => {
  const rgb = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = rgb(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const e of document.querySelectorAll('#app *')) {
    if (!e.offsetParent || e.matches(':disabled, option, canvas')) continue;
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push(`${ratio.toFixed(2)} ${e.outerHTML.slice(0, 120)}`);
  }
  return low;
})()
"""

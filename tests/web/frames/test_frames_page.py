"""The page and the video of a match of a Python game, in a browser."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from ludus.games.names import typed
from ludus.web.replay_page import to_html
from tests.web.browser import Browser
from tests.web.frames.games import LENGTH, PICTURE, game_file, random_replay
from tests.web.test_replay_page import HOSTILE

RED = """(() => { const map = document.getElementById('map'), copy = document.createElement('canvas');
copy.width = map.width; copy.height = map.height; const c = copy.getContext('2d', {willReadFrequently: true});
c.drawImage(map, 0, 0); const row = c.getImageData(0, Math.floor(map.height / 2), map.width, 1).data;
const found = []; for (let x = 0; x < map.width; x++) if (row[4 * x] > 200) found.push(x);
return found.length ? (found[0] + found.at(-1)) / 2 / map.width : -1; })()"""

Opened = Callable[..., None]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Opened:
    """Write the page of random play of a game, and open it."""

    def open_page(game: str | Path, fragment: str = "tick=3", width: int = 1280, **params: str) -> None:
        page = tmp_path / "match.html"
        text = to_html(random_replay(game, **params), game=typed(str(game)))
        assert "http://" not in text.replace("http-equiv", "").replace("http://www.w3.org/", "")
        assert "https://" not in text.replace("http-equiv", "").replace("http://www.w3.org/", "")
        page.write_text(text, encoding="utf-8")
        browser.open(page, fragment, width)

    return open_page


def test_pictures_follow_the_timeline(opened: Opened, browser: Browser, tmp_path: Path) -> None:
    opened(game_file(tmp_path, PICTURE, "page_drawn"))
    browser.wait("ludus.drawn.pictures > 0")
    assert browser.evaluate("ludus.match.seats") == ["random"]
    assert browser.evaluate("ludus.drawn.kind") == "picture"
    places = []
    for tick in range(LENGTH + 1):
        browser.evaluate(f"ludus.seek({tick})")
        browser.wait(f"ludus.view.bitmaps.has(ludus.match.film.at[{tick}])")
        places.append(browser.evaluate(RED))
    steps = [round(30 * (b - a)) for a, b in itertools.pairwise(places)]
    texts = browser.evaluate("ludus.match.decisions.map(d => d.text)")
    assert steps == [{"left": -1, "right": 1}[text] for text in texts]
    numbers = browser.evaluate("document.querySelector('#seats .numbers').textContent")
    assert numbers == f"return+{0.5 * LENGTH:g}reward+0.5"
    assert "return +6" in browser.evaluate("document.getElementById('banner').textContent")
    assert browser.evaluate("document.getElementById('film-notes').textContent") == ""


def test_a_match_is_played_to_its_end(opened: Opened, browser: Browser, tmp_path: Path) -> None:
    opened(game_file(tmp_path, PICTURE, "page_played"), "tick=0")
    browser.press("ArrowUp")
    browser.press(" ")
    browser.wait(f"ludus.tick === {LENGTH} && !ludus.playing")
    assert browser.evaluate("ludus.drawn.pictures") > 2
    assert browser.evaluate("location.hash") == "#tick=0"


def test_a_table_has_names_and_numbers(opened: Opened, browser: Browser, tmp_path: Path) -> None:
    opened(game_file(tmp_path, "", "page_table"), width=390)
    rows = browser.evaluate(
        "[...document.querySelectorAll('.look tr')].map(r => [...r.children].map(c => c.textContent))"
    )
    assert [row[0] for row in rows] == ["x", "t"]
    assert rows[1][1] == "3"
    notes = browser.evaluate("document.getElementById('film-notes').textContent")
    assert notes == "This game draws nothing: the table shows what the seats observe."
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_a_text_has_its_colours_and_no_markup(opened: Opened, browser: Browser, tmp_path: Path) -> None:
    render = f'return "a\\x1b[41mb\\x1b[0m" + {HOSTILE!r}'
    opened(game_file(tmp_path, render, "page_text"))
    assert browser.evaluate("document.querySelector('.look pre').textContent").startswith("ab")
    colours = "[...document.querySelectorAll('.look span')].map(s => s.style.background)"
    assert browser.evaluate(colours) == ["", "rgb(192, 57, 43)", ""]
    assert browser.evaluate("document.querySelectorAll('.look script, .look img').length") == 0


@pytest.mark.slow
def test_a_render_that_fails_midway_changes_to_the_table(
    opened: Opened, browser: Browser, tmp_path: Path
) -> None:
    opened(game_file(tmp_path, "if self.t >= 5: 1 / 0\n        " + PICTURE, "page_later"), "tick=2")
    browser.wait("ludus.drawn.pictures > 0")
    assert browser.evaluate("document.querySelector('.look').hidden") is True
    browser.evaluate("ludus.seek(8)")
    assert browser.evaluate("document.querySelector('.look').hidden") is False
    assert browser.evaluate("document.querySelectorAll('.look tr').length") == 2
    browser.evaluate("ludus.seek(2)")
    browser.wait("!document.getElementById('map').classList.contains('away')")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "params", "shape"),
    [
        ("gymnasium/CartPole-v1", {}, [600, 400]),
        ("gymnasium/FrozenLake-v1", {}, [256, 256]),
        ("atari/Pong", {"max_frames": "400"}, [160, 210]),
        ("pettingzoo/classic/connect_four_v3", {}, None),
        ("vizdoom/basic", {}, [160, 120]),
    ],
)
def test_installed_games_draw_themselves(
    opened: Opened,
    browser: Browser,
    game: str,
    params: dict[str, str],
    shape: list[int] | None,
) -> None:
    module = {"atari": "ale_py", "gymnasium": "pygame"}.get(game.partition("/")[0], game.partition("/")[0])
    pytest.importorskip(module)
    opened(game, **params)
    assert browser.evaluate("document.getElementById('film-notes').textContent") == ""
    browser.wait("ludus.drawn.pictures > 0")
    size = browser.evaluate("(b => [b.width, b.height])(ludus.view.bitmaps.values().next().value)")
    assert shape is None or size == shape
    assert browser.evaluate("ludus.match.decisions.length") > 0


@pytest.mark.slow
def test_a_video_shows_the_match_at_its_pace(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    from ludus.web.video import FPS, to_video

    path = game_file(tmp_path, PICTURE, "video_drawn")
    data = random_replay(path)
    frames = to_video(data, tmp_path / "match.mp4", width=320, game=str(path))
    assert frames == pytest.approx(LENGTH / 10 * FPS, abs=4)
    with av.open(str(tmp_path / "match.mp4")) as container:
        shown = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(shown) == frames
    assert shown[0].shape[1] == 320
    lit = [int(picture[picture.shape[0] // 2, :, 0].argmax()) for picture in shown]
    assert len(set(lit)) > 2

"""Thoughts on the page in a real browser: curve, bars, lists, keys, what the fog of a seat hides."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from ludus.games import replays
from ludus.games import spec as spec_of
from ludus.web.from_replay import recording_of
from ludus.web.recording import Recording
from ludus.web.replay_page import render, to_html
from ludus.web.thoughts.thought import HeadNames, HeadThought, Opinion, Sees, Thought
from tests.web import synthetic
from tests.web.browser import Browser
from tests.web.test_replay_page import HOSTILE, parts

HEADS = (HeadNames("move", synthetic.ACTIONS),)
NOW = "[...document.querySelectorAll('.thought')]"


def value_at(number: int, seat: int) -> float:
    """A curve with one large drop of each seat, and small ones."""
    return (0.8 if number < 12 + 3 * seat else -0.5) - 0.01 * (number % 3)


def opinion(name: str = "me@7", sees: Sees = "own", heads: tuple[HeadNames, ...] = HEADS) -> Opinion:
    made = synthetic.recording(ticks=1200, every=10).decisions
    thoughts = []
    for number, decision in enumerate(made):
        choice = synthetic.ACTIONS.index(decision.text)
        rare = number == 17
        p = [0.02 if c != (choice + rare) % 6 else 0.9 for c in range(6)]
        order = sorted(range(6), key=lambda c: -p[c])
        head = HeadThought(tuple(order), tuple(p[c] for c in order))
        action = (choice,)
        thoughts.append(
            Thought(
                decision.tick, decision.seat, value_at(number // 2, decision.seat), (head,), action, p[choice]
            )
        )
    return Opinion(name, heads, "network", sees, "", tuple(thoughts))


def page_of(path: Path, *opinions: Opinion) -> Path:
    recording: Recording = synthetic.recording(ticks=1200, every=10)
    path.write_text(render(msgspec.structs.replace(recording, thoughts=opinions)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    values = HeadThought((3, 1), (), (0.5, -0.25))
    thoughts = tuple(Thought(t.tick, t.seat, -0.1, (values,), (1,)) for t in opinion().thoughts)
    other = Opinion("other", HEADS, "q", "own", "", thoughts)
    return page_of(tmp_path_factory.mktemp("thoughts") / "two.html", opinion(), other)


def test_the_curve_of_each_seat_is_drawn_and_a_click_goes_there(browser: Browser, two: Path) -> None:
    browser.open(two, height=1800)
    thoughts = opinion().thoughts
    assert browser.evaluate("ludus.thoughts.curves") == 4
    assert browser.evaluate("ludus.thoughts.points") == 2 * len(thoughts)
    painted = browser.evaluate(
        """(() => { const c = document.querySelector('canvas.values');
        const copy = document.createElement('canvas'); copy.width = c.width; copy.height = c.height;
        const x = copy.getContext('2d', {willReadFrequently: true}); x.drawImage(c, 0, 0);
        const d = x.getImageData(0, 0, c.width, c.height).data, seen = new Set();
        for (let i = 0; i < d.length; i += 4) seen.add(d.slice(i, i + 3).join());
        return ['11,102,178', '194,82,12'].map(colour => seen.has(colour)); })()"""
    )
    assert painted == [True, True]
    box = browser.evaluate(
        "(({x, y, width}) => [x, y, width])(document.querySelector('canvas.values').getBoundingClientRect())"
    )
    browser.click(box[0] + box[2] / 2, box[1] + 40)
    assert abs(browser.evaluate("ludus.tick") - 600) < 10


def test_the_choices_of_the_decision_at_hand_are_bars(browser: Browser, two: Path) -> None:
    browser.open(two, "tick=430")
    now = {t.seat: t for t in opinion().thoughts if t.tick == 400}
    found = browser.evaluate(
        NOW + ".map(t => [...t.querySelectorAll('.bars li')].map(b => [b.querySelector('.bar-label').title, "
        "b.querySelector('.bar-text').textContent, b.querySelector('.bar-fill').style.width, b.className]))"
    )
    for seat, bars in enumerate(found):
        (head,) = now[seat].heads
        assert [bar[0] for bar in bars] == [synthetic.ACTIONS[c] for c in head.choices]
        shares = [f"{100 * p:.0f}%" if p > 0.1 else f"{100 * p:.1f}%" for p in head.p]
        assert [bar[1] for bar in bars] == shares
        assert [bar[2] for bar in bars] == [f"{100 * p:.0f}%" for p in head.p]
        assert [bar[3] == "made" for bar in bars] == [c == now[seat].action[0] for c in head.choices]
    assert browser.evaluate("ludus.thoughts.bars") == 12
    assert browser.evaluate(NOW + ".map(t => t.querySelector('h3 b').textContent)") == [
        f"{now[seat].value:+.2f}" for seat in (0, 1)
    ]


def test_the_lists_name_drops_and_rare_decisions_and_a_click_seeks(browser: Browser, two: Path) -> None:
    browser.open(two, height=2200)
    rows = "[...document.querySelectorAll('.marks:nth-of-type({}) .row')]"
    drops = browser.evaluate(rows.format(1) + ".map(r => r.textContent)")
    first, second = (t for t in opinion().thoughts if (t.tick // 50, t.seat) in ((11, 0), (14, 1)))
    assert first.tick == 550
    assert second.tick == 700
    assert len(drops) == 10
    assert {re.sub(r"\D.*", "", text) for text in drops[:2]} == {"550", "700"}
    assert all("−1.2" in text for text in drops[:2])
    browser.evaluate(rows.format(1) + "[0].click()")
    assert browser.evaluate("ludus.tick") in (550, 700)
    rare = browser.evaluate(rows.format(2) + ".map(r => r.textContent)")
    assert len(rare) == 1
    browser.evaluate("document.querySelectorAll('details.marks')[1].open = true")
    browser.evaluate(rows.format(2) + "[0].click()")
    assert browser.evaluate("ludus.tick") == opinion().thoughts[17].tick
    assert "2.0%" in rare[0]


def test_keys_go_from_mark_to_mark_and_to_the_other_opinion(browser: Browser, two: Path) -> None:
    browser.open(two)
    marks = browser.evaluate("ludus.thoughts.marks")
    assert marks == sorted(marks)
    assert {opinion().thoughts[17].tick, 550, 700} <= set(marks)
    for tick in marks:
        if tick > 0:
            browser.press("e")
            assert browser.evaluate("ludus.tick") == tick
    browser.press("e")
    assert browser.evaluate("ludus.tick") == marks[-1]
    browser.press("w")
    assert browser.evaluate("ludus.tick") == marks[-2]
    browser.press("t")
    assert browser.evaluate("ludus.thoughts.opinion") == 1
    assert browser.evaluate("document.getElementById('opinion1').checked")
    assert browser.evaluate(NOW + "[0].querySelectorAll('.bar-text')[0].textContent") == "+0.50"
    assert browser.evaluate("ludus.thoughts.marks") == []
    browser.press("t")
    assert browser.evaluate("ludus.thoughts.opinion") == 0
    help_text = browser.evaluate("document.getElementById('keys').textContent")
    assert "thoughts of the other player" in help_text
    assert "thoughts on the board" not in help_text


def test_pages_without_thoughts_have_neither_panel_nor_keys(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.evaluate("ludus.thoughts") is None
    assert browser.evaluate("document.getElementById('thoughts-panel').hidden")
    assert "thoughts" not in browser.evaluate("document.getElementById('keys').textContent")
    for key in "ewtv":
        browser.press(key)
    assert browser.evaluate("ludus.tick") == 0


def test_the_fog_of_a_seat_hides_thoughts_of_others_and_values_that_saw_them(
    browser: Browser, tmp_path: Path
) -> None:
    browser.open(page_of(tmp_path / "p.html", opinion(sees="all"), opinion()), "tick=430&fog=1")
    labels = "NOW.map(t => t.getAttribute('aria-label'))".replace("NOW", NOW)
    assert browser.evaluate(labels) == ["Thought about seat 1, tick 400"]
    assert browser.evaluate("ludus.thoughts.curves") == 1  # of the other opinion, which saw its own seat
    assert browser.evaluate(NOW + "[0].querySelector('h3 b')") is None
    assert "for spectators" in browser.evaluate("document.getElementById('thoughts').textContent")
    assert browser.evaluate("document.querySelectorAll('.marks:not([hidden]) .row').length") == 1
    browser.press("f")
    assert browser.evaluate("ludus.fog") == -1
    assert browser.evaluate("ludus.thoughts.curves") == 4
    assert len(browser.evaluate(labels)) == 2


def test_hostile_names_and_labels_are_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    heads = (HeadNames(HOSTILE, (HOSTILE,) * 6),)
    path = page_of(tmp_path / "p.html", opinion(HOSTILE, heads=heads), opinion(HOSTILE, heads=heads))
    html = path.read_text(encoding="utf-8")
    assert html.count("<script") == 2
    policy, *_ = parts(html)
    assert "unsafe" not in policy
    browser.open(path, "tick=430")
    shown = browser.evaluate("document.getElementById('thoughts').textContent")
    assert "<img src=x onerror=alert(2)>" in shown
    assert browser.evaluate("document.querySelectorAll('#thoughts img, #thoughts script').length") == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window(browser: Browser, tmp_path: Path, width: int) -> None:
    long = "a-very-long-name-of-a-run-" * 6
    heads = (HeadNames("move", tuple(f"{long}{c}" for c in range(6))),)
    browser.open(page_of(tmp_path / "p.html", opinion(long, heads=heads), opinion(long)), "tick=430", width)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate(
        "[...document.querySelectorAll('#thoughts *:not(.sr-only)')]"
        ".every(e => e.getBoundingClientRect().right <= innerWidth)"
    )


def test_probabilities_and_visits_are_drawn_on_a_board(browser: Browser, tmp_path: Path) -> None:
    bot = spec_of("connect_four").bots[0].name
    replay = replays.record("connect_four", {}, bots=[bot], seed=3)
    path = tmp_path / "p.html"
    path.write_text(to_html(replay, think=("mcts:40",)), encoding="utf-8")
    browser.open(path, "tick=3")
    assert browser.evaluate("ludus.thoughts.overlay") == 7
    assert browser.evaluate("ludus.view.overlay.kind") == "visits"
    drawn = browser.evaluate("ludus.drawn.overlay")
    assert 0 < drawn <= 7
    values = browser.evaluate("[...ludus.view.overlay.values]")
    assert sum(values) >= 39
    browser.press("v")
    assert browser.evaluate("ludus.drawn.overlay") == 0
    assert browser.evaluate("ludus.view.overlay") is None
    made = recording_of(replay).decisions[3]
    (played,) = browser.evaluate(
        NOW + f"[{made.seat}].querySelectorAll('.made .bar-label').values().map(b => b.title).toArray()"
    )
    assert played == made.text

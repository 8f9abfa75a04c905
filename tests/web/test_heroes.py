"""The table of heroes beside a map, and the net worth of their teams in the timeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ludus.games import replays
from ludus.web.columns import Writer
from ludus.web.recording import ViewError
from ludus.web.replay_page import to_html
from ludus.web.rts.document import HeroView, MapView, RtsView, UnitView
from ludus.web.rts.heroes import HERO_COLUMNS, HeroColumns
from tests.web.browser import Browser
from tests.web.live import LivePage
from tests.web.serving import served

EVERY = 50


@pytest.fixture(scope="module")
def match() -> bytes:
    return replays.record("moba", {"heroes": 3}, seed=4, bots=("simple",) * 6)


def documents(match: bytes) -> dict[int, dict[str, Any]]:
    views = [json.loads(text) for text in replays.frames(match, EVERY)]
    return {view["tick"]: view for view in views}


def table(browser: Browser) -> list[list[str]]:
    rows = "[...document.querySelectorAll('#heroes tbody tr')]"
    texts: list[list[str]] = browser.evaluate(
        f"{rows}.map((row) => [...row.cells].map((c) => c.textContent))"
    )
    return texts


def row_of(hero: dict[str, Any], hp: int) -> list[str]:
    """Write the row of a hero of which everything is known."""
    return [
        f"seat {hero['seat']}: {hero['class']}",
        f"{hero['level']}/{hero['tier']}",
        str(hero["gold"]),
        str(hero["worth"]),
        f"↻{hero['respawn']}" if hero["respawn"] else str(hp),
        str(hero["mana"]),
        "/".join(str(left) if left else "✓" for left in hero["cooldowns"]),
        f"{hero['kills']}/{hero['deaths']}/{hero['last_hits']}",
    ]


def test_the_table_says_what_the_documents_say(match: bytes, browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "heroes.html"
    path.write_text(to_html(match, EVERY), encoding="utf-8")
    browser.go(path.as_uri())
    views = documents(match)
    dead = 0
    for tick in (0, 1000, 1500, 3000):
        browser.evaluate(f"ludus.seek({tick})")
        hp = {unit["id"]: unit["hp"] for unit in views[tick]["units"]}
        assert table(browser) == [row_of(hero, hp.get(hero["id"], -1)) for hero in views[tick]["heroes"]]
        dead += sum(hero["respawn"] > 0 for hero in views[tick]["heroes"])
    assert dead > 0
    box = "document.querySelector('#heroes')"
    assert browser.evaluate(f"{box}.scrollWidth <= {box}.clientWidth")

    # Net worth: the higher side above or below the middle of the timeline.
    worth = [[h["worth"] for h in view["heroes"]] for view in views.values()]
    lead = [sum(w[:3]) - sum(w[3:]) for w in worth]
    columns = browser.evaluate("ludus.view.curve.columns.map((side) => [...side])")
    assert columns == [[max(0, x) for x in lead], [max(0, -x) for x in lead]]
    assert max(lead) > 0 > min(lead)
    assert browser.evaluate("ludus.timeline.curve") == "lead in net worth"
    assert browser.evaluate("ludus.view.curve.seats") == [0, 3]

    # In the fog of a seat: all of its team, and of the others the looks of those in sight.
    hidden = shown = 0
    for tick in (1000, 1500, 3000):
        browser.evaluate(f"ludus.seek({tick}); ludus.set({{fog: 4}})")
        in_sight = set(browser.evaluate("ludus.scene.units.map((unit) => unit.track.id)"))
        hp = {unit["id"]: unit["hp"] for unit in views[tick]["units"]}
        for hero, row in zip(views[tick]["heroes"], table(browser), strict=True):
            whole = row_of(hero, hp.get(hero["id"], -1))
            if hero["seat"] >= 3:
                assert row == whole
            elif hero["id"] in in_sight:
                assert row == [*whole[:2], "–", "–", whole[4], "–", "–", "–"]
                shown += 1
            else:
                assert row == [f"seat {hero['seat']}: ?", *["–"] * 7]
                hidden += 1
    assert hidden > 0
    assert shown > 0


def test_a_person_sees_the_numbers_of_the_own_team_alone(session_browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as client:
        page = LivePage(session_browser, client)
        session_browser.errors, session_browser.requests = [], []
        page.play("moba", ["person", *["simple"] * 5], {"heroes": 3}, rate=4.0)
        page.wait("ludus.tick > 40")
        rows = table(session_browser)
        heroes = page.evaluate("ludus.game.moment.view.heroes")
        page.check()
        for session in client.server.matches.listed():
            session.stop()
    assert [len(row) for row in rows] == [8] * 6
    assert all(row[2].isdigit() and row[5].isdigit() for row in rows[:3])
    assert all(row[2:4] == ["–", "–"] and row[5:] == ["–"] * 3 for row in rows[3:])
    assert all(hero.keys() <= {"seat", "id", "class", "level", "tier"} for hero in heroes[3:])


def view(*heroes: HeroView) -> RtsView:
    unit = UnitView(7, 0, "carry", 1.0, 1.0, 30, 90)
    return RtsView(0, MapView(4, 4), [unit], money=[5, 6], heroes=list(heroes))


def test_columns_hold_known_numbers_and_minus_one_for_the_others() -> None:
    columns = HeroColumns()
    columns.see(view(HeroView(0, "carry", id=7, level=2, cooldowns=[3, 0]), HeroView(1, "tank")))
    assert columns.header()["heroes"] == [{"seat": 0, "class": "carry"}, {"seat": 1, "class": "tank"}]
    first = [7, 30, 90, 2, -1, -1, -1, -1, -1, 3, 0, -1, -1, -1, -1]
    expected = Writer()
    for value in first + [-1] * len(HERO_COLUMNS):
        expected.uint(1 if value else 0)
        if value:
            expected.uint(0)
            expected.sint(value)
    out = Writer()
    columns.write(out)
    assert out.data == expected.data


@pytest.mark.parametrize("seats", [(0, 0), (-1,), (2,)])
def test_heroes_of_no_seat_are_refused(seats: tuple[int, ...]) -> None:
    with pytest.raises(ViewError, match="expected at most one for each seat of the match"):
        HeroColumns().see(view(*map(HeroView, seats)))


def test_heroes_that_change_are_refused() -> None:
    columns = HeroColumns()
    columns.see(view(HeroView(0, "carry")))
    with pytest.raises(ViewError, match="the heroes are"):
        columns.see(view(HeroView(0, "tank")))

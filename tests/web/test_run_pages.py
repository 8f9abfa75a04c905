"""The start page and the page of a run in a browser: words, plots, live numbers, small screens."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ludus.storage.rundir import RunDirectory
from tests.web.browser import Browser
from tests.web.live import LivePage, checked_page
from tests.web.serving import Client, served
from tests.web.small_runs import make_run
from tests.web.test_run_answers import HOSTILE, LEARNED, evaluation, match, row, write

READY = "document.querySelector('#about') !== null"
LISTED = "document.querySelectorAll('#runs tbody tr').length >= 3"
ROWS = "[...document.querySelectorAll('#runs tbody tr td:nth-child(2) a')].map((a) => a.textContent)"
CURVES = "import('/static/app/curve.js').then((m) => m.%s)"
RETURNS = (-2.5, 4.0, 9.6)


def returns_of(run: RunDirectory) -> None:
    """Write the log of a run of a game of one seat that learned."""
    rows: list[dict[str, object]] = []
    for number, value in enumerate(RETURNS):
        one = {"against": "alone", "alone": True, "matches": 9, "mean_return": value}
        ends = {"eval/alone/return_low": value - 1, "eval/alone/return_high": value + 1}
        named = {"eval/alone/mean_return": value, **ends}
        rows.append({**row(1000 * number, "evaluation"), "results": [one], "best": True, **named})
        rows.append(row(1000 * number + 500, time__minutes=1.0 * number, rollout__running_return=value))
    write(run, *rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    write(make_run(folder / "learned", versions=(1, 2)), *LEARNED)
    returns_of(make_run(folder / HOSTILE, versions=(1,)))
    sweep = folder / "rates"
    sweep.mkdir()
    (sweep / "sweep.json").write_text("{}")
    for seed in (1, 2):
        write(make_run(sweep / "runs" / f"lr=0.1,seed={seed}", versions=()), evaluation(100, 0.3 * seed))
    return folder


@pytest.fixture
def client(folder: Path) -> Iterator[Client]:
    with served(folder) as made:
        yield made


@pytest.fixture
def page(session_browser: Browser, client: Client) -> Iterator[LivePage]:
    yield from checked_page(session_browser, client)


def choose(page: LivePage, selector: str, value: str) -> None:
    page.evaluate(
        f"{{ const e = document.querySelector({selector!r}); e.value = {value!r};"
        " e.dispatchEvent(new Event(e.tagName === 'SELECT' ? 'change' : 'input', {bubbles: true})) }"
    )


def test_a_page_follows_its_run_and_says_that_it_was_removed(page: LivePage, folder: Path) -> None:
    run = RunDirectory(folder / "learned")
    page.go("/run/learned", f"{READY} && document.querySelectorAll('#curves canvas').length === 2")
    assert page.text(".headline b") == "87% against simple"
    titles = "[...document.querySelectorAll('#curves figcaption')].map((f) => f.textContent)"
    assert page.evaluate(titles) == [
        "Win rate against simple, evaluations",
        "Win rate against simple, training matches",
    ]
    assert "80% (70% to 90%)" in page.text("#curves .keys")
    assert "final/" not in page.text("main")
    page.evaluate("document.querySelectorAll('#more-curves summary').forEach((s) => s.click())")
    page.wait("document.querySelectorAll('#more-curves canvas').length === 1")
    assert page.text("#more-curves figcaption") == "Loss of the value"
    run.matches.write_text(json.dumps(match(7, players=["learned@2", HOSTILE])) + "\n")
    page.evaluate("document.querySelector('#run-matches summary').click()")
    page.wait("document.querySelector('#run-matches tbody tr') !== null")
    shown = "[...document.querySelectorAll('#run-matches tbody td')].map((cell) => cell.textContent)"
    told = ["evaluation of version 2", f"learned@2 – {HOSTILE}", "won by learned@2", "40"]
    assert page.evaluate(shown)[:4] == told
    with run.metrics_path.open("a") as file:
        file.write(json.dumps(evaluation(300, 0.93, "final", final=True)).replace(": ", ":") + "\n")
    page.wait("document.querySelector('.headline b').textContent === '93% against simple'")
    shutil.rmtree(run.path)
    page.wait("(document.querySelector('.failure')?.textContent ?? '').includes('removed')")
    assert page.text(".headline b") == "93% against simple"
    page.browser.errors.clear()  # the console names the refused request


def test_the_start_page_lists_results_filters_and_compares(page: LivePage, folder: Path) -> None:
    page.go("/", LISTED)
    assert sorted(page.evaluate(ROWS)) == sorted([HOSTILE, "learned", "rates"])
    listed = page.text("#runs")
    assert "87% against simple" in listed
    assert "mean return 9.6" in listed
    assert "sweep of 2 runs" in listed
    assert "60% against simple" in listed  # the best run of the sweep
    assert page.evaluate("document.querySelector('#runs img')") is None
    links = "[...document.querySelectorAll('#runs td:nth-child(2) a')].map((a) => new URL(a.href).pathname)"
    assert {"/run/learned", "/sweep/rates"} < set(page.evaluate(links))
    learned = folder / "learned" / "config.toml"
    learned.write_text(f"{learned.read_text()}\n[pool]\nslots = 8\n")
    page.evaluate("document.querySelector('#runs-group').focus()")
    page.wait("[...document.querySelector('#runs-group').options].some((o) => o.text === 'slots')")
    choose(page, "#runs-group", "setting:pool.slots")
    page.wait("document.querySelectorAll('#runs h3').length === 3")
    assert "slots = 8" in page.text("#runs")
    choose(page, "#runs-group", "nothing")
    choose(page, "#runs-order", "name")
    page.wait(f"({ROWS})[1] === 'learned'")
    choose(page, "#runs-text", "LEARN finished")
    page.wait("document.querySelectorAll('#runs tbody tr').length === 0")
    choose(page, "#runs-text", "LEARN")
    page.wait(f"JSON.stringify({ROWS}) === '[\"learned\"]'")
    choose(page, "#runs-text", "")
    page.wait(LISTED)
    page.evaluate("document.querySelectorAll('#runs tbody input').forEach((box) => box.click())")
    page.wait("document.querySelector('#compare') !== null")
    page.go(page.evaluate("document.querySelector('#compare').getAttribute('href')"), LISTED)
    page.wait("document.querySelectorAll('#beside canvas').length === 2")
    assert "Mean return, evaluations" in page.text("#beside")
    assert "slots" in page.text("#beside details")


def test_an_axis_holds_all_that_was_learned(page: LivePage) -> None:
    page.go("/", LISTED)
    low, high = page.evaluate(CURVES % f"rangeOf('number', {[*RETURNS, None]})".replace("None", "null"))
    assert low < -2.5 < 9.6 < high
    assert high - low < 1.5 * 12.1
    assert page.evaluate(CURVES % "rangeOf('rate', [0.9, 0.91])") == [0, 1]
    low, high = page.evaluate(CURVES % "rangeOf('number', [7, 7])")
    assert low < 7 < high
    low, high = page.evaluate(CURVES % "rangeOf('number', [-1.7e308, 1.7e308])")
    assert low < high
    assert page.evaluate(CURVES % "valueText(0.8749, 'rate')") == "87.5%"


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/", "/run/learned", "/?compare=learned&compare=rates.missing"])
def test_nothing_is_wider_than_a_phone(page: LivePage, path: str) -> None:
    for dark in (False, True):
        page.browser.go(
            page.server.url(path), 390, 844, dark, "document.querySelector('.panel table') !== null"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        broken = (
            "[...document.querySelectorAll('#runs td, #results td')].filter((td) => td.offsetParent"
            " && td.clientWidth > 0 && td.clientWidth < 20).length"
        )
        assert page.evaluate(broken) == 0
    page.browser.errors.clear()  # the console names the run that is not there


@pytest.mark.slow
def test_a_run_of_a_hostile_name_is_text(page: LivePage) -> None:
    page.go("/", LISTED)
    link = f"[...document.querySelectorAll('#runs a')].find((a) => a.textContent === {HOSTILE!r}).pathname"
    page.go(page.evaluate(link), f"{READY} && document.querySelectorAll('#curves canvas').length === 2")
    assert page.text("#title") == HOSTILE
    assert page.evaluate("document.querySelector('main img')") is None
    assert page.text(".headline b") == "mean return 9.6"

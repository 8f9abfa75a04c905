"""The page of a sweep: its numbers are those of ``ludus report``, and bad files are one sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ludus.storage.jsonl import JsonlWriter, Row
from ludus.storage.lock import RunLock, this_process
from ludus.sweep.report import read_report, write_sweep_report
from ludus.web.serve.compare.sweep import Sweeps
from ludus.web.serve.library import Library
from tests.web.browser import Browser
from tests.web.compared import SWEEP, make_sweep
from tests.web.live import LivePage
from tests.web.serving import Client, served

READY = "document.querySelector('#sweep-curves .uplot') !== null"
PARTS = ("baseline", "results", "budgets", "curves", "settings", "floors", "helped", "games", "damaged")
RUNS = [f"learning_rate={rate},seed={seed}" for rate in (0.001, 0.01) for seed in (1, 2)]
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def client(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Client]:
    """Yield a client of a server that still serves afterwards and wrote no traceback."""
    with served(tmp_path) as made:
        yield made
        assert made.ask("/api/alive").status == 200
    assert "error of the server" not in capfd.readouterr().err


def test_pages_have_the_numbers_of_the_report(client: Client, tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path / "rates")
    report = read_report([sweep.path])
    write_sweep_report(report, sweep.path)
    page = client.ask("/api/sweeps/rates").json
    wanted = json.loads(msgspec.json.encode(report))
    assert page["numbers"] == {"report": {name: wanted[name] for name in PARTS}, "so_far": {}, "problem": ""}
    assert {r["cell"] for r in wanted["results"]} == {"learning_rate=0.001", "learning_rate=0.01"}
    assert len(wanted["curves"]) == len(wanted["floors"]) == 2
    assert (page["title"], page["state"], page["finished"]) == ("rates", "finished", 4)
    assert page["text"] == (sweep.path / "report.md").read_text()
    runs = client.server.library.runs()
    for shown in page["runs"]:
        assert runs[shown["id"]].path == sweep.run(shown["name"]).path
        assert (shown["state"], shown["progress"], shown["steps"]) == ("finished", 1.0, 4000)
    report_page = client.ask("/sweep/rates/report.html")
    assert report_page.body == (sweep.path / "report.html").read_bytes()
    assert report_page.headers["content-security-policy"].startswith("sandbox")


def test_a_sweep_that_runs_shows_how_far_it_is(tmp_path: Path) -> None:
    names = RUNS
    sweep = make_sweep(tmp_path / "rates", unfinished=names[2:3], absent=names[3:])
    rows: list[Row] = [{"run": names[3], "code": 2, "message": "no room", "seconds": 1.0}]
    rows += [{"run": names[k], "code": 0, "seconds": 180.0 + 120.0 * k} for k in (0, 1)]
    JsonlWriter(sweep.processes).append_many(rows)
    with sweep.lock(), RunLock(sweep.run(names[2]).path / "lock", this_process("2026-01-01T00:00:00Z")):
        page = Sweeps(Library(tmp_path)).page("rates")
    shown = {run.name: run for run in page.runs}
    assert (page.state, page.finished) == ("running", 2)
    assert [shown[name].state for name in names] == ["finished", "finished", "running", "failed"]
    assert (shown[names[3]].message, shown[names[3]].id) == ("no room", "")
    assert shown[names[2]].progress == 0.5
    assert page.minutes_left == pytest.approx(0.5 * 4.0)  # half a run; the two took three and five minutes
    assert list(page.numbers.report["curves"]) == ["learning_rate=0.001"]
    assert list(page.numbers.so_far) == ["learning_rate=0.01"]


def test_a_served_sweep_has_its_page(tmp_path: Path) -> None:
    make_sweep(tmp_path / "rates")
    library = Library(tmp_path / "rates")
    assert {run.sweep for run in library.runs().values()} == {"rates"}
    assert len(Sweeps(library).page("rates").runs) == 4


def test_damaged_sweeps_are_one_sentence(client: Client, tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path / "rates")
    run = sweep.run("learning_rate=0.001,seed=1")
    with run.metrics_path.open("ab") as file:
        file.write(b'{"schema": 2, "kind": "upda')  # half a last line
    page = client.ask("/api/sweeps/rates").json
    assert (page["finished"], page["numbers"]["problem"]) == (4, "")
    assert page["numbers"]["report"]["damaged"] == []
    run.metrics_path.write_bytes(b'{"schema": 9}\n' + run.metrics_path.read_bytes())
    fresh = Sweeps(Library(tmp_path))
    (damaged,) = fresh.page("rates").numbers.report["damaged"]
    assert "metrics.jsonl:1: schema 9" in damaged
    run.metrics_path.unlink()
    run.metrics_path.symlink_to(tmp_path / "rates.toml")
    page = Sweeps(Library(tmp_path)).page("rates")
    assert page.numbers.problem == "learning_rate=0.001,seed=1/metrics.jsonl: a link; links are not followed"
    assert page.runs[0].state == "damaged"
    shutil.rmtree(run.path)
    run.path.symlink_to(sweep.run("learning_rate=0.001,seed=2").path)
    page = Sweeps(Library(tmp_path)).page("rates")
    assert "link" in page.numbers.problem
    assert page.runs[0].state == "waiting"
    (sweep.path / "report.html").symlink_to(tmp_path / "rates.toml")
    assert client.ask("/sweep/rates/report.html").status in (400, 404)
    for text in ("{", '{"schema": 1}', "[]", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")):
        sweep.info_path.write_text(text)
        with pytest.raises(Exception, match=r"sweep\.json"):
            Sweeps(Library(tmp_path)).page("rates")
    shutil.rmtree(sweep.path)
    assert client.ask("/api/sweeps/rates").why == "there is no such sweep; it may have been removed"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"seeds": list(range(10_000))}, "20,000 runs; a page shows at most 2,000"),
        ({"random": {"a": {"kind": "choice", "values": []}}, "count": 3}, "values that no sweep writes"),
        ({"random": {"a": {"kind": "integer", "values": ["a", 3]}}, "count": 3}, "values that no sweep"),
        ({"seeds": [10**30]}, "an integer of too many digits"),
        ({"grid": {"a.b": [None]}}, "Expected `bool | int | float | str | array`, got `null`"),
    ],
)
def test_settings_that_no_sweep_has_are_one_sentence(
    client: Client, tmp_path: Path, changes: dict[str, object], why: str
) -> None:
    sweep = make_sweep(tmp_path / "rates", absent=RUNS)
    info = json.loads(sweep.info_path.read_text())
    info["config"] |= changes
    sweep.info_path.write_text(json.dumps(info))
    answer = client.ask("/api/sweeps/rates")
    assert answer.status == 400
    assert "sweep.json: " in answer.why
    assert why in answer.why


def test_hostile_texts_are_cut_and_shown_as_text(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path / "rates")
    info = json.loads(sweep.info_path.read_text())
    info["config"]["title"] = f"{HOSTILE}\u202e" + "x" * 1_000_000
    sweep.info_path.write_text(json.dumps(info))
    page = Sweeps(Library(tmp_path)).page("rates")
    assert page.title.startswith(HOSTILE + "\\u202e")
    assert len(page.title) < 400


# The page.


@pytest.fixture
def page(session_browser: Browser, client: Client) -> Iterator[LivePage]:
    live = LivePage(session_browser, client)
    yield live
    live.check()
    session_browser.go("about:blank", ready="true")  # the server ends before the next page


def test_cells_are_sorted_by_a_key_and_lead_to_their_runs(page: LivePage, tmp_path: Path) -> None:
    make_sweep(tmp_path / "rates", SWEEP.replace('"rates"', f"'{HOSTILE}'"))
    page.go("/sweep/rates", READY, 390, 800)
    assert page.text("#title") == HOSTILE
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    cells = "[...document.querySelectorAll('.results tbody tr')].map(r => r.cells[0].textContent.trim())"
    assert page.evaluate(cells) == ["learning_rate=0.001 baseline", "learning_rate=0.01"]
    page.evaluate("document.querySelector('.results th:nth-child(2) button').focus()")
    page.browser.press("Enter")
    page.wait(f"{cells}[0] === 'learning_rate=0.01'")
    assert page.evaluate("document.querySelector('.results th:nth-child(2)').ariaSort") == "descending"
    page.click(".results tbody a")
    page.wait("location.pathname.startsWith('/run/')")

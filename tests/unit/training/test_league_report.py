"""The plots and the report of a league: well-formed, drawn from the record, safe from hostile names."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ludus.flow.league import Tally
from ludus.league.events import AnyEvent, Frozen, Joined, Mutated, Results, to_row
from ludus.league.record import Record
from ludus.league.strengths import strengths
from ludus.league.summary import payoff
from ludus.reporting import league_plots, svg
from ludus.reporting.league_report import league_part
from ludus.reporting.metrics import UpdateMetrics, metrics_row
from ludus.reporting.report import write_report
from ludus.reporting.run_view import RunView
from ludus.storage import RunLog
from tests.unit.league.recorded import EVENTS, RATE, recorded_run
from tests.unit.training.runs import small_preset

SVG = "{http://www.w3.org/2000/svg}"


def record_of(events: list[AnyEvent]) -> Record:
    return Record().read(to_row(e, n) for n, e in enumerate(events, 1))


def shapes(text: str, name: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(text).iter(SVG + name))


def test_a_cell_has_the_rate_of_its_row_against_its_column() -> None:
    record = record_of(EVENTS)
    text = league_plots.heat_map(payoff(record, ["main:0", "random"]))
    titles = {t.text for t in ElementTree.fromstring(text).iter(SVG + "title")}
    assert {"main:0 against random: 59% of 20 matches", "random against main:0: 41% of 20 matches"} <= titles
    fills = {rect.find(SVG + "title").text: rect.get("fill") for rect in shapes(text, "rect") if len(rect)}  # type: ignore[union-attr]
    assert fills["main:0 against random: 59% of 20 matches"] == league_plots._shade(13 / 22)
    assert (league_plots._shade(0.0), league_plots._shade(0.5), league_plots._shade(1.0)) == (
        "#d55e00", "#ffffff", "#0072b2",
    )  # fmt: skip
    unmet = league_plots.heat_map(payoff(record, ["ex:50", "random"]))
    assert "ex:50 against random: not met" in unmet


def test_ratings_stand_at_their_steps_with_their_intervals() -> None:
    record = record_of(EVENTS)
    rated = strengths(record)
    text = league_plots.ratings_plot(rated, ["main", "ex", "p0", "p1"])
    circles = {c.find(SVG + "title").text.split(":")[0]: c for c in shapes(text, "circle")}  # type: ignore[union-attr]
    frozen = [c for c in shapes(text, "circle") if c.get("fill") != "#ffffff"]
    assert [float(c.get("cx", "")) for c in frozen] == [
        svg.LEFT,
        svg.WIDTH - svg.RIGHT,
    ]
    assert circles["p1"].get("fill") == "#ffffff"  # as it is now
    assert len([p for p in shapes(text, "path") if p.get("stroke-dasharray")]) == 1  # random
    assert "mean of all is 0" not in text


@pytest.mark.parametrize(
    ("values", "logarithmic"),
    [((1e-4, 1e-2), True), ((0.1, 0.12), False), ((0.0, 3.0), False), ((2.0, 2.0), False)],
)
def test_settings_are_steps_on_a_scale_that_fits(values: tuple[float, float], logarithmic: bool) -> None:
    first, second = values
    events: list[AnyEvent] = [
        Joined("p0", "learner", "population", {RATE: first}),
        Results("p0", 0, 100, 1, 1),
        Mutated("p0", {RATE: second}),
        Results("p0", 1, 200, 2, 2),
    ]
    text = league_plots.settings_plot(record_of(events))
    (line,) = shapes(text, "polyline")
    points = [tuple(map(float, point.split(","))) for point in line.get("points", "").split()]
    middle = (svg.LEFT + svg.WIDTH - svg.RIGHT) / 2
    assert [x for x, _ in points] == [
        svg.LEFT,
        middle,
        middle,
        svg.WIDTH - svg.RIGHT,
    ]
    assert points[0][1] == points[1][1] >= points[2][1] == points[3][1]
    assert ("logarithmic" in text) is logarithmic


def test_hostile_names_stay_text() -> None:
    name = '<script>alert("1")</script>&'
    events: list[AnyEvent] = [
        Joined(name, "learner", "main", {name: 1.0}),
        Joined("bot", "bot"),
        Frozen(name, 0),
        Results(
            name,
            0,
            10,
            1,
            1,
            (Tally(name, "bot", 0, "bot", 1, 0, 1), Tally(name, f"{name}:0", 0, "x", 1, 0, 1)),
        ),
    ]
    record = record_of(events)
    rated = strengths(record)
    for text in (
        league_plots.heat_map(payoff(record)),
        league_plots.ratings_plot(rated, [name]),
        league_plots.settings_plot(record),
    ):
        ElementTree.fromstring(text)
        assert "<script" not in text
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_league_without_a_match_is_drawn(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run", [Joined("main", "learner", "main"), Joined("random", "bot")])
    lines, plots = league_part(RunView(run).league())
    assert lines[0] == "## League"
    for text in plots.values():
        ElementTree.fromstring(text)


def test_the_report_has_the_league_and_a_part_for_each_member(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run")
    log = RunLog(run)
    for player, steps in (("main", 1000), ("ex", 500), ("main", 2000)):
        numbers = {"loss/policy": 0.5, "time/minutes": 1.0, "lag/mean": 1.0}
        log.metrics(metrics_row(UpdateMetrics(1, steps, steps, steps, 7, 0.5, numbers, player=player)))
    log.close()
    write_report(run, small_preset(), "max_steps")
    text = run.report.read_text()
    assert "2,500 decisions (2,500 ticks, 14 matches)" in text
    assert [line for line in text.splitlines() if line.startswith("## Learning")] == [
        "## Learning of main", "## Learning of ex",
    ]  # fmt: skip
    plots = re.findall(r"\]\((league_\w+\.svg)\)", text)
    assert plots == ["league_payoff.svg", "league_ratings.svg", "league_settings.svg"]
    assert all((run.path / name).is_file() for name in plots)
    assert "| main | main | 1,000 | 100 | 2 |" in text

"""``report.html`` in a browser: it loads no other file, and fits a screen and a phone."""

from __future__ import annotations

from pathlib import Path

from ludus.reporting.page import page
from ludus.reporting.svg import Panel, drawing, legend
from tests.web.browser import Browser

REPORT = """# Comparison of runs

## Results

| cell | rate | {wide} |
|---|---|---|
| a | 51.0% | {wide} |

## Curve

![Win rate](curves.svg)

## Again

```
{wide}
```
"""


def test_a_report_works_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    panel = Panel(0.0, 0.0, 1.0, 10)
    parts = [*panel.axes(), *panel.line([(0, 0.1), (10, 0.9)], "#0072b2"), legend(0, "a", "#0072b2", 0.0)]
    plots = {"curves.svg": drawing(860, 260, "Curve", parts)}
    path = tmp_path / "report.html"
    path.write_text(page(REPORT.format(wide=" ".join(["word"] * 80)), plots), encoding="utf-8")
    for width, height in ((1280, 900), (390, 844)):
        browser.open(path, width=width, height=height, ready="!!document.querySelector('main')")
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert browser.evaluate("document.querySelector('svg polyline').getBoundingClientRect().width > 100")
        assert browser.evaluate("getComputedStyle(document.querySelector('h1')).fontSize") == "26px"
        browser.evaluate("document.querySelector('nav a').click()")
    browser.theme(dark=True)
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 22, 29)"
    white = "[...document.querySelectorAll('figure *')].filter(e => "
    assert browser.evaluate(f"{white}getComputedStyle(e).fill === 'rgb(255, 255, 255)').length") == 0
    assert (
        browser.evaluate("getComputedStyle(document.querySelector('svg text')).fill") == "rgb(230, 235, 242)"
    )

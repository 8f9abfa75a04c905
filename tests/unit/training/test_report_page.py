"""``report.html``, and the short names of a comparison's cells."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from ludus.reporting.page import page
from ludus.sweep.by_value import by_value
from ludus.sweep.comparison import MAX_NAME, cell_names, differing_settings, short_names
from ludus.sweep.results import RunSummary
from ludus.sweep.tables import cell_settings_table

REPORT = """# A &lt;b&gt; report

Plain *centre* of **two** runs, `a<b`, 2 * 3 * 4.

## Results

| cell | rate | note |
|---|---|---|
| a&#124;1 | 51.0% | `x \\| y` |
| b | - | "best" & done |

![Win rate](curve.svg)

![Not ours](other.svg)

## Again

```toml
title = "<script>"
# no heading
```

- one <i>
- two

\\* the best

## Last
"""


def made(report: str = REPORT) -> str:
    return page(report, {"curve.svg": "<svg><title>t</title></svg>\n"})


def test_a_page_holds_the_report_and_its_plots() -> None:
    text = made()
    assert "<title>A &lt;b&gt; report</title>" in text
    assert "<h1>A &lt;b&gt; report</h1>" in text
    assert "Plain <em>centre</em> of <strong>two</strong> runs, <code>a&lt;b</code>, 2 * 3 * 4.</p>" in text
    assert '<td>a&#124;1</td><td class="n">51.0%</td><td><code>x | y</code></td>' in text
    assert '<td>b</td><td class="n">-</td><td>&quot;best&quot; &amp; done</td>' in text
    assert "<svg><title>t</title></svg><figcaption>Win rate</figcaption></figure>" in text
    assert "other.svg" not in text
    assert "<pre><code>title = &quot;&lt;script&gt;&quot;\n# no heading</code></pre>" in text
    assert "<ul><li>one &lt;i&gt;</li><li>two</li></ul>" in text
    assert "<p>* the best</p>" in text
    assert re.findall(r'<a href="#(s\d)">', text) == ["s1", "s2", "s3"]


def test_a_page_needs_nothing_from_elsewhere() -> None:
    text = made()
    assert "default-src 'none'" in text
    assert "http" not in text.replace('http-equiv="Content', "")
    assert set(re.findall(r'(?:href|src)="([^"]*)"', text)) == {"data:,", "#s1", "#s2", "#s3"}


@pytest.mark.parametrize("text", ["", "```\nopen", "|", "| a |", "# ", "`", "** *", "![a](b", "- "])
def test_unusual_lines_are_no_error(text: str) -> None:
    assert made(text).endswith("</main></body></html>\n")


def run(folder: str, seed: int = 1, **settings: object) -> RunSummary:
    return RunSummary(
        name=Path(folder).name, cell="", seed=seed, path=folder, finished=True, final=(), greedy=(), steps=0,
        ticks=0, updates=0, gradient_steps=0, minutes=0.0, cpu_minutes=0.0,
        settings={k.replace("__", "."): v for k, v in settings.items()} | {"run.seed": seed},
    )  # fmt: skip


def test_names_are_the_shortest_unambiguous_last_parts() -> None:
    paths = ["algorithm.learning_rate", "policy.memory", "pool.a.x", "pool.b.x", "game.name", "title"]
    assert list(short_names(paths).values()) == ["learning_rate", "memory", "a.x", "b.x", "game", "title"]
    assert short_names(["opponents.0.name", "opponents.1.name", "run.name"]) == {
        "opponents.0.name": "0",
        "opponents.1.name": "1",
        "run.name": "run",
    }
    assert short_names(["x", "a.x"]) == {"x": "x", "a.x": "a.x"}


MANY = {f"algorithm__setting_number_{n}": n for n in range(40)}


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        ([run("a", 1), run("b", 2)], ["all", "all"]),
        ([run("runs/one", 1)], ["one"]),
        ([run("runs/ppo-1", 1), run("runs/ppo-2", 2)], ["ppo", "ppo"]),
        ([run("a", 1, pool__lag=1), run("b", 1, pool__lag="x"), run("c", 2, pool__lag=1)],
         ["lag=1", "lag=x", "lag=1"]),
        ([run("a", algorithm__name="a2c", title="One", **MANY), run("b", algorithm__name="dqn", title="Two")],
         ["algorithm=a2c", "algorithm=dqn"]),
        ([run("a", game__name="go", x=1, **MANY), run("b", game__name="minirts", x=2)],
         ["game=go", "game=minirts"]),
        ([run("r/fast", **MANY), run("r/slow"), run("r/slower", 2)], ["fast", "slow", "slow"]),
        ([run("r/ppo-seed=1", 1, **MANY), run("r/ppo-seed=2", 2, **MANY), run("r/dqn_1"), run("r/dqn_12", 2)],
         ["ppo", "ppo", "dqn", "dqn"]),
        ([run("x/run", **MANY), run("y/run")], ["run (1)", "run (2)"]),
        ([run("a", text="long " * 400), run("b", text="longer " * 400)], ["a", "b"]),
        ([run("r/" + "n" * 100, **MANY), run("b")], ["n" * (MAX_NAME - 3) + "...", "b"]),
        ([run("a", x=None), run("b", x=True)], ["x=-", "x=true"]),
    ],
)  # fmt: skip
def test_cells_have_short_unambiguous_names(runs: list[RunSummary], names: list[str]) -> None:
    assert cell_names(runs) == names
    assert max(map(len, names)) <= MAX_NAME


def test_one_table_has_every_setting() -> None:
    runs = [run("a", algorithm__name="a2c", **MANY), run("b", algorithm__name="dqn")]
    runs = [msgspec.structs.replace(r, cell=n) for r, n in zip(runs, cell_names(runs), strict=True)]
    paths = differing_settings(runs)
    settings = {r.cell: {p: r.settings.get(p) for p in paths} for r in runs}
    lines = cell_settings_table(settings)
    assert lines[2] == "| setting | algorithm=a2c | algorithm=dqn |"
    assert lines[4] == "| `algorithm.name` | a2c | dqn |"  # first, what both have
    assert "| `algorithm.setting_number_39` | 39 | - |" in lines
    assert len(lines) == 4 + 41 + 1
    few = cell_settings_table({"a": {"pool.lag": 1}, "b": {"pool.lag": 2}, "c": {"pool.lag": 3}})
    assert few[2:5] == ["| cell | `lag` |", "|---|---|", "| a | 1 |"]
    long = cell_settings_table({"a": {"text": "x" * 500}, "b": {"text": "y"}})
    assert max(map(len, long)) < 100


def test_lines_of_a_plot_have_short_names_too() -> None:
    over = by_value({str(n): {"queue": n, **{f"s{k}": "v" * 9 for k in range(20)}} for n in (0, 4, 16)})
    assert over is not None
    assert list(over.lines) == ["0"]

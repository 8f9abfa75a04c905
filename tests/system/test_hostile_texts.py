"""Hostile contents of files: text with escapes or markup, and numbers and nesting that could end a command.

Every command is a call of the command line in this process. A bomb is refused in one line with exit code 2.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from ludus.cli.__main__ import main
from ludus.presets.file import load_preset
from ludus.storage import encode_weights, read_weights
from ludus.sweep.directory import SweepDirectory
from ludus.sweep.plan import planned_cells, runs_of
from ludus.training.runs import start_run

PRESET = """\
title = "plain"
[game]
name = "tic_tac_toe"
[[opponents]]
name = "latest"
[pool]
slots = 8
groups = 1
rollout_length = 8
[policy]
dense = [8]
hidden = [8]
[evaluation]
every_steps = 100
matches = 4
final_matches = 4
against = ["random"]
[run]
max_steps = 200
threads = 1
"""
SWEEP = 'title = "plain"\npreset = "preset.toml"\nseeds = 1\n[grid]\n"pool.slots" = [8]\n'
SECONDS = 5.0  # of a refusal, on a machine with other work; a bomb took far longer or ended in no time
DEEP = '{"a":' * 5000 + "1" + "}" * 5000
LONG = "1" + "0" * 10_000
ACTS = "<script>alert(1)</script> \x1b[31m\x9b\u202e [x](http://a) ![y](z) `c` | ``` [red] \n# line\n```"
TOML_ACTS = json.dumps(ACTS)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run, and a sweep of which one run was trained."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "preset.toml").write_text(PRESET)
    start_run(load_preset(str(folder / "preset.toml")).preset, folder / "run")
    (folder / "sweep.toml").write_text(SWEEP)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *words: str, expected: str = "") -> None:
    """Require that the command ends with exit code 2 and few printable lines, soon."""
    capsys.readouterr()
    started = time.monotonic()
    code = main(words)
    took = time.monotonic() - started
    output = capsys.readouterr()
    assert code == 2, f"{words}\n{output.out[-2000:]}\n{output.err[-2000:]}"
    assert expected in output.err
    assert "Traceback" not in output.err
    assert len(output.err) < 1000
    assert all(c.isprintable() or c == "\n" for c in output.err)
    assert took < SECONDS


# --- bombs ---------------------------------------------------------------------------------------


def newest(run: Path) -> Path:
    return sorted(run.glob("checkpoints/*/weights.safetensors"))[-1].parent


LINES = {
    "nested objects": DEEP,
    "nested lists": '{"a":' + "[" * 5000 + "]" * 5000 + "}",
    "digits": f'{{"a":{LONG}}}',
}


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("name", ["metrics.jsonl", "changes.jsonl"])
def test_hostile_lines_of_logs_are_refused(
    kind: str, name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "run" / name
    rest = path.read_text() if path.exists() else ""
    path.write_text(LINES[kind] + "\n" + rest)
    more = ("resume", "run", "--run.max-steps", "400", "--quiet")
    if name == "changes.jsonl":
        refused(capsys, *more, expected=name)
        return
    refused(capsys, "report", "run", expected=name)
    main(more)  # the run trains on; its report waits
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("kind", LINES)
def test_damaged_events_end_the_log(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the rule of that log, events before a damaged one count."""
    with (folder / "run" / "events.jsonl").open("a") as file:
        file.write(LINES[kind] + "\n")
    assert main(["report", "run"]) == 0
    assert main(["eval", "run@best", "--against", "random", "--matches", "2"]) == 0
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("kind", LINES)
def test_hostile_documents_are_refused(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder / "run"
    state = newest(run) / "state.json"
    for path in (state, run / "run.json", run / "checkpoints" / "best.json"):
        before = path.read_bytes()
        path.write_text(LINES[kind])
        words = (
            ("eval", "run@best", "--against", "random")
            if path.stem == "best"
            else ("resume", "run", "--quiet")
        )
        if path is state:  # another checkpoint may be whole
            main(words)
            assert "Traceback" not in capsys.readouterr().err
        else:
            refused(capsys, *words, expected=path.name)
        path.write_bytes(before)
    sweep = folder / "sweep"
    sweep.mkdir()
    (sweep / "sweep.json").write_text(LINES[kind])
    refused(capsys, "report", "sweep", expected="sweep.json")


TOML = {
    "an integer": f"bomb = {LONG}",
    "a dotted key": ".".join("a" * 3000) + " = 1",
    "a nested list": "bomb = " + "[" * 3000 + "]" * 3000,
    "nested tables": "bomb = " + "{a=" * 500 + "1" + "}" * 500,
}


@pytest.mark.parametrize("kind", TOML)
def test_hostile_toml_is_refused(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in ("preset.toml", "sweep.toml", "run/config.toml"):
        (folder / path).write_text(TOML[kind] + "\n" + (folder / path).read_text())
    (folder / "rules.toml").write_text(TOML[kind])
    refused(capsys, "train", "preset.toml", expected="preset.toml: not valid TOML")
    refused(capsys, "sweep", "sweep.toml", expected="sweep.toml: not valid TOML")
    refused(capsys, "resume", "run", "--quiet", expected="config.toml: not valid TOML")
    refused(capsys, "report", "run", expected="config.toml")
    refused(
        capsys,
        "games",
        "check",
        "rts",
        "--param",
        "rulebook=rules.toml",
        expected="rules.toml: not valid TOML",
    )


NUMBERS = {
    "run.threads": "1000000",
    "pool.threads": "1000000",
    "pool.slots": "2000000000",
    "pool.groups": "2000000000",
    "pool.rollout_length": "2000000000",
    "game.frame_skip": "1099511627776",
    "opponents.0.frame_skip": "1099511627776",
    "opponents.0.past_slots": "1000000000",
    "policy.hidden": "[1000000000, 1000000000]",
    "policy.dense": "[1000000000]",
    "policy.channels": "[1000000000, 64]",
    "policy.kernels": "[1000000000, 3]",
    "policy.context": "1000000000",
    "policy.memory_size": "1000000000",
    "run.keep_checkpoints": "1" + "0" * 19,
    "run.seed": "1" + "0" * 300,
}


@pytest.mark.parametrize("key", NUMBERS)
def test_hostile_numbers_of_a_preset_are_refused(
    key: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(
        capsys,
        "train", "preset.toml", "--run-dir", "new", f"--{key.replace('_', '-')}", NUMBERS[key],
        expected=key.partition(".")[0],
    )  # fmt: skip
    assert not (folder / "new").exists()
    (folder / "sweep.toml").write_text(
        f'preset = "preset.toml"\nseeds = 1\n[settings]\n"{key}" = {NUMBERS[key]}\n'
    )
    refused(capsys, "sweep", "sweep.toml", "--run-dir", "new") if key not in ("policy.dense",) else None


def test_networks_are_counted_before_they_are_made(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ("--policy.hidden", "1000000,1000000"),
        ("--policy.memory", "gru", "--policy.memory-size", "1000000"),
        ("--policy.channels", "100000,100000", "--policy.norm", "none"),
    ):
        refused(
            capsys,
            "train",
            "preset.toml",
            "--run-dir",
            "new",
            *words,
            expected="parameters; expected at most",
        )
    assert not (folder / "new").exists()


GRIDS: dict[str, Callable[[dict[str, object]], object]] = {
    "a grid": lambda c: c.update(grid={f"run.k{i}": list(range(10)) for i in range(12)}),
    "a count": lambda c: c.update(count=10**9, random={"run.seed": {"kind": "uniform", "values": [0, 1]}}),
    "a count of nothing": lambda c: c.update(count=2**62),
    "seeds": lambda c: c.update(seeds=list(range(200_000))),
}


@pytest.mark.parametrize("kind", GRIDS)
def test_huge_grids_of_a_stored_sweep_are_refused(
    kind: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config: dict[str, object] = {
        "source": "s.toml", "title": "", "preset": "preset.toml", "seeds": [1],
        "cells": {"": {"preset": "preset.toml"}},
    }  # fmt: skip
    GRIDS[kind](config)
    info = {"schema": 1, "package_version": "0", "started": "", "config": config, "presets": {}}
    (folder / "sweep").mkdir()
    (folder / "sweep" / "sweep.json").write_text(json.dumps(info))
    refused(capsys, "report", "sweep", expected="sweep.json")
    refused(capsys, "report", "sweep", "--json", expected="sweep.json")


@pytest.mark.parametrize(
    "change", [{"frame_skip": 2**40}, {"frame_skip": -3}, {"version": 2**40}, {"steps": -1}]
)
def test_hostile_numbers_of_a_weights_header_are_refused(
    change: dict[str, int], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = read_weights(newest(folder / "run") / "weights.safetensors")
    weights.meta = msgspec.structs.replace(weights.meta, **change)
    (folder / "w.safetensors").write_bytes(encode_weights(weights))
    for words in (("eval", "w.safetensors", "--against", "random"), ("rate", "w.safetensors", "random")):
        refused(capsys, *words, "--matches", "2", expected="w.safetensors")
    refused(
        capsys, "eval", "random", "--against", "w.safetensors", "--matches", "2", expected="w.safetensors"
    )
    refused(capsys, "train", "preset.toml", "--run.start", "w.safetensors", expected="w.safetensors")


def test_deep_nesting_of_a_weights_header_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for key in ("architecture", "spec"):
        weights = read_weights(newest(folder / "run") / "weights.safetensors")
        weights.meta = msgspec.structs.replace(weights.meta, **{key: DEEP})
        (folder / "w.safetensors").write_bytes(encode_weights(weights))
        refused(
            capsys,
            "eval",
            "w.safetensors",
            "--against",
            "random",
            "--game",
            "tic_tac_toe",
            expected="w.safetensors",
        )


# --- text ----------------------------------------------------------------------------------------


def inert(output: str) -> None:
    """Check that a terminal would obey nothing in a text."""
    assert all(c.isprintable() or c in "\n\t" for c in output), repr(output)


def safe_markdown(text: str) -> None:
    inert(text)
    outside = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert "<script" not in outside
    assert "](http" not in outside
    assert "![y]" not in outside
    assert "# line" not in [line[:6] for line in outside.split("\n")]
    assert "|" not in re.sub(r"^\|.*\|$", "", outside, flags=re.MULTILINE)


class Tags(HTMLParser):
    """Parser that collects a page's elements with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data


def safe_page(page: str) -> None:
    """Check that no element, attribute or address of a page comes from a text."""
    inert(page)
    found = Tags(page)
    assert not {tag for tag, _ in found.tags} & {"script", "iframe", "object", "img", "form", "base"}
    for tag, given in found.tags:
        assert not [name for name in given if name.startswith("on")]
        addresses = [v or "" for name, v in given.items() if name in ("href", "src", "xlink:href")]
        assert all(a.startswith(("#", "data:,")) for a in addresses), (tag, addresses)
    assert "default-src 'none'" in page
    assert "<script>" in found.words  # it is there to read


def hostile_run(run: Path) -> None:
    """Return a run in which every text of its files is hostile."""
    config = run / "config.toml"
    config.write_text(config.read_text().replace('title = "plain"', f"title = {TOML_ACTS}"))
    info = json.loads((run / "run.json").read_text())
    info |= {"command": ["ludus", ACTS], "host": {ACTS: ACTS}, "versions": {ACTS: ACTS}}
    info |= {"started": ACTS, "package_version": ACTS}
    (run / "run.json").write_text(json.dumps(info))
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        for result in row.get("results", []):
            result["against"] = ACTS
        if row["kind"] == "update":
            row[f"loss/{ACTS}"] = 1.0
            row[f"rollout/win_rate/{ACTS}"] = 0.5
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (run / "lock").write_text(json.dumps({"pid": 1, "host": ACTS, "since": ACTS}))


def test_texts_of_a_run_are_escaped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder / "run"
    hostile_run(run)
    for words in (("report", "run"), ("report", "run", "--json"), ("resume", "run")):
        code = main(words)
        output = capsys.readouterr()
        inert(output.out + output.err)
        assert code == 0, output.err
    safe_markdown((run / "report.md").read_text())
    assert "&lt;script&gt;" in (run / "report.md").read_text()
    safe_page((run / "report.html").read_text())
    svg = (run / "report.svg").read_text()
    inert(svg)
    assert "<script" not in svg
    ElementTree.fromstring(svg)


def test_texts_of_a_lost_run_are_escaped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder / "run"
    hostile_run(run)
    events = (run / "events.jsonl").read_text().splitlines()
    (run / "events.jsonl").write_text("".join(f"{line}\n" for line in events if "finished" not in line))
    main(["resume", "run"])
    output = capsys.readouterr()
    inert(output.out + output.err)
    assert "the run was lost" in output.err


def planned(sweep: Path) -> list[str]:
    """Return the names of the runs."""
    config = SweepDirectory(sweep).info().config
    return [run.name for run in runs_of(planned_cells(config, []), config.seeds)]


def test_texts_of_a_sweep_are_escaped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "sweep.toml", "--run-dir", "sweep", "--quiet"]) == 0
    path = folder / "sweep" / "sweep.json"
    info, names = json.loads(path.read_text()), planned(folder / "sweep")
    info["config"] |= {"title": ACTS, "cells": {ACTS: info["config"]["cells"][""]}}
    path.write_text(json.dumps(info))
    for before, after in zip(names, planned(folder / "sweep"), strict=True):
        (folder / "sweep" / "runs" / before).rename(folder / "sweep" / "runs" / after)
        hostile_run(folder / "sweep" / "runs" / after)
    capsys.readouterr()
    for words in (
        ("report", "sweep"),
        ("report", "sweep", "--json"),
        ("report", "sweep", "--out", "out"),
    ):
        main(words)
        output = capsys.readouterr()
        inert(output.out + output.err)
    for report in (folder / "sweep" / "report.md", folder / "out" / "report.md"):
        safe_markdown(report.read_text())
        safe_page(report.with_suffix(".html").read_text())
        assert report.read_text().count("&lt;script&gt;") > 3
    plots = (*folder.glob("sweep/*.svg"), *folder.glob("out/*.svg"))
    assert plots
    for plot in plots:
        inert(plot.read_text())
        ElementTree.fromstring(plot.read_text())


NAMES = {
    "train": ("train", ACTS),
    "a preset": ("train", "preset.toml", "--title", ACTS, "--explain"),
    "an unknown option": ("train", "preset.toml", f"--{ACTS}", "1"),
    "a value": ("train", "preset.toml", "--run.lag", ACTS),
    "resume": ("resume", ACTS),
    "a report": ("report", ACTS),
    "a league": ("league", "status", ACTS),
    "a match": ("eval", ACTS, "--against", "random", "--game", "tic_tac_toe"),
    "an opponent": ("eval", "random", "--against", ACTS, "--game", "tic_tac_toe"),
    "a game": ("eval", "random", "--against", "random", "--game", ACTS),
    "ratings": ("rate", ACTS, "random", "--game", "tic_tac_toe"),
    "a replay": ("replay", "info", ACTS),
    "a command": (ACTS,),
}


@pytest.mark.parametrize("kind", NAMES)
def test_texts_of_messages_are_escaped(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(NAMES[kind])
    output = capsys.readouterr()
    inert(output.out + output.err)
    assert "Traceback" not in output.err
    assert output.out + output.err


def test_internal_errors_print_no_escapes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import ludus.presets.file as presets

    def fails(*_: object) -> Path:
        raise RuntimeError(ACTS)

    monkeypatch.setattr(presets, "find_preset", fails)
    assert main(["train", "preset.toml"]) == 1
    inert(capsys.readouterr().err)

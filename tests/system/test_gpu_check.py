"""The check of a card runs through on the processor, and finds what it is there to find."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch

from benchmarks.gpu import copies, learning
from benchmarks.gpu.agreement import ACTION_LOG_PROB, Looked, judged
from benchmarks.gpu.program import STAGES
from benchmarks.gpu.report import Report, StageReport
from benchmarks.gpu.stage import Cases, Context, Outcome, Stage, run_apart

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "benchmarks" / "gpu" / "check.py"


def checked(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with the tree's sources, in any folder."""
    return subprocess.run(
        [sys.executable, str(CHECK), *arguments],
        capture_output=True,
        text=True,
        timeout=590,
        check=False,
    )


@pytest.mark.parametrize("seconds", ["6", pytest.param("60", marks=pytest.mark.slow)])
def test_every_stage_runs_on_the_processor(seconds: str, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    done = checked("--device", "cpu", "--seconds", seconds, "--out", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(out.read_bytes())
    stages = {stage["name"]: stage for stage in report["stages"]}
    assert list(stages) == [stage.name for stage in STAGES]
    for name, stage in stages.items():
        assert stage["state"] == "done", name
        assert stage["cases"], name
        assert not stage["error"], name
    assert stages["agreement"]["holds"] is True
    assert stages["bits"]["holds"] is True
    assert report["holds"] is True
    assert report["ended"] >= report["started"]
    assert report["device"] == "cpu"
    assert report["machine"]["processor"]
    assert report["machine"]["precision"] in ("float32", "bfloat16")
    assert report["versions"]["torch"] == torch.__version__
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a card")
def test_without_a_card_one_line_says_so() -> None:
    done = checked("--seconds", "5")
    assert done.returncode == 2
    assert "finds no card" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "bits,agrement"), "--only agrement: no such stage (did you mean agreement?)"),
        (("--seconds", "1e9"), "--seconds 1e+09: expected 5 to 3600"),
        (("--device", "gpu"), "argument --device: invalid choice: 'gpu'"),
        (("--seconds", "long"), "argument --seconds: invalid float value: 'long'"),
        (("--seconds", "nan"), "--seconds nan: expected 5 to 3600"),
        (("--out", "{folder}/kept.json"), "kept.json: exists; expected a new file"),
        (("--out", "{folder}/none/report.json"), "report.json: no folder"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_lost(
    arguments: Sequence[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.gpu.program import main

    kept = tmp_path / "kept.json"
    kept.write_text("mine")
    assert main([a.format(folder=tmp_path) for a in ("--device", "cpu", *arguments)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert kept.read_text() == "mine"


def test_a_killed_program_leaves_its_report_and_no_process(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    command = [sys.executable, str(CHECK), "--device", "cpu", "--only", "learning", "--out", str(out)]
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
    try:
        wait_for(lambda: out.exists() and b'"running"' in out.read_bytes() and children.read_text().strip())
        (child,) = children.read_text().split()
    finally:
        program.kill()
        program.wait()
    wait_for(lambda: not Path(f"/proc/{child}").exists())
    stages = {stage["name"]: stage["state"] for stage in json.loads(out.read_bytes())["stages"]}
    assert stages["learning"] == "running"
    assert stages["bits"] == "not asked for"


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 300.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


# --- stages ------------------------------------------------------------------------------------------


def ran(
    cases: Cases, limit_s: float = 60.0, seconds: float = 60.0, context: type[Context] = Context
) -> StageReport:
    report = StageReport("stage", "a stage")
    made = context("cpu", small=True, deadline=time.monotonic() + seconds)
    run_apart(Stage("stage", "a stage", 1.0, lambda _: cases), made, report, lambda: None, limit_s)
    return report


def fine() -> Outcome:
    return Outcome(True, {"number": 1.5})


def raises() -> Outcome:
    raise ValueError("a fault of this case")


def dies() -> Outcome:
    os.kill(os.getpid(), signal.SIGKILL)
    return fine()


def hangs() -> Outcome:
    time.sleep(600.0)
    return fine()


def slow() -> Outcome:
    time.sleep(0.2)
    return fine()


def test_a_case_that_raises_is_recorded_and_the_next_runs() -> None:
    report = ran({"bad": raises, "good": fine})
    assert "a fault of this case" in report.cases["bad"].error
    assert report.cases["good"].holds is True
    assert report.state == "done"
    assert report.holds is False


@pytest.mark.parametrize(("end", "error"), [(dies, "ended by signal 9"), (hangs, "stopped after 2 s")])
def test_a_stage_that_ends_early_keeps_its_finished_cases(end: Callable[[], Outcome], error: str) -> None:
    started = time.monotonic()
    report = ran({"good": fine, "bad": end, "later": fine}, limit_s=2.0)
    assert list(report.cases) == ["good"]
    assert error in report.error
    assert report.state == "failed"
    assert report.holds is False
    assert time.monotonic() - started < 60.0


dead = [False]  # whether the simulated card of this process has failed


class SimulatedCard(Context):
    """Surroundings whose device stays unusable in a process once a kernel has failed there."""

    __slots__ = ()

    def synchronise(self) -> None:
        if dead[0]:
            raise RuntimeError("CUDA error: misaligned address")


def fails_at_once() -> Outcome:
    dead[0] = True
    raise RuntimeError("CUDA error: an illegal memory access")


def fails_later() -> Outcome:
    dead[0] = True
    return fine()


def needs_the_card() -> Outcome:
    assert not dead[0]
    return Outcome(True, {"process": os.getpid()})


def slowly_fails() -> Outcome:
    time.sleep(0.2)
    return fails_at_once()


def test_after_a_case_that_kills_the_card_the_next_one_gets_a_new_process() -> None:
    cases = {
        "first": needs_the_card,
        "at once": fails_at_once,
        "second": needs_the_card,
        "raises": raises,  # the card is well: no new process
        "third": needs_the_card,
        "later": fails_later,
    }
    report = ran(cases, context=SimulatedCard)
    assert list(report.cases) == list(cases)
    assert "an illegal memory access" in report.cases["at once"].error
    assert "misaligned address" in report.cases["later"].error
    assert report.cases["later"].holds is False
    first, second, third = (report.cases[n].numbers["process"] for n in ("first", "second", "third"))
    assert first != second == third
    assert (report.state, report.error, report.left_out) == ("done", "", [])
    assert report.holds is False


def test_a_new_process_starts_no_case_when_the_time_is_over() -> None:
    report = ran({"first": slowly_fails, "second": fine}, seconds=0.1, context=SimulatedCard)
    assert list(report.cases) == ["first"]
    assert report.left_out == ["second"]


def test_cases_stop_when_the_time_is_over() -> None:
    report = ran({"first": slow, "second": fine}, seconds=0.1)
    assert list(report.cases) == ["first"]
    assert report.left_out == ["second"]
    assert report.holds is True


def test_a_stage_that_only_measures_holds_nothing() -> None:
    assert ran({"rate": lambda: Outcome(None, {"rate": 2.0})}).holds is None


def test_the_report_grows_with_each_case(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    line = StageReport("stage", "a stage")
    report = Report("cpu", 60.0, "check.py", {}, {}, "", "", [line])
    seen: list[list[str]] = []

    def save() -> None:
        report.save(path)
        seen.append(list(json.loads(path.read_bytes())["stages"][0]["cases"]))

    context = Context("cpu", small=True, deadline=time.monotonic() + 60.0)
    run_apart(Stage("s", "", 1.0, lambda _: {"a": fine, "b": raises}), context, line, save, 60.0)
    assert seen == [[], ["a"], ["a", "b"], ["a", "b"]]
    assert report.holds is False


# --- what is checked -----------------------------------------------------------------------------------


def looked() -> Looked:
    outputs = {"value": np.linspace(-2.0, 2.0, 8, dtype=np.float32), ACTION_LOG_PROB: np.full(4, -1.0)}
    return Looked(outputs, np.zeros((4, 1), np.int32), torch.linspace(-1.0, 1.0, 10))


def test_equal_outputs_hold() -> None:
    assert judged(looked(), looked(), looked()).holds is True


def test_rounding_is_no_fault_and_more_is_one() -> None:
    for shift, holds in ((5e-5, True), (5e-4, False), (np.nan, False)):
        other = looked()
        other.outputs["value"] = other.outputs["value"] + np.float32(shift)
        found = judged(looked(), other, looked())
        assert found.holds is holds
        assert ("worst" in str(found.numbers.get("why", ""))) is not holds


def test_equal_infinities_are_no_gap_and_others_are_one() -> None:
    """An illegal action has the log-probability -inf on both sides."""
    for mine, other, holds in (
        (-np.inf, -np.inf, True),
        (np.inf, -np.inf, False),
        (0.5, -np.inf, False),
        (np.inf, 0.5, False),
        (np.nan, np.nan, False),
    ):
        sides = [looked(), looked()]
        for side, number in zip(sides, (mine, other), strict=True):
            side.outputs["value"][3] = number
        found = judged(sides[0], sides[1], sides[1])
        assert found.holds is holds, (mine, other)
        assert math.isfinite(cast(float, found.numbers["typical"])) is holds


@pytest.mark.parametrize(
    ("samples", "apart", "holds"),
    [(256, 0, True), (256, 1, True), (256, 2, False), (2000, 2, True), (2000, 3, False)],
)
def test_a_decision_in_a_thousand_may_lie_on_the_other_side_of_a_clip(
    samples: int, apart: int, holds: bool
) -> None:
    sides = [
        replace(looked(), counts={"policy/clip_fraction": count, "imitation/accuracy": 7.0}, samples=samples)
        for count in (20.0, 20.0 + apart)
    ]
    for ours, theirs in (sides, sides[::-1]):
        found = judged(ours, theirs, None)
        assert found.holds is holds
        assert found.numbers["worst"] == 0.0
        assert found.numbers["other_side"] == apart
        assert (f"other_side {apart} of {samples}" in str(found.numbers.get("why", ""))) is not holds


def test_another_gradient_is_a_fault() -> None:
    found = judged(looked(), replace(looked(), gradient=looked().gradient * 1.01), None)
    assert found.holds is False
    assert "gradient 1.00e-02" in str(found.numbers["why"])


def test_bfloat16_may_be_off_by_more_than_float32() -> None:
    for shift, holds in ((1e-2, True), (1e-1, False)):
        other = looked()
        other.outputs["value"] = other.outputs["value"] + np.float32(shift)
        assert judged(looked(), looked(), other).holds is holds


def test_another_action_has_another_probability() -> None:
    other = looked()
    other.actions[0] = 1
    other.outputs[ACTION_LOG_PROB][0] = -9.0
    found = judged(looked(), other, looked())
    assert found.numbers["worst"] == 0.0
    assert found.numbers["equal_actions"] == 0.75
    assert found.holds is False


@pytest.mark.parametrize(
    ("act", "update", "graphs", "found"),
    [
        ({}, {"up_pinned": 1, "down_pageable": 2}, True, []),
        ({"up_pageable": 1}, {}, True, ["act: 1 copies"]),
        ({"up_pageable": 3}, {"up_pageable": 99}, False, []),  # without graphs small copies are cheap
        ({}, {"up_pageable": 2, "down_pageable": 1}, True, ["update: 3 copies"]),
        ({"large_pageable": 1}, {"large_pageable": 2}, False, ["3 copies of 65536 bytes or more"]),
        # CUDA counts the copies of a replayed graph, each once.
        ({"cuda Memcpy HtoD (Pageable -> Device)": 1, "cuda kernels": 9}, {}, True, ["act: 1 copies"]),
        ({"cuda Memcpy HtoD (Pinned -> Device)": 1, "cuda Memcpy DtoD (Device -> Device)": 4}, {}, True, []),
        ({}, {"up_pageable": 2, "cuda Memcpy HtoD (Pageable -> Device)": 2}, True, []),
    ],
)
def test_a_graph_may_not_copy_pageable_memory(
    act: dict[str, int], update: dict[str, int], graphs: bool, found: Sequence[str]
) -> None:
    texts = copies.faults({"act": Counter(act), "update": Counter(update)}, graphs)
    assert len(texts) == len(found)
    assert all(text.startswith(start) for text, start in zip(texts, found, strict=True))


def test_what_must_be_learned_depends_on_the_decisions() -> None:
    (few, low), (many, high) = learning.FLOORS["cartpole"]
    assert learning.judged("cartpole", few - 1, 0.0) == (None, None)
    assert learning.judged("cartpole", few, low) == (True, low)
    assert learning.judged("cartpole", many, low) == (False, high)
    assert learning.judged("cartpole", many, None) == (False, high)


def test_the_pretended_gpu_agrees_and_its_copies_are_counted() -> None:
    command = [sys.executable, "-m", "tests.pretended_check", "agreement/minirts", "copies/minirts"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=590, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 2, done.stderr[-3000:]
    agreement, counts = lines
    assert agreement.get("holds") is True, agreement
    assert agreement["worst"] < 1e-5
    assert "bfloat16_worst" not in agreement  # torch has none there
    assert counts.get("holds") is True, counts
    assert (counts["act_up_pageable"], counts["act_down_pageable"]) == (1, 1)
    assert 0 < counts["update_up_pageable_bytes"] < 64 << 10  # observations went up with the acts

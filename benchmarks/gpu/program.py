"""Command line of the check: stages in turn, a report that grows with them, an exit code."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import torch

from benchmarks.gpu import agreement, bits, ceilings, copies, learning, rates, self_play
from benchmarks.gpu.report import Case, Report, StageReport, commit, machine
from benchmarks.gpu.stage import LEAST_GRACE_S, Cases, Context, Outcome, Stage, run_apart
from ludus.flow.names import did_you_mean
from ludus.presets.hardware import versions
from ludus.storage import utc_now

STAGES = (
    Stage("ceilings", "ceilings of the card", 0.04, ceilings.cases),
    Stage("agreement", "the processor and the device, on recorded slabs", 0.22, agreement.cases),
    Stage("bits", "equal bits of two trainings", 0.08, bits.cases),
    Stage("copies", "no large copy from or to pageable memory", 0.06, copies.cases),
    Stage("rates", "times of acts, minibatches and trainings", 0.30, rates.cases),
    Stage("self-play", "evaluations of AlphaZero's self-play", 0.14, self_play.cases),
    Stage("learning", "CartPole and MiniRTS learn", 0.16, learning.cases),
)
LEAST_S, MOST_S = 5.0, 3600.0
HELD, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


class BadInput(ValueError):
    """A wrong argument, or a machine without what was asked for."""


def main(arguments: Sequence[str]) -> int:
    """Run the check; return the exit code."""
    try:
        options = _options(arguments)
        return _check(options, arguments)
    except BadInput as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted; the report has what was finished", file=sys.stderr)
        return INTERRUPTED


class _Parser(argparse.ArgumentParser):
    """Parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise ``BadInput``."""
        raise BadInput(message)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="check.py", description="Check and measure Ludus on a card: benchmarks/gpu/README.md."
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: a small trial run")
    parser.add_argument("--seconds", type=float, default=600.0, help="about how long all stages take")
    parser.add_argument("--out", type=Path, help="report to write (default: gpu-check-DEVICE-TIME.json)")
    parser.add_argument("--only", default="", help=f"some stages: {','.join(s.name for s in STAGES)}")
    options = parser.parse_args(arguments)
    if not LEAST_S <= options.seconds <= MOST_S:
        raise BadInput(f"--seconds {options.seconds:g}: expected {LEAST_S:g} to {MOST_S:g}")
    options.only = [name.strip() for name in options.only.split(",") if name.strip()]
    for name in options.only:
        if name not in [stage.name for stage in STAGES]:
            hint = did_you_mean(name, [stage.name for stage in STAGES], "stages")
            raise BadInput(f"--only {name}: no such stage{hint}")
    if options.out is None:
        options.out = Path(f"gpu-check-{options.device}-{time.strftime('%Y%m%d-%H%M%S')}.json")
    if options.out.exists() or options.out.is_symlink():
        raise BadInput(f"--out {options.out}: exists; expected a new file")
    if not options.out.absolute().parent.is_dir():
        raise BadInput(f"--out {options.out}: no folder {options.out.absolute().parent}")
    return options


def _check(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    begun = time.monotonic()
    report = Report(
        device=options.device,
        seconds=options.seconds,
        command=shlex.join(["python", "benchmarks/gpu/check.py", *arguments]),
        machine=_machine(options.device),
        versions=versions(),
        commit=commit(),
        started=utc_now(),
        stages=[StageReport(stage.name, stage.title) for stage in STAGES],
    )
    wanted = [s for s in STAGES if not options.only or s.name in options.only]
    for line in report.stages:
        if line.name not in [stage.name for stage in wanted]:
            line.state = "not asked for"
    _save(report, options.out)
    print(f"{_about(report)}; report: {options.out}")
    for k, stage in enumerate(wanted):
        line = next(s for s in report.stages if s.name == stage.name)
        share = stage.share / sum(later.share for later in wanted[k:])
        now = time.monotonic()
        line.budget_s = max(0.0, begun + options.seconds - now) * share
        context = Context(options.device, options.device == "cpu", now + line.budget_s)
        grace = max(LEAST_GRACE_S, line.budget_s)
        run_apart(stage, context, line, lambda: _save(report, options.out), line.budget_s + grace)
        print(_summary(line), flush=True)
    report.ended = utc_now()
    _save(report, options.out)
    return HELD if all(s.holds is not False for s in report.stages) else FAILED


def _machine(device: str) -> dict[str, str]:
    """Look at the machine in a separate process: this one must not start CUDA."""

    def look(_: Context) -> Cases:
        def found() -> Outcome:
            if device == "cuda" and not torch.cuda.is_available():
                return Outcome(False, {})
            return Outcome(None, {**machine(device)})

        return {"machine": found}

    line = StageReport("machine", "machine")
    context = Context(device, small=True, deadline=time.monotonic())
    run_apart(Stage(line.name, line.title, 0.0, look), context, line, lambda: None, LEAST_GRACE_S)
    case = line.cases.get("machine", Case())
    if line.error or case.error:
        raise BadInput(f"--device {device}: {(line.error or case.error).strip().splitlines()[-1]}")
    if case.holds is False:
        raise BadInput(
            f"--device cuda: torch {torch.__version__} finds no card; expected an NVIDIA card, its driver "
            "and a torch with CUDA, or --device cpu for a trial run"
        )
    return {name: str(value) for name, value in case.numbers.items()}


def _save(report: Report, path: Path) -> None:
    try:
        report.save(path)
    except OSError as error:
        raise BadInput(f"--out {path}: {error.strerror}") from error


def _about(report: Report) -> str:
    names = ", ".join(report.machine[key] for key in ("gpu", "processor") if report.machine.get(key))
    return f"{report.device} ({names}), torch {report.versions['torch']}, commit {report.commit[:8]}"


def _summary(line: StageReport) -> str:
    """Return a line about a stage, and one for each of its faults."""
    word = {True: "holds", False: "FAILS", None: "measured"}[line.holds]
    out = [f"{line.name:10} {word:8} {line.seconds:6.1f} s, {len(line.cases)} cases: {line.title}"]
    if line.left_out:
        out.append(f"  no time for {', '.join(line.left_out)}")
    if line.error:
        out.append(f"  {line.error.strip().splitlines()[-1]}")
    for name, case in line.cases.items():
        if case.error:
            out.append(f"  {name}: {case.error.strip().splitlines()[-1]}")
        elif case.holds is False:
            out.append(f"  {name}: {case.numbers.get('why', case.numbers)}")
    return "\n".join(out)

"""Stages: each runs in a separate process, so that none takes the others with it.

An error of a kernel leaves CUDA unusable for the rest of a process: after a case that ends so, the stage
continues in a new one. A kernel that hangs cannot be interrupted from inside. The parent never starts CUDA,
so its children may.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import NamedTuple

import msgspec
import torch

from benchmarks.gpu.report import Case, StageReport

LEAST_GRACE_S = 60.0  # more than its share that a stage may take before it is stopped from outside
ERROR_CHARACTERS = 4000


class Outcome(NamedTuple):
    """``holds``: None where nothing is checked."""

    holds: bool | None
    numbers: dict[str, object]


Cases = Mapping[str, Callable[[], Outcome]]


class Message(msgspec.Struct):
    """From a stage's process: one case, or the end. ``broken``: no further case can run in this process."""

    name: str = ""
    case: Case | None = None
    left_out: list[str] = []
    error: str = ""
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """Surroundings of a stage.

    Attributes:
        device: Name of the device for torch.
        small: Whether sizes suit a quick run on the processor.
        deadline: When the stage should end, by ``time.monotonic``.
    """

    device: str
    small: bool
    deadline: float

    @property
    def left_s(self) -> float:
        """Seconds until the deadline, at least a tenth of one."""
        return max(0.1, self.deadline - time.monotonic())

    def synchronise(self) -> None:
        """Wait until the device has done its work. Raises ``RuntimeError`` if a kernel has failed."""
        if self.device == "cuda" and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.synchronize()


class Stage(NamedTuple):
    """``share``: share of the program's time. ``cases``: by name, the most important first."""

    name: str
    title: str
    share: float
    cases: Callable[[Context], Cases]


def run_cases(
    cases: Cases, context: Context, send: Callable[[Message], None], finished: Collection[str] = ()
) -> None:
    """Run one case after another while there is time; the first runs in any case.

    It returns early after a case that leaves the device unusable.

    Args:
        cases: By name.
        context: Surroundings.
        send: Receives a message after each case, and one at the end.
        finished: Cases that have run in another process.
    """
    left_out = []
    first = not finished
    for name, work in cases.items():
        if name in finished:
            continue
        if not first and time.monotonic() >= context.deadline:
            left_out.append(name)
            continue
        first = False
        case, broken = _run_case(work, context)
        send(Message(name, case, broken=broken))
        if broken:
            return
    send(Message(left_out=left_out))


def _run_case(work: Callable[[], Outcome], context: Context) -> tuple[Case, bool]:
    """Return the result of a case, and whether it leaves the device unusable.

    A kernel may fail after the call that started it has returned, so a case that gave a result is waited for.
    """
    started = time.monotonic()
    broken = False
    try:
        outcome = work()
        case = Case(outcome.holds, numbers=outcome.numbers)
    except Exception:
        case = Case(False, error=traceback.format_exc()[-ERROR_CHARACTERS:])
    try:
        context.synchronise()
    except Exception:
        broken = True
        case = Case(False, error=case.error or traceback.format_exc()[-ERROR_CHARACTERS:])
    case.seconds = time.monotonic() - started
    return case, broken


def run_apart(
    stage: Stage, context: Context, report: StageReport, changed: Callable[[], None], limit_s: float
) -> None:
    """Run a stage in copies of this process; fill ``report``, and call ``changed`` after each case.

    A case that leaves the device unusable ends its copy, and the next case runs in a new one. The stage is
    stopped ``limit_s`` seconds from now.
    """
    report.state, report.seconds = "running", 0.0
    changed()
    started = time.monotonic()
    try:
        while _ran(stage, context, report, changed, started + limit_s):
            pass
    except TimeoutError:
        report.error = f"stopped after {limit_s:.0f} s"
    report.state = "failed" if report.error else "done"
    report.seconds = time.monotonic() - started
    report.settle()
    changed()


def _ran(
    stage: Stage, context: Context, report: StageReport, changed: Callable[[], None], end: float
) -> bool:
    """Run the cases that ``report`` lacks in one copy of this process; return whether the rest needs another.

    Raises ``TimeoutError`` at ``end``.
    """
    forked = multiprocessing.get_context("fork")
    here, there = forked.Pipe(duplex=False)
    process = forked.Process(target=_in_child, args=(stage, context, there, frozenset(report.cases)))
    process.start()
    there.close()
    try:
        return _received(here, report, changed, end)
    except EOFError:
        process.join()
        report.error = _ended(process.exitcode or 0)
    finally:
        here.close()
        process.kill()
        process.join()
    return False


def _received(connection: Connection, report: StageReport, changed: Callable[[], None], end: float) -> bool:
    """Take the messages of a stage's process until its last; return whether that left the device unusable.

    Raises ``EOFError`` where the process ends before, ``TimeoutError`` at ``end`` of ``time.monotonic``.
    """
    while True:
        if not connection.poll(max(0.0, end - time.monotonic())):
            raise TimeoutError
        message = msgspec.json.decode(connection.recv_bytes(), type=Message)
        if message.case is None:
            report.left_out, report.error = message.left_out, message.error
            return False
        report.cases[message.name] = message.case
        report.settle()
        changed()
        if message.broken:
            return True


def _in_child(stage: Stage, context: Context, connection: Connection, finished: Collection[str]) -> None:
    """Run ``stage`` and end the process at once: an interpreter with CUDA in it may hang at its end."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()

    def send(message: Message) -> None:
        connection.send_bytes(msgspec.json.encode(message))

    try:
        torch.set_num_threads(1)
        run_cases(stage.cases(context), context, send, finished)
    except BaseException:
        send(Message(error=traceback.format_exc()[-ERROR_CHARACTERS:]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _end_with(parent: int) -> None:
    """End this process once ``parent`` has ended: a kernel that hangs would keep the card."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _ended(code: int) -> str:
    return f"its process was ended by signal {-code}" if code < 0 else f"its process ended with code {code}"

"""Stages: each runs in a process of its own, so that none takes the others with it.

An error of a kernel leaves CUDA unusable for the rest of a process, and a kernel that hangs cannot be
interrupted from inside. The parent never starts CUDA, so its children may.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
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
    """From a stage's process: one case, or the end."""

    name: str = ""
    case: Case | None = None
    left_out: list[str] = []
    error: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """Surroundings of a stage.

    Attributes:
        device: Name of the device for torch.
        small: Whether sizes are those of a quick run on the processor.
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
        """Wait until the device has done its work."""
        if self.device == "cuda":
            torch.cuda.synchronize()


class Stage(NamedTuple):
    """``share``: of the program's time. ``cases``: by name, the most important first."""

    name: str
    title: str
    share: float
    cases: Callable[[Context], Cases]


def run_cases(cases: Cases, context: Context, send: Callable[[Message], None]) -> None:
    """Run one case after another while there is time; the first runs in any case."""
    left_out = []
    for k, (name, work) in enumerate(cases.items()):
        if k > 0 and time.monotonic() >= context.deadline:
            left_out.append(name)
            continue
        started = time.monotonic()
        try:
            outcome = work()
            case = Case(outcome.holds, numbers=outcome.numbers)
        except Exception:
            case = Case(False, error=traceback.format_exc()[-ERROR_CHARACTERS:])
        case.seconds = time.monotonic() - started
        send(Message(name, case))
    send(Message(left_out=left_out))


def run_apart(
    stage: Stage, context: Context, report: StageReport, changed: Callable[[], None], limit_s: float
) -> None:
    """Run a stage in a copy of this process; fill ``report``, and call ``changed`` after each case.

    It is stopped ``limit_s`` seconds from now.
    """
    report.state, report.seconds = "running", 0.0
    changed()
    started = time.monotonic()
    forked = multiprocessing.get_context("fork")
    here, there = forked.Pipe(duplex=False)
    process = forked.Process(target=_in_child, args=(stage, context, there))
    process.start()
    there.close()
    try:
        report.error = _received(here, report, changed, started + limit_s)
    except EOFError:
        process.join()
        report.error = _ended(process.exitcode or 0)
    except TimeoutError:
        report.error = f"stopped after {limit_s:.0f} s"
    finally:
        here.close()
        process.kill()
        process.join()
    report.state = "failed" if report.error else "done"
    report.seconds = time.monotonic() - started
    report.settle()
    changed()


def _received(connection: Connection, report: StageReport, changed: Callable[[], None], end: float) -> str:
    """Take the messages of a stage until its last; return its error, or nothing.

    Raises ``EOFError`` where its process ends before, ``TimeoutError`` at ``end`` of ``time.monotonic``.
    """
    while True:
        if not connection.poll(max(0.0, end - time.monotonic())):
            raise TimeoutError
        message = msgspec.json.decode(connection.recv_bytes(), type=Message)
        if message.case is None:
            report.left_out = message.left_out
            return message.error
        report.cases[message.name] = message.case
        report.settle()
        changed()


def _in_child(stage: Stage, context: Context, connection: Connection) -> None:
    """Run ``stage`` and end the process at once: an interpreter with CUDA in it may hang at its end."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()

    def send(message: Message) -> None:
        connection.send_bytes(msgspec.json.encode(message))

    try:
        torch.set_num_threads(1)
        run_cases(stage.cases(context), context, send)
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

"""Checks of a Python game in separate processes: one that exits, crashes or hangs is a finding, too.

The first process plays all checks. A few others play the first match with other hashes of strings, where
results that depend on the order of a set differ.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.games import registry
from ludus.games.checks.monitor import PLACE_BYTES, CallMonitor, read_place
from ludus.games.names import is_typed, loaded, typed
from ludus.native import ParamError

CALL_S = 30.0  # of one call of the game
START_S = 90.0  # for the game to be made
HASH_SEEDS = (1, 2, 3, 4)
_POLL_S = 0.1
_RUN = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; "
    "from ludus.games.checks.process import child; child(*map(int, sys.argv[1:]))"
)


class CheckRequest(msgspec.Struct):
    """Order to a process that checks. ``whole``: all checks, else only the trace of the first match."""

    reference: str
    typed: bool
    params: dict[str, str]
    matches: int
    seed: int
    whole: bool


class Answer(msgspec.Struct):
    """Findings of a process. ``trace``: a digest of every tick of the first match."""

    spec_hash: str = ""
    reproducible: bool = True
    error: str = ""  # the game cannot be made
    rows: list[tuple[str, bool, str]] = []
    ns_per_tick: float = 0.0
    trace: list[str] = []


class _Child:
    """A process that checks, as its parent sees it."""

    def __init__(self, request: CheckRequest, hash_seed: int) -> None:
        self._reference = request.reference
        self._memory = tempfile.TemporaryFile()  # noqa: SIM115 - closed in end()
        self._memory.truncate(PLACE_BYTES)
        self._place = mmap.mmap(self._memory.fileno(), PLACE_BYTES)
        self._asked = tempfile.TemporaryFile()  # noqa: SIM115
        self._asked.write(msgspec.json.encode(request))
        self._asked.flush()
        self._answer, theirs = os.pipe()
        descriptors = (self._memory.fileno(), self._asked.fileno(), theirs)
        environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
        environment["PYTHONPATH"] = os.pathsep.join(p or os.getcwd() for p in sys.path)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _RUN, *map(str, descriptors)],
                stdin=subprocess.DEVNULL,
                stdout=2,
                pass_fds=descriptors,
                env=environment,
                start_new_session=True,
            )
        finally:
            os.close(theirs)

    def result(self, report: Callable[[str], None]) -> Answer | str:
        """Return the process's answer, or a description of how it was lost.

        ``report`` receives the newest call of the game.
        """
        data, seen, waited = b"", -1, 0.0
        while True:
            ready, _, _ = select.select([self._answer], [], [], _POLL_S)
            if ready:
                part = os.read(self._answer, 1 << 16)
                data += part
                if not part or part.endswith(b"\n"):  # its own children may keep the pipe open
                    break
                continue
            number, place = read_place(self._place)
            if number:
                report(f"{place}, {number:,} calls of the game so far")
            waited = 0.0 if number != seen else waited + _POLL_S
            seen = number
            limit = CALL_S if number else START_S
            if waited > limit:
                return (
                    f"{place or 'making the game'} did not return within {limit:g} s; a pool replaces the "
                    "process of a game that hangs (pool.timeout_s)"
                )
        if data:
            return from_json(data, Answer)
        place = read_place(self._place)[1] or "making the game"
        code = self._process.wait()
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        end = CallMonitor(self._reference).end_of_match()
        return f"{place} ended the process ({how}); instead {end}, or raise an exception"

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._answer)
        self._place.close()
        self._memory.close()
        self._asked.close()


def check(
    reference: str, params: Mapping[str, str], matches: int, seed: int, report: Callable[[str], None]
) -> tuple[list[tuple[str, bool, str]], float]:
    """Return ``(check, passed, detail)`` of every check, and nanoseconds a tick.

    :mod:`ludus.games.checks.python_conformance` has the checks. Checks that were not made are left out.
    ``report`` receives the newest call of the game.

    Raises ``ParamError`` if the game cannot be made.
    """
    request = CheckRequest(
        registry.python_reference(reference), is_typed(reference), dict(params), matches, seed, True
    )
    children = [_Child(request, HASH_SEEDS[0])]
    try:
        first = children[0].result(lambda place: report(f"{matches:,} matches from seed {seed}: {place}"))
        if isinstance(first, str):
            return [("plays", False, first)], 0.0
        if first.error:
            raise ParamError(first.error)
        rows = first.rows
        if all(passed for _, passed, _ in rows):

            def elsewhere(place: str) -> None:
                report(f"the first match under other hashes: {place}")

            first_match = msgspec.structs.replace(request, whole=False)
            children += [_Child(first_match, seed) for seed in HASH_SEEDS[1:]]
            wrong = _compare(first, [child.result(elsewhere) for child in children[1:]])
            rows = [(c, False, wrong) if wrong and c == "hash_order" else (c, p, d) for c, p, d in rows]
        return rows, first.ns_per_tick
    finally:
        for each in children:
            each.end()


def _compare(first: Answer, others: Sequence[Answer | str]) -> str:
    advice = "a set of strings has another order in every process: sort it, or use a list or a dict"
    for other in others:
        if isinstance(other, str):
            return f"in another process {other}"
        if other.error or other.spec_hash != first.spec_hash:
            return f"another process declares other spaces; {other.error or advice}"
        if first.reproducible and other.trace != first.trace:
            pairs = zip(first.trace, other.trace, strict=False)
            tick = next((t for t, (a, b) in enumerate(pairs) if a != b), 0)
            return f"the same match gives something else at tick {tick} of another process; {advice}"
    return ""


def child(place: int, asked: int, answer: int) -> None:
    """Run a process that checks. It ends without waiting for threads of the game that still run."""
    with os.fdopen(asked, "rb") as file:
        file.seek(0)
        request = from_json(file.read(), CheckRequest)
    found = _check(request, mmap.mmap(place, PLACE_BYTES))
    with os.fdopen(answer, "wb") as file:
        file.write(msgspec.json.encode(found) + b"\n")
    os._exit(0)


def _check(request: CheckRequest, place: mmap.mmap) -> Answer:
    from ludus.games.checks import python_conformance as checks

    admitted = typed if request.typed else loaded  # checked by the parent
    try:
        made = registry.maker(admitted(request.reference), request.params)
    except ValueError as error:
        return Answer(error=str(error))
    monitor = CallMonitor(made.spec.name, place)
    if request.whole:
        rows, ns_per_tick, trace = checks.check_monitored(made, request.matches, request.seed, monitor)
        return Answer(made.spec.spec_hash, made.spec.reproducible, "", rows, ns_per_tick, trace)
    try:
        trace = checks.trace_of(made, request.seed, monitor)
    except Exception as error:
        return Answer(error=f"{type(error).__name__}: {error}")
    return Answer(made.spec.spec_hash, trace=trace)

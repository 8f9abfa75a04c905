"""Fixtures for all tests: programs that pip does not install."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections import defaultdict
from collections.abc import Iterator

import hypothesis
import pytest

from ludus.games import names
from ludus.storage.user_state import ENVIRONMENT
from tools.freshness import ANY_PACKAGE, package_folder, stale

# Examples are the same in every run and may take as long as a busy machine makes them. LUDUS_EXAMPLES tries
# others, and more of them where a test sets a number.
hypothesis.settings.register_profile(
    "ludus",
    deadline=None,
    derandomize="LUDUS_EXAMPLES" not in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("ludus")


def pytest_configure(config: pytest.Config) -> None:
    """Stop where the package under test differs from the sources; make a separate state folder for tests.

    Subprocesses of tests have that folder too: none writes to the user's home.
    """
    checked = not hasattr(config, "workerinput") and ANY_PACKAGE not in os.environ
    if checked and (difference := stale(package_folder())):
        pytest.exit(difference, returncode=pytest.ExitCode.USAGE_ERROR)
    os.environ[ENVIRONMENT] = tempfile.mkdtemp(prefix="ludus-tests-state-")
    if (
        signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    ):  # under nohup: subprocesses of tests would ignore it too
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = os.environ.pop(ENVIRONMENT, None)  # none where the package was refused
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


_LISTED = 40  # files whose seconds a long run prints
_LONG_S = 60.0  # of a run
_seconds: dict[str, float] = defaultdict(float)  # by file, in all processes


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.location[0]] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print which files took the seconds of a long run."""
    total = sum(_seconds.values())
    if total < _LONG_S:
        return
    terminalreporter.section(f"{total:.0f} s in {len(_seconds)} files")
    for name, seconds in sorted(_seconds.items(), key=lambda item: -item[1])[:_LISTED]:
        terminalreporter.write_line(f"{seconds:7.1f} s  {name}")


@pytest.fixture(autouse=True)
def references_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget after each test which code its user named and which was loaded."""
    for known in ("_typed", "_loaded"):
        monkeypatch.setattr(names, known, set(getattr(names, known)))


@pytest.fixture
def forgotten_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget after the test which methods and encoders it registered."""
    from ludus.algorithms.registry import _METHODS
    from ludus.policies.encoders import _ENCODERS

    for table in (_METHODS, _ENCODERS):
        for known in ("_registered", "_found"):
            monkeypatch.setattr(table, known, dict(getattr(table, known)))


def require_program(names: tuple[str, ...], package: str) -> str:
    """Return the path of the first of ``names`` that is on this machine.

    Without any: the test is skipped with the package to install; in CI (``CI=true``) it fails.
    """
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    message = f"none of {', '.join(names)} on this machine (Debian and Ubuntu: apt-get install {package})"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return a Chromium for headless tests of pages."""
    return require_program(("chromium", "chromium-browser", "google-chrome"), "chromium")


@pytest.fixture(scope="session")
def cxx() -> str:
    """Return a C++ compiler."""
    return require_program(("c++", "g++", "clang++"), "g++")


@pytest.fixture
def stepped_self_play(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make rounds of AlphaZero runs independent of the machine's load, for tests that count them."""
    import torch

    from tests.unit.training.stepped import step_self_play

    threads = torch.get_num_threads()
    step_self_play(monkeypatch)
    yield
    torch.set_num_threads(threads)  # a stepped worker sets them in the test's own thread

"""The process that ends what a killed controller leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ludus.cluster.processes.reaper import descendants, reap, start

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")


def test_a_number_that_another_process_has_by_now_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system gives the number of a process that ended to another one."""
    killed: list[int] = []
    children = [subprocess.Popen(["sleep", "60"]) for _ in range(3)]
    try:
        times = descendants(os.getpid())
        one, two, gone = (child.pid for child in children)
        children[2].kill()
        children[2].wait()
        monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))
        reap({one: times[one] - 1, two: times[two] + 1, gone: times[gone]})
        assert killed == []
        reap({one: 0, two: times[two]})
        assert killed == [two]
    finally:
        monkeypatch.undo()
        for child in children:
            child.kill()
            child.wait()


def test_descendants_are_found_and_ended_and_others_are_left_alone() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        started = descendants(os.getpid())
        assert child.pid in started
        reap({child.pid: started[child.pid]})
        assert child.wait(10) == -9
    finally:
        child.kill()
        child.communicate()


def test_children_of_a_killed_process_end_with_its_pipe() -> None:
    program = (
        "import os, signal, subprocess, sys\n"
        "from ludus.cluster.processes import reaper\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "reaper.start({})\n"
        "print(child.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    # Reads until no process holds the pipe, so the child has ended when this returns.
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == -9
    assert int(done.stdout) > 0


@pytest.mark.parametrize("killed", [True, False])
def test_the_private_folder_of_the_processes_is_removed_after_their_end(killed: bool, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    (folder / "session" / "logs").mkdir(parents=True)
    program = (
        "import os, signal, subprocess, sys\n"
        "from ludus.cluster.processes import reaper\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "started = reaper.start({}, sys.argv[1])\n"
        "assert os.path.isdir(sys.argv[1])\n"
        "os.kill(os.getpid(), signal.SIGKILL) if sys.argv[2] == 'True' else started.communicate()\n"
    )
    command = [sys.executable, "-c", program, str(folder), str(killed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == (-9 if killed else 0), done.stderr
    assert not folder.exists()


def test_children_from_before_are_left_alone() -> None:
    """A browser or a pool of the same program is no part of the cluster."""
    sleeps = [sys.executable, "-c", "import time; time.sleep(60)"]
    first = subprocess.Popen(sleeps)
    try:
        before = descendants(os.getpid())
        second = subprocess.Popen(sleeps)
        started = start(before)
        assert started is not None
        started.communicate(timeout=30)
        assert second.wait(10) == -9
        assert first.poll() is None
    finally:
        first.kill()
        first.wait()

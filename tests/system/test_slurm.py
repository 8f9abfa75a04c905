"""The sbatch script under Debian's slurm-wlm: a controller and two machines, all of them this one."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ludus.reporting.run_view import RunView
from ludus.storage import RunDirectory
from ludus.storage.jsonl import read_jsonl
from tests.system.test_cluster_named import SMALL, UNEVALUATED, free_port, options

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

from ludus.cluster.processes.ray_host import RayHost

DAEMONS = ("munged", "slurmctld", "slurmd")
_SBIN = f"{os.environ['PATH']}:/usr/sbin:/sbin"  # Debian leaves them out of a user's PATH
_MISSING = [name for name in (*DAEMONS, "sbatch", "srun") if shutil.which(name, path=_SBIN) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(_MISSING), reason=f"{', '.join(_MISSING)} not installed: apt-get install slurm-wlm munge"
    ),
    pytest.mark.skipif(os.geteuid() != 0, reason="SLURM's daemons need root"),
]

START_S = 120.0  # of the daemons; of a job until it learns; of its end: on a busy machine
EXPIRE_S = 15  # of a job's credential; SLURM waits as long before a job comes again
CONFIGURATION = """\
ClusterName=ludus
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire={expire}
SlurmctldPort={ports[0]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/%n
StateSaveLocation={folder}/state
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MessageTimeout=60
FirstJobId={first}
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


@dataclass(frozen=True)
class Slurm:
    """A cluster of two machines with two processors each. ``folder`` has its files."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its programs and jobs."""
        given = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "SLURM_", "SBATCH_"))}
        path = f"{Path(sys.executable).parent}:{_SBIN}"
        return given | {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": path, "OMP_NUM_THREADS": "1"}

    def ask(self, *command: str, stdin: str = "") -> str:
        """Return the output of a program of SLURM."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=START_S,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a daemon in the foreground."""
        with (self.folder / "daemons.log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def left(self, place: Path) -> list[str]:
        """Return the command lines of processes of jobs, by their environment or their folder ``place``.

        Ray writes names of its processes over their environment.
        """
        mark, lines = os.fsencode(self.folder), []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it ended
                if (entry / "comm").read_text().strip() in (*DAEMONS, "slurmscriptd"):
                    continue
                cwd = Path(os.readlink(entry / "cwd"))
                if mark in (entry / "environ").read_bytes() or cwd.is_relative_to(place):
                    lines.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return lines


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """Start the daemons, with a separate configuration; they end with the module."""
    one = Slurm(tmp_path_factory.mktemp("slurm"))
    folder, host = one.folder, socket.gethostname()
    (folder / "state").mkdir()
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    ports = [free_port() for _ in range(3)]
    first = 1 + secrets.randbelow(9_000)  # the port of a job's head depends on it
    text = CONFIGURATION.format(host=host, folder=folder, ports=ports, expire=EXPIRE_S, first=first)
    (folder / "slurm.conf").write_text(text)
    for node in ("n1", "n2"):
        (folder / node).mkdir()
    files = [f"--{name}={folder}/munge.{name[:4]}" for name in ("pid-file", "log-file", "seed-file")]
    munge = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket"]
    started = [one.start(*munge, *files)]
    try:
        _wait(lambda: (folder / "munge.socket").exists(), "munged listens")
        started.append(one.start("slurmctld", "-D"))
        started += [one.start("slurmd", "-D", "-N", node) for node in ("n1", "n2")]
        _wait(
            lambda: "idle\nidle\n" in _nodes(one),
            "two nodes are idle",
            lambda: (folder / "daemons.log").read_text(),
        )
        yield one
        with suppress(AssertionError):  # a controller that is not there has no jobs
            one.ask("scancel", "--user=root", "--signal=KILL", "--full")
    finally:
        for process in reversed(started):
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _nodes(slurm: Slurm) -> str:
    try:
        return slurm.ask("sinfo", "--noheader", "--Node", "--format=%T")
    except AssertionError:
        return ""


def _wait(
    condition: Callable[[], bool], text: str, shown: Callable[[], str] = lambda: "", within: float = START_S
) -> None:
    """Wait until ``condition`` holds. ``shown`` returns more about a time-out."""
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, f"not within {within:.0f} s: {text}\n{shown()}"
        time.sleep(0.3)


@dataclass(frozen=True)
class Job:
    """A submitted job and its run."""

    slurm: Slurm
    number: str
    folder: Path

    @property
    def run(self) -> Path:
        """The folder of the run."""
        return self.folder / "runs" / "ttt"

    def field(self, name: str) -> str:
        """Return a value that SLURM has for the job's first group."""
        first = self.slurm.ask("scontrol", "--oneliner", "show", "job", self.number).splitlines()[0]
        return dict(word.partition("=")[::2] for word in first.split())[name]

    def version(self) -> int:
        """Return the number of the newest update; 0 before the first."""
        if not (self.run / "metrics.jsonl").exists():
            return 0
        updates, _ = RunView(RunDirectory(self.run)).metrics()
        return updates[-1].version if updates else 0

    def events(self) -> list[dict[str, Any]]:
        """Return what happened to the run."""
        return list(read_jsonl(RunDirectory(self.run).events_path))

    def left(self) -> list[str]:
        """Return the command lines of its processes."""
        return self.slurm.left(self.folder)

    def shown(self) -> str:
        """Return the newest lines of the job's output."""
        logs = sorted(self.folder.glob("*.out")) + sorted(self.folder.glob("*.log"))
        return "\n".join(f"{path.name}:\n{path.read_text()[-2000:]}" for path in logs)

    def learns(self, beyond: int = 0) -> None:
        """Wait for updates after number ``beyond``."""
        _wait(lambda: self.version() > beyond + 2, "the run learns", self.shown)

    def comes_again(self, restarts: int) -> None:
        """Wait until the job runs once more."""
        _wait(lambda: self.field("Restarts") == str(restarts), "the job is queued again", self.shown)
        _wait(self._runs, "the job runs again", self.shown)

    def _runs(self) -> bool:
        # SLURM's backfill starts jobs of several groups, and does nothing while no job and no node changes.
        self.slurm.ask("scontrol", "update", f"JobId={self.number}", "Nice=0")
        return self.field("JobState") == "RUNNING"

    def ends(self) -> str:
        """Wait until nothing of the job is left. Return its state."""
        _wait(lambda: self.field("JobState") not in ("RUNNING", "COMPLETING"), "the job ends", self.shown)
        _wait(lambda: self.left() == [], "nothing of the job is left", lambda: str(self.left()), 45)
        return self.field("JobState")


@pytest.fixture
def submitted(slurm: Slurm, tmp_path: Path) -> Iterator[Callable[..., Job]]:
    """Return a function that renders a script and submits it."""
    jobs = []

    def submit(*words: str) -> Job:
        small = options(SMALL | UNEVALUATED | {"run.checkpoint-every-minutes": "60"})
        place = ("--runs", str(tmp_path / "runs"), "--name", "ttt", "--learner-cpus", "1")
        render = ("cluster", "render", "slurm", "tic_tac_toe", "--cluster.rollouts", "1", *place)
        script = slurm.ask(sys.executable, "-m", "ludus", *render, *small, *words)
        number = slurm.ask("sbatch", "--parsable", f"--chdir={tmp_path}", stdin=script).strip()
        jobs.append(Job(slurm, number, tmp_path))
        return jobs[-1]

    yield submit
    for job in jobs:
        with suppress(AssertionError):  # it ended
            slurm.ask("scancel", "--signal=KILL", "--full", job.number)
            slurm.ask("scancel", job.number)


def test_a_job_trains_and_leaves_nothing(submitted: Callable[..., Job], slurm: Slurm) -> None:
    job = submitted("--run.max-steps", "4000", "--cluster.cpus", "2")
    job.learns()
    assert any("gcs_server" in line for line in job.left()), job.left()
    assert any(line.startswith(f"ray::{RayHost.__name__}") for line in job.left()), job.left()
    # The step of the rollouts has the processors of its machine, not one as SLURM gives by default.
    steps = slurm.ask("scontrol", "--oneliner", "show", "step").splitlines()
    assert [line.split("CPUs=")[1].split()[0] for line in steps if "NodeList=n2" in line] == ["2"], steps
    assert job.ends() == "COMPLETED", job.shown()
    assert job.field("ExitCode") == "0:0"
    assert [event["event"] for event in job.events()] == ["started", "finished"]


@pytest.mark.parametrize("usr1", ["by hand", "at the limit"])
def test_usr1_saves_and_the_job_comes_again_and_resumes(
    usr1: str, submitted: Callable[..., Job], slurm: Slurm
) -> None:
    limit = ("--hours", "0.067") if usr1 == "at the limit" else ()  # four minutes, USR1 after two
    job = submitted("--run.max-steps", "1000000000", *limit)
    job.learns()
    if usr1 == "by hand":
        slurm.ask("scancel", "--signal=USR1", "--batch", job.number)
    else:
        _wait(lambda: "program ended" in job.shown(), "USR1 before the limit", job.shown, 200)
    job.comes_again(1)
    first, saved = job.events()
    assert (first["event"], saved["event"]) == ("started", "interrupted")
    job.learns(beyond=saved["version"])
    slurm.ask("scancel", "--signal=TERM", "--batch", job.number)
    job.ends()
    assert (job.field("Restarts"), job.field("ExitCode")) == ("1", "130:0"), job.shown()
    _, _, resumed, ended = job.events()
    assert (resumed["event"], resumed["version"]) == ("resumed", saved["version"])
    assert ended["event"] == "interrupted"
    assert max(RunDirectory(job.run).checkpoints.versions()) == ended["version"] > saved["version"]
    output = (job.folder / f"slurm-{job.number}.out").read_text()
    assert output.count("the program ended with 130") == 2, output  # a restart keeps the first part
    assert "kill:" not in output


def test_a_plain_scancel_leaves_nothing(submitted: Callable[..., Job], slurm: Slurm) -> None:
    job = submitted("--run.max-steps", "1000000000")
    job.learns()
    slurm.ask("scancel", job.number)
    assert job.ends() == "CANCELLED", job.shown()

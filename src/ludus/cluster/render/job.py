"""A run on a managed cluster, by KubeRay or SLURM: its name, its machines, the commands of its program."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping

import msgspec

from ludus.cluster.elastic.assignment import least_rollouts
from ludus.flow.inputs.shown import shell
from ludus.flow.problem import Argument, Setting
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.file import LoadedPreset
from ludus.presets.options import ends_with
from ludus.version import __version__

RAY_VERSION = "2.60.0"  # of the image; the smallest that the extra `cluster` allows
#: KubeRay appends its own parts to a job's name, and Kubernetes allows 63 characters in all.
MAX_NAME = 47
RULE = (
    f"expected at most {MAX_NAME} lower-case letters, digits and dashes, first a letter, last no dash "
    "(Kubernetes allows 63 characters, KubeRay appends to them)"
)
_NAME = re.compile(r"[a-z](?:[a-z0-9-]*[a-z0-9])?")
_IMAGE = re.compile(r"[a-z0-9][A-Za-z0-9._:/@-]{0,254}")
_FOLDER = re.compile(r"[A-Za-z0-9._/-]{1,255}")


class JobOptions(msgspec.Struct, frozen=True):
    """Settings of a job that a preset does not have.

    Attributes:
        name: Name of the job; empty = made from the preset's.
        image: Container image with Ludus.
        claim: PersistentVolumeClaim that keeps the runs.
        runs: Folder of the runs there.
        per_machine: Rollouts on one machine.
        learner_cpus: Processors of a learner's machine.
        memory_gib: Memory for each processor, in GiB.
        spot: Key of the taint of machines that may be taken away at any time; rollouts tolerate it.
        hours: Longest time of the job; 0 = unbounded.
    """

    name: str = ""
    image: str = f"ludus:{__version__}"
    claim: str = "ludus-runs"
    runs: str = "/runs"
    per_machine: int = 1
    learner_cpus: int = 4
    memory_gib: int = 2
    spot: str = "spot"
    hours: float = 0.0


class MachineKind(msgspec.Struct, frozen=True):
    """Machines of one kind.

    ``least``: how many are enough; others may join later. ``cpus``, ``gpus``: number in each machine.
    ``ray_cpus``, ``ray_gpus``: how many Ray may use; the controller keeps the rest.
    """

    kind: str
    count: int
    cpus: int
    gpus: int
    ray_cpus: int
    ray_gpus: int
    least: int


class Job(msgspec.Struct, frozen=True):
    """A run to be started elsewhere.

    Attributes:
        name: A name that Kubernetes allows.
        preset: Its settings.
        words: The command that starts it, without the folder of the run and the address of the cluster.
        options: See :class:`JobOptions`.
    """

    name: str
    preset: Preset
    words: tuple[str, ...]
    options: JobOptions

    @property
    def run_dir(self) -> str:
        """The folder of the run."""
        return f"{self.options.runs.rstrip('/')}/{self.name}"


def job_of(loaded: LoadedPreset, preset: str, overrides: Mapping[str, str], options: JobOptions) -> Job:
    """Return the job that trains a preset.

    Args:
        loaded: The preset with the overrides.
        preset: The word by which the machines there find the preset.
        overrides: Option without leading dashes -> text.
        options: Settings that a preset does not have.

    Raises:
        ConfigError: No rollouts, an address, or an option that cannot be carried out.
    """
    cluster = loaded.preset.cluster
    if not cluster.needs_ray:
        such = Setting("cluster.rollouts", "4")
        raise ConfigError("cluster.rollouts = 0: expected 1 or more, such as ", such)
    if cluster.inference:
        raise ConfigError(
            f"cluster.inference = {cluster.inference}: expected 0, jobs have no machines for it"
        )
    if cluster.address != "local":
        raise ConfigError(f'cluster.address = "{cluster.address}": leave it out, the job starts its cluster')
    if not _IMAGE.fullmatch(options.image):
        raise ConfigError(
            f"expected the name of a container image, such as {JobOptions().image}",
            where=_option("image", options.image),
        )
    if not _is_label(options.claim, 63):
        near = nearest_name(options.claim)
        text = f"expected a PersistentVolumeClaim; nearest: {near}"
        raise ConfigError(text, where=_option("claim", options.claim))
    if not _FOLDER.fullmatch(options.runs) or options.runs.startswith("-") or ".." in options.runs.split("/"):
        text = "expected a folder of letters, digits, and any of . _ - /"
        raise ConfigError(text, where=_option("runs", options.runs))
    words = ["ludus", "train", preset]
    words += [f"--{key}={text}" for key, text in overrides.items() if not ends_with("cluster.address", key)]
    settings = loaded.preset
    if (
        cluster.learners > 1 and cluster.members == "turns" and settings.run.threads == 0
    ):  # a further learner takes the whole of its machine
        words.append(f"--run.threads={options.learner_cpus}")
        run = msgspec.structs.replace(settings.run, threads=options.learner_cpus)
        settings = msgspec.structs.replace(settings, run=run)
    for word in words:
        if not word.isprintable():
            raise ConfigError(f"{word!r}: expected text without line breaks and control characters")
    name = options.name or nearest_name(loaded.name)
    if not _is_label(name, MAX_NAME):
        raise ConfigError(f"{RULE}; nearest: {nearest_name(name)}", where=_option("name", name))
    return Job(name, settings, tuple(words), options)


def _option(name: str, value: str) -> Argument:
    return Argument(name, value, command="cluster render")


def nearest_name(text: str) -> str:
    """Return the name nearest to ``text`` that Kubernetes and KubeRay allow."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not plain[:1].isalpha():
        plain = f"run-{plain}".rstrip("-")
    return plain[:MAX_NAME].rstrip("-")


def _is_label(name: str, longest: int) -> bool:
    return len(name) <= longest and _NAME.fullmatch(name) is not None


def machines_of(job: Job) -> tuple[MachineKind, ...]:
    """Return the machines of a job: of the controller, of further learners, of members, of the rollouts."""
    cluster, options = job.preset.cluster, job.options
    if cluster.members == "parallel" and job.preset.league is not None:
        return _machines_of_members(job, len(job.preset.league.members))
    gpus = 1 if job.preset.run.device == "cuda" else 0
    cpus = max(options.learner_cpus, job.preset.run.threads)
    machines = [MachineKind("controller", 1, cpus, gpus, 0, 0, 1)]
    if cluster.learners > 1:
        ranks = cluster.learners - 1
        machines.append(MachineKind("learner", ranks, cpus, gpus, cpus, gpus, ranks))
    machines.append(_machines_for("rollout", cluster.rollouts, job, least_rollouts(cluster)))
    return tuple(machines)


def _machines_of_members(job: Job, members: int) -> tuple[MachineKind, ...]:
    """Return the machines of a job whose members learn in parallel, each with its own rollouts and ranks."""
    cluster, cpus = job.preset.cluster, max(job.options.learner_cpus, job.preset.run.threads)
    machines = [MachineKind("controller", 1, cpus, 0, 0, 0, 1), _machines_for("member", members, job)]
    if cluster.learners > 1:
        gpus, count = int(cluster.gpus > 0), members * (cluster.learners - 1)
        machines.append(MachineKind("learner", count, cluster.cpus, gpus, cluster.cpus, gpus, count))
    if cluster.rollouts:
        played = members * cluster.rollouts
        machines.append(_machines_for("rollout", played, job, members * least_rollouts(cluster)))
    return tuple(machines)


def _machines_for(kind: str, processes: int, job: Job, least: int | None = None) -> MachineKind:
    """Return the machines for processes with the processors and GPUs of a rollout each.

    Args:
        kind: What they are for.
        processes: Number of processes.
        job: The job.
        least: Number of processes that are enough; None: all.
    """
    cluster = job.preset.cluster
    together = min(job.options.per_machine, processes)
    cpus, gpus = together * cluster.cpus, math.ceil(together * cluster.gpus)
    enough = math.ceil((processes if least is None else least) / together)
    return MachineKind(kind, math.ceil(processes / together), cpus, gpus, cpus, gpus, enough)


def program(job: Job) -> str:
    """Return lines of sh: resume the run if it is there, train if not. ``$RAY_ADDRESS`` is the cluster's."""
    train = " ".join(map(shlex.quote, [*job.words, f"--run-dir={job.run_dir}"]))
    return (
        f"if [ -f {shell(job.run_dir)}/config.toml ]; then\n"
        f'  set -- ludus resume {shell(job.run_dir)} --cluster.address "$RAY_ADDRESS"\n'
        "else\n"
        f'  set -- {train} --cluster.address "$RAY_ADDRESS"\n'
        "fi\n"
    )

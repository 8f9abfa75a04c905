"""Starts the processes of a league's members, and refuses a cluster that has no room for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from ludus.cluster.checks import LOCAL_ADDRESS, check_alike, more_machines
from ludus.cluster.members.part import MemberPart
from ludus.cluster.processes.actors import RolloutActor, RolloutLost, end_all, put
from ludus.cluster.processes.starting import LOCAL_START_S, REPORT_S, START_S
from ludus.cluster.sent_preset import sent_preset
from ludus.cluster.session import all_cpus, all_gpus, free_cpus, free_gpus
from ludus.flow.problem import Part, Setting
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.errors import ConfigError
from ludus.presets.hardware import device_name, precision_name
from ludus.training.league.remote.starting import with_shared_threads

PARALLEL = 'cluster.members = "parallel"'


def member_part_of(preset: Preset) -> Preset:
    """Return the settings of a member's process: its threads and device, and this machine's precision."""
    device = "cuda" if preset.cluster.gpus > 0 else "cpu"
    precision = precision_name(preset.run, device_name(preset))  # other machines may have another
    shared = with_shared_threads(preset)
    run = msgspec.structs.replace(shared.run, device=device, precision=precision)
    return msgspec.structs.replace(shared, run=run)


def own_cpus(cluster: ClusterConfig) -> int:
    """Return the processors that a member's process has for itself.

    On a cluster of one machine, members with rollouts share its processors with the controller.
    """
    return 0 if cluster.rollouts and cluster.address == LOCAL_ADDRESS else cluster.cpus


def wanted_of(cluster: ClusterConfig, members: int) -> tuple[int, float]:
    """Return the processors and GPUs of all members with their rollouts."""
    parts = 1 + cluster.rollouts
    gpus = members * cluster.gpus * parts
    return members * (own_cpus(cluster) + cluster.rollouts * cluster.cpus), gpus


def start_members(
    preset: Preset, names: Sequence[str], report: Callable[[str], None]
) -> tuple[dict[str, RolloutActor], list[int]]:
    """Start the processes of all members and compare their machines with this one.

    Return the processes by member, and their ids.

    Args:
        preset: Settings of the run.
        names: The members.
        report: Called with a line now and then while processors are missing.

    Raises:
        ConfigError: Too few processors or GPUs, or a machine with another Ludus or game.
    """
    cluster = preset.cluster
    sent = put(sent_preset(member_part_of(preset), learns=True))
    spec, _ = resolve_spec(preset)
    if cluster.address == LOCAL_ADDRESS and (text := _missing(cluster, len(names), all_cpus(), all_gpus())):
        raise _refusal(cluster, len(names), f"{text} on this machine")
    actors = [RolloutActor(own_cpus(cluster), cluster.gpus, MemberPart) for _ in names]
    try:
        for actor in actors:
            actor.kind = "member"
        _wait_for_all(actors, cluster, report)
        calls = [actor.ask("build", sent) for actor in actors]
        pids = []
        for name, call in zip(names, calls, strict=True):
            try:
                about = call.first()
                check_alike(about, spec.spec_hash)
                pids.append(about.pid)
            except RolloutLost as error:
                raise ConfigError(error, where=f"the process of {name} did not start") from error
    except BaseException:
        end_all(actors)
        raise
    return dict(zip(names, actors, strict=True)), pids


def _missing(cluster: ClusterConfig, members: int, cpus: float, gpus: float) -> str:
    """Return which resources are missing, as both numbers; empty if there are enough."""
    wanted, wanted_gpus = wanted_of(cluster, members)
    if wanted > cpus:
        return f"{wanted} CPUs asked, {cpus:g} there"
    if wanted_gpus > gpus:
        return f"{wanted_gpus:g} GPUs asked, {gpus:g} there"
    return ""


def _refusal(cluster: ClusterConfig, members: int, text: str) -> ConfigError:
    """Return the error for members without room."""
    what = f"{members} members"
    if cluster.rollouts:
        what += f" with {cluster.rollouts} rollout{'s' * (cluster.rollouts > 1)} each"
    remedy: tuple[Part, ...] = ("; set ", Setting("cluster.members", "turns"), ", or ")
    return ConfigError(f"{PARALLEL}: {text}, for {what}", *remedy, *more_machines(cluster))


def _wait_for_all(
    actors: Sequence[RolloutActor], cluster: ClusterConfig, report: Callable[[str], None]
) -> None:
    """Wait until all processes have started. Raises ``ConfigError``."""
    patience_s = LOCAL_START_S if cluster.address == LOCAL_ADDRESS else START_S
    end, count = time.monotonic() + patience_s, len(actors)
    while True:
        pause = time.monotonic() + REPORT_S
        started = sum(actor.wait_for_start(max(0.0, pause - time.monotonic())) for actor in actors)
        if started == count:
            return
        free = f"{own_cpus(cluster) * (count - started)} CPUs asked, {free_cpus():g} free"
        if cluster.gpus:
            free += f", {cluster.gpus * (count - started):g} GPUs asked, {free_gpus():g} free"
        if time.monotonic() >= end:
            text = f"{started} of {count} processes started within {patience_s:.0f} s: {free}"
            raise _refusal(cluster, count, text)
        report(f"{started} of {count} members: {free}")

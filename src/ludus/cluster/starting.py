"""Starts rollouts, and refuses what cannot work before a run directory is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from ludus.cluster.actors import RolloutActor, RolloutLost
from ludus.cluster.rollout import About
from ludus.cluster.session import LOCAL_ADDRESS, all_cpus, all_gpus, free_cpus, free_gpus, store_bytes
from ludus.flow import GameSpec, Slab
from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.errors import ConfigError
from ludus.presets.hardware import device_name, precision_name
from ludus.version import __version__

START_S = 60.0  # for a process with the processors of a rollout
REPORT_S = 5.0  # between two lines about missing machines
MEGABYTE = 1 << 20


def part_of(preset: Preset) -> Preset:
    """Return the settings of one rollout: its threads and device, and the precision of this machine."""
    cluster = preset.cluster
    device = "cuda" if cluster.gpus > 0 else "cpu"
    precision = precision_name(preset.run, device_name(preset.run))  # other machines may have another
    run = msgspec.structs.replace(preset.run, threads=cluster.cpus, device=device, precision=precision)
    return msgspec.structs.replace(preset, run=run)


def start_one(preset: Preset) -> RolloutActor:
    """Ask for the process of one rollout."""
    return RolloutActor(preset.cluster.cpus, preset.cluster.gpus)


def start_all(
    preset: Preset, part: Preset, spec_hash: str, report: Callable[[str], None]
) -> list[RolloutActor]:
    """Start the processes of all rollouts and compare their machines with this one.

    Args:
        preset: Of the run.
        part: Settings of a rollout.
        spec_hash: Of the game on this machine.
        report: Called with a line now and then while processors are missing.

    Raises:
        ConfigError: Too few processors or GPUs, or a machine with another Ludus or game.
    """
    cluster = preset.cluster
    if cluster.address == LOCAL_ADDRESS and (why := lacking(cluster, all_cpus(), all_gpus())):
        raise ConfigError(f"{why} on this machine")
    actors = [start_one(preset) for _ in range(cluster.rollouts)]
    try:
        _wait(actors, cluster, report)
        calls = [actor.ask("about", part) for actor in actors]
        for number, call in enumerate(calls):
            try:
                check_alike(call.first(), spec_hash)
            except RolloutLost as error:
                raise ConfigError(f"rollout {number} did not start: {error}") from error
    except BaseException:
        for actor in actors:
            actor.kill()
        raise
    return actors


def _wait(actors: Sequence[RolloutActor], cluster: ClusterConfig, report: Callable[[str], None]) -> None:
    """Wait until all processes have started. Raises ``ConfigError``."""
    end = time.monotonic() + START_S
    while True:
        pause = time.monotonic() + REPORT_S
        started = sum(actor.wait_for_start(max(0.0, pause - time.monotonic())) for actor in actors)
        if started == len(actors):
            return
        left = msgspec.structs.replace(cluster, rollouts=len(actors) - started)
        text = lacking(left, free_cpus(), free_gpus())
        if text and time.monotonic() >= end:
            raise ConfigError(f"{started} of {len(actors)} rollouts started within {START_S:.0f} s: {text}")
        report(f"{started} of {len(actors)} rollouts: {text or 'processes are starting'}")


def lacking(cluster: ClusterConfig, cpus: float, gpus: float) -> str:
    """Return what ``cluster`` asks for and there is too little of; empty where there is enough."""
    wanted = cluster.rollouts * cluster.cpus
    if wanted > cpus:
        return f"cluster.rollouts = {cluster.rollouts}: {wanted} CPUs asked, {cpus:g} free"
    if cluster.rollouts * cluster.gpus > gpus:
        wanted_gpus = cluster.rollouts * cluster.gpus
        return f"cluster.rollouts = {cluster.rollouts}: {wanted_gpus:g} GPUs asked, {gpus:g} free"
    return ""


def check_alike(about: About, spec_hash: str) -> None:
    """Check that a rollout plays the same game by the same Ludus. Raises ``ConfigError``."""
    if about.package_version != __version__:
        raise ConfigError(f"{about.host} has Ludus {about.package_version}, this machine has {__version__}")
    if about.spec_hash != spec_hash:
        raise ConfigError(f"{about.host} has the game with spec {about.spec_hash}, this machine {spec_hash}")


def check_store(spec: GameSpec, rows: int, preset: Preset, inputs: Sequence[str]) -> None:
    """Check that one slab of each rollout fits in half of this machine's object store.

    Raises:
        ConfigError: They do not.
    """
    slab = Slab(spec, preset.pool.rollout_length, rows, lambda shape, kind: np.empty(shape, kind))
    size = sum(a.nbytes for a in slab.learned_fields(inputs).values()) * preset.cluster.rollouts
    store = store_bytes()
    if 2 * size > store:
        raise ConfigError(
            f"cluster.rollouts = {preset.cluster.rollouts}: their slabs take {size / MEGABYTE:,.1f} MB, "
            f"expected at most half of this machine's object store, {store / MEGABYTE:,.1f} MB"
        )

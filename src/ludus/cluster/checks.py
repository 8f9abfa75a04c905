"""Settings of rollouts, and checks before they start. This module needs no Ray."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.errors import ConfigError
from ludus.presets.hardware import device_name, precision_name
from ludus.version import __version__

LOCAL_ADDRESS = "local"


@dataclass(frozen=True, slots=True)
class About:
    """Properties of a machine that must be equal on all machines of a run."""

    host: str
    pid: int
    package_version: str
    spec_hash: str


def part_of(preset: Preset) -> Preset:
    """Return the settings of one rollout: its threads and device, and the precision of this machine."""
    cluster = preset.cluster
    device = "cuda" if cluster.gpus > 0 else "cpu"
    precision = precision_name(preset.run, device_name(preset.run))  # other machines may have another
    run = msgspec.structs.replace(preset.run, threads=cluster.cpus, device=device, precision=precision)
    return msgspec.structs.replace(preset, run=run)


def learner_part_of(preset: Preset) -> Preset:
    """Return the settings of a further learner: its threads, and device and precision of this machine.

    The first learner sends its weights, so that no other reads ``run.start``.
    """
    device = device_name(preset.run)
    run = msgspec.structs.replace(
        preset.run,
        threads=max(preset.run.threads, 1),
        device=device,
        precision=precision_name(preset.run, device),
        start="",
    )
    return msgspec.structs.replace(preset, run=run)


def lacking(cluster: ClusterConfig, cpus: float, gpus: float) -> str:
    """Return the setting and what it asks for too much of; empty where there is enough."""
    text = shortage(cluster, cpus, gpus)
    return f"cluster.rollouts = {cluster.rollouts}: {text}" if text else ""


def shortage(cluster: ClusterConfig, cpus: float, gpus: float) -> str:
    """Return what ``cluster`` asks for and there is too little of; empty where there is enough.

    Args:
        cluster: Settings with the number of rollouts that have not started.
        cpus: Free processors.
        gpus: Free GPUs.
    """
    wanted = cluster.rollouts * cluster.cpus
    if wanted > cpus:
        return f"{wanted} CPUs asked, {cpus:g} free"
    if cluster.rollouts * cluster.gpus > gpus:
        wanted_gpus = cluster.rollouts * cluster.gpus
        return f"{wanted_gpus:g} GPUs asked, {gpus:g} free"
    return ""


def check_alike(about: About, spec_hash: str) -> None:
    """Check that a rollout plays the same game by the same Ludus. Raises ``ConfigError``."""
    if about.package_version != __version__:
        raise ConfigError(f"{about.host} has Ludus {about.package_version}, this machine has {__version__}")
    if about.spec_hash != spec_hash:
        raise ConfigError(f"{about.host} has the game with spec {about.spec_hash}, this machine {spec_hash}")


def host_and_port(address: str) -> tuple[str, int] | None:
    """Return where a cluster is; None for a cluster of this run alone. Raises ``ConfigError``."""
    if address == LOCAL_ADDRESS:
        return None
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) >= 1 << 16 or not host:
        raise ConfigError(
            f'cluster.address = "{address}": expected "HOST:PORT" of a Ray cluster, or "{LOCAL_ADDRESS}"'
        )
    return host.strip("[]"), int(port)

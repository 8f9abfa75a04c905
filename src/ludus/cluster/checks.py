"""Settings of rollouts, and checks before they start. This module needs no Ray."""

from __future__ import annotations

import re
from ipaddress import IPv6Address

import msgspec

from ludus.cluster.messages import About
from ludus.flow.problem import Part, Problem, Setting
from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.errors import ConfigError
from ludus.presets.hardware import device_name, precision_name
from ludus.version import __version__

LOCAL_ADDRESS = "local"


def part_of(preset: Preset) -> Preset:
    """Return the settings of one rollout: its threads and device, and the precision of this machine."""
    cluster = preset.cluster
    device = "cuda" if cluster.gpus > 0 else "cpu"
    precision = precision_name(preset.run, device_name(preset))  # other machines may have another
    run = msgspec.structs.replace(preset.run, threads=cluster.cpus, device=device, precision=precision)
    return msgspec.structs.replace(preset, run=run)


def learner_part_of(preset: Preset) -> Preset:
    """Return the settings of a further learner: its threads, and device and precision of this machine.

    The first learner sends its weights, so that no other reads ``run.start``.
    """
    device = device_name(preset)
    run = msgspec.structs.replace(
        preset.run,
        threads=max(preset.run.threads, 1),
        device=device,
        precision=precision_name(preset.run, device),
        start="",
    )
    return msgspec.structs.replace(preset, run=run)


def lacking(cluster: ClusterConfig, cpus: float, gpus: float) -> Problem | None:
    """Return the setting, what it asks for too much of, and what helps; None if there is enough."""
    if not (text := shortage(cluster, cpus, gpus)):
        return None
    path = "cluster.min_rollouts" if cluster.min_rollouts else "cluster.rollouts"
    rollouts = cluster.rollouts
    more = advice(cluster, fitting(cluster, cpus, gpus))
    return Problem(path, f"{path} = {rollouts}: {text}", rollouts, more=more)


def shortage(cluster: ClusterConfig, cpus: float, gpus: float) -> str:
    """Return which resources of ``cluster`` are missing; empty if there are enough.

    Args:
        cluster: Settings with the number of rollouts that have not started.
        cpus: Free processors.
        gpus: Free GPUs.
    """
    wanted = (cluster.rollouts + cluster.inference) * cluster.cpus
    if wanted > cpus:
        return f"{wanted} CPUs asked, {cpus:g} free"
    wanted_gpus = (cluster.inference or cluster.rollouts) * cluster.gpus
    if wanted_gpus > gpus:
        return f"{wanted_gpus:g} GPUs asked, {gpus:g} free"
    return ""


def fitting(cluster: ClusterConfig, cpus: float, gpus: float) -> int:
    """Return the number of rollouts for which so many processors and GPUs are enough."""
    by_gpus = int(gpus / cluster.gpus + 1e-9) if cluster.gpus else cluster.rollouts
    if cluster.inference:  # the servers have the GPUs
        by_gpus = cluster.rollouts if by_gpus >= cluster.inference else 0
    return max(0, min(int(cpus) // cluster.cpus - cluster.inference, by_gpus, cluster.rollouts))


def advice(cluster: ClusterConfig, rollouts: int) -> tuple[Part, ...]:
    """Return what helps if only so many rollouts have room, as the end of a sentence."""
    if rollouts:
        return ("; set ", Setting("cluster.rollouts", str(rollouts)), ", or ", *more_machines(cluster))
    large = {"cluster.cpus": cluster.cpus > 1, "cluster.gpus": cluster.gpus > 0}
    less = [("set ", Setting(path), " lower, or ") for path, is_large in large.items() if is_large]
    return ("; ", *(part for parts in less for part in parts), *more_machines(cluster))


def more_machines(cluster: ClusterConfig) -> tuple[Part, ...]:
    """Return how a cluster gets more machines."""
    if cluster.address == LOCAL_ADDRESS:
        return ("name a cluster of several machines: ", Setting("cluster.address", form="HOST:PORT"))
    return (f"add a machine: ray start --address={cluster.address}",)


def check_alike(about: About, spec_hash: str) -> None:
    """Check that a rollout plays the same game by the same Ludus. Raises ``ConfigError``."""
    if about.package_version != __version__:
        raise ConfigError(f"{about.host} has Ludus {about.package_version}, this machine has {__version__}")
    if about.spec_hash != spec_hash:
        raise ConfigError(f"{about.host} has the game with spec {about.spec_hash}, this machine {spec_hash}")


def host_and_port(address: str) -> tuple[str, int] | None:
    """Return the address of a cluster; None for a local one. Raises ``ConfigError``."""
    if address == LOCAL_ADDRESS:
        return None
    host, _, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        is_host = _is_ipv6(host)
    elif _is_ipv6(host) or _is_ipv6(address):
        nearest = f"[{host}]:{port}" if _is_ipv6(host) else f"[{address}]:6379"
        raise ConfigError(f'{_expected(address)}; write an IPv6 address in brackets: "{nearest}"')
    else:
        is_host = _HOST.fullmatch(host) is not None
    if not is_host or not _PORT.fullmatch(port) or not 0 < int(port) < 1 << 16:
        raise ConfigError(_expected(address))
    return host, int(port)


_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_.])?")
_PORT = re.compile(r"[0-9]{1,5}")


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def _expected(address: str) -> str:
    return f'cluster.address = "{address}": expected "HOST:PORT" of a Ray cluster, or "{LOCAL_ADDRESS}"'

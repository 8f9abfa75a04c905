"""The machines of the cluster that this process is connected to: their names, and which are drained.

Only this module and :mod:`ludus.cluster.session` ask Ray about machines.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import ray
from ray._private.state import state
from ray._private.worker import global_worker

from ludus.cluster.processes.actors import RolloutActor
from ludus.flow.inputs.shown import visible
from ludus.presets.errors import ConfigError

PROCESS = "RayHost"  # class of the actors that are rollouts and learners, as Ray knows it
PREEMPTED = 2  # Ray's number of the reason: the machine will be taken away
HEAD = "node:__internal_head__"  # resource of the machine of Ray's head
LONGEST_NAME = 200
LOOK_S = 0.2  # between two looks at a machine that is drained


class ClusterNode(NamedTuple):
    """A machine of the cluster. ``name``: its host's, or the one that ``ray start`` gave it."""

    id: str
    name: str


class NodeUse(NamedTuple):
    """Resources and processes of a machine.

    Attributes:
        node: The machine.
        address: Its address.
        cpus: Processors that Ray may use.
        gpus: GPUs that Ray may use.
        processes: Rollouts and further learners there, of all runs.
        draining: Whether it is to be taken away.
    """

    node: ClusterNode
    address: str
    cpus: float
    gpus: float
    processes: int
    draining: bool


def draining() -> set[str]:
    """Return the ids of the machines that are to be taken away and are still there."""
    return set(state.get_draining_nodes())


def node_of(actor: RolloutActor) -> ClusterNode:
    """Return the machine of a process. Raises :class:`ludus.cluster.processes.actors.RolloutLost`."""
    number = actor.place()
    found = (_named(node) for node in ray.nodes() if node["NodeID"] == number)
    return next(found, ClusterNode(number, number[:8]))


def _named(node: dict[str, Any]) -> ClusterNode:
    given, host = node["NodeName"], node["NodeManagerHostname"]
    name = host if given == node["NodeManagerAddress"] else given
    return ClusterNode(node["NodeID"], visible(name)[:LONGEST_NAME])


def present_nodes() -> list[NodeUse]:
    """Return the machines that are there, by name."""
    drained, processes = draining(), _processes()
    found = []
    for node in ray.nodes():
        if node["Alive"]:
            resources, about = node["Resources"], _named(node)
            found.append(
                NodeUse(
                    about,
                    node["NodeManagerAddress"],
                    float(resources.get("CPU", 0.0)),
                    float(resources.get("GPU", 0.0)),
                    processes.count(about.id),
                    about.id in drained,
                )
            )
    return sorted(found)


def _processes() -> list[str]:
    """Return the ids of the machines of all processes of Ludus, one for each process."""
    found = state.actor_table(None).values()
    return [
        actor["Address"]["NodeID"]
        for actor in found
        if actor["ActorClassName"] == PROCESS and actor["State"] == "ALIVE"
    ]


def find_node(name: str, there: Sequence[NodeUse]) -> NodeUse:
    """Return the machine that ``name`` means: a name, an address or the start of an id.

    Raises:
        ConfigError: None, or several.
    """
    found = [n for n in there if name in (n.node.name, n.address)]
    found = found or [n for n in there if len(name) >= 4 and n.node.id.startswith(name)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"{n.node.name} ({n.node.id[:8]})" for n in (found or there))
    what = "several machines" if found else "no machine of the cluster"
    raise ConfigError(f"{visible(name)[:LONGEST_NAME]}: {what}; expected the name or id of one of: {listed}")


def drain(node: NodeUse, why: str) -> None:
    """Let a machine be drained: nothing starts there, and rollouts leave it.

    Raises:
        ConfigError: It is the head's, without which the cluster ends, or the cluster refuses.
    """
    if any(n["NodeID"] == node.node.id and HEAD in n["Resources"] for n in ray.nodes()):
        raise ConfigError(f"{node.node.name}: the machine of the cluster's head, which cannot leave it")
    accepted, reason = global_worker.gcs_client.drain_node(node.node.id, PREEMPTED, why, 0)
    if not accepted:
        raise ConfigError(f"{node.node.name}: the cluster does not drain it: {reason}")


def wait_until_gone(node: NodeUse, seconds: float) -> bool:
    """Return whether a machine leaves the cluster within ``seconds``."""
    end = time.monotonic() + seconds
    while True:
        if not any(n["NodeID"] == node.node.id and n["Alive"] for n in ray.nodes()):
            return True
        if time.monotonic() >= end:
            return False
        time.sleep(LOOK_S)

"""The class of every process that Ludus starts on a cluster.

Whatever this module imports, each of them loads: no torch, which thin rollouts do without.
"""

from __future__ import annotations

from collections.abc import Callable

import ray

from ludus.cluster.host import Host
from ludus.cluster.received import ReceivedFiles


class RayHost(Host):
    """A process of the cluster."""

    def __init__(self, part: Callable[[ReceivedFiles, str], object]) -> None:
        """Start without parts. ``part``: see :class:`ludus.cluster.host.Host`."""
        super().__init__(ray.util.get_node_ip_address(), part)

    def place(self) -> str:
        """Return the id of this machine."""
        return str(ray.get_runtime_context().get_node_id())

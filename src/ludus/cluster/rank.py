"""A learner of a group in a separate process: rank 1 or higher. This module needs no Ray."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch

from ludus.algorithms.group import TorchGroup
from ludus.algorithms.learner import SlabLearner
from ludus.cluster.messages import About
from ludus.cluster.received import ReceivedFiles
from ludus.cluster.sent_preset import SentPreset
from ludus.cluster.weights import digest_of
from ludus.flow import Slab
from ludus.flow.slab import Array, rows_of
from ludus.presets.errors import ConfigError
from ludus.training.actor_learner.build import build_learner
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.version import __version__

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

#: Seconds that a rank waits for its group in one exchange; a stopped process is ended before.
EXCHANGE_S = 45.0
_GET_ADDRESS = 0x8915  # SIOCGIFADDR of Linux
LOOPBACK = "127.0.0.1"
Arrays = dict[str, Array]
Counters = dict[str, int]


@dataclass(frozen=True, slots=True)
class UpdateOrder:
    """Settings of an update; the fields of the slab follow as a separate argument.

    Args:
        row_slot: ``int32[R]``, see :class:`ludus.flow.slab.Slab`.
        row_seat: ``int32[R]``, see there.
        progress: See :meth:`ludus.algorithms.learner.Learner.start`.
        value_only: See there.
    """

    row_slot: Array
    row_seat: Array
    progress: float
    value_only: bool


@dataclass(frozen=True, slots=True)
class Meeting:
    """Place where the ranks of one group find each other.

    Args:
        name: Unique name of the group.
        size: Number of ranks.
        path: File that all ranks can open; empty: they meet at ``host`` and ``port``.
        host: Address of rank 0.
        port: Port of its store.
    """

    name: str
    size: int
    path: str = ""
    host: str = ""
    port: int = 0

    def store(self) -> Store:
        """Return the store of a rank above 0."""
        from torch._C._distributed_c10d import FileStore, PrefixStore, TCPStore

        if self.path:
            return PrefixStore(self.name, FileStore(self.path, self.size))
        wait = timedelta(seconds=EXCHANGE_S)
        return PrefixStore(self.name, TCPStore(self.host, self.port, is_master=False, timeout=wait))


class Rank:
    """One learner of a group, which makes every update together."""

    def __init__(self, files: ReceivedFiles, node: str) -> None:
        """Start without a learner.

        Args:
            files: Files of this process.
            node: Address of this machine.
        """
        self._files, self._node = files, node
        self._learner: SlabLearner[Any] | None = None
        self._group: TorchGroup | None = None
        self._threads = LearnerThreads(0)
        self._fields: Arrays = {}  # of the last slab, used again
        self._state: tuple[Arrays, Counters] = {}, {}

    @property
    def learner(self) -> SlabLearner[Any]:
        """The learner of :meth:`build`."""
        if self._learner is None:
            raise ValueError("no learner was built")
        return self._learner

    def build(self, sent: SentPreset, number: int, card: int) -> About:
        """Build the learner, before its first update. Raises ``ConfigError``.

        Args:
            sent: Settings of the run, resolved by its controller.
            number: Number of the rank.
            card: Number of its GPU on this machine; -1 without one, or if Ray chose it.
        """
        preset = self._files.preset(sent)
        if card >= 0:
            torch.cuda.set_device(card)
        made = build_learner(preset)
        if not isinstance(made, SlabLearner):
            raise ConfigError(f"learner {number}: {type(made).__name__}, expected a SlabLearner in a group")
        self._learner = made
        self._threads = LearnerThreads(preset.run.threads - 1)
        return About(socket.gethostname(), os.getpid(), __version__, made.spec.spec_hash)

    def join(self, meeting: Meeting, rank: int) -> None:
        """Join the group as ``rank``, and wait until all ranks have. Raises ``GroupError``."""
        use_interface_of(LOOPBACK if meeting.path else self._node)
        device = self.learner.network.device
        self._group = TorchGroup(meeting.store(), rank, meeting.size, device, EXCHANGE_S)
        self.learner.join(self._group)

    def update(self, order: UpdateOrder, fields: Arrays) -> int:
        """Make an update of a slab and return its version.

        The group ends with an error, so that no other rank waits for this one.

        Args:
            order: Settings of the update.
            fields: Arrays of the slab, to be copied.
        """
        learner = self.learner
        with self._leaving():
            sent = Slab.of(fields, order.row_slot, order.row_seat)
            slab = rows_of(sent, slice(None), self._fields)
            self._fields = slab.fields()
            plan = learner.start(slab, order.progress, value_only=order.value_only)
            self._threads.start(plan)
            try:
                plan.help(0)
            finally:
                self._threads.settle()
            return learner.finish().version

    def set_config(self, sent: SentPreset) -> None:
        """See :meth:`ludus.algorithms.learner.Learner.set_config`."""
        self.learner.set_config(self._files.preset(sent).algorithm)

    def take_state(self) -> None:
        """Compare the parameters of all ranks, and keep the state for :meth:`own_state`."""
        with self._leaving():
            self._state = self.learner.state()

    def own_state(self, digests: dict[str, str], counters: Counters) -> tuple[Arrays, Counters]:
        """Return arrays and counters of the state that differ from rank 0.

        Args:
            digests: Digests of the arrays of rank 0, by name.
            counters: Counters of rank 0.
        """
        arrays, own = self._state
        self._state = {}, {}
        return (
            {name: a for name, a in arrays.items() if digest_of({name: a}) != digests.get(name)},
            {name: n for name, n in own.items() if counters.get(name) != n},
        )

    def load_state(self, shared: Arrays, counters: Counters, own: Arrays, own_counters: Counters) -> None:
        """Restore the state of rank 0 with this rank's own part. Raises ``ValueError``."""
        self.learner.load_state(shared | own, counters | own_counters)

    def close(self) -> None:
        """Leave the group, and stop the threads. Idempotent."""
        self._threads.close()
        if self._group is not None:
            self._group.close()

    @contextmanager
    def _leaving(self) -> Iterator[None]:
        """Leave the group where the body fails."""
        try:
            yield
        except BaseException:
            if self._group is not None:
                self._group.close()
            raise


def use_interface_of(address: str) -> None:
    """Let the ranks of this process be reached by the network of ``address``, not of the host's name.

    A choice of the user's (``GLOO_SOCKET_IFNAME``) stays.
    """
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            with suppress(OSError):  # an interface without an address
                found = fcntl.ioctl(probe, _GET_ADDRESS, struct.pack("256s", name.encode()[:15]))
                if socket.inet_ntoa(found[20:24]) == address:
                    os.environ.setdefault("GLOO_SOCKET_IFNAME", name)
                    return

"""The learner of a group: rank 0 in this process, the rest elsewhere, as one learner of whole slabs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from ludus.algorithms.config import MethodConfig
from ludus.algorithms.group import RANKS
from ludus.algorithms.learner import SlabLearner, UpdateStats
from ludus.algorithms.updates.tasks import UpdatePlan
from ludus.cluster.checks import learner_part_of
from ludus.cluster.processes.actors import put
from ludus.cluster.rank import Arrays, Counters, UpdateOrder
from ludus.cluster.ranks import Ranks
from ludus.cluster.sent_preset import sent_preset
from ludus.cluster.weights import digest_of
from ludus.flow import Slab, Weights
from ludus.flow.override import override
from ludus.flow.slab import rows_of
from ludus.flow.weights import Lineage
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.presets.config import Preset


def share_of(rollouts: int, learners: int) -> list[tuple[int, int]]:
    """Return the first rollout of each learner's share, and the one behind its last."""
    parts = np.array_split(np.arange(rollouts), learners)
    return [(int(part[0]), int(part[-1]) + 1) for part in parts]


class GroupLearner:
    """A learner (:class:`ludus.algorithms.learner.Learner`) whose every update all ranks of a group make.

    A slab has the rows of all rollouts. Each rank learns from its share, in the order of the ranks.
    """

    def __init__(self, preset: Preset, learner: SlabLearner[Any], ranks: Ranks, name: str) -> None:
        """Give all ranks the state of ``learner``, and let them meet.

        Args:
            preset: Settings of the run.
            learner: Rank 0, before its first update.
            ranks: Ranks 1 and higher.
            name: Name of the group.

        Raises:
            GroupError: A rank is gone.
        """
        self._preset, self._learner, self._ranks = preset, learner, ranks
        self._shares = share_of(preset.cluster.rollouts, preset.cluster.learners)
        self._fields: dict[str, Any] = {}  # of rank 0's last slab, used again
        ranks.check_alike(learner.spec.spec_hash)
        self._send_state(*learner.state(), {}, {})
        learner.join(ranks.meet(name, learner.network.device))

    # ---- a learner -------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """See :attr:`ludus.algorithms.learner.Learner.version`."""
        return self._learner.version

    @property
    def network(self) -> PolicyNetwork:
        """See :attr:`ludus.algorithms.learner.Learner.network`."""
        return self._learner.network

    @property
    @override
    def lineage(self) -> Lineage | msgspec.UnsetType:
        return self._learner.lineage

    @lineage.setter
    def lineage(self, lineage: Lineage | msgspec.UnsetType) -> None:
        self._learner.lineage = lineage

    def start(self, slab: Slab, progress: float, *, value_only: bool = False) -> UpdatePlan:
        """See :meth:`ludus.algorithms.learner.Learner.start`. The plan lets the other ranks start."""
        parts = self._parts(slab)
        own = rows_of(slab, parts[0], self._fields)
        self._fields = own.fields()
        plan = self._learner.start(own, progress, value_only=value_only)
        inputs = [tensor.name for tensor in self.network.inputs]
        calls = []
        for rows in parts[1:]:
            part = rows_of(slab, rows)
            order = UpdateOrder(part.row_slot, part.row_seat, progress, value_only)
            calls.append((order, put(part.learned_fields(inputs))))
        self._ranks.hold("update", calls)
        return plan

    def _parts(self, slab: Slab) -> list[slice]:
        """Return the rows of each rank."""
        rows, left = divmod(slab.rows, self._preset.cluster.rollouts)
        assert left == 0, "a slab has the same rows of every rollout"
        return [slice(first * rows, end * rows) for first, end in self._shares]

    def finish(self) -> UpdateStats:
        """See :meth:`ludus.algorithms.learner.Learner.finish`. Raises ``GroupError``."""
        stats = self._learner.finish()
        self._ranks.answers()
        return stats

    def set_config(self, config: MethodConfig) -> None:
        """See :meth:`ludus.algorithms.learner.Learner.set_config`. Raises ``GroupError``."""
        self._learner.set_config(config)
        preset = msgspec.structs.replace(learner_part_of(self._preset), algorithm=config)
        sent = put(sent_preset(preset, learns=True))
        self._ranks.tell("set_config", [(sent,) for _ in self._ranks])
        self._ranks.answers()

    def weights(self) -> Weights:
        """See :meth:`ludus.algorithms.learner.Learner.weights`."""
        return self._learner.weights()

    def acting_weights(self) -> Weights:
        """See :meth:`ludus.algorithms.learner.Learner.acting_weights`."""
        return self._learner.acting_weights()

    def copy_to(self, network: Network) -> int:
        """See :meth:`ludus.algorithms.learner.Learner.copy_to`."""
        return self._learner.copy_to(network)

    # ---- states ----------------------------------------------------------------------------------

    def state(self) -> tuple[Arrays, Counters]:
        """See :meth:`ludus.algorithms.learner.Learner.state`.

        State that differs on another rank (its replay buffer, the memory of its rows) is under ``rank1.``.
        """
        self._ranks.tell("take_state", [() for _ in self._ranks])
        arrays, counters = self._learner.state()
        self._ranks.answers()
        digests = put({name: digest_of({name: array}) for name, array in arrays.items()})
        self._ranks.tell("own_state", [(digests, counters) for _ in self._ranks])
        all_arrays, all_counters = dict(arrays), dict(counters)
        for rank, (own, numbers) in zip(self._ranks, self._ranks.answers(), strict=True):
            all_arrays |= {f"{_prefix(rank)}{name}": array for name, array in own.items()}
            all_counters |= {f"{_prefix(rank)}{name}": number for name, number in numbers.items()}
        return all_arrays, all_counters | {RANKS: self._ranks.size}

    def load_state(self, arrays: Arrays, counters: Counters) -> None:
        """See :meth:`ludus.algorithms.learner.Learner.load_state`.

        Raises:
            ValueError: It is the state of another number of learners.
            GroupError: A rank is gone, or cannot load its part.
        """
        if (found := counters.get(RANKS, 1)) != self._ranks.size:
            raise ValueError(f"learner state: of {found} learners, expected {self._ranks.size}")
        prefixes = tuple(_prefix(rank) for rank in self._ranks)
        shared = {name: a for name, a in arrays.items() if not name.startswith(prefixes)}
        own_counters = {n: k for n, k in counters.items() if not n.startswith(prefixes) and n != RANKS}
        self._learner.load_state(shared, own_counters)
        self._send_state(shared, own_counters, arrays, counters)

    def _send_state(
        self, shared: Arrays, counters: Counters, arrays: Mapping[str, Any], all_counters: Mapping[str, int]
    ) -> None:
        """Let the ranks load the state of rank 0, each with its own part of the state of all."""
        sent = put(shared)
        own = [(put(_own(rank, arrays)), _own(rank, all_counters)) for rank in self._ranks]
        self._ranks.tell("load_state", [(sent, counters, *part) for part in own])
        self._ranks.answers()


def _prefix(rank: int) -> str:
    return f"rank{rank}."


def _own(rank: int, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a rank, without its prefix."""
    prefix = _prefix(rank)
    return {name.removeprefix(prefix): value for name, value in named.items() if name.startswith(prefix)}

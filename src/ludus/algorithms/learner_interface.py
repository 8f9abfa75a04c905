"""Learner: the interface of every learning method, its surroundings, and the result of an update."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import msgspec

from ludus.algorithms.config import MethodConfig
from ludus.algorithms.group import ALONE, Group
from ludus.algorithms.updates.tasks import UpdatePlan
from ludus.flow import Slab, Weights
from ludus.flow.slab import Array
from ludus.flow.weights import Lineage
from ludus.policies.accelerator import Executor
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network


@dataclass(frozen=True, slots=True)
class LearnerContext:
    """Surroundings of a learner: all that it is made from besides its settings and its network.

    Attributes:
        seed: Seed of shuffles and draws.
        policy: Id of the trained policy in slabs.
        workers: Number of threads that may run tasks of one update at once, >= 1.
        frame_skip: Ticks of a decision, >= 1; the horizon and the weights' metadata use it.
        group: Learners that make each update together, this one included.
        executor: Runs the learner's programs; None: the executor of the network's device.
    """

    seed: int
    policy: int = 0
    workers: int = 1
    frame_skip: int = 1
    group: Group = ALONE
    executor: Executor | None = None


@dataclass(slots=True)
class UpdateStats:
    """Result of one update, of all ranks of a group together.

    ``numbers``: scalars by namespaced name (``loss/policy``, ``learner/grad_norm``); means over the update's
    samples unless the method's documentation differs. A method reports the numbers that it has.
    """

    version: int  # of the weights that the update made
    samples: int  # distinct decisions trained on
    learned: int = 0  # decisions differentiated, epochs and reuse counted
    lag: dict[int, int] = field(default_factory=dict)  # versions behind -> decisions
    numbers: dict[str, float] = field(default_factory=dict)
    gradient_steps: int = 0  # steps of the optimiser
    refusal: str = ""  # why the method cannot learn under its settings: path, value, expectation


@runtime_checkable
class ClosingLearner(Protocol):
    """A learner that owns threads or processes."""

    def close(self) -> None:
        """End them. Idempotent."""
        ...


class Learner(Protocol):
    """Interface of a learner: it turns slabs into weights.

    One thread at a time starts updates and calls the other methods, never while an update is unfinished. Any
    thread may help the plan that :meth:`start` returns.
    """

    #: Weights that surgery made these of; part of the metadata of :meth:`weights`.
    lineage: Lineage | msgspec.UnsetType

    @property
    def version(self) -> int:
        """Version of the current weights: the number of updates that were made."""
        ...

    @property
    def network(self) -> PolicyNetwork | ResidualNetwork:
        """Network that learns. It never acts: see :meth:`copy_to`."""
        ...

    def start(self, slab: Slab, progress: float, *, value_only: bool = False) -> UpdatePlan:
        """Start an update; nothing runs until a thread helps the plan.

        Args:
            slab: Rollout that must not change until the plan is done; then call :meth:`finish`.
            progress: Spent share of the run's budget, in [0, 1], for schedules.
            value_only: Whether only parameters exclusive to the value move.

        Raises:
            ValueError: ``value_only`` for a method that has no such update.
        """
        ...

    def finish(self) -> UpdateStats:
        """Wait for the update that :meth:`start` started. The new weights have ``self.version``."""
        ...

    def set_config(self, config: MethodConfig) -> None:
        """Replace the settings from the next update on; they are of the same method.

        Settings that shape the learner (``optimizer``, ``adam_betas``, ``teacher``) stay what they were.
        """
        ...

    def weights(self) -> Weights:
        """Return copies of all parameters and normalisers with their version, as they are stored."""
        ...

    def acting_weights(self) -> Weights:
        """Return copies of the tensors that :meth:`copy_to` copies, to be sent to an acting network.

        They differ from :meth:`weights` where stored weights do not explore and acting ones do.
        """
        ...

    def copy_to(self, network: Network) -> int:
        """Make an acting network of the same configuration equal to this one; return the version."""
        ...

    def state(self) -> tuple[dict[str, Array], dict[str, int]]:
        """Return everything that a bit-equal continuation needs: arrays by name, and counters.

        All ranks of a group call it at the same version.

        Raises:
            GroupError: The ranks have different parameters.
        """
        ...

    def load_state(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        """Restore what :meth:`state` returned.

        Raises:
            ValueError: An array or a counter is missing, or an array has the wrong shape.
        """
        ...

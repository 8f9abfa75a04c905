"""What every learning method offers to the code that trains: :class:`Learner` and :class:`UpdateStats`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from ludus.algorithms.tasks import UpdatePlan
from ludus.flow import Slab, Weights
from ludus.flow.slab import Array
from ludus.policies.network import PolicyNetwork


@dataclass(slots=True)
class UpdateStats:
    """What one update did.

    ``numbers``: scalars by namespaced name (``loss/policy``, ``learner/grad_norm``); means over the update's
    samples unless the method's documentation says otherwise. A method reports the numbers that it has.
    """

    version: int  # of the weights that the update made
    samples: int  # distinct decisions that were trained on
    learned: int = 0  # decisions differentiated, epochs and reuse counted
    lag: dict[int, int] = field(default_factory=dict)  # versions behind -> decisions
    numbers: dict[str, float] = field(default_factory=dict)


class Learner(Protocol):
    """Turns slabs into weights.

    One thread at a time begins updates and reads ``weights()`` or ``state()``, never while an update is
    unfinished. Any thread may help the plan that :meth:`begin` returns.
    """

    @property
    def version(self) -> int:
        """Of the present weights: the number of updates that were made."""
        ...

    @property
    def network(self) -> PolicyNetwork:
        """The network that learns. It never acts: see :meth:`copy_to`."""
        ...

    def begin(self, slab: Slab, progress: float) -> UpdatePlan:
        """Starts an update; nothing runs until a thread helps the plan.

        Args:
            slab: must not change until the plan is done; then call :meth:`finish`.
            progress: share in [0, 1] of the run's budget that is spent, for schedules.
        """
        ...

    def finish(self) -> UpdateStats:
        """Waits for the update that :meth:`begin` started. The new weights have ``self.version``."""
        ...

    def weights(self) -> Weights:
        """Copies of all parameters and normalisers with their version."""
        ...

    def copy_to(self, network: PolicyNetwork) -> int:
        """Makes an acting network of the same configuration equal to this one; returns the version."""
        ...

    def state(self) -> tuple[dict[str, Array], dict[str, int]]:
        """Everything that a bit-equal continuation needs: arrays by name, and counters."""
        ...

    def load_state(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        """The inverse of :meth:`state`. ``ValueError`` naming what is missing or of the wrong shape."""
        ...

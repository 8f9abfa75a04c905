"""A member's learner as the manager sees it: a version, and weights that are fetched when they are needed."""

from __future__ import annotations

from typing import NoReturn

import msgspec

from ludus.algorithms.config import MethodConfig
from ludus.algorithms.learner import Learner
from ludus.algorithms.updates.tasks import UpdatePlan
from ludus.flow import Slab, Weights
from ludus.flow.slab import Array
from ludus.flow.weights import Lineage
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.rollouts.exchange import StoredWeights
from ludus.training.actor_learner.build import LocalWeights
from ludus.training.league.remote import messages as m
from ludus.training.league.remote.link import MemberLink


class RemoteLearner:
    """The learner of a member in another process (:class:`ludus.algorithms.learner.Learner`).

    Its version is known before an update is made: each adds one. ``network`` has the shapes of the learned
    one, and no numbers.
    """

    def __init__(self, link: MemberLink, network: PolicyNetwork) -> None:
        """Speak for the learner behind ``link``, which has been built."""
        self._link, self._network = link, network
        self.lineage: Lineage | msgspec.UnsetType = msgspec.UNSET
        self.version = 0  #: when all requests until now have been carried out

    @property
    def network(self) -> PolicyNetwork:
        """See :class:`ludus.algorithms.learner.Learner`."""
        return self._network

    def start(self, slab: Slab, progress: float, *, value_only: bool = False) -> UpdatePlan:
        """Refuse: updates are made in the member's process."""
        self._elsewhere()

    def finish(self) -> NoReturn:
        """Refuse: updates are made in the member's process."""
        self._elsewhere()

    def _elsewhere(self) -> NoReturn:
        raise RuntimeError(f"{self._link.member} learns in another process")

    def set_config(self, config: MethodConfig) -> None:
        """Do nothing: the member's process gets its settings by path."""

    def weights(self) -> Weights:
        """Wait for the newest weights and return them."""
        given, arrays = self._link.ask(m.GiveWeights(), m.WeightsGiven)
        return Weights(given.meta, {name: array.copy() for name, array in arrays.items()})

    def acting_weights(self) -> Weights:
        """See :meth:`weights`: methods that learn from slabs act with the stored weights."""
        return self.weights()

    def copy_to(self, network: Network) -> int:
        """See :class:`ludus.algorithms.learner.Learner`."""
        return StoredWeights(self.weights()).copy_to(network)

    def state(self) -> tuple[dict[str, Array], dict[str, int]]:
        """Wait for the learner's state and return it."""
        given, arrays = self._link.ask(m.GiveLearner(), m.LearnerGiven)
        return dict(arrays), dict(given.counters)

    def load_state(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        """Load a state in the member's process."""
        self.version = counters["version"]
        self._link.send(m.LoadLearner(counters, self._link.book.turn()), arrays)


class LiveSource(LocalWeights):
    """Weights of a member that others meet live: they wait for them on the board."""

    def __init__(self, learner: Learner, link: MemberLink, newest: bool) -> None:
        """Name the weights of the member behind ``link``.

        Args:
            learner: The member's.
            link: The way to it.
            newest: Whether a reader takes what is there, instead of the version of the request.
        """
        super().__init__(learner)
        self._link, self._takes_newest = link, newest

    def read(self) -> m.LiveWeights:
        """Return the place of the newest weights, which stays until the reader is done."""
        version = m.NEWEST if self._takes_newest else self.version
        return m.LiveWeights(self._link.member, self._link.book.read(), version)

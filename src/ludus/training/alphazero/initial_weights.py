"""Initial weights of a run, kept until they are evaluated.

Searched matches take minutes, so self-play and learning start first. The weights lie in a snapshot of
version 0, with which a resumed run makes the evaluation that is still missing.
"""

from __future__ import annotations

from pathlib import Path

from ludus.evaluation.weights import network_of
from ludus.flow import Weights
from ludus.policies.protocol import Network
from ludus.training.alphazero.components import AlphaZeroComponents
from ludus.training.run_context import RunContext

VERSION = 0


class InitialWeights:
    """Owner of the snapshot of version 0, while an evaluation needs it."""

    def __init__(self, context: RunContext, components: AlphaZeroComponents) -> None:
        """Keep nothing yet."""
        self._context, self._components = context, components
        self._path = context.directory.snapshot_path(VERSION)
        self._weights: Weights | None = None
        self.needed = False  #: whether the weights are kept for an evaluation that is still to be made

    def keep(self) -> None:
        """Keep the weights for an evaluation: those of a snapshot, or the learner's before its first step."""
        learner, directory = self._components.learner, self._context.directory
        self.needed = self._path.is_file()
        if self.needed or learner.version > VERSION or learner.steps > 0:
            return
        weights = self._weights = learner.weights()
        self._context.needed.write(self._path, lambda: directory.save_snapshot(weights))
        self.needed = True

    def network(self) -> Network | None:
        """Return the network; None if no weights are kept. Raises ``StorageError`` for a damaged snapshot."""
        if not self.needed:
            return None
        weights = self._weights or self._context.directory.load_snapshot(VERSION)
        return network_of(weights, self._components.spec, "the initial weights", self._components.device)

    def evaluated(self) -> None:
        """Give the weights up; the next checkpoint, which knows the result, removes the snapshot."""
        self.needed, self._weights = False, None

    def versions(self) -> set[int]:
        """Return the versions of snapshots that stay."""
        return {VERSION} if self.needed else set()

    def referred_to(self) -> set[Path]:
        """Return the files without which the current state cannot be resumed."""
        return {self._path} if self.needed else set()

"""Weights that play: the newest, or with AlphaGo Zero's gate the newest that have passed it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ludus.algorithms.alphazero.learner import acting_copy
from ludus.evaluation.weights import network_of as network_of_weights
from ludus.flow import Weights
from ludus.flow.slab import Array
from ludus.mcts.network import NetworkEvaluator, current_evaluator
from ludus.mcts.text import Seen
from ludus.policies.protocol import Network
from ludus.storage import RunNotFound
from ludus.training.alphazero.checkpoint import AlphaZeroState
from ludus.training.alphazero.components import AlphaZeroComponents
from ludus.training.alphazero.gate import Gate
from ludus.training.run_context import RunContext


class ActingWeights:
    """Owner of the network that plays, and of its snapshot where it is not the learner's newest."""

    def __init__(
        self, context: RunContext, components: AlphaZeroComponents, state: AlphaZeroState, gate: Gate
    ) -> None:
        """Load the network that plays in ``state``."""
        self.context, self.components, self.state, self.gate = context, components, state, gate
        self.gated = components.config.gate
        self.network = self._first_network()
        self._evaluator: NetworkEvaluator | None = None

    @property
    def version(self) -> int:
        """Version of the weights that play."""
        return self.state.playing if self.gated else self.components.learner.version

    def evaluator(self) -> NetworkEvaluator:
        """Return an evaluator with the present weights of the network that plays, while self-play pauses."""
        seen: Seen = "random" if self.components.config.symmetries else "one"
        slots = self.components.config.self_play.slots
        self._evaluator = current_evaluator(
            self.network, self.components.precision, symmetries=seen, rows=slots, before=self._evaluator
        )
        return self._evaluator

    def take(self, newest: Network) -> bool:
        """Judge the learner's newest weights; return whether they play from now on."""
        if not self.gated:
            self.network = newest
            return True
        if self._passes_gate(newest):
            self.state.playing = self.components.learner.version
            self.network = acting_copy(newest)
            self._snapshot(self.components.learner.weights())
            return True
        if not self.context.directory.snapshot_path(self.state.playing).is_file():
            self._snapshot(self._weights())
        return False

    def referred_to(self) -> set[Path]:
        """Return the files without which the current state cannot be resumed."""
        return {self.context.directory.snapshot_path(self.state.playing)} if self.gated else set()

    def drop_snapshots(self, playing: set[int], others: set[int]) -> None:
        """Remove the snapshots of all versions but those that play, with a gate, and ``others``."""
        self.context.directory.drop_snapshots((playing if self.gated else set()) | others)

    def _first_network(self) -> Network:
        """Return the first network that plays; with a gate a copy: the learner's holds the candidates."""
        learner, state = self.components.learner, self.state
        if not self.gated:
            return learner.playing
        if state.playing == learner.version:
            return acting_copy(learner.playing)
        try:
            weights = self.context.directory.load_snapshot(state.playing)
        except RunNotFound as error:
            self.context.report.problem(
                f"{error}; version {learner.version} plays in place of {state.playing}"
            )
            state.playing = learner.version
            return acting_copy(learner.playing)
        return network_of_weights(
            weights, self.components.spec, f"snapshot {state.playing}", self.components.device
        )

    def _passes_gate(self, candidate: Network) -> bool:
        """Return whether the candidate passes. Interrupted, nothing is decided: the gate remains due."""
        state, report, version = self.state, self.context.report, self.components.learner.version
        state.gate_due = True
        result = self.gate.gate(
            (candidate, version), (self.network, state.playing), state.gates + 1, self.context.interrupted
        )
        if self.context.interrupted():
            return False
        state.gates += 1
        state.gate_due = False
        report.event("gate", version=version, **msgspec.structs.asdict(result))
        report.message(
            f"gate: version {version} scored {result.score:g} of {result.matches} against "
            f"{state.playing}: {'it plays from now on' if result.passed else 'refused'}"
        )
        return result.passed

    def _weights(self) -> Weights:
        newest = self.components.learner.weights()
        tensors: dict[str, Array] = {
            n: t.detach().cpu().numpy().copy() for n, t in self.network.state_dict().items()
        }
        return Weights(msgspec.structs.replace(newest.meta, version=self.state.playing), tensors)

    def _snapshot(self, weights: Weights) -> None:
        directory = self.context.directory
        path = directory.snapshot_path(weights.meta.version)
        self.context.needed.write(path, lambda: directory.save_snapshot(weights))

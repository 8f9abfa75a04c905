"""Self-play in a rollout: matches of a search against itself, asked for by a number of moves."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch

from ludus.algorithms.config import AlphaZeroConfig
from ludus.cluster.weights import arrays_of, digest_of
from ludus.flow.slab import Array
from ludus.mcts import NEVER_RESIGN, MatchNumbers
from ludus.mcts.network import NetworkEvaluator, current_evaluator
from ludus.mcts.text import Seen
from ludus.policies.factory import build_network
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.hardware import device_name, precision_name, thread_count
from ludus.training.alphazero.components import SESSION_SHIFT, numbered_plays
from ludus.training.alphazero.workers import SelfPlayTimes, Workers

INCARNATION_SHIFT = 32  # matches of one incarnation are numbered from incarnation << 32 in their session
INCARNATIONS = 1 << (SESSION_SHIFT - INCARNATION_SHIFT)


@dataclass(frozen=True, slots=True)
class SelfPlayOrder:
    """Description of the self-play that a rollout builds; its settings follow as a separate argument.

    Args:
        seed: Seed of the matches.
        session: Number of the controller among those that have worked at the run.
        number: The rollout's number.
        rollouts: Number of all rollouts.
        incarnation: How often this rollout was replaced, < ``INCARNATIONS``.
    """

    seed: int
    session: int
    number: int
    rollouts: int
    incarnation: int = 0

    def numbers(self, threads: int) -> list[MatchNumbers]:
        """Return the numbers of the matches of each thread, disjoint from all other rollouts."""
        first = (self.session << SESSION_SHIFT) + (self.incarnation << INCARNATION_SHIFT)
        stride = self.rollouts * threads
        return [MatchNumbers(first + self.number * threads + i, stride) for i in range(threads)]


@dataclass(frozen=True, slots=True)
class SelfPlayRequest:
    """Request of moves; the tensors of new weights follow as a separate argument.

    Args:
        number: Ascending number, by which the request is stopped.
        moves: Moves to be made; matches continue where they were.
        version: Version of the weights, recorded with every ply.
        seed: Seed of the random symmetries of new weights.
        resign: Value below which seats resign.
        digest: Whether the answer has a digest of the weights that played.
    """

    number: int
    moves: int
    version: int
    seed: int
    resign: float = NEVER_RESIGN
    digest: bool = False


@dataclass(frozen=True, slots=True)
class SelfPlayAnswer:
    """Result of a request without its matches.

    Args:
        times: Times and counts, the moves among them.
        version: Version of the weights that played.
        digest: Digest of these weights; None where the request did not ask for it.
        busy_s: Seconds in which the moves were made.
        idle_s: Seconds before, since the last request.
    """

    times: SelfPlayTimes
    version: int
    digest: str | None = None
    busy_s: float = 0.0
    idle_s: float = 0.0


class RolloutSelfPlay:
    """The self-play of one rollout, on its threads."""

    def __init__(self, preset: Preset, order: SelfPlayOrder) -> None:
        """Start the first matches; weights come with a request. Raises ``ConfigError``.

        Args:
            preset: Settings that the controller resolved: threads, device and precision are not ``auto``.
            order: Seed and numbers of the matches.
        """
        spec, params = resolve_spec(preset)
        self._config = cast(AlphaZeroConfig, preset.algorithm)
        self._precision = precision_name(preset.run, device_name(preset))
        self._network = build_network(preset.policy, spec, 0, self._precision)
        self._network.to(device_name(preset))
        self._network.eval()
        self._before: NetworkEvaluator | None = None
        threads = thread_count(preset.run)
        self._first_seed = order.number * threads
        plays = numbered_plays(preset, params, order.seed, order.numbers(threads), self._evaluator())
        self._workers = Workers(plays)
        self.stopped = 0  #: number of the newest request that is to end
        self._rested_from = time.perf_counter()

    def _evaluator(self) -> NetworkEvaluator:
        seen: Seen = "random" if self._config.symmetries else "one"
        slots = self._config.self_play.slots
        self._before = current_evaluator(
            self._network, self._precision, symmetries=seen, rows=slots, before=self._before
        )
        return self._before

    def play(
        self, request: SelfPlayRequest, weights: dict[str, Array] | None
    ) -> tuple[SelfPlayAnswer, dict[str, Array]]:
        """Play until the moves of ``request`` are made, or it is stopped.

        Args:
            request: What is played.
            weights: Tensors of new weights; None: unchanged since the last request.

        Returns:
            What is known about the play, and the columns of the matches that ended.
        """
        start, rested_from = time.perf_counter(), self._rested_from
        if weights is not None:
            self._network.load_state_dict({n: torch.from_numpy(np.array(a)) for n, a in weights.items()})
            seed = request.seed + self._first_seed
            self._workers.set_weights(self._evaluator(), request.version, seed)
        self._workers.set_resign(request.resign)
        self._workers.play_shares(request.moves, lambda: self.stopped >= request.number)
        digest = digest_of(arrays_of(self._network)) if request.digest else None
        columns = self._workers.take_matches().columns()
        self._rested_from = end = time.perf_counter()
        answer = SelfPlayAnswer(
            self._workers.times(),
            request.version,
            digest,
            busy_s=end - start,
            idle_s=start - rested_from,
        )
        return answer, columns

    def close(self) -> None:
        """Stop the threads. Idempotent."""
        self._workers.close()

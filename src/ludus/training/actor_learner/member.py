"""A learner in training, with the sampler, the seating and the rounds that it plays and learns in."""

from __future__ import annotations

from collections.abc import Callable

from ludus.presets.config import Preset
from ludus.storage import Checkpoint, CorruptFile
from ludus.training.actor_learner.async_loop import AsyncRounds
from ludus.training.actor_learner.build import Components
from ludus.training.actor_learner.checkpoint import TrainerState
from ludus.training.actor_learner.rollout_summary import Opening
from ludus.training.actor_learner.seating import Seating
from ludus.training.actor_learner.sync_loop import Round, Rounds


class Member:
    """The learner of a run, or one of a league's. One thread calls it, between two rounds and for one.

    ``name``: empty in a run with one learner. ``rounds`` and ``seating`` are set before it plays.
    """

    rounds: Rounds | AsyncRounds
    seating: Seating

    def __init__(self, name: str, components: Components, counts: TrainerState) -> None:
        """Own ``components``; ``counts`` are its counters in the run's state."""
        self.name, self.components, self.counts = name, components, counts

    @property
    def version(self) -> int:
        """Number of updates of its weights."""
        return self.components.learner.version

    def assign(self, preset: Preset, progress: float) -> None:
        """Assign new orders if they are due, and set the terms of the next slab.

        Args:
            preset: Settings of the run.
            progress: Share of the budget that is spent.
        """
        self.seating.advance(self.rounds.paused)
        self.rounds.terms = self.counts.terms(preset, progress)

    def play(self, progress: float, evaluate: Callable[[], None] | None) -> Round:
        """Play one round. Raises ``MatchError`` and ``PoolError``."""
        return self.rounds.run(progress, evaluate)

    def restart_matches(self) -> None:
        """Remove the matches in flight from its counters."""
        self.counts.drop_waiting()
        self.counts.opening = Opening()

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore what a checkpoint holds of it; ``seating.resume()`` must follow. Raises ``CorruptFile``."""
        self.rounds.restore(checkpoint, self.counts)
        try:
            self.seating.load(self.counts, restarted=bool(checkpoint.restart))
        except ValueError as error:
            raise CorruptFile(f"checkpoint of version {checkpoint.version}: {error}") from error

    def close(self) -> None:
        """Stop the pool."""
        self.components.close()

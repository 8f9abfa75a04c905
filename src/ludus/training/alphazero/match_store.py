"""Recorded matches of self-play: the replay buffer that is learned from, and its files on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from ludus.mcts import Matches
from ludus.storage import Checkpoint, RunNotFound, StorageError
from ludus.storage.matches import MatchFiles
from ludus.training.alphazero.checkpoint import AlphaZeroState, decode_state
from ludus.training.alphazero.components import (
    AlphaZeroComponents,
    last_session,
    moved_threshold,
    read_matches,
)
from ludus.training.run_context import RunContext

RESIGN_MEMORY = 2500  # never-resign matches that decide the threshold (ELF OpenGo)


class MatchStore:
    """Store of recorded matches: counts them in the run's state, keeps the files of checkpoints."""

    def __init__(self, context: RunContext, components: AlphaZeroComponents, state: AlphaZeroState) -> None:
        """Open the folder of the run's matches."""
        self.context, self.components, self.state = context, components, state
        self.files = MatchFiles(context.directory.self_play, components.matches_meta())
        self.lag: dict[int, int] = {}  # of the newest matches: versions behind -> plies
        self.lowest_winner: npt.NDArray[np.float32] = np.zeros(0, np.float32)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore the matches that the state names; files that are missing are reported."""
        lowest = checkpoint.rollout.get("lowest_winner")
        if lowest is not None:
            self.lowest_winner = np.asarray(lowest, np.float32)
        missing: list[str] = []
        kept: list[tuple[int, Matches]] = []
        for number in self.state.chunks:
            try:
                kept.append((number, read_matches(self.files, number, self.components.spec)))
            except RunNotFound:
                missing.append(self.files.path(number).name)
        if missing:
            self.context.report.problem(
                f"{self.files.folder}: {', '.join(missing)} missing; the run continues without these matches"
            )
        # All matches count that there ever were, or the buffer would be cut to its share of itself.
        total = self.state.matches - sum(len(matches) for _, matches in kept)
        self.components.replay_buffer.total_matches = total
        self.state.chunks = []
        for number, matches in kept:
            self._take_in(number, matches)

    def take_unsaved(self) -> None:
        """Read the matches that were finished after the checkpoint: none of them is lost.

        Matches of a session are numbered apart from those of every session that left matches on disk.
        """
        state = self.state
        for number in (n for n in self.files.numbers() if n >= state.next_chunk):
            matches = read_matches(self.files, number, self.components.spec)
            self._count(matches)
            self._take_in(number, matches)
            state.next_chunk = number + 1
        state.session = max(
            [state.session, *(last_session(c.matches) + 1 for c in self.components.replay_buffer.chunks)]
        )

    def keep(self, matches: Matches) -> None:
        """Write new matches to disk and add them to the replay buffer."""
        state = self.state
        number = state.next_chunk
        state.next_chunk += 1
        self.context.needed.write(
            self.files.path(number), lambda: self.files.write(number, matches.columns())
        )
        self._count(matches)
        self._take_in(number, matches)

    def referred_to(self) -> set[Path]:
        """Return the files without which the current state cannot be resumed."""
        return {self.files.path(n) for n in self.state.chunks}

    def drop_unneeded(self) -> set[int]:
        """Remove files of matches that no checkpoint needs that the run could be resumed from.

        Other checkpoints are kept for their weights alone. Returns the versions of the weights that play, in
        the kept checkpoints and in the current state.
        """
        store = self.context.directory.checkpoints
        needed, playing = set(self.state.chunks), {self.state.playing}
        for version in store.versions()[-store.keep :]:
            try:
                old = decode_state(store.load_state(version), f"checkpoint of version {version}")
            except StorageError:
                continue
            needed |= set(old.chunks)
            playing.add(old.playing)
        self.files.drop([n for n in self.files.numbers() if n not in needed and n < self.state.next_chunk])
        return playing

    def _count(self, matches: Matches) -> None:
        state, config = self.state, self.components.config
        full = int(matches.full.sum())
        state.matches += len(matches)
        state.received += full
        state.budget.steps += full
        state.budget.ticks += len(matches.action)
        state.debt += config.sample_reuse * full / config.batch_size
        behind = np.maximum(self.components.learner.version - matches.version, 0)
        versions, counts = np.unique(behind, return_counts=True)
        self.lag = {int(v): int(n) for v, n in zip(versions, counts, strict=True)}
        seen = matches.lowest_winner[matches.never_resign != 0]
        self.lowest_winner = np.concatenate([self.lowest_winner, seen])[-RESIGN_MEMORY:]
        self._move_resign()

    def _take_in(self, number: int, matches: Matches) -> None:
        components = self.components
        ends = components.ends(matches) if components.learns_ends else None
        components.replay_buffer.add(number, matches, ends)
        # Files of chunks that have left go when no checkpoint needs them: with the next one that is written.
        self.state.chunks = sorted(c.number for c in components.replay_buffer.chunks)

    def _move_resign(self) -> None:
        settings = self.components.config.self_play
        if settings.resign:
            now = self.state.resign_below
            self.state.resign_below = moved_threshold(now, self.lowest_winner, settings.resign_errors)

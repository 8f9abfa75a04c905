"""Replay buffer of the newest matches, and positions drawn from them (Tian et al. 2019, section 3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ludus.algorithms.alphazero.samples import Ends, Positions
from ludus.algorithms.config import AlphaZeroConfig
from ludus.flow.positions import MatchMoves, PositionQuery
from ludus.flow.slab import Array
from ludus.mcts import Matches

Ints = npt.NDArray[np.int64]

#: Positions of recorded matches -> packed observations and masks, by row.
Reader = Callable[[PositionQuery], tuple[dict[str, Array], npt.NDArray[np.uint8]]]

EVEN_LOW, EVEN_HIGH = 0.45, 0.55  # ELF OpenGo's bounds of the share of seat 0's wins


class Chunk:
    """Matches added together; ``ends``: how they ended for seat 0, if that is learned."""

    def __init__(self, number: int, matches: Matches, ends: Ends | None) -> None:
        """Index the plies of ``matches``, kept under ``number``."""
        self.number, self.matches, self.ends = number, matches, ends
        self.offset: Ints = np.concatenate([[0], np.cumsum(matches.plies, dtype=np.int64)])
        self.pairs: Ints = np.concatenate([[0], np.cumsum(matches.targets, dtype=np.int64)])
        full = np.flatnonzero(matches.full)
        self.full: Ints = full
        self.match_of: Ints = np.searchsorted(self.offset, full, side="right") - 1


class ReplayBuffer:
    """Window of the newest matches: first in, first out. One thread at a time."""

    def __init__(self, config: AlphaZeroConfig, choices: int, score_share: float = 0.0) -> None:
        """Start empty.

        Args:
            config: Sizes of the window, targets.
            choices: Number of moves, A.
            score_share: Share in [0, 1] of the margin in the value target.
        """
        self.config, self.choices, self.score_share = config, choices, score_share
        self.chunks: deque[Chunk] = deque()
        self.total_matches = 0  # ever added

    @property
    def matches(self) -> int:
        """Number of matches in the buffer."""
        return sum(len(c.matches) for c in self.chunks)

    @property
    def positions(self) -> int:
        """Number of positions that can be drawn."""
        return sum(len(c.full) for c in self.chunks)

    @property
    def ready(self) -> bool:
        """Whether there are enough matches to learn from."""
        return self.total_matches >= self.config.window_matches_min and self.positions > 0

    def add(self, number: int, matches: Matches, ends: Ends | None = None) -> list[int]:
        """Add matches.

        Args:
            number: Number of their chunk.
            matches: Matches that ended.
            ends: Their ends for seat 0, for all chunks or for none.

        Returns:
            Numbers of the chunks that have left, so that their files can be removed.
        """
        self.chunks.append(Chunk(number, matches, ends))
        self.total_matches += len(matches)
        config = self.config
        wanted = max(round(self.total_matches * config.window_share), config.window_matches_min)
        wanted = min(wanted, config.window_matches)
        left = []
        while len(self.chunks) > 1 and self.matches - len(self.chunks[0].matches) >= wanted:
            left.append(self.chunks.popleft().number)
        return left

    def draw(self, count: int, random: np.random.Generator, read: Reader) -> Positions:
        """Draw ``count`` positions, uniformly with replacement, or with wins of both seats evened out."""
        sizes = np.array([len(c.full) for c in self.chunks])
        ends = np.cumsum(sizes)
        if self.config.even_outcomes:
            picks = self._even(count, random)
        else:
            picks = random.integers(0, int(ends[-1]), count)
        home = np.searchsorted(ends, picks, side="right")
        parts: list[Positions] = []
        rows: list[Ints] = []
        for i in np.unique(home):
            where = np.flatnonzero(home == i)
            local = picks[where] - (ends[i] - sizes[i])
            order = np.argsort(local, kind="stable")
            parts.append(self._positions(self.chunks[int(i)], local[order], read))
            rows.append(where[order])
        back = np.empty(count, np.int64)
        back[np.concatenate(rows)] = np.arange(count)
        known = [p.ends for p in parts if p.ends is not None]
        return Positions(
            {name: np.concatenate([p.obs[name] for p in parts])[back] for name in parts[0].obs},
            np.concatenate([p.mask for p in parts])[back],
            np.concatenate([p.policy for p in parts])[back],
            np.concatenate([p.value for p in parts])[back],
            Ends.join(known).take(back) if known else None,
        )

    def _even(self, count: int, random: np.random.Generator) -> Ints:
        """Draw a seat first, then a position of a match that it won; drawn matches keep their share."""
        outcome = np.concatenate([c.matches.outcome[c.match_of] for c in self.chunks])
        first, second, drawn = (np.flatnonzero(outcome == x) for x in (1.0, -1.0, 0.0))
        if len(first) == 0 or len(second) == 0:
            return random.integers(0, len(outcome), count)
        share = min(max(len(first) / (len(first) + len(second)), EVEN_LOW), EVEN_HIGH)
        is_drawn = random.random(count) < len(drawn) / len(outcome)
        is_first = random.random(count) < share
        out = np.where(
            is_first,
            first[random.integers(0, len(first), count)],
            second[random.integers(0, len(second), count)],
        )
        if len(drawn):
            out = np.where(is_drawn, drawn[random.integers(0, len(drawn), count)], out)
        return out

    def _positions(self, chunk: Chunk, picks: Ints, read: Reader) -> Positions:
        """Return the positions ``picks``: ascending indices into ``chunk.full``."""
        matches = chunk.matches
        ply = chunk.full[picks]
        match = chunk.match_of[picks]
        used, first = np.unique(match, return_index=True)
        bounds = np.concatenate([first, [len(picks)]]).astype(np.int64)
        lengths = matches.plies[used].astype(np.int64)
        offset = np.concatenate([[0], np.cumsum(lengths)])
        flat = np.arange(int(offset[-1])) - np.repeat(offset[:-1], lengths)
        actions = matches.action[np.repeat(chunk.offset[used], lengths) + flat]
        wanted = (ply - chunk.offset[match]).astype(np.int32)
        moves = MatchMoves(matches.match[used], actions, offset)
        obs, mask = read(PositionQuery(moves, bounds, wanted, np.arange(len(picks), dtype=np.int32)))
        sign = np.where(matches.seat[ply] == 0, 1.0, -1.0).astype(np.float32)
        mix = np.float32(self.config.value_mix)
        worth = sign * matches.outcome[match]
        ends = None if chunk.ends is None else chunk.ends.take(match).seen_by(matches.seat[ply])
        if ends is not None and self.score_share > 0:
            score = np.clip(ends.score / np.float32(max(1, ends.ownership.shape[1])), -1, 1)
            worth += np.float32(self.score_share) * ends.counted * (score - worth)
        value = (1 - mix) * worth + mix * matches.value[ply]
        return Positions(obs, mask, self._policies(chunk, ply), value.astype(np.float32), ends)

    def _policies(self, chunk: Chunk, ply: Ints) -> npt.NDArray[np.float32]:
        """Return the policy targets ``[N, A]`` of the plies ``ply: [N]``."""
        matches = chunk.matches
        count = matches.targets[ply].astype(np.int64)
        row = np.repeat(np.arange(len(ply)), count)
        starts = np.concatenate([[0], np.cumsum(count)[:-1]])
        pair = np.repeat(chunk.pairs[ply], count) + (np.arange(len(row)) - np.repeat(starts, count))
        policy = np.zeros((len(ply), self.choices), np.float32)
        policy[row, matches.target_move[pair]] = matches.target_share[pair]
        total = policy.sum(axis=1, keepdims=True)
        normalised: npt.NDArray[np.float32] = policy / np.maximum(total, 1.0)
        return normalised

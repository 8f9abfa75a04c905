"""The newest matches, and positions drawn from them (the replay buffer of paper 003, section 3)."""

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
    """Matches that came together, with where each begins; how they ended for seat 0 where that is learned."""

    def __init__(self, number: int, games: Matches, ends: Ends | None) -> None:
        self.number, self.games, self.ends = number, games, ends
        self.offset: Ints = np.concatenate([[0], np.cumsum(games.plies, dtype=np.int64)])
        self.pairs: Ints = np.concatenate([[0], np.cumsum(games.targets, dtype=np.int64)])
        full = np.flatnonzero(games.full)
        self.full: Ints = full
        self.game_of: Ints = np.searchsorted(self.offset, full, side="right") - 1


class ReplayBuffer:
    """First in, first out. One thread at a time.

    ``add`` says which chunks have left, so that their files can go too.
    """

    def __init__(self, config: AlphaZeroConfig, choices: int, score_share: float = 0.0) -> None:
        self.config, self.choices, self.score_share = config, choices, score_share
        self.chunks: deque[Chunk] = deque()
        self.total_games = 0  # ever

    @property
    def games(self) -> int:
        """Matches that are here."""
        return sum(len(c.games) for c in self.chunks)

    @property
    def positions(self) -> int:
        """Positions that can be drawn."""
        return sum(len(c.full) for c in self.chunks)

    @property
    def ready(self) -> bool:
        """Whether there is enough to learn from."""
        return self.total_games >= self.config.window_games_min and self.positions > 0

    def add(self, number: int, games: Matches, ends: Ends | None = None) -> list[int]:
        """Takes matches in; gives the numbers of the chunks that have left.

        ``ends``: of the matches for seat 0, for all chunks or for none.
        """
        self.chunks.append(Chunk(number, games, ends))
        self.total_games += len(games)
        config = self.config
        wanted = max(round(self.total_games * config.window_share), config.window_games_min)
        wanted = min(wanted, config.window_games)
        left = []
        while len(self.chunks) > 1 and self.games - len(self.chunks[0].games) >= wanted:
            left.append(self.chunks.popleft().number)
        return left

    def draw(self, count: int, random: np.random.Generator, read: Reader) -> Positions:
        """``count`` positions, uniformly with replacement (or with wins of both seats evened out)."""
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
        """Picks a side first, then a position of a match that it won; drawn matches keep their share."""
        outcome = np.concatenate([c.games.outcome[c.game_of] for c in self.chunks])
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
        """Positions ``picks`` (indices into ``chunk.full``, rising), in that order."""
        games = chunk.games
        ply = chunk.full[picks]
        game = chunk.game_of[picks]
        used, first = np.unique(game, return_index=True)
        bounds = np.concatenate([first, [len(picks)]]).astype(np.int64)
        lengths = games.plies[used].astype(np.int64)
        offset = np.concatenate([[0], np.cumsum(lengths)])
        flat = np.arange(int(offset[-1])) - np.repeat(offset[:-1], lengths)
        actions = games.action[np.repeat(chunk.offset[used], lengths) + flat]
        wanted = (ply - chunk.offset[game]).astype(np.int32)
        moves = MatchMoves(games.match[used], actions, offset)
        obs, mask = read(PositionQuery(moves, bounds, wanted, np.arange(len(picks), dtype=np.int32)))
        sign = np.where(games.seat[ply] == 0, 1.0, -1.0).astype(np.float32)
        mix = np.float32(self.config.value_mix)
        worth = sign * games.outcome[game]
        ends = None if chunk.ends is None else chunk.ends.take(game).seen_by(games.seat[ply])
        if ends is not None and self.score_share > 0:
            score = np.clip(ends.score / np.float32(max(1, ends.ownership.shape[1])), -1, 1)
            worth += np.float32(self.score_share) * ends.counted * (score - worth)
        value = (1 - mix) * worth + mix * games.value[ply]
        return Positions(obs, mask, self._policies(chunk, ply), value.astype(np.float32), ends)

    def _policies(self, chunk: Chunk, ply: Ints) -> npt.NDArray[np.float32]:
        games = chunk.games
        count = games.targets[ply].astype(np.int64)
        row = np.repeat(np.arange(len(ply)), count)
        starts = np.concatenate([[0], np.cumsum(count)[:-1]])
        pair = np.repeat(chunk.pairs[ply], count) + (np.arange(len(row)) - np.repeat(starts, count))
        policy = np.zeros((len(ply), self.choices), np.float32)
        policy[row, games.target_move[pair]] = games.target_share[pair]
        total = policy.sum(axis=1, keepdims=True)
        normalised: npt.NDArray[np.float32] = policy / np.maximum(total, 1.0)
        return normalised

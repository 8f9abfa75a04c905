"""Self-play: matches of a search against itself, and their records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, decode_spec
from ludus.flow.slab import Array
from ludus.mcts.config import SearchConfig, SelfPlayConfig
from ludus.mcts.evaluator import CORE_EVALUATORS, Evaluator, LeafBatch
from ludus.native import SearchableGames, core

NEVER_RESIGN = -1.0


@dataclass(slots=True)
class Matches:
    """Finished self-play matches by column: ``M`` matches, their ``P`` plies, their ``K`` policy entries.

    Match i's plies follow match i - 1's; ply j's ``targets[j]`` entries of the policy follow ply j - 1's.
    """

    match: npt.NDArray[np.uint64]  # [M], number; with the seed it determines the initial state
    plies: npt.NDArray[np.int32]  # [M]
    outcome: npt.NDArray[np.float32]  # [M], for seat 0: +1, 0, -1
    resigned: npt.NDArray[np.uint8]  # [M]
    never_resign: npt.NDArray[np.uint8]  # [M]
    lowest_winner: npt.NDArray[np.float32]  # [M], lowest root value of the winner; 1 if drawn
    action: npt.NDArray[np.uint16]  # [P]
    seat: npt.NDArray[np.uint8]  # [P]
    full: npt.NDArray[np.uint8]  # [P], its policy is to be learned
    value: npt.NDArray[np.float32]  # [P], of the search, for the seat that decided
    version: npt.NDArray[np.int32]  # [P], of the weights that evaluated
    targets: npt.NDArray[np.uint16]  # [P]
    target_move: npt.NDArray[np.uint16]  # [K]
    target_share: npt.NDArray[np.uint16]  # [K], of 65535

    def __len__(self) -> int:
        """Return ``M``."""
        return len(self.match)

    def columns(self) -> dict[str, Array]:
        """Return every array by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> Matches:
        """Return matches of valid arrays; see :meth:`check`."""
        return cls(**{name: columns[name] for name in DTYPES})

    @classmethod
    def empty(cls) -> Matches:
        """Return no matches."""
        return cls.of({name: np.zeros(0, dtype) for name, dtype in DTYPES.items()})

    @classmethod
    def join(cls, parts: list[Matches]) -> Matches:
        """Concatenate ``parts`` in their order."""
        if not parts:
            return cls.empty()
        return cls.of({f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)})

    @classmethod
    def check(cls, columns: Mapping[str, Array], choices: int) -> Matches:
        """Return matches of a file's arrays.

        Args:
            columns: Arrays by name.
            choices: Number of choices of the game.

        Raises:
            ValueError: A column is wrong; the message names it and the mistake.
        """
        for name, dtype in DTYPES.items():
            if name not in columns:
                raise ValueError(f"no column {name}")
            if columns[name].dtype != dtype or columns[name].ndim != 1:
                raise ValueError(f"column {name} is {columns[name].dtype}, expected {np.dtype(dtype)}[n]")
        matches = cls.of(columns)
        sizes = {
            "M": ("match", "plies", "outcome", "resigned", "never_resign", "lowest_winner"),
            "P": ("action", "seat", "full", "value", "version", "targets"),
            "K": ("target_move", "target_share"),
        }
        expected = {
            "M": len(matches.match),
            "P": int(matches.plies.sum(dtype=np.int64)),
            "K": int(matches.targets.sum(dtype=np.int64)),
        }
        if (matches.plies < 1).any():
            raise ValueError("a match without plies")
        for letter, names in sizes.items():
            for name in names:
                if len(columns[name]) != expected[letter]:
                    raise ValueError(f"{name} has {len(columns[name])} entries, expected {expected[letter]}")
        for name in ("action", "target_move"):
            if (np.asarray(columns[name], np.int64) >= choices).any():
                raise ValueError(f"{name} names a move outside [0, {choices})")
        if (matches.seat > 1).any() or not np.isin(matches.outcome, (-1.0, 0.0, 1.0)).all():
            raise ValueError("seats are 0 and 1, outcomes -1, 0 and 1")
        if not np.isfinite(matches.value).all() or (np.abs(matches.value) > 1.001).any():
            raise ValueError("values lie in [-1, 1]")
        return matches


DTYPES: dict[str, type[np.generic]] = {
    "match": np.uint64,
    "plies": np.int32,
    "outcome": np.float32,
    "resigned": np.uint8,
    "never_resign": np.uint8,
    "lowest_winner": np.float32,
    "action": np.uint16,
    "seat": np.uint8,
    "full": np.uint8,
    "value": np.float32,
    "version": np.int32,
    "targets": np.uint16,
    "target_move": np.uint16,
    "target_share": np.uint16,
}


class MatchNumbers(NamedTuple):
    """Numbers of a sequence of matches: ``first``, ``first + stride``, and so on."""

    first: int = 0
    stride: int = 1


EVERY_NUMBER = MatchNumbers()


class SelfPlay:
    """Self-play of ``config.slots`` matches in parallel, each followed by the next. One thread at a time."""

    def __init__(
        self,
        game: str,
        params: Mapping[str, str],
        search: SearchConfig,
        config: SelfPlayConfig,
        *,
        evaluator: Evaluator | str,
        seed: int,
        numbers: MatchNumbers = EVERY_NUMBER,
        native: SearchableGames | None = None,
    ) -> None:
        """Start the first matches.

        Args:
            game: Name of the game.
            params: Its parameters.
            search: Settings of the search.
            config: Settings of self-play.
            evaluator: One of :data:`CORE_EVALUATORS`, or an :class:`Evaluator`.
            seed: Seed of the matches.
            numbers: Numbers of the matches. Threads of a run share its numbers by different streams.
            native: Compiled module of the game; default: the package's own.
        """
        module = native or cast(SearchableGames, core)
        self.spec: GameSpec = decode_spec(module.spec_json(game, dict(params)))
        kind = evaluator if isinstance(evaluator, str) else "batch"
        if kind not in (*CORE_EVALUATORS, "batch"):
            raise ValueError(f"evaluator {kind!r}, expected one of {', '.join(CORE_EVALUATORS)}")
        self.evaluator = None if isinstance(evaluator, str) else evaluator
        settings = search.settings() | config.settings()
        settings |= {"first": float(numbers.first), "stride": float(numbers.stride)}
        self._core = module.make_self_play(game, dict(params), settings, seed, kind, 1, search.cache)
        self.batch = LeafBatch(self.spec, config.slots)
        if self.evaluator is not None:
            self._core.attach(self.batch.arrays())

    def step(self, rounds: int = 64) -> int:
        """Run one batch: select a leaf of every match, evaluate the leaves, back the results up.

        Returns:
            Rows of the batch; 0 with an evaluator of the core, which does ``rounds`` simulations per match.
        """
        count = self._core.collect(rounds)
        if count > 0:
            assert self.evaluator is not None
            self._core.deliver(*self.evaluator.evaluate(self.batch, count))
        return count

    def collect(self) -> int:
        """Write leaves to :attr:`batch`: the first half of :meth:`step`. Return the number of rows."""
        return self._core.collect(1)

    def deliver(self, policy: Array, value: Array) -> None:
        """Back up the evaluations: the second half of :meth:`step`."""
        self._core.deliver(policy, value)

    def take_matches(self) -> Matches:
        """Return the matches that ended since the last call."""
        return Matches.of(self._core.take_matches())

    def set_version(self, version: int) -> None:
        """Set the version recorded with later evaluations."""
        self._core.set_version(version)

    def set_resign(self, below: float) -> None:
        """Set the value below which a seat resigns; :data:`NEVER_RESIGN` = never."""
        self._core.set_resign(below)

    @property
    def simulations(self) -> int:
        """Number of simulations so far."""
        return int(self._core.simulations())

    @property
    def moves(self) -> int:
        """Number of moves played so far."""
        return int(self._core.moves())

    @property
    def cache_counts(self) -> tuple[int, int]:
        """Lookups and hits of the cache."""
        lookups, hits = self._core.cache_counts()
        return int(lookups), int(hits)

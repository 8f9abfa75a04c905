"""Options of a pool of matches, the same for compiled games and Python games."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import msgspec


class PoolOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Size, seed and behaviour of a pool.

    Attributes:
        slots: Number of matches that run in parallel.
        groups: Contiguous groups of slots, each received and sent by itself (two: double-buffered sampling).
        threads: Worker threads of a compiled game, or worker processes of a Python game. With 0 the thread
            that calls ``recv`` plays.
        seed: Seed of the pool, 0..2^64-1. Match ``m`` takes all its randomness from ``(seed, m)``.
        num_matches: The pool plays exactly the matches 0..num_matches-1, then slots idle. None: no end.
        autoreset: ``"same_step"`` shows the next match at once, ``"next_step"`` leaves the finished row
            inactive with its last observation for one step, ``"off"`` leaves it inactive until ``reset``.
            Python games have ``"same_step"`` only.
        truncate_ticks: Ticks after which a match is cut off (0: never).
        on_error: ``"raise"`` lets ``recv`` raise :class:`ludus.pool.MatchError` once for a step in which a
            match failed, ``"truncate"`` reports it only in the result. Both end that match truncated.
        record: Numbers of the matches that keep a replay in ``MatchResult.replay``, or ``"all"`` (compiled
            games only). The replay of a match that failed is empty.
        hash_every: Ticks between two state hashes of a compiled game's replay.
        inputs: Observation tensors in use (empty: all). A compiled game may leave the others unwritten; a
            Python game writes all.
        states: Enables ``slot_state`` of a Python game; a compiled game always has it.
        timeout_s: Seconds after which a worker process that shows no progress is replaced (0: never).
        start_timeout_s: Seconds that a worker process may take to make its games.
        log_arrivals: Keeps the order in which ``recv()`` returned groups, in ``arrivals`` (compiled games).
        follow: ``recv()`` returns groups in this order first: a ready-first run repeated exactly (compiled
            games).
        spirit: Share of its team's mean in what a seat's row is paid, 0..1
            (:mod:`ludus.pool.team_rewards`). ``set_terms`` changes it while the pool runs.
        zero_sum: Pays every seat less what the seats of other teams earn on average.
    """

    slots: int
    groups: int = 2
    threads: int = 1
    seed: int = 0
    num_matches: int | None = None
    autoreset: Literal["same_step", "next_step", "off"] = "same_step"
    truncate_ticks: int = 0
    on_error: Literal["raise", "truncate"] = "raise"
    record: Literal["all"] | Collection[int] = ()
    hash_every: int = 100
    inputs: Collection[str] = ()
    states: bool = False
    timeout_s: float = 60.0
    start_timeout_s: float = 180.0
    log_arrivals: bool = False
    follow: Collection[int] = ()
    spirit: float = 0.0
    zero_sum: bool = False

    def check(self) -> None:
        """Raise ``ValueError`` for the first option outside its range."""
        if self.on_error not in ("raise", "truncate"):
            raise ValueError(f"on_error={self.on_error!r}, expected 'raise' or 'truncate'")
        for key, value, top in (("seed", self.seed, 2**64), ("truncate_ticks", self.truncate_ticks, 2**32)):
            if not 0 <= value < top:
                raise ValueError(f"{key}={value}, expected 0..{top - 1}")
        if self.num_matches is not None and not 0 <= self.num_matches < 2**62:
            raise ValueError(f"num_matches={self.num_matches}: expected an integer >= 0")
        if isinstance(self.record, str) and self.record != "all":
            raise ValueError(f"record={self.record!r}, expected 'all' or match numbers")
        if not 1 <= self.hash_every < 2**30:
            raise ValueError(f"hash_every={self.hash_every}, expected a number of ticks >= 1")

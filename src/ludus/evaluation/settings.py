"""How matches between two players are played: one struct for evaluations, tournaments and gates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from ludus.presets.config import Device

if TYPE_CHECKING:
    from ludus.flow.match import MatchResult
    from ludus.flow.spec import GameSpec

TIMEOUT_S = 60.0  # the default of ``pool.timeout_s``


class MatchSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Number, seeds, limits and threads of the matches between two players.

    ``frame_skip``, ``against_frame_skip``, ``greedy`` and ``device`` apply where players are given by name,
    as to :func:`ludus.evaluation.evaluate.evaluate`; a :class:`ludus.evaluation.play.MatchPlayer` has its
    own.

    Attributes:
        matches: Number of matches, at least 1.
        seed: Seed of the matches and of the players' random choices.
        frame_skip: Ticks between two decisions of a player; 0 = the player's own, or the game's default.
        against_frame_skip: The same for the opponent; 0 = ``frame_skip``.
        greedy: Networks take their most probable choice, searches their most visited move.
        threads: Worker threads of the pool, or processes of a Python game; 0 = the calling thread, or one
            process.
        record: Number of matches, from the first, that have a replay in their result.
        random_start: Above 0, the game's bot ``random`` plays a seat's first k ticks, k drawn from
            0..``random_start`` for each match and seat, so that players do not repeat one memorised line.
        max_ticks: Highest number of ticks of a match; 0 = the game's limit, else 20,000.
        device: Device of the networks: ``auto`` (the processor), ``cpu`` or ``cuda``.
        player_seats: Seats of a match that the player has; the opponent has the others. 0 = one, or all of
            its team.
        timeout_s: Seconds for one step of a Python game; then its process is replaced. 0 = no limit.
    """

    matches: int = 400
    seed: int = 1
    frame_skip: int = 0
    against_frame_skip: int = 0
    greedy: bool = False
    threads: int = 0
    record: int = 0
    random_start: int = 0
    max_ticks: int = 0
    device: Device = "auto"
    player_seats: int = 0
    timeout_s: float = TIMEOUT_S


@dataclass(frozen=True, slots=True)
class MatchHooks:
    """Functions called while matches are played, from the thread that plays them.

    Attributes:
        should_stop: Ends play early when it returns true; the matches that are over count.
        finished: Receives the matches that ended since its last call, possibly none.
        played: Receives the number of ticks since its last call, before ``finished``.
        started: Receives the game before the first match of each pair of players.
    """

    should_stop: Callable[[], bool] | None = None
    finished: Callable[[Sequence[MatchResult]], None] | None = None
    played: Callable[[int], None] | None = None
    started: Callable[[GameSpec], None] | None = None


DEFAULT = MatchSettings()
NO_HOOKS = MatchHooks()

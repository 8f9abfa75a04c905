"""Results of finished matches of a Python game, read from the control block."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ludus.flow import MatchResult
from ludus.pool.errors import PoolError
from ludus.pool.hosted.control_block import ControlBlock, Longs
from ludus.pool.hosted.shard import PoolPlan
from ludus.pool.replay_recorder import ReplayRecorder

MAX_EMPTY = 1000  # matches in a row without a decision: a run of them would never end


class ResultReader:
    """Reads the results of a pool, and stops a pool in which no match has a decision."""

    def __init__(self, plan: PoolPlan, control: ControlBlock, recorder: ReplayRecorder | None) -> None:
        """Read from ``control``; ``recorder`` holds the replays, if any are recorded."""
        self._plan, self._control, self._recorder = plan, control, recorder
        seats = range(plan.spec.seats)
        self._plans_of = [tuple(plan.plan_of(slot, seat) for seat in seats) for slot in seats]
        self._empty = 0  # matches in a row that ended without a decision

    def read(self, slots: Longs) -> list[MatchResult]:
        """Return the results of the matches that ended in the last step of ``slots: [n]``.

        Raises:
            PoolError: Many matches in a row, or all of a schedule, had no decision.
        """
        control, plan = self._control, self._plan
        columns = (
            control.last_match,
            control.last_ticks,
            control.last_decisions,
            control.last_outcome,
            control.last_returns,
            control.last_policy,
            control.last_truncated,
            control.last_scores,
            control.failed,
            control.last_tag,
        )
        rows = zip(slots.tolist(), *(c[slots].tolist() for c in columns), strict=True)
        results = [
            MatchResult(
                match=match,
                slot=slot,
                seed=plan.seed,
                ticks=ticks,
                decisions=decisions,
                outcome=tuple(outcome),
                returns=tuple(returns),
                players=_players(tuple(policy)),
                plan_of_seat=self._plans_of[slot % plan.spec.seats],
                truncated=bool(cut),
                error=control.error[slot].decode(errors="replace") if failed else "",
                replay=self._recorder.take(match) if self._recorder is not None else b"",
                tag=tag,
                scores=() if failed or not plan.spec.scores else tuple(map(tuple, scores)),
            )
            for slot, match, ticks, decisions, outcome, returns, policy, cut, scores, failed, tag in rows
        ]
        self._check_decisions(results)
        return results

    def _check_decisions(self, results: Sequence[MatchResult]) -> None:
        for result in results:
            empty = result.decisions == 0 and not result.error
            self._empty = self._empty + 1 if empty else 0
        game = self._plan.spec.name
        if self._empty >= min(MAX_EMPTY, self._plan.num_matches or MAX_EMPTY):
            raise PoolError(
                f"{game}: {self._empty} matches in a row ended without a decision of any seat; "
                "expected at least one agent that acts after reset() (agents of PettingZoo, to_act() of a "
                "Python game)"
            )


@lru_cache(maxsize=4096)
def _players(policies: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(f"policy:{p}" for p in policies)

"""The benchmark of searches: the rounds that games of very different speeds get."""

from __future__ import annotations

import pytest

from ludus.bench.search import _rate


class Machine:
    """Clock of a thread, and a search whose rounds take a known time."""

    def __init__(self, round_s: float) -> None:
        self.now, self.rounds, self._round_s = 100.0, 0, round_s
        self.given: list[int] = []

    def step(self, rounds: int) -> None:
        self.given.append(rounds)
        self.rounds += rounds
        self.now += rounds * self._round_s


@pytest.mark.parametrize(("round_s", "most_calls"), [(40.0, 1), (0.3, 4), (1e-3, 60), (1e-6, 80)])
def test_slow_games_get_single_rounds_and_quick_ones_many(
    round_s: float, most_calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(round_s)
    monkeypatch.setattr("ludus.bench.search.time.thread_time", lambda: machine.now)
    rate = _rate(machine.step, lambda: machine.rounds, 1.0)
    assert rate == pytest.approx(1.0 / round_s)
    assert len(machine.given) <= most_calls
    assert machine.now - 100.0 < 1.0 + max(round_s, 0.1)  # ends when it should

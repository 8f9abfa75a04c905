"""Members have processes with about equal shares of the decisions."""

from __future__ import annotations

import pytest

from ludus.training.league.remote.processes import homes


@pytest.mark.parametrize(
    ("shares", "count", "loads"),
    [
        ({"main": 2.0, "exploiter": 1.0, "other": 1.0}, 2, [2.0, 2.0]),  # the largest has one apart
        ({"exploiter": 1.0, "other": 1.0, "main": 2.0}, 2, [2.0, 2.0]),  # in any order
        (dict.fromkeys("abcd", 1.0), 2, [2.0, 2.0]),
        ({"a": 5.0, "b": 1.0}, 2, [5.0, 1.0]),
        ({"a": 1.0, "b": 2.0, "c": 3.0}, 1, [6.0]),
    ],
)
def test_processes_have_about_equal_shares(shares: dict[str, float], count: int, loads: list[float]) -> None:
    found = homes(shares, count)
    assert found.keys() == shares.keys()
    assert [sum(shares[m] for m, home in found.items() if home == n) for n in range(count)] == loads

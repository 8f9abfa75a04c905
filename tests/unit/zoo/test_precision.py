"""Half precision is taken only where play does not change."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from ludus.flow import Weights
from tests.unit.zoo.conftest import SmallZoo
from tools import zoo_weights
from tools.zoo_weights import BOUND, Precision, compare, recorded


@pytest.mark.parametrize(
    ("found", "searched", "holds"),
    [
        (Precision(900, 3, 0, BOUND, 1.0), False, True),
        (Precision(900, 3, 0, BOUND, 1.0), True, False),  # a search reads the value
        (Precision(900, 0, 1, 0.0, 0.0), False, False),
        (Precision(900, 0, 0, 2 * BOUND, 0.0), False, False),
    ],
)
def test_what_half_precision_may_change(found: Precision, searched: bool, holds: bool) -> None:
    assert found.holds(searched) == holds


def test_other_play_is_seen(made: SmallZoo, monkeypatch: pytest.MonkeyPatch) -> None:
    weights, seen = recorded(f"{made.run}@last")
    assert compare(weights, seen).holds(searched=False)

    def other(whole: Weights) -> Weights:
        return Weights(
            whole.meta,
            {n: (-5 * a).astype(a.dtype) if "policy" in n else a for n, a in whole.tensors.items()},
        )

    monkeypatch.setattr(zoo_weights, "rounded", other)
    assert not compare(weights, seen).holds(searched=False)

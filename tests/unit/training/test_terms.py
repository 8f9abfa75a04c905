"""A further condition of play is one field of the terms and one line in the pool."""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path

import pytest

from ludus.cluster.messages import SlabRequest
from ludus.cluster.received import ReceivedFiles
from ludus.cluster.rollout import Rollout
from ludus.flow import Terms
from ludus.pool import Pool
from ludus.pool.factory import make_pool
from ludus.rollouts.commands import PlayAhead
from ludus.training.actor_learner import member, sampler, sync_loop
from ludus.training.actor_learner.schedule import Schedule
from ludus.training.machines import LOCAL, JoinedMachines, Machines
from ludus.training.runs import start_run
from ludus.training.stopping import Budget

from .asking import AskedMachines
from .runs import small_preset

SETTINGS: dict[str, object] = {
    "run__max_steps": 900,
    "opponents__0__name": "latest",
    "evaluation__every_steps": 0,
    "evaluation__matches": 0,
    "evaluation__final_matches": 0,
}


class Windy(Terms, frozen=True):
    """Terms with a further condition. ``wind``: percent of the budget."""

    wind: int = 0


class Wind(Schedule):
    """Schedule of the further condition."""

    def terms(self, terms: Terms, used: Budget) -> Windy:
        return Windy(wind=round(100 * self.progress(used)))


@pytest.fixture
def winds(monkeypatch: pytest.MonkeyPatch) -> dict[int, list[int]]:
    """The winds that pools were given from here on, by pool."""
    given: dict[int, list[int]] = defaultdict(list)

    def windy_pool(*args: object, **kwargs: object) -> Pool:
        pool = make_pool(*args, **kwargs)  # type: ignore[arg-type]
        set_terms, number = pool.set_terms, len(given)
        given[number] = []

        def with_wind(terms: Windy) -> None:
            set_terms(terms)
            given[number].append(terms.wind)  # the line in the pool

        monkeypatch.setattr(pool, "set_terms", with_wind)
        return pool

    monkeypatch.setattr(sampler, "make_pool", windy_pool)
    monkeypatch.setattr(member, "SCHEDULES", (Wind,))
    monkeypatch.setattr(sync_loop, "Terms", Windy)
    return given


@pytest.mark.parametrize(
    ("changes", "machines", "pools"),
    [
        ({}, LOCAL, 1),
        ({"run__lag": "pipelined"}, AskedMachines(), 1),
        ({"run__lag": "async"}, LOCAL, 1),
        ({"run__topology": "one_to_one", "run__pools": 2, "algorithm__minibatches": 1}, LOCAL, 2),
        ({}, JoinedMachines(2), 2),
    ],
)
def test_a_further_condition_reaches_every_pool_of_a_run(
    tmp_path: Path,
    winds: dict[int, list[int]],
    changes: dict[str, object],
    machines: Machines,
    pools: int,
) -> None:
    start_run(small_preset(**(SETTINGS | changes)), tmp_path / "run", machines=machines)
    assert len(winds) == pools
    for given in winds.values():
        assert given == sorted(given)
        assert given[0] == 0 < given[-1] <= 100


def test_a_further_condition_reaches_a_rollout_with_the_request_of_a_slab(
    winds: dict[int, list[int]],
) -> None:
    rollout = Rollout(ReceivedFiles("here"), "here")
    rollout._sampler = sampler.build_sampler(small_preset(**SETTINGS), slabs=1)
    for wind in (7, 9):
        rollout.play(pickle.loads(pickle.dumps(SlabRequest(terms=Windy(wind=wind)))))
    rollout.close()
    assert dict(winds) == {0: [7, 9]}


def test_a_sampler_that_does_not_play_ahead_keeps_its_terms_until_it_plays(
    winds: dict[int, list[int]],
) -> None:
    made = sampler.build_sampler(small_preset(**SETTINGS), slabs=1)
    assert not made.send(PlayAhead(Windy(wind=5)))
    assert dict(winds) == {0: []}
    made.close()

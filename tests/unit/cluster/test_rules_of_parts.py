"""A fleet answers for all of its rollouts, keeps what successors need, and refuses states that lack one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install 'ludus-rl[cluster]'")

from ludus.cluster.fleet import Fleet
from ludus.cluster.remote_sampler import RemoteSampler
from ludus.flow import Orders, Weights, WeightsMeta
from ludus.rollouts.commands import (
    AddPlayer,
    BindLanes,
    MissingPlayers,
    RestoreMatches,
    Seated,
    SeatPlayers,
    lane_of,
)
from ludus.rollouts.exchange import TIME_STEP


def fleet_of(answers: list[Seated] | list[None], calls: list[object]) -> Fleet:
    """Return a fleet whose rollouts give these answers to every command; ``calls`` has what each got."""
    fleet = object.__new__(Fleet)
    fleet.bound, fleet._weights, fleet._players = [{} for _ in answers], {}, {"a": 1, "b": 2, "c": 3, "d": 4}
    fleet._dropped, fleet._service = set(), None
    fleet._live, fleet._sent, fleet.time_step = [{} for _ in answers], [{} for _ in answers], 0

    def together(asked: list[object]) -> list[Seated] | list[None]:
        calls.extend(asked)
        return answers

    fleet._rollouts = SimpleNamespace(together=together)  # type: ignore[assignment]
    fleet._build_again = lambda number, part: None  # type: ignore[method-assign]
    return fleet


@pytest.mark.parametrize("settled", [(True, True), (True, False), (False, True), (False, False)])
def test_orders_are_settled_when_every_rollout_has_settled_them(settled: tuple[bool, bool]) -> None:
    calls: list[object] = []
    fleet = fleet_of([Seated(settled[0], {1: "b"}), Seated(settled[1], {2: "c"})], calls)
    command = SeatPlayers(Orders(mixture={"a": 1.0}), bind=False)
    assert fleet.send(command) == Seated(all(settled), {1: "b", lane_of(1, 2): "c"})
    assert calls == [("send", command), ("send", command)]
    assert fleet.bound == [{1: "b"}, {2: "c"}]
    assert set(fleet._players) == {"a", "b", "c"}  # what a successor may need, of any rollout


def test_each_rollout_gets_its_own_lanes() -> None:
    calls: list[object] = []
    fleet = fleet_of([None, None], calls)
    fleet.send(BindLanes({1: "b", lane_of(1, 2): "c"}))
    assert calls == [("send", BindLanes({1: "b"})), ("send", BindLanes({2: "c"}))]
    assert fleet.bound == [{1: "b"}, {2: "c"}]
    with pytest.raises(ValueError, match="of sampler 2, expected one of 2 samplers"):
        fleet.send(BindLanes({lane_of(2, 1): "b"}))


@pytest.mark.parametrize("lacking", [0, 1, 2])
def test_a_state_without_the_arrays_of_one_rollout_is_refused(lacking: int) -> None:
    calls: list[object] = []
    sampler = object.__new__(RemoteSampler)
    sampler.fleet, sampler.played = fleet_of([None] * 3, calls), False
    state = {f"sampler{i}.{TIME_STEP}": np.array([7], np.int64) for i in range(3)}
    sampler.send(RestoreMatches(state))
    assert (len(calls), sampler.fleet.time_step, sampler.played) == (3, 7, True)
    del state[f"sampler{lacking}.{TIME_STEP}"]
    with pytest.raises(ValueError, match=f"matches of {lacking} samplers, expected 3"):
        sampler.send(RestoreMatches(state))
    assert len(calls) == 3


def test_a_player_whose_weights_were_dropped_is_missing_although_rollouts_have_it() -> None:
    """Otherwise a part that is built again would lack it."""
    fleet = fleet_of([Seated(True, {1: "b"})], [])
    fleet.send(SeatPlayers(Orders(mixture={"b": 1.0}), bind=False))
    assert set(fleet._players) == {"b"}
    fleet._rollouts = SimpleNamespace(together=lambda asked: [["e"]])  # type: ignore[assignment]
    assert fleet.send(MissingPlayers(("a", "b", "e", "live"))) == ["a", "e"]
    weights = Weights(WeightsMeta(0, "", "", "", ""), {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ludus.cluster.fleet.put", lambda value: value)
        fleet._rollouts = SimpleNamespace(together=lambda asked: [None])  # type: ignore[assignment]
        fleet.send(AddPlayer("a", weights))
    fleet._rollouts = SimpleNamespace(together=lambda asked: [["e"]])  # type: ignore[assignment]
    assert fleet.send(MissingPlayers(("a", "b", "e", "live"))) == ["e"]

"""Every result belongs to players who played all of it: who decided is written down move by move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ludus.flow import MatchResult
from ludus.presets.file import parse_preset
from ludus.rollouts.actor import ActInput, Decision
from ludus.rollouts.lane_actor import LaneActor
from ludus.training.actor_learner.sync_loop import Round
from ludus.training.league.member import Member
from ludus.training.runs import start_run
from tests.unit.training.league.test_league_runs import LEAGUE


class Watch:
    """Players that decided since the match of a slot began, by the lane for which they did."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.playing: Member | None = None
        self.deciding: dict[tuple[str, int, int], set[str]] = {}
        self.checked = 0
        self._play, self._act, self._credit = Member.play, LaneActor.act, Member.credit
        watch = self

        def play(member: Member, progress: float, evaluate: Callable[[], None] | None) -> Round:
            watch.playing = member
            return watch._play(member, progress, evaluate)

        def act(actor: LaneActor, batch: ActInput) -> Decision:
            watch.decided(actor, batch)
            return watch._act(actor, batch)

        def credit(member: Member, results: Sequence[MatchResult]) -> tuple[int, float]:
            for result in results:
                watch.check(member, result)
            return watch._credit(member, results)

        patch.setattr(Member, "play", play)
        patch.setattr(LaneActor, "act", act)
        patch.setattr(Member, "credit", credit)

    def decided(self, actor: LaneActor, batch: ActInput) -> None:
        member = self.playing
        assert member is not None
        rows = iter(zip(batch.rows.tolist(), batch.is_first.tolist(), strict=True))
        for lane, count in batch.policies:
            name = member.state.lanes[lane].partition(":")[0]
            for _ in range(count):
                row, first = next(rows)
                key = member.name, row // member.components.spec.seats, lane
                players = set() if first else self.deciding.get(key, set())
                self.deciding[key] = players | {f"{name}:{actor.lanes[lane].version}"}

    def check(self, member: Member, result: MatchResult) -> None:
        orders = {order.number: order for order in member.book.orders()}
        teams = member.seating.teams_of_seats(result.plan_of_seat)
        for seat, player in enumerate(result.players):
            credited = orders[result.tag - 1].players[teams[seat]]
            if not player.startswith("policy:"):
                assert player == credited  # a bot
            elif player == "policy:0":
                assert credited == member.name
            elif ":" in credited:
                lane = int(player.removeprefix("policy:"))
                assert member.state.lanes[lane] == credited
                self.checked += 1


@pytest.mark.parametrize("lag", ["sync", "pipelined"])
def test_results_belong_to_who_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lag: str) -> None:
    watch = Watch(monkeypatch)
    text = LEAGUE.format(game="tic_tac_toe", lag=lag, steps=2500)
    start_run(parse_preset(text.encode(), "league").preset, tmp_path / "run")
    assert watch.checked > 100
    assert [key for key, players in watch.deciding.items() if len(players) > 1] == []

"""Every result belongs to the players that played all of it: each decision is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ludus.flow import MatchResult
from ludus.flow.lineups import teams_of_seats
from ludus.league.league_matchmaker import LeagueMatchmaker
from ludus.presets.file import parse_preset
from ludus.rollouts.actor import ActInput, Decision
from ludus.rollouts.lane_actor import LaneActor
from ludus.training.actor_learner.sync_loop import Round
from ludus.training.league.member import LeagueMember
from ludus.training.runs import start_run
from tests.unit.training.league.test_league_runs import LEAGUE


class Watch:
    """Players that decided since the match of a slot started, by the lane for which they did."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.playing: LeagueMember | None = None
        self.deciding: dict[tuple[str, int, int], set[str]] = {}
        self.checked = 0
        self._play, self._act, self._results = LeagueMember.play, LaneActor.act, LeagueMatchmaker.on_results
        watch = self

        def play(member: LeagueMember, progress: float, evaluate: Callable[[], None] | None) -> Round:
            watch.playing = member
            return watch._play(member, progress, evaluate)

        def act(actor: LaneActor, batch: ActInput) -> Decision:
            watch.decided(actor, batch)
            return watch._act(actor, batch)

        def on_results(matchmaker: LeagueMatchmaker, results: Sequence[MatchResult]) -> None:
            assert watch.playing is not None
            assert watch.playing.matchmaker is matchmaker
            for result in results:
                watch.check(watch.playing, result)
            watch._results(matchmaker, results)

        patch.setattr(LeagueMember, "play", play)
        patch.setattr(LaneActor, "act", act)
        patch.setattr(LeagueMatchmaker, "on_results", on_results)

    def decided(self, actor: LaneActor, batch: ActInput) -> None:
        member = self.playing
        assert member is not None
        rows = iter(zip(batch.rows.tolist(), batch.is_first.tolist(), strict=True))
        for lane, count in batch.policies:
            name = member.components.sampler.state.bound[lane].partition(":")[0]
            for _ in range(count):
                row, first = next(rows)
                key = member.name, row // member.components.spec.seats, lane
                players = set() if first else self.deciding.get(key, set())
                self.deciding[key] = players | {f"{name}:{actor.lanes[lane].version}"}

    def check(self, member: LeagueMember, result: MatchResult) -> None:
        orders = {order.number: order for order in member.matchmaker.book.orders()}
        teams = teams_of_seats(member.components.spec, result.plan_of_seat)
        for seat, player in enumerate(result.players):
            player_of_order = orders[result.tag - 1].players[teams[seat]]
            if not player.startswith("policy:"):
                assert player == player_of_order  # a bot
            elif player == "policy:0":
                assert player_of_order == member.name
            elif ":" in player_of_order:
                lane = int(player.removeprefix("policy:"))
                assert member.components.sampler.state.bound[lane] == player_of_order
                self.checked += 1


@pytest.mark.parametrize("lag", ["sync", pytest.param("pipelined", marks=pytest.mark.slow)])
def test_results_belong_to_who_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lag: str) -> None:
    watch = Watch(monkeypatch)
    text = LEAGUE.format(game="tic_tac_toe", lag=lag, steps=2500)
    start_run(parse_preset(text.encode(), "league").preset, tmp_path / "run")
    assert watch.checked > 100
    assert [key for key, players in watch.deciding.items() if len(players) > 1] == []

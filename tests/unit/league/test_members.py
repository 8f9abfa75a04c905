"""Freezes, the weights that members continue from, and populations: values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.league import config as cfg
from ludus.league import origin, populations
from ludus.league.events import (
    Copied,
    Copy,
    Freeze,
    Frozen,
    Ignored,
    Joined,
    Mutate,
    Reset,
    ResetTo,
    Retired,
    Withdrawn,
)
from ludus.league.standings import RandomStream
from tests.unit.league.play import EXPLOITER, MAIN, Play

# --- freezes, and weights to continue from --------------------------------------------------------


def test_members_are_frozen_after_a_period_or_a_number_of_updates() -> None:
    play = Play(
        cfg.PlayerConfig("a", "fsp", freeze=cfg.Period(steps=100)), cfg.PlayerConfig("b", "openai_five")
    )
    assert play.result("a", steps=99, version=1) == []
    assert play.result("a", steps=100, version=2) == [Freeze("a", 2, "period")]
    assert play.result("a", steps=120, version=3) == [Freeze("a", 2, "period")]  # until it is done
    play.freeze("a", 2)
    assert play.result("b", updates=9, version=9) == []
    assert play.result("b", updates=10, version=10) == [Freeze("b", 10, "updates")]
    assert play.result("a", steps=219, version=5) == []  # counted from the freeze at 120
    assert play.result("a", steps=220, version=6) == [Freeze("a", 6, "period")]


def test_freezing_once_everyone_is_beaten() -> None:
    rule = cfg.Beats(rate=0.7, min_steps=100, max_steps=300)
    play = Play(cfg.PlayerConfig("a", "main", freeze=rule))
    play.freeze("a", 1)
    play.result("a", "a:1", 60, 40, steps=99, version=2)
    assert play.result("a", "a:1", 900, 0, steps=99, version=2) == []  # not before min_steps
    assert play.result("a", steps=100, version=3) == [Freeze("a", 3, "beats")]
    play.freeze("a", 3)  # never met: a rate of 1/2 by the prior, so not beaten
    assert play.result("a", steps=250, version=4) == []
    assert play.result("a", steps=400, version=5) == [Freeze("a", 5, "timeout")]


def test_everyone_is_met_often_enough_before_it_counts_as_beaten() -> None:
    rule = cfg.Beats(rate=0.6, min_steps=10, max_steps=0, matches=20)
    play = Play(cfg.PlayerConfig("a", "main", freeze=rule))
    play.freeze("a", 1, 2)
    play.result("a", "a:1", 30, 0, steps=20, version=3)
    assert play.result("a", "a:2", 19, 0, steps=30, version=4) == []  # 19 matches of 20
    assert play.result("a", "a:2", 1, 0, steps=40, version=5) == [Freeze("a", 5, "beats")]


def test_a_frozen_player_starts_with_the_elo_of_its_member() -> None:
    play = Play(MAIN, elo_k=10.0)
    play.result("main", "simple", 30, 0)
    elo = play.league.standings.players[0].elo
    assert elo > 50.0
    play.freeze("main", 7)
    frozen = play.league.standings.find("main:7")
    assert frozen is not None
    assert play.league.standings.players[frozen].elo == elo


def test_the_lineage_of_a_copy_continues_from_the_parent_of_its_source() -> None:
    play = Play(cfg.PlayerConfig("p0", "population"), cfg.PlayerConfig("p1", "population"))
    play.freeze("p0", 5)
    play.freeze("p1", 6)
    play.league.apply(Copied("p1", "p0", {}))
    play.freeze("p1", 9)
    copied = play.league.standings.find("p1:9")
    assert copied is not None
    assert play.league.standings.players[copied].parent == "p0:5"


def test_the_bounds_of_a_period_are_not_inherited() -> None:
    play = Play(
        MAIN,
        cfg.PlayerConfig(
            "ex", "main_exploiter", freeze=cfg.Beats(min_steps=100, max_steps=200, against=("mains",))
        ),
    )
    assert play.result("ex", steps=200, version=7) == [Freeze("ex", 7, "timeout")]
    play.league.apply(Frozen("ex", 7, "timeout"))
    play.league.apply(Reset("ex", "seed"))
    assert play.result("ex", steps=399, version=8) == []
    assert play.result("ex", steps=400, version=9) == [Freeze("ex", 9, "timeout")]


@pytest.mark.parametrize(("probability", "low", "high"), [(1.0, 200, 200), (0.25, 30, 70), (0.0, 0, 0)])
def test_back_to_the_seed_with_a_probability(probability: float, low: int, high: int) -> None:
    # A probability of 0 is not "no probability" (TLeague: coin_toss or random()).
    rule = cfg.Seed(probability=probability)
    play = Play(MAIN, cfg.PlayerConfig("ex", "league_exploiter", origin=rule))
    resets = 0
    for version in range(1, 201):
        for effect in play.league.apply(Frozen("ex", version, "beats")):
            resets += effect == ResetTo("ex", "seed")
            play.league.apply(Reset("ex", "seed"))
    assert low <= resets <= high


def test_after_a_reset_old_matches_do_not_count() -> None:
    play = Play(MAIN, EXPLOITER)
    play.result("ex", "main", 90, 8)
    play.freeze("ex", 5)
    assert play.effects == [ResetTo("ex", "seed")]
    assert play.league.pending() == [ResetTo("ex", "seed")]
    play.league.apply(Reset("ex", "seed"))
    assert play.league.pending() == []
    payoff, find = play.league.standings.payoff, play.league.standings.find
    ex, main, frozen = find("ex"), find("main"), find("ex:5")
    assert ex is not None
    assert main is not None
    assert frozen is not None
    assert payoff.rate(ex, main) == 0.5
    assert payoff.rate(frozen, main) == pytest.approx(0.91)  # its prior


def sources(rule: cfg.AnyOrigin, reason: str = "timeout") -> str:
    """Reset an exploiter whose copies a main beats at rates of .2, .6 and .9."""
    play = Play(MAIN, EXPLOITER)
    play.freeze("ex", 1, 2, 3)
    for version, wins in ((1, 1), (2, 5), (3, 8)):
        play.result("main", f"ex:{version}", wins, 8 - wins)
    standings = play.league.standings
    return origin.source(rule, reason, standings.members["ex"], standings, RandomStream(1, 2))  # type: ignore[arg-type]


def test_each_origin_names_its_source() -> None:
    assert sources(cfg.Itself()) == "itself"
    assert sources(cfg.Best()) == "ex:1"
    assert sources(cfg.Best(only_after_timeout=True), "beats") == "itself"
    assert sources(cfg.Nearest()) == "ex:2"  # the only one in .5 to .8
    assert sources(cfg.Nearest(low=0.65, high=0.8)) == "seed"
    assert sources(cfg.Nearest(low=0.1, high=0.95, to=0.85)) == "ex:3"
    assert sources(cfg.Meta()) in ("ex:1", "ex:2", "ex:3")
    assert sources(cfg.Meta(solver="uniform")) in ("ex:1", "ex:2", "ex:3")


def test_a_cycle_passes_through_its_leaves() -> None:
    play = Play(MAIN, cfg.PlayerConfig("ex", "cyclic_exploiter", origin=cfg.Cycle(leaves=2)))
    found = []
    for version in range(1, 6):
        play.freeze("ex", version)
        reset = play.effects[0]
        assert isinstance(reset, ResetTo)
        found.append(reset.source)
        play.league.apply(Reset("ex", reset.source))
    # A second leaf from the seed; then always the leaf that waited longest.
    assert found == ["seed", "ex:1", "ex:2", "ex:3", "ex:4"]


def test_a_member_whose_source_retires_is_reset_to_the_seed() -> None:
    play = Play(MAIN, cfg.PlayerConfig("ex", "evolutionary_exploiter", origin=cfg.Best()))
    play.freeze("ex", 1)
    assert play.league.pending() == [ResetTo("ex", "ex:1")]
    play.league.apply(Retired("ex:1"))
    assert play.league.pending() == [ResetTo("ex", "seed")]


def test_the_member_furthest_behind_its_share_plays() -> None:
    play = Play(cfg.PlayerConfig("a", "fsp", share=2.0), cfg.PlayerConfig("b", "fsp"))
    turns = []
    steps = {"a": 0, "b": 0}
    for _ in range(9):
        name = play.league.next_member()
        turns.append(name)
        steps[name] += 10
        play.result(name, steps=steps[name])
    assert "".join(turns) == "abaabaaba"


def test_rounds_whose_results_are_to_come_count_with_the_mean_of_the_member() -> None:
    play = Play(cfg.PlayerConfig("a", "fsp", share=2.0), cfg.PlayerConfig("b", "fsp"))

    def chosen(rounds: int) -> str:
        scheduled: list[str] = []
        for _ in range(rounds):
            scheduled.append(play.league.next_member(scheduled, decisions=10))
        return "".join(scheduled)

    assert chosen(6) == "abaaba"
    play.result("a", steps=30)
    play.result("b", steps=10)
    assert chosen(6) == "bababb"  # 15 and 10 of their shares; a round of a adds 15, one of b 10
    assert play.league.next_member() == "b"


# --- populations ---------------------------------------------------------------------------------

TUNE = {"algorithm.x": cfg.Tune(low=0.1, high=10.0)}


def population(rule: cfg.AnyPopulation, count: int = 4) -> Play:
    players = [cfg.PlayerConfig(f"p{k}", "population", tune=TUNE) for k in range(count)]
    return Play(*players, population=rule)


def test_sample_factory_by_return() -> None:
    play = population(cfg.SampleFactory(every=10, fitness="return", mutation=1.0, to_default=0.0))
    for k, mean in enumerate((2.0, 10.0, 5.0, 1.0)):
        assert play.result(f"p{k}", steps=5, episodes=10, returns=10 * mean) == []
    assert play.result("p1", steps=10) == []  # among the best two of four (30%, rounded up)
    (worst,) = play.result("p3", steps=10)
    assert isinstance(worst, Copy)
    assert worst.source in ("p1", "p2")
    changed = worst.hyper["algorithm.x"]
    assert 1.1 <= max(changed, 1 / changed) <= 1.5
    assert play.result("p0", steps=10) == [Copy("p0", play.league.pending()[0].source, {"algorithm.x": 1.0})]  # type: ignore[union-attr]
    play.league.apply(Copied("p3", "p1", {"algorithm.x": 2.0}))
    member = play.league.standings.members["p3"]
    assert (member.hyper, member.mean_return()) == ({"algorithm.x": 2.0}, None)
    assert play.result("p3", steps=15) == []  # looked at again 10 steps later only


def test_sample_factory_by_win_rate() -> None:
    play = population(cfg.SampleFactory(every=10, mutation=1.0, to_default=0.0), 3)
    play.result("p1", "p2", 98, 0)
    play.result("p1", "p0", 58, 40)
    play.result("p0", "p2", 98, 0)
    (copy,) = play.result("p2", steps=10)  # far below half of the best
    assert isinstance(copy, Copy)
    assert copy.source == "p1"
    play = population(cfg.SampleFactory(every=10, mutation=1.0, to_default=0.0), 3)
    play.result("p1", "p2", 58, 40)  # rates .59 and .41 with the prior: the best leads, but not twice
    play.result("p1", "p0", 58, 40)
    play.result("p0", "p2", 58, 40)
    (change,) = play.result("p2", steps=10)
    assert isinstance(change, Mutate)


def test_the_elo_rule_of_ftw_and_tleague() -> None:
    for rule, low, high in (
        (cfg.Ftw(every=10, mutation=1.0), 0.8, 1.2),
        (cfg.TLeague(every=10, mutation=1.0), 0.8, 1.2),
    ):
        play = population(rule, 2)
        elos = play.league.standings.players
        elos[0].elo, elos[1].elo = 0.0, 140.0  # expected .309
        assert play.result("p0", steps=10) == []
        elos[1].elo = 160.0  # expected .285 < .3
        (copy,) = play.result("p0", steps=20)
        assert isinstance(copy, Copy)
        changed = copy.hyper["algorithm.x"]
        assert changed in (low, high) if isinstance(rule, cfg.Ftw) else low <= changed <= high
        play.league.apply(Copied("p0", "p1", copy.hyper))
        assert elos[0].elo == 160.0
        assert play.result("p1", steps=10) == []


def test_a_population_copies_a_member_that_beats_others() -> None:
    play = population(cfg.Diversity(every=10), 3)
    play.result("p0", "p1", 98, 0)
    play.result("p1", "p2", 98, 0)
    play.result("p0", "p2", 49, 49)
    (copy,) = play.result("p2", steps=10)  # it beats no one
    assert isinstance(copy, Copy)
    assert copy.source in ("p0", "p1")
    assert play.result("p0", steps=10) == []


def test_mutations_keep_their_bounds() -> None:
    tunes = {
        "a": cfg.Tune(low=0.5, high=1.2),
        "b": cfg.Tune(choices=(1.0, 2.0, 4.0)),
        "c": cfg.Tune(low=1e-4, high=1e-1, how="resample"),
        "d": cfg.Tune(low=0.9, high=0.999, how="complement", step=0.2),
        "e": cfg.Tune(low=1, high=8, integer=True),
    }
    hyper = {"a": 1.0, "b": 2.0, "c": 1e-2, "d": 0.99, "e": 4.0, "fixed": 3.0}
    seen = []
    for number in range(300):
        hyper = populations.mutated(
            hyper, tunes, RandomStream(5, number), 1.0, lambda s, t: 1.5 if s.uniform() < 0.5 else 0.6
        )
        seen.append(hyper)
    assert all(0.5 <= h["a"] <= 1.2 and h["b"] in (1.0, 2.0, 4.0) and h["fixed"] == 3.0 for h in seen)
    assert all(1e-4 <= h["c"] <= 1e-1 and 0.9 <= h["d"] <= 0.999 and h["e"] in range(1, 9) for h in seen)
    assert {h["b"] for h in seen} == {1.0, 2.0, 4.0}
    assert len({h["e"] for h in seen}) > 3
    assert np.median(np.log10([h["c"] for h in seen])) == pytest.approx(-2.5, abs=0.3)
    unchanged = populations.mutated(hyper, tunes, RandomStream(1), 0.0, lambda s, t: 2.0)
    assert unchanged == hyper


@pytest.mark.parametrize(("factor", "discount"), [(2.0, 0.98), (0.5, 0.995)])
def test_the_distance_of_a_discount_from_one_is_multiplied(factor: float, discount: float) -> None:
    tunes = {"g": cfg.Tune(low=0.5, high=0.9999, how="complement")}
    assert populations.mutated({"g": 0.99}, tunes, RandomStream(3), 1.0, lambda s, t: factor) == {
        "g": pytest.approx(discount)
    }


def test_tuned_settings_of_the_members_own_rules() -> None:
    tune = {"freeze.steps": cfg.Tune(low=10, high=1000), "meet.elo.sigma": cfg.Tune(low=0.01, high=1.0)}
    players = [
        cfg.PlayerConfig(f"p{k}", "population", freeze=cfg.Period(steps=100), tune=tune) for k in range(2)
    ]
    play = Play(*players, population=cfg.Ftw())
    joined = play.league.initial_events()[0]
    assert isinstance(joined, Joined)
    assert joined.hyper == {"freeze.steps": 100.0, "meet.elo.sigma": pytest.approx(1 / 6)}
    play.league.standings.members["p0"].hyper["freeze.steps"] = 20.0
    assert play.result("p0", steps=20, version=1) == [Freeze("p0", 1, "period")]


# --- members that are withdrawn -------------------------------------------------------------------


def test_a_withdrawn_member_plays_no_more_and_is_met_in_the_past_alone() -> None:
    rules = (cfg.Elo(weight=1.0), cfg.NamedMember(weight=1.0, name="b"), cfg.Fsp(weight=1.0))
    play = Play(*(cfg.PlayerConfig(name, "population", meet=rules) for name in "abc"))
    play.freeze("b", 1)
    assert {"b", "b:1", "c"} <= play.met("a").keys()
    assert play.league.apply(Withdrawn("b", "its game failed")) == []
    assert play.met("a").keys() == {"b:1", "c"}
    for _ in range(4):
        name = play.league.next_member()
        assert name in ("a", "c")
        play.result(name, steps=100 * (1 + play.round[name]))
    play.result("a", "b", 3, 0)  # matches that had started
    assert play.league.standings.payoff.total() == 0
    assert play.result("b", steps=10) == [Ignored("withdrawn member: b")]
    assert play.league.apply(Withdrawn("b", "again")) == [Ignored("withdrawn member: b")]
    assert play.league.standings.members["b"].withdrawn == "its game failed"


def test_a_withdrawn_main_leaves_exploiters_to_the_other_main() -> None:
    play = Play(MAIN, cfg.PlayerConfig("second", "main", meet=(cfg.Latest(),)), EXPLOITER)
    play.league.apply(Withdrawn("main", "its game failed"))
    assert play.met("ex") == {"second": 1.0}


def test_nobody_copies_a_withdrawn_member() -> None:
    rule = cfg.Ftw(every=100, below=0.9)
    play = Play(*(cfg.PlayerConfig(name, "population") for name in "ab"), population=rule)
    assert play.result("a", "b", 0, 40, steps=100) == [Copy("a", "b", {})]
    play.league.apply(Withdrawn("b", "its game failed"))
    assert play.league.pending() == []
    assert play.result("a", steps=200) == []


def test_a_league_without_members_has_no_next_one() -> None:
    play = Play(MAIN)
    play.league.apply(Withdrawn("main", ""))
    with pytest.raises(ValueError, match="empty"):
        play.league.next_member()

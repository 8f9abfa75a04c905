"""Every rule against values worked out by hand from the formulas of the papers."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from ludus.flow.league import Tally
from ludus.league import config as cfg
from ludus.league import matchmaking, origin, populations
from ludus.league.events import (
    Copied,
    Copy,
    Freeze,
    Frozen,
    GoOn,
    Joined,
    Mutate,
    Ordered,
    Reset,
    Results,
    Retired,
)
from ludus.league.league import League
from ludus.league.orders import OrderBook
from ludus.league.payoff import Payoff
from ludus.league.standings import Stream

X = np.array([0.0, 0.2, 0.5, 0.9, 1.0])


@pytest.mark.parametrize(
    ("weighting", "weights"),
    [
        ("squared", [1.0, 0.64, 0.25, 0.01, 0.0]),
        ("linear", [1.0, 0.8, 0.5, 0.1, 0.0]),
        ("linear_capped", [0.5, 0.5, 0.5, 0.1, 0.0]),
        ("variance", [0.0, 0.16, 0.25, 0.09, 0.0]),
        ("variance_floor", [0.09, 0.16, 0.25, 0.09, 0.0]),
    ],
)
def test_weightings(weighting: str, weights: list[float]) -> None:
    expected = np.array(weights) / np.sum(weights)
    np.testing.assert_allclose(matchmaking.prioritised(X, weighting, 0.1), expected)


def test_where_all_weights_vanish_all_are_alike() -> None:
    np.testing.assert_allclose(matchmaking.prioritised(np.ones(4), "squared"), 0.25)
    assert len(matchmaking.prioritised(np.zeros(0), "squared")) == 0


@pytest.mark.parametrize(
    ("rates", "left"),
    [([], 0), ([0.4], 0), ([0.9, 0.8, 0.7], 0), ([0.5, 0.9, 0.7], 2), ([0.9, 0.5, 0.6], 3), ([0.5, 0.5], 0)],
)
def test_monotonic_suffix(rates: list[float], left: int) -> None:
    assert matchmaking.without_monotonic_suffix(np.array(rates)) == left


# --- payoff --------------------------------------------------------------------------------------


def test_rates_are_beta_means() -> None:
    payoff = Payoff()
    a, b = payoff.add(False), payoff.add(False)
    assert payoff.rate(a, b) == 0.5
    payoff.record(a, b, 5, 2, 1)
    assert payoff.rate(a, b) == pytest.approx((5 + 1 + 1) / 10)
    assert payoff.rate(b, a) == pytest.approx((1 + 1 + 1) / 10)
    assert payoff.score(a, b) == (5, 2, 1)
    assert payoff.score(b, a) == (1, 2, 5)
    low, high = payoff.intervals(a, np.array([b]))
    half = 1.959964 * math.sqrt(0.7 * 0.3 / 11)
    assert (low[0], high[0]) == pytest.approx((0.7 - half, min(0.7 + half, 1.0)), abs=1e-5)


def test_the_decayed_copy_is_that_of_one_match_after_another() -> None:
    """Both cells decay before each match (TLeague): a batch of equal outcomes is the same as one by one."""
    at_once, singly = Payoff(0.9), Payoff(0.9)
    for payoff in (at_once, singly):
        payoff.add(True)
        payoff.add(False)
    at_once.record(0, 1, 10, 0, 0)
    at_once.record(0, 1, 0, 0, 3)
    for _ in range(10):
        singly.record(0, 1, 1, 0, 0)
    for _ in range(3):
        singly.record(0, 1, 0, 0, 1)
    assert at_once.rate(0, 1) == pytest.approx(singly.rate(0, 1))
    wins = sum(0.9**k for k in range(3, 13))
    losses = sum(0.9**k for k in range(3))
    assert at_once.rate(0, 1) == pytest.approx((wins + 1) / (wins + losses + 2))
    assert at_once.score(0, 1) == (10, 0, 3)  # integers do not decay


def test_a_parents_row_is_a_prior_and_no_matches() -> None:
    payoff = Payoff(1.0)
    parent, rival = payoff.add(True), payoff.add(False)
    payoff.record(parent, rival, 90, 0, 8)  # (90 + 1) / 100
    child = payoff.add(False, parent)
    assert payoff.rate(child, rival) == pytest.approx(0.91)
    assert payoff.rate(rival, child) == pytest.approx(0.09)
    assert payoff.matches(child, np.array([rival]))[0] == 0
    assert payoff.rate(child, parent) == 0.5
    payoff.record(child, rival, 0, 0, 10)  # ten matches outweigh a prior that counts for ten
    assert payoff.rate(child, rival) == pytest.approx(9.1 / 20)
    assert payoff.total() == 108


def test_a_player_that_changed_keeps_no_matches() -> None:
    payoff = Payoff()
    live, other = payoff.add(True), payoff.add(False)
    payoff.record(live, other, 30, 4, 1)
    payoff.clear(live)
    assert payoff.score(live, other) == (0, 0, 0)
    assert payoff.rate(live, other) == 0.5
    assert payoff.total() == 35


# --- whom to meet --------------------------------------------------------------------------------


class Play:
    """A league in a state that a test sets up."""

    def __init__(self, *players: cfg.PlayerConfig, **league: object) -> None:
        config = cfg.LeagueConfig(players, freeze_first=False, decay=1.0, **league)  # type: ignore[arg-type]
        self.league = League(config, 7, {"algorithm.x": 1.0})
        self.round = dict.fromkeys((p.name for p in players), 0)
        self.effects: list[object] = []
        for event in self.league.founding(("simple",)):
            self.league.apply(event)

    def freeze(self, member: str, *versions: int) -> None:
        for version in versions:
            self.effects = [*self.league.apply(Frozen(member, version))]

    def result(
        self, member: str, opponent: str = "", wins: int = 0, losses: int = 0, **more: object
    ) -> list[object]:
        tag = str(more.pop("tag", "pfsp"))
        player = str(more.pop("player", member))
        tallies = (Tally(player, opponent, 0, tag, wins, 0, losses),) if opponent else ()
        number = self.round[member]
        self.round[member] += 1
        fields = {"steps": 0, "updates": 0, "version": 0, **more}
        return [*self.league.apply(Results(member, number, tallies=tallies, **fields))]  # type: ignore[arg-type]

    def shares(self, member: str, rule: cfg.MeetRule) -> dict[str, float]:
        me = self.league.standings.members[member]
        players, shares = matchmaking.distribution(rule, me, self.league.standings)
        found: dict[str, float] = {}
        for i, share in zip(players, shares, strict=True):
            name = self.league.standings.players[i].name
            found[name] = found.get(name, 0.0) + float(share)
        return {name: share for name, share in found.items() if share > 0}

    def met(self, member: str, count: int = 2000) -> dict[str, float]:
        drawn = self.league.draw(member, count)
        names = [order.players[1] for order in drawn]
        return {name: names.count(name) / count for name in sorted(set(names))}


MAIN = cfg.PlayerConfig("main", "main", meet=(cfg.Latest(),), freeze=cfg.Never())
EXPLOITER = cfg.PlayerConfig("ex", "main_exploiter")


def league_of_three() -> Play:
    play = Play(MAIN, EXPLOITER)
    play.freeze("main", 1, 2)
    play.freeze("ex", 1)
    play.result("main", "main:1", 7, 1)  # (7 + 1) / 10
    play.result("main", "main:2", 3, 5)  # (3 + 1) / 10
    play.result("main", "ex:1", 1, 7)  # (1 + 1) / 10
    return play


def test_pfsp_fsp_and_uniform() -> None:
    play = league_of_three()
    total = 0.04 + 0.36 + 0.64
    pfsp = {"main:1": 0.04 / total, "main:2": 0.36 / total, "ex:1": 0.64 / total}
    assert play.shares("main", cfg.Pfsp()) == pytest.approx(pfsp)
    assert play.shares("main", cfg.Pfsp(among=("mains",))) == pytest.approx({"main:1": 0.1, "main:2": 0.9})
    assert play.shares("main", cfg.Pfsp(among=("exploiters",))) == {"ex:1": 1.0}
    assert play.shares("main", cfg.Fsp(among=("ex", "main"))) == pytest.approx(dict.fromkeys(pfsp, 1 / 3))
    assert play.shares("main", cfg.Fsp(among=("simple",))) == {"simple": 1.0}
    assert play.shares("main", cfg.Uniform(last=2)) == pytest.approx({"ex:1": 0.5, "main": 0.5})
    assert play.shares("main", cfg.Uniform(last=2, self_too=False)) == pytest.approx(
        {"main:2": 0.5, "ex:1": 0.5}
    )
    assert play.shares("main", cfg.Psro(solver="uniform")) == pytest.approx(dict.fromkeys(pfsp, 1 / 3))


def test_named_players() -> None:
    play = league_of_three()
    assert play.shares("main", cfg.Latest()) == {"main": 1.0}
    assert play.shares("main", cfg.Member(name="ex")) == {"ex": 1.0}
    assert play.shares("main", cfg.Player(name="main:1")) == {"main:1": 1.0}
    assert play.shares("main", cfg.Bot(name="simple")) == {"simple": 1.0}
    assert play.shares("main", cfg.Player(name="main:9")) == {}
    play.league.apply(Retired("main:1"))
    assert play.shares("main", cfg.Player(name="main:1")) == {}


def test_the_main_or_its_past() -> None:
    play = league_of_three()
    assert play.shares("main", cfg.Main()) == {"main": 1.0}  # against itself 1/2
    assert play.shares("ex", cfg.Main(above=0.1)) == {"main": 1.0}
    play.result("ex", "main", 0, 58)  # with the prior (0 + 1) / 60
    play.result("ex", "main:1", 1, 7)  # .2, variance .16
    play.result("ex", "main:2", 4, 4)  # .5, variance .25
    expected = {"main:1": 0.16 / 0.41, "main:2": 0.25 / 0.41}
    assert play.shares("ex", cfg.Main(above=0.1)) == pytest.approx(expected)
    anyway = {"main": 0.15, **{name: 0.85 * share for name, share in expected.items()}}
    assert play.shares("ex", cfg.Main(above=0.1, anyway=0.15)) == pytest.approx(anyway)


def test_an_exploiter_whose_main_has_no_past() -> None:
    """TLeague raised here and hid it."""
    play = Play(MAIN, EXPLOITER)
    play.result("ex", "main", 0, 58)
    assert play.shares("ex", cfg.Main(above=0.1)) == {"main": 1.0}
    assert play.met("ex", 10) == {"main": 1.0}


def test_verification() -> None:
    play = league_of_three()
    assert play.shares("main", cfg.Verification()) == {"ex:1": 1.0}  # beaten at a rate of .2 < .3
    play.result("main", "ex:1", 30, 0)
    # Rates of the past, oldest first: .8, .4: they fall all the way, so nothing was forgotten.
    assert play.shares("main", cfg.Verification()) == {}
    play.freeze("main", 3)
    play.result("main", "main:3", 7, 1)  # .8, .4, .8: main:2 was forgotten
    total = 0.04 + 0.36 + 0.04
    expected = {"main:1": 0.04 / total, "main:2": 0.36 / total, "main:3": 0.04 / total}
    assert play.shares("main", cfg.Verification()) == pytest.approx(expected)
    assert play.shares("main", cfg.Verification(forgotten=0.35)) == {}


def test_a_rule_that_finds_nobody_leaves_its_matches_to_the_next() -> None:
    meet = (cfg.Pfsp(weight=0.5), cfg.Verification(weight=0.15), cfg.Main(weight=0.35))
    play = Play(cfg.PlayerConfig("main", "main", meet=meet, freeze=cfg.Never()), EXPLOITER)
    assert play.met("main", 50) == {"main": 1.0}  # nobody is frozen yet
    play.freeze("main", 1)
    met = play.met("main", 6000)  # nothing to verify: .5 PFSP, .5 itself
    assert met["main:1"] == pytest.approx(0.5, abs=0.03)
    assert met["main"] == pytest.approx(0.5, abs=0.03)
    nobody = Play(
        cfg.PlayerConfig("a", "main", meet=(cfg.Fsp(),)),
        cfg.PlayerConfig("e", "main_exploiter", meet=(cfg.Fsp(),)),
    )
    assert nobody.met("e", 5) == {"a": 1.0}
    assert nobody.met("a", 5) == {"a": 1.0}


def test_openai_fives_quality() -> None:
    play = Play(cfg.PlayerConfig("main", "openai_five"))
    play.freeze("main", 10)
    play.freeze("main", 20)
    assert play.shares("main", cfg.Quality()) == pytest.approx({"main:10": 0.5, "main:20": 0.5})
    play.result("main", "main:10", 2, 5, tag="quality")
    # q = -0.01 / (2 * 0.5) = -0.01, then -0.01 / (2 p) more with p = softmax(q); losses change nothing.
    p = math.exp(-0.01) / (1 + math.exp(-0.01))
    q = -0.01 - 0.01 / (2 * p)
    member = play.league.standings.members["main"]
    assert [*member.quality.values()] == pytest.approx([q, 0.0])
    share = math.exp(q) / (1 + math.exp(q))
    assert play.shares("main", cfg.Quality())["main:10"] == pytest.approx(share)
    play.result("main", "main:20", 50, 0, tag="pfsp")  # drawn by another rule
    assert [*member.quality.values()] == pytest.approx([q, 0.0])
    play.result("main", "main:20", 3, 0, tag="quality")
    play.freeze("main", 30)
    assert [*member.quality.values()][2] == max([*member.quality.values()][:2])
    met = play.met("main", 4000)
    assert met["main"] == pytest.approx(0.8, abs=0.03)


def test_elo_meets_those_of_its_strength() -> None:
    players = [cfg.PlayerConfig(f"p{k}", "population") for k in range(3)]
    play = Play(*players, elo_k=1.0)
    play.result("p0", "p1", 1, 0)  # K (1 - 1/2) = 1/2 each way
    elos = [p.elo for p in play.league.standings.players[:3]]
    assert elos == pytest.approx([0.5, -0.5, 0.0])
    play.league.standings.players[1].elo = -400.0 + 0.5
    rate = 10 / 11
    expected = math.exp(-0.5 * ((rate - 0.5) / (1 / 6)) ** 2)
    rate0 = 1 / (1 + 10 ** (-0.5 / 400))
    near = math.exp(-0.5 * ((rate0 - 0.5) / (1 / 6)) ** 2)
    shares = play.shares("p0", cfg.Elo())
    assert shares["p1"] / shares["p2"] == pytest.approx(expected / near)
    assert "p0" not in shares


def test_psro_draws_from_the_nash_mixture() -> None:
    play = Play(cfg.PlayerConfig("main", "psro", freeze=cfg.Never()))
    play.freeze("main", 1, 2, 3)
    for a, b in ((1, 2), (2, 3), (3, 1)):  # rock, paper, scissors
        play.result("main", f"main:{b}", 80, 20, player=f"main:{a}", tag="rating")
    play.freeze("main", 4)
    play.result("main", "main:4", 100, 0, player="main:1", tag="rating")
    play.freeze("main", 5)  # the mixture is made anew at a freeze
    play.league.apply(Retired("main:5"))
    shares = play.shares("main", cfg.Psro())
    assert all(name.startswith("main:") for name in shares)
    assert shares.get("main:4", 0.0) < 0.05
    assert "main:5" not in shares


def test_each_seat_draws_on_its_own() -> None:
    """TLeague gave all seats one opponent, where its paper says seven."""
    play = Play(cfg.PlayerConfig("main", "fsp", freeze=cfg.Never()))
    play.freeze("main", *range(1, 30))
    orders = play.league.draw("main", 50, teams=8)
    assert all(len(order.players) == 8 and order.players[0] == "main" for order in orders)
    assert np.mean([len(set(order.players[1:])) for order in orders]) > 5


def test_orders_are_a_function_of_seed_and_number() -> None:
    play = league_of_three()
    first = play.league.draw("main", 10)
    assert play.league.draw("main", 10) == first
    play.league.apply(Ordered("main", 4))
    assert play.league.draw("main", 6) == first[4:]


def test_a_share_of_matches_goes_to_the_least_played_frozen_pairs() -> None:
    play = Play(MAIN, EXPLOITER, rating_share=0.3)
    play.freeze("main", 1, 2, 3)
    play.result("main", "main:2", 500, 500, player="main:1", tag="rating")
    orders = play.league.draw("main", 3000)
    rated = [o for o in orders if o.tags == ("rating",)]
    assert len(rated) / 3000 == pytest.approx(0.3, abs=0.03)
    pairs = [frozenset(o.players) for o in rated]
    assert all(len(pair) == 2 and not pair & {"main", "ex"} for pair in pairs)
    assert frozenset(("main:1", "main:2")) not in pairs
    assert frozenset(("main:3", "simple")) in pairs  # bots are anchors


def test_matches_are_credited_to_those_who_played_them() -> None:
    play = league_of_three()
    orders = play.league.draw("ex", 50, teams=3)
    book = OrderBook(orders[:2])
    book.credit(0, (-1.0, 1.0, -1.0), (2, 0, 1))  # the first team sat at seat 1 and won
    book.credit(1, (0.0, -1.0, 1.0), (0, 1, 2))
    book.credit(7, (1.0, -1.0, -1.0), (0, 1, 2))  # an order that is not in the book
    assert book.unknown == 1
    tallies = book.take()
    assert sum(t.wins + t.draws + t.losses for t in tallies) == 4
    assert sum(t.wins for t in tallies) == 3
    assert {t.player for t in tallies} == {"ex"}
    assert {t.seat for t in tallies} == {0, 1}
    assert book.take() == ()
    book.keep({1})
    assert [o.number for o in book.orders()] == [1]


def test_results_of_others_are_not_the_members() -> None:
    play = league_of_three()
    before = play.league.standings.payoff.total()
    play.result("main", "main:1", 5, 0, player="ex")
    play.result("main", "main", 5, 0, player="main:1", tag="rating")
    assert play.league.standings.payoff.total() == before
    assert play.league.ignored == {"not the member's match": 1, "not a pair of frozen players": 1}


def test_a_draw_among_2000_takes_no_time() -> None:
    """TLeague: 33 ms. Bound loose: this machine may be busy."""
    play = Play(cfg.PlayerConfig("main", "pfsp", freeze=cfg.Never()))
    for version in range(1, 2001):
        play.league.apply(Frozen("main", version))
    play.league.draw("main", 1)
    best = math.inf
    for _ in range(5):
        play.league.apply(Ordered("main", 500))
        start = time.perf_counter()
        play.league.draw("main", 500)
        best = min(best, time.perf_counter() - start)
    assert best / 500 < 100e-6


# --- when to freeze, from what to go on ----------------------------------------------------------


def test_periods_and_updates() -> None:
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
    jumps = 0
    for version in range(1, 201):
        for effect in play.league.apply(Frozen("ex", version, "beats")):
            jumps += effect == GoOn("ex", "seed")
            play.league.apply(Reset("ex", "seed"))
    assert low <= jumps <= high


def test_after_a_reset_old_matches_do_not_count() -> None:
    play = Play(MAIN, EXPLOITER)
    play.result("ex", "main", 90, 8)
    play.freeze("ex", 5)
    assert play.effects == [GoOn("ex", "seed")]
    assert play.league.pending() == [GoOn("ex", "seed")]
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
    """Of an exploiter whose copies a main beats at rates of .2, .6 and .9."""
    play = Play(MAIN, EXPLOITER)
    play.freeze("ex", 1, 2, 3)
    for version, wins in ((1, 1), (2, 5), (3, 8)):
        play.result("main", f"ex:{version}", wins, 8 - wins)
    standings = play.league.standings
    return origin.source(rule, reason, standings.members["ex"], standings, Stream(1, 2))  # type: ignore[arg-type]


def test_origins() -> None:
    assert sources(cfg.Itself()) == "itself"
    assert sources(cfg.Best()) == "ex:1"
    assert sources(cfg.Best(only_after_timeout=True), "beats") == "itself"
    assert sources(cfg.Nearest()) == "ex:2"  # the only one in .5 to .8
    assert sources(cfg.Nearest(low=0.65, high=0.8)) == "seed"
    assert sources(cfg.Nearest(low=0.1, high=0.95, to=0.85)) == "ex:3"
    assert sources(cfg.Meta()) in ("ex:1", "ex:2", "ex:3")
    assert sources(cfg.Meta(solver="uniform")) in ("ex:1", "ex:2", "ex:3")


def test_cycling_through_leaves() -> None:
    play = Play(MAIN, cfg.PlayerConfig("ex", "cyclic_exploiter", origin=cfg.Cycle(leaves=2)))
    found = []
    for version in range(1, 6):
        play.freeze("ex", version)
        jump = play.effects[0]
        assert isinstance(jump, GoOn)
        found.append(jump.source)
        play.league.apply(Reset("ex", jump.source))
    # A second leaf from the seed; then always the leaf that waited longest.
    assert found == ["seed", "ex:1", "ex:2", "ex:3", "ex:4"]


def test_a_frozen_file_that_is_gone_while_it_is_to_be_loaded() -> None:
    play = Play(MAIN, cfg.PlayerConfig("ex", "evolutionary_exploiter", origin=cfg.Best()))
    play.freeze("ex", 1)
    assert play.league.pending() == [GoOn("ex", "ex:1")]
    play.league.apply(Retired("ex:1"))
    assert play.league.pending() == [GoOn("ex", "seed")]


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
    play.result(
        "p1", "p2", 58, 40
    )  # rates .59 and .41 with those of the prior: the best leads, but not twice
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


def test_diversity() -> None:
    play = population(cfg.Diversity(every=10), 3)
    play.result("p0", "p1", 98, 0)
    play.result("p1", "p2", 98, 0)
    play.result("p0", "p2", 49, 49)
    (copy,) = play.result("p2", steps=10)  # it beats nobody
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
            hyper, tunes, Stream(5, number), 1.0, lambda s, t: 1.5 if s.uniform() < 0.5 else 0.6
        )
        seen.append(hyper)
    assert all(0.5 <= h["a"] <= 1.2 and h["b"] in (1.0, 2.0, 4.0) and h["fixed"] == 3.0 for h in seen)
    assert all(1e-4 <= h["c"] <= 1e-1 and 0.9 <= h["d"] <= 0.999 and h["e"] in range(1, 9) for h in seen)
    assert {h["b"] for h in seen} == {1.0, 2.0, 4.0}
    assert len({h["e"] for h in seen}) > 3
    assert np.median(np.log10([h["c"] for h in seen])) == pytest.approx(-2.5, abs=0.3)
    unchanged = populations.mutated(hyper, tunes, Stream(1), 0.0, lambda s, t: 2.0)
    assert unchanged == hyper


def test_tuned_settings_of_the_members_own_rules() -> None:
    tune = {"freeze.steps": cfg.Tune(low=10, high=1000), "meet.elo.sigma": cfg.Tune(low=0.01, high=1.0)}
    players = [
        cfg.PlayerConfig(f"p{k}", "population", freeze=cfg.Period(steps=100), tune=tune) for k in range(2)
    ]
    play = Play(*players, population=cfg.Ftw())
    joined = play.league.founding()[0]
    assert isinstance(joined, Joined)
    assert joined.hyper == {"freeze.steps": 100.0, "meet.elo.sigma": pytest.approx(1 / 6)}
    play.league.standings.members["p0"].hyper["freeze.steps"] = 20.0
    assert play.result("p0", steps=20, version=1) == [Freeze("p0", 1, "period")]

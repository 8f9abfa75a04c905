"""Every rule against values worked out by hand from the formulas of the papers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ludus.league import config as cfg
from ludus.league import meeting
from ludus.league.events import (
    Ordered,
    Retired,
)
from ludus.league.orders import OrderBook
from ludus.league.payoff import Floats, Indices, Payoff
from ludus.league.standings import MemberStanding, Standings
from tests.unit.league.play import EXPLOITER, MAIN, Play

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
def test_each_weighting_has_its_formula(weighting: str, weights: list[float]) -> None:
    expected = np.array(weights) / np.sum(weights)
    np.testing.assert_allclose(meeting.prioritised(X, weighting, 0.1), expected)


def test_weights_that_are_all_zero_become_equal() -> None:
    np.testing.assert_allclose(meeting.prioritised(np.ones(4), "squared"), 0.25)
    assert len(meeting.prioritised(np.zeros(0), "squared")) == 0


@pytest.mark.parametrize(
    ("rates", "left"),
    [([], 0), ([0.4], 0), ([0.9, 0.8, 0.7], 0), ([0.5, 0.9, 0.7], 2), ([0.9, 0.5, 0.6], 3), ([0.5, 0.5], 0)],
)
def test_a_monotonic_suffix_is_left_out(rates: list[float], left: int) -> None:
    assert meeting.without_monotonic_suffix(np.array(rates)) == left


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


# --- opponents -----------------------------------------------------------------------------------


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


def test_named_rules_meet_the_named_players() -> None:
    play = league_of_three()
    assert play.shares("main", cfg.Latest()) == {"main": 1.0}
    assert play.shares("main", cfg.NamedMember(name="ex")) == {"ex": 1.0}
    assert play.shares("main", cfg.NamedPlayer(name="main:1")) == {"main:1": 1.0}
    assert play.shares("main", cfg.NamedBot(name="simple")) == {"simple": 1.0}
    assert play.shares("main", cfg.NamedPlayer(name="main:9")) == {}
    play.league.apply(Retired("main:1"))
    assert play.shares("main", cfg.NamedPlayer(name="main:1")) == {}


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


def test_verification_meets_players_that_a_main_has_forgotten() -> None:
    play = league_of_three()
    assert play.shares("main", cfg.Verification()) == {"ex:1": 1.0}  # beaten at a rate of .2 < .3
    play.result("main", "ex:1", 30, 0)
    # Rates of the past, oldest first: .8, .4: they fall all the way: no past player is forgotten.
    assert play.shares("main", cfg.Verification()) == {}
    play.freeze("main", 3)
    play.result("main", "main:3", 7, 1)  # .8, .4, .8: main:2 was forgotten
    total = 0.04 + 0.36 + 0.04
    expected = {"main:1": 0.04 / total, "main:2": 0.36 / total, "main:3": 0.04 / total}
    assert play.shares("main", cfg.Verification()) == pytest.approx(expected)
    assert play.shares("main", cfg.Verification(forgotten=0.35)) == {}


def test_exploiters_that_beat_the_main_are_met_by_the_square_of_their_rate() -> None:
    play = Play(MAIN, EXPLOITER)
    play.freeze("ex", 1, 2)
    play.result("main", "ex:1", 1, 7)  # a rate of .2
    play.result("main", "ex:2", 5, 3)  # .6
    shares = play.shares("main", cfg.Verification())
    assert shares == pytest.approx({"ex:1": 0.64 / 0.8, "ex:2": 0.16 / 0.8})


def test_a_rule_that_finds_no_one_leaves_its_matches_to_the_next() -> None:
    meet = (cfg.Pfsp(weight=0.5), cfg.Verification(weight=0.15), cfg.Main(weight=0.35))
    play = Play(cfg.PlayerConfig("main", "main", meet=meet, freeze=cfg.Never()), EXPLOITER)
    assert play.met("main", 50) == {"main": 1.0}  # no one is frozen yet
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
    play.freeze("main", 5)  # the mixture is solved again at a freeze
    play.league.apply(Retired("main:5"))
    shares = play.shares("main", cfg.Psro())
    assert all(name.startswith("main:") for name in shares)
    assert shares.get("main:4", 0.0) < 0.05
    assert "main:5" not in shares


@pytest.mark.parametrize("solver", ["nash", "uniform"])
def test_the_newest_players_alone_are_in_the_mixture(solver: str) -> None:
    rule = cfg.Psro(solver=solver, last=2)  # type: ignore[arg-type]
    play = Play(cfg.PlayerConfig("main", "psro", meet=(rule,), freeze=cfg.Never()))
    play.freeze("main", 1)
    play.result("main", "simple", 0, 1)
    for newest in (2, 3, 4):
        play.freeze("main", newest)
        assert play.shares("main", rule) == {f"main:{newest - 1}": 0.5, f"main:{newest}": 0.5}


def test_each_seat_draws_on_its_own() -> None:
    """TLeague gave all seats one opponent, where its paper has seven."""
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


def test_the_less_a_pair_met_the_likelier_it_is_drawn() -> None:
    """(1 + n)^-2: after one match a quarter as often as a pair that never met."""
    play = Play(MAIN, bots=(), rating_share=1.0)
    play.freeze("main", 1, 2, 3)
    play.result("main", "main:2", 1, 0, player="main:1", tag="rating")
    orders = [o.players for o in play.league.draw("main", 6000)]
    second = [players[1] for players in orders if players[0] == "main:1"]
    assert len(second) > 1000
    assert second.count("main:2") / len(second) == pytest.approx(0.2, abs=0.04)
    others = [players[1] for players in orders if players[0] == "main:3"]
    assert others.count("main:1") / len(others) == pytest.approx(0.5, abs=0.05)


def test_two_bots_do_not_rate_each_other() -> None:
    """Their matches wait for no decision: one slot would play hundreds of them a round."""
    play = Play(MAIN, rating_share=1.0, bots=("simple", "noop", "random"))
    assert {o.players for o in play.league.draw("main", 50)} == {("main", "main")}  # no one is frozen
    play.freeze("main", 1)
    pairs = {frozenset(o.players) for o in play.league.draw("main", 300)}
    assert pairs == {frozenset(("main:1", bot)) for bot in ("simple", "noop", "random")}


def test_results_belong_to_those_who_played() -> None:
    play = league_of_three()
    orders = play.league.draw("ex", 50, teams=3)
    book = OrderBook(orders[:2])
    book.attribute(0, (-1.0, 1.0, -1.0), (2, 0, 1))  # the first team sat at seat 1 and won
    book.attribute(1, (0.0, -1.0, 1.0), (0, 1, 2))
    book.attribute(7, (1.0, -1.0, -1.0), (0, 1, 2))  # an order that is not in the book
    assert book.unknown == 1
    tallies = book.take()
    assert sum(t.wins + t.draws + t.losses for t in tallies) == 4
    assert sum(t.wins for t in tallies) == 3
    assert {t.player for t in tallies} == {"ex"}
    assert {t.seat for t in tallies} == {0, 1}
    assert book.take() == ()
    book.attribute(0, (-1.0, 1.0, -1.0), (2, 0, 1), matches=5)
    tallies = book.take()
    assert sum(t.wins for t in tallies) == sum(t.wins + t.draws + t.losses for t in tallies) == 10
    book.attribute(7, (1.0, -1.0, -1.0), (0, 1, 2), matches=5)
    assert book.unknown == 6
    book.keep({1})
    assert [o.number for o in book.orders()] == [1]


def test_results_of_others_are_not_the_members() -> None:
    play = league_of_three()
    before = play.league.standings.payoff.total()
    play.result("main", "main:1", 5, 0, player="ex")
    play.result("main", "main", 5, 0, player="main:1", tag="rating")
    assert play.league.standings.payoff.total() == before
    assert play.league.ignored == {"not the member's match": 1, "not a pair of frozen players": 1}


def test_a_distribution_is_worked_out_once_between_two_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw among thousands of players is cheap (benchmarks/throughput/league.py measures it)."""
    play = Play(cfg.PlayerConfig("main", "pfsp", freeze=cfg.Never()))
    play.freeze("main", 1, 2, 3)
    made: list[cfg.MeetRule] = []
    original = meeting.distribution

    def counted(rule: cfg.MeetRule, me: MemberStanding, standings: Standings) -> tuple[Indices, Floats]:
        made.append(rule)
        return original(rule, me, standings)

    monkeypatch.setattr("ludus.league.orders.distribution", counted)
    for _ in range(3):
        play.league.draw("main", 500)
    rules = len(play.league.standings.members["main"].choices.meet)
    assert len(made) == rules
    play.freeze("main", 4)
    play.league.draw("main", 500)
    assert len(made) == 2 * rules


@pytest.mark.parametrize(("lead", "rate"), [(4.0, 1.0), (1.0, 0.625), (0.0, 0.5), (-2.0, 0.25), (-4.0, 0.0)])
def test_a_score_by_return_is_the_mean_lead(lead: float, rate: float) -> None:
    """Kuhn poker: a lead of 4 chips is the most. Equal matches count the same at any time."""
    order = league_of_three().league.draw("main", 1)[0]
    books = [OrderBook([order]), OrderBook([order])]
    for book in books:
        for seed in range(4000):
            book.attribute(order.number, (lead / 2, -lead / 2), (0, 1), score_range=4.0, seed=seed)
    tallies = [book.take() for book in books]
    assert tallies[0] == tallies[1]
    (tally,) = tallies[0]
    assert tally.wins + tally.losses == 4000
    assert tally.wins / 4000 == pytest.approx(rate, abs=0.03 if 0 < rate < 1 else 0.0)


def test_winning_small_and_losing_large_is_no_win_by_return() -> None:
    order = league_of_three().league.draw("main", 1)[0]
    book = OrderBook([order])
    for seed in range(3000):  # two of three matches are won by one chip each, one is lost by thirteen each
        lead = -26.0 if seed % 3 == 0 else 2.0
        book.attribute(order.number, (lead / 2, -lead / 2), (0, 1), score_range=26.0, seed=seed)
    (tally,) = book.take()
    assert tally.wins / 3000 == pytest.approx(0.5 + (2 * 2 - 26) / 3 / 52, abs=0.03)

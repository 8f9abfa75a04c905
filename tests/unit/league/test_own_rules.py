"""Rules of one's own in a league: their decisions, what is refused, and a journal that needs no rule."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping

import pytest

from ludus.flow.league import JournalRow, Tally
from ludus.league import config as cfg
from ludus.league.checks import Surroundings, differences, problems
from ludus.league.events import (
    Answered,
    AnyEffect,
    AnyEvent,
    Freeze,
    Frozen,
    Ordered,
    Reset,
    ResetTo,
    Results,
    Retired,
    Ruled,
    from_row,
    to_row,
)
from ludus.league.league import League
from ludus.league.record import Record
from ludus.league.rules.audit import AuditResult, audit
from ludus.league.rules.checked import MOST_OPPONENTS, CheckedRule
from ludus.league.rules.errors import RuleError
from ludus.league.rules.rule import LeagueRule, RuleRandom
from ludus.league.rules.view import LeagueView
from ludus.league.summary import status

CONFIG = cfg.LeagueConfig(
    players=(
        cfg.PlayerConfig("main", rule="./mine.py:Mine"),
        cfg.PlayerConfig("exploiter", "main_exploiter"),
    )
)


class Mine:
    """Meets the past by the rate at which it is lost, freezes each hundred steps, goes back now and then."""

    def meet(self, view: LeagueView, random: RuleRandom) -> Mapping[str, float]:
        past = view.frozen()
        rates = view.payoff.rates(view.me.name, past)
        weights = {name: 1.0 - rate for name, rate in zip(past, rates, strict=True)}
        return {**weights, "exploiter": random.uniform()}

    def freeze(self, view: LeagueView, random: RuleRandom) -> bool:
        return view.me.steps_since >= 100

    def origin(self, view: LeagueView, random: RuleRandom) -> str:
        return random.pick(["itself", "seed", *view.frozen("main")])


class Answers(Mine):
    """Gives fixed answers."""

    def __init__(self, meet: object = None, freeze: object = False, origin: object = "itself") -> None:
        self._meet, self._freeze, self._origin = meet, freeze, origin

    def meet(self, view: LeagueView, random: RuleRandom) -> Mapping[str, float]:
        return self._meet  # type: ignore[return-value]

    def freeze(self, view: LeagueView, random: RuleRandom) -> bool:
        return self._freeze  # type: ignore[return-value]

    def origin(self, view: LeagueView, random: RuleRandom) -> str:
        return self._origin  # type: ignore[return-value]


class Played:
    """A league that plays rounds of its member ``main``, with its journal."""

    def __init__(self, make: Callable[[], LeagueRule] = Mine, seed: int = 5) -> None:
        self.seed = seed
        self.league = League(CONFIG, seed, rules={"main": CheckedRule("mine.py:Mine", make, "ab" * 32)})
        self.rows: list[JournalRow] = []
        for event in self.league.initial_events(("bot",)):
            self.apply(event)

    def apply(self, event: AnyEvent) -> list[AnyEffect]:
        effects = self.league.apply(event)
        self.rows.append(to_row(event, self.league.number))
        for effect in effects:
            if isinstance(effect, Freeze):
                self.apply(Frozen(effect.member, effect.version, effect.reason))
            elif isinstance(effect, ResetTo):
                self.apply(Reset(effect.member, effect.source))
        return effects

    def round(self, number: int) -> None:
        """Draw, play and count a round of 40 steps, and take the decisions after it."""
        drawn = self.league.draw("main", 6)
        self.apply(self.league.ordered("main", 6))
        tallies = tuple(
            Tally("main", order.players[1], 0, order.tags[0], order.number % 3 == 0, 0, order.number % 3 > 0)
            for order in drawn
        )
        self.apply(Results("main", number, 40 * (number + 1), number + 1, number + 1, tallies))
        self.decide()

    def decide(self) -> None:
        while (event := self.league.answer()) is not None:
            self.apply(event)

    def events(self) -> list[AnyEvent]:
        return [from_row(row) for row in self.rows]


@pytest.fixture(scope="module")
def played() -> Played:
    play = Played()
    for number in range(30):
        play.round(number)
    return play


# ---- decisions -----------------------------------------------------------------------------------------


def test_a_rule_chooses_opponents_freezes_and_origins(played: Played) -> None:
    frozen = [e for e in played.events() if isinstance(e, Frozen) and e.version > 0]
    assert len(frozen) == 10  # each third round of 40 steps
    assert {e.reason for e in frozen} == {"rule"}
    sources = {e.source for e in played.events() if isinstance(e, Reset)}
    assert "seed" in sources
    assert any(source.startswith("main:") for source in sources)
    met = {opponent for _, opponent, _, tag in played.league.counts if tag == "own"}
    assert {"exploiter", "main:0"} < met
    assert "main" not in met


def test_its_decisions_are_events(played: Played) -> None:
    events = played.events()
    assert [(e.rule, e.sha256) for e in events if isinstance(e, Ruled)] == [("mine.py:Mine", "ab" * 32)]
    asked = [e for e in events if isinstance(e, Answered)]
    assert [e.method for e in asked].count("freeze") == 30
    assert [e.answer for e in asked if e.method == "freeze"].count("yes") == 10
    assert [e.method for e in asked].count("origin") == 10
    for ordered in (e for e in events if isinstance(e, Ordered)):
        assert math.fsum(ordered.weights.values()) == pytest.approx(1.0)
        assert set(ordered.weights) >= {"exploiter", "main:0"}


def test_orders_are_drawn_by_the_weights_of_the_rule() -> None:
    play = Played(lambda: Answers({"main:0": 1, "bot": 3.0, "exploiter": 0}))
    drawn = play.league.draw("main", 4000)
    share = sum(order.players[1] == "bot" for order in drawn) / 4000
    assert share == pytest.approx(0.75, abs=0.03)
    assert {order.players[1] for order in drawn} == {"bot", "main:0"}
    assert play.league.ordered("main", 4000).weights == {"main:0": 0.25, "bot": 0.75}


def test_without_a_weight_above_0_a_main_meets_itself() -> None:
    play = Played(lambda: Answers({}))
    assert {order.players[1] for order in play.league.draw("main", 9)} == {"main"}
    assert play.league.ordered("main", 9) == Ordered("main", 9)


def test_equal_seeds_give_equal_leagues_and_other_seeds_others(played: Played) -> None:
    again, other = Played(), Played(seed=6)
    for number in range(30):
        again.round(number)
        other.round(number)
    assert again.rows == played.rows
    assert other.rows != played.rows


def test_the_journal_is_applied_without_the_rule_and_gives_the_live_state(played: Played) -> None:
    replayed = League(CONFIG, played.seed)
    replayed.replay(played.rows)
    assert replayed.state() == played.league.state()
    record = Record().read(played.rows)
    row = next(m for m in status(record, "").members if m.name == "main")
    assert (row.rule, row.rule_sha256, row.frozen) == ("mine.py:Mine", "ab" * 32, 11)


@pytest.mark.parametrize("length", [17, 40, 75])
def test_a_league_that_continues_from_its_journal_decides_as_before(played: Played, length: int) -> None:
    """Cut anywhere: what a rule was to decide then, it decides again."""
    kept = next(k for k in range(length, len(played.rows)) if played.rows[k].kind == "ordered")
    again = Played()
    again.league = League(CONFIG, again.seed, rules={"main": CheckedRule("mine.py:Mine", Mine, "ab" * 32)})
    again.league.replay(played.rows[:kept])
    again.rows = list(played.rows[:kept])
    assert again.league.ruled() == []
    for number in range(again.league.standings.members["main"].rounds, 30):
        again.round(number)
    assert again.rows == played.rows


def test_a_decision_that_a_kill_prevented_comes_first_after_a_resume() -> None:
    play = Played()
    for number in range(2):
        play.round(number)
    play.apply(play.league.ordered("main", 1))
    play.apply(Results("main", 2, 120, 3, 3))
    again = League(CONFIG, play.seed, rules={"main": CheckedRule("mine.py:Mine", Mine, "ab" * 32)})
    again.replay(play.rows)
    assert again.answer() == Answered("main", "freeze", "yes")


def test_another_file_is_an_event() -> None:
    play = Played()
    changed = League(CONFIG, play.seed, rules={"main": CheckedRule("mine.py:Mine", Mine, "cd" * 32)})
    changed.replay(play.rows)
    assert changed.ruled() == [Ruled("main", "mine.py:Mine", "cd" * 32)]
    changed.apply(changed.ruled()[0])
    assert changed.ruled() == []


def test_a_league_without_the_rule_says_so_when_it_is_to_draw() -> None:
    league = League(CONFIG, 5)
    league.replay(Played().rows)
    with pytest.raises(RuleError, match=r"league rule \./mine\.py:Mine of main is not loaded"):
        league.draw("main", 1)


def test_of_very_many_opponents_the_heaviest_stay() -> None:
    play = Played(lambda: Heavy())
    for version in range(1, MOST_OPPONENTS + 10):
        play.apply(Frozen("main", version))
        play.apply(Answered("main", "origin", "itself"))
    play.league.draw("main", 1)
    weights = play.league.ordered("main", 1).weights
    assert len(weights) == MOST_OPPONENTS
    assert f"main:{MOST_OPPONENTS + 9}" in weights
    assert "main:3" not in weights
    assert math.fsum(weights.values()) == pytest.approx(1.0)


class Heavy(Mine):
    """Weighs by the version."""

    def meet(self, view: LeagueView, random: RuleRandom) -> Mapping[str, float]:
        return {p.name: float(p.version) for p in view.players}


# ---- audit -----------------------------------------------------------------------------------------------


def audited(play: Played, make: Callable[[], LeagueRule], sha256: str = "ab" * 32) -> AuditResult:
    return audit(
        League(CONFIG, play.seed), play.rows, {"main": CheckedRule("mine.py:Mine", make, sha256)}, play.seed
    )


def test_an_audit_asks_for_every_decision_again(played: Played) -> None:
    result = audited(played, Mine)
    assert result == AuditResult(30 + 30 + 10, 0, 0, ())  # opponents, freezes, origins
    assert audited(played, Mine, "cd" * 32).other_file == result.decisions


def test_an_audit_finds_decisions_that_another_rule_made(played: Played) -> None:
    class Late(Mine):
        def freeze(self, view: LeagueView, random: RuleRandom) -> bool:
            return view.me.steps_since >= 160

    class Fails(Mine):
        def meet(self, view: LeagueView, random: RuleRandom) -> Mapping[str, float]:
            raise KeyError("no")

    late = audited(played, Late)
    assert late.different == 10
    assert {(d.method, d.recorded, d.now) for d in late.differences} == {("freeze", "yes", "no")}
    fails = audited(played, Fails)
    assert fails.different == 30
    assert "KeyError" in fails.differences[0].now
    assert fails.differences[0].recorded.startswith(("main:0 ", "exploiter "))


# ---- what it sees -----------------------------------------------------------------------------------------


def test_the_view_has_players_ratings_and_the_payoff(played: Played) -> None:
    seen: list[LeagueView] = []

    class Looks(Mine):
        def meet(self, view: LeagueView, random: RuleRandom) -> Mapping[str, float]:
            seen.append(view)
            return {"main": 1.0}

    league = League(CONFIG, 5, rules={"main": CheckedRule("mine.py:Looks", Looks)})
    league.replay(played.rows)
    league.apply(Retired("main:3"))
    league.draw("main", 1)
    view = seen[0]
    names = [player.name for player in view.players]
    assert names[:5] == ["main", "main:0", "exploiter", "bot", "main:6"]
    assert "main:3" not in names
    assert view.frozen("main")[:2] == ["main:0", "main:6"]
    assert list(view.ratings) == names
    assert view.ratings["main:0"] == league.standings.players[1].elo
    me = league.standings.members["main"]
    assert (view.me.steps, view.me.version, view.me.freezes) == (1200, 30, 11)
    assert view.me.steps_since == me.steps - me.frozen_steps
    expected = league.standings.payoff.rate(0, 1)
    assert view.payoff.rate("main", "main:0") == expected
    assert view.payoff.rates("main", ["main:0", "main"]) == [expected, 0.5]
    assert view.payoff.matches("main:0", "main") == sum(league.standings.payoff.score(0, 1))
    with pytest.raises(ValueError, match=r"'mian': no player of the league \(did you mean main\?\)"):
        view.payoff.rate("main", "mian")
    with pytest.raises(TypeError):
        view.ratings["main"] = 3.0  # type: ignore[index]
    with pytest.raises(AttributeError):
        view.me.steps = 3  # type: ignore[misc]


# ---- what is refused -------------------------------------------------------------------------------------


class Breaks(Mine):
    def meet(self, view: LeagueView, random: RuleRandom) -> Mapping[str, float]:
        raise KeyError("no\nsuch \x1b[31mkey" + "y" * 1000)


class Leaves(Mine):
    def meet(self, view: LeagueView, random: RuleRandom) -> Mapping[str, float]:
        raise SystemExit(3)


class Mute(Mine):
    def meet(self, view: LeagueView, random: RuleRandom) -> Mapping[str, float]:
        raise Unspeakable


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class Counts(Mine):
    """Keeps something between calls."""

    calls = itertools.count(1)

    def meet(self, view: LeagueView, random: RuleRandom) -> Mapping[str, float]:
        return {"main": 1.0, "exploiter": float(next(self.calls))}


MEET = "league rule mine.py:Mine: meet of main "


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Breaks, MEET + "failed: KeyError: 'no"),
        (Leaves, MEET + "failed: SystemExit: 3"),
        (Mute, MEET + "failed: Unspeakable: an error without a text"),
        (Counts, MEET + "is not deterministic: a second call with equal inputs had another answer"),
        (lambda: Answers(None), MEET + "returned None, expected a dict from a player's name to a weight"),
        (lambda: Answers(["main"]), MEET + "returned a value of type list, expected a dict"),
        (lambda: Answers({3: 1.0}), MEET + "returned a key of type int, expected a player's name"),
        (lambda: Answers({"mian": 1.0}), MEET + "returned mian, an unknown player (did you mean main?)"),
        (
            lambda: Answers({"main:1": 1.0}),
            MEET + "returned main:1, an unknown player (did you mean main:0",
        ),
        (
            lambda: Answers({"main": -1}),
            MEET + "returned -1.0 as the weight of main, expected a finite number",
        ),
        (lambda: Answers({"main": math.nan}), MEET + "returned nan as the weight of main, expected a finite"),
        (lambda: Answers({"main": math.inf}), MEET + "returned inf as the weight of main, expected a finite"),
        (
            lambda: Answers({"main": "1"}),
            MEET + "returned a value of type str as the weight of main, expected",
        ),
        (lambda: Answers({"main": True}), MEET + "returned a value of type bool as the weight of main, ex"),
    ],
)
def test_a_wrong_choice_of_opponents_is_refused(make: Callable[[], LeagueRule], message: str) -> None:
    play = Played(make)
    before = play.league.state()
    with pytest.raises(RuleError) as caught:
        play.league.draw("main", 1)
    text = str(caught.value)
    assert text.startswith(message), text
    assert len(text) < 600
    assert text.isprintable()
    assert play.league.state() == before


def test_a_retired_player_is_refused() -> None:
    play = Played(lambda: Answers({"bot": 1.0}))
    play.apply(Retired("bot"))
    with pytest.raises(RuleError, match="returned bot, a retired player"):
        play.league.draw("main", 1)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Answers(freeze=None), "freeze of main returned None, expected True or False"),
        (Answers(freeze=1), "freeze of main returned a value of type int, expected True or False"),
        (
            Answers(freeze=True, origin=None),
            "origin of main returned None, expected itself, seed or the name",
        ),
        (Answers(freeze=True, origin="main"), "origin of main returned main, a player that is not frozen"),
        (
            Answers(freeze=True, origin="sed"),
            "origin of main returned sed, an unknown player (did you mean s",
        ),
    ],
)
def test_wrong_freezes_and_origins_are_refused(rule: LeagueRule, message: str) -> None:
    play = Played(lambda: rule)
    play.apply(Results("main", 0, 40, 1, 1))
    with pytest.raises(RuleError) as caught:
        play.decide()
    assert str(caught.value).startswith(f"league rule mine.py:Mine: {message}")


def test_numbers_of_numpy_are_numbers() -> None:
    import numpy as np

    play = Played(lambda: Answers({"main": np.float32(0.5), "bot": np.int64(1)}, np.bool_(True)))
    play.league.draw("main", 1)
    assert play.league.ordered("main", 1).weights == {"main": 1 / 3, "bot": 2 / 3}
    play.apply(Results("main", 0, 40, 1, 1))
    assert play.league.answer() == Answered("main", "freeze", "yes")


def test_a_rule_error_is_no_failed_run_and_no_value_error() -> None:
    from ludus.flow.errors import RunFailed

    assert not issubclass(RuleError, (RunFailed, ValueError, RuntimeError))


# ---- settings --------------------------------------------------------------------------------------------


def told(**changes: object) -> list[str]:
    player = cfg.PlayerConfig("main", **changes)  # type: ignore[arg-type]
    return [str(p) for p in problems(cfg.LeagueConfig(players=(player,)), Surroundings())]


def test_choices_beside_a_rule_are_refused() -> None:
    assert told(rule="m.py:A") == []
    assert told(rule="m.py:A", meet=(cfg.Latest(),), freeze=cfg.Never(), origin=cfg.Seed()) == [
        f"league.players.0.{key}: expected none beside league.players.0.rule, which decides it"
        for key in ("meet", "freeze", "from")
    ]
    assert told(params={"a": 1}) == [
        "league.players.0.params: expected league.players.0.rule, whose parameters these are"
    ]


def test_a_moved_file_is_the_same_rule_and_other_parameters_are_not() -> None:
    def league(rule: str, **params: float) -> cfg.LeagueConfig:
        return cfg.LeagueConfig(players=(cfg.PlayerConfig("main", rule=rule, params=dict(params)),))

    assert differences(league("/a/mine.py:Mine"), league("/b/yours.py:Mine")) == []
    assert differences(league("/a/mine.py:Mine"), league("/a/mine.py:Other")) == [
        "league.players.0.rule differs: expected the value at the start"
    ]
    assert differences(league("/a/mine.py:Mine"), league("/a/mine.py:Mine", a=1.0)) == [
        "league.players.0.params differs: expected the value at the start"
    ]

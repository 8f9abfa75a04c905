"""Each role as a whole: its opponents, its freezes, the weights that it continues from."""

from __future__ import annotations

import pytest

from ludus.league import config as cfg
from ludus.league.events import Freeze, Frozen, Reason, Reset, ResetTo
from ludus.league.roles import ROLES, choices_of
from tests.unit.league.play import Play

DRAWS = 4000
NEAR = 0.03


def play_of(role: str, **changes: object) -> Play:
    """A league of ``me`` in that role and of a main with two frozen players that it beats at rates .5, .8."""
    me = cfg.PlayerConfig("me", role, **changes)  # type: ignore[arg-type]
    play = Play(me, cfg.PlayerConfig("main", "self_play"))
    play.freeze("main", 1, 2)
    play.result("me", "main:1", 4, 4)
    play.result("me", "main:2", 7, 1)
    return play


def tags_of(play: Play) -> dict[str, float]:
    orders = play.league.draw("me", DRAWS)
    tags = [order.tags[0] for order in orders]
    return {tag: tags.count(tag) / DRAWS for tag in sorted(set(tags))}


def after_freeze(play: Play, reason: Reason, version: int = 9) -> list[object]:
    return [*play.league.apply(Frozen("me", version, reason))]


SELF = {"latest": 1.0}
EXPLOITS = {"main": 1.0}
#: One of two mains was forgotten, so half of the 15% of verification; the rest goes to the next rule.
ALPHASTAR = {"pfsp": 0.5, "verification": 0.075, "main": 0.425}


@pytest.mark.parametrize(
    ("role", "shares"),
    [
        ("main", ALPHASTAR),
        ("periodic_main", ALPHASTAR),
        ("sound_main", ALPHASTAR),
        ("main_exploiter", EXPLOITS),
        ("specific_exploiter", EXPLOITS),
        ("evolutionary_exploiter", EXPLOITS),
        ("adaptive_exploiter", EXPLOITS),
        ("cyclic_exploiter", EXPLOITS),
        ("league_exploiter", {"pfsp": 1.0}),
        ("population", {"elo": 1.0}),
        ("self_play", SELF),
        ("uniform", {"uniform": 1.0}),
        ("fsp", {"fsp": 1.0}),
        ("pfsp", {"pfsp": 0.65, "latest": 0.35}),
        ("openai_five", {"latest": 0.8, "quality": 0.2}),
        ("psro", {"psro": 0.6, "latest": 0.2, "fsp": 0.2}),
    ],
)
def test_shares_of_the_rules(role: str, shares: dict[str, float]) -> None:
    play = play_of(role)
    if role == "openai_five":
        play.freeze("me", 5)
    assert tags_of(play) == pytest.approx(shares, abs=NEAR)


def test_every_role_is_tested_here() -> None:
    marks = test_shares_of_the_rules.pytestmark  # type: ignore[attr-defined]
    assert {case[0] for case in marks[0].args[1]} == ROLES.keys()


def test_weightings_of_the_roles() -> None:
    """League exploiters meet players that they beat seldom too: min(1/2, 1 - x), a main's are (1 - x)^2."""
    capped, squared = play_of("league_exploiter"), play_of("main")
    assert capped.met("me", DRAWS)["main:1"] == pytest.approx(0.5 / 0.7, abs=NEAR)  # .5 and .2
    met = [o.players[1] for o in squared.league.draw("me", DRAWS) if o.tags == ("pfsp",)]
    assert met.count("main:1") / len(met) == pytest.approx(0.25 / 0.29, abs=NEAR)  # .25 and .04


def test_an_exploiter_of_a_main_that_is_too_strong() -> None:
    """ME of AlphaStar meets its past; SE of TLeague the live one too, in 15%."""
    for role, live in (("main_exploiter", 0.0), ("specific_exploiter", 0.15)):
        play = play_of(role)
        play.result("me", "main", 0, 58)
        assert play.met("me", DRAWS).get("main", 0.0) == pytest.approx(live, abs=NEAR)


def test_the_newest_fifty_with_itself() -> None:
    play = play_of("uniform")
    for version in range(3, 103):
        play.league.apply(Frozen("main", version))
    met = play.met("me", DRAWS)
    assert set(met) == {"me", *(f"main:{v}" for v in range(54, 103))}
    assert met["me"] == pytest.approx(0.02, abs=0.01)


@pytest.mark.parametrize("role", ["uniform", "fsp", "pfsp", "psro", "periodic_main"])
def test_roles_frozen_each_period(role: str) -> None:
    play = play_of(role)
    assert play.result("me", steps=999_999, version=3) == []
    assert play.result("me", steps=1_000_000, version=4) == [Freeze("me", 4, "period")]
    assert after_freeze(play, "period", 4) == []  # continues from itself


@pytest.mark.parametrize("role", ["self_play", "population"])
def test_roles_that_are_never_frozen(role: str) -> None:
    assert play_of(role).result("me", steps=10**10, updates=10**6, version=4) == []


def test_a_sound_main_is_frozen_only_once_it_beats_all() -> None:
    play = play_of("sound_main")
    assert play.result("me", steps=10**10, version=3) == []
    assert play.result("me", "main:1", 90, 0, steps=10**10, version=4) == [Freeze("me", 4, "beats")]
    main = play_of("main")
    assert main.result("me", steps=2_000_000, version=3) == [Freeze("me", 3, "timeout")]


@pytest.mark.parametrize(
    "role",
    [
        "main_exploiter",
        "specific_exploiter",
        "evolutionary_exploiter",
        "adaptive_exploiter",
        "cyclic_exploiter",
    ],
)
def test_exploiters_are_frozen_once_they_beat_the_live_main(role: str) -> None:
    play = play_of(role)
    assert play.result("me", "main", 60, 40, steps=1_000_000, version=3) == []
    assert play.result("me", "main", 900, 0, steps=1_000_000, version=4) == [Freeze("me", 4, "beats")]
    assert play_of(role).result("me", steps=2_000_000, version=3) == [Freeze("me", 3, "timeout")]


@pytest.mark.parametrize(
    ("role", "beaten", "timeout"),
    [
        ("main_exploiter", "seed", "seed"),  # ME: back to the root
        ("specific_exploiter", "seed", "seed"),  # SE
        ("evolutionary_exploiter", "", "me:5"),  # EE: the strongest of its kind, after a timeout alone
        ("adaptive_exploiter", "me:6", "me:6"),  # AEE: the one that a main beats at a rate in .5 to .8
        ("cyclic_exploiter", "seed", "seed"),  # CE: a third line, of three
    ],
)
def test_exploiters_continue_from_the_weights_of_their_rule(role: str, beaten: str, timeout: str) -> None:
    for reason, source in (("beats", beaten), ("timeout", timeout)):
        play = play_of(role)
        for version, wins in ((5, 10), (6, 60), (7, 90)):  # me:5 is the one that the main beats least
            play.league.apply(Frozen("me", version))
            play.league.apply(Reset("me", "seed"))
            play.result("main", f"me:{version}", wins, 100 - wins)
        if role == "cyclic_exploiter":
            play = play_of(role)
            play.league.apply(Frozen("me", 5))
            play.league.apply(Reset("me", "seed"))
        assert after_freeze(play, reason) == ([ResetTo("me", source)] if source else [])  # type: ignore[arg-type]


def test_a_quarter_of_league_exploiters_is_reset() -> None:
    play = play_of("league_exploiter")
    resets = 0
    for version in range(1, 401):
        resets += after_freeze(play, "beats", version) == [ResetTo("me", "seed")]
        play.league.apply(Reset("me", "seed"))
    assert 70 <= resets <= 130


def test_sigma_of_a_member_decides_how_far_it_looks() -> None:
    """TLeague's PBT-Elo: sigma is a setting that mutates."""
    tune = {"meet.elo.sigma": cfg.Tune(low=0.01, high=10.0)}
    play = Play(
        *(cfg.PlayerConfig(f"p{k}", "population", tune=tune) for k in range(3)), population=cfg.TLeague()
    )
    standings = play.league.standings
    standings.players[1].elo = 400.0
    shares = []
    for sigma in (0.1, 10.0):
        standings.members["p0"].hyper["meet.elo.sigma"] = sigma
        shares.append(play.shares("p0", cfg.Elo())["p1"])
    assert shares[0] < 0.01
    assert shares[1] == pytest.approx(0.5, abs=0.01)


def test_a_players_own_choices_take_the_place_of_its_roles() -> None:
    own = cfg.PlayerConfig("a", "main_exploiter", meet=(cfg.Fsp(),), freeze=cfg.Never(), origin=cfg.Itself())
    choices = choices_of(own)
    assert (choices.kind, choices.meet, choices.freeze, choices.origin) == (
        "exploiter",
        (cfg.Fsp(),),
        cfg.Never(),
        cfg.Itself(),
    )

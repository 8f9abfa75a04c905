"""Bad settings: each one line with the place, the value and the expectation."""

from __future__ import annotations

import msgspec
import msgspec.inspect as mi
import pytest

from ludus.league import config as cfg
from ludus.league.checks import Surroundings, differences, problems
from ludus.league.roles import ROLES
from ludus.presets import schema

MAIN = cfg.PlayerConfig("main")
AROUND = Surroundings(
    bots=("simple", "hit_and_run"),
    settings={
        "algorithm.learning_rate": 1e-3,
        "algorithm.adam_eps": 1e-5,
    },
    others=("algorithm.adam_betas", "algorithm.vtrace", "policy.width", "pool.slots"),
    spec_hash="aa",
)


NONE = cfg.NoPopulation()


def league(*players: cfg.PlayerConfig, population: cfg.AnyPopulation = NONE) -> cfg.LeagueConfig:
    return cfg.LeagueConfig(players, population)


def population(**tune: cfg.Tune) -> cfg.LeagueConfig:
    named = {path.replace("__", "."): t for path, t in tune.items()}
    players = tuple(cfg.PlayerConfig(f"p{k}", "population", tune=named) for k in range(2))
    return league(*players, population=cfg.SampleFactory())


RANGE = cfg.Tune(low=1e-5, high=1e-1)
SIGMAS = cfg.Tune(low=0.01, high=1.0)


def test_every_role_is_valid() -> None:
    for name in ROLES:
        players: tuple[cfg.PlayerConfig, ...] = (MAIN, cfg.PlayerConfig("other", name))
        if name == "population":
            players = (*players, cfg.PlayerConfig("third", name))
        assert problems(league(*players), AROUND) == [], name
    assert problems(population(algorithm__learning_rate=RANGE, meet__elo__sigma=SIGMAS), AROUND) == []


def test_one_entry_stands_for_several_members() -> None:
    tune = {"algorithm.learning_rate": RANGE}
    one = cfg.PlayerConfig("p", "population", share=2.0, tune=tune)
    replace = msgspec.structs.replace
    written_out = tuple(replace(one, name=f"p{k}") for k in range(3))
    rest = cfg.PlayerConfig(names=("left", "right"), role="pfsp")
    repeated = league(replace(one, count=3), MAIN, rest, population=cfg.SampleFactory())
    assert repeated.members == (
        *written_out,
        MAIN,
        cfg.PlayerConfig("left", "pfsp"),
        cfg.PlayerConfig("right", "pfsp"),
    )
    assert [repeated.entry_of(k) for k in range(6)] == [0, 0, 0, 1, 2, 2]
    assert problems(repeated, AROUND) == []
    assert differences(league(*written_out), league(replace(one, count=3))) == []
    changed = league(replace(one, count=3, share=1.0))
    assert differences(league(*written_out), changed) == [
        "league.players.0.share differs: expected the value at the start"
    ]
    fewer = differences(repeated, league(replace(one, count=2), MAIN, rest, population=cfg.SampleFactory()))
    assert fewer == [
        "league.players = p0, p1, main, left, right: expected the players of the run, "
        "p0, p1, p2, main, left, right"
    ]


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (league(), "league.players = []: expected at least one player"),
        (league(MAIN, MAIN), 'players.1.name = "main": expected another name than league.players.0 has'),
        (
            league(cfg.PlayerConfig("p", count=2), cfg.PlayerConfig("p1")),
            'players.1.name = "p1": expected another name than league.players.0 has',
        ),
        (
            league(cfg.PlayerConfig(names=("a", "b", "a"))),
            'players.0.names.2 = "a": expected another name than league.players.0 has',
        ),
        (
            league(cfg.PlayerConfig(names=("a", "b", "c"), count=2)),
            "players.0.count = 2: expected 3, the number of league.players.0.names",
        ),
        (
            league(cfg.PlayerConfig("p", names=("a", "b"))),
            'players.0.name = "p": expected no name beside league.players.0.names',
        ),
        (
            league(cfg.PlayerConfig(count=2)),
            'players.0.name = "": expected a name, or names of several players in league.players.0.names',
        ),
        (league(cfg.PlayerConfig(names=("a", "B"))), 'players.0.names.1 = "B": expected lower-case letters'),
        (league(cfg.PlayerConfig("simple")), "expected another name than a bot"),
        (league(cfg.PlayerConfig("mains")), "mean something else"),
        (league(cfg.PlayerConfig("a:b")), "expected lower-case letters, digits, - and _"),
        (
            league(cfg.PlayerConfig("a", "main_explioter")),
            'role = "main_explioter": expected a role of a league (did you mean main_exploiter?)',
        ),
        (league(cfg.PlayerConfig("a", "main_exploiter")), "expected a player of a main role too (main, "),
        (league(cfg.PlayerConfig("a", meet=(cfg.Fsp(weight=0.0),))), "meet: all weights are 0"),
        (
            league(cfg.PlayerConfig("main", meet=(cfg.Pfsp(among=("manis",)),))),
            'players.0.meet.0.among = "manis": expected a group or a player of the league (did you mean main',
        ),
        (
            league(MAIN, cfg.PlayerConfig("a", meet=(cfg.Latest(), cfg.NamedMember(name="mian")))),
            'players.1.meet.1.name = "mian": expected a player of the league (did you mean main?)',
        ),
        (
            league(cfg.PlayerConfig("a", meet=(cfg.NamedBot(name="simpel"),))),
            'meet.0.name = "simpel": expected a bot of the game (did you mean simple?)',
        ),
        (
            league(cfg.PlayerConfig("a", meet=(cfg.NamedPlayer(name="a:new"),))),
            "expected PLAYER:VERSION, as in a:0",
        ),
        (league(cfg.PlayerConfig("a", meet=(cfg.NamedPlayer(name="b:1"),))), "expected PLAYER:VERSION"),
        (
            league(cfg.PlayerConfig("a", freeze=cfg.Beats(min_steps=9, max_steps=3))),
            "freeze.max_steps = 3: expected 0 or at least min_steps, 9",
        ),
        (league(cfg.PlayerConfig("a", freeze=cfg.Beats(against=("b",)))), 'freeze.against = "b": expected'),
        (
            league(cfg.PlayerConfig("a", origin=cfg.Nearest(low=0.8, high=0.5))),
            "from.low = 0.8: expected less",
        ),
        (
            population(algorithm__learning_rat=RANGE),
            "learning_rat: unknown setting; expected a number of the preset (did you mean algorithm.",
        ),
        (population(algorithm__adam_eps=RANGE), "adam_eps: cannot be tuned"),
        (population(policy__width=RANGE), "policy.width: cannot be tuned"),
        (
            population(pool__slots=RANGE),
            "pool.slots: cannot be tuned; expected a number of algorithm. or game.params. that a running "
            "member can change, meet.elo.sigma or freeze.steps",
        ),
        (population(algorithm__vtrace=RANGE), "algorithm.vtrace: cannot be tuned"),
        (
            population(freeze__steps=RANGE),
            'freeze.steps: cannot be tuned here; expected the rule period in "freeze" of the player',
        ),
        (
            league(
                *(
                    cfg.PlayerConfig(name, "population", meet=(cfg.Fsp(),), tune={"meet.elo.sigma": SIGMAS})
                    for name in ("p0", "p1")
                ),
                population=cfg.Ftw(),
            ),
            'meet.elo.sigma: cannot be tuned here; expected an elo rule in "meet" of the player',
        ),
        (population(meet__pfsp__floor=RANGE), "meet.pfsp.floor: unknown setting"),
        (
            population(meet__elo__sigma=RANGE),
            "members start with meet.elo.sigma = 0.166667; expected a number from 1e-05 to 0.1, or start",
        ),
        (
            population(algorithm__learning_rate=cfg.Tune(choices=(1e-2, 1e-4))),
            "members start with algorithm.learning_rate = 0.001; expected one of 0.01, 0.0001, or start",
        ),
        (population(algorithm__learning_rate=cfg.Tune()), "learning_rate.high = 0: expected more than low"),
        (
            population(algorithm__learning_rate=cfg.Tune(low=1e-3, high=1e-2, start=(1.0,))),
            "start = [1.0]: expected each a number from 0.001 to 0.01",
        ),
        (
            league(cfg.PlayerConfig("a", tune={"algorithm.learning_rate": RANGE})),
            "expected only in players of the role population",
        ),
        (
            league(MAIN, cfg.PlayerConfig("a", "population"), population=cfg.Ftw()),
            'population.rule = "ftw": expected at least two players of the role population',
        ),
        (
            league(cfg.PlayerConfig("a", "population", tune={"algorithm.learning_rate": RANGE})),
            "league.population is missing",
        ),
        (cfg.LeagueConfig((MAIN,), score="return"), "league.score_range = 0: expected the most by which"),
        (
            cfg.LeagueConfig((MAIN,), score_range=2.0),
            "league.score_range = 2: expected 0 where score",
        ),
    ],
)
def test_a_mistake_is_one_line(config: cfg.LeagueConfig, line: str) -> None:
    found = [str(problem) for problem in problems(config, AROUND)]
    assert any(line in text for text in found), found
    assert all("\n" not in text for text in found)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"lag": "async"}, 'run.lag = "async": expected sync or pipelined'),
        (
            {"algorithm": "dqn", "on_policy": False},
            'algorithm.name = "dqn": expected a method that learns from slabs of fresh matches',
        ),
        ({"seed_specs": {"old@3": "bb"}}, 'players.0.seed = "old@3": expected weights of this game\'s spec'),
    ],
)
def test_settings_that_the_rest_of_a_preset_rules_out_are_refused(
    change: dict[str, object], line: str
) -> None:
    around = msgspec.structs.replace(AROUND, **change)
    found = problems(league(cfg.PlayerConfig("main", seed="old@3")), around)
    assert [line in str(problem) for problem in found] == [True]


def test_one_seat_has_no_win_rate() -> None:
    around = msgspec.structs.replace(AROUND, seats=1)
    assert "expected return in a game of one seat" in str(problems(population(), around)[0])


def test_one_seat_has_no_other_to_compare_returns_with() -> None:
    around = msgspec.structs.replace(AROUND, seats=1)
    chips = cfg.LeagueConfig((MAIN,), score="return", score_range=4.0)
    assert 'league.score = "return": expected outcome' in str(problems(chips, around)[0])
    assert problems(chips, AROUND) == []


def test_a_resume_needs_the_same_league() -> None:
    old = league(MAIN, cfg.PlayerConfig("b"))
    assert differences(old, old) == []
    assert differences(old, msgspec.structs.replace(old, cache=7, lanes=2)) == []
    assert "expected the players of the run, main, b" in differences(old, league(MAIN))[0]
    changed = league(MAIN, cfg.PlayerConfig("b", origin=cfg.Itself()))
    assert differences(old, changed) == ["league.players.1.from differs: expected the value at the start"]
    assert differences(old, msgspec.structs.replace(old, rating_share=0.5)) != []


def test_types_and_rule_names_of_a_file_are_checked() -> None:
    """Types and names of rules are checked by the presets' schema, with paths and the nearest name."""
    kind = mi.type_info(cfg.LeagueConfig)
    data = {
        "players": [{"name": "main", "meet": [{"rule": "pfps"}], "from": {"rule": "seed", "probability": 2}}]
    }
    lines = [str(p) for p in schema.check(data, kind, "league")]
    assert any("league.players.0.meet.0.rule" in t and "did you mean pfsp?" in t for t in lines), lines
    assert any("probability = 2: expected a number from 0 to 1" in t for t in lines), lines
    good = {"players": [{"name": "main", "meet": [{"rule": "pfsp", "weight": 1}], "from": {"rule": "meta"}}]}
    assert msgspec.convert(good, cfg.LeagueConfig).players[0].origin == cfg.Meta()

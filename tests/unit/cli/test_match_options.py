"""Options of ``ludus eval`` and ``ludus rate``: one set, passed on as match settings."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ludus.cli.arguments import fields_of, parse
from ludus.cli.commands.evaluate import Eval
from ludus.cli.commands.rate import Rate
from ludus.cli.errors import UserError
from ludus.cli.match_options import MatchOptions
from ludus.evaluation import evaluate as evaluation
from ludus.evaluation import tournament as tournaments
from ludus.evaluation.settings import MatchHooks, MatchSettings
from ludus.flow.match import MatchResult

SHARED = [
    *("--game", "tic_tac_toe", "--matches", "6", "--seed", "9", "--frame-skip", "3", "--greedy"),
    *("--threads", "2", "--random-start", "4", "--max-ticks", "50"),
    *("--device", "cpu"),
]
EXPECTED = MatchSettings(
    matches=6, seed=9, frame_skip=3, greedy=True, threads=2, random_start=4, max_ticks=50, device="cpu"
)


class Stopped(Exception):
    """Ends a command before a match is played."""


def settings_of(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, run: Callable[[], int]
) -> MatchSettings:
    """Return the match settings with which a command calls ``module.name``."""
    seen: list[MatchSettings] = []

    def called(*args: object, hooks: MatchHooks, **more: object) -> None:
        assert hooks.should_stop is not None
        assert not hooks.should_stop()
        seen.extend(a for a in args if isinstance(a, MatchSettings))
        raise Stopped

    monkeypatch.setattr(module, name, called)
    with pytest.raises(Stopped):
        run()
    (settings,) = seen
    return settings


def test_eval_and_rate_read_the_same_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both commands turn the shared options into the same settings."""
    own = ["--against-frame-skip", "5", "--record", "replays", "--record-matches", "7"]
    command = parse(Eval, "eval", ["random", "--against", "uniform", *SHARED, *own])
    settings = settings_of(monkeypatch, evaluation, "evaluate", command.run)
    assert settings.record == 7
    assert settings.against_frame_skip == 5
    command = parse(Eval, "eval", ["random", "--against", "uniform", *SHARED])
    assert settings_of(monkeypatch, evaluation, "evaluate", command.run) == EXPECTED
    rate = parse(Rate, "rate", ["random", "uniform", *SHARED])
    assert settings_of(monkeypatch, tournaments, "tournament", rate.run) == EXPECTED


def test_defaults_of_the_options_are_those_of_the_settings() -> None:
    """Commands and Python play the same matches where no option is given."""
    declared = MatchSettings()
    for field in fields_of(Eval):
        if hasattr(declared, field.name) and field.name != "record":  # a folder there, a number here
            assert field.default == getattr(declared, field.name), field.name
    assert parse(Eval, "eval", ["random"]).matches == declared.matches
    assert parse(Rate, "rate", ["random", "uniform"]).matches == tournaments.PAIR.matches


def test_help_lists_own_options_before_shared_ones() -> None:
    """The options that only one command has come first on its help page."""
    names = [field.name for field in fields_of(Rate)]
    assert names[:4] == ["players", "matches", "versions", "neighbours"]
    assert tuple(names[4:]) == MatchOptions.__struct_fields__


def test_a_wrong_parameter_is_refused_before_the_players_are_read() -> None:
    """The game's own declaration decides about ``--param``."""
    command = parse(Rate, "rate", ["no_player", "another", "--game", "rts", "--param", "no_such=1"])
    with pytest.raises(UserError, match="no_such"):
        command.run()


def test_finished_matches_reach_the_hooks() -> None:
    """``finished`` gets every match once, and ``should_stop`` ends play early."""
    over: list[MatchResult] = []
    result = evaluation.evaluate(
        "random",
        "random",
        MatchSettings(matches=5),
        game="tic_tac_toe",
        hooks=MatchHooks(finished=over.extend),
    )
    assert sorted(m.match for m in over) == [0, 1, 2, 3, 4]
    assert not result.interrupted
    stopped = evaluation.evaluate(
        "random",
        "random",
        MatchSettings(matches=5000),
        game="tic_tac_toe",
        hooks=MatchHooks(should_stop=lambda: len(over) > 5, finished=over.extend),
    )
    assert stopped.interrupted
    assert stopped.matches < 5000

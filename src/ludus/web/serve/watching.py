"""Matches of a run's newest weights, one after another, for people who look on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ludus.evaluation.players import game_of_player
from ludus.flow.problem import Argument
from ludus.mcts.planner import is_plan
from ludus.mcts.text import is_search
from ludus.storage import zoo
from ludus.storage.errors import StorageError
from ludus.web.serve.library import Run, UnknownId
from ludus.web.serve.matches import Sessions, UnplayableMatch, rules_of, watched
from ludus.web.serve.players import Rules, needs
from ludus.web.serve.runs import strengths
from ludus.web.serve.session import Session

NEWEST = "last"
_WEAK = ("noop", "random", "uniform")


def watch_run(
    matches: Sessions,
    path: Path,
    against: str = "",
    rate: float = 1.0,
    newest: int = 0,
    loading: Callable[[], None] = lambda: None,
) -> Session:
    """Start matches of the newest weights of a run; each next match has the weights that are newest then.

    Args:
        matches: The server's matches, whose table has the run.
        path: Folder of the run.
        against: Opponent, a bot or a search; empty: the bot of the run's evaluations, or the same weights.
        rate: Speed, in times of the game's own.
        newest: How many of such matches stay as files, 0 for all.
        loading: Called once everything is checked, before the weights are loaded.

    Raises:
        MatchError: The run has no weights yet, or they cannot play.
    """
    library = matches.library
    try:
        run = library.run_at(path)
        rules = _rules(run)
    except ImportError as error:
        raise UnplayableMatch(needs(error, path.name)) from None
    except (ValueError, OSError, StorageError) as error:
        raise UnplayableMatch(error) from None
    bots = [bot.name for bot in rules.spec.bots]
    searched = is_search(against) or is_plan(against)
    if against and against not in bots and not searched and not zoo.is_zoo(against):
        text = f"expected a bot ({', '.join(bots)}), a search, a plan or zoo:NAME"
        raise UnplayableMatch(text, where=Argument("against", against))
    turn = 0

    def seats() -> list[str]:
        nonlocal turn
        if not (run.path / "run.json").is_file():
            raise UnknownId(f"the run {run.name} has been removed")
        own = f"{run.id}@{NEWEST}"
        other = against or _opponent(run, rules) or own
        first = turn % rules.spec.seats
        turn += 1
        return [own if rules.spec.together(first, s) else other for s in range(rules.spec.seats)]

    loading()
    return matches.watch(watched(rules, seats, library, matches.device), run.id, rate, newest)


def _rules(run: Run) -> Rules:
    trained = game_of_player(f"{run.path}@{NEWEST}")
    assert trained is not None
    return rules_of(*trained)


def _opponent(run: Run, rules: Rules) -> str:
    """Return the bot of most evaluations of a run, or the last bot that is not a weak one."""
    bots = [bot.name for bot in rules.spec.bots]
    found = [s.against for s in strengths(run.directory).values()]
    if found and found[-1] in bots:
        return found[-1]
    return next((bot for bot in reversed(bots) if bot not in _WEAK), "")

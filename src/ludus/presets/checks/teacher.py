"""Checks of ``algorithm.teacher``: the weights that a learner reads, or the player that it learns from."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.algorithms.registry import method_of
from ludus.flow.problem import Problem, near_of
from ludus.flow.spec import GameSpec
from ludus.games.names import is_bot_file
from ludus.mcts.text import is_search
from ludus.presets.config import Preset

EXPECTED = "RUN@best, a weights file, a bot, FILE.py or a search"


def teacher_problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    """Yield mistakes about a teacher and about settings that exclude one."""
    method = method_of(preset.algorithm)
    teacher = str(getattr(preset.algorithm, "teacher", ""))
    if method.teaches == "player":
        yield from _player_problems(teacher, declared)
        if preset.league is not None:
            yield Problem("algorithm.name", value=method.name, expected="another where there is a league")
    elif not teacher:
        return
    elif preset.run.topology == "one_to_one":
        wanted = '"many_to_one" where there is a teacher'
        yield Problem("run.topology", value="one_to_one", expected=wanted)
    if preset.run.lag == "async" and preset.run.over_lag == "drop":
        yield Problem("run.over_lag", value="drop", expected='"wait" where a teacher sees every slab')


def _player_problems(teacher: str, declared: GameSpec) -> Iterator[Problem]:
    """Yield what is wrong with the name of a player whose decisions are learned."""
    from ludus.storage.references import is_reference  # imports numpy, which help pages do without

    path = "algorithm.teacher"
    bots = {b.name: b.demonstrates for b in declared.bots}
    if teacher in bots:
        if not bots[teacher]:
            yield Problem(path, f'{path} = "{teacher}": {declared.cannot_demonstrate(teacher)}', teacher)
    elif not (is_bot_file(teacher) or is_search(teacher) or _is_plan(teacher) or is_reference(teacher)):
        yield Problem(path, value=teacher, expected=EXPECTED, near=near_of(teacher, bots))


def _is_plan(teacher: str) -> bool:
    from ludus.mcts.planner import is_plan  # numpy and the core: only for methods with a player as teacher

    return is_plan(teacher)

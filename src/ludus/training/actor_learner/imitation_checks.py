"""What imitation asks of a preset and its game."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.algorithms.config import ImitationConfig
from ludus.flow.names import did_you_mean
from ludus.flow.spec import GameSpec
from ludus.games.names import is_bot_file
from ludus.mcts.planner import is_plan
from ludus.mcts.text import is_search
from ludus.presets.config import Preset
from ludus.presets.schema import Problem
from ludus.storage import is_reference

EXPECTED = "expected RUN@best, a weights file, a bot, FILE.py or a search"


def problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    """A teacher that there is not, or whose decisions cannot be had."""
    config = preset.algorithm
    if not isinstance(config, ImitationConfig):
        return
    path, text = "algorithm.teacher", config.teacher
    where = f'{path} = "{text}"'
    bots = {b.name: b.demonstrates for b in declared.bots}
    if text in bots:
        if not bots[text]:
            yield Problem(path, f"{where}: {declared.cannot_demonstrate(text)}")
    elif not (is_bot_file(text) or is_search(text) or is_plan(text) or is_reference(text)):
        yield Problem(path, f"{where}: {EXPECTED}{did_you_mean(text, bots)}")
    if preset.league is not None:
        yield Problem(
            "algorithm.name", 'algorithm.name = "imitation": expected another where there is a league'
        )
    if preset.run.lag == "async" and preset.run.over_lag == "drop":
        yield Problem(
            "run.over_lag", 'run.over_lag = "drop": expected "wait" where a teacher sees every slab'
        )

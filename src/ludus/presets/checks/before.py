"""Settings of ``game.before``: rules of old that differ from the new ones and look the same to a policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from ludus.algorithms.registry import Method
from ludus.flow.inputs.whole import whole
from ludus.flow.problem import Problem, near_of, quoted
from ludus.flow.spec import GameSpec
from ludus.flow.spec_difference import interface_difference
from ludus.games import rulebook, spec
from ludus.presets.checks.params import param_problems
from ludus.presets.config import BeforeConfig, GameConfig, ParamValue, Preset

PARAMS = "game.before.params"
TRAP = "; a new unit has to be in the old rulebook too, at a cost that no one can pay"


def before_problems(preset: Preset, method: Method, declared: GameSpec) -> Iterator[Problem]:
    """Yield every mistake; none without ``game.before``. ``declared``: the game under its new rules."""
    before = preset.game.before
    if before is None:
        return
    if reason := _alone(preset, method):
        yield Problem("game.before", f"game.before: expected none where {reason}")
    yield from _schedule_problems(preset, before, declared)
    yield from _rule_problems(preset, before)


def _alone(preset: Preset, method: Method) -> str:
    """Return why slabs cannot come from two pools in turn; empty where they can."""
    if preset.league is not None:
        return "there is a league"
    if not method.learns_from_slabs or method.teaches == "player":
        return f'algorithm.name = "{method.name}"'
    if getattr(preset.algorithm, "teacher", ""):
        return "there is a teacher"
    return ""


def _schedule_problems(preset: Preset, before: BeforeConfig, declared: GameSpec) -> Iterator[Problem]:
    run, evaluation = preset.run, preset.evaluation
    if before.share == before.share_final == 0.0:
        path = "game.before.share"
        yield Problem(path, value=0, expected="more, or game.before.share_final above 0")
    if before.moves and not (before.over_steps or run.max_steps or run.max_minutes):
        path = "game.before.until"
        wanted = "run.max_steps, run.max_minutes or game.before.over_steps, over which the share moves"
        yield Problem(path, value=whole(before.until), expected=wanted)
    if not before.setback:
        return
    wanted = ""
    if not before.moves:
        wanted = "0 where game.before.share stays as it is"
    elif not (evaluation.every_steps and evaluation.matches):
        wanted = "evaluation.every_steps and evaluation.matches above 0, whose results it reads"
    elif declared.seats > 1 and before.setback >= 1.0:
        wanted = "less than 1, a share of the matches (0.05 = 5 points)"
    if wanted:
        yield Problem("game.before.setback", value=whole(before.setback), expected=wanted)


def _rule_problems(preset: Preset, before: BeforeConfig) -> Iterator[Problem]:
    """Yield mistakes of the old rules themselves, and what a policy would see differently under them."""
    game, name = preset.game, preset.game.name
    try:
        bare = spec(name)
        now = spec(name, game.params)
    except ValueError:
        return  # the checks of the game say what is wrong
    if not bare.params:
        yield Problem(PARAMS, f"{PARAMS}: {name} has one set of rules, without parameters")
        return
    wrong = [*param_problems(before.params, bare, f"{PARAMS}.", name)]
    if wrong:
        yield from wrong
        return
    if _rules(game, bare) == _rules(game.under_old_rules, bare):
        text = "no difference from game.params; expected a parameter with another value"
        yield Problem(PARAMS, f"{PARAMS}: {text}")
        return
    try:
        old = spec(name, game.under_old_rules.params)
    except ValueError as error:
        for line in str(error).splitlines():
            yield Problem(PARAMS, f"{PARAMS}: {line}")
        return
    yield from _visible(preset, now, old)


def _visible(preset: Preset, now: GameSpec, old: GameSpec) -> Iterator[Problem]:
    if (found := interface_difference(now, old)) is not None:
        values = f"{quoted(found.one)} under the new rules, {quoted(found.other)} under the old ones"
        hint = TRAP if preset.game.name == rulebook.GAME else ""
        text = f"{found.place} is {values}; expected the same observations and actions{hint}"
        yield Problem(PARAMS, f"{PARAMS}: {text}")
    elif not preset.game.frame_skip and now.default_frame_skip != old.default_frame_skip:
        ticks = f"{now.default_frame_skip} under the new rules, {old.default_frame_skip} under the old ones"
        text = f"decisions every {ticks}; expected game.frame_skip, which holds under both"
        yield Problem(PARAMS, f"{PARAMS}: {text}")
    bots, before = ({bot.name for bot in s.bots} for s in (now, old))
    named = [(f"opponents.{i}.name", o.name) for i, o in enumerate(preset.opponents)]
    for path, bot in [*named, ("curriculum.bot", preset.curriculum.bot)]:
        if bot in bots - before:
            text = f"{path}: the old rules of game.before have no bot {bot}"
            yield Problem(path, text, bot, near=near_of(bot, sorted(before), "there are"))


def _rules(game: GameConfig, declared: GameSpec) -> Mapping[str, object]:
    """Return every parameter, defaults included: numbers, texts, and a rulebook by its keys."""
    texts = {p.name: p.default_value for p in declared.params}
    texts |= {name: _text(value) for name, value in game.params.items()}
    rules: dict[str, object] = dict(texts)
    rules |= {p.name: float(texts[p.name]) for p in declared.params if p.kind != "text"}
    text = rules.get("rulebook")
    if game.name == rulebook.GAME and isinstance(text, str):
        with suppress(ValueError):  # reported elsewhere
            rules["rulebook"] = rulebook.keys(text)
    return rules


def _text(value: ParamValue) -> str:
    return value if isinstance(value, str) else repr(value).lower()


def before_text(before: BeforeConfig) -> str:
    """Return a line about the schedule: ``old rules in 100% of the slabs, 0% at 50% of the budget``."""
    first, last = (f"{100 * share:g}%" for share in (before.share, before.share_final))
    text = f"old rules (game.before) in {first} of the slabs"
    if before.moves:
        budget = f"{100 * before.until:g}% of the budget"
        text += f", {last} after {f'{before.over_steps:,} steps' if before.over_steps else budget}"
    return text

"""Effect of another budget on what moves with it: learning rate, coefficients, curricula, rules by degrees.

The settings list their schedules themselves (:meth:`ludus.presets.config.Preset.schedules`).
"""

from __future__ import annotations

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.presets.config import Preset, RunConfig
from ludus.presets.hyper import with_hyper
from ludus.training.actor_learner.old_rules import DONE, moved
from ludus.training.actor_learner.state import OldRules
from ludus.training.stopping import Budget, progress

OLD_RULES = "game.before.share"


class _Member(msgspec.Struct, frozen=True):
    hyper: dict[str, float] = {}


class _Used(msgspec.Struct, frozen=True):
    """The part of a checkpoint's state that schedules depend on, for every way to train."""

    budget: Budget = msgspec.field(default_factory=Budget)
    before: OldRules | None = None
    members: dict[str, _Member] = {}


def used_budget(state: bytes) -> Budget:
    """Return the budget that the state of a checkpoint has used."""
    return from_json(state, _Used).budget


def moved_schedules(before: RunConfig, preset: Preset, state: bytes) -> dict[str, tuple[float, float]]:
    """Return what a resume under another budget moves: setting -> value until now, and from now on.

    A member of a league with settings of its own has a line of its own: ``main: algorithm.learning_rate``.
    A share of old rules that keeps its value moves at another pace.

    Args:
        before: Budget of the run until now.
        preset: Settings from now on.
        state: State of the checkpoint that is resumed.
    """
    used = from_json(state, _Used)
    old, new = progress(before, used.budget), progress(preset.run, used.budget)
    if old == new:
        return {}
    found = _values(preset, old, new)
    for name, member in used.members.items():
        own = _values(with_hyper(preset, member.hyper), old, new) if member.hyper else {}
        found |= {f"{name}: {path}": both for path, both in own.items() if found.get(path) != both}
    return found | _old_rules(before, preset, used)


def _values(preset: Preset, old: float, new: float) -> dict[str, tuple[float, float]]:
    both = {path: (float(at(old)), float(at(new))) for path, at in preset.schedules().items()}
    return {path: (a, b) for path, (a, b) in both.items() if _short(a) != _short(b)}


def _old_rules(before: RunConfig, preset: Preset, used: _Used) -> dict[str, tuple[float, float]]:
    config, state = preset.game.before, used.before
    if config is None or state is None or config.over_steps or not config.moves or state.way >= DONE:
        return {}
    ways = (moved(config, run, used.budget, state).way for run in (before, preset.run))
    first, second = (config.share_at(way) for way in ways)
    return {OLD_RULES: (first, second)}


def _short(value: float) -> str:
    return f"{value:.4g}"

"""Settings that differ between a run and the preset that surgery leads to: what each of them means."""

from __future__ import annotations

import contextlib
import re

from ludus.algorithms.registry import method_of
from ludus.games import rulebook
from ludus.policies.config import EncoderConfig
from ludus.presets.config import BeforeConfig, Preset
from ludus.presets.document import leaves
from ludus.presets.method_file import method_file
from ludus.surgery.plan import SurgeryError
from ludus.training.teacher import data_of, demonstration_of

#: Settings without which the stored state has no meaning: a change is refused.
_FIXED = (
    "game.name",
    "algorithm.name",
    "algorithm.optimizer",
    "run.topology",
    "run.pools",
    "cluster.rollouts",
    "cluster.ahead",
)
#: Tables and settings that decide about matches in play and the slabs collected from them.
_PLAY = (
    "game.",
    "opponents",
    "curriculum.",
    "team",
    "pool.slots",
    "pool.rollout_length",
    "policy.inputs",
    "run.seed",
    "run.lag",
    "run.queue",
    "algorithm.teacher",
    "algorithm.data",
    "algorithm.players",
    "algorithm.winners",
)
#: Settings of ``game.before`` that decide about no match.
_SCHEDULE = tuple(f"game.before.{name}" for name in BeforeConfig.__struct_fields__ if name != "params")
#: Those of them under which matches continue (:mod:`ludus.training.surgery.matches`).
_LINEUP = ("game.frame_skip", "opponents", "curriculum.", "team", "pool.slots")
#: Those that belong to slabs alone.
_SLABS = ("pool.rollout_length", "policy.inputs", "run.lag", "run.queue")
_PARAMS = "game.params."
_REWARD = re.compile(r"(?:^|[._])rewards?(?:$|[._])")
#: Settings by which the returns in a replay buffer were made, besides those of play.
_RETURNS = (
    "algorithm.buffer_slabs",
    "algorithm.n_steps",
    "algorithm.discount",
    "algorithm.horizon",
    "algorithm.reward_scale",
    "algorithm.reward_clip",
)


def differences(old: Preset, new: Preset) -> dict[str, tuple[object, object]]:
    """Return path -> (old value, new value) of every setting that differs; None where one side lacks it."""
    a, b = ({p: v for p, v in leaves(x) if v != {}} for x in (old, new))  # an empty table lacks its keys
    return {p: (a.get(p), b.get(p)) for p in dict.fromkeys((*a, *b)) if a.get(p) != b.get(p)}


def check_covered(old: Preset, new: Preset) -> None:
    """Raise :class:`SurgeryError` for runs and changes that surgery does not cover."""
    for preset in (old, new):
        if not isinstance(preset.policy, EncoderConfig):
            raise SurgeryError("policy.network", "residual", "encoder: AlphaZero's towers are not covered")
        if preset.cluster.learners > 1:
            raise SurgeryError(
                "cluster.learners", preset.cluster.learners, "1: states of several learners are not covered"
            )
        if method_file(preset.algorithm) is not None:
            name = preset.algorithm.__struct_config__.tag
            raise SurgeryError("algorithm.name", str(name), "a built-in or installed method")
    changed = differences(old, new) | _names(old, new)
    for path in _FIXED:
        if path in changed:
            before, after = changed[path]
            raise SurgeryError(path, after, f"{before}, as the run has it")
    if (path := next((p for p in changed if p.startswith("league")), "")) and old.league != new.league:
        raise SurgeryError(path, changed[path][1], "the settings of the run's league: they are not covered")


def why_new_matches(old: Preset, new: Preset, *, same_spec: bool, signed: bool, compiled: bool) -> str:
    """Return why matches in play cannot continue; empty if they can.

    Args:
        old: Settings of the run.
        new: Settings after surgery.
        same_spec: Whether observations and actions are the same.
        signed: Whether this user's key signed the checkpoint.
        compiled: Whether the game is compiled; matches of other games start again with every resume.
    """
    if not signed:
        return "surgery on a checkpoint that is not signed"
    changed = _changed(old, new)
    moves = [p for p in changed if p.startswith((*_LINEUP, *_SLABS)) or _pays(p, old, new)]
    if fixed := [p for p in changed if p not in moves]:
        return f"surgery changed {fixed[0]}"
    if not same_spec:
        return "surgery changed the spec"
    return _why_not_moved(old, new, compiled) if moves else ""


def _why_not_moved(old: Preset, new: Preset, compiled: bool) -> str:
    """Return why matches stay with settings of their lineup and slabs; empty if they can be moved."""
    path = _first(old, new, (*_LINEUP, *_SLABS, _PARAMS))
    for holds, why in (
        (not compiled, "matches of a Python game are not stored"),
        (new.league is not None, "orders of a league are for its slots and slabs"),
        (new.run.topology == "one_to_one", "pools take turns"),
        (new.game.before is not None, "two sets of rules take turns"),
        (new.cluster.rollouts > 0, "other processes play"),
        (any(demonstration_of(p) is not None for p in (old, new)), "a teacher plays along"),
        (any(data_of(p) for p in (old, new)), "recorded matches are read"),
    ):
        if holds:
            return f"surgery changed {path}: {why}"
    return ""


def moved_by(old: Preset, new: Preset) -> tuple[bool, bool]:
    """Return whether matches move to a pool of other settings, and whether slabs in flight fit it."""
    changed = _changed(old, new)
    return bool(changed), not any(p.startswith(_SLABS) for p in changed)


def _pays(path: str, old: Preset, new: Preset) -> bool:
    """Return whether a parameter of the game decides about rewards alone, under both settings."""
    name = path.removeprefix(_PARAMS)
    if name == path:
        return False
    if name != "rulebook":
        return _REWARD.search(name) is not None
    one, two = _rulebook(old), _rulebook(new)
    return all(k.startswith("reward.") for k in one.keys() | two if one.get(k) != two.get(k))


def _rulebook(preset: Preset) -> dict[str, str]:
    """Return the keys of a preset's rulebook with their values; of a name of another game the name alone."""
    text = str(preset.game.params.get("rulebook", ""))
    with contextlib.suppress(ValueError):
        return rulebook.keys(text)
    return dict(line.partition("=")[::2] for line in text.splitlines())


def why_empty_ring(old: Preset, new: Preset, *, same_spec: bool) -> str:
    """Return why a replay buffer starts empty; empty if it is kept. Arguments as above."""
    if not same_spec:
        return "the spec changed"
    path = _first(old, new, (*_PLAY, *_RETURNS))
    return f"{path} changed" if path else ""


def _changed(old: Preset, new: Preset) -> list[str]:
    """Return the settings that differ and decide about matches in play and their slabs."""
    return [p for p in differences(old, new) if p.startswith(_PLAY) and p not in _SCHEDULE]


def _first(old: Preset, new: Preset, paths: tuple[str, ...]) -> str:
    return next((p for p in differences(old, new) if p.startswith(paths)), "")


def _names(old: Preset, new: Preset) -> dict[str, tuple[object, object]]:
    """Return the names of methods, which are tags and no settings."""
    names = [str(p.algorithm.__struct_config__.tag) for p in (old, new)]
    same = method_of(old.algorithm) is method_of(new.algorithm)
    return {} if same else {"algorithm.name": (names[0], names[1])}

"""Settings that differ between a run and the preset that surgery leads to: what each of them means."""

from __future__ import annotations

from ludus.algorithms.registry import method_of
from ludus.policies.config import EncoderConfig
from ludus.presets.config import Preset
from ludus.presets.document import leaves
from ludus.presets.method_file import method_file
from ludus.surgery.plan import SurgeryError

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
    "pool.groups",
    "pool.rollout_length",
    "policy.inputs",
    "run.seed",
    "run.lag",
    "run.queue",
    "algorithm.teacher",
)
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
    a, b = dict(leaves(old)), dict(leaves(new))
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


def why_new_matches(old: Preset, new: Preset, *, same_spec: bool, signed: bool) -> str:
    """Return why matches in play cannot continue; empty if they can.

    Args:
        old: Settings of the run.
        new: Settings after surgery.
        same_spec: Whether observations and actions are the same.
        signed: Whether this user's key signed the checkpoint.
    """
    if not signed:
        return "surgery on a checkpoint that is not signed"
    if path := _first(old, new, _PLAY):
        return f"surgery changed {path}"
    return "" if same_spec else "surgery changed the spec"


def why_empty_ring(old: Preset, new: Preset, *, same_spec: bool) -> str:
    """Return why a replay buffer starts empty; empty if it is kept. Arguments as above."""
    if not same_spec:
        return "the spec changed"
    path = _first(old, new, (*_PLAY, *_RETURNS))
    return f"{path} changed" if path else ""


def _first(old: Preset, new: Preset, paths: tuple[str, ...]) -> str:
    return next((p for p in differences(old, new) if p.startswith(paths)), "")


def _names(old: Preset, new: Preset) -> dict[str, tuple[object, object]]:
    """Return the names of methods, which are tags and no settings."""
    names = [str(p.algorithm.__struct_config__.tag) for p in (old, new)]
    same = method_of(old.algorithm) is method_of(new.algorithm)
    return {} if same else {"algorithm.name": (names[0], names[1])}

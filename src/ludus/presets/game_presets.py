"""Settings for a game named in a preset's place: ``ludus train gymnasium/LunarLander-v3``.

A shipped preset of that game gives them. For any other game they follow from what it declares: pictures,
planes or numbers, choices or continuous actions, one seat or several. They are a start and not tuned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ludus.flow.inputs.decode import from_toml, text_of
from ludus.flow.inputs.shown import shell
from ludus.flow.spec import GameSpec
from ludus.games.libraries import plain
from ludus.storage.files import read_bounded

MAX_BYTES = 1 << 20
PICTURE = 32  # cells of the shorter side, from which on planes are a picture
_ODD = re.compile(r"[^A-Za-z0-9._-]+")


class GamePreset(msgspec.Struct, frozen=True):
    """Settings for a game.

    Attributes:
        raw: The bytes of a preset file.
        source: Name of the file in errors.
        note: Origin of the settings.
    """

    raw: bytes
    source: str
    note: str


def run_title(name: str) -> str:
    """Return the title of a run of the game ``name``: ``LunarLander-v3``."""
    last = name.rpartition("/")[2].rpartition(":")[2]
    return _ODD.sub("-", last).strip("-.") or "game"


def preset_for(reference: str, declared: GameSpec, shipped: Mapping[str, Path]) -> GamePreset:
    """Return the settings for a game.

    Args:
        reference: The game as the user named it.
        declared: What it declares.
        shipped: The shipped presets by name.
    """
    own = [name for name, path in shipped.items() if _game_of(path) == reference]
    if own:
        wanted = plain(run_title(declared.name))
        best = min(own, key=lambda name: (plain(name) != wanted, len(name), name))
        note = f"settings of the preset {best}; to change them: ludus presets show {shell(best)} > mine.toml"
        others = sorted(name for name in own if name != best)
        note += f"; other presets of this game: {', '.join(others)}" if others else ""
        return GamePreset(read_bounded(shipped[best], MAX_BYTES), str(shipped[best]), note)
    text = settings_for(reference, declared)
    like = _nearest_kind(declared)
    note = (
        f"no preset is of this game: settings for {_kind_text(declared)}; to change them: "
        f"ludus train {shell(reference)} --explain > mine.toml; the nearest preset: "
        f"ludus presets show {shell(like)}"
    )
    return GamePreset(text.encode(), f"settings for {reference}", note)


def settings_for(reference: str, declared: GameSpec) -> str:
    """Return the text of a preset for a game without one."""
    picture, planes = _has_planes(declared, PICTURE), _has_planes(declared, 1)
    continuous = any(head.kind == "continuous" for head in declared.heads)
    alone = declared.seats == 1
    lines = ["[game]", f"name = {json.dumps(reference, ensure_ascii=False)}"]
    if not alone:
        lines += ["[[opponents]]", 'name = "latest"', "[[opponents]]", 'name = "past"', "weight = 0.5"]
    slots, length = (32, 32) if picture else (64, 64) if alone else (128, 32)
    lines += ["[pool]", f"slots = {slots}", "groups = 2", f"rollout_length = {length}", "[policy]"]
    if picture:
        lines += ["channels = [32, 64, 64]", "kernels = [8, 4, 3]", "strides = [4, 2, 1]", "hidden = [512]"]
        lines += ['activation = "relu"', 'norm = "none"']
    elif planes:
        lines += ["channels = [32, 64]", "strides = [1, 1]", "hidden = [128]"]
    else:
        lines += ["dense = []", "hidden = [64, 64]", 'activation = "tanh"', 'norm = "none"']
    rate = "2.5e-4" if picture else "5e-4" if continuous else "1e-3"
    lines += ["[algorithm]", f"learning_rate = {rate}", 'learning_rate_schedule = "linear"']
    entropy = "0.0" if continuous else "0.01" if alone else "0.02"
    lines += ["discount = 0.99", f"entropy_coefficient = {entropy}"]
    lines += [f"entropy_coefficient_final = {entropy if not alone else '0.0'}"]
    lines += [f"epochs = {2 if picture or not alone else 10 if continuous else 4}", "minibatches = 8"]
    if reference.startswith("atari/"):
        lines += ["reward_clip = 1.0"]
    if picture:
        lines += ["micro_batch = 256"]
    steps = 10_000_000 if picture else 1_000_000
    lines += ["[evaluation]", f"every_steps = {steps // 20}", f"matches = {32 if picture else 64}"]
    lines += ["final_matches = 100"]
    if not alone:
        bots = [bot.name for bot in declared.bots if bot.name not in ("noop", "random")]
        lines += [f"against = {json.dumps([*bots, 'random'])}"]
    return "\n".join([*lines, "[run]", f"max_steps = {steps}", ""])


def _has_planes(declared: GameSpec, least: int) -> bool:
    return any(len(t.shape) == 3 and min(t.shape[1:]) >= least for t in declared.observation)


def _nearest_kind(declared: GameSpec) -> str:
    """Return the shipped preset to copy for such a game."""
    if declared.seats > 1:
        return "openspiel-connect_four" if declared.turn_based else "minirts-self-play"
    if _has_planes(declared, PICTURE):
        return "breakout"
    continuous = any(head.kind == "continuous" for head in declared.heads)
    return "pendulum" if continuous else "cartpole"


def _kind_text(declared: GameSpec) -> str:
    seen = (
        "pictures" if _has_planes(declared, PICTURE) else "planes" if _has_planes(declared, 1) else "numbers"
    )
    continuous = any(head.kind == "continuous" for head in declared.heads)
    acts = "continuous actions" if continuous else "choices"
    return f"{seen} and {acts}" + (", by self-play" if declared.seats > 1 else "")


def _game_of(path: Path) -> str:
    """Return the game of a shipped preset."""
    game = from_toml(text_of(read_bounded(path, MAX_BYTES))).get("game", {})
    return str(game.get("name", ""))

"""Settings of a rollout, with the files that they name as bytes.

A rollout has no file of its controller. So the code that a user gave by path travels (a game, a method, a
teacher in Python), and so do a teacher's weights. Code that the controller may not load is not sent. Code of
installed packages does not travel: the packages are named, and a machine that lacks one is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ludus.algorithms.registry import method_package
from ludus.codecs.registry import codec_package
from ludus.flow.inputs.decode import to_json
from ludus.flow.process.extensions import Package
from ludus.games.hosted import portable_reference
from ludus.games.names import admit, admit_bot, is_bot_file, is_typed
from ludus.games.registry import game_package
from ludus.policies.encoders import encoder_package
from ludus.presets.checks.game import resolve_spec
from ludus.presets.code import GAME, TEACHER
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.method_file import MAX_BYTES, NAME, method_file
from ludus.storage.errors import StorageError
from ludus.storage.files import file_part, read_bounded
from ludus.training.teacher import demonstration_of, teacher_file, teacher_weights

MAX_CODE = MAX_BYTES  # bytes of a file with code
MAX_WEIGHTS = 1 << 30  # bytes of a teacher's weights
CODE, WEIGHTS = ".py", ".safetensors"


class SentFile(msgspec.Struct, frozen=True):
    """A file that a rollout needs.

    Args:
        setting: Path of the setting that names it.
        reference: Its path on the controller, for messages.
        name: Name that it gets on the rollout.
        sha256: Hash of the bytes.
        data: The bytes.
        behind: Rest of the setting behind the path: ``:Pikes``, ``+search:400``.
    """

    setting: str
    reference: str
    name: str
    sha256: str
    data: bytes
    behind: str = ""


class SentPreset(msgspec.Struct, frozen=True):
    """Settings of a rollout with all that they name.

    Args:
        settings: The preset as JSON; its method's settings may be of a class that only a sent file has.
        files: Files whose paths on the rollout replace the values of their settings.
        packages: Distributions that the rollout's machine must have.
        typed: Whether the user gave the game's reference (:func:`ludus.games.names.typed`).
    """

    settings: bytes
    files: tuple[SentFile, ...] = ()
    packages: tuple[Package, ...] = ()
    typed: bool = False


def sent_preset(preset: Preset, learns: bool = False) -> SentPreset:
    """Return the settings of a rollout as they are sent.

    Args:
        preset: The settings.
        learns: Whether they are for a learner, which reads the weights of a teacher that it stays near.

    Raises:
        ConfigError: A file that cannot be read or is too large, or code that the user did not give.
    """
    return SentPreset(
        to_json(preset),
        tuple(_files(preset, learns)),
        tuple(_packages(preset)),
        typed=is_typed(preset.game.name),
    )


def _files(preset: Preset, learns: bool) -> Iterator[SentFile]:
    """Yield the files that the settings name. Raises ``ConfigError``."""
    game = preset.game.name
    try:
        admit(game)
        path = portable_reference(game)
        if path.endswith(CODE):
            yield _sent(GAME, Path(path), MAX_CODE)
        if (method := method_file(preset.algorithm)) is not None:
            yield _made(NAME, Path(method.path), method.data, CODE)
        yield from _teacher(preset, learns)
    except ValueError as error:
        raise ConfigError(error, where=f"cluster.rollouts = {preset.cluster.rollouts}") from error


def _teacher(preset: Preset, learns: bool) -> Iterator[SentFile]:
    """Yield the file of the player that the method learns from; for a learner, of any teacher."""
    shown = demonstration_of(preset)
    if shown is None:
        if learns and (file := teacher_file(preset)) is not None:
            yield _sent(TEACHER, file, MAX_WEIGHTS)
        return
    if is_bot_file(shown.teacher):
        admit_bot(shown.teacher)
        path, code, behind = shown.teacher.rpartition(CODE)
        yield _sent(TEACHER, Path(path + code), MAX_CODE, behind)
    elif (file := teacher_file(preset)) is not None:
        _, behind = teacher_weights(preset)
        yield _sent(TEACHER, file, MAX_WEIGHTS, behind)


def _sent(setting: str, path: Path, limit: int, behind: str = "") -> SentFile:
    try:
        data = read_bounded(path, limit)
    except (OSError, StorageError) as error:
        raise ConfigError(error, where=f"{setting}: cannot be sent") from error
    return _made(setting, path, data, CODE if limit == MAX_CODE else WEIGHTS, behind)


def _made(setting: str, path: Path, data: bytes, suffix: str, behind: str = "") -> SentFile:
    name = file_part(path.name.removesuffix(suffix))[-100:].lstrip(".") + suffix
    return SentFile(setting, str(path), name, hashlib.sha256(data).hexdigest(), data, behind)


def _packages(preset: Preset) -> Iterator[Package]:
    """Yield the installed distributions that a rollout of ``preset`` loads code of."""
    spec, _ = resolve_spec(preset)
    found = [game_package(preset.game.name), method_package(str(preset.algorithm.__struct_config__.tag))]
    found += [codec_package(name) for name in dict.fromkeys(t.codec for t in spec.observation)]
    found.append(encoder_package(getattr(preset.policy, "encoder", "")))
    yield from (package for package in found if package is not None)

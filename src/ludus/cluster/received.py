"""Settings of a rollout as it receives them: files are written, checked and loaded here.

They come only from the controller, which sends code that its user gave. So the rollout may load it, by the
path that it wrote, and no other file.
"""

from __future__ import annotations

import hashlib
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ludus.cluster.processes.private_folder import PrivateFolder
from ludus.cluster.sent_preset import CODE, MAX_CODE, MAX_WEIGHTS, WEIGHTS, SentFile, SentPreset
from ludus.flow.inputs.decode import from_json
from ludus.flow.inputs.shown import shown
from ludus.flow.problem import changed
from ludus.flow.process.extensions import Package
from ludus.games.names import typed
from ludus.pool import MatchError
from ludus.presets.code import GAME, with_code
from ludus.presets.config import Preset, preset_of
from ludus.presets.errors import ConfigError
from ludus.presets.method_file import NAME, load_method
from ludus.storage.files import write_synced

_NAME = re.compile(r"[A-Za-z0-9_+=,@-][A-Za-z0-9._+=,@-]{0,127}")
_LIMITS = {CODE: MAX_CODE, WEIGHTS: MAX_WEIGHTS}


class ReceivedFiles:
    """Files of a rollout's process, in a private folder."""

    def __init__(self, node: str) -> None:
        """Start without files. ``node``: address of this machine, for messages."""
        self._node = node
        self._folder: PrivateFolder | None = None
        self._references: dict[str, str] = {}  # the controller's, by path
        self._removed = False

    def preset(self, sent: SentPreset) -> Preset:
        """Return the settings that were sent, with the paths of files here, whose code may be loaded.

        Raises:
            ConfigError: A package is missing here, a file is not the one that was sent, or it cannot be
                written or loaded.
        """
        for package in sent.packages:
            self._check(package)
        code = {file.setting: f"{self._path(file)}{file.behind}" for file in sent.files}
        for setting, reference in code.items():
            if setting != NAME:
                typed(reference)
        if NAME in code:
            load_method(typed(code.pop(NAME)), "algorithm.name")
        document = from_json(sent.settings, dict[str, object])
        algorithm = document.get("algorithm")
        name = algorithm.get("name", "") if isinstance(algorithm, dict) else ""
        preset = with_code(preset_of(document, str(name)), code)
        if sent.typed and GAME not in code:
            typed(preset.game.name)
        return preset

    def _check(self, package: Package) -> None:
        """Check that this machine has a distribution. Raises ``ConfigError``."""
        name = package.distribution
        try:
            found = version(name)
        except PackageNotFoundError:
            wanted = f"pip install '{name}=={package.version}'"
            raise ConfigError(
                f"node {self._node}: {package.noun} package {name} is not installed there ({wanted})"
            ) from None
        if found != package.version:
            raise ConfigError(
                f"node {self._node}: {package.noun} package {name} has version {found} there, expected "
                f"{package.version} as on this machine"
            )

    def _path(self, file: SentFile) -> Path:
        """Return where the file is, written now if it is new. Raises ``ConfigError``."""
        where = f"node {self._node}: {file.setting}: {shown(file.reference)}"
        suffix = Path(file.name).suffix
        if _NAME.fullmatch(file.name) is None or suffix not in _LIMITS:
            raise ConfigError(f"{where}: sent as {shown(file.name)}, expected the name of a file *{CODE}")
        if len(file.data) > _LIMITS[suffix]:
            raise ConfigError(f"{where}: {len(file.data)} bytes, expected at most {_LIMITS[suffix]}")
        found = hashlib.sha256(file.data).hexdigest()
        if found != file.sha256:
            raise ConfigError(
                f"{where}: arrived with sha256 {found[:12]}, expected {shown(file.sha256)[:12]} as sent"
            )
        if self._removed:
            raise ConfigError(f"{where}: the rollout is ending")
        try:
            self._folder = self._folder or PrivateFolder()
            path = self._folder.path / found / file.name
            if str(path) not in self._references:
                path.parent.mkdir(mode=0o700, exist_ok=True)
                write_synced(path, file.data)
                self._references[str(path)] = file.reference
        except OSError as error:
            raise ConfigError(error, where=f"{where}: cannot be written") from error
        return path

    def named_as_sent(self, error: Exception) -> Exception:
        """Return ``error`` with the controller's paths in its message in place of those here."""
        error.args = changed(error.args, self._as_sent)
        if isinstance(error, MatchError):
            error.message = self._as_sent(error.message)
        return error

    def _as_sent(self, text: str) -> str:
        for path, reference in self._references.items():
            text = text.replace(path, reference)
        return text

    def remove(self) -> None:
        """Remove all files and write no more. Idempotent."""
        self._removed = True
        if self._folder is not None:
            self._folder.remove()

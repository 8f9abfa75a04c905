"""Base of the parts of a run on another machine. This module needs neither Ray nor torch."""

from __future__ import annotations

import os
import socket

from ludus.cluster.messages import About
from ludus.cluster.received import ReceivedFiles
from ludus.cluster.sent_preset import SentPreset
from ludus.presets.checks.game import resolve_spec
from ludus.presets.code import GAME
from ludus.presets.errors import ConfigError
from ludus.version import __version__


class RolloutPart:
    """A part that gets the settings of a run."""

    def __init__(self, files: ReceivedFiles, node: str) -> None:
        """Start without settings.

        Args:
            files: Files of this process.
            node: Address of this machine.
        """
        self._files, self._node = files, node

    def ping(self) -> int:
        """Return the process id."""
        return os.getpid()

    def about(self, sent: SentPreset) -> About:
        """Describe this machine for the settings that it gets.

        Raises:
            ConfigError: It lacks a package, or cannot make the game.
        """
        preset = self._files.preset(sent)
        try:
            spec, _ = resolve_spec(preset)
        except ValueError as error:
            alone = GAME in (file.setting for file in sent.files)
            hint = " (of a game in a file, only that file is sent)" if alone else ""
            raise ConfigError(error, where=f"node {self._node}", more=hint) from error
        return About(socket.gethostname(), os.getpid(), __version__, spec.spec_hash)

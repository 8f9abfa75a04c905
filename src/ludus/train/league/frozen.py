"""Frozen players of a league: their weights on disk, and the networks that play them.

Version 0 of a member is what it began with, whether it is a player of the league or not.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from ludus.evaluation.weights import network_of
from ludus.flow import GameSpec, Weights
from ludus.policies.protocol import Network
from ludus.presets.errors import ConfigError
from ludus.storage import RunDirectory, StorageError


class PlayerLost(Exception):
    """The weights of the frozen ``player`` cannot be read any more."""

    def __init__(self, player: str, why: str) -> None:
        super().__init__(why)
        self.player = player


def split(player: str) -> tuple[str, int]:
    """Member and version of ``MEMBER:VERSION``."""
    member, _, version = player.partition(":")
    return member, int(version)


class FrozenNetworks:
    """``write(path, how)`` writes a file that the run's state refers to (``NeededFiles.write``)."""

    def __init__(
        self,
        directory: RunDirectory,
        spec: GameSpec,
        cache: int,
        device: str,
        write: Callable[[Path, Callable[[], object]], None],
    ) -> None:
        self._directory, self._spec, self._cache, self._device = directory, spec, cache, device
        self._write = write
        self._networks: OrderedDict[str, Network] = OrderedDict()  # by player, oldest use first
        self._unwritten: dict[str, Weights] = {}  # the disk may have refused them
        self.written: set[Path] = set()  #: files of this process; the state refers to them

    def path(self, player: str) -> Path:
        """Of the weights of ``MEMBER:VERSION``."""
        member, version = split(player)
        return self._directory.frozen.path(member, version)

    def keep(self, player: str, weights: Weights) -> None:
        """Writes the weights of a player that was frozen just now."""
        self._unwritten[player] = weights
        path = self.path(player)
        self.written.add(path)

        def save() -> None:
            self._directory.frozen.save(split(player)[0], weights)
            self._unwritten.pop(player, None)

        self._write(path, save)

    def weights(self, player: str) -> Weights:
        """Raises :class:`PlayerLost`."""
        kept = self._unwritten.get(player)
        if kept is not None:
            return kept
        try:
            return self._directory.frozen.load(*split(player))
        except (StorageError, OSError) as error:
            raise PlayerLost(player, str(error)) from error

    def network(self, player: str) -> Network:
        """The network that plays ``player``; at most ``cache`` stay in memory. Raises :class:`PlayerLost`."""
        network = self._networks.pop(player, None)
        if network is None:
            try:
                network = network_of(self.weights(player), self._spec, player, self._device).for_acting()
            except ConfigError as error:
                raise PlayerLost(player, str(error)) from error
        self._networks[player] = network
        while len(self._networks) > self._cache:
            self._networks.popitem(last=False)
        return network

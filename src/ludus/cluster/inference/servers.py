"""The inference servers of a run: started, watched, and replaced when they die.

The controller keeps references to all weights that servers need, so a successor gets them at once. Requests
that were open are asked again by the rollouts, and wait there for the weights that they name.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec
import ray

from ludus.cluster.checks import LOCAL_ADDRESS, check_alike, lacking
from ludus.cluster.inference.serving import Serving
from ludus.cluster.processes.actors import RolloutActor, RolloutLost, end_all
from ludus.cluster.processes.crew import MAX_DEATHS
from ludus.cluster.processes.starting import free_room, put_settings, wait_for_all
from ludus.cluster.session import all_cpus, all_gpus
from ludus.inference.shelves import KEPT_STOCKS, sampler_of
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError

IDLE_PLAYERS = 64  # frozen players that servers keep although no sampler needs them
BEAT_S = 0.5  # between two looks whether the servers live


@dataclass(slots=True)
class _Published:
    """References to weights that every server has.

    Attributes:
        settings: References to the settings of each sampler.
        versions: References by version, of each learner's name.
        players: References by number, of each frozen player's name.
        needed: Names of the frozen players that each sampler needs.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, dict[int, Any]] = field(default_factory=dict)
    players: OrderedDict[str, dict[int, Any]] = field(default_factory=OrderedDict)
    needed: dict[str, frozenset[str]] = field(default_factory=dict)


class InferenceServers:
    """N servers, one process each. Any thread may publish weights; a separate thread watches them."""

    def __init__(self, preset: Preset, report: Callable[[str], None] = lambda text: None) -> None:
        """Start the servers of ``preset``.

        Args:
            preset: Settings of the run.
            report: Called with a line now and then while machines are missing.

        Raises:
            ConfigError: Too few machines, or other ones.
        """
        self._preset, self._report = preset, report
        self._run = secrets.token_hex(4)
        self._published = _Published()
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self.deaths = 0  #: number of servers that were replaced
        cluster = preset.cluster
        if cluster.address == LOCAL_ADDRESS and (why := lacking(cluster, all_cpus(), all_gpus())):
            raise ConfigError(why, more=" on this machine")
        room = free_room()
        self._servers: list[RolloutActor] = []
        self._in_a_row = [0] * cluster.inference
        self._watch = threading.Thread(target=self._watch_all, name="servers", daemon=True)
        try:
            self._servers += [self._start(number) for number in range(cluster.inference)]
            alone = msgspec.structs.replace(cluster, rollouts=cluster.inference, inference=0)
            wait_for_all(self._servers, alone, room, report)
            spec, _ = resolve_spec(preset)
            calls = [server.ask("about", put_settings(preset)) for server in self._servers]
            for number, call in enumerate(calls):
                try:
                    check_alike(call.first(), spec.spec_hash)
                except RolloutLost as error:
                    raise ConfigError(error, where=f"inference server {number} did not start") from error
        except BaseException:
            end_all(self._servers)
            raise
        self._watch.start()

    def __len__(self) -> int:
        """Return the number of servers."""
        return len(self._servers)

    def address(self, number: int) -> str:
        """Return the name by which rollouts find a server and its successors."""
        return f"ludus-inference-{self._run}-{number}"

    def pids(self) -> list[int]:
        """Return the process ids of the servers."""
        return [server.ask("ping").first() for server in self._servers]

    def counts(self) -> list[tuple[int, int]]:
        """Return the calls of networks of each server, and the rows of all of them."""
        return [server.ask("counts").first() for server in self._servers]

    def _start(self, number: int) -> RolloutActor:
        cluster = self._preset.cluster
        return RolloutActor(
            cluster.cpus,
            cluster.gpus,
            Serving,
            kind=f"inference server {number}",
            address=self.address(number),
        )

    # ---- weights ---------------------------------------------------------------------------------

    def _tell(self, method: str, *arguments: object) -> None:
        """Call ``method`` of every server, without waiting for answers."""
        for server in self._servers:
            with suppress(RolloutLost):  # its successor gets all
                server.ask(method, *arguments)

    def register(self, sampler: str, settings: Any) -> None:  # noqa: ANN401
        """Serve the networks of a sampler; ``settings`` refers to what :func:`put_settings` made of them."""
        with self._lock:
            self._published.settings[sampler] = settings
            self._tell("register", sampler, settings)

    def publish(self, name: str, version: int, tensors: Any, keep: Collection[int]) -> None:  # noqa: ANN401
        """Serve a version of a learner's weights, and the earlier versions ``keep``.

        Args:
            name: Name of the network.
            version: Version of the weights.
            tensors: Reference to them.
            keep: Versions by which rollouts still play.
        """
        with self._lock:
            known = self._published.versions.get(name, {})
            if known.get(version) is tensors:  # sent for another lane
                return
            kept = {v: ref for v, ref in known.items() if v in keep} | {version: tensors}
            self._published.versions[name] = kept
            self._tell("publish", name, version, tuple(kept), tensors)

    def add(self, name: str, stock: int, weights: Any) -> None:  # noqa: ANN401
        """Serve a frozen player: the number ``stock`` of the weights of its name, a reference to them."""
        with self._lock:
            players = self._published.players
            kept = players.pop(name, {}) | {stock: weights}
            players[name] = {s: kept[s] for s in sorted(kept)[-KEPT_STOCKS:]}
            self._tell("add", name, stock, weights)

    def need(self, sampler: str, names: Collection[str]) -> None:
        """Keep the frozen players ``names`` of a sampler, and some of the players that it needed before."""
        with self._lock:
            players, all_needed = self._published.players, self._published.needed
            all_needed[sampler] = frozenset(names)
            for name in names:
                if name in players:
                    players.move_to_end(name)
            needed = frozenset[str]().union(*all_needed.values())
            idle = [name for name in players if name not in needed]
            if dropped := idle[: max(len(idle) - IDLE_PLAYERS, 0)]:
                for name in dropped:
                    del players[name]
                self._tell("drop", dropped)

    def has(self, name: str) -> bool:
        """Return whether the servers have the frozen player ``name``."""
        with self._lock:
            return name in self._published.players

    def forget(self, sampler: str) -> None:
        """Drop everything of a sampler that is closed."""
        with self._lock:
            published = self._published
            published.settings.pop(sampler, None)
            published.needed.pop(sampler, None)
            for kept in (published.versions, published.players):
                for name in [name for name in kept if sampler_of(name) == sampler]:
                    del kept[name]
            self._tell("forget", sampler)

    def _send_all(self, server: RolloutActor) -> None:
        """Send a successor everything that its predecessor had."""
        published = self._published
        for sampler, settings in published.settings.items():
            server.ask("register", sampler, settings)
        for name, versions in published.versions.items():
            for version, tensors in versions.items():
                server.ask("publish", name, version, tuple(versions), tensors)
        for name, stocks in published.players.items():
            for stock, weights in stocks.items():
                server.ask("add", name, stock, weights)

    # ---- deaths ----------------------------------------------------------------------------------

    def _watch_all(self) -> None:
        while not self._closing.wait(BEAT_S):
            for number, server in enumerate(self._servers):
                if self._closing.is_set():
                    return
                if server.lives():
                    self._in_a_row[number] = 0
                elif not self._closing.is_set() and self._in_a_row[number] < MAX_DEATHS:
                    self._replace(number, server)

    def _replace(self, number: int, lost: RolloutActor) -> None:
        """Start a successor. Without a machine for it, the next look tries again."""
        lost.kill()
        self._in_a_row[number] += 1
        try:
            successor = self._start(number)
        except (ValueError, ray.exceptions.RayError):  # the cluster has not noticed yet that the name is free
            self._in_a_row[number] -= 1
            return
        with self._lock:
            self.deaths += 1
            self._servers[number] = successor
            with suppress(RolloutLost):
                self._send_all(successor)
        self._report(f"inference server {number} ended; another one takes its place")

    def close(self) -> None:
        """End the servers. Idempotent."""
        self._closing.set()
        if self._watch.ident is not None:
            self._watch.join()
        end_all(self._servers)
        self._servers = []

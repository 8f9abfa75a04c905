"""The process of an inference server: networks of a run's samplers, and weights as they arrive."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import ray

from ludus.cluster.inference.orders import ServerPlace
from ludus.cluster.processes.private_folder import PrivateFolder
from ludus.cluster.received import ReceivedFiles
from ludus.cluster.rollout_part import RolloutPart
from ludus.cluster.sent_preset import SentPreset
from ludus.cluster.weights import arrays_of, digest_of
from ludus.evaluation.weights import network_of
from ludus.flow import Weights
from ludus.flow.slab import Array
from ludus.inference.deciding import Decider, Filling
from ludus.inference.server import InferenceServer
from ludus.inference.shelves import FIXED, NetworkRecipe, Shelves, name_of
from ludus.policies.protocol import Network
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.hardware import device_name
from ludus.rollouts.actor import Actor
from ludus.training.actor_learner.demonstrator import other_players
from ludus.training.actor_learner.sampler import first_network
from ludus.training.opponents import opponents_of, policy_ids

FOLDER = "ludus-inference-"
PATH_BYTES = 90  # of a folder for sockets, whose whole path has at most 107


class RunRecipe:
    """Makes the networks of a sampler by its settings (:class:`ludus.inference.shelves.NetworkRecipe`)."""

    def __init__(self, sampler: str, preset: Preset) -> None:
        """Make networks for the sampler with the name ``sampler``, which has the settings ``preset``."""
        self._sampler, self._preset = sampler, preset
        self._spec, self._params = resolve_spec(preset)
        self._device = device_name(preset)
        self._fixed: dict[str, Actor] | None = None

    def learner(self) -> Network:
        """See :meth:`NetworkRecipe.learner`."""
        return first_network(self._preset, self._spec).for_acting()

    def frozen(self, weights: Weights) -> Network:
        """See :meth:`NetworkRecipe.frozen`."""
        return network_of(weights, self._spec, f"snapshot {weights.meta.version}", self._device)

    def fixed(self, name: str) -> Actor:
        """See :meth:`NetworkRecipe.fixed`."""
        if self._fixed is None:
            ids = policy_ids(opponents_of(self._spec, self._preset))
            players = other_players(self._preset, self._spec, self._params, 0, ids)
            self._fixed = {
                name_of(self._sampler, FIXED, str(policy)): player.actor
                for policy, player in players.items()
                if player.actor is not None
            }
        return self._fixed[name]


class ServingThread:
    """A thread that decides for some of a server's rollouts, with networks that no other thread uses."""

    def __init__(self, path: str, recipe_of: Callable[[str], NetworkRecipe]) -> None:
        """Listen at ``path``. ``recipe_of``: see :class:`ludus.inference.shelves.Shelves`."""
        self.filling = Filling(joins=False)
        self.server = InferenceServer(path, self.filling)
        self.shelves = Shelves(recipe_of, self.server.wake)
        self.decider = Decider(self.shelves, lambda network: digest_of(arrays_of(network)))
        self.server.start(self.shelves, self.decider)


class Serving(RolloutPart):
    """An inference server. Weights arrive by calls, requests by sockets or by calls of rollouts elsewhere.

    On processors it has as many threads as rollouts, up to the processors of the machine: a rollout that
    waits for a decision needs none. On a GPU one thread decides for all.
    """

    def __init__(self, files: ReceivedFiles, node: str) -> None:
        """Start without threads.

        Args:
            files: Files of this process.
            node: Address of this machine.
        """
        super().__init__(files, node)
        parent = tempfile.gettempdir()
        self._folder = PrivateFolder("/tmp" if len(os.fsencode(parent)) > PATH_BYTES else parent, FOLDER)
        self._presets: dict[str, Preset] = {}
        self._threads: list[ServingThread] = []
        self._machine = ray.get_runtime_context().get_node_id()

    def _recipe(self, sampler: str) -> NetworkRecipe:
        return RunRecipe(sampler, self._presets[sampler])

    def place(self, seat: int) -> ServerPlace:
        """Return where the rollout number ``seat`` of this server is served. Raises ``ValueError``."""
        return ServerPlace(self._machine, self._thread(seat).server.path)

    def _thread(self, seat: int) -> ServingThread:
        if not self._threads:
            raise ValueError("no sampler is registered")
        return self._threads[seat % len(self._threads)]

    def register(self, sampler: str, sent: SentPreset) -> None:
        """Serve the networks of a sampler. Raises ``ConfigError`` for files that cannot be received."""
        preset = self._presets[sampler] = self._files.preset(sent)
        if not self._threads:
            paths = [str(Path(self._folder.path) / f"asks{i}") for i in range(thread_count(preset))]
            self._threads = [ServingThread(path, self._recipe) for path in paths]
        for thread in self._threads:
            thread.filling.joins = preset.run.lag == "async"  # elsewhere equal seeds give equal bits
            thread.shelves.register(sampler)

    def publish(self, name: str, version: int, keep: Collection[int], tensors: Mapping[str, Array]) -> None:
        """See :meth:`ludus.inference.shelves.Shelves.publish`."""
        for thread in self._threads:
            thread.shelves.publish(name, version, tensors, keep)

    def add(self, name: str, stock: int, weights: Weights) -> None:
        """See :meth:`ludus.inference.shelves.Shelves.add`."""
        for thread in self._threads:
            thread.shelves.add(name, stock, weights)

    def drop(self, names: Collection[str]) -> None:
        """See :meth:`ludus.inference.shelves.Shelves.drop`."""
        for thread in self._threads:
            thread.shelves.drop(names)

    def forget(self, sampler: str) -> None:
        """See :meth:`ludus.inference.shelves.Shelves.forget`."""
        for thread in self._threads:
            thread.shelves.forget(sampler)
        self._presets.pop(sampler, None)

    def decide(
        self, seat: int, data: bytes, arrays: Mapping[str, Array], seconds: float
    ) -> tuple[bytes, dict[str, Array]]:
        """Answer a request of a rollout on another machine. Raises ``ValueError`` for a malformed one."""
        return self._thread(seat).server.hand_over(data, arrays, seconds)

    def counts(self) -> tuple[int, int]:
        """Return the calls of networks so far, and the rows of all of them."""
        deciders = [thread.decider for thread in self._threads]
        return sum(decider.calls for decider in deciders), sum(decider.rows for decider in deciders)

    def leave(self) -> None:
        """Remove the sockets."""
        self._folder.remove()

    def close(self) -> None:
        """Stop serving. Idempotent."""
        for thread in self._threads:
            thread.server.close()
        self._folder.remove()


def thread_count(preset: Preset) -> int:
    """Return the threads of a server: one for each of its rollouts, on a GPU one."""
    cluster = preset.cluster
    if cluster.gpus > 0:
        return 1
    seats = -(-cluster.rollouts // max(cluster.inference, 1))
    return max(1, min(seats, len(os.sched_getaffinity(0))))

"""A server in this process, with small networks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from ludus.flow import GameSpec, Weights, WeightsMeta
from ludus.flow.slab import Array
from ludus.inference.client import InferenceClient, ServedActor
from ludus.inference.deciding import Decider, Filling
from ludus.inference.link import SocketLink
from ludus.inference.messages import NetworkCard
from ludus.inference.server import InferenceServer
from ludus.inference.shelves import Shelves, name_of
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.rollouts.actor import ActInput, Actor
from tests.unit.synthetic import make_spec, tensor

SPEC = make_spec((tensor("numbers", "f32", (6,)), tensor("others", "u8", (4,), scale=0.01)), (5, 3))
CONFIG = EncoderConfig(dense=(8,), hidden=(16,), memory="gru", memory_size=6)
NAME = name_of("sampler", "learner", "0")


def network(seed: int, spec: GameSpec = SPEC) -> PolicyNetwork:
    """Return a network that acts."""
    made = PolicyNetwork(CONFIG, spec)
    made.initialise(seed)
    made.eval()
    return made


def tensors(of: Network) -> dict[str, Array]:
    """Return copies of a network's tensors."""
    return {name: np.array(t.detach().numpy()) for name, t in of.state_dict().items()}


class SmallNetworks:
    """How the server makes networks (:class:`ludus.inference.shelves.NetworkRecipe`)."""

    def learner(self) -> Network:
        """Return a network with other weights."""
        return network(99)

    def frozen(self, weights: Weights) -> Network:
        """Return a frozen network."""
        made = network(98)
        made.load_state_dict({name: torch.from_numpy(np.array(a)) for name, a in weights.tensors.items()})
        return made

    def fixed(self, name: str) -> Actor:
        """Refuse: there are none."""
        raise KeyError(name)


@contextmanager
def server(folder: Path, joins: bool = False) -> Iterator[tuple[InferenceServer, Shelves, Decider]]:
    """Run a server in threads of this process."""
    made = InferenceServer(str(folder / "asks"), Filling(joins))
    shelves = Shelves(lambda sampler: SmallNetworks(), made.wake)
    decider = Decider(shelves, lambda network: f"digest of {sum(p.numel() for p in network.parameters())}")
    made.start(shelves, decider)
    shelves.register("sampler")
    try:
        yield made, shelves, decider
    finally:
        made.close()


def client_of(path: str, patience_s: float = 30.0) -> InferenceClient:
    """Return a client of the server that listens at ``path``."""
    return InferenceClient(0, lambda: SocketLink(path, len(SPEC.heads)), patience_s)


def card(version: int, name: str = NAME, stock: int | None = None) -> NetworkCard:
    """Return the card of a network."""
    inputs = tuple(t.name for t in SPEC.observation)
    return NetworkCard(name, version if stock is None else stock, version, "small", inputs, (6,))


def batch(rows: int, step: int, policies: tuple[tuple[int, int], ...] = (), seed: int = 0) -> ActInput:
    """Return a batch of random rows."""
    rng = np.random.default_rng(seed)
    return ActInput(
        {
            "numbers": rng.standard_normal((rows, 6)).astype(np.float32),
            "others": rng.integers(0, 99, (rows, 4)).astype(np.uint8),
        },
        np.ones((rows, 8), np.uint8),
        rng.standard_normal((rows, 6)).astype(np.float32),
        (rng.random(rows) < 0.3).astype(np.uint8),
        step,
        np.arange(10, 10 + rows, dtype=np.int32),
        policies,
    )


def weights(seed: int, version: int) -> Weights:
    """Return the weights of a frozen player."""
    return Weights(WeightsMeta(version, "", "", "", ""), tensors(network(seed)))


def acting(client: InferenceClient, version: int, seed: int = 7) -> ServedActor:
    """Return an actor of policy id 0."""
    return ServedActor(client, card(version), {0: seed})

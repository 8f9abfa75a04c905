"""A policy network as the evaluator of a search."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ludus.flow.errors import DIVERGED, NotFinite
from ludus.flow.finite import all_finite, first_of, not_finite
from ludus.mcts.evaluator import Floats, LeafBatch
from ludus.mcts.text import Seen
from ludus.policies.outputs import gives_q_values
from ludus.policies.protocol import Network
from ludus.policies.symmetry import Symmetries
from ludus.policies.transfer import downloaded, uploaded


class NetworkEvaluator:
    """Evaluator of positions by a network's probabilities and value.

    Networks with memory are refused, because a leaf has no history.
    """

    def __init__(
        self,
        network: Network,
        precision: str = "float32",
        *,
        symmetries: Seen = "one",
        seed: int = 0,
        rows: int = 0,
    ) -> None:
        """Prepare a network.

        Args:
            network: The network; its later weights are not seen.
            precision: ``float32`` or ``bfloat16``.
            symmetries: ``one``: positions as they are; ``random``: under one symmetry of the board, drawn for
                each batch (AlphaGo Zero's random symmetry); ``all``: under each symmetry, probabilities and
                values averaged, which costs one evaluation per symmetry.
            seed: Seed of random symmetries.
            rows: The usual batch size, if known; see :class:`ludus.policies.inference.Inference`.

        Raises:
            ValueError: The network has a memory, gives Q-values, or does not read a board.
        """
        if network.memory_shape is not None:
            raise ValueError("search does not support policies with memory, because leaves have no history")
        if gives_q_values(network.config):
            raise ValueError('search needs probabilities: expected weights with policy.output = "logits"')
        self.network = network
        self._board = network.board
        self._inference = self._board.inference(precision, rows) if self._board is not None else None
        if symmetries != "one" and self._board is None:
            raise ValueError(f'symmetries={symmetries} is for residual networks (policy.network = "resnet")')
        self._symmetries = None if symmetries == "one" else Symmetries(network.spec)
        alone = self._symmetries is None or self._symmetries.count == 1
        self._seen: Seen = "one" if alone else symmetries
        self._random = np.random.Generator(np.random.Philox(key=seed))

    def sibling(self, seed: int) -> NetworkEvaluator:
        """Return another evaluator with the same graph, for another thread."""
        other = object.__new__(NetworkEvaluator)
        other.network, other._board, other._inference = self.network, self._board, self._inference
        other._symmetries, other._seen = self._symmetries, self._seen
        other._random = np.random.Generator(np.random.Philox(key=seed))
        return other

    @torch.no_grad()
    def evaluate(self, batch: LeafBatch, count: int) -> tuple[Floats, Floats]:
        """Evaluate a batch, as :class:`ludus.mcts.evaluator.Evaluator`."""
        policy, value = self._outputs(batch, count)
        for name, array in (("prior", policy), ("value", value)):
            if not all_finite(array):
                self._refuse(name, array, batch, count)
        return policy, value

    def _refuse(self, name: str, outputs: Floats, batch: LeafBatch, count: int) -> None:
        """Raise ``NotFinite`` for ``outputs`` of the network that the tree would take for a bad move."""
        for tensor in self.network.inputs:
            if broken := not_finite(f"observation {tensor.name}", batch.obs[tensor.name][:count]):
                raise NotFinite(broken)
        raise NotFinite(
            f"the weights give {name} {first_of(outputs, ~np.isfinite(outputs))} for finite observations: "
            f"they have diverged; {DIVERGED}"
        )

    def _outputs(self, batch: LeafBatch, count: int) -> tuple[Floats, Floats]:
        device = self.network.device
        obs = {t.name: uploaded(batch.obs[t.name][:count], device) for t in self.network.inputs}
        if self._board is None:
            step = self.network.step(obs)
            return downloaded(torch.softmax(step.logits, dim=1)), downloaded(step.value.float())
        planes = self._board.boards(obs)
        if self._seen == "all":
            policy, value = self._averaged(planes)
        else:
            policy, value = self._under(planes, self._drawn() if self._seen == "random" else 0)
        return downloaded(policy), downloaded(value)

    def _drawn(self) -> int:
        assert self._symmetries is not None
        return int(self._random.integers(self._symmetries.count))

    def _under(self, planes: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Evaluate positions under symmetry ``k``."""
        assert self._inference is not None
        if k == 0 or self._symmetries is None:
            return self._inference(planes)
        policy, value = self._inference(self._symmetries.planes(planes, k))
        return self._symmetries.from_turned(policy, k), value

    def _averaged(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        assert self._symmetries is not None
        count = self._symmetries.count
        policy, value = (x.clone() for x in self._under(planes, 0))
        for k in range(1, count):
            more = self._under(planes, k)
            policy += more[0]
            value += more[1]
        return policy / count, value / count

"""A policy network as the evaluator of a search."""

from __future__ import annotations

import numpy as np
import torch

from ludus.policies.inference import Inference
from ludus.policies.network import PolicyNetwork
from ludus.policies.residual import ResidualNetwork
from ludus.policies.symmetry import Symmetries
from ludus.search.evaluator import Batch, Floats


class NetworkEvaluator:
    """Answers with a network's probabilities and value.

    With ``symmetries`` every batch is seen under one of the board's transformations, drawn anew for each
    (AlphaGo Zero's random symmetry, a batch at a time). ``rows``: how many most batches
    have, which is faster where it is known (:class:`ludus.policies.inference.Inference`). Networks with
    memory are refused: a leaf has no past.
    """

    def __init__(
        self,
        network: PolicyNetwork,
        precision: str = "float32",
        *,
        symmetries: bool = False,
        seed: int = 0,
        rows: int = 0,
    ) -> None:
        if network.memory_shape is not None:
            raise ValueError("a policy with memory cannot be searched with: leaves have no past")
        self.network = network
        self._inference = (
            Inference(network, precision, rows) if isinstance(network, ResidualNetwork) else None
        )
        self._symmetries = Symmetries(network.spec) if symmetries and self._inference is not None else None
        self._random = np.random.Generator(np.random.Philox(key=seed))

    def sibling(self, seed: int) -> NetworkEvaluator:
        """Another evaluator with the same graph, for another thread."""
        other = object.__new__(NetworkEvaluator)
        other.network, other._inference, other._symmetries = self.network, self._inference, self._symmetries
        other._random = np.random.Generator(np.random.Philox(key=seed))
        return other

    @torch.no_grad()
    def evaluate(self, batch: Batch, count: int) -> tuple[Floats, Floats]:
        """See :class:`ludus.search.evaluator.Evaluator`."""
        obs = {t.name: torch.from_numpy(batch.obs[t.name][:count]) for t in self.network.inputs}
        if self.network.device.type != "cpu":
            obs = {name: x.to(self.network.device, non_blocking=True) for name, x in obs.items()}
        if self._inference is None:
            step = self.network.step(obs)
            return torch.softmax(step.logits, dim=1).cpu().numpy(), step.value.float().cpu().numpy()
        assert isinstance(self.network, ResidualNetwork)
        planes = self.network.boards(obs)
        k = 0
        if self._symmetries is not None and self._symmetries.count > 1:
            k = int(self._random.integers(self._symmetries.count))
            planes = self._symmetries.planes(planes, k)
        policy, value = self._inference(planes)
        if k and self._symmetries is not None:
            policy = self._symmetries.from_turned(policy, k)
        return policy.cpu().numpy(), value.cpu().numpy()

"""A policy network as the evaluator of a search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
import torch
from torch import Tensor

from ludus.flow.errors import DIVERGED, NotFinite
from ludus.flow.inputs.finite import all_finite, first_of, not_finite
from ludus.flow.slab import Array
from ludus.mcts.evaluator import Floats, LeafBatch
from ludus.mcts.programs import BatchPrograms, padded_rows
from ludus.mcts.text import Seen
from ludus.policies.accelerator import Executor, executor_of
from ludus.policies.actions.outputs import gives_q_values
from ludus.policies.layers.symmetry import Symmetries
from ludus.policies.protocol import BoardInference, Network

_TURN = "turn"
_OBS = "obs."


class NetworkEvaluator:
    """Evaluator of positions by a network's probabilities and value. One thread at a time uses it.

    On the processor a batch runs the network's compiled copy. On an accelerator it runs a program: one copy
    up, one graph, one copy down. Siblings share one copy of the weights, which :meth:`load` replaces.

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
        executor: Executor | None = None,
    ) -> None:
        """Prepare a network.

        Args:
            network: The network; its later weights are not seen.
            precision: ``float32`` or ``bfloat16``.
            symmetries: ``one``: positions as they are; ``random``: under one symmetry of the board, drawn for
                each batch (AlphaGo Zero's random symmetry), on an accelerator for each position; ``all``:
                under each symmetry, probabilities and values averaged, which costs one evaluation per
                symmetry.
            seed: Seed of random symmetries.
            rows: The usual batch size, if known; see :class:`ludus.policies.inference.Inference`.
            executor: Executor of the network's device; None: the process's.

        Raises:
            ValueError: The network has a memory, gives Q-values, or does not read a board.
        """
        if network.memory_shape is not None:
            raise ValueError("search does not support policies with memory, because leaves have no history")
        if gives_q_values(network.config):
            raise ValueError('search needs probabilities: expected weights with policy.output = "logits"')
        self.network = network
        self._board = network.board
        if symmetries != "one" and self._board is None:
            raise ValueError(f'symmetries={symmetries} is for residual networks (policy.network = "resnet")')
        executor = executor or executor_of(network.device)
        self._inference: BoardInference | None = None
        if self._board is not None and executor.static:
            self._inference = self._board.shared_inference(precision)
        elif self._board is not None:
            self._inference = self._board.inference(precision, rows)
        self._symmetries = None if symmetries == "one" else Symmetries(network.spec)
        alone = self._symmetries is None or self._symmetries.count == 1
        self._seen: Seen = "one" if alone else symmetries
        self._random = np.random.Generator(np.random.Philox(key=seed))
        self._programs = BatchPrograms(executor, self._compute) if executor.static else None

    def sibling(self, seed: int, before: object = None) -> NetworkEvaluator:
        """Return another evaluator with the same weights, for another thread.

        Args:
            seed: Seed of its random symmetries.
            before: Evaluator of that thread so far. If it has the same weights, its programs stay in use.
        """
        other = object.__new__(NetworkEvaluator)
        other.network, other._board, other._inference = self.network, self._board, self._inference
        other._symmetries, other._seen = self._symmetries, self._seen
        other._random = np.random.Generator(np.random.Philox(key=seed))
        other._programs = None
        if self._programs is not None:
            theirs = before._programs if isinstance(before, NetworkEvaluator) else None
            kept = theirs is not None and theirs.same_function(self._programs)
            other._programs = theirs if kept else self._programs.sibling()
        return other

    def load(self, network: Network) -> bool:
        """Replace the weights, siblings' included, while no program runs.

        Returns:
            Whether they were replaced: not if this evaluator holds a compiled copy of others, or ``network``
            has another form.
        """
        board = network.board
        fits = network.architecture == self.network.architecture and network.device == self.network.device
        if self._programs is None or board is None or self._inference is None or not fits:
            return False
        board.refresh(self._inference)
        self.network = network
        return True

    @torch.no_grad()
    def evaluate(self, batch: LeafBatch, count: int) -> tuple[Floats, Floats]:
        """Evaluate a batch, as :class:`ludus.mcts.evaluator.Evaluator`."""
        if self._programs is None:
            policy, value = self._outputs(batch, count)
        else:
            policy, value = self._replayed(self._programs, batch, count)
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

    # ---- the processor ---------------------------------------------------------------------------

    def _outputs(self, batch: LeafBatch, count: int) -> tuple[Floats, Floats]:
        obs = {t.name: torch.from_numpy(batch.obs[t.name][:count]) for t in self.network.inputs}
        if self._board is None:
            policy, value = self._decided(obs)
        elif self._seen == "all":
            policy, value = self._averaged(self._board.boards(obs))
        else:
            policy, value = self._under(self._board.boards(obs), self._drawn())
        return policy.numpy(), value.numpy()

    def _drawn(self) -> int:
        if self._symmetries is None or self._seen != "random":
            return 0
        return int(self._random.integers(self._symmetries.count))

    # ---- an accelerator --------------------------------------------------------------------------

    def _replayed(self, programs: BatchPrograms, batch: LeafBatch, count: int) -> tuple[Floats, Floats]:
        """Evaluate as many rows as the next larger program has: rows beyond ``count`` hold older leaves."""
        rows = padded_rows(count, batch.rows)
        arrays: dict[str, Array] = {_OBS + t.name: batch.obs[t.name][:rows] for t in self.network.inputs}
        if self._seen == "random":
            assert self._symmetries is not None
            arrays[_TURN] = self._random.integers(self._symmetries.count, size=rows)
        outputs = programs(rows, arrays)
        policy, value = (cast(Floats, outputs[name][:count]) for name in ("policy", "value"))
        return policy, value

    @torch.no_grad()
    def _compute(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Evaluate positions: the function of the programs of this evaluator and its siblings."""
        obs = {t.name: inputs[_OBS + t.name] for t in self.network.inputs}
        if self._board is None:
            policy, value = self._decided(obs)
        elif self._seen == "all":
            policy, value = self._averaged(self._board.boards(obs))
        elif self._seen == "random":
            policy, value = self._each_under(self._board.boards(obs), inputs[_TURN])
        else:
            policy, value = self._under(self._board.boards(obs), 0)
        return {"policy": policy, "value": value}

    def _each_under(self, planes: Tensor, turns: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluate each position under its own of ``turns: int64[N]``."""
        assert self._inference is not None
        assert self._symmetries is not None
        policy, value = self._inference(self._symmetries.each(turns).planes(planes))
        return self._symmetries.turned_back(policy, turns), value

    # ---- both ------------------------------------------------------------------------------------

    def _decided(self, obs: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Evaluate positions by a network that does not read a board."""
        step = self.network.step(obs)
        return torch.softmax(step.logits, dim=1), step.value.float()

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


def current_evaluator(
    network: Network,
    precision: str = "float32",
    *,
    symmetries: Seen = "one",
    rows: int = 0,
    before: NetworkEvaluator | None = None,
) -> NetworkEvaluator:
    """Return an evaluator with the present weights of a network, while no program of ``before`` runs.

    Args:
        network: The network.
        precision: As of :class:`NetworkEvaluator`.
        symmetries: As of :class:`NetworkEvaluator`.
        rows: As of :class:`NetworkEvaluator`.
        before: An earlier evaluator with the same options. On an accelerator it gets the weights and is
            returned, so that its programs and its siblings' stay in use.
    """
    if before is not None and before.load(network):
        return before
    return NetworkEvaluator(network, precision, symmetries=symmetries, rows=rows)

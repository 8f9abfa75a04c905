"""Programs over a whole slab on an accelerator: its evaluation, and the statistics of normalisers and norms.

``T`` steps, ``R`` rows, ``K`` value heads. The slab is on a :class:`SlabMirror`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from ludus.algorithms.returns import Floats
from ludus.algorithms.updates.samples import Samples
from ludus.algorithms.updates.slab_mirror import SlabMirror
from ludus.flow.slab import Array, Slab
from ludus.policies.accelerator import Compute, Executor, Program, Stream
from ludus.policies.actions.action_distribution import ActionDistribution
from ludus.policies.layers.batch_norm import NormSums
from ludus.policies.network import PolicyNetwork


class SlabPrograms:
    """Programs of one learner's network. One thread at a time uses them."""

    def __init__(
        self,
        executor: Executor,
        stream: Stream,
        network: PolicyNetwork,
        norm_sums: NormSums,
        slab: Slab,
        chunk: int,
    ) -> None:
        """Make programs when they are first needed.

        Args:
            executor: Maker of the programs.
            stream: Stream of the learner, on which everything runs in order.
            network: Network that learns.
            norm_sums: Sums of its batch norms over an update.
            slab: A slab of the shape that all have.
            chunk: Number of time steps, or with learned memory of rows, evaluated at once.
        """
        self.executor, self.stream, self.network, self.norm_sums = executor, stream, network, norm_sums
        self.mirror = SlabMirror(executor, stream, network, slab)
        self._chunk = max(1, chunk)
        self._made: dict[str, Program] = {}
        self._moments: tuple[Floats, Floats] | None = None  # mean and deviation of returns

    # ---- an update ---------------------------------------------------------------------------------

    def load(self, samples: Samples) -> None:
        """Upload the slab of an update, and compute what a policy recalls at each time step."""
        self._moments = None
        self.mirror.load(samples)
        if self.mirror.recalled is not None:
            self._program("recall", self._recall, {}, [self.mirror.recalled]).send({})

    def evaluate(self, samples: Samples, value: Floats, log_prob: Floats) -> None:
        """Write values and log-probabilities: see :func:`ludus.algorithms.updates.forward.evaluate`."""
        out = self._program("evaluate", self._evaluate, {})({})
        seen = samples.learner_mask.reshape(-1)
        value.reshape(self.mirror.observed, *value.shape[2:])[seen] = out["value"][seen]
        decided = seen[: self.mirror.decided]
        log_prob.reshape(-1)[decided] = out["log_prob"][decided]

    def absorb_returns(self, targets: Floats) -> None:
        """Add value targets ``[N]`` or ``[N, K]``; see :meth:`ValueNormaliser.absorb`."""
        values, head = self.network.values, self.network.value_head
        if values is None or not len(targets):
            return
        wide = targets.astype(np.float64)
        given = {"mean": np.asarray(wide.mean(axis=0)), "square": np.asarray(np.square(wide).mean(axis=0))}
        state = [values.mean, values.square, values.weight, head.weight, head.bias]
        self._set_moments(self._program("returns", self._absorb_returns, given, state)(given))
        values.reread()

    def normalised(self, values: Floats) -> Floats:
        """Return ``[..., ]`` or ``[..., K]`` in the game's units as the value head predicts them."""
        if self.network.values is None:
            return values
        if self._moments is None:
            self._set_moments(self._program("moments", self._show_moments, {})({}))
        assert self._moments is not None
        mean, deviation = self._moments
        normalised: Floats = (values - mean) / deviation
        return normalised

    def absorb_observations(self) -> None:
        """Add the observations of trained decisions; see :meth:`ObservationNormaliser.absorb`."""
        normaliser = self.network.normaliser
        if normaliser is None:
            return
        state = [normaliser.mean, normaliser.variance, normaliser.count]
        self._program("observations", self._absorb_observations, {}, state).send({})

    def absorb_norms(self) -> None:
        """Refresh the batch norms' statistics by the sums of the update's steps."""
        norms = self.norm_sums.norms
        if norms:
            state = [x for norm in norms for x in (norm.mean, norm.variance, norm.weight)]
            self._program("norms", self._absorb_norms, {}, state).send({})

    def _set_moments(self, out: Mapping[str, Array]) -> None:
        mean, deviation = (np.asarray(out[name], np.float64) for name in ("mean", "deviation"))
        self._moments = mean.astype(np.float32), deviation.astype(np.float32)

    def _program(
        self, name: str, compute: Compute, examples: Mapping[str, Array], state: Sequence[Tensor] = ()
    ) -> Program:
        if name not in self._made:
            self._made[name] = self.executor.program(compute, examples, self.stream, state)
        return self._made[name]

    def _parts(self, start: int, stop: int) -> Iterator[slice]:
        """Return slices of at most a chunk of the time steps from ``start`` to ``stop``."""
        for first in range(start, stop, self._chunk):
            yield slice(first, min(first + self._chunk, stop))

    # ---- computations ------------------------------------------------------------------------------

    @torch.no_grad()
    def _recall(self, _: Mapping[str, Tensor]) -> dict[str, Tensor]:
        obs, first, active, memory = self.mirror.sequences(
            torch.arange(self.mirror.rows, device=self.mirror.device)
        )
        assert self.mirror.recalled is not None
        self.mirror.recalled.copy_(self.network.recalled(obs, first, active, memory))
        return {}

    @torch.no_grad()
    def _evaluate(self, _: Mapping[str, Tensor]) -> dict[str, Tensor]:
        if self.network.recurrent is not None:
            return self._evaluate_rows()
        mirror, network = self.mirror, self.network
        values: list[Tensor] = []
        log_probs: list[Tensor] = []
        for part in self._parts(0, mirror.decided):
            distribution, value = self._flat(part)
            values.append(value)
            log_probs.append(distribution.evaluate(mirror.masks(part), mirror.actions(part)).log_prob)
        values += [self._flat(part)[1] for part in self._parts(mirror.decided, mirror.observed)]
        return {
            "value": network.denormalise(torch.cat(values)).float(),
            "log_prob": torch.cat(log_probs),
        }

    def _flat(self, part: slice) -> tuple[ActionDistribution, Tensor]:
        """Return what :meth:`PolicyNetwork.flat` gives for adjoining time steps."""
        mirror = self.mirror
        return self.network.flat(mirror.observations(part), mirror.recalled_at(part), mirror.others(part))

    def _evaluate_rows(self) -> dict[str, Tensor]:
        """Evaluate rows from t = 0 on."""
        mirror, network = self.mirror, self.network
        values: list[Tensor] = []
        log_probs: list[Tensor] = []
        for rows in self._parts(0, mirror.rows):
            index = torch.arange(rows.start, rows.stop, device=mirror.device)
            obs, first, active, memory = mirror.sequences(index)
            out = network.sequence(obs, memory, first, active, mirror.mates(index))
            values.append(out.value)
            steps = mirror.steps_of(index, mirror.steps)
            decided = out.distribution.select(torch.arange(len(steps), device=mirror.device))
            evaluated = decided.evaluate(mirror.masks(steps), mirror.actions(steps))
            log_probs.append(evaluated.log_prob.reshape(mirror.steps, -1))
        value = network.denormalise(torch.cat(values, dim=1)).float()
        return {"value": value.flatten(0, 1), "log_prob": torch.cat(log_probs, dim=1).flatten()}

    @torch.no_grad()
    def _show_moments(self, _: Mapping[str, Tensor]) -> dict[str, Tensor]:
        values = self.network.values
        assert values is not None
        mean, deviation = values.moment_tensors()
        return {"mean": mean, "deviation": deviation}

    @torch.no_grad()
    def _absorb_returns(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Update the statistics and rescale the value head, as the normaliser does on the processor."""
        values, head = self.network.values, self.network.value_head
        assert values is not None
        old_mean, old_deviation = values.moment_tensors()
        old = values.weight * values.decay
        total = old + 1.0
        values.mean.mul_(old).add_(inputs["mean"]).div_(total)
        values.square.mul_(old).add_(inputs["square"]).div_(total)
        values.weight.copy_(total)
        mean, deviation = values.moment_tensors()
        keep = old == 0.0  # the first returns move the predictions
        scale = torch.where(keep, torch.ones_like(deviation), old_deviation / deviation)
        head.weight.mul_(scale.to(head.weight.dtype).reshape(-1, 1))
        bias = (head.bias.double() * old_deviation + old_mean - mean) / deviation
        head.bias.copy_(torch.where(keep, head.bias.double(), bias))
        return {"mean": mean, "deviation": deviation}

    def _absorb_norms(self, _: Mapping[str, Tensor]) -> dict[str, Tensor]:
        self.norm_sums.absorb()
        return {}

    @torch.no_grad()
    def _absorb_observations(self, _: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Merge mean and variance (Chan, Golub, LeVeque 1983), in two passes over the slab."""
        normaliser = self.network.normaliser
        assert normaliser is not None
        trained = self.mirror.trained != 0
        count = trained.sum().double()

        def summed(of: Callable[[Tensor], Tensor]) -> Tensor:
            total = torch.zeros_like(normaliser.mean, dtype=torch.float64)
            for part in self._parts(0, self.mirror.decided):
                vectors = self.network.vectors(self.mirror.observations(part))
                assert vectors is not None
                some = of(vectors.double())
                total += torch.where(trained[part].unsqueeze(1), some, torch.zeros_like(some)).sum(dim=0)
            return total

        mean = summed(lambda x: x) / count
        variance = summed(lambda x: (x - mean).square()) / count
        old = normaliser.count.clone()
        total = old + count
        delta = mean - normaliser.mean.double()
        merged = (
            normaliser.variance.double() * old + variance * count + delta.square() * (old * count / total)
        )
        normaliser.mean.copy_(normaliser.mean.double() + delta * (count / total))
        normaliser.variance.copy_(merged / total)
        normaliser.count.copy_(total)
        return {}

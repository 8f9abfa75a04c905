"""The learner of APPO: slabs in, weights out (Petrenko et al. 2020, section 3; Espeholt et al. 2018).

One update: decisions of the learned policy are picked from the slab; where they are older than the
learner's weights and ``vtrace`` is on, one forward pass gives today's probabilities and values; returns; then
epochs of minibatches. A minibatch's gradient is the sum over micro-batches that fit the cache,
each differentiated as a task of its own (``plan.py``) and added in a fixed order, so that the bits do not
depend on how many threads worked.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.algorithms.appo.config import AppoConfig
from ludus.algorithms.appo.loss import appo_loss
from ludus.algorithms.appo.samples import Index, Samples, pieces, steps_of
from ludus.algorithms.learner import UpdateStats
from ludus.algorithms.parameters import Adam, FlatParameters, replica_of
from ludus.algorithms.returns import transitions, vtrace
from ludus.algorithms.tasks import Task, UpdatePlan
from ludus.flow import GameSpec, Slab, Weights, WeightsMeta
from ludus.flow.slab import Array
from ludus.policies.action_distribution import ActionDistribution
from ludus.policies.config import PolicyConfig
from ludus.policies.network import PolicyNetwork

Floats = npt.NDArray[np.float32]


#: numbers of an update, in the order of :class:`LossTerms` first; 0 where nothing was trained on
NUMBERS = (
    "loss/policy",
    "loss/value",  # in normalised units
    "policy/entropy",  # nats
    "policy/kl",  # behaviour to learner, nats
    "policy/clip_fraction",
    "value/explained_variance",  # of value targets by the values of the behaviour policy
    "value/target_mean",
    "rollout/reward_mean",  # a decision, after scaling
    "learner/learning_rate",
    "learner/grad_norm",  # before clipping, mean over minibatches
)


class AppoLearner:
    """Owns the master network, its optimiser and its normalisers.

    ``workers``: how many threads may run tasks of one update at once. One thread at a time begins
    updates, reads ``weights()`` or ``state()``; never while an update is unfinished.
    """

    def __init__(
        self,
        config: AppoConfig,
        policy: PolicyConfig,
        spec: GameSpec,
        *,
        seed: int,
        workers: int = 1,
        device: str = "cpu",
        precision: str = "float32",
        frame_skip: int = 1,
    ) -> None:
        self.config, self.spec, self.seed, self.frame_skip = config, spec, seed, frame_skip
        self.network = PolicyNetwork(policy, spec, seed, precision).to(device)
        self.parameters = FlatParameters(self.network)
        self.adam = Adam(self.parameters.size, config.adam_betas, config.adam_eps, self.network.device)
        self.version = 0
        self.steps = 0  # decisions trained on, each counted once
        self._replicas = [cast(PolicyNetwork, replica_of(self.network)) for _ in range(max(workers, 1))]
        self._gradients: list[Tensor] = []
        self._plan: UpdatePlan | None = None
        self._stats = UpdateStats(0, 0)

    # ---- the outside -----------------------------------------------------------------------------

    def begin(self, slab: Slab, progress: float = 0.0) -> UpdatePlan:
        """Starts an update; nothing runs until someone helps the plan.

        ``progress`` in [0, 1]: share of the run's budget that is spent, for schedules. ``slab`` must not
        change until the plan is done; then call :meth:`finish`.
        """
        if self._plan is not None:
            raise RuntimeError("the previous update has not been finished")
        if 0 not in slab.memory and self.network.memory_shape is not None:
            raise ValueError("the policy has memory; slab.memory must hold it at t = 0")
        self._plan = UpdatePlan(self._stages(slab, min(max(progress, 0.0), 1.0)))
        return self._plan

    def finish(self) -> UpdateStats:
        """Waits for the update that :meth:`begin` started. The new weights have ``self.version``."""
        if self._plan is None:
            raise RuntimeError("no update was begun")
        plan, self._plan = self._plan, None
        plan.wait()
        return self._stats

    def update(self, slab: Slab, progress: float = 0.0) -> UpdateStats:
        """A whole update in the calling thread."""
        self.begin(slab, progress).help(0)
        return self.finish()

    def weights(self) -> Weights:
        """Copies of all parameters and normalisers with their version."""
        tensors = {n: t.detach().cpu().numpy().copy() for n, t in self.network.state_dict().items()}
        meta = WeightsMeta(
            version=self.version,
            spec_hash=self.spec.spec_hash,
            architecture=self.network.architecture,
            spec=msgspec.json.encode(self.spec).decode(),
            game=self.spec.name,
            frame_skip=self.frame_skip,
            steps=self.steps,
        )
        return Weights(meta, cast(dict[str, Array], tensors))

    @torch.no_grad()
    def copy_to(self, network: PolicyNetwork) -> int:
        """Makes an acting network of the same configuration equal to this one; returns the version."""
        mine = self.network.state_dict()
        for name, tensor in network.state_dict().items():
            tensor.copy_(mine[name])
        return self.version

    def state(self) -> tuple[dict[str, Array], dict[str, int]]:
        """Everything that a bit-equal continuation needs: arrays by name, and counters."""
        arrays = {
            f"network.{n}": t.detach().cpu().numpy().copy() for n, t in self.network.state_dict().items()
        }
        arrays |= {f"adam.first.{n}": a for n, a in self.parameters.named(self.adam.first).items()}
        arrays |= {f"adam.second.{n}": a for n, a in self.parameters.named(self.adam.second).items()}
        counters = {
            "version": self.version,
            "steps": self.steps,
            "adam_steps": self.adam.steps,
            "seed": self.seed,
        }
        return arrays, counters

    @torch.no_grad()
    def load_state(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        """Back to a :meth:`state`. ``ValueError`` naming what is missing or of the wrong shape."""
        for name, tensor in self.network.state_dict().items():
            array = arrays.get(f"network.{name}")
            if array is None or tuple(array.shape) != tuple(tensor.shape):
                found = "nothing" if array is None else f"shape {tuple(array.shape)}"
                raise ValueError(
                    f"learner state: network.{name}: expected {tuple(tensor.shape)}, found {found}"
                )
            tensor.copy_(torch.from_numpy(np.array(array)))
        for kind, vector in (("first", self.adam.first), ("second", self.adam.second)):
            prefix = f"adam.{kind}."
            part = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            self.parameters.fill(vector, part, f"learner state: adam.{kind}")
        for name in ("version", "steps", "adam_steps", "seed"):
            if name not in counters:
                raise ValueError(f"learner state: no counter {name!r}")
        self.version, self.steps = counters["version"], counters["steps"]
        self.adam.steps, self.seed = counters["adam_steps"], counters["seed"]

    # ---- one update ------------------------------------------------------------------------------

    def _stages(self, slab: Slab, progress: float) -> Iterator[Sequence[Task]]:
        config = self.config
        samples = Samples(slab, self.network)
        stats = self._stats = UpdateStats(self.version + 1, 0, numbers=dict.fromkeys(NUMBERS, 0.0))
        lags = self.version - slab.version[samples.learner_mask[:-1]]
        stats.lag = {int(v): int(n) for v, n in zip(*np.unique(lags, return_counts=True), strict=True)}

        value, log_prob = slab.value, slab.log_prob
        ratio: Floats | None = None
        if config.vtrace and bool((lags > 0).any()):
            value, log_prob = slab.value.copy(), slab.log_prob.copy()
            yield self._evaluations(samples, value, log_prob)
            ratio = np.exp(log_prob - slab.log_prob)

        moves = transitions(
            self._rewards(slab),
            slab.terminated != 0,
            slab.truncated != 0,
            slab.final_value,
            value,
            samples.learner_mask,
        )
        returns = vtrace(
            moves,
            value,
            discount=config.discount,
            gae_lambda=config.gae_lambda,
            ratio=ratio,
            rho_clip=config.rho_clip,
            c_clip=config.c_clip,
        )
        trained = np.flatnonzero(returns.valid)
        stats.samples = len(trained)
        if len(trained) > 0:
            targets = returns.target.reshape(-1)[trained]
            self._absorb_returns(targets)
            stats.numbers["rollout/reward_mean"] = float(moves.reward.reshape(-1)[trained].mean())
            stats.numbers["value/target_mean"] = float(targets.mean())
            stats.numbers["value/explained_variance"] = _explained(
                targets, slab.value[:-1].reshape(-1)[trained]
            )
            batch = _Batch(
                samples,
                self._standardised(returns.advantage, trained),
                self._normalised(returns.target),
                self._normalised(slab.value[:-1]),
                returns.valid,
            )
            yield from self._epochs(batch, progress, stats)
            self._absorb_observations(samples, trained)
        self.version += 1
        self.steps += stats.samples

    def _rewards(self, slab: Slab) -> Floats:
        reward: Floats = slab.reward * np.float32(self.config.reward_scale)
        if self.config.reward_clip > 0.0:
            np.clip(reward, -self.config.reward_clip, self.config.reward_clip, out=reward)
        return reward

    def _standardised(self, advantage: Floats, trained: Index) -> Floats:
        """Advantages of the trained moments to mean 0 and deviation 1, over the whole slab."""
        if not self.config.normalise_advantages:
            return advantage
        picked = advantage.reshape(-1)[trained].astype(np.float64)
        standard: Floats = (advantage - np.float32(picked.mean())) / np.float32(picked.std() + 1e-8)
        return standard

    def _normalised(self, values: Floats) -> Floats:
        normalised: Tensor = self.network.normalise(torch.from_numpy(values)).float()
        array: Floats = np.asarray(normalised.numpy(), np.float32)
        return array

    def _absorb_returns(self, targets: Floats) -> None:
        if self.network.values is not None and self.config.normalise_returns:
            self.network.values.absorb(torch.from_numpy(targets), self.network.value_head)

    def _absorb_observations(self, samples: Samples, trained: Index) -> None:
        """After the gradients, so that behaviour and learner agree on the statistics at lag 0."""
        if self.network.normaliser is None:
            return
        vectors = [self.network.vectors(samples.observations(part)) for part in pieces(trained, 8192)]
        self.network.normaliser.absorb(torch.cat([v for v in vectors if v is not None]))

    # ---- today's values and probabilities --------------------------------------------------------

    def _evaluations(self, samples: Samples, value: Floats, log_prob: Floats) -> list[Task]:
        """Tasks that overwrite ``value[T+1, R]`` and ``log_prob[T, R]`` where ``learner_mask`` is set."""
        if self.network.recurrent is None:
            moments = pieces(np.flatnonzero(samples.learner_mask), self.config.micro_batch)
            return [functools.partial(self._evaluate_steps, samples, m, value, log_prob) for m in moments]
        rows = pieces(
            np.flatnonzero(samples.learner_mask.any(axis=0)),
            max(1, self.config.micro_batch // samples.slab.steps),
        )
        return [functools.partial(self._evaluate_rows, samples, r, value, log_prob) for r in rows]

    @torch.no_grad()
    def _evaluate_steps(
        self, samples: Samples, index: Index, value: Floats, log_prob: Floats, worker: int
    ) -> None:
        network = self._replicas[worker]
        distribution, values = network.flat(samples.observations(index), samples.recalled(index))
        self._store(samples, index, distribution, values, value, log_prob)

    @torch.no_grad()
    def _evaluate_rows(
        self, samples: Samples, rows: Index, value: Floats, log_prob: Floats, worker: int
    ) -> None:
        network = self._replicas[worker]
        steps = samples.slab.steps + 1
        index = steps_of(rows, steps, samples.slab.rows)
        obs, first, active = samples.sequences(rows, steps)
        out = network.sequence(obs, samples.memory(rows), first, active)
        keep = samples.learner_mask.reshape(-1)[index]
        chosen = samples.tensor(keep)
        self._store(
            samples,
            index[keep],
            out.distribution.select(chosen),
            out.value.flatten()[chosen],
            value,
            log_prob,
        )

    def _store(
        self,
        samples: Samples,
        index: Index,
        distribution: ActionDistribution,
        values: Tensor,
        value: Floats,
        log_prob: Floats,
    ) -> None:
        value.reshape(-1)[index] = self.network.denormalise(values).float().cpu().numpy()
        decided = index < log_prob.size  # moments at T have no decision
        index = index[decided]
        evaluated = distribution.select(samples.tensor(decided)).evaluate(
            samples.masks(index), samples.actions(index)
        )
        log_prob.reshape(-1)[index] = evaluated.log_prob.cpu().numpy()

    # ---- gradients -------------------------------------------------------------------------------

    def _epochs(self, batch: _Batch, progress: float, stats: UpdateStats) -> Iterator[Sequence[Task]]:
        config = self.config
        recurrent = self.network.recurrent is not None
        units = np.flatnonzero(batch.valid.any(axis=0)) if recurrent else np.flatnonzero(batch.valid)
        size = max(1, config.micro_batch // batch.valid.shape[0]) if recurrent else config.micro_batch
        rate = config.learning_rate * (1.0 - progress if config.learning_rate_schedule == "linear" else 1.0)
        entropy = config.entropy_coefficient + progress * (
            config.entropy_coefficient_final - config.entropy_coefficient
        )
        stats.numbers["learner/learning_rate"] = rate
        sums = np.zeros(5)
        norms = []
        for epoch in range(config.epochs):
            shuffle = np.random.Generator(np.random.Philox(key=[self.seed, self.version * 64 + epoch]))
            for minibatch in np.array_split(shuffle.permutation(units), config.minibatches):
                parts = list(pieces(minibatch, size))
                if not parts:
                    continue
                results = np.zeros((len(parts), 6))
                while len(self._gradients) < len(parts):
                    self._gradients.append(torch.empty_like(self.parameters.vector))
                differentiate = self._row_gradient if recurrent else self._step_gradient
                yield [
                    functools.partial(differentiate, batch, part, entropy, self._gradients[i], results[i])
                    for i, part in enumerate(parts)
                ]
                norms.append(self._apply(len(parts), float(results[:, 5].sum()), rate))
                sums += results[:, :5].sum(axis=0)
        stats.learned = stats.samples * config.epochs
        stats.numbers |= {name: float(x) / stats.learned for name, x in zip(NUMBERS[:5], sums, strict=True)}
        stats.numbers["learner/grad_norm"] = float(np.mean(norms))

    def _step_gradient(
        self,
        batch: _Batch,
        index: Index,
        entropy: float,
        out: Tensor,
        result: npt.NDArray[np.float64],
        worker: int,
    ) -> None:
        network = self._replicas[worker]
        samples = batch.samples
        distribution, values = network.flat(samples.observations(index), samples.recalled(index))
        self._gradient(batch, network, index, distribution, values, entropy, out, result)

    def _row_gradient(
        self,
        batch: _Batch,
        rows: Index,
        entropy: float,
        out: Tensor,
        result: npt.NDArray[np.float64],
        worker: int,
    ) -> None:
        network, samples = self._replicas[worker], batch.samples
        steps = samples.slab.steps
        index = steps_of(rows, steps, samples.slab.rows)
        obs, first, active = samples.sequences(rows, steps)
        outputs = network.sequence(obs, samples.memory(rows), first, active)
        keep = batch.valid.reshape(-1)[index]
        chosen = samples.tensor(keep)
        self._gradient(
            batch,
            network,
            index[keep],
            outputs.distribution.select(chosen),
            outputs.value.flatten()[chosen],
            entropy,
            out,
            result,
        )

    def _gradient(
        self,
        batch: _Batch,
        network: PolicyNetwork,
        index: Index,
        distribution: ActionDistribution,
        values: Tensor,
        entropy: float,
        out: Tensor,
        result: npt.NDArray[np.float64],
    ) -> None:
        """Gradient of the loss summed over moments ``index`` into ``out``, its terms into ``result``."""
        samples = batch.samples
        evaluated = distribution.evaluate(samples.masks(index), samples.actions(index))

        def pick(array: Floats) -> Tensor:
            return samples.tensor(array.reshape(-1).take(index))

        loss = appo_loss(
            self.config,
            log_prob=evaluated.log_prob,
            behaviour_log_prob=pick(samples.slab.log_prob),
            advantage=pick(batch.advantage),
            entropy=evaluated.entropy,
            value=values,
            old_value=pick(batch.old_value),
            target=pick(batch.target),
            entropy_coefficient=entropy,
        )
        self.parameters.gradient(loss.total, network, out)
        terms = (loss.policy, loss.value, loss.entropy, loss.kl, loss.clipped)
        result[:5] = torch.stack([x.detach().double() for x in terms]).cpu().numpy()
        result[5] = len(index)

    def _apply(self, parts: int, count: float, rate: float) -> float:
        """Adds the micro-batches' gradients in their order, clips, steps. Returns the norm."""
        total = self._gradients[0]
        for i in range(1, parts):
            total.add_(self._gradients[i])
        total.div_(count)
        norm = float(total.norm())
        if 0.0 < self.config.max_grad_norm < norm:
            total.mul_(self.config.max_grad_norm / norm)
        self.adam.step(self.parameters.vector, total, rate)
        return norm


@dataclass(frozen=True, slots=True)
class _Batch:
    """What the gradients of one update read. ``[T, R]`` each, values and targets normalised."""

    samples: Samples
    advantage: Floats
    target: Floats
    old_value: Floats
    valid: npt.NDArray[np.bool_]


def _explained(targets: Floats, values: Floats) -> float:
    """1 - Var(target - value) / Var(target); 0 where targets do not vary."""
    variance = float(targets.var())
    return 1.0 - float((targets - values).var()) / variance if variance > 1e-12 else 0.0

"""Learner of AlphaZero: positions in, weights out.

On the processor a minibatch is cut into as many parts as there are threads; each part is differentiated by a
replica with batch normalisation over that part, and the gradients are added in a fixed order. On an
accelerator a minibatch is one program. Each position is read under its own symmetry of the board, drawn from
the seed, on every device.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.algorithms.alphazero.loss import alphazero_loss, ends_loss, masked_log_probs
from ludus.algorithms.alphazero.minibatch_program import Learned, MinibatchProgram
from ludus.algorithms.alphazero.samples import Positions
from ludus.algorithms.config import AlphaZeroConfig
from ludus.algorithms.learner import LearnerContext, UpdateStats
from ludus.algorithms.loss import Loss
from ludus.algorithms.updates.optimiser import (
    SGD,
    AdamW,
    ProgramOptimiser,
    clip_by_norm,
    load_optimiser_state,
    optimiser_state,
    under,
)
from ludus.algorithms.updates.parameters import FlatParameters, replica_of, summed, tensors_of
from ludus.flow import Weights, WeightsMeta
from ludus.flow.process.as_found import one_thread
from ludus.flow.slab import Array
from ludus.policies.accelerator import Executor, executor_of
from ludus.policies.factory import build_network
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.layers.symmetry import RowTurns, Symmetries
from ludus.policies.protocol import BoardOutputs, Network
from ludus.policies.transfer import uploaded

_OBS, _SCALE = "obs.", "ends_scale"  # inputs of a minibatch


@dataclass(slots=True)
class _Sums:
    """Numbers of several minibatches."""

    numbers: dict[str, float] = field(default_factory=dict)
    norms: float = 0.0

    def add(self, numbers: Mapping[str, float], norm: float) -> None:
        """Add the numbers of a minibatch's loss and the norm of its gradient."""
        self.norms += norm
        for name, x in numbers.items():
            self.numbers[name] = self.numbers.get(name, 0.0) + x


class AlphaZeroLearner:
    """Owner of the network that learns, its optimiser and the running average of its weights."""

    def __init__(
        self,
        config: AlphaZeroConfig,
        network: ResidualNetwork,
        context: LearnerContext,
        executor: Executor | None = None,
    ) -> None:
        """Take over the network.

        Args:
            config: Settings of the method.
            network: Network on its device; its parameters move into one vector.
            context: ``seed``, and ``workers``: threads of a minibatch on the processor.
            executor: Executor of the network's device; None: the process's.

        Raises:
            ValueError: A group of several ranks.
        """
        if context.group.size > 1:
            raise ValueError(f'{context.group.size} learners: expected 1 with algorithm.name = "alphazero"')
        self.config, self.network, self.spec, self.seed = config, network, network.spec, context.seed
        self.symmetries = Symmetries(network.spec) if config.symmetries else None
        self.parameters = FlatParameters(self.network)
        self._executor = executor = executor or executor_of(network.device)
        self.threads = 1 if executor.static else max(1, context.workers)
        self._replicas = [replica_of(network) for _ in range(self.threads)]
        for replica in self._replicas:
            replica.train()
        self._gradients = [torch.empty_like(self.parameters.vector) for _ in range(self.threads)]
        self.optimiser: ProgramOptimiser
        if config.optimizer == "adamw":
            self.optimiser = AdamW(self.parameters, weight_decay=config.weight_decay)
        else:
            self.optimiser = SGD(self.parameters, config.momentum, config.weight_decay)
        self.average = self.parameters.vector.clone()
        self._averaged = replica_of(network)
        for p, part in zip(
            self._averaged.parameters(), self.parameters.named(self.average).values(), strict=True
        ):
            p.data = torch.from_numpy(part).to(network.device)
        self._threads = ThreadPoolExecutor(self.threads, "learner") if self.threads > 1 else None
        self._program: MinibatchProgram | None = None
        if executor.static:
            learned = Learned(
                self._replicas[0], self.parameters, self.optimiser, self.average, config.max_grad_norm
            )
            self._program = MinibatchProgram(
                executor, learned, functools.partial(self._loss, self._replicas[0])
            )
        self.version = 0
        self.minibatches = 0
        self.steps = 0  # positions read

    # ---- learning --------------------------------------------------------------------------------

    def learn(self, positions: Positions, progress: float) -> UpdateStats:
        """Learn from minibatches of ``positions``, in their order.

        Args:
            positions: Positions drawn from the replay buffer.
            progress: Spent share of the run's budget, in [0, 1], for schedules.

        Returns:
            Means over the samples; ``loss/ownership`` and ``loss/score`` over the ``learner/counted`` samples
            whose match was counted, if there are any.
        """
        stats = UpdateStats(self.version + 1, 0)
        sums = _Sums()
        rate = 0.0
        counted = 0
        for batch in positions.batches(self.config.batch_size):
            rate = self._rate(progress)
            if self._program is None:
                sums.add(self._differentiate(batch), self._apply(len(batch), rate))
            else:
                inputs = self._inputs(batch, self._turns(len(batch)))
                inputs[_SCALE] = np.array(_ends_scale(batch), np.float32)
                # The device worked at the minibatch before while this one was prepared.
                sums.add(*self._program.read())
                self._program.send(inputs, len(batch), rate, self._counted_step(len(batch)))
            stats.samples += len(batch)
            stats.gradient_steps += 1
            counted += _counted(batch)
        if self._program is not None:
            sums.add(*self._program.read())
        if not stats.gradient_steps:
            return stats
        stats.learned = stats.samples
        names = ("loss/policy", "loss/value", "target/entropy")
        policy, value, entropy = (sums.numbers.pop(name) / stats.samples for name in names)
        stats.numbers = {
            "loss/policy": policy,
            "loss/policy_excess": policy - entropy,
            "loss/value": value,
            "learner/learning_rate": rate,
            "learner/grad_norm": sums.norms / stats.gradient_steps,
            "learner/minibatches": float(stats.gradient_steps),
        }
        if counted and sums.numbers:
            stats.numbers |= {name: x / counted for name, x in sums.numbers.items()}
            stats.numbers["learner/counted"] = float(counted)
        return stats

    def _rate(self, progress: float) -> float:
        """Return the learning rate of the next minibatch."""
        c = self.config
        drops = sum(self.minibatches >= s for s in c.rate_steps)
        rate = c.learning_rate_at(progress, drops)
        return rate * min(1.0, (self.minibatches + 1) / c.warmup) if c.warmup else rate

    def _turns(self, count: int) -> npt.NDArray[np.int64]:
        """Return the symmetry under which each of ``count`` positions of the next minibatch is read."""
        symmetries = self.symmetries.count if self.symmetries is not None else 1
        return self._draws(0, self.minibatches).integers(0, symmetries, count)

    def _counted_step(self, count: int) -> float:
        """Count a minibatch of ``count`` samples; return the share of the average that stays."""
        self.minibatches += 1
        self.steps += count
        # The memory of the average grows with the minibatches: early on the first weights would dominate it.
        return min(self.config.ema, 1.0 - 1.0 / (1.0 + self.minibatches))

    def _inputs(self, part: Positions, turns: npt.NDArray[np.int64]) -> dict[str, Array]:
        """Return what :meth:`_loss` reads, by name: ``part``, each position under its own of ``turns``."""
        inputs: dict[str, Array] = {_OBS + t.name: part.obs[t.name] for t in self.network.inputs}
        inputs |= {"policy": part.policy, "mask": part.mask, "value": part.value, "turn": turns}
        network = self.network
        if part.ends is not None and (network.ownership_plane is not None or network.score_head is not None):
            inputs |= {
                "ownership": part.ends.ownership,
                "score": part.ends.score,
                "counted": part.ends.counted,
            }
        return inputs

    def _loss(self, network: ResidualNetwork, inputs: Mapping[str, Tensor]) -> Loss:
        """Return the loss summed over the positions of ``inputs``, with the numbers of all heads."""
        planes = network.boards({t.name: inputs[_OBS + t.name] for t in network.inputs})
        policy, mask = inputs["policy"], inputs["mask"]
        turned: RowTurns | None = None
        if self.symmetries is not None and self.symmetries.count > 1:
            turned = self.symmetries.each(inputs["turn"])
            planes, policy, mask = turned.planes(planes), turned.policy(policy), turned.policy(mask)
        planes = planes.contiguous(memory_format=torch.channels_last)
        out = network.learned(planes)
        loss = alphazero_loss(
            masked_log_probs(out.logits, mask),
            out.value,
            policy,
            inputs["value"],
            self.config.value_coefficient,
        )
        if "ownership" not in inputs:
            return loss
        ends = self._ends_loss(out, inputs, turned)
        return Loss(loss.total + inputs[_SCALE] * ends.total, loss.numbers | ends.numbers)

    def _ends_loss(self, out: BoardOutputs, inputs: Mapping[str, Tensor], turned: RowTurns | None) -> Loss:
        """Return the loss of the heads for ownership and score."""
        ownership = inputs["ownership"]
        if turned is not None:
            ownership = turned.cells(ownership)
        return ends_loss(
            out.ownership,
            out.score,
            ownership,
            inputs["score"],
            inputs["counted"],
            self.config.ownership_coefficient,
            self.config.score_coefficient,
        )

    # ---- a minibatch on the processor ------------------------------------------------------------

    def _differentiate(self, batch: Positions) -> dict[str, float]:
        """Write the gradient of the loss summed over ``batch``; return ``Loss.numbers``."""
        cuts = np.array_split(np.arange(len(batch)), self.threads)
        turns, scale = self._turns(len(batch)), _ends_scale(batch)
        rows = [slice(int(cut[0]), int(cut[-1]) + 1) for cut in cuts if len(cut)]
        jobs = [(i, batch.take(own), turns[own], scale) for i, own in enumerate(rows)]
        if self._threads is None:
            return self._part(*jobs[0])
        done = [self._threads.submit(self._part, *job) for job in jobs]
        results = [f.result() for f in done]
        summed(self._gradients[: len(jobs)])
        return {name: sum(part[name] for part in results) for name in results[0]}

    def _part(
        self, worker: int, part: Positions, turns: npt.NDArray[np.int64], ends_scale: float
    ) -> dict[str, float]:
        """Write the gradient of the loss summed over ``part`` into the worker's own vector.

        Each position is read under its own of ``turns``. Returns ``Loss.numbers``.
        """
        one_thread()
        network = self._replicas[worker]
        inputs = {name: torch.from_numpy(a) for name, a in self._inputs(part, turns).items()}
        loss = self._loss(network, inputs | {_SCALE: torch.tensor(ends_scale)})
        self.parameters.gradient(loss.total, network, self._gradients[worker])
        numbers = torch.stack(list(loss.numbers.values())).double().tolist()
        return dict(zip(loss.numbers, numbers, strict=True))

    @torch.no_grad()
    def _apply(self, count: int, rate: float) -> float:
        """Make one step with the gradient of ``count`` samples; return the gradient's norm."""
        gradient, vector = self._gradients[0], self.parameters.vector
        gradient.div_(count)
        norm = clip_by_norm(gradient, self.config.max_grad_norm)
        self.optimiser.step(gradient, rate)
        keep = self._counted_step(count)
        self.average.mul_(keep).add_(vector, alpha=1.0 - keep)
        return norm

    # ---- weights that play -----------------------------------------------------------------------

    @torch.no_grad()
    def publish(self, positions: Positions | None) -> ResidualNetwork:
        """Return the network that plays next: averaged weights, statistics of ``positions``.

        It belongs to the learner and is the same object each time. The version is incremented.

        Args:
            positions: Positions that the batch normalisation is measured on; None: its statistics stay.
        """
        network = self._averaged
        for p, part in zip(network.parameters(), self.parameters.cut(self.average), strict=True):
            p.copy_(part.view_as(p))
        if positions is not None and len(positions) > 0:
            network.measure(self._planes(positions))
            self._measured(network)
        self._executor.wait()  # programs run on streams that do not wait for PyTorch's own
        self.version += 1
        return network

    def _draws(self, purpose: int, number: int) -> np.random.Generator:
        """Return random numbers that depend on the learner's counters, not on this process's start."""
        return np.random.Generator(np.random.Philox(key=self.seed, counter=[0, 0, purpose, number]))

    def _planes(self, positions: Positions) -> list[Tensor]:
        """Return the input planes of ``positions`` in batches, each under a random symmetry."""
        size = max(1, len(positions) // self.config.statistics_batches)
        out = []
        random = self._draws(1, self.version)
        obs = {t.name: uploaded(positions.obs[t.name], self.network.device) for t in self.network.inputs}
        for start in range(0, len(positions) - size + 1, size):
            planes = self.network.boards({n: x[start : start + size] for n, x in obs.items()})
            if self.symmetries is not None and self.symmetries.count > 1:
                planes = self.symmetries.planes(planes, int(random.integers(self.symmetries.count)))
            out.append(planes.contiguous(memory_format=torch.channels_last))
        return out

    def _measured(self, network: ResidualNetwork) -> None:
        """Copy the statistics of ``network`` to the learner's own network."""
        own = dict(self.network.named_buffers())
        for name, buffer in network.named_buffers():
            own[name].copy_(buffer)

    @property
    def playing(self) -> ResidualNetwork:
        """Network that :meth:`publish` returned last."""
        return self._averaged

    def weights(self) -> Weights:
        """Return copies of the weights that play."""
        meta = WeightsMeta(
            version=self.version,
            spec_hash=self.spec.spec_hash,
            architecture=self.network.architecture,
            spec=msgspec.json.encode(self.spec).decode(),
            game=self.spec.name,
            steps=self.steps,
        )
        return Weights(meta, tensors_of(self._averaged))

    def state(self) -> tuple[dict[str, Array], dict[str, int]]:
        """Return everything that a bit-equal continuation needs: arrays by name, and counters."""
        arrays, counters = optimiser_state(self.optimiser, self.parameters)
        for prefix, vector in (("parameter", self.parameters.vector), ("average", self.average)):
            arrays |= {f"{prefix}.{n}": a for n, a in self.parameters.named(vector).items()}
        arrays |= {f"buffer.{n}": b.detach().cpu().numpy().copy() for n, b in self._averaged.named_buffers()}
        counters |= {"version": self.version, "minibatches": self.minibatches, "steps": self.steps}
        return arrays, counters

    @torch.no_grad()
    def load_state(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        """Restore what :meth:`state` returned.

        Raises:
            ValueError: An array or a counter is missing, or an array has another shape.
        """
        self.parameters.fill(self.parameters.vector, under("parameter.", arrays), "checkpoint: parameter")
        self.parameters.fill(self.average, under("average.", arrays), "checkpoint: average")
        stored = under("buffer.", arrays)
        for name, buffer in self._averaged.named_buffers():
            if name not in stored or tuple(stored[name].shape) != tuple(buffer.shape):
                raise ValueError(f"checkpoint: buffer {name!r} is missing or has another shape")
            buffer.copy_(torch.from_numpy(np.array(stored[name])))
        for name in ("version", "minibatches", "steps"):
            if name not in counters:
                raise ValueError(f"checkpoint: no counter {name!r}")
        load_optimiser_state(self.optimiser, self.parameters, arrays, counters, "checkpoint")
        self.version, self.minibatches = counters["version"], counters["minibatches"]
        self.steps = counters["steps"]
        for p, part in zip(self._averaged.parameters(), self.parameters.cut(self.average), strict=True):
            p.copy_(part.view_as(p))
        self._measured(self._averaged)
        self._executor.wait()  # as :meth:`publish`

    def close(self) -> None:
        """Stop its threads. Idempotent."""
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = None


def _counted(positions: Positions) -> int:
    return 0 if positions.ends is None else int(positions.ends.counted.sum())


def _ends_scale(batch: Positions) -> float:
    """Return the weight of the sum of losses of ends: the gradient is divided by all samples in the end.

    These losses are means over the counted samples.
    """
    return len(batch) / max(1, _counted(batch))


def acting_copy(network: Network) -> Network:
    """Return a copy of the network with the same numbers."""
    made = build_network(network.config, network.spec, None, network.precision)
    made.load_state_dict(network.state_dict())
    made.to(network.device)
    made.eval()
    return made

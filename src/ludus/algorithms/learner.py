"""Base of learners of slabs; ``learner_interface.py`` has the interface of every learner.

One update of a :class:`SlabLearner`: decisions of the learned policy are picked from the slab, and the method
makes lists of tasks of them (``tasks.py``), which any of several threads may run.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

import msgspec
import numpy as np
import torch
from torch import Tensor

from ludus.algorithms.config import MethodConfig, SlabLearnerConfig, with_horizon
from ludus.algorithms.group import Group, compare_ranks
from ludus.algorithms.learner_interface import Learner as Learner
from ludus.algorithms.learner_interface import LearnerContext as LearnerContext
from ludus.algorithms.learner_interface import UpdateStats as UpdateStats
from ludus.algorithms.registry import method_of
from ludus.algorithms.updates.forward import Floats, evaluate, part_size, steps_in, units_of
from ludus.algorithms.updates.minibatch import Minibatches
from ludus.algorithms.updates.optimiser import (
    Optimiser,
    load_optimiser_state,
    make_optimiser,
    optimiser_state,
)
from ludus.algorithms.updates.parameters import FlatParameters, load_tensors, tensors_of
from ludus.algorithms.updates.samples import Index, Samples, pieces
from ludus.algorithms.updates.slab_programs import SlabPrograms
from ludus.algorithms.updates.tasks import DividedTasks, Processes, Task, UpdatePlan
from ludus.flow import Slab, Weights, WeightsMeta
from ludus.flow.slab import Array
from ludus.flow.weights import Lineage
from ludus.policies.accelerator import executor_of
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network

TARGET = "target"  # name of a second network in checkpoints, which follows the learned one
REPLAY_BUFFER = "replay_buffer."  # prefix of the names of a replay buffer's arrays in checkpoints
SETTLE = "settle"  # counter: updates to come at learning rate 0, as surgery asks for; missing is 0
LEARNABLE = 1e15  # largest reward: squares of sums of larger ones overflow float32
COMPARED_EVERY = 100  # updates after which the ranks of a group compare their parameters
Config = TypeVar("Config", bound=SlabLearnerConfig)


class SlabLearner(ABC, Generic[Config]):
    """Base of learners of slabs: everything but the stages of an update, which a method makes."""

    def __init__(self, config: Config, network: PolicyNetwork, context: LearnerContext) -> None:
        """Take over the network.

        Args:
            config: Settings of the method.
            network: Network on its device. The learner takes ownership; its parameters move into one
                vector.
            context: Seed, policy id, threads, frame skip.
        """
        self.config, self.network, self.seed = config, network, context.seed
        self.policy, self.frame_skip, self.group = context.policy, context.frame_skip, context.group
        self.spec = network.spec
        self.executor = context.executor or executor_of(network.device)
        self._stream = self.executor.stream()  # of everything that this learner does
        network.static = self.executor.static
        self.parameters = FlatParameters(network)
        self.optimiser: Optimiser = make_optimiser(config, self.parameters)
        self.version = 0
        self.steps = 0  # decisions trained on, each counted once
        self.settle = 0  # updates to come at learning rate 0: moments and normalisers move, parameters do not
        self.lineage: Lineage | msgspec.UnsetType = msgspec.UNSET
        #: threads that run tasks at once; a GPU gains nothing from a second, which needs its own replica
        self._workers = 1 if self.executor.static else max(1, context.workers)
        self.minibatches = Minibatches(network, self.parameters, self._workers, self.group)
        #: Networks with separate numbers (a target, an anchor); a checkpoint keeps them by these names.
        self.others: dict[str, PolicyNetwork] = {}
        self._plan: UpdatePlan | None = None
        self._value_only = False  # in the update under way
        self._stats = UpdateStats(0, 0)
        #: whether updates are computed operation by operation though programs could: to compare the two
        self.eager = False
        self._kept_programs: SlabPrograms | None = None
        self._programs: SlabPrograms | None = None  # of the update under way; None: operation by operation

    @abstractmethod
    def _stages(self, samples: Samples, progress: float, stats: UpdateStats) -> Iterator[Sequence[Task]]:
        """Yield the method's part of one update: lists of tasks, with serial work between them.

        Sets ``stats.samples``, ``stats.learned``, ``stats.gradient_steps`` and ``stats.numbers``.
        ``self.version`` is the old one.
        """

    def start(self, slab: Slab, progress: float = 0.0, *, value_only: bool = False) -> UpdatePlan:
        """See :meth:`Learner.start`."""
        if self._plan is not None:
            raise RuntimeError("the previous update has not been finished")
        if value_only and not (method := method_of(self.config)).value_only:
            raise ValueError(f'algorithm.name = "{method.name}" has no updates of the value alone')
        if self.policy not in slab.memory and self.network.memory_shape is not None:
            raise ValueError(f"policy {self.policy} has memory; slab.memory must hold it at t = 0")
        self._value_only = value_only
        stages = self._update(slab, min(max(progress, 0.0), 1.0))
        if (processes := self.minibatches.processes) is not None:
            processes.start(slab, progress, value_only)
            stages = processes.divide(stages)
        self._plan = UpdatePlan(stages, self._workers)
        return self._plan

    def finish(self) -> UpdateStats:
        """See :meth:`Learner.finish`."""
        if self._plan is None:
            raise RuntimeError("no update was started")
        plan, self._plan = self._plan, None
        plan.wait()
        return self._stats

    def update(self, slab: Slab, progress: float = 0.0, *, value_only: bool = False) -> UpdateStats:
        """Make a whole update in the calling thread."""
        self.start(slab, progress, value_only=value_only).help(0)
        return self.finish()

    def set_config(self, config: MethodConfig) -> None:
        """See :meth:`Learner.set_config`."""
        if not isinstance(config, type(self.config)):
            raise TypeError(f"expected {type(self.config).__name__}, got {type(config).__name__}")
        self.config = config

    def join(self, group: Group) -> None:
        """Make the next updates with ``group``, whose ranks have equal states."""
        self.group = self.minibatches.group = group

    def divide(self, processes: Processes) -> None:
        """Make the next updates with other processes, which :meth:`close` ends."""
        self.minibatches.processes = processes

    def prepare(self) -> None:
        """Start the learner's other processes and give them its state, as the next update would."""
        if self.minibatches.processes is not None:
            self.minibatches.processes.prepare()

    def close(self) -> None:
        """End the learner's other processes, if there are any. Idempotent."""
        if self.minibatches.processes is not None:
            self.minibatches.processes.close()

    def wrap_optimiser(self, wrap: Callable[[Optimiser], Optimiser]) -> None:
        """Replace the optimiser by ``wrap`` of it, which keeps the same vectors and counters."""
        self.optimiser = wrap(self.optimiser)

    def weights(self) -> Weights:
        """See :meth:`Learner.weights`."""
        return self.acting_weights()

    def acting_weights(self) -> Weights:
        """See :meth:`Learner.acting_weights`."""
        with self.executor.on(self._stream):
            tensors = tensors_of(self.network)
        meta = WeightsMeta(
            version=self.version,
            spec_hash=self.spec.spec_hash,
            architecture=self.network.architecture,
            spec=msgspec.json.encode(self.spec).decode(),
            game=self.spec.name,
            frame_skip=self.frame_skip,
            steps=self.steps,
            lineage=self.lineage,
        )
        return Weights(meta, tensors)

    @torch.no_grad()
    def copy_to(self, network: Network) -> int:
        """See :meth:`Learner.copy_to`."""
        mine = self.network.state_dict()
        with self.executor.on(self._stream):
            for name, tensor in network.state_dict().items():
                tensor.copy_(mine[name])
        self._stream.synchronize()  # the network acts on a separate stream
        return self.version

    def state(self) -> tuple[dict[str, Array], dict[str, int]]:
        """See :meth:`Learner.state`."""
        with self.executor.on(self._stream):
            self._compare_ranks()
            arrays, counters = optimiser_state(self.optimiser, self.parameters)
            for kind, network in {"network": self.network, **self.others}.items():
                arrays |= {f"{kind}.{n}": a for n, a in tensors_of(network).items()}
        counters |= {"version": self.version, "steps": self.steps, "seed": self.seed}
        return arrays, counters | ({SETTLE: self.settle} if self.settle else {})

    def load_state(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        """See :meth:`Learner.load_state`."""
        with self.executor.on(self._stream):
            self._load(arrays, counters)

    def _load(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        for kind, network in {"network": self.network, **self.others}.items():
            load_tensors(network, arrays, f"{kind}.", "learner state")
        for name in ("version", "steps", "seed"):
            if name not in counters:
                raise ValueError(f"learner state: no counter {name!r}")
        load_optimiser_state(self.optimiser, self.parameters, arrays, counters, "learner state")
        self.version, self.steps, self.seed = counters["version"], counters["steps"], counters["seed"]
        self.settle = max(0, counters.get(SETTLE, 0))
        if self.minibatches.processes is not None:
            self.minibatches.processes.state_loaded()

    def _compare_ranks(self) -> None:
        """Check that every rank has the parameters and statistics of this one. Raises ``GroupError``."""
        if self.group.size > 1:
            networks = {"network": self.network, **self.others}
            tensors = {f"{kind}.{n}": a for kind, net in networks.items() for n, a in tensors_of(net).items()}
            compare_ranks(self.group, tensors, self.version)

    # ---- parts of stages -------------------------------------------------------------------------

    def _learning_rate(self, progress: float) -> float:
        """Return the learning rate of an update at the share ``progress`` of the budget; 0 while settling."""
        return 0.0 if self.settle else self.config.learning_rate_at(progress)

    def _why_eager(self) -> str:
        """Return why this learner's updates are computed operation by operation; "" if they are programs."""
        return "the method"

    def _programs_for(self, slab: Slab) -> SlabPrograms | None:
        """Return the programs of an update from ``slab``, None if it is computed operation by operation."""
        if not self.executor.static or self.eager or self._why_eager():
            return None
        kept = self._kept_programs
        if kept is None or not kept.mirror.fits(slab):
            chunk = self._largest_minibatch(slab)
            sums = self.minibatches.norm_sums
            kept = SlabPrograms(self.executor, self._stream, self.network, sums, slab, chunk)
            self._kept_programs = kept
        return kept

    def _largest_minibatch(self, slab: Slab) -> int:
        """Return the number of decisions of the largest minibatch from a slab."""
        return self.config.micro_batch

    def _update(self, slab: Slab, progress: float) -> Iterator[Sequence[Task]]:
        if not self.executor.static:
            yield from self._lists(slab, progress)
            return
        with self.executor.on(self._stream):  # one thread runs all of it
            for tasks in self._lists(slab, progress):
                for task in tasks:
                    task(0)

    def _lists(self, slab: Slab, progress: float) -> Iterator[Sequence[Task]]:
        self._programs = self._programs_for(slab)
        samples = Samples(slab, self.network, self.policy, recalls=self._programs is None)
        self.config = with_horizon(self.config, self.frame_skip, progress)
        stats = self._stats = UpdateStats(self.version + 1, 0)
        lags = self.version - slab.version[samples.learner_mask[:-1]]
        lag = self.group.sums(
            {str(v): int(n) for v, n in zip(*np.unique(lags, return_counts=True), strict=True)}
        )
        stats.lag = {int(v): int(lag[v]) for v in sorted(lag, key=int)}
        self.minibatches.norm_sums.clear()
        stats.refusal = self._too_large(slab)
        if stats.refusal:
            return
        if self._programs is not None:
            self._programs.load(samples)
        yield from self._stages(samples, progress, stats)
        yield from self._refresh_norms(samples, stats.gradient_steps)
        if self.config.horizon > 0.0:
            stats.numbers["learner/discount"] = self.config.discount
        self.version += 1
        self.steps += stats.samples
        if self.settle and stats.gradient_steps:
            self.settle -= 1
        if self.version % COMPARED_EVERY == 0:
            self._compare_ranks()

    def _refresh_norms(self, samples: Samples, gradient_steps: int) -> Iterator[Sequence[Task]]:
        """Update the batch norms' statistics, after the gradients, by the inputs of the gradient passes.

        A method whose gradients did not pass through every norm pays for one forward pass.
        """
        sums = self.minibatches.norm_sums
        if self._programs is not None and gradient_steps:
            self._programs.absorb_norms()  # each step passed through every norm: the host need not ask
            return
        sums.meet(self.group.add)
        if not sums.complete:
            sums.clear()
            if self._programs is not None:
                samples = Samples(samples.slab, self.network, self.policy)  # with what a policy recalls
            decided = samples.learner_mask[:-1]
            size = part_size(self.network, self.config.micro_batch, samples.slab.steps)
            parts = list(pieces(units_of(self.network, decided), size, self.config.part_count))
            seen: list[list[list[Tensor]]] = [[] for _ in parts]

            def observe(i: int, worker: int) -> None:
                seen[i] = self.minibatches.observe(samples, parts[i], decided, worker)

            yield [functools.partial(observe, i) for i in range(len(parts))]
            for some in seen:
                sums.add(some)
            sums.meet(self.group.add)
        sums.absorb()

    def _evaluations(self, samples: Samples, value: Floats, log_prob: Floats) -> Sequence[Task]:
        """Return tasks that write ``value[T+1, R]`` and ``log_prob[T, R]`` where ``learner_mask`` is set."""
        if (programs := self._programs) is not None:
            return [lambda _: programs.evaluate(samples, value, log_prob)]
        size = part_size(self.network, self.config.micro_batch, samples.slab.steps)
        units = units_of(self.network, samples.learner_mask)
        parts = list(pieces(units, size, self.config.part_count))
        values, probabilities = value.reshape(-1, *value.shape[2:]), log_prob.reshape(-1)

        def pack(i: int) -> bytes:
            index = steps_in(self.network, samples, parts[i])
            return values[index].tobytes() + probabilities[index[index < log_prob.size]].tobytes()

        def unpack(i: int, data: bytes) -> None:
            index = steps_in(self.network, samples, parts[i])
            found, heads = np.frombuffer(data, np.float32), value[0, 0].size
            values[index] = found[: len(index) * heads].reshape(values[index].shape)
            probabilities[index[index < log_prob.size]] = found[len(index) * heads :]

        tasks = (functools.partial(self._evaluate, samples, part, value, log_prob) for part in parts)
        return DividedTasks(tasks, pack, unpack)

    def _evaluate(self, samples: Samples, part: Index, value: Floats, log_prob: Floats, worker: int) -> None:
        evaluate(self.minibatches.replicas[worker], samples, part, value, log_prob)

    def _rewards(self, slab: Slab) -> Floats:
        """Return the slab's rewards ``float32[T, R]``, scaled and clipped."""
        reward: Floats = slab.reward * np.float32(self.config.reward_scale)
        if self.config.reward_clip > 0.0:
            np.clip(reward, -self.config.reward_clip, self.config.reward_clip, out=reward)
        return reward

    def _too_large(self, slab: Slab) -> str:
        """Return why rewards of this size cannot be learned from; empty if they can."""
        largest = float(np.max(self.group.each(float(np.abs(self._rewards(slab)).max(initial=0.0)))))
        if largest <= LEARNABLE:
            return ""
        scale = self.config.reward_scale
        return (
            f"algorithm.reward_scale = {scale:g}: rewards reach {largest / scale:.3g}, too large to "
            f"learn from; scale them: expected about {scale / largest:.1g}, or smaller rewards in the game"
        )

    def _normalised(self, values: Floats) -> Floats:
        """Convert values from the game's units to the value head's."""
        if self._programs is not None:
            return self._programs.normalised(values)
        normalised: Tensor = self.network.normalise(torch.from_numpy(values)).float()
        array: Floats = np.asarray(normalised.numpy(), np.float32)
        return array

    def _absorb_returns(self, targets: Floats) -> None:
        """Add value targets ``[N]`` of all ranks to their normaliser; predictions stay what they were."""
        if self.network.values is None or not self.config.normalise_returns:
            return
        if self._programs is not None:
            self._programs.absorb_returns(targets)
        else:
            self.network.values.absorb(torch.from_numpy(targets), self.network.value_head)

    def _absorb_observations(self, samples: Samples, trained: Index) -> None:
        """Add observations of all ranks to their normaliser, after the gradients.

        So behaviour and learner agree on the statistics at lag 0.
        """
        if self.network.normaliser is None:
            return
        if self._programs is not None:
            self._programs.absorb_observations()
            return
        vectors = [self.network.vectors(samples.observations(part)) for part in pieces(trained, 8192)]
        seen = [v for v in vectors if v is not None] or [self.network.normaliser.mean[None][:0]]
        self.network.normaliser.absorb(torch.cat(self.group.gather(torch.cat(seen))))

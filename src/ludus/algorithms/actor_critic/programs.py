"""Minibatches of one objective as programs: its loss on decisions that the device holds."""

from __future__ import annotations

from typing import Generic

import msgspec
import torch
from torch import Tensor

from ludus.algorithms.actor_critic.objective import Config, Decisions, Objective
from ludus.algorithms.loss import Loss
from ludus.algorithms.updates.minibatch_programs import MinibatchPrograms, Parts
from ludus.algorithms.updates.optimiser import Optimiser, ProgramOptimiser
from ludus.algorithms.updates.parameters import FlatParameters
from ludus.algorithms.updates.slab_programs import SlabPrograms

#: Settings that no program holds: the host reads them, or they are inputs of each step.
HOST_SETTINGS = frozenset(
    "learning_rate learning_rate_final learning_rate_schedule learning_rate_kl "
    "entropy_coefficient entropy_coefficient_final max_grad_norm target_kl "
    "discount horizon horizon_final gae_lambda n_steps normalise_advantages normalise_returns "
    "reward_scale reward_clip epochs sample_reuse value_discounts value_weights".split()
)


class EpochPrograms(Generic[Config]):
    """Programs of one objective's minibatches, under settings that graphs hold as they are."""

    def __init__(
        self,
        slabs: SlabPrograms,
        parameters: FlatParameters,
        objective: Objective[Config],
        config: Config,
        optimiser: Optimiser,
        largest: int,
    ) -> None:
        """Make programs when they are first needed.

        Args:
            slabs: Holds the slab to learn from.
            parameters: Parameters of the network that learns.
            objective: Its loss.
            config: Settings.
            optimiser: Moves the parameters.
            largest: Decisions of most minibatches.
        """
        self._slabs, self._parameters, self._objective = slabs, parameters, objective
        self._config, self._optimiser, self._largest = config, optimiser, largest
        self._made: dict[bool, MinibatchPrograms] = {}

    def fit(self, slabs: SlabPrograms, config: Config, optimiser: Optimiser) -> bool:
        """Return whether the programs were made for ``slabs``, ``config`` and ``optimiser``."""
        same = slabs is self._slabs and optimiser is self._optimiser
        return same and held_settings(config) == held_settings(self._config)

    def of(self, optimiser: ProgramOptimiser, *, value_only: bool) -> MinibatchPrograms:
        """Return the programs of all updates of a kind; ``optimiser``: the kind's."""
        if value_only not in self._made:
            slabs = self._slabs
            parts = Parts(
                executor=slabs.executor,
                stream=slabs.stream,
                network=slabs.network,
                parameters=self._parameters,
                optimiser=optimiser,
                loss=self._loss,
                norm_sums=slabs.norm_sums,
            )
            self._made[value_only] = MinibatchPrograms(parts, self._largest)
        return self._made[value_only]

    def _loss(self, units: Tensor, weight: Tensor, entropy: Tensor) -> Loss:
        """Return the loss of ``units: int64[N]``, decisions or rows; part of a graph."""
        mirror, network = self._slabs.mirror, self._slabs.network
        real = weight > 0.0  # the rest is padding, which no batch norm counts
        if network.recurrent is None:
            index = units
            distribution, value = network.flat(
                mirror.observations(index), mirror.recalled_at(index), mirror.others(index), real
            )
        else:
            index = mirror.steps_of(units, mirror.steps)
            obs, first, active, memory = mirror.sequences(units, mirror.steps)
            mates = mirror.mates(units, mirror.steps)
            out = network.sequence(obs, memory, first, active & real, mates)
            distribution, value = out.distribution, out.value.flatten(0, 1)
            weight = weight.repeat(mirror.steps) * mirror.trained.index_select(0, index)
        evaluated = distribution.evaluate(mirror.masks(index), mirror.actions(index))
        behaviour, advantage, old_value, target = mirror.columns(index)
        decisions = Decisions(
            # what is not trained on may be an illegal action, whose log-probability times 0 is no number
            log_prob=torch.where(weight > 0.0, evaluated.log_prob, behaviour),
            behaviour_log_prob=behaviour,
            advantage=advantage,
            entropy=evaluated.entropy,
            value=value,
            old_value=old_value,
            target=target,
            weight=weight,
        )
        return self._objective.loss(self._config, decisions, entropy)


def held_settings(config: msgspec.Struct) -> dict[str, object]:
    """Return the settings that a graph holds as they are: another value of one needs another graph."""
    return {name: x for name, x in msgspec.structs.asdict(config).items() if name not in HOST_SETTINGS}

"""A teacher: frozen weights that a learner stays near, with a memory of every row of their own."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch
from torch import Tensor

from ludus.algorithms.config import SettingError
from ludus.algorithms.forward import Bools, forward_rows, forward_steps, part_size
from ludus.algorithms.samples import Index, Samples, pieces
from ludus.algorithms.tasks import Task
from ludus.flow import Slab, decode_spec
from ludus.flow.slab import Array
from ludus.policies.action_distribution import ActionDistribution
from ludus.policies.network import PolicyNetwork
from ludus.policies.weights import WeightsError, build_policy, load_weights
from ludus.storage import StorageError, resolve_weights


class Teacher:
    """Sees every slab of one learner, in order.

    Args:
        network: the teacher's; never trained.
        policy: id of the policy in slabs whose rows are taught.
    """

    def __init__(self, network: PolicyNetwork, policy: int) -> None:
        self.network, self.policy = network, policy
        self._memory: Tensor | None = None  # [R, ...] at t = 0 of the next slab

    def lesson(self, slab: Slab) -> Samples:
        """The slab as the teacher sees it."""
        if self._memory is None:
            self._memory = self.network.initial_memory(slab.rows)
        return Samples(slab, self.network, self.policy, self._memory)

    @torch.no_grad()
    def distribution(self, lesson: Samples, part: Index, steps: Index, valid: Bools) -> ActionDistribution:
        """What the teacher would do at the decisions of one part; carries no gradients.

        Args:
            lesson: of :meth:`lesson`.
            part: units of the learner; rows if it has learned memory.
            steps: ``int64[N]``, the part's decisions.
            valid: ``bool[T, R]``, the decisions that are trained on.
        """
        if self.network.recurrent is None:
            return forward_steps(self.network, lesson, steps).distribution
        return forward_rows(self.network, lesson, part, valid).distribution

    def remembers(self, lesson: Samples, micro_batch: int) -> Sequence[Task]:
        """Tasks that bring the memory to the end of the slab. None without memory."""
        if self._memory is None:
            return ()
        rows = torch.arange(lesson.slab.rows).numpy()
        after = self._memory = torch.empty_like(self._memory)
        size = part_size(self.network, micro_batch, lesson.slab.steps)
        return [functools.partial(self._remember, lesson, part, after) for part in pieces(rows, size)]

    @torch.no_grad()
    def _remember(self, lesson: Samples, rows: Index, after: Tensor, worker: int) -> None:
        sequence = self.network.sequence(*self._inputs(lesson, rows))
        assert sequence.memory is not None
        after[torch.from_numpy(rows)] = sequence.memory

    def _inputs(
        self, lesson: Samples, rows: Index
    ) -> tuple[dict[str, Tensor], Tensor | None, Tensor, Tensor]:
        obs, first, active = lesson.sequences(rows, lesson.slab.steps)
        return obs, lesson.memory(rows), first, active

    def state(self) -> dict[str, Array]:
        """What the next slab depends on, by name."""
        return {} if self._memory is None else {"teacher.memory": self._memory.cpu().numpy().copy()}

    def load_state(self, arrays: dict[str, Array]) -> None:
        """The inverse of :meth:`state`; others are not looked at."""
        memory = arrays.get("teacher.memory")
        self._memory = None if memory is None else torch.from_numpy(memory.copy()).to(self.network.device)


def load_teacher(text: str, learner: PolicyNetwork, policy: int) -> Teacher | None:
    """The teacher that ``algorithm.teacher`` names; None for "".

    Raises :class:`SettingError` for what is no weights file, for weights of another spec, for a teacher
    that reads what the learner does not, and for one with learned memory of a learner without.
    """
    if not text:
        return None
    setting = f'algorithm.teacher = "{text}"'
    try:
        weights = load_weights(resolve_weights(text))
        spec = decode_spec(weights.meta.spec)
        network = build_policy(weights, str(learner.device))
    except (WeightsError, StorageError, OSError) as error:
        raise SettingError(f"{setting}: {error}") from error
    if not isinstance(network, PolicyNetwork):
        raise SettingError(f'{setting}: weights of AlphaZero, expected policy.network = "encoder"')
    if spec.spec_hash != learner.spec.spec_hash:
        raise SettingError(
            f"{setting}: weights for {spec.name} with spec {spec.spec_hash}, "
            f"expected {learner.spec.name} with spec {learner.spec.spec_hash}"
        )
    own = [t.name for t in learner.inputs]
    unseen = [t.name for t in network.inputs if t.name not in own]
    if unseen:  # a pool writes what the learner reads
        raise SettingError(
            f'{setting}: reads "{unseen[0]}", expected no more than policy.inputs: {", ".join(own)}'
        )
    if network.config.output != learner.config.output:
        raise SettingError(
            f'{setting}: has policy.output = "{network.config.output}", expected "{learner.config.output}"'
        )
    if network.recurrent is not None and learner.recurrent is None:
        raise SettingError(
            f'{setting}: has policy.memory = "{network.config.memory}", expected none or recall, '
            "or a learner with gru or lstm"
        )
    return Teacher(network, policy)

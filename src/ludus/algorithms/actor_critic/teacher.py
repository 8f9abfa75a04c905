"""A teacher: frozen weights that a learner stays near, with a memory of every row of their own."""

from __future__ import annotations

import torch

from ludus.algorithms.config import SettingError
from ludus.algorithms.forward import Bools, forward_rows, forward_steps
from ludus.algorithms.row_memory import RowMemory
from ludus.algorithms.samples import Index, Samples
from ludus.flow import Slab, decode_spec
from ludus.policies.action_distribution import ActionDistribution
from ludus.policies.network import PolicyNetwork
from ludus.policies.weights import WeightsError, build_policy, load_weights
from ludus.storage import StorageError, resolve_weights


class Teacher(RowMemory):
    """Sees every slab of one learner, in order.

    Args:
        network: the teacher's; never trained.
        policy: id of the policy in slabs whose rows are taught.
    """

    def __init__(self, network: PolicyNetwork, policy: int) -> None:
        super().__init__(network, policy, "teacher")

    def lesson(self, slab: Slab) -> Samples:
        """The slab as the teacher sees it."""
        return Samples(slab, self.network, self.policy, self.of(slab))

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

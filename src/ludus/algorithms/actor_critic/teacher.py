"""A teacher: frozen weights that a learner stays near, with a separate memory of every row."""

from __future__ import annotations

import torch

from ludus.algorithms.config import SettingError
from ludus.algorithms.updates.forward import Bools, forward_rows, forward_steps
from ludus.algorithms.updates.row_memory import RowMemory
from ludus.algorithms.updates.samples import Index, Samples
from ludus.flow import Slab, decode_spec
from ludus.policies.actions.action_distribution import ActionDistribution
from ludus.policies.network import PolicyNetwork
from ludus.policies.weights import WeightsError, build_policy, load_weights
from ludus.storage import StorageError, resolve_weights


class Teacher(RowMemory):
    """Frozen policy that reads every slab of one learner, in order."""

    def __init__(self, network: PolicyNetwork, policy: int) -> None:
        """Keep the teacher's network, which is never trained.

        Args:
            network: The teacher's.
            policy: Id of the policy in slabs whose rows the learner trains on.
        """
        super().__init__(network, policy, "teacher")

    def batch(self, slab: Slab) -> Samples:
        """Return the slab as the teacher sees it: the teacher batch."""
        return Samples(slab, self.network, self.policy, self.of(slab))

    @torch.no_grad()
    def distribution(
        self, teacher_batch: Samples, part: Index, steps: Index, valid: Bools
    ) -> ActionDistribution:
        """Return the teacher's choices at the decisions of one part, without gradients.

        Args:
            teacher_batch: Batch of :meth:`batch`.
            part: Units of the learner; rows if it has learned memory.
            steps: ``int64[N]``, the part's decisions.
            valid: ``bool[T, R]``, the decisions to train on.
        """
        if self.network.recurrent is None:
            return forward_steps(self.network, teacher_batch, steps).distribution
        return forward_rows(self.network, teacher_batch, part, valid).distribution


def load_teacher(text: str, learner: PolicyNetwork, policy: int) -> Teacher | None:
    """Load the teacher that ``algorithm.teacher`` names; None for "".

    Args:
        text: ``RUN@VERSION`` or a weights file.
        learner: Network that learns.
        policy: Id of the policy in slabs that the learner trains.

    Raises:
        SettingError: It is no weights file, its weights are of another spec, it reads tensors that the
            learner does not, or it has learned memory and the learner has none.
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

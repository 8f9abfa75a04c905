"""Acting weights as arrays, and digests by which a controller compares its rollouts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import torch

from ludus.flow.slab import Array
from ludus.policies.protocol import Network
from ludus.pool import PoolError

DIGEST_EVERY = 100  # slabs of a rollout between two digests of its acting weights


@torch.no_grad()
def arrays_of(network: Network) -> dict[str, Array]:
    """Return copies of the tensors of ``network`` as numpy arrays, which have no bfloat16."""
    return {
        name: np.array((t.float() if t.dtype == torch.bfloat16 else t).cpu().numpy())
        for name, t in network.state_dict().items()
    }


def digest_of(tensors: Mapping[str, Array]) -> str:
    """Return a digest of names, types, shapes and bytes; the order of the names does not count."""
    total = hashlib.blake2b(digest_size=16)
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def check_digest(rollout: int, version: int, sent: str, acted: str | None) -> None:
    """Compare the weights that acted with those that were sent. Raises ``PoolError``.

    Args:
        rollout: Number of the rollout.
        version: Version of the weights that were sent.
        sent: Their digest.
        acted: Digest of the weights that acted; None where the rollout gave none.
    """
    if acted != sent:
        raise PoolError(f"rollout {rollout}: its acting weights differ from version {version} of the learner")

"""Recall: maximum and recent values, kept while a row does not decide, reset with each match."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import torch

from ludus.policies.config import EncoderConfig
from ludus.policies.memory import Recall
from ludus.policies.network import PolicyNetwork

from ..synthetic import make_spec, tensor


def test_recall_is_the_maximum_and_the_fading_average() -> None:
    """Against a plain loop in float64 over rows that end, start and do not act."""
    rng = np.random.default_rng(4)
    steps, rows, size = 25, 7, 3
    vectors = rng.normal(size=(steps, rows, size)).astype(np.float32)
    first, active = rng.random((steps, rows)) < 0.15, rng.random((steps, rows)) < 0.7
    start = rng.normal(size=(rows, 2, size)).astype(np.float32)
    out = Recall(size).sequence(*(torch.from_numpy(x) for x in (vectors, start, first, active)))
    for r in range(rows):
        highest, recent = start[r].astype(np.float64)
        for t in range(steps):
            if active[t, r]:
                if first[t, r]:
                    highest, recent = np.zeros(size), np.zeros(size)
                highest = np.maximum(highest, vectors[t, r])
                recent = recent + 0.1 * (vectors[t, r] - recent)
            np.testing.assert_allclose(out[t, r, 0].numpy(), highest, atol=1e-6)
            np.testing.assert_allclose(out[t, r, 1].numpy(), recent, atol=1e-6)


def test_recall_needs_vectors() -> None:
    spec = make_spec((tensor("planes", "u8", (2, 5, 5)),), (3,))
    config = msgspec.structs.replace(EncoderConfig(channels=(4,), strides=(1,)), memory="recall")
    with pytest.raises(ValueError, match="recall reads vector inputs"):
        PolicyNetwork(config, spec)

"""Large arrays pass through pinned memory on their way to and from a card."""

from collections.abc import Iterator
from unittest import mock

import numpy as np
import pytest
import torch
from torch import Tensor

from ludus.policies.transfer import LARGE, downloaded, uploaded

CARD = torch.device("cuda")


@pytest.fixture
def pinned() -> Iterator[list[int]]:
    """Pinned memory and the copy to a card that this machine need not have; bytes of each copy, if pinned."""
    sizes: list[int] = []

    def pin(tensor: Tensor) -> Tensor:
        sizes.append(tensor.nbytes)
        return tensor.clone()

    def to(tensor: Tensor, device: torch.device, *, non_blocking: bool) -> Tensor:
        assert device == CARD
        assert non_blocking
        return tensor

    with mock.patch.object(Tensor, "pin_memory", pin), mock.patch.object(Tensor, "to", to):
        yield sizes


def test_large_arrays_are_pinned_and_small_ones_are_not(pinned: list[int]) -> None:
    large, small = np.arange(LARGE, dtype=np.uint8), np.arange(LARGE - 1, dtype=np.uint8)
    assert np.array_equal(uploaded(large, CARD).numpy(), large)
    assert pinned == [LARGE]
    assert np.array_equal(uploaded(small, CARD).numpy(), small)
    assert pinned == [LARGE]


def test_an_array_may_change_once_it_was_pinned(pinned: list[int]) -> None:
    array = np.zeros(LARGE, np.uint8)
    there = uploaded(array, CARD)
    array[:] = 1
    assert int(there.sum()) == 0


def test_on_the_processor_nothing_is_copied() -> None:
    array = np.zeros(LARGE, np.float32)
    tensor = uploaded(array, torch.device("cpu"))
    tensor[3] = 2.0
    assert array[3] == 2.0
    assert np.shares_memory(downloaded(tensor), array)

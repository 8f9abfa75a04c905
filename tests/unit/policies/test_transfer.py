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


class Stream:
    """The queue of a card: copies are made when the host waits, and not before."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Tensor, Tensor]] = []
        self.devices: list[torch.device] = []

    def of(self, device: torch.device) -> "Stream":
        self.devices.append(device)
        return self

    def synchronize(self) -> None:
        for target, source in self.waiting:
            target.numpy()[...] = source.numpy()
        self.waiting.clear()


class OnCard:
    """A tensor of a card."""

    def __init__(self, numbers: Tensor, stream: Stream) -> None:
        self.numbers, self.stream, self.device = numbers, stream, torch.device("cuda:1")
        self.shape, self.dtype, self.nbytes = numbers.shape, numbers.dtype, numbers.nbytes

    def cpu(self) -> Tensor:
        return self.numbers.clone()


@pytest.mark.parametrize("floats", [LARGE // 4, LARGE // 4 - 1, 3 * LARGE, 1])
def test_numbers_of_a_card_are_read_after_they_have_arrived(floats: int) -> None:
    stream, pinned = Stream(), list[bool]()
    numbers = torch.arange(floats, dtype=torch.float32) + 1.0
    empty = torch.empty

    def unwritten(shape: torch.Size, *, dtype: torch.dtype, pin_memory: bool) -> Tensor:
        pinned.append(pin_memory)
        return empty(shape, dtype=dtype).fill_(-1.0)

    def late(target: Tensor, source: OnCard, non_blocking: bool = False) -> Tensor:
        assert non_blocking
        stream.waiting.append((target, source.numbers))
        return target

    with (
        mock.patch.object(torch, "empty", unwritten),
        mock.patch.object(Tensor, "copy_", late),
        mock.patch.object(torch.cuda, "current_stream", stream.of),
    ):
        found = downloaded(OnCard(numbers, stream))  # type: ignore[arg-type]
        assert np.array_equal(found, np.arange(floats, dtype=np.float32) + 1.0)
    large = numbers.nbytes >= LARGE
    assert pinned == [True] * large
    assert stream.devices == [torch.device("cuda:1")] * large  # of the tensor, not the current device

"""Facts about a card from torch and the driver, and why a run cannot use it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch

GIB = 1 << 30
_CODE = re.compile(r"(sm|compute)_(\d+)(\d)([af]?)")


@dataclass(frozen=True, slots=True)
class CardFacts:
    """Facts from torch and the driver about CUDA and the card that it means.

    Attributes:
        torch: Version of torch.
        cuda: Version of CUDA that torch is built for; "" if for none.
        cards: Number of cards that torch can use.
        name: Name of the card.
        capability: Its compute capability.
        code: Architectures that torch has code for, as ``sm_90`` or ``compute_90``.
        memory: Bytes of its memory.
    """

    torch: str
    cuda: str = ""
    cards: int = 0
    name: str = ""
    capability: tuple[int, int] = (0, 0)
    code: tuple[str, ...] = ()
    memory: int = 0


class DeviceChoice(NamedTuple):
    """``card``: whether ``auto`` means the card. ``why``: one line."""

    card: bool
    why: str


def facts() -> CardFacts:
    """Ask torch."""
    version, cuda = str(torch.__version__), str(torch.version.cuda or "")
    if not cuda or not torch.cuda.is_available():
        return CardFacts(version, cuda)
    return CardFacts(
        torch=version,
        cuda=cuda,
        cards=torch.cuda.device_count(),
        name=torch.cuda.get_device_name(),
        capability=torch.cuda.get_device_capability(),
        code=tuple(torch.cuda.get_arch_list()),
        memory=torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory,
    )


def free_bytes() -> int:
    """Return the bytes of the card's memory that nothing uses. It starts CUDA."""
    free, _ = torch.cuda.mem_get_info()
    return free


def refusal(reported: CardFacts) -> str:
    """Return why torch cannot compute on the card; "" if it can."""
    if not reported.cuda:
        return f"no GPU that torch can use is there (torch {reported.torch} is built without CUDA)"
    if not reported.cards:
        return (
            f"no GPU that torch can use is there (torch {reported.torch} expects an NVIDIA GPU and a driver "
            f"for CUDA {reported.cuda})"
        )
    known = sorted({(int(m[2]), int(m[3])) for m in _matches(reported.code)})
    if not known or any(_runs(m, reported.capability) for m in _matches(reported.code)):
        return ""
    wanted = "a newer" if reported.capability > known[-1] else "an older"
    known_text = ", ".join(map(_dotted, known))
    return (
        f"torch {reported.torch} has no code for {reported.name}, of compute capability "
        f"{_dotted(reported.capability)}; it has code for {known_text}; {wanted} torch may have it"
    )


def _matches(code: Iterable[str]) -> Iterator[re.Match[str]]:
    return (found for name in code if (found := _CODE.fullmatch(name)) is not None)


def _runs(code: re.Match[str], capability: tuple[int, int]) -> bool:
    """Return whether a card runs code, which is of its generation or one that the driver translates."""
    major, minor = int(code[2]), int(code[3])
    if code[4] == "a":  # of one architecture
        return (major, minor) == capability
    if code[1] == "compute":
        return (major, minor) <= capability
    return major == capability[0] and minor <= capability[1]


def _dotted(capability: tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"


def shortage(needed: int, free: int, name: str) -> str:
    """Return that a run needs more bytes than are free; "" if they are enough."""
    if needed <= free:
        return ""
    have = f"{free / GIB:.1f} GiB are free"
    return f"the run needs about {needed / GIB:.1f} GiB of the memory of {name}, and {have}"

"""Command: a message to a sampler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

R = TypeVar("R")


class SamplerCommand(msgspec.Struct, Generic[R], frozen=True):
    """A message to a sampler, answered by an ``R``. A sampler on another machine receives it as it is.

    A sampler that is several forwards :meth:`parts` and returns what :meth:`joined` makes of their answers.
    """

    def parts(self, count: int) -> Sequence[SamplerCommand[R]]:
        """Return the command for each of ``count`` samplers. Raises ``ValueError`` if there are others."""
        return [self] * count

    def joined(self, answers: Sequence[R]) -> R:
        """Return the answers of several samplers as one."""
        return answers[0]

"""A process of a run on a cluster: it answers the calls of several users, each through a separate part.

This module needs neither Ray nor torch.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ludus.cluster.received import ReceivedFiles


@runtime_checkable
class HasFiles(Protocol):
    """A part with separate files."""

    def leave(self) -> None:
        """Remove them before the end of the process."""
        ...


class Host:
    """A process with a part, such as a rollout, for each name.

    One call at a time outside the group ``health``.
    """

    def __init__(self, node: str, part: Callable[[ReceivedFiles, str], object]) -> None:
        """Start without parts: one is made when it is called for the first time.

        Args:
            node: Address of this machine.
            part: Makes what answers calls.
        """
        self._parts: dict[str, object] = {}
        self._lock = threading.Lock()
        self._node, self._part = node, part
        self._files = ReceivedFiles(self._node)

    def call(self, name: str, method: str, *arguments: object) -> object:
        """Call ``method`` of the part ``name`` and return its answer."""
        with self._lock:
            made = self._parts.get(name)
            if made is None:
                made = self._parts[name] = self._part(self._files, self._node)
        try:
            answer: object = getattr(made, method)(*arguments)
        except Exception as error:
            raise self._files.named_as_sent(error)  # noqa: B904  the same error
        if method == "close":
            del self._parts[name]
        return answer

    def ping(self) -> int:
        """Return the process id."""
        return os.getpid()

    def leave(self) -> None:
        """Remove the files of this process before its end."""
        for part in list(self._parts.values()):
            if isinstance(part, HasFiles):
                part.leave()
        self._files.remove()

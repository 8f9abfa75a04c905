"""The manager's side of the processes of members: requests go out, answers come back in their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ludus.algorithms.group import RankLost
from ludus.flow.slab import Array
from ludus.pool import PoolError
from ludus.presets.errors import ConfigError, GroupLost, RunFailed
from ludus.storage import CorruptFile
from ludus.training.league.remote import messages as m
from ludus.training.league.remote.board import SlotBook

A = TypeVar("A", bound=m.MemberAnswer)


class MemberLost(GroupLost):
    """A process of members is gone. The run may continue from its newest checkpoint with new processes."""


class PlayFailed(PoolError):
    """The matches of ``member`` failed in its process."""

    def __init__(self, member: str, why: str) -> None:
        """Take ``why`` as the message."""
        super().__init__(why)
        self.member = member


class LearningFailed(RunFailed):
    """A request to ``member`` failed in its process, not by its matches."""

    def __init__(self, member: str, why: str) -> None:
        """Describe what failed."""
        super().__init__(f"{member} failed: {why}")
        self.member, self.why = member, why


class Coming:
    """The answer to a request, which may still be on its way. ``member``: who gives it."""

    def __init__(self, member: str) -> None:
        """Wait for :meth:`come`."""
        self.member = member
        self.arrays: Mapping[str, Array] = {}
        self._answer: m.MemberAnswer | None = None

    @property
    def is_there(self) -> bool:
        """Whether the answer has come."""
        return self._answer is not None

    def come(self, answer: m.MemberAnswer, arrays: Mapping[str, Array]) -> None:
        """Take the answer in."""
        self._answer, self.arrays = answer, arrays

    def get(self, kind: type[A]) -> A:
        """Return the answer, which has come. Raises what went wrong in the member's process."""
        answer = self._answer
        if isinstance(answer, m.RequestFailed):
            raise failure(self.member, answer)
        if not isinstance(answer, kind):
            raise RunFailed(f"{self.member}: {type(answer).__name__}, expected {kind.__name__}")
        return answer


def failure(member: str, failed: m.RequestFailed) -> Exception:
    """Return the error of a request that failed."""
    match failed.kind:
        case "play":
            return PlayFailed(member, failed.text)
        case "settings":
            return ConfigError(failed.text)
        case "file":
            return CorruptFile(failed.text)
        case "lost":
            return RankLost(failed.text)
    return LearningFailed(member, failed.text)


class MemberHosts(ABC):
    """The processes of all members. One thread calls it."""

    def __init__(self, members: Sequence[str], slots: int) -> None:
        """Keep the notes about ``slots`` slots of each member."""
        self.members = tuple(members)
        self.books = {member: SlotBook(slots) for member in members}
        #: a clause about what a run that ends now leaves
        self.stands: Callable[[], str] = lambda: "the run has not started"

    @abstractmethod
    def send(self, member: str, request: m.Request, arrays: Mapping[str, Array] | None = None) -> Coming:
        """Send a request; its answer, if it has one, comes later. Raises :class:`MemberLost`."""

    @abstractmethod
    def look(self, seconds: float) -> None:
        """Take in answers; wait up to ``seconds`` for one. Raises :class:`MemberLost`."""

    @abstractmethod
    def close(self) -> None:
        """End the processes. Idempotent."""

    def wait(self, coming: Coming) -> None:
        """Wait for an answer. Raises :class:`MemberLost`."""
        while not coming.is_there:
            self.look(1.0)

    def wait_any(self, comings: Sequence[Coming]) -> Coming:
        """Return the first of ``comings`` that is there, or the first to come."""
        while True:
            self.look(0.0)
            for coming in comings:
                if coming.is_there:
                    return coming
            self.look(1.0)

    def lost(self, why: str) -> MemberLost:
        """Return the error for a process that is gone."""
        return MemberLost(f"{why}; {self.stands()}")


class MemberLink:
    """The way to one member."""

    def __init__(self, hosts: MemberHosts, member: str) -> None:
        """Speak to ``member``."""
        self.hosts, self.member = hosts, member

    @property
    def book(self) -> SlotBook:
        """Notes about the member's slots on the board."""
        return self.hosts.books[self.member]

    def send(self, request: m.Request, arrays: Mapping[str, Array] | None = None) -> Coming:
        """Send a request. Raises :class:`MemberLost`."""
        return self.hosts.send(self.member, request, arrays)

    def wait(self, coming: Coming, kind: type[A]) -> A:
        """Wait for an answer and return it. Raises :class:`MemberLost`, and what went wrong there."""
        self.hosts.wait(coming)
        return coming.get(kind)

    def ask(
        self, request: m.Request, kind: type[A], arrays: Mapping[str, Array] | None = None
    ) -> tuple[A, Mapping[str, Array]]:
        """Send a request, wait for the answer, and return it with the arrays beside."""
        coming = self.send(request, arrays)
        return self.wait(coming, kind), coming.arrays

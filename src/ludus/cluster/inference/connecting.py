"""Finds an inference server by its name: on this machine through shared memory, elsewhere through Ray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError

from ludus.cluster.inference.orders import ServerPlace
from ludus.flow.slab import Array
from ludus.inference.link import Link, ServerLost, SocketLink
from ludus.inference.messages import Ask, ReplyArrays, encoded, reply_of

HEALTH, SERVE = "health", "serve"  # groups of calls of a server's process
PLACE_S = 5.0  # for a server to say where it listens


def connect_to(address: str, seat: int, heads: int) -> Link:
    """Connect to a server.

    Args:
        address: Its name.
        seat: Number of the rollout among the rollouts of the server.
        heads: Number of heads of a decision.

    Raises:
        ServerLost: None has this name now, or it does not answer.
    """
    try:
        handle = ray.get_actor(address)
        place: ServerPlace = ray.get(_asked(handle, HEALTH, "place", seat), timeout=PLACE_S)
    except (ValueError, RayError) as error:
        raise ServerLost(f"{address}: {type(error).__name__}") from error
    if place.machine == ray.get_runtime_context().get_node_id():
        return SocketLink(place.path, heads)
    return RayLink(handle, seat)


def _asked(handle: Any, group: str, method: str, *arguments: object) -> Any:  # noqa: ANN401
    """Call ``method`` of a server in a group of calls; return a reference to the answer."""
    return handle.call.options(concurrency_group=group).remote("", method, *arguments)


class RayLink:
    """A connection to a server on another machine (:class:`ludus.inference.link.Link`)."""

    def __init__(self, handle: Any, seat: int) -> None:  # noqa: ANN401
        """Ask the actor behind ``handle``, as its rollout number ``seat``."""
        self._handle, self._seat = handle, seat

    def ask(self, ask: Ask, arrays: Mapping[str, Array], seconds: float) -> ReplyArrays:
        """See :meth:`ludus.inference.link.Link.ask`."""
        reference = _asked(self._handle, SERVE, "decide", self._seat, encoded(ask), dict(arrays), seconds)
        try:
            data, answer = ray.get(reference, timeout=seconds)
        except RayTaskError as error:
            if isinstance(error.cause, ValueError):
                raise error.cause from None
            raise ServerLost(f"{type(error.cause).__name__}: {error.cause}") from error
        except GetTimeoutError as error:
            raise ServerLost(f"no answer for {seconds:g} s") from error
        except RayError as error:
            raise ServerLost(type(error).__name__) from error
        return ReplyArrays(reply_of(data), {name: a.copy() for name, a in answer.items()})

    def close(self) -> None:
        """Forget the actor; there is nothing to end."""

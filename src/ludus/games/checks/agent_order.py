"""Order of an environment's agents, which are the seats: the same in every process.

An environment may list its agents from a set of strings, whose order is another one in every process. The
processes that play matches have a fixed seed of hashes, so theirs is the order that counts; this process
takes it over. An environment that gives a set itself has its agents sorted.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeGuard

from ludus.flow.inputs.decode import from_json
from ludus.games.names import is_typed

#: Variables of every process that plays: a match may depend on the order of a set.
SAME_HASHES = {"PYTHONHASHSEED": "0"}
START_S = 120.0  # for the environment to be made in another process
_RUN = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; "
    "from ludus.games.checks.agent_order import tell; tell(*sys.argv[1:])"
)


class HasAgents(Protocol):
    """A maker whose seats are named agents."""

    agents: list[str]

    def seat_agents(self, order: Sequence[str]) -> bool:
        """Seat the agents in ``order``. False if these are not the agents, or it changes nothing."""
        ...


def has_agents(maker: object) -> TypeGuard[HasAgents]:
    """Whether the seats of ``maker`` are named agents."""
    return callable(getattr(maker, "seat_agents", None))


def listed(agents: Iterable[str]) -> list[str]:
    """Return agents in the environment's order; a set has none and is sorted, numbers by their size."""
    if isinstance(agents, (set, frozenset)):
        return sorted(
            agents, key=lambda a: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", str(a))]
        )
    return list(agents)


def take_over(maker: object, reference: str, params: Mapping[str, str]) -> bool:
    """Seat the agents of ``maker`` in the order of the processes that play. True if it was another one."""
    if not has_agents(maker):
        return False
    request = json.dumps([str(reference), is_typed(reference), dict(params)])
    environment = {**os.environ, **SAME_HASHES}
    environment["PYTHONPATH"] = os.pathsep.join(p or os.getcwd() for p in sys.path)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _RUN, request],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=START_S, check=True, env=environment,
        )  # fmt: skip
        order = from_json(done.stdout.splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return False
    return isinstance(order, list) and maker.seat_agents([str(agent) for agent in order])


def tell(request: str) -> None:
    """Print the order of the agents in this process, for :func:`take_over` of another."""
    from ludus.games.names import loaded, typed
    from ludus.games.registry import maker

    reference, is_typed_there, params = from_json(request)
    made = maker((typed if is_typed_there else loaded)(reference), params)
    sys.stdout.write(f"\n{json.dumps([str(a) for a in getattr(made, 'agents', [])])}\n")

"""Any game as an environment of PettingZoo: ``parallel_env("minirts")``, ``env("connect_four")``.

Every seat is an agent, ``seat_0`` and so on, until the match ends, because agents that left the board still
receive their team's last reward. Legality is in ``infos[agent]["action_mask"]``. In the parallel environment
``infos[agent]["to_act"]`` is true for agents whose turn it is; actions of the others are ignored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pettingzoo import AECEnv, ParallelEnv

from ludus.flow.slab import Array
from ludus.games.exports.match import make_match
from ludus.games.exports.observations import ObservationFormat
from ludus.games.exports.spaces import (
    Illegal,
    action_space,
    decision_of,
    mask_of,
    nothing,
)

Observation = dict[str, Array]


class _AgentMatch:
    """Common part of both environments: the match, the agents' names and their last observations."""

    def __init__(self, game: str, illegal: Illegal, decoded: bool, params: dict[str, object]) -> None:
        self.match = make_match(game, params)
        self.spec, self.illegal = self.match.spec, illegal
        self.names = [f"seat_{s}" for s in range(self.spec.seats)]
        self.seat = {name: s for s, name in enumerate(self.names)}
        self._format = ObservationFormat(self.spec, decoded=decoded)
        # One space per agent: each is seeded separately.
        self.observations = {name: self._format.space() for name in self.names}
        self.actions = {name: action_space(self.spec) for name in self.names}
        # A seat's last observation, absent before its first turn.
        self.seen: dict[str, Observation] = {}

    def look(self, first: bool = False) -> None:
        acting = set(self.match.to_act())
        for name, seat in self.seat.items():
            if first and seat not in acting:
                self.seen[name] = nothing(self.observations[name])
            elif seat in acting or self.match.over:
                self.seen[name] = self._format.one(self.match.observe(seat))

    def info(self, name: str) -> dict[str, Any]:
        seat = self.seat[name]
        mask = mask_of(self.spec, self.match.legal(seat))
        info: dict[str, Any] = {"to_act": seat in self.match.to_act()}
        return info if mask is None else {**info, "action_mask": mask}

    def play(self, actions: dict[str, Any]) -> None:
        decisions = np.zeros((self.spec.seats, len(self.spec.heads)), np.int32)
        for seat in self.match.to_act():
            name = self.names[seat]
            if name not in actions:
                raise ValueError(f"{self.spec.name}: no action for {name}, which must act")
            legal = self.match.legal(seat)
            decisions[seat], _ = decision_of(self.spec, actions[name], legal, self.illegal)
        self.match.step(decisions)
        if self.match.error:
            raise RuntimeError(f"{self.spec.name}: {self.match.error}")
        self.look()


class LudusParallelEnv(ParallelEnv[str, Observation, Any]):  # type: ignore[misc]
    """PettingZoo parallel environment: all agents at once; see the module.

    ``decoded``: as of :class:`ludus.gymnasium.LudusEnv`.
    """

    def __init__(
        self, game: str, *, illegal: Illegal = "replace", decoded: bool = False, **params: object
    ) -> None:
        """Create the environment. Raises ``ValueError`` for an unknown game or parameter."""
        self._shared = _AgentMatch(game, illegal, decoded, params)
        self.metadata = {
            "name": f"ludus_{self._shared.spec.name}_v{self._shared.spec.version}",
            "render_modes": [],
        }
        self.possible_agents = list(self._shared.names)
        self.agents: list[str] = []
        self.render_mode = None

    def observation_space(self, agent: str) -> Any:
        """Return the agent's space, the same object at every call."""
        return self._shared.observations[agent]

    def action_space(self, agent: str) -> Any:
        """Return the agent's space, the same object at every call."""
        return self._shared.actions[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Start a match; equal seeds and actions give equal matches."""
        shared = self._shared
        shared.match.reset(seed)
        self.agents = list(self.possible_agents)
        shared.look(first=True)
        return dict(shared.seen), {a: shared.info(a) for a in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[Any, ...]:
        """Play until a seat must decide again, or the match is over for all."""
        shared = self._shared
        if not self.agents:
            return {}, {}, {}, {}, {}
        shared.play(actions)
        match, agents = shared.match, self.agents
        rewards = {a: float(match.rewards[shared.seat[a]]) for a in agents}
        terminated = dict.fromkeys(agents, match.over and not match.truncated)
        truncated = dict.fromkeys(agents, match.over and match.truncated)
        infos = {a: shared.info(a) for a in agents}
        if match.over:
            self.agents = []
        return dict(shared.seen), rewards, terminated, truncated, infos

    def render(self) -> None:
        """Return None: ``ludus replay to-html`` shows matches."""

    def close(self) -> None:
        """End the match and release its resources."""
        self._shared.match.close()


class LudusTurnEnv(AECEnv[str, Observation, Any]):  # type: ignore[misc]
    """PettingZoo AEC environment: one agent at a time.

    Seats that decide at once choose in order and act together.
    """

    def __init__(
        self, game: str, *, illegal: Illegal = "replace", decoded: bool = False, **params: object
    ) -> None:
        """Create the environment. Raises ``ValueError`` for an unknown game or parameter."""
        super().__init__()
        self._shared = _AgentMatch(game, illegal, decoded, params)
        self.metadata = {
            "name": f"ludus_{self._shared.spec.name}_v{self._shared.spec.version}",
            "render_modes": [],
            "is_parallelizable": True,
        }
        self.possible_agents = list(self._shared.names)
        self.agents: list[str] = []
        self.render_mode = None
        self._chosen: dict[str, Any] = {}

    def observation_space(self, agent: str) -> Any:
        """Return the agent's space, the same object at every call."""
        return self._shared.observations[agent]

    def action_space(self, agent: str) -> Any:
        """Return the agent's space, the same object at every call."""
        return self._shared.actions[agent]

    def observe(self, agent: str) -> Observation:
        """Return the agent's last observation, zeros before its first turn."""
        return self._shared.seen[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a match; equal seeds and actions give equal matches."""
        shared = self._shared
        shared.match.reset(seed)
        shared.look(first=True)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {a: shared.info(a) for a in self.agents}
        self._chosen = {}
        self._select()

    def _select(self) -> None:
        waiting = [s for s in self._shared.match.to_act() if self._shared.names[s] not in self._chosen]
        self.agent_selection = self._shared.names[waiting[0]] if waiting else self.agents[0]

    def step(self, action: Any) -> None:
        """Take the selected agent's action; the match advances once all deciding seats have chosen."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        shared = self._shared
        match = shared.match
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._chosen[agent] = action
        if all(shared.names[s] in self._chosen for s in match.to_act()):
            shared.play(self._chosen)
            self._chosen = {}
            self.rewards = {a: float(match.rewards[shared.seat[a]]) for a in self.agents}
            self.terminations = dict.fromkeys(self.agents, match.over and not match.truncated)
            self.truncations = dict.fromkeys(self.agents, match.over and match.truncated)
            self.infos = {a: shared.info(a) for a in self.agents}
        if not match.over:
            self._select()
        else:
            self.agent_selection = self.agents[0]
        self._accumulate_rewards()

    def render(self) -> None:
        """Return None: ``ludus replay to-html`` shows matches."""

    def close(self) -> None:
        """End the match and release its resources."""
        self._shared.match.close()


def parallel_env(game: str, **kwargs: Any) -> LudusParallelEnv:
    """Create a parallel environment: see :class:`LudusParallelEnv`."""
    return LudusParallelEnv(game, **kwargs)


def env(game: str, **kwargs: Any) -> LudusTurnEnv:
    """Create an AEC environment: see :class:`LudusTurnEnv`."""
    return LudusTurnEnv(game, **kwargs)

"""Environments of PettingZoo: ``pettingzoo/classic/connect_four_v3``, or ``pettingzoo/my_package.my_module``.

A module with ``parallel_env`` uses the parallel API, one with only ``env`` uses AEC (``api`` chooses).
Each agent keeps its seat. An agent that is done before the others does not act until it is among ``agents``
again, and keeps its last observation; the match ends when the last agent is done. Each agent is terminated
or truncated by the last flags that the environment gave for it; one that left without a flag is terminated.
Agents may differ in the number of their actions and in the length of flat observations: shorter ones are
padded, and padded actions are illegal. PettingZoo knows no teams; ``teams = by_name`` makes teams of agents
whose names are equal but for the number behind (``red_0, red_1, blue_0``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ludus.flow.inputs.shown import shown
from ludus.flow.process.extras import requirement
from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec, ParamSpec
from ludus.games.adapters.calls import render_mode_of, reset_env, step_error
from ludus.games.adapters.masks import MASK, Masks, StepMask, masks_in
from ludus.games.adapters.pictures import PARAM as PICTURE_LAYOUT
from ludus.games.adapters.pictures import settings
from ludus.games.adapters.spaces import Actions, Observation, UnsupportedSpace
from ludus.games.adapters.values import difference
from ludus.games.checks.agent_order import listed
from ludus.games.contained import close_quietly
from ludus.games.numbers import flag, number
from ludus.games.python_game import (
    PLAYING,
    TERMINATED,
    TRUNCATED,
    Bytes,
    Floats,
    Ints,
    PythonGame,
    VectorGame,
    declare,
    declared_params,
    typed_params,
)
from ludus.games.typed_import import import_typed

FAMILIES = ("atari", "butterfly", "classic", "sisl")  # PettingZoo's own extras of the same names
_API = ParamSpec(
    "api", "text", "auto", choices=("auto", "parallel", "aec"), meaning="which of its two APIs is used"
)


_TEAMS = ParamSpec(
    "teams",
    "text",
    "none",
    choices=("none", "by_name"),
    meaning="by_name: agents whose names are equal but for the number behind are a team",
)


def _teams_by_name(agents: Sequence[str]) -> list[int]:
    """Return the team of each agent. Raises ``ValueError`` where all are of one team."""
    names = [str(agent).rstrip("0123456789").rstrip("_") for agent in agents]
    known = list(dict.fromkeys(names))
    if len(known) == 1:
        what = f"is named {shown(known[0])}" if known[0].strip() else "has only a number for a name"
        raise ValueError(f"teams = by_name: every agent {what}; expected two names or more")
    return [known.index(name) for name in names]


class _Seats:
    """Common part of the two APIs: agents as seats, values, masks, rewards."""

    def __init__(self, maker: PettingZooMaker, env: Any) -> None:
        self.spec, self._maker = maker.spec, maker
        self._env = env
        self._names = maker.agents
        self._seat = {name: seat for seat, name in enumerate(self._names)}
        seats = len(self._names)
        self._values: list[Any] = [None] * seats
        self._masks: list[Sequence[StepMask]] = [()] * seats
        self._ends = np.zeros(seats, np.uint8)
        self._earned = np.zeros(seats, np.float32)
        self._total = np.zeros(seats, np.float64)
        self.truncated = False

    def _clear(self) -> None:
        self._earned[...] = 0.0
        self._total[...] = 0.0
        self._values = [None] * len(self._names)
        self._masks = [()] * len(self._names)
        self._ends[...] = PLAYING
        self.truncated = False

    def _seat_of(self, agent: Any) -> int:
        try:
            return self._seat[agent]
        except (KeyError, TypeError):
            raise ValueError(f"agent {agent!r} is not in possible_agents: {self._names}") from None

    def _acting(self) -> list[int]:
        return sorted(self._seat_of(a) for a in self._env.agents)

    def _mark(self, terminations: Mapping[Any, Any], truncations: Mapping[Any, Any]) -> None:
        """Keep the newest flags of every agent. A terminated agent is not truncated as well."""
        for agent in {**dict.fromkeys(self._env.agents), **terminations, **truncations}:
            end = PLAYING
            if _flagged("termination", agent, terminations):
                end = TERMINATED
            elif _flagged("truncation", agent, truncations):
                end = TRUNCATED
            self._ends[self._seat_of(agent)] = end

    def _settle(self) -> bool:
        """Mark the ends after a step. True when no agent is left.

        An agent that left without a flag is terminated.
        """
        here = np.zeros(len(self._names), np.bool_)
        here[self._acting()] = True
        seen = np.array([value is not None for value in self._values])
        self._ends[seen & ~here & (self._ends == PLAYING)] = TERMINATED
        over = not here.any()
        self.truncated = over and bool((self._ends == TRUNCATED).any())
        return over

    def ends(self, out: Bytes) -> None:
        """Write each agent's own end: ``PLAYING``, ``TERMINATED`` or ``TRUNCATED``."""
        out[...] = self._ends

    def _keep(self, agent: str, value: Any, info: Any) -> None:
        seat = self._seat_of(agent)
        self._masks[seat] = masks_in(value, info)
        self._values[seat] = value

    def rewards(self, out: Floats) -> None:
        out[...] = self._earned

    def outcome(self, out: Floats) -> None:
        """Write the outcome by the sum of rewards: the highest wins; equal sums are a draw."""
        out[...] = 0.0
        if len(out) > 1 and (self._total != self._total[0]).any():
            out[...] = np.where(self._total == self._total.max(), 1.0, -1.0)

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        if self._values[seat] is None:  # has not been there in this match
            for array in out.values():
                array[...] = 0
            return
        self._maker.write(seat, self._values[seat], out)

    def legal(self, seat: int, out: Bytes) -> None:
        masks = self._maker.masks[seat]
        out[masks.size :] = 0  # padding
        try:
            masks.write(self._masks[seat], out[: masks.size])
        except ValueError as error:
            raise ValueError(f"seat {seat} ({self._names[seat]}): {error}") from None

    def mismatch(self, seat: int) -> str:
        """Describe the first part of a seat's last observation that is not in its space; empty if none."""
        if self._values[seat] is None:
            return ""
        agent = self._names[seat]
        text = difference(self._maker.space(seat), self._values[seat], f"observation of {agent}")
        return text.replace("observation_space", f"observation_space({agent!r})")

    @property
    def ticks_per_s(self) -> float:
        """The pace that the environment declares; 0 where it has none."""
        return float(self._env.metadata.get("render_fps") or 0)

    def render(self) -> Any:
        """Return a picture or a text of the match; None in an environment that was made to train."""
        return None if getattr(self._env, "render_mode", None) is None else self._env.render()

    def close(self) -> None:
        self._env.close()


class ParallelGame(_Seats):
    """A game of the parallel API: all present agents act at once."""

    def reset(self, seed: int) -> None:
        """Start a match with ``seed``. Raises ``ValueError`` for a ``reset`` of another form."""
        own = getattr(self._env, "unwrapped", self._env).reset
        values, infos = reset_env(self._env.reset, own, seed)
        self._clear()
        for agent, value in values.items():
            self._keep(agent, value, infos.get(agent))

    def to_act(self) -> Sequence[int]:
        """Return the seats of the present agents, ascending."""
        return self._acting()

    def step(self, actions: Ints) -> bool:
        """Play the decisions of all present agents. True when no agent is left."""
        decide = self._maker.decode
        chosen = {a: decide(self._seat_of(a), actions[self._seat_of(a)]) for a in self._env.agents}
        try:
            values, rewards, terminations, truncations, infos = self._env.step(chosen)
        except ValueError as error:
            raise step_error(error) from error
        self._earned[...] = 0.0
        for agent, value in values.items():
            self._keep(agent, value, infos.get(agent))
        for agent, reward in rewards.items():
            self._earned[self._seat_of(agent)] = number(f"reward of {agent}", reward)
        self._total += self._earned
        self._mark(terminations, truncations)
        return self._settle()


class TurnGame(_Seats):
    """A game of the AEC API: one agent acts at a time. Agents that are done are skipped."""

    def reset(self, seed: int) -> None:
        """Start a match with ``seed``."""
        self._env.reset(seed=seed)
        self._clear()
        for agent in self._env.agents:
            self._keep(agent, self._env.observe(agent), self._env.infos.get(agent))

    def to_act(self) -> Sequence[int]:
        """Return the selected agent's seat."""
        return (self._seat_of(self._env.agent_selection),) if self._env.agents else ()

    def step(self, actions: Ints) -> bool:
        """Play the selected agent's decision. True when no agent is left."""
        env = self._env
        if not env.agents:  # none was there after reset
            return True
        seat = self._seat_of(env.agent_selection)
        env.step(self._maker.decode(seat, actions[seat]))
        self._earned[...] = 0.0
        for agent in env.agents:
            reward = number(f"reward of {agent}", env.rewards.get(agent, 0.0))
            self._earned[self._seat_of(agent)] = reward
        self._total += self._earned
        for agent in list(env.agents):
            self._keep(agent, env.observe(agent), env.infos.get(agent))
        self._mark(env.terminations, env.truncations)
        while env.agents and (
            _flagged("termination", env.agent_selection, env.terminations)
            or _flagged("truncation", env.agent_selection, env.truncations)
        ):
            env.step(None)
            self._mark(env.terminations, env.truncations)
        return self._settle()


def _flagged(what: str, agent: Any, flags: Mapping[Any, Any]) -> bool:
    """Return the agent's flag, false where there is none."""
    value = flags.get(agent, False)
    return value is not False and flag(f"{what} of {agent}", value)


def _package_of(missing: str, module: str) -> str:
    """Return the requirement of a missing module: PettingZoo has an extra for each of its families."""
    package = missing.partition(".")[0]
    if package in ("gymnasium", "pettingzoo") and missing == package:
        return requirement("pettingzoo")
    family = module.split(".")[1] if module.startswith("pettingzoo.") else ""
    return f"pettingzoo[{family}]" if family in FAMILIES and package != "pettingzoo" else ""


class PettingZooMaker:
    """Maker of a module's environment under parameters."""

    def __init__(self, name: str, params: Mapping[str, str]) -> None:
        """Create the environment once and declare its spec. Raises ``ValueError`` if it cannot be hosted."""
        module_name = name if "." in name else "pettingzoo." + name.replace("/", ".")
        module = import_typed(
            module_name, f"pettingzoo/{name}", lambda missing: _package_of(missing, module_name)
        )
        parallel, turns = getattr(module, "parallel_env", None), getattr(module, "env", None)
        if parallel is None and turns is None:
            raise ValueError(f"pettingzoo/{name}: {module_name} has neither parallel_env nor env")
        creator: Callable[..., Any] = getattr(module, "raw_env", None) or parallel or turns  # type: ignore[assignment]
        ours = (_API, _TEAMS, PICTURE_LAYOUT)
        declared = [*declared_params(creator, skip=("render_mode", *(p.name for p in ours))), *ours]
        values = typed_params(declared, params)
        api = values.pop("api", "auto")
        if api == "parallel" and parallel is None or api == "aec" and turns is None:
            raise ValueError(f"pettingzoo/{name}: api = {api}: {module_name} has no such API")
        self._turns = api == "aec" or parallel is None
        self._create: Callable[..., Any] = turns if self._turns else parallel  # type: ignore[assignment]
        self._layouts = settings(values)
        values.pop(PICTURE_LAYOUT.name, None)
        by_name = values.pop(_TEAMS.name, "none") == "by_name"
        self._values, self._name = values, name
        env = self.environment()
        try:
            self.agents = listed(env.possible_agents)
            self._render_mode = render_mode_of(env) if hasattr(env, "render_mode") else ""
            self._describe(env)
            teams = _teams_by_name(self.agents) if by_name else []
        except ValueError as error:
            raise ValueError(f"pettingzoo/{name}: {error}") from None
        finally:
            close_quietly(env)
        self.spec: GameSpec = declare(
            f"pettingzoo/{name}",
            title=f"{name} of PettingZoo",
            observation=self._tensors,
            heads=self._heads,
            seats=len(self.agents),
            turn_based=self._turns,
            params=declared,
            teams=teams,
        )

    def environment(self, **drawn: str) -> Any:
        """Create an environment. ``drawn``: its ``render_mode``, where it is to be looked at."""
        try:
            return self._create(**self._values, **drawn)
        except TypeError as error:
            raise ValueError(
                f"pettingzoo/{self._name}: cannot be made with {self._values}: {error}"
            ) from None

    def _describe(self, env: Any) -> None:
        """Set tensors and heads that fit every agent. Raises ``UnsupportedSpace`` if there are none."""
        seen = [env.observation_space(a) for a in self.agents]
        self._observations = [Observation(s, self._layouts, MASK) for s in seen]
        self._actions = [Actions(env.action_space(a)) for a in self.agents]
        self.masks = [Masks(a) for a in self._actions]
        self.choices: list[int | None] = [a.heads[0].size if a.discrete else None for a in self._actions]
        self._lengths: list[int] | None = None
        if any(o.tensors != self._observations[0].tensors for o in self._observations):
            flat = [o.tensors[0] for o in self._observations]
            if any(len(o.tensors) > 1 for o in self._observations) or any(
                len(t.shape) != 1 or t.dtype != "f32" for t in flat
            ):
                raise UnsupportedSpace(
                    f"agents have different observation spaces ({seen[0]} and {seen[-1]}); "
                    "only flat vectors of numbers are padded"
                )
            self._lengths = [t.shape[0] for t in flat]
            longest = flat[int(np.argmax(self._lengths))]
            self._tensors = [longest]
        else:
            self._tensors = self._observations[0].tensors
        heads = max((a.heads for a in self._actions), key=lambda h: sum(x.size for x in h))
        if any(a.heads != heads for a in self._actions) and not all(a.discrete for a in self._actions):
            raise UnsupportedSpace(
                "agents have different action spaces; only Discrete spaces of different sizes are padded"
            )
        self._heads = heads

    def seat_agents(self, order: Sequence[str]) -> bool:
        """Seat the agents in ``order``, as :class:`ludus.games.checks.agent_order.HasAgents`."""
        names = [str(agent) for agent in self.agents]
        if list(order) == names or sorted(order) != sorted(names) or self.spec.teams:
            return False
        at = [names.index(agent) for agent in order]
        self.agents = [self.agents[i] for i in at]
        self._observations = [self._observations[i] for i in at]
        self._actions = [self._actions[i] for i in at]
        self.masks = [self.masks[i] for i in at]
        self.choices = [self.choices[i] for i in at]
        self._lengths = None if self._lengths is None else [self._lengths[i] for i in at]
        return True

    def space(self, seat: int) -> Any:
        """Return the seat's own observation space."""
        return self._observations[seat].space

    def write(self, seat: int, value: Any, out: Mapping[str, Array]) -> None:
        """Write a seat's observation, padded with zeros."""
        if self._lengths is None:
            self._observations[seat].write(value, out)
            return
        target, length = out[self._tensors[0].name], self._lengths[seat]
        target[length:] = 0
        self._observations[seat].write(value, {self._observations[seat].tensors[0].name: target[:length]})

    def decode(self, seat: int, decision: Ints) -> Any:
        """Convert a decision ``int32[K]`` to the seat's action. Raises ``ValueError`` for a padded choice."""
        choices = self.choices[seat]
        if choices is not None and int(decision[0]) >= choices:
            raise ValueError(f"action {int(decision[0])} of seat {seat} is not in [0, {choices})")
        return self._actions[seat].decode(decision)

    def make(self) -> PythonGame:
        """Create a game with its own environment."""
        return self._game(self.environment())

    def make_drawn(self) -> PythonGame:
        """Create a game whose environment draws itself, if it can."""
        if not self._render_mode:
            return self.make()
        try:
            return self._game(self.environment(render_mode=self._render_mode))
        except ValueError:  # it has modes, and its constructor takes none
            return self.make()

    def _game(self, env: Any) -> PythonGame:
        return TurnGame(self, env) if self._turns else ParallelGame(self, env)

    def make_vector(self, matches: int) -> VectorGame | None:
        """Return None: PettingZoo has no vectorised environments."""
        return None


def maker(name: str, params: Mapping[str, str]) -> PettingZooMaker:
    """Return a maker of the environment ``name``: see :class:`PettingZooMaker`."""
    return PettingZooMaker(name, params)

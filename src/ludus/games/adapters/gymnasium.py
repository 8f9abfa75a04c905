"""Environments of Gymnasium: ``gymnasium/CartPole-v1``, or ``gymnasium/my_package:MyEnv-v0``.

Arguments of the environment's constructor with a plain default are parameters of the game. If the library
can step many matches with one call (``vector_entry_point``), this is used unless ``vectorise = "no"``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.flow.names import nearest
from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec, ParamSpec
from ludus.games.adapters.calls import render_mode_of, reset_env, step_error
from ludus.games.adapters.masks import MASK, Masks, masks_in
from ludus.games.adapters.pictures import PARAM as PICTURE_LAYOUT
from ludus.games.adapters.pictures import settings
from ludus.games.adapters.spaces import Actions, Observation
from ludus.games.adapters.values import difference
from ludus.games.contained import close_quietly
from ludus.games.numbers import flag, flags, number, numbers
from ludus.games.python_game import (
    MAX_TICKS,
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

if TYPE_CHECKING:
    import gymnasium


class GymnasiumGame:
    """One environment as a game of one seat. ``reset`` and ``step`` forward everything unchanged."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        spec: GameSpec,
        observation: Observation,
        actions: Actions,
        masks: Masks,
    ) -> None:
        """Wrap ``env``, with the conversions of its spaces that the maker has prepared."""
        self.spec = spec
        self.truncated = False
        self._env, self._observation, self._actions, self._masks = env, observation, actions, masks
        self._value: Any = None
        self._info: Any = None
        self._reward: Any = 0.0
        self._step = env.step

    def reset(self, seed: int) -> None:
        """Start a match with ``seed``. Raises ``ValueError`` for a ``reset`` of another form."""
        self._value, self._info = reset_env(self._env.reset, self._env.unwrapped.reset, seed)

    def to_act(self) -> Sequence[int]:
        """Return the only seat."""
        return (0,)

    def step(self, actions: Ints) -> bool:
        """Play one decision. True when the episode is terminated or truncated."""
        action = self._actions.decode(actions[0])
        try:
            self._value, self._reward, terminated, truncated, self._info = self._step(action)
        except ValueError as error:
            raise step_error(error) from error
        if terminated is not False or truncated is not False:
            terminated, truncated = flag("terminated", terminated), flag("truncated", truncated)
        self.truncated = truncated and not terminated
        return terminated or truncated

    def rewards(self, out: Floats) -> None:
        """Write the reward of the last step. Raises ``ValueError`` if it is no number."""
        out[0] = number("reward", self._reward)

    def outcome(self, out: Floats) -> None:
        """Write 0: an environment has no winner."""
        out[0] = 0.0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        """Write the last observation. Raises ``ValueError`` for one that its space cannot hold."""
        self._observation.write(self._value, out)

    def legal(self, seat: int, out: Bytes) -> None:
        """Write the legality from the last observation or info; all legal without a mask."""
        self._masks.write(masks_in(self._value, self._info), out)

    def mismatch(self, seat: int) -> str:
        """Describe how the last observation or a space differs from the declared spaces; empty if it fits."""
        now = self._env.action_space
        if now is not self._actions.space and now != self._actions.space:
            return (
                f"action_space was {self._actions.space} and is {now}: keep it as it is, and say with "
                f"info[{MASK!r}] which actions are legal"
            )
        return difference(self._observation.space, self._value, "observation")

    @property
    def ticks_per_s(self) -> float:
        """The pace that the environment declares; 0 where it has none."""
        return float(self._env.metadata.get("render_fps") or 0)

    def render(self) -> Any:
        """Return a picture or a text of the match; None in an environment that was made to train."""
        return None if self._env.render_mode is None else self._env.render()

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


class GymnasiumVector:
    """Many matches stepped by one call. The library starts the next match, one step after the end."""

    def __init__(
        self,
        env: gymnasium.vector.VectorEnv[Any, Any, Any],
        spec: GameSpec,
        observation: Observation,
        actions: Actions,
    ) -> None:
        """Wrap the vector environment ``env``, whose observation is one vector."""
        self._env, self._name, self._actions = env, spec.observation[0].name, actions
        self._observation = observation
        self._value: Array = np.zeros(0)

    def reset(self, seed: int) -> None:
        """Start all matches."""
        self._value, info = self._env.reset(seed=seed)
        _no_mask(info)

    def step(self, actions: Ints) -> tuple[Floats, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Play ``int32[k, K]``. Returns reward, terminated and truncated, ``[k]`` each."""
        self._value, reward, terminated, truncated, info = self._env.step(self._actions.decode_many(actions))
        _no_mask(info)
        count = len(actions)
        return (
            numbers("reward", reward, count),
            flags("terminated", terminated, count),
            flags("truncated", truncated, count),
        )

    def observe(self, out: Mapping[str, Array]) -> None:
        """Write the last observations ``[k, ...]``."""
        self._observation.write_many(self._value, out[self._name])

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


class BareEnvironment:
    """An environment with sampled actions, as a user's first loop plays it."""

    frames = 1

    def __init__(self, env: gymnasium.Env[Any, Any], seed: int) -> None:
        """Play in ``env``."""
        self._env = env
        env.action_space.seed(seed)
        env.reset(seed=seed)

    def tick(self) -> None:
        """Take a step; at the end of a match reset."""
        _, _, terminated, truncated, _ = self._env.step(self._env.action_space.sample())
        if terminated or truncated:
            self._env.reset()

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


def _no_mask(info: Any) -> None:
    if info and MASK in info:
        raise ValueError(f"info[{MASK!r}] of a vector environment cannot be kept: set vectorise = no")


class GymnasiumMaker:
    """Maker of an environment of Gymnasium under parameters."""

    def __init__(self, environment: str, params: Mapping[str, str]) -> None:
        """Create the environment once and declare its spec.

        Args:
            environment: Its id, with the module that registers it in front if needed: ``module:Id-v0``.
            params: Parameters of its constructor and of the adapter, as text.

        Raises:
            ValueError: Gymnasium does not know the id, or the environment cannot be hosted.
        """
        import gymnasium

        module, colon, self._id = environment.rpartition(":")
        if colon:  # the module registers the environment; Gymnasium's registry has it without the prefix
            import_typed(module, f"gymnasium/{environment}")
        try:
            registered = gymnasium.spec(self._id)
        except gymnasium.error.Error as error:
            hint = _elsewhere(self._id) or _near(self._id, module + colon)
            raise ValueError(f"gymnasium/{environment}: {error}{hint}") from None
        self._vectorised = registered.vector_entry_point is not None
        limit = registered.max_episode_steps or 0
        try:
            declared = _declared(registered, limit)
        except (gymnasium.error.DependencyNotInstalled, ImportError) as error:
            raise ValueError(f"gymnasium/{environment}: {error}") from None
        values = typed_params(declared, params)
        self._vectorise = values.pop("vectorise", "auto") == "auto"
        if values.get("max_episode_steps") in (0, None):
            values.pop("max_episode_steps", None)
        layouts = settings(values)
        values.pop(PICTURE_LAYOUT.name, None)
        self._kwargs: dict[str, Any] = dict(values)
        with warnings.catch_warnings(record=True) as warned:  # of an old version, shown again below
            warnings.simplefilter("always")
            env = self._environment()
        for one in {str(warning.message): warning for warning in warned}.values():
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        try:
            try:
                self.observation = Observation(env.observation_space, layouts, MASK)
                self.actions = Actions(env.action_space)
            except ValueError as error:
                raise ValueError(f"gymnasium/{environment}: {error}") from None
            self.masks = Masks(self.actions)
            labels = _labels(env)
            self._render_mode = render_mode_of(env)
            value, info = reset_env(env.reset, env.unwrapped.reset, 0)
            self._masked = bool(masks_in(value, info))
        finally:
            close_quietly(env)
        heads = self.actions.heads
        if len(heads) == 1 and len(labels) == heads[0].size:
            heads = [msgspec.structs.replace(heads[0], labels=labels)]
        self.spec = declare(
            f"gymnasium/{environment}",
            title=f"{environment} of Gymnasium",
            observation=self.observation.tensors,
            heads=heads,
            max_ticks=int(values.get("max_episode_steps", limit) or MAX_TICKS),
            params=declared,
        )

    def _environment(self, render_mode: str = "") -> gymnasium.Env[Any, Any]:
        import gymnasium

        drawn: dict[str, Any] = {"render_mode": render_mode} if render_mode else {}
        try:
            return gymnasium.make(self._id, disable_env_checker=True, **self._kwargs, **drawn)
        except gymnasium.error.DependencyNotInstalled as error:
            raise ValueError(f"gymnasium/{self._id}: {error}") from None
        except (TypeError, gymnasium.error.Error) as error:
            raise ValueError(f"gymnasium/{self._id}: cannot be made with {self._kwargs}: {error}") from None

    def make(self) -> PythonGame:
        """Create a game with its own environment."""
        return self._game(self._environment())

    def make_drawn(self) -> PythonGame:
        """Create a game whose environment draws itself, if it can."""
        return self._game(self._environment(self._render_mode))

    def _game(self, env: gymnasium.Env[Any, Any]) -> PythonGame:
        return GymnasiumGame(env, self.spec, self.observation, self.actions, self.masks)

    def bare(self, seed: int) -> BareEnvironment | None:
        """Create an environment that plays by itself; None where actions can be illegal."""
        return None if self._masked else BareEnvironment(self._environment(), seed)

    def make_vector(self, matches: int) -> VectorGame | None:
        """Create a vector environment of ``matches`` matches, or return None if the library has none."""
        import gymnasium
        from gymnasium.vector import AutoresetMode

        one_tensor = len(self.spec.observation) == 1 and self.spec.observation[0].dtype == "f32"
        single = one_tensor and self.actions.single and not self._masked
        if not (self._vectorised and self._vectorise and single):
            return None
        try:
            env = gymnasium.make_vec(
                self._id, num_envs=matches, vectorization_mode="vector_entry_point", **self._kwargs
            )
        except (gymnasium.error.Error, ImportError, TypeError):
            return None
        flat = len(env.single_observation_space.shape or ()) == 1
        if env.metadata.get("autoreset_mode") != AutoresetMode.NEXT_STEP or not flat:
            close_quietly(env)
            return None
        return GymnasiumVector(env, self.spec, self.observation, self.actions)


def _declared(registered: Any, limit: int) -> list[ParamSpec]:
    """Return the parameters of the environment's constructor, then the adapter's."""
    from gymnasium.envs.registration import load_env_creator

    creator = registered.entry_point
    if isinstance(creator, str):
        creator = load_env_creator(creator)
    out = []
    ours = ("vectorise", "max_episode_steps", PICTURE_LAYOUT.name)
    for param in declared_params(creator, skip=("render_mode", *ours)):
        given = registered.kwargs.get(param.name)
        if isinstance(given, (bool, int, float, str)):
            text = str(given).lower() if isinstance(given, bool) else str(given)
            param = msgspec.structs.replace(param, default_value=text)
        out.append(param)
    out.append(
        ParamSpec(
            "max_episode_steps", "integer", str(limit), 0, MAX_TICKS, meaning="a match is cut off there"
        )
    )
    out.append(
        ParamSpec(
            "vectorise",
            "text",
            "auto",
            choices=("auto", "no"),
            meaning="use the library's own batched environment if it has one",
        )
    )
    return [*out, PICTURE_LAYOUT]


def _labels(env: gymnasium.Env[Any, Any]) -> tuple[str, ...]:
    """Return the names of the actions, if the environment has them (Atari)."""
    meanings = getattr(env.unwrapped, "get_action_meanings", None)
    return tuple(str(m).lower() for m in meanings()) if callable(meanings) else ()


#: Packages whose module registers a namespace of environments.
_NAMESPACES = {"ALE": "ale_py", "dm_control": "shimmy", "dm_lab": "shimmy", "bsuite": "shimmy"}


def _elsewhere(environment: str) -> str:
    """Return the hint that a module registers this environment and is not imported; empty if none."""
    space, slash, name = environment.partition("/")
    module = _NAMESPACES.get(space) if slash else None
    atari = f", or atari/{name.partition('-')[0]}" if module == "ale_py" else ""
    if module is not None:
        return f" (name the module that registers it: gymnasium/{module}:{environment}{atari})"
    import gymnasium

    known = slash and any(spec.namespace == space for spec in gymnasium.registry.values())
    if slash and not known:
        return f" (name the module that registers it: gymnasium/MODULE:{environment})"
    return ""


def _near(environment: str, prefix: str) -> str:

    import gymnasium

    near = nearest(environment, gymnasium.registry)
    return f" (did you mean gymnasium/{prefix}{near}?)" if near else ""


def maker(name: str, params: Mapping[str, str]) -> GymnasiumMaker:
    """Return a maker of the environment ``name``: see :class:`GymnasiumMaker`."""
    return GymnasiumMaker(name, params)

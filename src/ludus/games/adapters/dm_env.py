"""Environments of ``dm_env``: ``dm_env/my_package.my_module:make``.

``make`` returns a ``dm_env.Environment``; its arguments with a plain default are the game's parameters.
dm_env has no seeds. If ``make`` takes ``seed``, every match makes a new environment, so that a match
depends on its seed; otherwise one environment plays all matches.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec
from ludus.games.adapters.masks import MASK, Masks, masks_in
from ludus.games.adapters.pictures import PARAM as PICTURE_LAYOUT
from ludus.games.adapters.pictures import settings
from ludus.games.adapters.spaces import Actions, Observation, UnsupportedSpace
from ludus.games.adapters.values import difference
from ludus.games.contained import close_quietly
from ludus.games.numbers import number
from ludus.games.python_game import (
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


class DmEnvGame:
    """One environment as a game of one seat. An end with a discount above 0 is a truncation."""

    def __init__(self, maker: DmEnvMaker) -> None:
        """Prepare a game; its environment is created by the first reset."""
        self.spec, self._maker = maker.spec, maker
        self._env: Any = None
        self._step: Any = None
        self.truncated = False

    def reset(self, seed: int) -> None:
        """Start a match, in a new environment where environments take seeds."""
        if self._env is None or self._maker.seeded:
            close_quietly(self._env)
            self._env = self._maker.environment(seed)
        self._step = self._env.reset()
        self.truncated = False

    def to_act(self) -> Sequence[int]:
        """Return the only seat."""
        return (0,)

    def step(self, actions: Ints) -> bool:
        """Play one decision. True at the last step of an episode."""
        self._step = self._env.step(self._maker.action(actions[0]))
        over = bool(self._step.last())
        discount = self._step.discount
        self.truncated = over and discount is not None and number("discount", discount) > 0.0
        return over

    def rewards(self, out: Floats) -> None:
        """Write the reward of the last step, 0 where the environment gives none."""
        reward = self._step.reward
        out[0] = 0.0 if reward is None else number("reward", reward)

    def outcome(self, out: Floats) -> None:
        """Write 0: an environment has no winner."""
        out[0] = 0.0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        """Write the last observation. Raises ``ValueError`` for one that its spec cannot hold."""
        self._maker.observation.write(self._step.observation, out)

    def legal(self, seat: int, out: Bytes) -> None:
        """Write the legality that the last observation contains; all legal without a mask."""
        self._maker.masks.write(masks_in(self._step.observation, None), out)

    def mismatch(self, seat: int) -> str:
        """Describe the first part of the last observation that is not in its spec; empty if none."""
        return difference(self._maker.observation.space, self._step.observation, "observation").replace(
            "observation_space", "observation_spec"
        )

    def render(self) -> Any:
        """Return the picture of an environment that has ``render``; dm_env itself defines none."""
        render = getattr(self._env, "render", None)
        return render() if callable(render) else None

    def close(self) -> None:
        """Close the environment."""
        if self._env is not None:
            self._env.close()


class DmEnvMaker:
    """Maker of a dm_env environment under parameters."""

    def __init__(self, name: str, params: Mapping[str, str]) -> None:
        """Create the environment once and declare its spec. Raises ``ValueError`` if it cannot be hosted."""
        import dm_env  # noqa: F401 - fails here, not in the first match

        module_name, colon, attribute = name.partition(":")
        if not colon:
            raise ValueError(f"dm_env/{name}: expected dm_env/MODULE:FUNCTION")
        self._create = getattr(import_typed(module_name, f"dm_env/{name}"), attribute, None)
        if not callable(self._create):
            raise ValueError(f"dm_env/{name}: {module_name} has no {attribute}")
        self.seeded = "seed" in inspect.signature(self._create).parameters
        declared = declared_params(self._create, skip=("seed",))
        declared = [p for p in declared if p.name != PICTURE_LAYOUT.name] + [PICTURE_LAYOUT]
        self._values = typed_params(declared, params)
        layouts = settings(self._values)
        self._values.pop(PICTURE_LAYOUT.name, None)
        env = self.environment(0)
        try:
            self.observation = Observation(space_of(env.observation_spec()), layouts, MASK)
            self._action_spec = env.action_spec()
            self.actions = Actions(space_of(self._action_spec))
            self.masks = Masks(self.actions)
        except ValueError as error:
            raise ValueError(f"dm_env/{name}: {error}") from None
        finally:
            close_quietly(env)
        self.spec: GameSpec = declare(
            f"dm_env/{name}",
            title=f"{attribute} of {module_name}",
            observation=self.observation.tensors,
            heads=self.actions.heads,
            params=declared,
        )

    def environment(self, seed: int) -> Any:
        """Create an environment."""
        values: dict[str, Any] = dict(self._values)
        if self.seeded:
            values["seed"] = seed
        return self._create(**values)  # type: ignore[misc]

    def action(self, decision: Ints) -> Any:
        """Convert a decision ``int32[K]`` to the form that the environment's ``step`` takes."""
        return _member(self._action_spec, self.actions.decode(decision))

    def make(self) -> PythonGame:
        """Create a game with its own environment."""
        return DmEnvGame(self)

    def make_vector(self, matches: int) -> VectorGame | None:
        """Return None: dm_env has no vectorised environments."""
        return None


def space_of(spec: Any) -> Any:
    """Convert a spec of dm_env to a space of Gymnasium. Raises ``UnsupportedSpace``."""
    from dm_env import specs
    from gymnasium import spaces

    if isinstance(spec, Mapping):
        return spaces.Dict({str(k): space_of(v) for k, v in spec.items()})
    if isinstance(spec, (list, tuple)):
        return spaces.Tuple([space_of(v) for v in spec])
    if isinstance(spec, specs.DiscreteArray):
        return spaces.Discrete(int(spec.num_values))
    if not isinstance(spec, specs.Array) or spec.dtype.kind not in "biuf":
        raise UnsupportedSpace(f"{spec}: only arrays of numbers have a fixed size")
    dtype = np.dtype(np.uint8) if spec.dtype.kind == "b" else spec.dtype
    if isinstance(spec, specs.BoundedArray):
        low, high = spec.minimum, spec.maximum
    elif dtype.kind == "f":
        low, high = -np.inf, np.inf
    else:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    shape = spec.shape
    return spaces.Box(
        np.broadcast_to(np.asarray(low, dtype), shape),
        np.broadcast_to(np.asarray(high, dtype), shape),
        shape,
        dtype,
    )


def _member(spec: Any, value: Any) -> Any:
    """Convert a member of :func:`space_of` to one of ``spec``: its containers, its dtypes."""
    if isinstance(spec, Mapping):
        return {k: _member(v, value[str(k)]) for k, v in spec.items()}
    if isinstance(spec, (list, tuple)):
        parts = [_member(v, part) for v, part in zip(spec, value, strict=True)]
        return parts if isinstance(spec, list) else tuple(parts)
    return spec.dtype.type(value) if np.isscalar(value) else value.astype(spec.dtype)


def maker(name: str, params: Mapping[str, str]) -> DmEnvMaker:
    """Return a maker of the environment ``name``: see :class:`DmEnvMaker`."""
    return DmEnvMaker(name, params)

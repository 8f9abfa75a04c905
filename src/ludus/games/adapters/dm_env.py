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
from ludus.games.adapters.masks import MASK, Masks, given
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
        self.spec, self._maker = maker.spec, maker
        self._env: Any = None
        self._step: Any = None
        self.truncated = False

    def reset(self, seed: int) -> None:
        if self._env is None or self._maker.seeded:
            close_quietly(self._env)
            self._env = self._maker.environment(seed)
        self._step = self._env.reset()
        self.truncated = False

    def to_act(self) -> Sequence[int]:
        return (0,)

    def step(self, actions: Ints) -> bool:
        self._step = self._env.step(self._maker.action(actions[0]))
        over = bool(self._step.last())
        discount = self._step.discount
        self.truncated = over and discount is not None and number("discount", discount) > 0.0
        return over

    def rewards(self, out: Floats) -> None:
        reward = self._step.reward
        out[0] = 0.0 if reward is None else number("reward", reward)

    def outcome(self, out: Floats) -> None:
        out[0] = 0.0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        self._maker.observation.write(self._step.observation, out)

    def legal(self, seat: int, out: Bytes) -> None:
        self._maker.masks.write(given(self._step.observation, None), out)

    def mismatch(self, seat: int) -> str:
        """What of the last observation is not in its spec; empty if none."""
        return difference(self._maker.observation.space, self._step.observation, "observation").replace(
            "observation_space", "observation_spec"
        )

    def close(self) -> None:
        if self._env is not None:
            self._env.close()


class DmEnvMaker:
    """An environment under parameters. Raises ``ValueError`` if it cannot be hosted."""

    def __init__(self, name: str, params: Mapping[str, str]) -> None:
        import dm_env  # noqa: F401 - said here, not in the first match

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
        """A new environment."""
        values: dict[str, Any] = dict(self._values)
        if self.seeded:
            values["seed"] = seed
        return self._create(**values)  # type: ignore[misc]

    def action(self, decision: Ints) -> Any:
        """A decision as the environment's ``step`` takes it."""
        return _member(self._action_spec, self.actions.decode(decision))

    def make(self) -> PythonGame:
        return DmEnvGame(self)

    def make_vector(self, matches: int) -> VectorGame | None:
        """None: dm_env has no vectorised environments."""
        return None


def space_of(spec: Any) -> Any:
    """A spec of dm_env as a space of Gymnasium. Raises ``UnsupportedSpace``."""
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
    """A member of :func:`space_of` as one of ``spec``: its containers, its dtypes."""
    if isinstance(spec, Mapping):
        return {k: _member(v, value[str(k)]) for k, v in spec.items()}
    if isinstance(spec, (list, tuple)):
        parts = [_member(v, part) for v, part in zip(spec, value, strict=True)]
        return parts if isinstance(spec, list) else tuple(parts)
    return spec.dtype.type(value) if np.isscalar(value) else value.astype(spec.dtype)


def maker(name: str, params: Mapping[str, str]) -> DmEnvMaker:
    """See :class:`DmEnvMaker`."""
    return DmEnvMaker(name, params)

"""Any game as an environment of Gymnasium: ``gymnasium.make("ludus/minirts-v1", opponent="simple")``.

The environment's agent has one seat; bots of the game or random choices play the others. Legality is in
``info["legal"]``, the whole mask for a policy, and in ``info["action_mask"]``, in the form that
``action_space.sample`` takes. An illegal choice is replaced by the first legal one, and ``info["illegal"]``
reports it (``illegal="raise"`` refuses it instead).
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ludus.flow import PoolOptions, Slab
from ludus.flow.masks import legal_choices
from ludus.flow.slab import Array
from ludus.games import registry
from ludus.games.exports.match import kept_state, make_match, revive, unpack_one
from ludus.games.exports.observations import ObservationFormat
from ludus.games.exports.picture import Picture, picture
from ludus.games.exports.spaces import Illegal, action_space, choices_of, decision_of, mask_of, possible_of
from ludus.games.names import typed

Observation = dict[str, Array]
RENDER_MODES = ("rgb_array",)


def _check_render_mode(mode: str | None) -> str | None:
    if mode is not None and mode not in RENDER_MODES:
        raise ValueError(f"render_mode = {mode!r}: expected None or {RENDER_MODES[0]!r}")
    return mode


class LudusEnv(gymnasium.Env[Observation, Any]):
    """Gymnasium environment of one match at a time, seen from ``seat``.

    Args:
        game: A game by name or reference.
        seat: The seat that the environment's agent has.
        opponent: Player of the other seats: a bot of the game, or ``random``.
        illegal: An illegal choice is replaced by the first legal one (``"replace"``); ``"raise"`` refuses it.
        render_mode: ``"rgb_array"``: ``render()`` returns a picture of the observation.
        frame_skip: Ticks between two decisions of the seat (0: the game's default; compiled games alone).
        decoded: Observations are decoded by the game's codecs as for a network, to float32 planes, rows and
            vectors, instead of the packed tensors. Needs torch.
        params: Parameters of the rules, as further keyword arguments.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 10}  # noqa: RUF012 - Gymnasium's own form

    def __init__(
        self,
        game: str,
        *,
        seat: int = 0,
        opponent: str = "",
        illegal: Illegal = "replace",
        render_mode: str | None = None,
        frame_skip: int = 0,
        decoded: bool = False,
        **params: object,
    ) -> None:
        """Create the environment. Raises ``ValueError`` for an unknown game, parameter, seat or opponent."""
        self.render_mode = _check_render_mode(render_mode)
        self._match = make_match(game, params, [seat], opponent, frame_skip)
        spec = self._match.spec
        if not 0 <= seat < spec.seats:
            raise ValueError(f"seat = {seat}: {spec.name} has seats 0 to {spec.seats - 1}")
        self.game_spec, self.seat, self._illegal = spec, seat, illegal
        self._format = ObservationFormat(spec, decoded=decoded)
        self.observation_space = self._format.space()  # type: ignore[assignment]
        self.action_space = action_space(spec)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a match; equal seeds and actions give equal matches."""
        super().reset(seed=seed)
        self._match.reset(seed)
        return self._see(), self._info()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play one decision, and everything until the next one of this seat."""
        match = self._match
        if match.over:
            raise gymnasium.error.ResetNeeded("the match is over: call reset() first")
        chosen, replaced = decision_of(self.game_spec, action, match.legal(self.seat), self._illegal)
        decisions = np.zeros((self.game_spec.seats, len(self.game_spec.heads)), np.int32)
        decisions[self.seat] = chosen
        match.step(decisions)
        if match.error:
            raise RuntimeError(f"{self.game_spec.name}: {match.error}")
        info = self._info()
        if replaced:
            info["illegal"] = True
        if match.over:
            info["outcome"] = float(match.outcome[self.seat])
        return (
            self._see(),
            float(match.rewards[self.seat]),
            match.over and not match.truncated,
            match.truncated,
            info,
        )

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return ``bool[choices of all heads]``, as MaskablePPO of sb3-contrib needs it.

        A choice of a head that depends on others is true if it is legal after some choice of those. Raises
        ``ValueError`` if a head is continuous.
        """
        return np.concatenate(possible_of(self.game_spec, self._match.legal(self.seat)))

    def render(self) -> Picture | None:
        """Draw the observation as ``uint8[H, W, 3]`` with ``render_mode="rgb_array"``; else return None."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                'render() without a mode: make the environment with render_mode="rgb_array"'
            )
            return None
        return picture(self.game_spec, self._match.observe(self.seat))

    def _see(self) -> Observation:
        return self._format.one(self._match.observe(self.seat))

    def _info(self) -> dict[str, Any]:
        legal = self._match.legal(self.seat)
        mask = mask_of(self.game_spec, legal)
        return {"legal": legal} if mask is None else {"legal": legal, "action_mask": mask}

    def close(self) -> None:
        """End the match and release its resources."""
        self._match.close()


class LudusVectorEnv(VectorEnv[Observation, Any, Array]):
    """Gymnasium vector environment: ``num_envs`` matches of a compiled game, stepped by one call.

    After a match has ended the next one starts in the same step; its last observation is in
    ``info["final_obs"]``: arrays over all environments that mean something where ``info["_final_obs"]`` is
    true.

    Args:
        game: A game by name or reference.
        num_envs: Number of matches.
        seat: The seat that the agent has in each.
        opponent: The bot that plays the other seats.
        threads: Worker threads (0: the calling thread).
        render_mode: As for :class:`LudusEnv`; ``render()`` returns a picture for each environment.
        frame_skip: As for :class:`LudusEnv`.
        decoded: As for :class:`LudusEnv`.
        params: Parameters of the rules, as further keyword arguments.
    """

    metadata = {  # noqa: RUF012
        "render_modes": list(RENDER_MODES),
        "render_fps": 10,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        *,
        seat: int = 0,
        opponent: str = "",
        threads: int = 0,
        render_mode: str | None = None,
        frame_skip: int = 0,
        decoded: bool = False,
        **params: object,
    ) -> None:
        """Create the environment. Raises ``ValueError`` for a game without bots for the other seats."""
        self.render_mode = _check_render_mode(render_mode)
        name, native = registry.find(typed(game))
        self._spec = registry.spec(game, params)
        spec = self._spec
        bots = [b.name for b in spec.bots]
        if spec.seats > 1 and not bots:
            raise ValueError(f"{name} has no bots for the other seats; use the single environment")
        if opponent and opponent not in bots:
            raise ValueError(f"opponent = {opponent}: {name} has {', '.join(bots)}")
        bot = bots.index(opponent) if opponent else 0
        self._plans = [
            ([(-1, 0, 1.0, "")], frame_skip, -1, 0) if s == seat else ([(bot, -1, 1.0, "")], 0, -1, 0)
            for s in range(spec.seats)
        ]
        self._native, self._name, self._params = native, name, registry.text_params(params)
        self._game = game
        self._threads = threads
        self.num_envs = num_envs
        self._format = ObservationFormat(spec, decoded=decoded)
        self.single_observation_space = self._format.space()
        self.single_action_space = action_space(spec)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._slab = Slab(spec, 1, num_envs)
        self._pool: Any = None
        self._seed = 0
        self._t = 0

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start all matches. Only the first seed of a list is used."""
        first = seed[0] if isinstance(seed, (list, tuple)) else seed
        super().reset(seed=first)
        self.close()
        self._seed = int(self.np_random.integers(2**62)) if first is None else first
        self._pool = self._make()
        self._attach()
        return self._see(), self._info()

    def _make(self) -> Any:
        options = PoolOptions(
            slots=self.num_envs, groups=1, threads=self._threads, seed=self._seed, on_error="truncate"
        )
        return self._native.make_pool(self._name, self._params, self._plans, False, options)

    def __getstate__(self) -> dict[str, Any]:
        """Return the matches in their current state, for ``copy`` and other processes."""
        return kept_state(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the matches; the copy continues independently."""
        self._native = registry.find(typed(state["_game"])).native
        self._slab = Slab(state["_spec"], 1, state["num_envs"])
        self._pool = None
        self._t = revive(self.__dict__, state, self._make)

    def _attach(self) -> None:
        self._pool.attach(0, list(self._slab.obs.values()), self._slab.fields(), self._slab)
        self._t = self._pool.recv(0)[1]

    def step(
        self, actions: Any
    ) -> tuple[Observation, Array, npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """Play one decision in each match. Illegal choices are replaced by the first legal one."""
        if self._t:
            self._attach()
        slab, spec = self._slab, self._spec
        decisions = choices_of(spec, actions, self.num_envs)
        for k, head in enumerate(spec.heads):
            legal = legal_choices(spec, slab.mask[0], k, decisions)
            if ((decisions[:, k] < 0) | (decisions[:, k] >= head.size)).any():
                raise ValueError(f"{spec.name}: an action of head {head.name} is not in [0, {head.size})")
            allowed = np.take_along_axis(legal, decisions[:, k : k + 1], axis=1)[:, 0] != 0
            decisions[:, k] = np.where(allowed, decisions[:, k], legal.argmax(axis=1))
        slab.actions[0] = decisions
        self._pool.send(0)
        _, self._t, finals, results, _ = self._pool.recv(0)
        info = self._info()
        if results:
            failed = next((r for r in self._pool.results(0) if r[10]), None)
            if failed is not None:
                raise RuntimeError(f"{spec.name}: match {failed[0]}: {failed[10]}")
        if finals:
            self._finals(finals, info)
        terminated, truncated = slab.terminated[0] != 0, slab.truncated[0] != 0
        return self._see(), slab.reward[0].copy(), terminated, truncated, info

    def _finals(self, finals: int, info: dict[str, Any]) -> None:
        rows = np.asarray(self._pool.final_rows(0)[:finals])
        last = self._unpacked()
        for i, t in enumerate(self._spec.observation):
            raw = np.asarray(self._pool.final_bytes(0, i)).view(t.packed_dtype).reshape(-1, *t.packed_shape)
            for n, row in enumerate(rows):
                last[t.name][row] = unpack_one(t, raw[n])
        there = np.zeros(self.num_envs, np.bool_)
        there[rows] = True
        info["final_obs"], info["_final_obs"] = self._format.many(last), there

    def _see(self) -> Observation:
        return self._format.many(self._unpacked())

    def _unpacked(self) -> Observation:
        out: Observation = {}
        for t in self._spec.observation:
            array = self._slab.obs[t.name][self._t]
            if t.dtype == "bits":
                bits = np.unpackbits(array, axis=1, count=t.elements, bitorder="little")
                out[t.name] = bits.reshape(self.num_envs, *t.shape)
            else:
                out[t.name] = array.copy()
        return out

    def _info(self) -> dict[str, Any]:
        mask = self._slab.mask[self._t]
        return {"legal": mask.copy(), "action_mask": mask.astype(np.int8)}

    def render(self) -> tuple[Picture, ...] | None:
        """Return a picture of each environment's observation with ``render_mode="rgb_array"``, or None."""
        if self.render_mode is None:
            return None
        seen = self._unpacked()
        return tuple(
            picture(self._spec, {name: array[n] for name, array in seen.items()})
            for n in range(self.num_envs)
        )

    def close(self, **kwargs: Any) -> None:
        """End the matches; a reset starts new ones."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
            self._t = 0


def make_env(game: str, **kwargs: Any) -> LudusEnv:
    """Create the environment of ``gymnasium.make("ludus/GAME-vN")``."""
    return LudusEnv(game, **kwargs)


def make_vector_env(game: str, num_envs: int = 1, **kwargs: Any) -> LudusVectorEnv:
    """Create the environment of ``gymnasium.make_vec("ludus/GAME-vN")``."""
    return LudusVectorEnv(game, num_envs, **kwargs)

"""One match of any game, compiled or Python, for the environments of other libraries."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, PoolOptions, Slab, TensorSpec
from ludus.flow.masks import check_choices, legal_choices
from ludus.flow.slab import Array
from ludus.games import registry
from ludus.games.names import typed
from ludus.games.numbers import flag, over_of, write_rewards
from ludus.native import ParamError, core

Decisions = npt.NDArray[np.int32]
RANDOM = "random"  # uniform among legal choices, for the other seats


class EnvMatch:
    """One match whose ``seats`` the caller plays, and the others ``opponent``: a bot, or ``random``.

    ``rewards, returns: float32[S]``; ``error`` is empty unless the game refused something and the match ended
    with it.
    """

    spec: GameSpec
    rewards: npt.NDArray[np.float32]
    outcome: npt.NDArray[np.float32]
    over = True
    truncated = False
    error = ""

    def reset(self, seed: int | None) -> None:
        """Start a match; without a seed the next one after the last."""
        raise NotImplementedError

    def to_act(self) -> list[int]:
        """Return the seats of the caller that decide now, an empty list when the match is over."""
        raise NotImplementedError

    def observe(self, seat: int) -> dict[str, Array]:
        """Return unpacked copies of every tensor of the seat's last observation."""
        raise NotImplementedError

    def legal(self, seat: int) -> npt.NDArray[np.uint8]:
        """Return ``uint8[A]`` of a seat that decides now; all 1 elsewhere."""
        raise NotImplementedError

    def step(self, decisions: Decisions) -> None:
        """Play ``int32[S, K]``; rows of seats that do not decide are ignored."""
        raise NotImplementedError

    def close(self) -> None:
        """Release the match; idempotent."""


def make_match(
    game: str,
    params: Mapping[str, object] | None = None,
    seats: Sequence[int] | None = None,
    opponent: str = "",
    frame_skip: int = 0,
) -> EnvMatch:
    """Create a match of ``game``; :meth:`EnvMatch.reset` starts it.

    Args:
        game: A game by name or reference.
        params: Parameters of its rules.
        seats: Seats that the caller plays (default: all).
        opponent: Player of the others.
        frame_skip: Ticks between two decisions of the caller's seats (0 = the game's default). A Python game
            takes it as its own parameter of that name.

    Raises:
        ParamError: Unknown game, parameter, value or opponent.
    """
    if registry.is_python(typed(game)):  # named by the program that makes the environment
        given = {**(params or {}), **({"frame_skip": frame_skip} if frame_skip else {})}
        return PythonMatch(game, given, seats, opponent or RANDOM)
    return NativeMatch(game, params or {}, seats, opponent, frame_skip)


def unpack_one(t: TensorSpec, packed: Array) -> Array:
    """Return a copy of one row's tensor in the shape of the spec; bits as uint8 of 0 and 1."""
    if t.dtype != "bits":
        return packed.copy()
    flat = packed.reshape(-1).view(np.uint8)
    return np.unpackbits(flat, count=t.elements, bitorder="little").reshape(t.shape)


def unpack(spec: GameSpec, packed: Mapping[str, Array]) -> dict[str, Array]:
    """Return every tensor of a row unpacked: see :func:`unpack_one`."""
    return {t.name: unpack_one(t, packed[t.name]) for t in spec.observation}


class NativeMatch(EnvMatch):
    """A match of a compiled game, played by a pool of one slot in the calling thread."""

    def __init__(
        self,
        game: str,
        params: Mapping[str, object],
        seats: Sequence[int] | None,
        opponent: str,
        frame_skip: int = 0,
    ) -> None:
        """Prepare the match: see :func:`make_match`."""
        self._game = game
        self._name, self._native = registry.find(game)
        self._params = registry.text_params(params)
        self.spec = registry.spec(game, params)
        self._seats = list(range(self.spec.seats)) if seats is None else sorted(seats)
        bots = [b.name for b in self.spec.bots]
        if opponent and opponent not in bots and opponent != RANDOM:
            raise ParamError(
                f"{self.spec.name} has no bot {opponent} (there are: {', '.join([*bots, RANDOM])})"
            )
        # Seats that the caller does not play: a bot inside the core, else random choices made here.
        inside = opponent if opponent in bots else bots[0] if bots and not opponent else ""
        self._random = [] if inside else [s for s in range(self.spec.seats) if s not in self._seats]
        mine = {*self._seats, *self._random}
        self._plans = [
            ([(-1, 0, 1.0, "")], frame_skip if s in self._seats else 0, -1, 0)
            if s in mine
            else ([(bots.index(inside), -1, 1.0, "")], 0, -1, 0)
            for s in range(self.spec.seats)
        ]
        self._pool: core.PoolHandle | None = None
        self._slab = Slab(self.spec, 1, len(mine))
        self._row = {seat: row for row, seat in enumerate(sorted(mine))}
        self._rng = np.random.default_rng(0)
        self._seed = 0
        self._t = 0
        self.rewards = np.zeros(self.spec.seats, np.float32)
        self.outcome = np.zeros(self.spec.seats, np.float32)

    def reset(self, seed: int | None) -> None:
        """Start a match.

        Without a seed the pool continues with its next match, or draws a seed the first time.
        """
        if seed is not None or self._pool is None:
            self.close()
            self._rng = np.random.default_rng(seed)
            self._seed = int(self._rng.integers(2**62)) if seed is None else seed
            self._pool = self._make(self._seed)
            self._pool.attach(0, list(self._slab.obs.values()), self._slab.fields(), self._slab)
            self._t = self._pool.recv(0)[1]
        else:
            self._show_first()
            self._pool.reset([0])
            self._pool.send(0)
            self._t = self._pool.recv(0)[1]
        self.rewards[...] = 0.0
        self.over = self.truncated = False
        self.error = ""
        self._quiet()

    def _make(self, seed: int) -> core.PoolHandle:
        options = PoolOptions(slots=1, groups=1, threads=0, seed=seed, autoreset="off", on_error="truncate")
        return self._native.make_pool(self._name, self._params, self._plans, False, options)

    def __getstate__(self) -> dict[str, Any]:
        """Return the match in its current state, for ``copy`` and other processes."""
        return kept_state(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the match; the copy continues independently."""
        self._native = registry.find(typed(state["_game"])).native
        self._slab = Slab(state["spec"], 1, len(state["_row"]))
        self._pool = None
        self._t = revive(self.__dict__, state, lambda: self._make(state["_seed"]))

    def _show_first(self) -> None:
        """Move the current time step to t = 0, to make room for the next."""
        assert self._pool is not None
        if self._t:
            self._pool.attach(0, list(self._slab.obs.values()), self._slab.fields(), self._slab)
            self._t = self._pool.recv(0)[1]

    def _active(self) -> list[int]:
        return [s for s, row in self._row.items() if self._slab.active[self._t, row]]

    def to_act(self) -> list[int]:
        """Return the seats of the caller that decide now."""
        return [] if self.over else [s for s in self._active() if s not in self._random]

    def observe(self, seat: int) -> dict[str, Array]:
        """Return unpacked copies of the seat's last observation."""
        row = self._row[seat]
        return unpack(self.spec, {n: a[self._t, row] for n, a in self._slab.obs.items()})

    def legal(self, seat: int) -> npt.NDArray[np.uint8]:
        """Return ``uint8[A]`` of a seat that decides now; all 1 elsewhere."""
        row = self._row[seat]
        if self.over or not self._slab.active[self._t, row]:
            return np.ones(self.spec.mask_size, np.uint8)
        mask: npt.NDArray[np.uint8] = self._slab.mask[self._t, row].copy()
        return mask

    def step(self, decisions: Decisions) -> None:
        """Play ``int32[S, K]``, and random decisions until a seat of the caller decides again."""
        self.rewards[...] = 0.0
        self._advance(decisions)
        self._quiet()

    def _quiet(self) -> None:
        """Play ticks in which only random seats decide."""
        while not self.over and not self.to_act():
            self._advance(np.zeros((self.spec.seats, len(self.spec.heads)), np.int32))

    def _advance(self, decisions: Decisions) -> None:
        assert self._pool is not None
        self._show_first()
        slab = self._slab
        for seat in self._active():
            row = self._row[seat]
            chosen = decisions[seat]
            if seat in self._random:
                chosen = random_decision(self.spec, slab.mask[self._t, row], self._rng)
            slab.actions[self._t, row] = chosen
        self._pool.send(0)
        _, self._t, _, results, _ = self._pool.recv(0)
        for seat, row in self._row.items():
            self.rewards[seat] += slab.reward[0, row]
            if self._t and not slab.active[self._t, row] and not results:
                for array in slab.obs.values():  # no new observation: keep the last one
                    array[self._t, row] = array[0, row]
        if results:
            result = self._pool.results(0)[0]
            self.over = True
            self.outcome[...] = result[5]
            self.truncated, self.error = result[9], result[10]

    def close(self) -> None:
        """Close the pool; idempotent."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
            self._t = 0


def kept_state(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of an object with ``_pool``, ``_slab`` and ``_t``, for use in other processes."""
    pool, slab, t = fields["_pool"], fields["_slab"], fields["_t"]
    state = {k: v for k, v in fields.items() if k not in ("_native", "_pool", "_slab", "_t")}
    if pool is not None:
        state["_kept"] = pool.snapshot()
        state["_shown"] = {name: array[t].copy() for name, array in slab.obs.items()}
        state["_turns"] = slab.mask[t].copy(), slab.active[t].copy()
    return state


def revive(fields: dict[str, Any], state: Mapping[str, Any], make: Callable[[], core.PoolHandle]) -> int:
    """Restore :func:`kept_state` in ``fields``; ``make`` creates the pool. Returns the time step."""
    fields.update({k: v for k, v in state.items() if k not in ("_kept", "_shown", "_turns")})
    if "_kept" not in state:
        return 0
    slab = fields["_slab"]
    pool = fields["_pool"] = make()
    pool.restore(state["_kept"])
    pool.attach(0, list(slab.obs.values()), slab.fields(), slab)
    t = int(pool.recv(0)[1])
    for name, shown in state["_shown"].items():
        slab.obs[name][t] = shown
    slab.mask[t], slab.active[t] = state["_turns"]
    return t


class PythonMatch(EnvMatch):
    """A match of a game written in Python, in this process."""

    def __init__(
        self, game: str, params: Mapping[str, object], seats: Sequence[int] | None, opponent: str
    ) -> None:
        """Create the game: see :func:`make_match`. Raises ``ParamError`` for an opponent but ``random``."""
        if opponent != RANDOM:
            raise ParamError(f"{game} has no bot {opponent} (there is: {RANDOM})")
        self._game: Any = registry.maker(game, params).make()
        self.spec = self._game.spec
        self._mine = set(range(self.spec.seats) if seats is None else seats)
        self._rng = np.random.default_rng(0)
        self._packed = [
            {t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in self.spec.observation}
            for _ in range(self.spec.seats)
        ]
        self._acting: list[int] = []
        self.rewards = np.zeros(self.spec.seats, np.float32)
        self.outcome = np.zeros(self.spec.seats, np.float32)

    def reset(self, seed: int | None) -> None:
        """Start a match; without a seed, one that the last seed determines."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._game.reset(int(self._rng.integers(2**31)) if seed is None else seed % 2**31)
        self.over = self.truncated = False
        self.error = ""
        self.rewards[...] = 0.0
        self._look()
        self._quiet()

    def _look(self) -> None:
        self._acting = [int(s) for s in self._game.to_act()] if not self.over else []
        for seat in range(self.spec.seats):
            if seat in self._acting or self.over:
                self._game.observe(seat, self._packed[seat])

    def to_act(self) -> list[int]:
        """Return the seats of the caller that decide now."""
        return [s for s in self._acting if s in self._mine]

    def observe(self, seat: int) -> dict[str, Array]:
        """Return unpacked copies of the seat's last observation."""
        return unpack(self.spec, self._packed[seat])

    def legal(self, seat: int) -> npt.NDArray[np.uint8]:
        """Return ``uint8[A]`` of a seat that decides now. Raises ``ValueError`` if no choice is legal."""
        mask = np.ones(self.spec.mask_size, np.uint8)
        legal = getattr(self._game, "legal", None)
        if legal is not None and seat in self._acting:
            legal(seat, mask)
            check_choices(self.spec, mask)
        return mask

    def step(self, decisions: Decisions) -> None:
        """Play ``int32[S, K]``, and random decisions until a seat of the caller decides again."""
        self.rewards[...] = 0.0
        self._advance(decisions)
        self._quiet()

    def _quiet(self) -> None:
        while not self.over and not self.to_act():
            self._advance(np.zeros((self.spec.seats, len(self.spec.heads)), np.int32))

    def _advance(self, decisions: Decisions) -> None:
        chosen = decisions.copy()
        earned = np.zeros(self.spec.seats, np.float32)
        try:
            for seat in self._acting:
                if seat not in self._mine:
                    chosen[seat] = random_decision(self.spec, self.legal(seat), self._rng)
            over = over_of(self._game.step(chosen))
            write_rewards(self._game, earned)
            self.rewards += earned
            if over:
                self.over, self.truncated = True, flag("truncated", self._game.truncated)
                self._game.outcome(self.outcome)
            self._look()
        except Exception as error:
            self.over = self.truncated = True
            self.error = f"{type(error).__name__}: {error}"
            self._acting = []

    def __deepcopy__(self, memo: dict[int, Any]) -> PythonMatch:
        """Copy the match. Raises ``TypeError`` if the game can neither be cloned nor copied."""
        other = object.__new__(PythonMatch)
        clone = getattr(self._game, "clone", None)
        try:
            game = copy.deepcopy(self._game, memo) if clone is None else clone()
        except Exception as error:
            how = "its clone() failed" if clone is not None else "it has no clone(), and cannot be copied"
            raise TypeError(f"{self.spec.name}: {how}: {type(error).__name__}: {error}") from error
        rest = {k: v for k, v in self.__dict__.items() if k not in ("_game", "spec")}
        other.__dict__.update(copy.deepcopy(rest, memo), _game=game, spec=self.spec)
        return other

    def close(self) -> None:
        """Close the game."""
        close = getattr(self._game, "close", None)
        if close is not None:
            close()


def random_decision(spec: GameSpec, mask: Array, rng: np.random.Generator) -> Decisions:
    """Draw uniformly among the legal choices of each head: ``int32[K]``."""
    out = np.zeros(len(spec.heads), np.int32)
    for k, head in enumerate(spec.heads):
        if head.kind == "continuous":
            out[k] = rng.standard_normal(1).astype(np.float32).view(np.int32)[0]
        else:
            legal = np.flatnonzero(legal_choices(spec, mask[None], k, out[None])[0])
            out[k] = rng.choice(legal) if len(legal) else 0
    return out

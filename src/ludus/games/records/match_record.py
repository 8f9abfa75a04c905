"""Recording and re-simulation of matches of Python games.

Such a game has no state to hash. Instead a digest covers the match's output: observations and masks of the
seats that decide, and rewards. Matches with equal digests are indistinguishable for players and viewers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from ludus.flow.hosted_replay import HostedReplay
from ludus.flow.masks import check_choices, legal_choices
from ludus.flow.seeds import match_seed
from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec
from ludus.games.contained import close_quietly
from ludus.games.numbers import over_of, write_rewards
from ludus.games.python_game import Floats, GameMaker, Ints, PythonGame, make_drawn
from ludus.native import core

HASH_EVERY = 10  # ticks
REPRODUCED = ("unknown", "yes", "no")
Reproduced = Literal["unknown", "yes", "no"]


class MatchRecorder:
    """Recorder of match ``match`` of a pool's ``seed``, time step by time step.

    Call ``observe``, then for every tick ``decide`` of each seat, ``earn``, and ``observe`` again or ``end``.
    Without ``digest`` only the decisions are kept, and :meth:`encode` is not available.
    """

    def __init__(
        self, spec: GameSpec, seed: int, match: int, *, hash_every: int = HASH_EVERY, digest: bool = True
    ) -> None:
        """Start an empty record, with a hash every ``hash_every`` ticks."""
        self.spec, self.seed, self.match, self.hash_every = spec, seed, match, hash_every
        self.tick = 0
        self.ticks: list[int] = []
        self.seats: list[int] = []
        self.actions: list[int] = []  # heads of every decision in turn
        self.hashes: list[int] = []
        self.returns = np.zeros(spec.seats, np.float64)
        self._digest = hashlib.blake2b(digest_size=8) if digest else None

    @property
    def hash(self) -> int:
        """64 bits of the match's output so far."""
        if self._digest is None:
            raise ValueError("this recorder keeps only decisions")
        return int.from_bytes(self._digest.copy().digest(), "little")

    def observe(self, shown: Iterable[tuple[int, Sequence[Array], Array]]) -> None:
        """Record ``(seat, packed tensors in the spec's order, mask: uint8[A])`` of each deciding seat."""
        if self._digest is None:
            return
        for seat, tensors, mask in shown:
            self._digest.update(bytes((seat,)))
            for tensor in tensors:
                self._digest.update(tensor.tobytes())
            self._digest.update(mask.tobytes())
        self.end()

    def decide(self, seat: int, action: Sequence[int]) -> None:
        """Record a decision: one choice per head."""
        self.ticks.append(self.tick)
        self.seats.append(seat)
        self.actions += action

    def earn(self, rewards: Floats) -> None:
        """Record ``float32[S]``: the tick's rewards of the seats that have decided in the match."""
        self.tick += 1
        self.returns += rewards
        if self._digest is not None:
            self._digest.update((rewards + np.float32(0.0)).tobytes())  # one zero

    def end(self) -> None:
        """End the record: no output follows this tick."""
        if self.tick % self.hash_every == 0:
            self.hashes.append(self.hash)

    def encode(
        self,
        params: Mapping[str, str],
        players: Sequence[str],
        over: bool,
        outcome: Sequence[float],
        reproduced: Reproduced = "unknown",
    ) -> bytes:
        """Return the bytes of a ``.ludus`` file. ``over``: the match was not truncated."""
        return core.replay_encode(
            HostedReplay(
                game=self.spec.name,
                version=self.spec.version,
                params=dict(params),
                seed=self.seed,
                match=self.match,
                players=list(players),
                heads=len(self.spec.heads),
                ticks=self.ticks,
                seats=self.seats,
                actions=self.actions,
                length=self.tick,
                hash_every=self.hash_every,
                hashes=self.hashes,
                final_hash=self.hash,
                over=over,
                outcome=[float(x) for x in outcome] if over else [0.0] * self.spec.seats,
                returns=self.returns.astype(np.float32).tolist(),
                reproduced=REPRODUCED.index(reproduced),
            )
        )


class Resimulation:
    """Re-simulation of a recorded match, tick by tick. Raises ``ValueError`` for records of another game.

    ``decisions``: a mapping ``{seat: heads}`` for each tick. ``earned``: ``float32[S]``, the rewards of the
    last tick. Close it when done.
    """

    def __init__(
        self, maker: GameMaker, seed: int, match: int, hash_every: int, *, drawn: bool = False
    ) -> None:
        """Create the game and start the match.

        Args:
            maker: The game.
            seed: Seed of the pool.
            match: Number of the match.
            hash_every: Ticks between two hashes of the record.
            drawn: Whether the game is made to be looked at: its ``render`` then draws.
        """
        self.spec = maker.spec
        self.game: PythonGame = make_drawn(maker) if drawn else maker.make()
        self.recorder = MatchRecorder(self.spec, seed, match, hash_every=hash_every)
        self.over = False
        self.earned: Floats = np.zeros(self.spec.seats, np.float32)  # by the last tick
        self._decided = np.zeros(self.spec.seats, np.float32)
        self._legal = getattr(self.game, "legal", None)
        self._masks: dict[int, Array] = {}
        self._observed: dict[int, dict[str, Array]] = {}
        self.game.reset(match_seed(seed, match))
        self._show()

    def _show(self) -> None:
        shown: list[tuple[int, Sequence[Array], Array]] = []
        self._masks, self._observed = {}, {}
        for seat in self.game.to_act():
            out = {t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in self.spec.observation}
            self.game.observe(seat, out)
            mask = np.ones(self.spec.mask_size, np.uint8)
            if self._legal is not None:
                self._legal(seat, mask)
                check_choices(self.spec, mask)
            self._masks[seat], self._observed[seat] = mask, out
            self._decided[seat] = 1.0
            shown.append((seat, list(out.values()), mask))
        self.recorder.observe(shown)

    @property
    def deciding(self) -> Mapping[int, tuple[Mapping[str, Array], Array]]:
        """Seats that decide now, with their observation (packed tensors by name) and their mask."""
        return {seat: (self._observed[seat], mask) for seat, mask in self._masks.items()}

    def play(self, decisions: Mapping[int, Sequence[int]], last: bool = False) -> None:
        """Play the next tick. ``last``: no output follows, because the match ended or was truncated."""
        if self.over:
            raise ValueError("the match is over already")
        if set(decisions) != set(self._masks):
            raise ValueError(f"seats {sorted(decisions)} decide, expected {sorted(self._masks)}")
        actions = np.zeros((self.spec.seats, len(self.spec.heads)), np.int32)
        for seat, action in decisions.items():
            actions[seat] = action
            self._check(seat, actions[seat])
        self.over = over_of(self.game.step(actions))
        earned = np.zeros(self.spec.seats, np.float32)
        write_rewards(self.game, earned)
        self.earned = earned * self._decided
        self.recorder.earn(self.earned)
        if self.over or last:
            self.recorder.end()
        else:
            self._show()

    def _check(self, seat: int, action: Ints) -> None:
        for k, head in enumerate(self.spec.heads):
            if head.kind == "continuous":
                if not np.isfinite(action[k : k + 1].view(np.float32)).all():
                    raise ValueError(f"seat {seat}: {head.name} is not a finite number")
                continue
            choice = int(action[k])
            if not 0 <= choice < head.size:
                raise ValueError(f"seat {seat}: {head.name} {choice} is not in [0, {head.size})")
            legal = legal_choices(self.spec, self._masks[seat][None], k, action[None])[0]
            if legal.any() and not legal[choice]:
                raise ValueError(f"seat {seat}: {head.name} {choice} is illegal")

    def outcome(self) -> list[float]:
        """Return the outcome of a match that is over and was not truncated, else zeros."""
        out = np.zeros(self.spec.seats, np.float32)
        if self.over and not self.game.truncated:
            self.game.outcome(out)
        return [float(x) for x in out]

    def close(self) -> None:
        """Release the game's resources."""
        close_quietly(self.game)

"""Search for one seat of a game whose seats decide at the same time, against a bot that is known.

Root-parallel trees with random matches to their end (ELF, section 5 and table 7): written ``plan:8x100``
(trees x rollouts), with ``,opponent=hit_and_run,explore=0.5`` and the like behind it. It plays on the match's
whole state: it sees through fog.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, cast

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, decode_spec
from ludus.flow.names import did_you_mean
from ludus.native import NativeGames, core

PREFIX = "plan:"
Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]


class PlannerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Trees x rollouts, and how the rollouts are played.

    ``opponent``: who is thought to sit at the other seats ("" = the game's first bot), deciding every
    ``opponent_skip`` ticks (0 = as often as the planner). ``guide``: a bot that plays the seat in the matches
    to the end, for ``guide_share`` of its decisions, in place of chance alone; where chance always loses, it
    tells nothing. ``bias``: chance draws with weights that each rollout has of its own, exponential draws to
    this power (1 = uniform in the simplex, 0 = all choices alike, as in ELF), since whoever keeps to a few
    choices gets further than whoever tries all of them. ``draw``: what a rollout without a winner counts (0
    in ELF; with more, a search prefers a draw to a small chance). ``keep_wins``: the first rollout that wins
    is followed to the end of the match, without another search: all others are bots, and the state holds
    every draw to come, so what won once wins again. ``explore``: weight of UCB's term; ELF's default has
    none. ``seconds``: of one decision (0 = no limit); each tree has an equal share of it and makes one
    rollout at least, and what is decided then depends on the machine. ``threads``: of one decision; they
    change nothing but the time.
    """

    trees: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 8
    rollouts: Count = 100
    opponent: str = ""
    opponent_skip: Annotated[int, msgspec.Meta(ge=0, le=1 << 20)] = 0
    guide: str = ""
    guide_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    draw: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    bias: Annotated[float, msgspec.Meta(ge=0, le=10)] = 0.0
    keep_wins: bool = False
    explore: Annotated[float, msgspec.Meta(ge=0, le=1000)] = 0.0
    seconds: Annotated[float, msgspec.Meta(ge=0, le=86400)] = 0.0
    threads: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 1


def is_plan(text: str) -> bool:
    """Whether ``text`` names a planner."""
    return text.startswith(PREFIX)


def parse_plan(text: str) -> PlannerConfig:
    """``plan:8x100,opponent=simple``. Raises ``ValueError`` naming the mistake."""
    size, *options = text.removeprefix(PREFIX).split(",")
    trees, cross, rollouts = size.partition("x")
    if not cross:
        raise ValueError(f"{text}: expected plan:TREESxROLLOUTS, for example plan:8x100")
    plain = {"trees": trees, "rollouts": rollouts}
    for option in options:
        name, _, value = option.partition("=")
        name = name.strip().replace("-", "_")
        if name not in PlannerConfig.__struct_fields__:
            hint = did_you_mean(name, PlannerConfig.__struct_fields__, "known", 0.5)
            raise ValueError(f"{text}: unknown setting {name!r}{hint}")
        plain[name] = value.strip()
    try:
        return msgspec.convert(plain, PlannerConfig, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"{text}: {error}") from None


@dataclass(frozen=True, slots=True)
class Plan:
    """``mean``: share of a choice's rollouts that were won, 0 where there were none (1 without any visits:
    a win that was kept).
    """

    choice: int
    visits: npt.NDArray[np.int32]  # [A]
    mean: npt.NDArray[np.float32]  # [A]
    ticks: int  # simulated


class Planner:
    """Plans for any seat of ``game``, one decision at a time. One thread calls it.

    ``frame_skip``: ticks between two of its decisions (0 = the game's). ``slowest_s``: the longest decision
    so far, in seconds on the wall. Raises ``SearchError`` (a ``ValueError``) for games without bots, with
    several heads, or whose matches may never end.
    """

    def __init__(
        self,
        game: str,
        params: Mapping[str, str],
        config: PlannerConfig,
        *,
        frame_skip: int = 0,
        native: NativeGames | None = None,
    ) -> None:
        module = native or cast(NativeGames, core)
        self.spec: GameSpec = decode_spec(module.spec_json(game, dict(params)))
        bots = [b.name for b in self.spec.bots]
        for name in (config.opponent, config.guide):
            if name and name not in bots:
                hint = did_you_mean(name, bots, "valid", 0.4)
                raise ValueError(f"plan: {game} has no bot {name!r}{hint}")
        skip = frame_skip or self.spec.default_frame_skip
        self.slowest_s = 0.0
        self._core = module.make_planner(
            game,
            dict(params),
            {
                "trees": float(config.trees),
                "rollouts": float(config.rollouts),
                "frame_skip": float(skip),
                "opponent": float(bots.index(config.opponent)) if config.opponent else 0.0,
                "guide": float(bots.index(config.guide)) if config.guide else -1.0,
                "guide_share": config.guide_share,
                "draw": config.draw,
                "bias": config.bias,
                "keep_wins": float(config.keep_wins),
                "opponent_skip": float(config.opponent_skip or skip),
                "explore": config.explore,
                "seconds": config.seconds,
                "threads": float(config.threads),
            },
        )

    def plan(self, state: bytes, seat: int, seed: int) -> Plan:
        """What ``seat`` should do at ``state`` (of a pool of the same game and parameters, nowhere else)."""
        begin = time.perf_counter()
        plan = Plan(*self._core.plan(state, seat, seed))
        self.slowest_s = max(self.slowest_s, time.perf_counter() - begin)
        return plan

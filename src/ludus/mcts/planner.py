"""Root-parallel MCTS for one seat of a game with simultaneous decisions, against a known bot.

Trees with random rollouts to the end of the match (ELF, section 5 and table 7): ``plan:8x100`` (trees x
rollouts), followed by options such as ``,opponent=hit_and_run,explore=0.5``. The search uses the match's
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
from ludus.mcts.config import with_integers
from ludus.native import NativeGames, core

PREFIX = "plan:"
Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]


class PlannerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the planner.

    Args:
        trees: Independent trees; the visits of their roots are added up.
        rollouts: Rollouts per tree and decision.
        opponent: The assumed bot at the other seats; "" = the game's first bot.
        opponent_skip: Ticks between the opponent's decisions; 0 = as often as the planner.
        guide: A bot that plays the seat in rollouts instead of random choices. Random rollouts carry no
            information if they always lose.
        guide_share: Share of the rollouts' decisions that the guide makes.
        draw: Value of a rollout without a winner (0 in ELF); a high value prefers a draw to a small chance
            of winning.
        bias: Each rollout draws its choices with its own random weights: exponential draws to this power
            (1 = uniform in the simplex, 0 = equal weights, as in ELF). A rollout that repeats a few choices
            gets further than one that mixes all.
        keep_wins: The first winning rollout is followed to the end of the match without another search. All
            other seats are bots and the state holds all future random draws, so the same moves win again.
        explore: Weight of UCB's exploration term; 0 in ELF.
        seconds: Time limit of one decision; 0 = none. Each tree gets an equal share and makes at least one
            rollout. Decisions then depend on the machine.
        threads: Threads of one decision; the result does not depend on them.
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
    """Return the settings of ``plan:8x100,opponent=simple``. Raise ``ValueError`` naming the mistake."""
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
        return msgspec.convert(with_integers(plain, PlannerConfig), PlannerConfig, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"{text}: {error}") from None


@dataclass(frozen=True, slots=True)
class PlanResult:
    """A decision of the planner.

    Attributes:
        choice: The chosen number.
        visits: Rollouts of each choice.
        mean: Win rate of each choice's rollouts, 0 without rollouts (1 for a kept win).
        ticks: Simulated ticks.
    """

    choice: int
    visits: npt.NDArray[np.int32]  # [A]
    mean: npt.NDArray[np.float32]  # [A]
    ticks: int  # simulated


class Planner:
    """Planner for any seat of ``game``, one decision at a time. One thread calls it.

    Attributes:
        slowest_s: Wall time of the longest decision so far, in seconds.
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
        """Prepare the core's planner.

        Args:
            game: Name of the game.
            params: Its parameters.
            config: Settings of the planner.
            frame_skip: Ticks between two of its decisions; 0 = the game's.
            native: Compiled module of the game; default: the package's own.

        Raises:
            SearchError: A ``ValueError``: a game without bots, with several heads, or whose matches may never
                end.
        """
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

    def plan(self, state: bytes, seat: int, seed: int) -> PlanResult:
        """Decide for ``seat`` at ``state``, which must come from a pool of the same game and parameters."""
        started = time.perf_counter()
        plan = PlanResult(*self._core.plan(state, seat, seed))
        self.slowest_s = max(self.slowest_s, time.perf_counter() - started)
        return plan

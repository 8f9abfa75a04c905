"""Who sits at the other seats: the lineup of the training pool, and the window of past weights."""

from __future__ import annotations

import msgspec
import numpy as np

from ludus.flow import Controller, GameSpec, Lineup, SeatPlan
from ludus.flow.lineups import lineup_of
from ludus.flow.names import did_you_mean
from ludus.flow.seeds import COUNTER_PAST
from ludus.presets.config import OpponentConfig, Preset
from ludus.presets.errors import ConfigError

LATEST = "latest"
PAST = "past"
LEARNER = 0  # policy id
FIRST_PAST = 1  # policy ids of the past slots count from here


def default_opponents(spec: GameSpec) -> tuple[OpponentConfig, ...]:
    """The game's first bot, or its own latest weights where a game has no bots."""
    return (OpponentConfig(spec.bots[0].name if spec.bots else LATEST),)


def past_config(opponents: tuple[OpponentConfig, ...]) -> OpponentConfig | None:
    """The entry of past weights, None without one."""
    return next((o for o in opponents if o.name == PAST), None)


def bot_opponents(opponents: tuple[OpponentConfig, ...]) -> tuple[str, ...]:
    return tuple(o.name for o in opponents if o.name not in (LATEST, PAST))


def build_lineup(spec: GameSpec, preset: Preset) -> Lineup:
    """Plan 0 is the learner's seat, and so are its teammates'; every other plan draws from the opponents.

    Raises ``ConfigError``.
    """
    opponents = preset.opponents or default_opponents(spec)
    bots = [b.name for b in spec.bots]
    controllers: list[Controller] = []
    for index, opponent in enumerate(opponents):
        where = f"opponents.{index}"
        if opponent.name == LATEST:
            controllers.append(Controller(policy=LEARNER, weight=opponent.weight))
        elif opponent.name == PAST:
            share = opponent.weight / opponent.past_slots
            controllers += [
                Controller(policy=FIRST_PAST + slot, weight=share) for slot in range(opponent.past_slots)
            ]
        elif opponent.name in bots:
            controllers.append(Controller(bot=opponent.name, weight=opponent.weight))
        else:
            hint = did_you_mean(opponent.name, [*bots, LATEST, PAST])
            raise ConfigError(f"{where}.name: unknown bot {opponent.name} of {spec.name}{hint}")
    if len({o.name for o in opponents}) != len(opponents):
        raise ConfigError("opponents: a name stands twice; add up the weights in one entry")
    if not any(o.weight > 0 for o in opponents):
        raise ConfigError("opponents: all weights are 0; expected one above 0")
    skips = {o.frame_skip for o in opponents}
    if len(skips) > 1:
        raise ConfigError(
            f"opponents: frame_skip must be the same for all that share a seat, got {sorted(skips)}"
        )
    if preset.curriculum.bot and preset.curriculum.bot not in bots:
        hint = did_you_mean(preset.curriculum.bot, bots)
        raise ConfigError(f"curriculum.bot: unknown bot {preset.curriculum.bot} of {spec.name}{hint}")
    learner = SeatPlan(
        controllers=(Controller(policy=LEARNER),),
        frame_skip=preset.game.frame_skip,
        handover_bot=preset.curriculum.bot,
        handover_ticks=preset.curriculum.ticks if preset.curriculum.bot else 0,
    )
    other = SeatPlan(controllers=tuple(controllers), frame_skip=skips.pop())
    return lineup_of(spec, learner, other)


class PastWindow(msgspec.Struct):
    """Versions of past weights that are kept, and which of them play now. Part of every checkpoint.

    ``playing[i]`` is the version behind policy id ``FIRST_PAST + i``.
    """

    versions: list[int]
    playing: list[int]

    @classmethod
    def start(cls, config: OpponentConfig) -> PastWindow:
        """Before the first freeze every slot plays version 0."""
        return cls(versions=[0], playing=[0] * config.past_slots)

    def due(self, config: OpponentConfig, version: int) -> bool:
        return version > self.versions[-1] and version % config.past_every == 0

    def freeze(self, config: OpponentConfig, version: int, seed: int) -> None:
        """Takes ``version`` in, forgets what falls out of the window, draws who plays.

        The draw depends on (seed, version) alone, so that a resumed run draws the same.
        """
        self.versions = [*self.versions, version][-config.past_window :]
        rng = np.random.Generator(np.random.Philox(key=seed, counter=[COUNTER_PAST, version, 0, 0]))
        self.playing = [self.versions[int(i)] for i in rng.integers(0, len(self.versions), config.past_slots)]

    def forget(self, missing: set[int], newest: int) -> None:
        """Goes on without weights that are lost: the newest that are left play in their place, those of
        version ``newest`` where none are.
        """
        self.versions = [v for v in self.versions if v not in missing] or [newest]
        self.playing = [self.versions[-1] if v in missing else v for v in self.playing]

    def needed(self) -> set[int]:
        """Versions whose weights must stay on disk."""
        return {*self.versions, *self.playing}

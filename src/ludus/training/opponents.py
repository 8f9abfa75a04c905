"""Opponents of a preset: their policy ids, the matchmaker, and the lineup of the training pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from ludus.evaluation.play import RANDOM
from ludus.evaluation.results import ALONE
from ludus.flow import Controller, GameSpec, Lineup, SeatPlan
from ludus.flow.lineups import lineup_of
from ludus.flow.names import did_you_mean
from ludus.flow.seeds import SEED_PAST, derive_seed
from ludus.league.matchmaker import (
    LATEST,
    PAST,
    BotOpponent,
    FixedMixture,
    FixedOpponent,
    LatestOpponent,
    PastOpponents,
    PolicyOpponent,
)
from ludus.presets.config import OpponentConfig, Preset
from ludus.presets.errors import ConfigError
from ludus.rollouts.bank import CACHE
from ludus.rollouts.lanes import LANES
from ludus.storage.zoo import is_zoo
from ludus.training.actor_learner.curriculum import with_curriculum
from ludus.training.teacher import demonstration_of

TEACHER = "teacher"


class PolicyIds(NamedTuple):
    """Policy ids of a run's pool."""

    learner: int  # trained by the run's learner
    past: tuple[int, ...]  # lanes of frozen weights
    teacher: int = -1  # of a method that learns from a player
    zoo: Mapping[str, int] = MappingProxyType({})  # of opponents of the zoo, by name


@dataclass(frozen=True, slots=True)
class Seats:
    """Players of a pool.

    ``labels``: policy id -> its name in statistics. ``cache``: networks of frozen players in memory.
    ``live``: players of lanes that play with the newest weights of other learners.
    """

    ids: PolicyIds
    lineup: Lineup
    labels: Mapping[int, str]
    cache: int = CACHE
    live: frozenset[str] = frozenset()


def opponents_of(spec: GameSpec, preset: Preset) -> tuple[OpponentConfig, ...]:
    """Return the preset's opponents; else the game's first bot, or without bots the latest weights."""
    return preset.opponents or (OpponentConfig(spec.bots[0].name if spec.bots else LATEST),)


def policy_ids(opponents: tuple[OpponentConfig, ...]) -> PolicyIds:
    """Return consecutive ids: the learner's, lanes of past weights, the teacher's, players of the zoo.

    There are lanes for those that play, and as many for those whose matches have not ended.
    """
    playing = sum(o.past_slots for o in opponents if o.name == PAST)
    lanes = max(LANES, 2 * playing) if playing else 0
    named = [o.name for o in opponents if is_zoo(o.name)]
    return PolicyIds(0, tuple(range(1, 1 + lanes)), 1 + lanes, {n: i for i, n in enumerate(named, 2 + lanes)})


def trained_rows(spec: GameSpec, preset: Preset) -> int:
    """Return the policy id whose rows the run's learner trains on: its own, or its teacher's."""
    ids = policy_ids(opponents_of(spec, preset))
    return ids.learner if demonstration_of(preset) is None else ids.teacher


def teaching_bot(spec: GameSpec, preset: Preset) -> str:
    """Return the bot of the core that the method learns from; empty for another teacher, or none."""
    shown = demonstration_of(preset)
    return shown.teacher if shown is not None and shown.teacher in {b.name for b in spec.bots} else ""


def bot_opponents(opponents: tuple[OpponentConfig, ...]) -> tuple[str, ...]:
    """Return the names of those opponents that are bots, or of the zoo."""
    return tuple(o.name for o in opponents if o.name not in (LATEST, PAST))


def build_matchmaker(spec: GameSpec, preset: Preset) -> FixedMixture:
    """Build the mixture of a preset's opponents. Raises ``ConfigError``."""
    opponents = opponents_of(spec, preset)
    ids, bots = policy_ids(opponents), [b.name for b in spec.bots]
    parts: dict[str, FixedOpponent] = {}
    for index, opponent in enumerate(opponents):
        name = opponent.name
        if name in parts:
            raise ConfigError("opponents: a name stands twice; add up the weights in one entry")
        if name == LATEST:
            parts[name] = LatestOpponent(ids.learner, opponent.weight)
        elif name == PAST:
            parts[name] = PastOpponents(
                ids.past,
                window=opponent.past_window,
                every=opponent.past_every,
                seed=derive_seed(preset.run.seed, SEED_PAST),
                playing=opponent.past_slots,
                weight=opponent.weight,
            )
        elif name in ids.zoo:
            parts[name] = PolicyOpponent(name, ids.zoo[name], opponent.weight)
        elif name in bots:
            parts[name] = BotOpponent(name, opponent.weight)
        else:
            hint = did_you_mean(name, [*bots, LATEST, PAST])
            raise ConfigError(f"opponents.{index}.name: unknown bot {name} of {spec.name}{hint}")
    if not any(o.weight > 0 for o in opponents):
        raise ConfigError("opponents: all weights are 0; expected one above 0")
    return FixedMixture(parts)


def build_lineup(spec: GameSpec, preset: Preset) -> Lineup:
    """Build the lineup: plan 0 is the learner's seat and its teammates', every other draws an opponent.

    A player that teaches takes the learner's seat; with ``seats = "all"`` every seat.

    Raises ``ConfigError``.
    """
    opponents, matchmaker = opponents_of(spec, preset), build_matchmaker(spec, preset)
    bots = [b.name for b in spec.bots]
    skips = {o.frame_skip for o in opponents}
    if len(skips) > 1:
        raise ConfigError(
            f"opponents: frame_skip must be the same for all that share a seat, got {sorted(skips)}"
        )
    if preset.curriculum.bot and preset.curriculum.bot not in bots:
        hint = did_you_mean(preset.curriculum.bot, bots)
        raise ConfigError(f"curriculum.bot: unknown bot {preset.curriculum.bot} of {spec.name}{hint}")
    learner = SeatPlan(
        controllers=(Controller(bot=teaching_bot(spec, preset), policy=trained_rows(spec, preset)),),
        frame_skip=preset.game.frame_skip,
    )
    learner = with_curriculum(learner, preset.curriculum)
    shown = demonstration_of(preset)
    if shown is not None and shown.seats == "all":
        return lineup_of(spec, learner, learner)
    other = SeatPlan(controllers=matchmaker.controllers, frame_skip=skips.pop())
    return lineup_of(spec, learner, other)


def build_seats(spec: GameSpec, preset: Preset) -> Seats:
    """Build the seats of the learner and of the preset's opponents. Raises ``ConfigError``."""
    ids = policy_ids(opponents_of(spec, preset))
    labels = {ids.learner: LATEST} | dict(build_matchmaker(spec, preset).labels)
    if demonstration_of(preset) is not None:
        labels[ids.teacher] = TEACHER
    return Seats(ids, build_lineup(spec, preset), labels)


def opponent_skip(preset: Preset, name: str) -> int:
    """Return the ticks between decisions of ``name`` in evaluations: as in training, or as the others there.

    0 = the game's default.
    """
    skips = {o.name: o.frame_skip for o in preset.opponents}
    return skips.get(name, next(iter(skips.values()), 0))


def measured_against(spec: GameSpec, preset: Preset, trained: tuple[str, ...]) -> tuple[str, ...]:
    """Return the opponents of evaluations: the preset's, else bots of training, of the game, or chance."""
    if spec.seats == 1:
        return (ALONE,)
    return preset.evaluation.against or trained or tuple(b.name for b in spec.bots) or (RANDOM,)

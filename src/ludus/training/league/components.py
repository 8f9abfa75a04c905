"""The members of a league, put together before anything is written."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from ludus.flow import GameSpec
from ludus.league.checks import differences
from ludus.league.config import LeagueConfig
from ludus.league.events import Joined
from ludus.league.league import League
from ludus.league.roles import choices_of
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.game_checks import resolve_spec
from ludus.presets.hyper import tunable_defaults
from ludus.presets.league_checks import league_problems
from ludus.storage import Checkpoint
from ludus.training.league.checkpoint import LeagueState, decode_league_state
from ludus.training.league.member import Member, MemberState


@dataclass(slots=True)
class LeagueComponents:
    """``state``: of the checkpoint that the run goes on from, else of a new run."""

    config: LeagueConfig
    league: League
    members: dict[str, Member]
    state: LeagueState

    @property
    def first(self) -> Member:
        """The first main, else the first member: what ``RUN@last`` means."""
        members = list(self.members.values())
        return next((m for m in members if choices_of(m.config).kind == "main"), members[0])

    @property
    def contenders(self) -> tuple[str, ...]:
        """Members that may be the best of the run: the mains, else all that are not exploiters, else all."""
        kinds = {name: choices_of(m.config).kind for name, m in self.members.items()}
        mains = [name for name, kind in kinds.items() if kind == "main"]
        others = [name for name, kind in kinds.items() if kind != "exploiter"]
        return tuple(mains or others or kinds)

    @property
    def spec(self) -> GameSpec:
        return self.first.components.spec

    def close(self) -> None:
        """Stops all pools."""
        for member in self.members.values():
            member.close()


def build_league(preset: Preset, checkpoint: Checkpoint | None = None) -> LeagueComponents:
    """Everything that a league's run is made of. Raises ``ConfigError`` and ``CorruptFile``."""
    config = preset.league
    assert config is not None
    spec, _ = resolve_spec(preset)
    if wrong := [p.text for p in league_problems(_without_seeds(preset) if checkpoint else preset, spec)]:
        raise ConfigError("\n".join(wrong))
    defaults = tunable_defaults(preset)
    league = League(config, preset.run.seed, defaults)
    state = LeagueState(league=config)
    if checkpoint is not None:
        state = decode_league_state(checkpoint.state)
        if changed := differences(state.league, config):
            raise ConfigError("; ".join(changed))
        state.anew += not checkpoint.signed
    members: dict[str, Member] = {}
    starting = {e.player: e.hyper for e in league.founding() if isinstance(e, Joined)}
    try:
        for index, player in enumerate(config.members):
            known = state.members.setdefault(player.name, MemberState(hyper=starting.get(player.name, {})))
            members[player.name] = Member(
                preset, index, player, known, anew=state.anew, resumed=checkpoint is not None
            )
    except BaseException:
        for member in members.values():
            member.close()
        raise
    return LeagueComponents(config, league, members, state)


def _without_seeds(preset: Preset) -> Preset:
    assert preset.league is not None
    players = tuple(msgspec.structs.replace(player, seed="") for player in preset.league.players)
    return msgspec.structs.replace(preset, league=msgspec.structs.replace(preset.league, players=players))

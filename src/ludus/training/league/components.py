"""Members of a league, put together before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from ludus.flow import GameSpec
from ludus.league.checks import differences
from ludus.league.config import LeagueConfig
from ludus.league.events import Joined
from ludus.league.league import League
from ludus.league.league_matchmaker import LeagueMatchmaker
from ludus.league.roles import choices_of
from ludus.presets.checks.game import resolve_spec
from ludus.presets.checks.league import league_problems
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.hyper import tunable_defaults
from ludus.presets.rule_file import rules_of
from ludus.storage import Checkpoint, CorruptFile
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.seating import FrozenStore, PlayerLost, Seating
from ludus.training.league.checkpoint import LeagueState, decode_league_state
from ludus.training.league.member import LeagueMember
from ludus.training.league.member_parts import LEARNER, MemberState
from ludus.training.league.remote.link import MemberHosts
from ludus.training.league.remote.member import RemoteMember, begin_member
from ludus.training.league.remote.starting import started_hosts, with_shared_threads
from ludus.training.machines import LOCAL, Machines
from ludus.training.resumed import without_seeds


@dataclass(slots=True)
class LeagueComponents:
    """Parts of a league's run.

    ``members``: those that play; one that was withdrawn has a state alone.
    ``state``: that of the checkpoint that the run continues from, else of a new run. ``hosts``: processes of
    the members, None where these take turns in this one.
    """

    config: LeagueConfig
    league: League
    members: dict[str, LeagueMember]
    state: LeagueState
    hosts: MemberHosts | None = None

    @property
    def first(self) -> LeagueMember:
        """First main, else the first member: the player of ``RUN@last``."""
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
        """Interface of the game."""
        return self.first.components.spec

    def start(
        self,
        threads: LearnerThreads,
        frozen: FrozenStore,
        drawn: Callable[[str, int], None],
        lost: Callable[[PlayerLost], None],
    ) -> None:
        """Get all members ready to play.

        Args:
            threads: those of the run.
            frozen: weights of frozen players.
            drawn: called with a member and the number of orders that were drawn for it.
            lost: called with each player whose weights cannot be read.
        """
        sources = {name: member.source() for name, member in self.members.items()}
        for name, member in self.members.items():
            matchmaker = LeagueMatchmaker(
                name, self.league, self.spec, self.config.lanes, LEARNER, partial(drawn, name)
            )
            instead = {other.name: member.source() for other in self.config.members}  # of withdrawn ones
            live = {other: source for other, source in (instead | sources).items() if other != name}
            parts = member.components
            seating = Seating(parts.sampler, matchmaker, parts.learner, frozen, lost, live)
            member.start(threads, matchmaker, seating)

    @property
    def enough(self) -> bool:
        """Whether a member is left to play, a main where the league has any."""
        kinds = {p.name: choices_of(p).kind for p in self.config.members}
        left = {kinds[name] for name in self.members}
        return bool(left) and ("main" in left or "main" not in kinds.values())

    def close(self) -> None:
        """Stop all pools, and the processes of members."""
        for member in self.members.values():
            member.close()
        if self.hosts is not None:
            self.hosts.close()


def build_league(
    preset: Preset, checkpoint: Checkpoint | None = None, machines: Machines = LOCAL
) -> LeagueComponents:
    """Build all parts of a league's run, its samplers by ``machines``.

    Raises ``ConfigError`` and ``CorruptFile``.
    """
    config = preset.league
    assert config is not None
    spec, _ = resolve_spec(preset)
    if wrong := [*league_problems(without_seeds(preset) if checkpoint else preset, spec)]:
        raise ConfigError(*wrong)
    defaults = tunable_defaults(preset)
    league = League(config, preset.run.seed, defaults, rules_of(config))
    state = LeagueState(league=config, ahead=preset.ahead)
    if checkpoint is not None:
        state = decode_league_state(checkpoint.state)
        if changed := differences(state.league, config):
            raise ConfigError("; ".join(changed))
        if preset.cluster.ahead not in (None, state.ahead):
            raise ConfigError(
                f"cluster.ahead = {preset.cluster.ahead}: expected {state.ahead}, as the run started"
            )
        _check_schedule(state)
        state.restarts += bool(checkpoint.restart)
    cluster = msgspec.structs.replace(preset.cluster, ahead=state.ahead)
    preset = msgspec.structs.replace(preset, cluster=cluster)
    starting = {e.player: e.hyper for e in league.initial_events() if isinstance(e, Joined)}
    for player in config.members:
        state.members.setdefault(player.name, MemberState(hyper=starting.get(player.name, {})))
    made = LeagueComponents(config, league, {}, state)
    try:
        if preset.cluster.members == "parallel":
            made.hosts = machines.members(preset, state.ahead)
        elif config.processes:
            made.hosts = started_hosts(preset, state.ahead)
        _build_members(made, preset, resumed=checkpoint is not None, machines=machines)
        if not made.enough:
            raise CorruptFile("state of a league's checkpoint: no member is left to play")
    except BaseException:
        made.close()
        raise
    return made


def _build_members(made: LeagueComponents, preset: Preset, *, resumed: bool, machines: Machines) -> None:
    """Build all members: here, or in their processes, which then build them at the same time."""
    state, hosts, restarts = made.state, made.hosts, made.state.restarts
    players = [(i, p) for i, p in enumerate(made.config.members) if not state.members[p.name].withdrawn]
    if hosts is None:
        for index, player in players:
            made.members[player.name] = LeagueMember(
                preset,
                index,
                player,
                state.members[player.name],
                restarts=restarts,
                resumed=resumed,
                machines=machines,
            )
        return
    shared = with_shared_threads(preset)
    begun = {
        index: begin_member(hosts, shared, index, state.members[p.name], restarts=restarts, resumed=resumed)
        for index, p in players
    }
    for index, player in players:
        made.members[player.name] = RemoteMember(
            preset,
            index,
            player,
            state.members[player.name],
            begun[index],
            restarts=restarts,
            resumed=resumed,
        )


def _check_schedule(state: LeagueState) -> None:
    """Check that rounds to come are those of members. Raises ``CorruptFile``."""
    where, rounds = "state of a league's checkpoint", state.scheduled
    if len(rounds) > state.ahead + bool(state.ahead):
        raise CorruptFile(f"{where}: {len(rounds)} rounds to come, cluster.ahead = {state.ahead}")
    if unknown := sorted(set(rounds) - {player.name for player in state.league.members}):
        raise CorruptFile(f"{where}: a round of {unknown[0][:100]!r}, who is no member")

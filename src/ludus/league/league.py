"""League: the state of all players and what follows from an event. Pure: no tensor, no file, no clock.

How a trainer uses it::

    league = League(config, seed, defaults)
    for event in league.initial_events(bots):          # once, of a new run
        effects = league.apply(event)            # then append to_row(event, league.number) to the journal
    # a resumed run: league.replay(journal.rows()), then carry out league.pending()

    member = league.next_member()                # whose round is next
    orders = league.draw(member, count, teams)   # for slots whose matches end
    league.apply(league.ordered(member, count))  # the random stream moves on
    ... the member plays and learns one round; OrderBook turns its matches into tallies ...
    effects = league.apply(Results(...))         # Freeze, Copy, Mutate: carry out, apply what they say
    while event := league.answer(): ...          # asks rules of one's own; apply and carry out, too

Everything is a function of the configuration, the seed and the events in their order, floating point
included: replaying the journal gives the live state bit by bit. An event that does not fit is ignored and
counted, never an error: a late report must not stop a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from ludus.flow import Order
from ludus.flow.league import JournalRow, Tally
from ludus.league import config as cfg
from ludus.league import freezing, meeting, origin, populations
from ludus.league.checks import own_settings
from ludus.league.events import (
    ITSELF,
    SEED,
    YES,
    Answered,
    AnyEffect,
    AnyEvent,
    Copied,
    Copy,
    Freeze,
    Frozen,
    Ignored,
    Joined,
    Mutate,
    Ordered,
    Request,
    Reset,
    ResetTo,
    Results,
    Retired,
    Ruled,
    Withdrawn,
    from_row,
    merge,
)
from ludus.league.orders import Drawer
from ludus.league.players import player_of
from ludus.league.roles import choices_of
from ludus.league.rules.asking import new_rules, next_answer
from ludus.league.rules.checked import CheckedRule
from ludus.league.standings import MemberStanding, PlayerState, RandomStream, Standings

STREAM_ORIGIN, STREAM_POPULATION = 2, 3
RETURN_DECAY = 0.99  # of the mean return, an episode
ELO_CHUNK = 50  # matches that one step of online Elo takes together
ELO_MATCHES = 50_000  # of one tally that Elo moves by: it settles within far fewer


class League:
    """State and decisions of a league.

    Args:
        config: Its settings.
        seed: Decides all draws.
        defaults: The preset's values of the settings that players tune, by path.
        rules: Rules of one's own by the member that they decide for. A journal is applied without them.
    """

    def __init__(
        self,
        config: cfg.LeagueConfig,
        seed: int,
        defaults: Mapping[str, float] | None = None,
        rules: Mapping[str, CheckedRule] | None = None,
    ) -> None:
        """Start a league without players."""
        self.config = config
        self.number = 0  #: events that were applied
        self.ignored: dict[str, int] = {}  #: events and rows that were not counted, by reason
        self.standings = Standings(config.decay)
        self.counts: dict[
            tuple[str, str, int, str], list[int]
        ] = {}  #: wins, draws, losses by pair, seat, tag
        self._seed = seed
        self._defaults = dict(defaults or {})
        self._players = {p.name: p for p in config.members}
        self._rules = dict(rules or {})
        self._drawer = Drawer(self.standings, seed, config.rating_share, self._rules)
        self._metas = meeting.meta_strategies(config)

    def initial_events(self, bots: Iterable[str] = ()) -> list[AnyEvent]:
        """Return the events of a new league: its members join, then the game's bots."""
        members: list[AnyEvent] = []
        placed: dict[str, int] = {}
        for player in self.config.members:
            order = placed.setdefault(player.role, 0)
            placed[player.role] += 1
            hyper = populations.starting(player.tune, self._defaults_of(player), order)
            members.append(Joined(player.name, "learner", player.role, hyper))
        return [*members, *self.ruled(), *(Joined(bot, "bot") for bot in bots)]

    def ruled(self) -> list[AnyEvent]:
        """Return an event for each rule of one's own that is another one than the standings have."""
        return new_rules(self.standings, self._rules)

    def answer(self) -> AnyEvent | None:
        """Ask a rule of one's own for the next decision that is due. Raises ``RuleError``."""
        return next_answer(self.standings, self._rules, self._seed)

    def ordered(self, member: str, count: int) -> Ordered:
        """Return the event after ``count`` orders of :meth:`draw`, with what a rule of one's own decided."""
        return Ordered(member, count, self._drawer.weights(member))

    def admit(self, player: cfg.PlayerConfig) -> None:
        """Allow a member to join that the configuration does not have."""
        self._players[player.name] = player

    def apply(self, event: AnyEvent) -> list[AnyEffect]:
        """Take ``event`` in and return what is to be done, in order."""
        self.number += 1
        self._drawer.forget()
        if isinstance(event, Joined):
            return self._joined(event)
        if isinstance(event, Retired):
            return self._retired(event)
        member = self.standings.members.get(event.member)
        if member is None:
            return self._ignore("unknown member", event.member)
        if member.withdrawn:
            return self._ignore("withdrawn member", event.member)
        if isinstance(event, Results):
            return self._results(event, member)
        if isinstance(event, Frozen):
            return self._frozen(event, member)
        if isinstance(event, Reset):
            return self._reset(event, member)
        if isinstance(event, Copied):
            return self._copied(event, member)
        if isinstance(event, Ruled):
            member.rule, member.rule_sha256 = event.rule, event.sha256
            return []
        if isinstance(event, Answered):
            return self._answered(event, member)
        if isinstance(event, Withdrawn):
            return self._withdrawn(event, member)
        if isinstance(event, Ordered):
            member.orders += max(event.count, 0)
        else:
            self._settle(member, event.hyper)
        return []

    def replay(self, rows: Iterable[JournalRow]) -> None:
        """Apply a journal's rows; their effects were carried out or are :meth:`pending`.

        Raises ``ValueError`` for rows that are no events of a league.
        """
        for row in rows:
            event = from_row(row)
            if row.number != self.number + 1:
                raise ValueError(f"event {row.number}: expected event {self.number + 1}")
            self.apply(event)

    def pending(self) -> list[Request]:
        """Return requested effects that no event has reported yet."""
        return [m.pending for m in self.standings.members.values() if m.pending is not None]

    def next_member(self, scheduled: Sequence[str] = (), decisions: int = 0) -> str:
        """Return the member that plays next: the furthest behind its share of all decisions.

        ``ValueError`` where all have been withdrawn.

        Args:
            scheduled: Members of rounds whose results are still to come. Each counts with the mean of the
                member's rounds.
            decisions: Decisions of a round of a new member.
        """

        def steps(member: MemberStanding) -> float:
            mean = member.steps / member.rounds if member.steps else decisions
            return member.steps + scheduled.count(member.name) * mean

        return min(self.standings.playing(), key=lambda m: (steps(m) / m.share, m.order)).name

    def draw(self, member: str, count: int, teams: int = 2) -> list[Order]:
        """Return the member's next ``count`` orders, for matches of ``teams`` teams. Changes nothing.

        Apply ``Ordered(member, count)`` when they are used. ``KeyError`` for an unknown member.
        """
        return list(self.draws(member, count, teams))

    def draws(self, member: str, count: int, teams: int = 2) -> Iterator[Order]:
        """Yield the orders of :meth:`draw`, each drawn when it is taken; no event may come in between."""
        return self._drawer.draws(self.standings.members[member], count, teams)

    def state(self) -> tuple[object, ...]:
        """Everything that decisions depend on, to compare two leagues by."""
        members = self.standings.members.values()
        return (
            self.number,
            dict(self.ignored),
            {key: tuple(counts) for key, counts in self.counts.items()},
            [msgspec.to_builtins(p) for p in self.standings.players],
            [msgspec.to_builtins(m) for m in members],
            {key: (a.tolist(), b.tolist()) for key, (a, b) in self.standings.meta.items()},
            self.standings.payoff.state(),
        )

    def _ignore(self, why: str, what: str, rows: int = 0) -> list[AnyEffect]:
        self.ignored[why] = self.ignored.get(why, 0) + max(rows, 1)
        return [Ignored(f"{why}: {what}", rows)]

    # --- players come and go ---------------------------------------------------------------------

    def _joined(self, event: Joined) -> list[AnyEffect]:
        if self.standings.find(event.player) is not None:
            return self._ignore("joined already", event.player)
        if event.kind == "bot":
            self.standings.add(PlayerState(event.player, "bot"))
            return []
        player = self._players.get(event.player)
        if player is None:
            return self._ignore("unknown member", event.player)
        index = self.standings.add(PlayerState(player.name, "learner", player.name, player.role))
        choices = choices_of(player)
        order = len(self.standings.members)
        member = MemberStanding(
            player.name, order, index, player.role, choices, player.share, dict(event.hyper)
        )
        self.standings.add_member(member)
        if not self.config.freeze_first or choices.kind == "exploiter":
            return []
        first = Freeze(member.name, 0, "asked")
        member.pending = first
        return [first]

    def _retired(self, event: Retired) -> list[AnyEffect]:
        index = self.standings.find(event.player)
        if index is None or self.standings.players[index].kind == "learner":
            return self._ignore("unknown player", event.player)
        if self.standings.players[index].retired:
            return self._ignore("retired already", event.player)
        self.standings.retire(index)
        for member in self.standings.members.values():
            member.quality.pop(index, None)
            if isinstance(member.pending, ResetTo) and member.pending.source == event.player:
                member.pending = ResetTo(member.name, SEED)
        return []

    def _withdrawn(self, event: Withdrawn, member: MemberStanding) -> list[AnyEffect]:
        member.withdrawn = event.why or "it failed"
        member.pending = member.awaited = None
        self.standings.retire(member.player)
        for other in self.standings.playing():
            if isinstance(other.pending, Copy) and other.pending.source == member.name:
                other.pending = None
        return []

    def _frozen(self, event: Frozen, member: MemberStanding) -> list[AnyEffect]:
        name = player_of(event.member, event.version)
        if self.standings.find(name) is not None or event.version < 0:
            return self._ignore("frozen already", name)
        state = PlayerState(
            name, "frozen", member.name, member.role, event.version, member.parent,
            elo=self.standings.players[member.player].elo,
        )  # fmt: skip
        index = self.standings.add(state, parent=member.player)
        member.parent = name
        member.freezes += 1
        member.frozen_steps, member.frozen_updates = member.steps, member.updates
        member.quality[index] = max(member.quality.values(), default=0.0)
        for solver, last in self._metas:
            self.standings.meta[solver, last] = meeting.meta_strategy(self.standings, solver, last)
        if isinstance(member.pending, Freeze):
            member.pending = None
        if event.version == 0 or member.pending is not None:
            return []  # a member keeps its weights until it becomes another one's copy
        if member.choices.rule:
            member.awaited = "origin"
            return []
        stream = RandomStream(self._seed, STREAM_ORIGIN, member.order, member.freezes)
        source = origin.source(member.choices.origin, event.reason, member, self.standings, stream)
        if source == ITSELF:
            return []
        reset = ResetTo(member.name, source)
        member.pending = reset
        return [reset]

    # --- results ---------------------------------------------------------------------------------

    def _results(self, event: Results, member: MemberStanding) -> list[AnyEffect]:
        tallies = merge(event.tallies)
        if event.round < member.rounds or event.round in member.rounds_ahead:
            return self._ignore("counted already", f"{event.member} round {event.round}", len(tallies))
        member.rounds_ahead.add(event.round)
        while member.rounds in member.rounds_ahead:
            member.rounds_ahead.remove(member.rounds)
            member.rounds += 1
        effects: list[AnyEffect] = []
        for tally in tallies:
            why = self._record(tally, member)
            if why:
                effects += self._ignore(why, f"{tally.player} against {tally.opponent}", 1)
        member.steps = max(member.steps, event.steps)
        member.updates = max(member.updates, event.updates)
        member.version = max(member.version, event.version)
        if event.episodes > 0 and math.isfinite(event.returns):
            keep = RETURN_DECAY**event.episodes
            each = (1.0 - keep) / ((1.0 - RETURN_DECAY) * event.episodes)
            member.returns = keep * member.returns + each * event.returns
            member.episodes = keep * member.episodes + each * event.episodes
        return effects + self._due(member)

    def _record(self, tally: Tally, member: MemberStanding) -> str:
        """Count ``tally``. Returns why it cannot be counted, empty if it was."""
        i, j = self.standings.find(tally.player), self.standings.find(tally.opponent)
        if i is None or j is None:
            return "unknown player"
        if min(tally.seat, tally.wins, tally.draws, tally.losses) < 0:
            return "negative count"
        players = self.standings.players
        if tally.tag == meeting.RATING:
            if i == j or "learner" in (players[i].kind, players[j].kind):
                return "not a pair of frozen players"
        elif i != member.player:
            return "not the member's match"
        if players[j].retired and players[j].kind == "learner":
            return ""  # played to its end by other weights: the member was withdrawn
        sums = self.counts.setdefault((tally.player, tally.opponent, tally.seat, tally.tag), [0, 0, 0])
        for k, n in enumerate((tally.wins, tally.draws, tally.losses)):
            sums[k] += n
        if i == j:
            return ""  # against itself: nothing that a rate could be made of
        self.standings.payoff.record(i, j, tally.wins, tally.draws, tally.losses)
        self._online_elo(players[i], players[j], tally)
        if tally.tag == "quality":
            rate = next((r.rate for r in member.choices.meet if isinstance(r, cfg.Quality)), 0.0)
            meeting.won_by_quality(member.quality, j, tally.wins, rate)
        return ""

    def _online_elo(self, player: PlayerState, opponent: PlayerState, tally: Tally) -> None:
        """Elo's update, in steps of a few matches, the outcomes evenly mixed."""
        matches = tally.wins + tally.draws + tally.losses
        score = (tally.wins + 0.5 * tally.draws) / max(matches, 1)
        matches = min(matches, ELO_MATCHES)
        while matches > 0:
            taken = min(matches, ELO_CHUNK)
            expected = float(meeting.expected_score(player.elo - opponent.elo))
            change = self.config.elo_k * taken * (score - expected)
            player.elo += change
            opponent.elo -= change
            matches -= taken

    def _due(self, member: MemberStanding) -> list[AnyEffect]:
        """Return what the member's rules request after a round; nothing while a request is pending."""
        if member.pending is None and member.awaited is None and member.choices.rule:
            member.awaited = "freeze"
        if member.pending is None:
            reason = freezing.due(member.choices.freeze, member, self.standings)
            if reason is not None and self.standings.find(player_of(member.name, member.version)) is None:
                member.pending = Freeze(member.name, member.version, reason)
        if member.pending is None:
            member.pending = self._exploit(member)
        return [] if member.pending is None else [member.pending]

    def _exploit(self, member: MemberStanding) -> Copy | Mutate | None:
        rule = self.config.population
        if isinstance(rule, cfg.NoPopulation) or member.choices.kind != "population":
            return None
        if member.steps - member.exploit_steps < rule.every:
            return None
        member.exploit_steps = member.steps
        member.exploits += 1
        stream = RandomStream(self._seed, STREAM_POPULATION, member.order, member.exploits)
        tunes = self._players[member.name].tune
        defaults = self._defaults_of(self._players[member.name])
        return populations.exploit(rule, member, tunes, defaults, self.standings, stream)

    def _defaults_of(self, player: cfg.PlayerConfig) -> dict[str, float]:
        """Return the preset's values of what the player may tune, its rules included."""
        return {**self._defaults, **own_settings(choices_of(player))}

    def _answered(self, event: Answered, member: MemberStanding) -> list[AnyEffect]:
        """Request what a rule of one's own has decided."""
        member.awaited = None
        if event.method == "freeze":
            name = player_of(member.name, member.version)
            if event.answer != YES or member.pending is not None or self.standings.find(name) is not None:
                return []
            member.pending = Freeze(member.name, member.version, "rule")
            return [member.pending]
        if event.answer == ITSELF or member.pending is not None:
            return []
        if event.answer != SEED and self.standings.find(event.answer) is None:
            return self._ignore("unknown player", event.answer)
        member.pending = ResetTo(member.name, event.answer)
        return [member.pending]

    # --- resets and copies ---------------------------------------------------------------------------

    def _reset(self, event: Reset, member: MemberStanding) -> list[AnyEffect]:
        name = player_of(member.name, 0) if event.source == SEED else event.source
        source = self.standings.find(name)
        if source is None and event.source != SEED:
            return self._ignore("unknown player", event.source)
        self._forget_results(member, source)
        member.parent = name if source is not None else ""
        member.frozen_steps, member.frozen_updates = member.steps, member.updates
        member.pending = None
        return []

    def _copied(self, event: Copied, member: MemberStanding) -> list[AnyEffect]:
        source = self.standings.members.get(event.source)
        if source is None or source is member:
            return self._ignore("unknown member", event.source)
        self._forget_results(member, source.player)
        member.parent = source.parent
        self._settle(member, event.hyper)
        return []

    def _forget_results(self, member: MemberStanding, source: int | None) -> None:
        """Forget the results of the member's old weights, which ``source`` replaced."""
        self.standings.payoff.clear(member.player, source)
        elo = self.standings.players[source].elo if source is not None else 0.0
        self.standings.players[member.player].elo = elo
        member.returns = member.episodes = 0.0

    def _settle(self, member: MemberStanding, hyper: dict[str, float]) -> None:
        member.hyper = dict(hyper)
        if isinstance(member.pending, (Copy, Mutate)):
            member.pending = None

"""Tables of a league, made of its record: the documents of ``ludus league --json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from ludus.league.payoff import Indices
from ludus.league.record import Milestone, Record
from ludus.league.standings import PlayerState


class MemberRow(msgspec.Struct, frozen=True):
    """Row of a member.

    ``win_rate``: mean rate against frozen players and bots that it met, None before. ``mean_return``: of
    about its last 100 matches. ``asked``: its last milestone. ``rule``: the rule of one's own that decides
    for it, with the hash of its file. ``received_per_s``, ``consumed_per_s``: decisions that it receives and
    consumes a second of its rounds; None: not known. ``withdrawn``: why it plays no more, empty while it
    does.
    """

    name: str
    role: str
    version: int
    steps: int
    updates: int
    rounds: int
    frozen: int
    last_frozen_steps: int
    parent: str
    win_rate: float | None
    mean_return: float | None
    asked: str
    hyper: dict[str, float]
    rule: str = ""
    rule_sha256: str = ""
    received_per_s: float | None = None
    consumed_per_s: float | None = None
    withdrawn: str = ""


class Status(msgspec.Struct, frozen=True):
    """``state``: state of the run. Times are seconds since 1970. ``ignored``: ignored matches by reason."""

    state: str
    events: int
    matches: int
    frozen: int
    first_time: float
    last_time: float
    ignored: dict[str, int]
    members: tuple[MemberRow, ...]


class PlayerRow(msgspec.Struct, frozen=True):
    """Row of a player.

    ``steps``: steps of the member when the player was frozen, or now. ``score``: points of all its matches.
    ``file``: whether its weights are on disk.
    """

    player: str
    kind: str
    member: str
    role: str
    version: int
    steps: int | None
    parent: str
    reason: str
    matches: int
    score: float
    retired: bool
    file: bool


class PayoffTable(msgspec.Struct, frozen=True):
    """``rate[i][j]`` of player i against j with its 95% interval, and the counts of i against j.

    Counts are of all matches with the present weights of both. ``recent[i][j]``: the rate and its
    interval are of about the last ``window`` of them if a player lives, otherwise of all.
    """

    players: tuple[str, ...]
    rate: tuple[tuple[float, ...], ...]
    low: tuple[tuple[float, ...], ...]
    high: tuple[tuple[float, ...], ...]
    wins: tuple[tuple[int, ...], ...]
    draws: tuple[tuple[int, ...], ...]
    losses: tuple[tuple[int, ...], ...]
    recent: tuple[tuple[bool, ...], ...] = ()
    window: float = 0.0


class PayoffPairs(msgspec.Struct, frozen=True):
    """The same numbers of each pair that has met, once: player ``i`` against player ``j`` before it.

    Integers, so that a page of hundreds of players loads quickly: counts of all matches with the present
    weights of both, ``rate`` in millionths, and ``weight``, the matches that the rate counts for with its
    prior, in thousandths. The 95% interval is ``rate +- Z sqrt(rate (1 - rate) / (weight + 1))`` in 0..1.
    ``recent``: the rate is of about the last ``window`` matches.
    """

    players: tuple[str, ...]
    i: tuple[int, ...]
    j: tuple[int, ...]
    wins: tuple[int, ...]
    draws: tuple[int, ...]
    losses: tuple[int, ...]
    rate: tuple[int, ...]
    weight: tuple[int, ...]
    recent: tuple[int, ...]
    window: float


class MeetingRow(msgspec.Struct, frozen=True):
    """How often ``member`` met players of one kind under one rule, in all its matches so far.

    ``kind``: ``itself``, ``live`` (another member's weights of that time), ``past`` (frozen players of
    ``opponent``) or ``bot``. ``tag``: the rule that drew them.
    """

    member: str
    opponent: str
    kind: str
    tag: str
    matches: int


class OpponentRow(msgspec.Struct, frozen=True):
    """One player against ``opponent``.

    Counts are of all matches since a player's weights were last replaced. ``window``: about how many of the
    last matches the rate and its interval count, 0 = all. ``tags``: all matches ever by the rule that drew
    them.
    """

    opponent: str
    wins: int
    draws: int
    losses: int
    rate: float
    low: float
    high: float
    tags: dict[str, int]
    window: float = 0.0


def status(record: Record, state: str, rates: Mapping[str, tuple[float, float]] | None = None) -> Status:
    """Return the rows of the members of ``record``.

    Args:
        record: The journal's contents.
        state: State of the run.
        rates: Decisions that members receive and consume a second, by name.
    """
    known: Mapping[str, tuple[float | None, float | None]] = rates or {}
    last = {m.member: f"{m.what} {m.detail}".strip() for m in record.milestones if m.what != "joined"}
    payoff, stays = record.league.standings.payoff, record.league.standings.anchored()
    rows = []
    for m in record.members:
        received, consumed = known.get(m.name, (None, None))
        met = stays[payoff.matches(m.player, stays) > 0]
        rows.append(
            MemberRow(
                name=m.name,
                role=m.role,
                version=m.version,
                steps=m.steps,
                updates=m.updates,
                rounds=m.rounds,
                frozen=m.freezes,
                last_frozen_steps=m.frozen_steps,
                parent=m.parent,
                win_rate=float(payoff.rates(m.player, met).mean()) if len(met) else None,
                mean_return=m.mean_return(),
                asked=last.get(m.name, ""),
                hyper=dict(m.hyper),
                rule=m.rule,
                rule_sha256=m.rule_sha256,
                received_per_s=received,
                consumed_per_s=consumed,
                withdrawn=m.withdrawn,
            )
        )
    return Status(
        state=state,
        events=record.league.number,
        matches=payoff.total(),
        frozen=sum(m.freezes for m in record.members),
        first_time=record.first_time,
        last_time=record.last_time,
        ignored=dict(record.league.ignored),
        members=tuple(rows),
    )


def players(record: Record, files: set[str]) -> tuple[PlayerRow, ...]:
    """All players; ``files``: names of those whose weights are on disk."""
    made = record.frozen_at()
    steps = {e.name: e.steps for e in record.entrants if e.shown}
    sums: dict[str, list[float]] = {}
    for (player, opponent, _, _), (wins, draws, losses) in record.league.counts.items():
        if player != opponent:
            for name, won in ((player, wins), (opponent, losses)):
                total = sums.setdefault(name, [0.0, 0.0])
                total[0] += won + 0.5 * draws
                total[1] += wins + draws + losses
    rows = []
    for p in record.players:
        scored, matches = sums.get(p.name, (0.0, 0.0))
        milestone = made.get(p.name)
        rows.append(
            PlayerRow(
                player=p.name,
                kind=p.kind,
                member=p.member,
                role=p.role,
                version=p.version,
                steps=steps.get(p.name),
                parent=p.parent,
                reason=_reason(milestone) if milestone is not None else "",
                matches=int(matches),
                score=scored / matches if matches else 0.0,
                retired=p.retired,
                file=p.name in files,
            )
        )
    return tuple(rows)


def _reason(milestone: Milestone) -> str:
    return milestone.detail.rpartition("(")[2].rstrip(")")


def the_newest(record: Record, most: int) -> list[str]:
    """At most ``most`` players: members, bots that were met, then the newest frozen players by member."""
    everyone = record.players
    payoff = record.league.standings.payoff
    all_of_them = np.arange(len(everyone))

    def was_met(index: int) -> bool:
        return bool(payoff.matches(index, all_of_them).sum())

    first = [i for i, p in enumerate(everyone) if p.kind == "learner"]
    first += [i for i, p in enumerate(everyone) if p.kind == "bot" and was_met(i)]
    frozen = [i for i, p in enumerate(everyone) if p.kind == "frozen" and not p.retired]
    left = max(0, most - len(first))
    order = {m.name: m.order for m in record.members}
    newest = sorted(frozen[-left:] if left else (), key=lambda i: (order[everyone[i].member], i))
    return [everyone[i].name for i in (*first[:most], *newest)]


def payoff(record: Record, names: Sequence[str] = ()) -> PayoffTable:
    """Rates and counts of ``names``, by default of all players, against each other. ``KeyError``."""
    chosen = names or [p.name for p in record.players]
    index = {p.name: i for i, p in enumerate(record.players)}
    picked: Indices = np.array([index[name] for name in chosen], np.int64)
    table = record.league.standings.payoff
    rows = [int(i) for i in picked]
    bounds = [table.intervals(i, picked) for i in rows]
    scores = [[table.score(i, j) for j in rows] for i in rows]
    return PayoffTable(
        players=tuple(chosen),
        rate=tuple(tuple(map(float, table.rates(i, picked))) for i in rows),
        low=tuple(tuple(map(float, low)) for low, _ in bounds),
        high=tuple(tuple(map(float, high)) for _, high in bounds),
        wins=tuple(tuple(s[0] for s in row) for row in scores),
        draws=tuple(tuple(s[1] for s in row) for row in scores),
        losses=tuple(tuple(s[2] for s in row) for row in scores),
        recent=tuple(tuple(map(bool, table.recent(i, picked))) for i in rows),
        window=table.window(),
    )


def payoff_pairs(record: Record, names: Sequence[str]) -> PayoffPairs:
    """Rates and counts of the pairs of ``names`` that have met. ``KeyError``."""
    index = {p.name: i for i, p in enumerate(record.players)}
    picked: Indices = np.array([index[name] for name in names], np.int64)
    table = record.league.standings.payoff
    columns: list[list[int]] = [[] for _ in range(8)]
    for k, player in enumerate(map(int, picked)):
        before = picked[:k]
        met = np.flatnonzero(table.matches(player, before) > 0)
        others = before[met]
        numbers = (
            np.full(len(met), k),
            met,
            *table.counts(player, others).T,
            np.rint(1e6 * table.rates(player, others)).astype(np.int64),
            np.rint(1e3 * table.weights(player, others)).astype(np.int64),
            table.recent(player, others).astype(np.int64),
        )
        for column, values in zip(columns, numbers, strict=True):
            column += values.tolist()
    i, j, wins, draws, losses, rate, weight, recent = columns
    return PayoffPairs(
        players=tuple(names),
        i=tuple(i),
        j=tuple(j),
        wins=tuple(wins),
        draws=tuple(draws),
        losses=tuple(losses),
        rate=tuple(rate),
        weight=tuple(weight),
        recent=tuple(recent),
        window=table.window(),
    )


def against(record: Record, name: str) -> tuple[OpponentRow, ...]:
    """Everyone that ``name`` met, the hardest first. ``KeyError`` for an unknown player."""
    index = {p.name: i for i, p in enumerate(record.players)}
    me, table = index[name], record.league.standings.payoff
    others: Indices = np.array([i for i in range(len(record.players)) if i != me], np.int64)
    others = others[table.matches(me, others) > 0]
    rates, (lows, highs) = table.rates(me, others), table.intervals(me, others)
    recent = table.recent(me, others)
    tags: dict[str, dict[str, int]] = {}
    for (player, opponent, _, tag), counts in record.league.counts.items():
        if name in (player, opponent) and player != opponent:
            own = tags.setdefault(opponent if player == name else player, {})
            own[tag] = own.get(tag, 0) + sum(counts)
    rows = [
        OpponentRow(
            record.players[j].name,
            *table.score(me, j),
            float(rates[k]),
            float(lows[k]),
            float(highs[k]),
            dict(sorted(tags.get(record.players[j].name, {}).items())),
            table.window() if recent[k] else 0.0,
        )
        for k, j in enumerate(map(int, others))
    ]
    return tuple(sorted(rows, key=lambda row: row.rate))


def meetings(record: Record) -> tuple[MeetingRow, ...]:
    """Return the opponents of each member in its own matches, by member and then the most frequent first."""
    state = {p.name: p for p in record.players}
    sums: dict[tuple[str, str, str, str], int] = {}
    for (player, opponent, _, tag), counts in record.league.counts.items():
        other = state.get(opponent)
        if player not in record.league.standings.members or other is None:
            continue
        kind = {"learner": "live", "frozen": "past", "bot": "bot"}[other.kind]
        key = (player, other.member or other.name, "itself" if player == opponent else kind, tag)
        sums[key] = sums.get(key, 0) + sum(counts)
    order = {m.name: m.order for m in record.members}
    rows = [MeetingRow(*key, matches) for key, matches in sums.items() if matches]
    return tuple(sorted(rows, key=lambda row: (order[row.member], -row.matches)))


def lineage(record: Record) -> tuple[Milestone, ...]:
    """Return the milestones of members, in order."""
    return tuple(record.milestones)


def tree(record: Record) -> list[str]:
    """Lines of frozen players and of copies, each below what it came from.

    A line that starts there, because a member was reset to an older or another's player, is indented and
    names that player. A copy is below the frozen player that the copied weights come from.
    """
    state = {p.name: p for p in record.players}
    children, made = record.children(), record.frozen_at()

    copies: dict[str, list[str]] = {}
    for m in record.milestones:
        if m.what == "copied":
            copies.setdefault(m.parent, []).append(f"{m.member} copied {m.detail}  {m.steps:,} steps")

    def line(name: str, depth: int) -> str:
        milestone = made.get(name)
        steps = f"  {milestone.steps:,} steps, {_reason(milestone)}" if milestone is not None else ""
        origin = f", from {state[name].parent}" if depth and state[name].parent in state else ""
        return f"{'  ' * depth}{name}{steps}{origin}"

    before: dict[str, str] = {}  # what the same member froze last
    newest: dict[str, str] = {}
    for player in record.players:
        if player.kind == "frozen":
            before[player.name] = newest.get(player.member, "")
            newest[player.member] = player.name
    lines: list[str] = []
    waiting = [(name, 0) for name in reversed(children.get("", []))]
    while waiting:
        name, depth = waiting.pop()
        lines.append(line(name, depth))
        lines += [f"{'  ' * (depth + 1)}{copy}" for copy in copies.get(name, ())]
        own, others = _split(state[name], [state[c] for c in children.get(name, [])], before)
        waiting += [(c, depth) for c in reversed(own)] + [(c, depth + 1) for c in reversed(others)]
    return lines + copies.get("", [])


def _split(
    parent: PlayerState, children: Sequence[PlayerState], before: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Return the child that continues the parent's line, and the children that start new lines.

    A member continued if it froze nothing between the parent and the child.
    """
    same = [c.name for c in children if c.member == parent.member and before.get(c.name) == parent.name]
    return same, [c.name for c in children if c.name not in same]

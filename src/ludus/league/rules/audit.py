"""Audit of a journal: the rules of one's own are asked again, and each answer is compared with its event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from ludus.flow.league import JournalRow
from ludus.league.events import NO, YES, Answered, AnyEvent, Ordered, from_row
from ludus.league.league import League
from ludus.league.rules.checked import CheckedRule
from ludus.league.rules.errors import RuleError

MOST_DIFFERENCES = 100  # that are listed
MOST_SHOWN = 5  # opponents of an answer


class OtherAnswer(msgspec.Struct, frozen=True):
    """An event whose rule answers otherwise now. ``recorded``, ``now``: the answers as text."""

    number: int
    member: str
    method: str
    recorded: str
    now: str


class AuditResult(msgspec.Struct, frozen=True):
    """Result of an audit.

    Args:
        decisions: Answers that were compared.
        other_file: Decisions that were made under another file of the rule; they are compared too.
        different: How many differ.
        differences: The first of them.
    """

    decisions: int
    other_file: int
    different: int
    differences: tuple[OtherAnswer, ...]


def audit(
    league: League, rows: Iterable[JournalRow], rules: Mapping[str, CheckedRule], seed: int
) -> AuditResult:
    """Apply the rows of a journal to a new ``league``, and ask ``rules`` for each decision before it.

    ``seed``: the league's. Raises ``ValueError`` for rows that are no events of a league.
    """
    decisions = other_file = different = 0
    found: list[OtherAnswer] = []
    for row in rows:
        event = from_row(row)
        member = league.standings.members.get(row.member)
        rule = rules.get(row.member)
        if member is not None and rule is not None and _decided(event):
            assert isinstance(event, (Answered, Ordered))
            decisions += 1
            other_file += member.rule_sha256 != rule.sha256
            difference = _difference(row.number, event, rule, league, seed)
            if difference is not None:
                different += 1
                found = [*found, difference][:MOST_DIFFERENCES]
        league.replay([row])
    return AuditResult(decisions, other_file, different, tuple(found))


def _decided(event: AnyEvent) -> bool:
    """Return whether a rule was asked for an event."""
    return isinstance(event, Answered) or (isinstance(event, Ordered) and bool(event.weights))


def _difference(
    number: int, event: Answered | Ordered, rule: CheckedRule, league: League, seed: int
) -> OtherAnswer | None:
    """Return another answer of the rule than the event has; None if it is the same."""
    standings = league.standings
    member = standings.members[event.member]
    method = "meet" if isinstance(event, Ordered) else event.method
    recorded: object = event.weights if isinstance(event, Ordered) else event.answer
    now: object
    try:
        if isinstance(event, Ordered):
            now = rule.meet(standings, member, seed)
        elif event.method == "freeze":
            now = YES if rule.freeze(standings, member, seed) else NO
        else:
            now = rule.origin(standings, member, seed)
    except RuleError as error:
        now = str(error)
    return None if recorded == now else OtherAnswer(number, event.member, method, _text(recorded), _text(now))


def _text(answer: object) -> str:
    """Return an answer as text: of weights the heaviest first."""
    if not isinstance(answer, dict):
        return str(answer)
    heaviest = sorted(answer.items(), key=lambda entry: -entry[1])
    shown = ", ".join(f"{name} {weight:.4g}" for name, weight in heaviest[:MOST_SHOWN])
    return shown + (", ..." if len(heaviest) > MOST_SHOWN else "")

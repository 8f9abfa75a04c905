"""When rules of one's own are asked, and their decisions as events."""

from __future__ import annotations

from collections.abc import Mapping

from ludus.league.events import NO, YES, Answered, AnyEvent, Ruled
from ludus.league.rules.checked import CheckedRule
from ludus.league.rules.rule import ORIGIN
from ludus.league.standings import Standings


def new_rules(standings: Standings, rules: Mapping[str, CheckedRule]) -> list[AnyEvent]:
    """Return an event for each member whose rule is another one than the standings have."""
    events: list[AnyEvent] = []
    for name, rule in rules.items():
        member = standings.members.get(name)
        known = ("", "") if member is None else (member.rule, member.rule_sha256)
        if known != (rule.name, rule.sha256):
            events.append(Ruled(name, rule.name, rule.sha256))
    return events


def next_answer(standings: Standings, rules: Mapping[str, CheckedRule], seed: int) -> AnyEvent | None:
    """Ask the rule of the first member that awaits a decision; None if none does. Raises ``RuleError``."""
    for member in standings.members.values():
        if member.awaited is None or member.name not in rules:
            continue
        rule = rules[member.name]
        if member.awaited == ORIGIN:
            return Answered(member.name, "origin", rule.origin(standings, member, seed))
        due = rule.freeze(standings, member, seed)
        return Answered(member.name, "freeze", YES if due else NO)
    return None

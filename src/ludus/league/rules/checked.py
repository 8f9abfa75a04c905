"""Calls of a rule of one's own: each twice, and each answer checked before the league uses it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NoReturn, TypeVar

from ludus.flow.inputs.shown import shown, visible
from ludus.flow.problem import NONE_NEAR, Near, Problem, near_of
from ludus.flow.process.code_files import line_in
from ludus.league.events import ITSELF, SEED
from ludus.league.rules.errors import RuleError
from ludus.league.rules.rule import FREEZE, MEET, METHODS, ORIGIN, LeagueRule
from ludus.league.rules.view import LeagueView, view_of
from ludus.league.standings import MemberStanding, RandomStream, Standings

STREAM_RULE = 6
MOST_OPPONENTS = 512  # of a decision: what the journal has room for
MAX_TEXT = 300  # characters of an error of the rule

T = TypeVar("T")


class CheckedRule:
    """A rule whose answers are checked.

    Args:
        name: The rule in messages and in the journal: ``mine.py:Newest``.
        make: Makes the rule, with its parameters.
        sha256: Hash of the file that its code came from.
        path: Path of that file; "" = unknown.
    """

    def __init__(self, name: str, make: Callable[[], LeagueRule], sha256: str = "", path: str = "") -> None:
        """Call nothing yet."""
        self.name, self.sha256, self.path = name, sha256, path
        self._make = make

    def meet(self, standings: Standings, me: MemberStanding, seed: int) -> dict[str, float]:
        """Return the shares of opponents by name, in the order of the players; they sum to 1, or are none.

        Of more than ``MOST_OPPONENTS`` opponents those with the greatest weights stay, of equal ones the
        newer. Raises :class:`RuleError`.
        """
        weights = self._twice(MEET, standings, me, seed, me.orders, _weights)
        chosen = sorted(weights, key=lambda index: (-weights[index], -index))[:MOST_OPPONENTS]
        most = max(weights.values(), default=0.0)
        scaled = {index: weights[index] / most for index in sorted(chosen)}
        total = math.fsum(scaled.values())
        return {standings.players[index].name: weight / total for index, weight in scaled.items()}

    def freeze(self, standings: Standings, me: MemberStanding, seed: int) -> bool:
        """Return whether a copy of the member is frozen now. Raises :class:`RuleError`."""
        return self._twice(FREEZE, standings, me, seed, me.rounds, _truth)

    def origin(self, standings: Standings, me: MemberStanding, seed: int) -> str:
        """Return ``itself``, ``seed`` or a frozen player. Raises :class:`RuleError`."""
        return self._twice(ORIGIN, standings, me, seed, me.freezes, _source)

    def _twice(
        self,
        method: str,
        standings: Standings,
        me: MemberStanding,
        seed: int,
        counter: int,
        read: Callable[[object, Standings], T],
    ) -> T:
        """Return the checked answer of a method, which two new rules give alike."""
        answers: list[T] = []
        for _ in range(2):
            random = RandomStream(seed, STREAM_RULE, me.order, METHODS.index(method), counter)
            answer = self._call(method, view_of(standings, me), random, me.name)
            try:
                answers.append(read(answer, standings))
            except _Refused as refused:
                self._refuse(method, me.name, refused.text, refused.near)
        first, second = answers
        if first != second:
            text = "is not deterministic: a second call with equal inputs had another answer"
            self._refuse(method, me.name, f"{text}; expected chance from the argument random alone")
        return first

    def _call(self, method: str, view: LeagueView, random: RandomStream, member: str) -> object:
        try:
            answer: object = getattr(self._make(), method)(view, random)
        except (Exception, SystemExit) as error:
            line = line_in(error, self.path)
            at = f" in line {line}" if line else ""
            raise RuleError(
                f"league rule {shown(self.name)}: {method} of {member} failed{at}: {in_words(error)}"
            ) from error
        return answer

    def _refuse(self, method: str, member: str, text: str, near: Near = NONE_NEAR) -> NoReturn:
        raise RuleError(
            Problem(text=f"league rule {shown(self.name)}: {method} of {member} {text}", near=near)
        )


class _Refused(Exception):
    """An answer that no league can use. ``text``: its end of the sentence."""

    def __init__(self, text: str, near: Near = NONE_NEAR) -> None:
        super().__init__(text)
        self.text, self.near = text, near


def in_words(error: BaseException) -> str:
    """Return the class and text of an error from foreign code, short and on one line."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "an error without a text"
    text = visible(text)
    return f"{type(error).__name__}: {text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + '...'}"


def _weights(answer: object, standings: Standings) -> dict[int, float]:
    """Return the weights above 0 by the index of the player. Raises :class:`_Refused`."""
    if not isinstance(answer, Mapping):
        raise _Refused(f"returned {_kind(answer)}, expected a dict from a player's name to a weight")
    found: dict[int, float] = {}
    for name, weight in dict(answer).items():
        if not isinstance(name, str):
            raise _Refused(f"returned a key of type {type(name).__name__}, expected a player's name")
        index = _player(name, standings, range(len(standings.players)))
        number = _number(weight)
        if not (math.isfinite(number) and number >= 0.0):
            value = _kind(weight) if math.isnan(number) and weight is not number else repr(number)
            raise _Refused(f"returned {value} as the weight of {shown(name)}, expected a finite number >= 0")
        if number > 0.0:
            found[index] = number
    return found


def _number(weight: object) -> float:
    """Return a weight as a float, NaN where it is no number; numbers of numpy are numbers."""
    if isinstance(weight, (bool, str, bytes)) or not hasattr(weight, "__float__"):
        return math.nan
    try:
        return float(weight)
    except Exception:
        return math.nan


def _truth(answer: object, standings: Standings) -> bool:
    if isinstance(answer, bool) or type(answer).__name__ == "bool":  # numpy's has the same name
        return bool(answer)
    raise _Refused(f"returned {_kind(answer)}, expected True or False")


def _source(answer: object, standings: Standings) -> str:
    if not isinstance(answer, str):
        raise _Refused(f"returned {_kind(answer)}, expected {ITSELF}, {SEED} or the name of a frozen player")
    if answer in (ITSELF, SEED):
        return str(answer)
    frozen = [i for i, player in enumerate(standings.players) if player.kind == "frozen"]
    return standings.players[_player(answer, standings, frozen, (ITSELF, SEED))].name


def _player(name: str, standings: Standings, among: range | list[int], others: tuple[str, ...] = ()) -> int:
    """Return the index of a player that can be met. Raises :class:`_Refused` with the nearest names."""
    index = standings.find(name)
    if index is None:
        what = "an unknown player"
    elif standings.players[index].retired:
        what = "a retired player"
    elif index not in among:
        what = "a player that is not frozen"
    else:
        return index
    valid = [standings.players[i].name for i in among if not standings.players[i].retired]
    raise _Refused(f"returned {shown(name)}, {what}", near_of(name, [*others, *valid]))


def _kind(answer: object) -> str:
    return f"a value of type {type(answer).__name__}" if answer is not None else "None"

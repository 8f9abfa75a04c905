"""Conformance checks of a game, for ``ludus games check``; they ship to users.

The rules themselves are checked in C++ (``cpp/game/conformance.hpp``): reset, determinism, clone by
byte copy, seats, observations written whole and within range, masks, refusals, ticks, rewards, the
end, replays. This module checks the Python side: the spec decodes, views are JSON, and it measures
speed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.games import replays
from ludus.games.registry import find, is_python, maker, spec, text_params


class Finding(msgspec.Struct, frozen=True):
    """Result of one check. ``detail`` names the mistake, its place and the expected value.

    If the check passed, ``detail`` is empty or a note.
    """

    check: str
    passed: bool
    detail: str = ""


class SeatShare(msgspec.Struct, frozen=True):
    """Matches of one bot at both seats of a game: wins of each seat, and draws."""

    bot: str
    won: tuple[int, int]
    drawn: int


class GameReport(msgspec.Struct, frozen=True):
    """All checks of one game. ``ns_per_tick`` is one core, bots (or random actions) in every seat.

    Games written in Python observe and decide at every tick of it, and have no state to measure.
    ``seats`` has every bot of a compiled game of two seats.
    """

    game: str
    findings: tuple[Finding, ...]
    ns_per_tick: float
    clone_ns: float
    state_bytes: int
    seats: tuple[SeatShare, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether all checks passed."""
        return all(f.passed for f in self.findings)


#: Ticks after which the matches of a bot against itself are enough.
_SEAT_TICKS = 1_000_000


def check_game(
    reference: str,
    params: Mapping[str, object] | None = None,
    *,
    matches: int = 20,
    seed: int = 1,
    apart: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> GameReport:
    """Run every check of a game.

    Args:
        reference: A game by name or reference.
        params: Parameters of its rules.
        matches: Number of checked matches; ten times as many compare equal bots by seat.
        seed: Seed of the first match.
        apart: Check a Python game in separate processes, so that its crash, exit or hanging is a finding,
            and so is a dependence on the order of hashes.
        report: Receives what is checked now, in words.

    Raises:
        ParamError: An unknown game or parameter.
    """
    text = text_params(params or {})
    if is_python(reference):
        from ludus.games.checks.python_conformance import check_python

        made = maker(reference, text)
        if apart:
            from ludus.games.checks.process import check

            rows, ns_per_tick = check(reference, text, matches, seed, report)
        else:
            rows, ns_per_tick = check_python(made, matches, seed)
        return GameReport(made.spec.name, tuple(Finding(*row) for row in rows), ns_per_tick, 0.0, 0)
    game = find(reference)
    declared = spec(reference, text).max_ticks
    most = declared + 1 if declared else 0  # one tick past the limit is enough to see it broken
    findings: list[Finding] = []
    for match in range(matches):
        report(f"the rules: match {match + 1:,} of {matches:,} by random decisions")
        found = game.native.conformance(game.name, text, seed, 1, most, match)
        findings = merged(findings, from_json(found, list[Finding]))
    findings.append(_check_spec(reference, text))
    findings.append(_check_view(reference, text, seed))
    report("speed")
    bench = from_json(game.native.bench_sim(game.name, text, [_bot(reference, text)], [], 1, 8, 20_000, seed))
    return GameReport(
        game=game.name,
        findings=tuple(findings),
        ns_per_tick=float(bench["ns_per_tick"]),
        clone_ns=float(bench["clone_ns"]),
        state_bytes=int(bench["state_bytes"]),
        seats=_seat_shares(reference, text, 10 * matches, seed, report),
    )


def merged(found: list[Finding], more: list[Finding]) -> list[Finding]:
    """Return the findings of matches and of those after them; a check keeps its first mistake."""
    by_check = {finding.check: finding for finding in found}
    for finding in more:
        if by_check.setdefault(finding.check, finding).passed:
            by_check[finding.check] = finding
    return list(by_check.values())


def _seat_shares(
    reference: str, params: Mapping[str, str], matches: int, seed: int, report: Callable[[str], None]
) -> tuple[SeatShare, ...]:
    """Play each bot against itself, for ``matches`` matches or a million ticks."""
    game, declared = find(reference), spec(reference, params)
    if declared.seats != 2:
        return ()
    shares = []
    for bot in declared.bots:
        won, drawn, ticks = [0, 0], 0, 0
        for match in range(matches):
            report(f"equal bots by seat: {bot.name} against itself, match {match + 1:,} of {matches:,}")
            data = game.native.replay_record(
                game.name, params, seed, match, [bot.name], [declared.default_frame_skip]
            )
            info = replays.info(data)
            ticks += info.ticks
            if info.outcome[0] == info.outcome[1]:
                drawn += 1
            else:
                won[int(info.outcome[1] > info.outcome[0])] += 1
            if ticks >= _SEAT_TICKS:
                break
        shares.append(SeatShare(bot.name, (won[0], won[1]), drawn))
    return tuple(shares)


def _bot(reference: str, params: Mapping[str, str]) -> str:
    bots = spec(reference, params).bots
    return bots[0].name if bots else "uniform"


def _check_spec(reference: str, params: Mapping[str, str]) -> Finding:
    try:
        decoded = spec(reference, params)
    except msgspec.ValidationError as error:
        return Finding("spec_decodes", False, str(error))
    for tensor in decoded.observation:
        if tensor.codec == "identity" and tensor.labels and len(tensor.labels) not in tensor.shape:
            return Finding(
                "spec_decodes", False, f"tensor {tensor.name}: labels fit no axis of {tensor.shape}"
            )
    return Finding("spec_decodes", True)


def _check_view(reference: str, params: Mapping[str, str], seed: int) -> Finding:
    game = find(reference)
    data = game.native.replay_record(game.name, params, seed, 0, ["uniform"])
    frames = game.native.replay_frames(data, 50)
    try:
        kinds = {type(from_json(frame)) for frame in frames}
    except json.JSONDecodeError as error:
        return Finding("view", False, f"not JSON: {error}")
    return Finding("view", kinds == {dict}, "" if kinds == {dict} else "expected a JSON object")

"""Records of Go as matches of the game ``go``, and back: replays from SGF, SGF from replays.

A replay holds one match by one set of rules, in turns. So stones that a file sets up in the middle, a move
that no rules allow, and moves behind two passes end what can be converted; a note names the place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ludus.flow.inputs.shown import visible
from ludus.games import go, registry, replays
from ludus.games.go_rules import NAMED, REPLAYED, rule_set
from ludus.games.match import GameError, Match, ParamError
from ludus.games.records import go_record_text, sgf
from ludus.games.records.go_record import GoRecord, Point
from ludus.games.records.sgf import SgfError
from ludus.games.replays import ReplayInfo
from ludus.native import ReplayError

GAME = "go"
_MOST_NAME = 200  # characters of a player's name
_DEFAULT = {"ko": "positional", "suicide": "forbidden"}

Rules = Mapping[str, str]


class Converted(NamedTuple):
    """A match made of a record.

    Attributes:
        replay: The bytes of a ``.ludus`` file.
        notes: What was not converted, or not as it is written. One sentence each.
        moves: Moves that were converted.
        match: The match behind them.
    """

    replay: bytes
    notes: tuple[str, ...]
    moves: int
    match: Match


class _PlayedRecord(NamedTuple):
    match: Match
    moves: int  # of the record
    passes: tuple[int, ...]  # moves before which the other side was given a pass
    why: str  # the reason of the end, or empty


def replay_of(made: GoRecord, params: Mapping[str, str] | None = None) -> Converted:
    """Return the match of a record.

    Args:
        made: The record.
        params: Further parameters of the game ``go`` (``features``, ``resignation``).

    Raises:
        SgfError: Not even the board can be set up.
    """
    best: _PlayedRecord | None = None
    failed: ParamError | None = None
    tried: list[Rules] = []
    stones = made
    for stones in (made, made.as_written()) if made.assumed else (made,):
        for rules in _rule_sets(made.info.get("RU", "")):
            try:
                played = _play(stones, {**(params or {}), **rules})
            except ParamError as error:
                failed = error
                break
            tried.append(rules)
            if best is None or played.moves > best.moves:
                best = played
            if not played.why:
                break
        if best is not None and not best.why:
            break
    if best is None:
        raise SgfError(f"SGF: {failed}")
    names = [made.info.get(name, "").strip()[:_MOST_NAME] or None for name in ("PB", "PW")]
    notes = [*made.notes, *_notes(made, best)]
    return Converted(
        best.match.replay([visible(n) if n else "" for n in names]), tuple(notes), best.moves, best.match
    )


def _rule_sets(text: str) -> Iterator[Rules]:
    """Yield rules to play a record by, in order of preference: its own, then ever fewer of them."""
    name = rule_set(text)
    own = NAMED.get(name) or REPLAYED.get(name) or _DEFAULT
    yield {**_DEFAULT, **own}
    scoring = {"scoring": own["scoring"]} if "scoring" in own else {}
    for ko, suicide in (("simple", "forbidden"), ("simple", "allowed"), ("none", "allowed")):
        yield {**scoring, "ko": ko, "suicide": suicide}


def _play(made: GoRecord, rules: Rules) -> _PlayedRecord:
    """Play the moves of a record as far as the rules allow. Raises ``ParamError`` for impossible stones."""
    match = Match(GAME, without_defaults({**_set_up(made), **rules}), record=True)
    handle = match.handle
    size = made.size
    passes: list[int] = []
    for number, (colour, point) in enumerate(made.moves):
        seat = "BW".index(colour)
        if number and number in made.setups and made.setups[number].stones:
            return _PlayedRecord(match, number, tuple(passes), f"stones are set up after move {number}")
        deciding = handle.to_act()
        if not deciding:
            return _PlayedRecord(
                match, number, tuple(passes), f"{_named(made, number)}: the match was over before it"
            )
        trial, twice = match, deciding[0] != seat
        try:
            if not twice:  # nearly all moves
                handle.act(seat, (_number(point, size),))
                handle.advance()
                continue
            trial = match.clone()  # a refused move leaves neither it nor the other side's pass
            trial.play(size * size)
            if trial.over:
                return _PlayedRecord(
                    match, number, tuple(passes), f"{_named(made, number)}: out of turn, after a pass"
                )
            trial.play(_number(point, size))
        except GameError:
            why = f"{_named(made, number)}: {_why(match, point, rules)}"
            return _PlayedRecord(match, number, tuple(passes), why)
        match, handle = trial, trial.handle
        passes.append(number + 1)
    return _PlayedRecord(match, len(made.moves), tuple(passes), "")


def _named(made: GoRecord, number: int) -> str:
    colour, point = made.moves[number]
    return f"move {number + 1}, {colour} {go.vertex(_number(point, made.size), made.size)}"


def _why(match: Match, point: Point | None, rules: Rules) -> str:
    """Return why a move is illegal."""
    view = match.view()
    if point is not None and view["cells"][_number(point, int(view["width"]))] >= 0:
        return "the point is taken"
    return f"forbidden under {', '.join(f'{key} = {rules[key]}' for key in _DEFAULT)}"


def _set_up(made: GoRecord) -> dict[str, str]:
    """Return parameters of the board at the start."""
    out = {"size": str(made.size)}
    if 2 * len(made.moves) > max(2 * made.size**2, 200):  # each move may have a pass before it
        out["max_moves"] = str(min(go.MOST_MOVES, 2 * len(made.moves)))
    if made.komi is not None:
        out["komi"] = f"{made.komi:g}" if abs(made.komi) < 1000 else str(made.komi)
    stones = {"black": made.black, "white": made.white}
    words = [
        " ".join([colour, *(go.vertex(_number(p, made.size), made.size).lower() for p in points)])
        for colour, points in stones.items()
        if points
    ]
    if words:
        out["setup"] = " ".join(words)
    first = made.first or (made.moves[0][0] if made.moves else "")
    if first == "W":  # without a handicap of the game's own, Black is first
        out["first"] = "white"
    return out


def without_defaults(params: Rules) -> dict[str, str]:
    """Return parameters other than the game's own, as pages show them."""
    defaults = _defaults()
    return {name: value for name, value in params.items() if value != defaults.get(name)}


def _notes(made: GoRecord, played: _PlayedRecord) -> list[str]:
    notes = []
    if made.komi is None:
        notes.append(f"komi is {played.match.params.get('komi', _defaults()['komi'])}")
    if played.passes:
        numbers = ", ".join(map(str, played.passes[:10])) + (" ..." if len(played.passes) > 10 else "")
        notes.append(f"one side moves twice: the other passes before move {numbers}")
    if played.why:
        left = len(made.moves) - played.moves
        notes.append(f"{played.why}; the last {left:,} of {len(made.moves):,} moves are left out")
    return notes


@cache
def _defaults() -> Rules:
    """Return the default values of the game's parameters."""
    return {p.name: p.default_value for p in registry.spec(GAME).params}


def _number(point: Point | None, size: int) -> int:
    return size * size if point is None else point[1] * size + point[0]


def record_of(replay: bytes) -> GoRecord:
    """Return the record of a replay of ``go``.

    Raises:
        ReplayError: The bytes are no replay, one of another game, or one that differs from its rules.
    """
    about = replays.info(replay)
    if about.game != GAME:
        raise ReplayError(f"a match of {visible(about.game)}, expected one of {GAME}: SGF is for Go")
    check = replays.verify(replay)
    if not check.same:
        raise ReplayError(f"the replay does not follow its rules: {check.difference}")
    return _recorded(about, replays.decisions(replay))


def sgf_of(replay: bytes) -> str:
    """Return a replay of ``go`` as SGF. Raises as :func:`record_of`."""
    return sgf.write(go_record_text.tree(record_of(replay)))


def _recorded(about: ReplayInfo, decisions: Sequence[replays.ReplayDecision]) -> GoRecord:
    match = Match(GAME, about.params, seed=about.seed, match=about.match)
    view = match.view()
    size = int(view["width"])
    handicap = int(about.params.get("handicap", "0"))
    made = GoRecord(size=size, komi=float(view["komi"]), handicap=handicap)
    for cell, what in enumerate(view["cells"]):
        if what in (go.BLACK, go.WHITE):
            (made.black if what == go.BLACK else made.white).append((cell % size, cell // size))
    if made.black or made.white or match.to_act == (go.WHITE,):
        made.first = "BW"[match.to_act[0]]
    made.info["AP"] = "Ludus"
    for name, player in zip(("PB", "PW"), about.players, strict=True):
        if player:
            made.info[name] = visible(player)[:_MOST_NAME]
    for decision in decisions:
        # A bot decides here as it did in the recording: it draws from the state of this match.
        before = match.view()
        if decision.bot < 0:
            match.act(decision.seat, *decision.action)
        else:
            match.bot(decision.seat, match.spec.bots[decision.bot].name)
        match.advance()
        after = match.view()
        if after["resigned"] >= 0:
            made.result = f"{'BW'[1 - after['resigned']]}+R"
            return made
        passed = after["passes"] > before["passes"]
        made.moves.append(("BW"[decision.seat], None if passed else _point(int(after["last"]), size)))
    if match.over:
        made.result = go.score_text(go.margin(match, _dead(match)))
    return made


def _dead(match: Match) -> list[int]:
    return go.dead_stones(match) if match.params.get("scoring") == "chinese" else []


def _point(cell: int, size: int) -> Point:
    return cell % size, cell // size

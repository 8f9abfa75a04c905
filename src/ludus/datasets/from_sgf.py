"""Matches from SGF: the games of a file, and what their headers say of result and date."""

from __future__ import annotations

import calendar
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO, NamedTuple

import msgspec

from ludus.datasets import sgf_pieces
from ludus.datasets.content import ReadMatch, check_result, player_name
from ludus.datasets.errors import BadRecord
from ludus.datasets.from_replay import GO, ReadingRules, Told, go_key, made_match, may_resign
from ludus.datasets.sgf_pieces import SgfPiece
from ludus.flow.inputs.decode import from_json
from ludus.flow.inputs.shown import shown
from ludus.games import go
from ludus.games.match import GameError, Match, ParamError
from ludus.games.records import go_match, sgf
from ludus.games.records.go_record import GoRecord, leading_number, record
from ludus.games.records.sgf import Node, SgfError

#: Property of the root in which exported records keep the rules.
OWN = "LUDUS"
WHOLE = 1 << 20  # bytes of a file that is read at once
_MAX_OWN = 1 << 16
_WINNER = re.compile(r"(B|W)[a-z]*\s*\+\s*(.*)", re.IGNORECASE | re.DOTALL)
_WHYS = {"r": "R", "t": "T", "f": "F"}
_DRAWN = ("0", "draw", "jigo", "d", "tie", "和棋", "持碁", "持棋")
_SIDES = {"黑": "B", "黒": "B", "白": "W"}
_COMPACT = re.compile(r"(?<!\d)(\d{4})(\d\d)(\d\d)(?!\d)")
_DATE = re.compile(r"(?<!\d)(\d{4})(?!\d)(?:\s?[-./年]\s?(\d{1,2})(?!\d)(?:\s?[-./月]\s?(\d{1,2})(?!\d))?)?")
_NARROW = {full: full - 0xFEE0 for full in range(0xFF01, 0xFF5F)} | {0x3000: " "}

Read = Callable[[], ReadMatch]


class OwnRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content of an exported record beyond SGF: rules and seed, and whether the last decision resigned."""

    params: dict[str, str]
    seed: int = 1
    match: int = 0
    resigned: bool = False


class SgfGames(NamedTuple):
    """Games of a stretch of a file: how to read each, and its place for messages."""

    offset: int
    first: int
    games: tuple[tuple[str, Read], ...]


def games(file: BinaryIO, rules: ReadingRules, offset: int = 0, first: int = 0) -> Iterator[SgfGames]:
    """Yield the games of a file; a large one is read in pieces.

    Args:
        file: The file, opened to be read.
        rules: What records must be.
        offset: Where to start, as an earlier call has given it.
        first: Records before that.
    """
    if not offset and os.fstat(file.fileno()).st_size <= WHOLE:
        whole = _whole(file.read(WHOLE + 1), rules)
        if whole is not None:
            yield whole
            return
        file.seek(0)
    several = False
    for piece in sgf_pieces.pieces(file, offset, first):
        several = True
        yield SgfGames(
            piece.offset, piece.first, ((f", game {piece.first + 1}", partial(_read_piece, piece, rules)),)
        )
    if not several and not offset:
        yield SgfGames(0, 0, (("", partial(_read_piece, SgfPiece(b"", 0, 0), rules)),))


def _whole(data: bytes, rules: ReadingRules) -> SgfGames | None:
    """Read a whole file; None if it must be read game by game."""
    try:
        found = sgf.read(data)
    except SgfError:
        return None
    if any("not read" in note for note in found.notes):
        return None
    one = len(found.roots) == 1
    made = tuple(
        ("" if one else f", game {number}", partial(read_game, root, rules))
        for number, root in enumerate(found.roots, 1)
    )
    return SgfGames(0, 0, made)


def _read_piece(piece: SgfPiece, rules: ReadingRules) -> ReadMatch:
    if piece.data is None:
        raise BadRecord("too large", f"a game of more than {sgf_pieces.MAX_GAME:,} bytes, or without its end")
    try:
        found = sgf.read(piece.data)
    except SgfError as error:
        raise BadRecord("not readable", _local(error, piece)) from error
    root = found.roots[0]
    if piece.loose and not {"GM", "SZ", "FF"} & set(root.properties):
        raise BadRecord("not readable", "moves outside of any game")
    if len(found.roots) > 1 or any("not read" in note for note in found.notes):
        raise BadRecord("not readable", next(iter(found.notes), "several games without their brackets"))
    return read_game(root, rules)


def _local(error: SgfError, piece: SgfPiece) -> str:
    """Return the message of a piece, whose lines count from its own start."""
    return f"{error} (counted from byte {piece.offset:,} of the file)" if piece.offset else str(error)


def read_game(root: Node, rules: ReadingRules) -> ReadMatch:
    """Return the match of a game. Raises :class:`BadRecord`."""
    try:
        made = record(root)
    except SgfError as error:
        raise BadRecord(_reason(str(error)), str(error)) from error
    if rules.game not in ("", GO):
        raise BadRecord("another game", f"a record of Go, expected {shown(rules.game)}")
    told = _told(made)
    if OWN in root.properties:
        return _exact(made, root.first(OWN), rules, told)
    try:
        converted = go_match.replay_of(made, rules.params)
    except SgfError as error:
        raise BadRecord(_reason(str(error)), str(error)) from error
    shortened = ""
    if converted.moves < len(made.moves):
        shortened = next((n for n in converted.notes if "left out" in n), "its end is left out")
        if not rules.allow_partial:
            raise BadRecord(_why_cut(shortened), shortened)
    return made_match(converted.replay, told, go_key(converted.match), shortened)


def _reason(text: str) -> str:
    if "a game of Go" in text:
        return "another game"
    if "square board" in text:
        return "another size"
    return "illegal move" if "expected a point" in text else "not readable"


def _why_cut(note: str) -> str:
    if "set up after" in note:
        return "stones set up in the middle"
    return "moves behind the end" if "over before it" in note or "out of turn" in note else "illegal move"


def _exact(made: GoRecord, text: str, rules: ReadingRules, told: Told) -> ReadMatch:
    """Return the match of a record that an export has written, under the rules that it names."""
    try:
        if len(text) > _MAX_OWN:
            raise BadRecord("not readable", f"{OWN}: more than {_MAX_OWN:,} characters")
        own = from_json(text, OwnRules)
        params = go_match.without_defaults({**own.params, **rules.params})
        match = Match(GO, params, seed=own.seed, match=own.match, record=True)
    except (msgspec.DecodeError, ParamError, TypeError, OverflowError) as error:
        raise BadRecord("not readable", f"{OWN}[{shown(text)}]: {error}") from error
    _check_board(made, match)
    for number, (colour, point) in enumerate(made.moves, 1):
        where = made.size**2 if point is None else point[1] * made.size + point[0]
        what = f"move {number}, {colour} {go.vertex(where, made.size)}"
        if match.to_act != ("BW".index(colour),):
            raise BadRecord(
                "illegal move", f"{what}: {'the match was over' if match.over else 'out of turn'}"
            )
        if number - 1 in made.setups and number > 1:
            raise BadRecord("stones set up in the middle", f"{what}: the board is changed before it")
        try:
            match.play(where)
        except GameError as error:
            raise BadRecord("illegal move", f"{what}: {error}") from error
    try:
        if own.resigned and may_resign(match.params):
            match.play(made.size**2 + 1)
    except (GameError, ValueError) as error:
        raise BadRecord("illegal move", f"the last move, which resigns: {error}") from error
    names = [player_name(made.info.get(name, "")) for name in ("PB", "PW")]
    return made_match(match.replay(names), told, go_key(match))


def _check_board(made: GoRecord, match: Match) -> None:
    view = match.view()
    size = int(view["width"])
    cells = [-1] * (size * size)
    for colour, points in ((go.BLACK, made.black), (go.WHITE, made.white)):
        for x, y in points:
            if made.size == size:
                cells[y * size + x] = colour
    there = [c if c in (go.BLACK, go.WHITE) else -1 for c in view["cells"]]
    if size != made.size or cells != there:
        raise BadRecord("not readable", f"{OWN} names another board than the record's stones")
    if made.komi is not None and made.komi != float(view["komi"]):
        raise BadRecord("not readable", f"{OWN} names komi {view['komi']:g}, KM is {made.komi:g}")


def _told(made: GoRecord) -> Told:
    result = result_of(made.result)
    outcome = {"B": (1.0, -1.0), "W": (-1.0, 1.0), "0": (0.0, 0.0)}.get(result[:1])
    return Told(outcome, result, date_of(made.info.get("DT", "")))


def result_of(text: str) -> str:
    """Return a result as SGF has it: ``B+R``, ``W+3.5``, ``B+``, ``0``, ``Void``; empty if it is unknown."""
    text = text.translate(_NARROW).strip()
    found = _WINNER.match(text)
    if found:
        winner, rest = found[1].upper(), found[2].strip()
        why = _WHYS.get(rest[:1].lower(), "")
        number = leading_number(rest) if rest[:1].isdigit() else None
        if number is not None and number.value > 0:
            why = f"{number.value:.2f}".rstrip("0").rstrip(".")
        made = f"{winner}+{why}"
        return made if check_result(made) else f"{winner}+"
    if text.lower() in _DRAWN:
        return "0"
    if text.lower() == "void":
        return "Void"
    if text[:1] in _SIDES and any(word in text for word in "胜勝中"):
        return f"{_SIDES[text[0]]}+{'R' if '中' in text else ''}"
    return ""


def date_of(text: str) -> int:
    """Return the first date of ``DT`` as yyyymmdd, with 00 for what it does not say; 0 without one."""
    text = text[:200].translate(_NARROW)
    found = _DATE.search(text) or _COMPACT.search(text)
    if found is None:
        return 0
    year, month, day = int(found[1]), int(found[2] or 0), int(found[3] or 0)
    if not year:
        return 0
    if not 1 <= month <= 12:
        return year * 10_000
    if not 1 <= day <= calendar.monthrange(year, month)[1]:
        day = 0
    return year * 10_000 + month * 100 + day

"""Commands of GTP 2 and common extensions: functions of the match and the arguments of a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard

from ludus.flow.inputs.whole import whole_text
from ludus.games import go
from ludus.games.go import BLACK
from ludus.games.records import go_record, go_record_text, sgf
from ludus.gtp import record_files, rules
from ludus.gtp.analysis import raw_lines
from ludus.gtp.played_match import PlayedMatch
from ludus.gtp.players import RESIGN, GoPlayer, PositionReader
from ludus.gtp.protocol import GtpError
from ludus.gtp.words import colour, integer, need, number
from ludus.version import __version__

Handler = Callable[[PlayedMatch, Sequence[str]], str]

STATUS = ("alive", "dead", "seki")


def vertex(engine: PlayedMatch, text: str) -> int:
    """Return the point that ``text`` names on the engine's board. Raise ``GtpError``."""
    point = go.point_of(text, engine.session.size)
    if point is None:
        raise GtpError("syntax error: expected a vertex such as D4, or pass")
    return point


def _known_command(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 1, "known_command NAME")
    return "true" if arguments[0] in COMMANDS or arguments[0] in STREAMS else "false"


def _quit(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    engine.done = True
    return ""


def _boardsize(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 1, "boardsize SIZE")
    size = integer(arguments[0], -(10**9), 10**9, "a size")
    fixed = engine.player.needs.get("size")
    smallest, largest = go_record.MIN_SIZE, go_record.MAX_SIZE
    if not smallest <= size <= largest or (fixed is not None and size != whole_text(fixed)):
        raise GtpError("unacceptable size")
    with engine.prepared():
        engine.session.resize(size)
        engine.forget_players()
    return ""


def _clear_board(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    with engine.prepared():
        engine.session.clear()
        engine.forget_players()
    engine.clock.left = {}
    return ""


def _komi(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 1, "komi POINTS")
    with engine.prepared():
        engine.session.set_komi(number(arguments[0], "points"))
    return ""


def _play(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 2, "play COLOUR VERTEX")
    engine.session.play(colour(arguments[0]), vertex(engine, arguments[1]))
    return ""


def _genmove(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 1, "genmove COLOUR")
    move = engine.choose(colour(arguments[0]), keep=True)
    return "resign" if move == RESIGN else go.vertex(move, engine.session.size)


def _reg_genmove(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 1, "reg_genmove COLOUR")
    move = engine.choose(colour(arguments[0]), keep=False)
    return "resign" if move == RESIGN else go.vertex(move, engine.session.size)


def _undo(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    engine.undo()
    return ""


def _empty_board(engine: PlayedMatch) -> None:
    session = engine.session
    if session.moves or session.black or session.white:
        raise GtpError("board not empty")


def _fixed_handicap(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 1, "fixed_handicap STONES")
    stones = integer(arguments[0], 2, 9, "stones")
    return _handicap(engine, stones)


def _place_free_handicap(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 1, "place_free_handicap STONES")
    # Fewer than asked for may be placed (GTP 2, 4.1.2): those on star points.
    return _handicap(
        engine, min(integer(arguments[0], 2, 10**6, "stones"), go.most_handicap(engine.session.size))
    )


def _handicap(engine: PlayedMatch, stones: int) -> str:
    _empty_board(engine)
    size = engine.session.size
    if stones < 2 or stones > go.most_handicap(size):
        raise GtpError("invalid number of stones")
    points = go.star_points(size, stones)
    engine.session.place_handicap(points)
    return " ".join(go.vertex(p, size) for p in points)


def _set_free_handicap(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    _empty_board(engine)
    need(arguments, 2, "set_free_handicap VERTEX VERTEX ...")
    points = [vertex(engine, word) for word in arguments]
    size = engine.session.size
    if size**2 in points or len(set(points)) != len(points) or len(points) >= size**2:
        raise GtpError("bad vertex list")
    engine.session.place_handicap(points)
    return ""


def _time_settings(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 3, "time_settings MAIN PERIOD STONES")
    main, period = (integer(a, 0, 10**8, "seconds") for a in arguments[:2])
    engine.clock.settings(main, period, integer(arguments[2], 0, 10**6, "stones"))
    return ""


def _time_left(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 3, "time_left COLOUR SECONDS STONES")
    seconds = integer(arguments[1], -(10**8), 10**8, "seconds")
    stones = integer(arguments[2], 0, 10**6, "stones")
    engine.clock.left[colour(arguments[0])] = (float(max(seconds, 0)), stones)
    engine.clock.unlimited = False
    return ""


def _final_score(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    return go.score_text(engine.session.score())


def _final_status_list(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 1, "final_status_list STATUS")
    status = arguments[0].lower()
    if status not in STATUS:
        raise GtpError("syntax error: expected alive, dead or seki")
    if status == "seki":  # counted by area, stones in seki are alive
        return ""
    session = engine.session
    cells = session.match.view()["cells"]
    dead = set(session.dead())
    wanted = {p for p, c in enumerate(cells) if c >= 0 and (p in dead) == (status == "dead")}
    lines = []
    while wanted:  # one line per chain
        chain = _chain(cells, min(wanted), session.size) & wanted
        wanted -= chain
        lines.append(" ".join(go.vertex(p, session.size) for p in sorted(chain)))
    return "\n".join(lines)


def _chain(cells: Sequence[int], start: int, size: int) -> set[int]:
    found, todo = {start}, [start]
    while todo:
        p = todo.pop()
        beside = [
            p - size,
            p + size,
            *([p - 1] if p % size else []),
            *([p + 1] if p % size < size - 1 else []),
        ]
        for q in beside:
            if 0 <= q < size * size and cells[q] == cells[start] and q not in found:
                found.add(q)
                todo.append(q)
    return found


def _loadsgf(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 1, "loadsgf FILE [MOVE]")
    made = record_files.load(arguments[0])
    fixed = engine.player.needs.get("size")
    if fixed is not None and made.size != whole_text(fixed):
        raise GtpError(f"cannot load file: a board of {made.size} lines, and this player plays on {fixed}")
    with engine.prepared():
        notes = engine.session.load(made)
        engine.forget_players()
    for note in notes:
        engine.log(f"loadsgf: {note}")
    return "black" if engine.session.to_move == BLACK else "white"


def _printsgf(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    text = sgf.write(go_record_text.tree(engine.session.record(), engine.facts())).rstrip()
    if not arguments or arguments[0] == "-":
        return text
    record_files.save(arguments[0], f"{text}\n")
    return ""


def _get_rules(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    return rules.to_json(engine.session.base)


def _set_rules(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 1, "kata-set-rules RULES")
    with engine.prepared():
        engine.session.set_rules(rules.from_text(" ".join(arguments), engine.session.base))
    return ""


def _raw_nn(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 1, "kata-raw-nn SYMMETRY")
    player, session = engine.player, engine.session
    if not _is_reader(player):
        raise GtpError(f"{player.name} has no network")
    every = arguments[0].lower() == "all"
    symmetries = range(8) if every else [integer(arguments[0], 0, 7, "a symmetry (or all)")]
    match = session.turn_of(session.to_move)
    try:
        read = [(k, player.read(match, k)) for k in symmetries]
    except ValueError as error:
        raise GtpError(str(error)) from None
    return "\n".join(raw_lines(raw, k, session.to_move, session.size) for k, raw in read)


def _showboard(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    session = engine.session
    view = session.match.view()
    size, cells, last = session.size, view["cells"], view["last"]
    columns = "   " + " ".join(go.COLUMNS[:size])
    lines = [columns]
    for y in range(size):
        row = "".join(
            f"{'(' if y * size + x == last else ')' if x and y * size + x - 1 == last else ' '}"
            f"{'.XO'[cells[y * size + x] + 1]}"
            for x in range(size)
        )
        lines.append(f"{size - y:2}{row}{')' if y * size + size - 1 == last else ' '}{size - y}")
    black, white = view["captured"]
    turn = "black" if session.to_move == BLACK else "white"
    lines += [columns, f"{turn} to move, komi {session.komi:g}, captured by black {black}, by white {white}"]
    return "\n".join(lines)


def _is_legal(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 2, "is_legal COLOUR VERTEX")
    return str(int(go.is_legal(engine.session.match, colour(arguments[0]), vertex(engine, arguments[1]))))


def _all_legal(engine: PlayedMatch, arguments: Sequence[str]) -> str:
    need(arguments, 1, "all_legal COLOUR")
    session = engine.session
    seat = colour(arguments[0])
    legal = [p for p in range(session.size**2) if go.is_legal(session.match, seat, p)]
    return " ".join(go.vertex(p, session.size) for p in legal)


def _is_reader(player: GoPlayer) -> TypeGuard[PositionReader]:
    return getattr(player, "read", None) is not None


COMMANDS: Mapping[str, Handler] = {
    "protocol_version": lambda engine, arguments: "2",
    "name": lambda engine, arguments: "Ludus",
    "version": lambda engine, arguments: f"{__version__} ({engine.player.name})",
    "known_command": _known_command,
    "list_commands": lambda engine, arguments: "\n".join(sorted([*COMMANDS, *STREAMS])),
    "quit": _quit,
    "boardsize": _boardsize,
    "query_boardsize": lambda engine, arguments: str(engine.session.size),
    "clear_board": _clear_board,
    "komi": _komi,
    "get_komi": lambda engine, arguments: f"{engine.session.komi:g}",
    "play": _play,
    "genmove": _genmove,
    "reg_genmove": _reg_genmove,
    "undo": _undo,
    "fixed_handicap": _fixed_handicap,
    "place_free_handicap": _place_free_handicap,
    "set_free_handicap": _set_free_handicap,
    "time_settings": _time_settings,
    "time_left": _time_left,
    "final_score": _final_score,
    "final_status_list": _final_status_list,
    "loadsgf": _loadsgf,
    "printsgf": _printsgf,
    "showboard": _showboard,
    "kata-get-rules": _get_rules,
    "kata-set-rules": _set_rules,
    "kata-raw-nn": _raw_nn,
    "is_legal": _is_legal,
    "all_legal": _all_legal,
}
#: Commands whose argument is a path, which may hold spaces: the whole line.
WITH_PATH = frozenset({"loadsgf", "printsgf"})
GENMOVES = frozenset({"lz-genmove_analyze", "kata-genmove_analyze"})
STREAMS: tuple[str, ...] = ("lz-analyze", "lz-genmove_analyze", "kata-analyze", "kata-genmove_analyze")

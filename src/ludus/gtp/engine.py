"""GTP engine: the commands of GTP 2, and common extensions.

One line in, one answer out: :meth:`Engine.handle`. Every line gets a valid answer of the protocol, and the
engine continues. Diagnostics go to ``log``, never into answers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeGuard

from ludus.flow.names import did_you_mean, nearest
from ludus.games import go, go_record, sgf
from ludus.games.go import BLACK, WHITE
from ludus.games.match import Match
from ludus.gtp import record_files, rules
from ludus.gtp.analysis import Options, kata_line, leela_line, raw_lines, read_options
from ludus.gtp.clock import Clock
from ludus.gtp.players import (
    RESIGN,
    Analyst,
    Candidate,
    Choice,
    Expectation,
    Player,
    Reader,
    Report,
)
from ludus.gtp.protocol import GtpError, answer, read_command
from ludus.gtp.session import MAX_MOVES, Session
from ludus.gtp.words import colour, integer, need, number
from ludus.version import __version__

Handler = Callable[["Engine", Sequence[str]], str]

#: The result of a command that answers until the next input line, instead of a string.
Stream = Iterator[str]

STATUS = ("alive", "dead", "seki")

#: Exceptions that a bug in a player or a command may raise.
FAULTS = (ArithmeticError, LookupError, TypeError, ValueError, RuntimeError)


class Engine:
    """A player and the match of a controller."""

    def __init__(
        self,
        player: Player,
        params: Mapping[str, str] | None = None,
        *,
        seed: int = 1,
        resign: float = 0.0,
        log: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Set up an empty board.

        Args:
            player: The player that chooses the moves.
            params: Parameters of the game ``go``; those that the player needs replace them.
            seed: Seed of the match.
            resign: The engine resigns if its value falls below ``-resign``; 0 = never.
            log: Receiver of diagnostics.

        Raises:
            ValueError: The player cannot play under ``params``.
        """
        self.player, self.resign, self.log = player, resign, log
        self.session = Session({**(params or {}), **player.needs}, seed)
        self.clock = Clock()
        self.done = False
        self._chosen = 0  # moves of the match after the player's last one
        self._own: set[int] = set()  # seats that the player has moved for
        self._resigned: int | None = None  # the seat that resigned
        player.prepare(self.session.base)

    # --- the loop ------------------------------------------------------------

    def handle(self, line: str) -> str:
        """Return the whole answer to a line; empty for a line without a command.

        A command that streams (``lz-analyze``) gives its first report only; see :meth:`stream`.
        """
        text = ""
        for part in self.stream(line):
            text += part
            if part.startswith("info ") and not GENMOVES.intersection(line.split()):
                return text + "\n"
        return text

    def stream(self, line: str) -> Iterator[str]:
        """Yield the answer in parts. To end a streaming command, stop iterating, then write an empty line."""
        command = read_command(line)
        if command is None:
            return
        try:
            handler = COMMANDS.get(command.name)
            if handler is not None:
                whole = (command.rest,) if command.name in WITH_PATH and command.rest else command.arguments
                yield answer(command.number, handler(self, whole))
            elif command.name in STREAMS:
                yield from self._analysis(command.number, command.name, command.arguments)
            else:
                valid = [*COMMANDS, *STREAMS]
                near = did_you_mean(command.name, valid) if nearest(command.name, valid) else ""
                yield answer(command.number, f"unknown command{near}", failed=True)
        except GtpError as error:
            yield answer(command.number, str(error), failed=True)
        except FAULTS as error:
            # An internal error costs this answer, not the match; the log has the exception.
            self.log(f"internal error in {command.name}: {error!r}")
            yield answer(command.number, f"internal error: {type(error).__name__}", failed=True)

    # --- the record ------------------------------------------------------------

    def forget_players(self) -> None:
        """Reset the moves of the player and the resignation for a new match."""
        self._chosen, self._own, self._resigned = 0, set(), None

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Prepare the player for the match after the body. On ``GtpError`` every change is undone."""
        player, before = self.player, (self._chosen, self._own, self._resigned)
        try:
            with self.session.restored():
                yield
                try:
                    player.prepare(self.session.base)
                except ValueError as error:
                    raise GtpError(str(error)) from None
        except GtpError:
            self._chosen, self._own, self._resigned = before
            player.prepare(self.session.base)
            raise

    def undo(self) -> None:
        """Undo a resignation, else the last move."""
        if self._resigned is not None:
            self._resigned = None
            return
        self.session.undo()

    def facts(self) -> dict[str, str]:
        """Return properties of the root of an SGF record: rules, players, the result of an ended match."""
        session, info = self.session, self.session.loaded.info
        own = f"Ludus {self.player.name}"
        facts = {"AP": f"ludus:{__version__}", "RU": rules.name_of(session.base)}
        for seat, name in ((BLACK, "PB"), (WHITE, "PW")):
            facts[name] = own if seat in self._own else info.get(name) or "Opponent"
        if session.unchanged and "RU" in info:
            facts["RU"] = info["RU"]
        if self._resigned is not None:
            facts["RE"] = "W+R" if self._resigned == BLACK else "B+R"
        elif session.match.over and not (session.unchanged and session.loaded.result):
            facts["RE"] = go.score_text(session.score())
        return facts

    # --- choosing moves ------------------------------------------------------------

    def choose(self, seat: int, *, keep: bool) -> int:
        """Return the player's move for a seat, and play it if ``keep``."""
        session = self.session
        self._check_length()
        match = session.turn_of(seat)
        started = time.monotonic()
        choice = self.player.choose(match, self.clock.seconds(seat, session.size**2, len(session.moves)))
        return self._settle(seat, match, choice, time.monotonic() - started, keep=keep)

    def _check_length(self) -> None:
        if self.session.is_full:
            raise GtpError(f"the match has reached {MAX_MOVES} moves")

    def _settle(self, seat: int, match: Match, choice: Choice, took: float, *, keep: bool) -> int:
        """Handle a choice that took ``took`` seconds: return the move, played if ``keep``."""
        session = self.session
        self.clock.spent(seat, took)
        move = choice.move
        if move != RESIGN and not go.is_legal(session.match, seat, move):
            self.log(f"{self.player.name} chose an illegal move ({move}); passing instead")
            move, match = session.size**2, session.turn_of(seat)
        if choice.value is not None and self.resign > 0 and choice.value < -self.resign:
            move = RESIGN
        self._log_choice(move, took, choice.value, choice.candidates)
        if keep:
            self._own.add(seat)
            self._resigned = seat if move == RESIGN else None
        if keep and move != RESIGN:
            session.play(seat, move, match if match.tick > session.match.tick else None)
            self._chosen = len(session.moves)
        return move

    def ponder(self, seconds: float = 0.05) -> Iterator[None]:
        """Ponder: search the position after the player's move, ``seconds`` per step.

        The search keeps the subtree of the opponent's answer. It ends if the player cannot ponder or the
        search is complete.
        """
        session, player = self.session, self.player
        if self._chosen == 0 or self._chosen != len(session.moves) or session.match.over:
            return
        if not _is_analyst(player):
            return
        try:
            visits = -1
            for report in player.analyse(session.turn_of(session.to_move), seconds):
                before, visits = visits, report.visits
                if visits == before:
                    return
                yield
        except FAULTS as error:
            self.log(f"internal error while pondering: {error!r}")

    def _log_choice(
        self, move: int, took: float, value: float | None, candidates: Sequence[Candidate]
    ) -> None:
        size = self.session.size
        text = "resign" if move == RESIGN else go.vertex(move, size)
        if value is not None:
            text += f"  value {value:+.3f}"
        if candidates:
            best = candidates[0]
            text += f"  visits {sum(c.visits for c in candidates)}  line "
            text += " ".join(go.vertex(m, size) for m in best.line[:8])
        self.log(f"{self.player.name}: {text}  {took:.2f} s")

    def _analysis(self, number: str, name: str, arguments: Sequence[str]) -> Iterator[str]:
        session = self.session
        options = read_options(arguments, session.to_move, session.size)
        player = self.player
        if not _is_analyst(player):
            raise GtpError(f"{player.name} cannot analyse")
        match = session.turn_of(options.seat)
        kata = name.startswith("kata")
        if "genmove" in name:
            yield f"={number}\n"
            yield from self._reported_move(player, match, options, kata)
            return
        reports = player.analyse(match, options.pace, options.restrictions)
        yield f"={number}\n"
        for report in reports:
            yield self._line(player, match, report, options, kata)

    def _reported_move(self, player: Analyst, match: Match, options: Options, kata: bool) -> Iterator[str]:
        """Yield reports until a move is chosen (interval 0: only the last), then the move."""
        session, seat = self.session, options.seat
        self._check_length()
        limit = self.clock.seconds(seat, session.size**2, len(session.moves))
        started = time.monotonic()
        interval = options.pace if options.interval > 0 else math.inf
        for report in player.deliberate(match, limit, interval, options.restrictions):
            yield self._line(player, match, report, options, kata)
        move = self._settle(seat, match, player.decide(match), time.monotonic() - started, keep=True)
        yield f"play {'resign' if move == RESIGN else go.vertex(move, session.size)}\n\n"

    def _line(self, player: Analyst, match: Match, report: Report, options: Options, kata: bool) -> str:
        if not kata:
            return leela_line(report, options, self.session.size)

        def after(moves: Sequence[int]) -> Sequence[Expectation]:
            played = [match.clone() for _ in moves]
            for one, move in zip(played, moves, strict=True):
                one.play(move)
            return player.expect(played)

        (root,) = player.expect([match])
        return kata_line(report, options, self.session.size, root, after)


def _is_analyst(player: Player) -> TypeGuard[Analyst]:
    return hasattr(player, "analyse")


def _is_reader(player: Player) -> TypeGuard[Reader]:
    return getattr(player, "read", None) is not None


# --- arguments ------------------------------------------------------------


def vertex(engine: Engine, text: str) -> int:
    """Return the point that ``text`` names on the engine's board. Raise ``GtpError``."""
    point = go.point_of(text, engine.session.size)
    if point is None:
        raise GtpError("syntax error: expected a vertex such as D4, or pass")
    return point


# --- commands ------------------------------------------------------------


def _known_command(engine: Engine, arguments: Sequence[str]) -> str:
    need(arguments, 1, "known_command NAME")
    return "true" if arguments[0] in COMMANDS or arguments[0] in STREAMS else "false"


def _quit(engine: Engine, arguments: Sequence[str]) -> str:
    engine.done = True
    return ""


def _boardsize(engine: Engine, arguments: Sequence[str]) -> str:
    need(arguments, 1, "boardsize SIZE")
    size = integer(arguments[0], -(10**9), 10**9, "a size")
    fixed = engine.player.needs.get("size")
    smallest, largest = go_record.MIN_SIZE, go_record.MAX_SIZE
    if not smallest <= size <= largest or (fixed is not None and size != int(fixed)):
        raise GtpError("unacceptable size")
    with engine.prepared():
        engine.session.resize(size)
        engine.forget_players()
    return ""


def _clear_board(engine: Engine, arguments: Sequence[str]) -> str:
    with engine.prepared():
        engine.session.clear()
        engine.forget_players()
    engine.clock.left = {}
    return ""


def _komi(engine: Engine, arguments: Sequence[str]) -> str:
    need(arguments, 1, "komi POINTS")
    with engine.prepared():
        engine.session.set_komi(number(arguments[0], "points"))
    return ""


def _play(engine: Engine, arguments: Sequence[str]) -> str:
    need(arguments, 2, "play COLOUR VERTEX")
    engine.session.play(colour(arguments[0]), vertex(engine, arguments[1]))
    return ""


def _genmove(engine: Engine, arguments: Sequence[str]) -> str:
    need(arguments, 1, "genmove COLOUR")
    move = engine.choose(colour(arguments[0]), keep=True)
    return "resign" if move == RESIGN else go.vertex(move, engine.session.size)


def _reg_genmove(engine: Engine, arguments: Sequence[str]) -> str:
    need(arguments, 1, "reg_genmove COLOUR")
    move = engine.choose(colour(arguments[0]), keep=False)
    return "resign" if move == RESIGN else go.vertex(move, engine.session.size)


def _undo(engine: Engine, arguments: Sequence[str]) -> str:
    engine.undo()
    return ""


def _empty_board(engine: Engine) -> None:
    session = engine.session
    if session.moves or session.black or session.white:
        raise GtpError("board not empty")


def _fixed_handicap(engine: Engine, arguments: Sequence[str]) -> str:
    need(arguments, 1, "fixed_handicap STONES")
    stones = integer(arguments[0], 2, 9, "stones")
    return _handicap(engine, stones)


def _place_free_handicap(engine: Engine, arguments: Sequence[str]) -> str:
    need(arguments, 1, "place_free_handicap STONES")
    # Fewer than asked for may be placed (GTP 2, 4.1.2): those on star points.
    return _handicap(
        engine, min(integer(arguments[0], 2, 10**6, "stones"), go.most_handicap(engine.session.size))
    )


def _handicap(engine: Engine, stones: int) -> str:
    _empty_board(engine)
    size = engine.session.size
    if stones < 2 or stones > go.most_handicap(size):
        raise GtpError("invalid number of stones")
    points = go.star_points(size, stones)
    engine.session.setup(points, first="white")
    return " ".join(go.vertex(p, size) for p in points)


def _set_free_handicap(engine: Engine, arguments: Sequence[str]) -> str:
    _empty_board(engine)
    need(arguments, 2, "set_free_handicap VERTEX VERTEX ...")
    points = [vertex(engine, word) for word in arguments]
    size = engine.session.size
    if size**2 in points or len(set(points)) != len(points) or len(points) >= size**2:
        raise GtpError("bad vertex list")
    engine.session.setup(points, first="white")
    return ""


def _time_settings(engine: Engine, arguments: Sequence[str]) -> str:
    need(arguments, 3, "time_settings MAIN PERIOD STONES")
    main, period = (integer(a, 0, 10**8, "seconds") for a in arguments[:2])
    engine.clock.settings(main, period, integer(arguments[2], 0, 10**6, "stones"))
    return ""


def _time_left(engine: Engine, arguments: Sequence[str]) -> str:
    need(arguments, 3, "time_left COLOUR SECONDS STONES")
    seconds = integer(arguments[1], -(10**8), 10**8, "seconds")
    stones = integer(arguments[2], 0, 10**6, "stones")
    engine.clock.left[colour(arguments[0])] = (float(max(seconds, 0)), stones)
    engine.clock.unlimited = False
    return ""


def _final_score(engine: Engine, arguments: Sequence[str]) -> str:
    return go.score_text(engine.session.score())


def _final_status_list(engine: Engine, arguments: Sequence[str]) -> str:
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


def _loadsgf(engine: Engine, arguments: Sequence[str]) -> str:
    need(arguments, 1, "loadsgf FILE [MOVE]")
    made = record_files.load(arguments[0])
    fixed = engine.player.needs.get("size")
    if fixed is not None and made.size != int(fixed):
        raise GtpError(f"cannot load file: a board of {made.size} lines, and this player plays on {fixed}")
    with engine.prepared():
        notes = engine.session.load(made)
        engine.forget_players()
    for note in notes:
        engine.log(f"loadsgf: {note}")
    return "black" if engine.session.to_move == BLACK else "white"


def _printsgf(engine: Engine, arguments: Sequence[str]) -> str:
    text = sgf.write(go_record.tree(engine.session.record(), engine.facts())).rstrip()
    if not arguments or arguments[0] == "-":
        return text
    record_files.save(arguments[0], f"{text}\n")
    return ""


def _get_rules(engine: Engine, arguments: Sequence[str]) -> str:
    return rules.to_json(engine.session.base)


def _set_rules(engine: Engine, arguments: Sequence[str]) -> str:
    need(arguments, 1, "kata-set-rules RULES")
    with engine.prepared():
        engine.session.set_rules(rules.from_text(" ".join(arguments), engine.session.base))
    return ""


def _raw_nn(engine: Engine, arguments: Sequence[str]) -> str:
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


def _showboard(engine: Engine, arguments: Sequence[str]) -> str:
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


def _is_legal(engine: Engine, arguments: Sequence[str]) -> str:
    need(arguments, 2, "is_legal COLOUR VERTEX")
    return str(int(go.is_legal(engine.session.match, colour(arguments[0]), vertex(engine, arguments[1]))))


def _all_legal(engine: Engine, arguments: Sequence[str]) -> str:
    need(arguments, 1, "all_legal COLOUR")
    session = engine.session
    seat = colour(arguments[0])
    legal = [p for p in range(session.size**2) if go.is_legal(session.match, seat, p)]
    return " ".join(go.vertex(p, session.size) for p in legal)


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

__all__ = ["COMMANDS", "STREAMS", "Engine"]

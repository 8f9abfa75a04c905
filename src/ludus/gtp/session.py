"""Match of a GTP controller: set up, play, undo, records."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ludus.flow.inputs.shown import visible
from ludus.flow.inputs.whole import whole_text
from ludus.games import go
from ludus.games.match import GameError, Match, ParamError
from ludus.games.records.go_record import GoRecord, Point, Setup
from ludus.gtp import rules
from ludus.gtp.protocol import GtpError

#: Controllers end matches themselves: this only bounds memory.
PLAYOUTS = 128  # random continuations for stones whose life the rules do not determine
DEFAULTS = {
    "size": "19",
    "komi": "7.5",
    "scoring": "chinese",
    "ko": "positional",
    "suicide": "forbidden",
}
COLOURS = {"B": "black", "W": "white"}


class GtpSession:
    """Match of a controller. Moves may come in any order of colours and after both have passed, as in GTP."""

    def __init__(self, params: Mapping[str, str], seed: int) -> None:
        """Start a match.

        Args:
            params: Parameters of the game ``go``.
            seed: Seed of the match, for bots with random choices.
        """
        self.base = {**DEFAULTS, **params, "max_moves": str(go.MOST_MOVES)}
        self.seed = seed
        self.moves: list[tuple[int, int]] = []  # seat, point
        self.black: list[int] = []  # stones before the first move
        self.white: list[int] = []
        self.first = ""
        self.handicap = 0  # stones that the controller has placed as a handicap
        self.setups: dict[int, Setup] = {}  # changes of the board after so many moves
        self.loaded = GoRecord()  # its headers stay with the match
        self.own_rules: dict[str, str] = {}  # the controller's, while a record needs others
        self.unchanged = False  # the match is the record's, with nothing played or taken back
        self._before: list[Match] = []  # the match before each move
        self._dead: tuple[int, list[int]] | None = None  # of the match with this hash
        self.match = Match("go", self._params(), seed=seed)

    @property
    def size(self) -> int:
        """Lines of the board."""
        return whole_text(self.base["size"]) or 0

    @property
    def komi(self) -> float:
        """Points for White."""
        return float(self.base["komi"])

    @property
    def to_move(self) -> int:
        """The seat to move, also after two passes."""
        if self.match.to_act:
            return self.match.to_act[0]
        return 1 - self.moves[-1][0] if self.moves else go.BLACK

    @property
    def is_full(self) -> bool:
        """Whether the match has the maximum number of moves."""
        return len(self.moves) >= go.MOST_MOVES

    def _params(self) -> dict[str, str]:
        return self._with_stones(self.black, self.white, self.first)

    def _with_stones(self, black: Sequence[int], white: Sequence[int], first: str) -> dict[str, str]:
        out = dict(self.base)
        if black or white:
            names = [
                " ".join([colour, *(go.vertex(p, self.size).lower() for p in points)])
                for colour, points in (("black", black), ("white", white))
                if points
            ]
            out["setup"] = " ".join(names)
        if first:
            out["first"] = first
        return out

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Undo every change if the body raises ``GtpError`` or ``ParamError``."""
        before = {
            name: copy.copy(value) if isinstance(value, dict | list) else value
            for name, value in vars(self).items()
        }
        try:
            yield
        except (GtpError, ParamError):
            vars(self).update(before)
            raise

    def _start(self) -> None:
        self.match = Match("go", self._params(), seed=self.seed)
        self.moves, self._before, self.setups = [], [], {}

    def clear(self) -> None:
        """Set up an empty board of the same size and komi, under the rules of the controller."""
        self.base |= self.own_rules
        self.own_rules = {}
        self.black, self.white, self.first, self.handicap = [], [], "", 0
        self.loaded, self.unchanged = GoRecord(), False
        self._start()

    def resize(self, size: int) -> None:
        """Set up an empty board of ``size`` lines."""
        self.base["size"] = str(size)
        self.clear()

    def set_komi(self, komi: float) -> None:
        """Continue the match under another komi. Raise :class:`GtpError` unless it is a multiple of 0.5."""
        text = f"{komi:g}" if abs(komi) < 1000 else str(komi)
        try:
            self._change({"komi": text})
        except ParamError as error:
            raise GtpError(f"unacceptable komi: {error}") from None

    def set_rules(self, params: Mapping[str, str]) -> None:
        """Continue the match under other rules. Raise ``GtpError`` if they forbid a past move."""
        try:
            self._change(params)
            self.own_rules = {}
        except ParamError as error:
            raise GtpError(f"unacceptable rules: {error}") from None
        except GtpError:
            raise GtpError("unacceptable rules: they forbid a move that was played") from None

    def _change(self, params: Mapping[str, str]) -> None:
        """Replay the moves under other parameters. On an error the match stays unchanged."""
        with self.restored():
            self.base.update(params)
            self._replay(self.moves, self.setups)

    def _replay(self, moves: Sequence[tuple[int, int]], setups: Mapping[int, Setup]) -> None:
        self._start()
        for number, (seat, point) in enumerate(moves, 1):
            try:
                self.play(seat, point)
            except GtpError as error:
                move = f"move {number}, {'BW'[seat]} {go.vertex(point, self.size)}"
                raise GtpError(f"{move}: {self._why(point, error)}") from None
            if number in setups:
                self._set_up(setups[number])

    def _why(self, point: int, error: GtpError) -> str:
        if self.is_full:
            return str(error)
        if self.match.view()["cells"][point] >= 0:
            return "the point is taken"
        return f"forbidden under ko = {self.base['ko']}, suicide = {self.base['suicide']}"

    def setup(self, black: Sequence[int], white: Sequence[int] = (), first: str = "") -> None:
        """Place stones on an empty board. On ``GtpError`` the board is empty."""
        self.black, self.white, self.first, self.unchanged = list(black), list(white), first, False
        try:
            self._start()
        except ParamError as error:
            self.clear()
            raise GtpError(f"invalid stones: {error}") from None

    def place_handicap(self, black: Sequence[int]) -> None:
        """Place the stones of a handicap on an empty board; White moves first. Errors as of :meth:`setup`."""
        self.setup(black, first="white")
        self.handicap = len(self.black)

    def _set_up(self, change: Setup) -> None:
        """Change the board in the middle of a match: the match restarts from the stones on the board."""
        seat = self.to_move if not change.first else "BW".index(change.first)
        if change.stones:
            cells = self.match.view()["cells"]
            for points, cell in ((change.black, go.BLACK), (change.white, go.WHITE), (change.empty, -1)):
                for place in points:
                    cells[self.point_of(place)] = cell
            black, white = ([p for p, c in enumerate(cells) if c == of] for of in (go.BLACK, go.WHITE))
            first = ("black", "white")[seat]
            try:
                self.match = Match("go", self._with_stones(black, white, first), seed=self.seed)
            except ParamError as error:
                raise GtpError(f"after move {len(self.moves)}: invalid stones: {error}") from None
        else:
            self.match = self.turn_of(seat)
        self.setups[len(self.moves)] = change

    def play(self, seat: int, point: int, played: Match | None = None) -> None:
        """Play a move. On an illegal move raise ``GtpError``; the match stays unchanged.

        Args:
            seat: The seat that moves.
            point: A point, or the pass.
            played: The match after the move, if the player has played it (with a bot's random numbers).
        """
        if self.is_full:
            raise GtpError(f"illegal move: the match has reached {go.MOST_MOVES} moves")
        after = played or self.turn_of(seat)
        try:
            if played is None:
                after.play(point)
        except GameError:
            raise GtpError("illegal move") from None
        self._before.append(self.match)
        self.match = after
        self.moves.append((seat, point))
        self.unchanged = False

    def undo(self) -> None:
        """Undo the last move, with the stones set up after it. Raise ``GtpError`` if there is none."""
        if not self._before:
            raise GtpError("cannot undo")
        self.setups.pop(len(self.moves), None)
        self.match = self._before.pop()
        self.moves.pop()
        self.unchanged = False

    def turn_of(self, seat: int) -> Match:
        """Return a copy of the match with ``seat`` to move."""
        match = self.match.clone()
        if match.to_act != (seat,):
            go.resume(match, seat)
        return match

    def dead(self) -> list[int]:
        """Return the points of dead stones under the scoring rule: none under Tromp-Taylor."""
        if self.base["scoring"] == "tromp_taylor":
            return []
        if self._dead is None or self._dead[0] != self.match.hash:
            self._dead = self.match.hash, go.dead_stones(self.match, PLAYOUTS)
        return self._dead[1]

    def score(self) -> float:
        """Return Black's points less White's and komi, without dead stones."""
        return go.margin(self.match, self.dead())

    # --- records ------------------------------------------------------------

    def load(self, made: GoRecord) -> list[str]:
        """Load a match from a record and return notes, one line each. On ``GtpError`` nothing changes.

        The rules stay if the moves follow them. Else the record is replayed, and this match continues, by the
        record's own rules, without superko, or by no ko rule at all.
        """
        with self.restored():
            return self._load_by_rules(made)

    def _load_by_rules(self, made: GoRecord) -> list[str]:
        self.clear()
        notes = list(made.notes)
        if made.komi is None:
            notes.append(f"komi stays {self.komi:g}")
        own = rules.of_record(made.info.get("RU", ""))
        failed = GtpError("cannot load file")
        for stones in (made, made.as_written()) if made.assumed else (made,):
            forbidden = ""
            for params in self._replay_rules(own):
                try:
                    with self.restored():
                        self._load(stones, params)
                except (GtpError, ParamError) as error:
                    failed = GtpError(f"cannot load file: {error}")
                    forbidden = forbidden or str(error)
                    continue
                if params:
                    notes += [forbidden, f"replayed, and continued, under {rules.in_words(params)}"]
                return notes + self._load_notes(stones, made, own)
        raise failed

    def _replay_rules(self, own: Mapping[str, str] | None) -> list[dict[str, str]]:
        """Return rules to replay a record by, in order of preference."""
        choices: list[dict[str, str]] = [{}]
        if own is not None:
            choices.append({key: own[key] for key in ("ko", "suicide")})
        for suicide in (self.base["suicide"], "allowed"):
            choices += [{"ko": ko, "suicide": suicide} for ko in ("simple", "none")]
        return choices

    def _load(self, made: GoRecord, params: Mapping[str, str]) -> None:
        own = {key: self.base[key] for key in params}
        self.base |= {"size": str(made.size), **params}
        if made.komi is not None:
            self.base["komi"] = f"{made.komi:g}"
        self.own_rules = own
        first = COLOURS.get(made.first or (made.moves[0][0] if made.moves else ""), "")
        self.setup([self.point_of(p) for p in made.black], [self.point_of(p) for p in made.white], first)
        moves = [
            ("BW".index(colour), self.size**2 if place is None else self.point_of(place))
            for colour, place in made.moves
        ]
        self._replay(moves, made.setups)
        self.loaded, self.unchanged = made, True

    def _load_notes(self, stones: GoRecord, made: GoRecord, own: Mapping[str, str] | None) -> list[str]:
        notes = []
        named = made.info.get("RU", "")
        if made.assumed:
            others = "placed none: the moves do not fit the fixed points"
            place = "the fixed points get them" if stones.assumed else others
            notes.append(f"HA[{made.handicap}]: no handicap stones in the file; {place}")
        if named and own is None:
            notes.append(f"RU[{visible(named[:40])}]: not known; the rules stay {rules.in_words(self.base)}")
        elif own is not None and not rules.same(own, self.base):
            notes.append(f"RU[{visible(named[:40])}]: the rules stay {rules.in_words(self.base)}")
        return notes

    def point_of(self, place: Point) -> int:
        """Return the point of a column and a row, both from 0."""
        return place[1] * self.size + place[0]

    def record(self) -> GoRecord:
        """Return the match as a record, with the headers of the file that it was loaded from."""

        def place(point: int) -> Point | None:
            return None if point == self.size**2 else (point % self.size, point // self.size)

        stones = {name: [place(p) for p in points] for name, points in (("b", self.black), ("w", self.white))}
        first = {"black": "B", "white": "W"}.get(self.first, "")
        if not self.moves and (self.black or self.white):
            first = "BW"[self.to_move]
        return GoRecord(
            size=self.size,
            komi=self.komi,
            handicap=self.loaded.handicap or self.handicap,
            black=[p for p in stones["b"] if p is not None],
            white=[p for p in stones["w"] if p is not None],
            first=first,
            moves=[("BW"[seat], place(point)) for seat, point in self.moves],
            setups=dict(self.setups),
            result=self.loaded.result if self.unchanged else "",
            info=dict(self.loaded.info),
        )

"""The match of a GTP controller: set up, play, undo, records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ludus.games import go
from ludus.games.match import GameError, Match, ParamError
from ludus.games.sgf import Point, Record
from ludus.gtp.protocol import GtpError

#: Controllers end matches themselves: this only bounds memory.
MAX_MOVES = 1024
PLAYOUTS = 128  # random continuations for stones whose life the rules alone do not determine
DEFAULTS = {
    "size": "19",
    "komi": "7.5",
    "scoring": "chinese",
    "ko": "positional",
    "suicide": "forbidden",
}


class Session:
    """Moves may come in any order of colours and after both have passed, as GTP allows.

    ``params`` are parameters of the game ``go``; ``seed`` is the match's seed, for bots with random choices.
    """

    def __init__(self, params: Mapping[str, str], seed: int) -> None:
        self.base = {**DEFAULTS, **params, "max_moves": str(MAX_MOVES)}
        self.seed = seed
        self.moves: list[tuple[int, int]] = []  # seat, point
        self.black: list[int] = []  # set-up stones
        self.white: list[int] = []
        self.first = ""
        self._before: list[Match] = []  # the match before each move
        self._dead: tuple[int, list[int]] | None = None  # of the match with this hash
        self.match = Match("go", self._params(), seed=seed)

    @property
    def size(self) -> int:
        return int(self.base["size"])

    @property
    def komi(self) -> float:
        return float(self.base["komi"])

    @property
    def to_move(self) -> int:
        """The seat to move, also after two passes."""
        if self.match.to_act:
            return self.match.to_act[0]
        return 1 - self.moves[-1][0] if self.moves else go.BLACK

    def _params(self) -> dict[str, str]:
        out = dict(self.base)
        if self.black or self.white:
            names = [
                " ".join([colour, *(go.vertex(p, self.size).lower() for p in points)])
                for colour, points in (("black", self.black), ("white", self.white))
                if points
            ]
            out["setup"] = " ".join(names)
        if self.first:
            out["first"] = self.first
        return out

    def _start(self) -> None:
        self.match = Match("go", self._params(), seed=self.seed)
        self.moves, self._before = [], []

    def clear(self) -> None:
        """An empty board of the same size and komi."""
        self.black, self.white, self.first = [], [], ""
        self._start()

    def resize(self, size: int) -> None:
        """An empty board of ``size``."""
        self.base["size"] = str(size)
        self.clear()

    def set_komi(self, komi: float) -> None:
        """Continues the match under another komi. Raises :class:`GtpError` unless it is a multiple of 0.5."""
        text = f"{komi:g}" if abs(komi) < 1000 else str(komi)
        try:
            self._change({"komi": text})
        except ParamError as error:
            raise GtpError(f"unacceptable komi: {error}") from None

    def set_rules(self, rules: Mapping[str, str]) -> None:
        """Continues the match under other rules. Raises ``GtpError`` if they forbid a past move."""
        try:
            self._change(rules)
        except ParamError as error:
            raise GtpError(f"unacceptable rules: {error}") from None
        except GtpError:
            raise GtpError("unacceptable rules: they forbid a move that was played") from None

    def _change(self, params: Mapping[str, str]) -> None:
        """Replays the moves under other parameters. On an error the match stays unchanged."""
        before, moves = dict(self.base), self.moves
        self.base.update(params)
        try:
            self._replay(moves)
        except (ParamError, GtpError):
            self.base = before
            self._replay(moves)
            raise

    def _replay(self, moves: Sequence[tuple[int, int]]) -> None:
        self._start()
        for seat, point in moves:
            self.play(seat, point)

    def setup(self, black: Sequence[int], white: Sequence[int] = (), first: str = "") -> None:
        """Places stones on an empty board. On ``GtpError`` the board is empty."""
        self.black, self.white, self.first = list(black), list(white), first
        try:
            self._start()
        except ParamError as error:
            self.clear()
            raise GtpError(f"these stones cannot stand: {error}") from None

    def play(self, seat: int, point: int, played: Match | None = None) -> None:
        """Plays a move. Raises ``GtpError`` on an illegal move; the match stays unchanged.

        ``played``: the match after the move, if the player has played it (with a bot's random numbers).
        """
        if self.match.tick >= MAX_MOVES:
            raise GtpError(f"illegal move: the match has reached {MAX_MOVES} moves")
        after = played or self.turn_of(seat)
        try:
            if played is None:
                after.play(point)
        except GameError:
            raise GtpError("illegal move") from None
        self._before.append(self.match)
        self.match = after
        self.moves.append((seat, point))

    def undo(self) -> None:
        """Takes the last move back. Raises ``GtpError`` if there is none."""
        if not self._before:
            raise GtpError("cannot undo")
        self.match = self._before.pop()
        self.moves.pop()

    def turn_of(self, seat: int) -> Match:
        """A copy of the match with ``seat`` to move."""
        match = self.match.clone()
        if match.to_act != (seat,):
            go.resume(match, seat)
        return match

    def dead(self) -> list[int]:
        """Points of dead stones under the scoring rule: none under Tromp-Taylor."""
        if self.base["scoring"] == "tromp_taylor":
            return []
        if self._dead is None or self._dead[0] != self.match.hash:
            self._dead = self.match.hash, go.dead_stones(self.match, PLAYOUTS)
        return self._dead[1]

    def score(self) -> float:
        """Black's points less White's and komi, without dead stones."""
        return go.margin(self.match, self.dead())

    # --- records ------------------------------------------------------------

    def load(self, made: Record) -> None:
        """Loads a match from a record. On ``GtpError`` the board is empty."""
        before = dict(self.base)
        self.base["size"] = str(made.size)
        self.base["komi"] = f"{made.komi:g}"
        try:
            self.clear()
            index = self.point_of
            first = {"B": "black", "W": "white"}.get(made.first, "")
            if not first and made.moves:
                first = "black" if made.moves[0][0] == "B" else "white"
            self.setup([index(p) for p in made.black], [index(p) for p in made.white], first)
            for colour, place in made.moves:
                self.play(
                    go.BLACK if colour == "B" else go.WHITE, self.size**2 if place is None else index(place)
                )
        except (GtpError, ParamError) as error:
            self.base = before
            self.clear()
            raise GtpError(f"cannot load file: {error}") from None

    def point_of(self, place: Point) -> int:
        return place[1] * self.size + place[0]

    def record(self) -> Record:
        def place(point: int) -> Point | None:
            return None if point == self.size**2 else (point % self.size, point // self.size)

        stones = {name: [place(p) for p in points] for name, points in (("b", self.black), ("w", self.white))}
        return Record(
            size=self.size,
            komi=self.komi,
            handicap=len(self.black) if self.black and not self.white else 0,
            black=[p for p in stones["b"] if p is not None],
            white=[p for p in stones["w"] if p is not None],
            first={"black": "B", "white": "W"}.get(self.first, ""),
            moves=[("BW"[seat], place(point)) for seat, point in self.moves],
        )

"""Records of Go with odd headers, whose meaning is known, through ``loadsgf``.

    python benchmarks/cross_checks/go_headers.py --records 1000 [--seed 1]

Each record is a random match (moves, passes, stones set up in the middle) on a board of this script's own,
written with headers as programs and people write them: komi in the units of servers, in words, in characters
of other scripts; sizes such as 19:19; handicaps with and without stones; rules; names in eight encodings,
labelled, labelled wrongly and not labelled; headers behind the root, twice, in small letters. After
loading, the stones, the turn, the number of moves, size, komi and names must equal the match's, or a line
on stderr must name the header. A record that cannot be played must be refused with the move or property that
is at fault, and the engine's match must be as it was. Exit code 3 on the first failure, which is printed with
its record.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from dataclasses import dataclass, field

from ludus.games import go
from ludus.gtp.engine import Engine
from ludus.gtp.players import BotPlayer

Point = tuple[int, int]

#: How komi is written, with its points; None where the text holds no playable number.
KOMI: tuple[tuple[str, float | None], ...] = (
    ("6.5", 6.5), ("7", 7), ("-5.5", -5.5), ("0", 0), ("7,5", 7.5), ("+6.5", 6.5), (" 5.5 ", 5.5),
    ("6.50", 6.5), ("375", 7.5), ("750", 7.5), ("650", 6.5), ("325", 6.5), ("275", 5.5), ("550", 5.5),
    ("350", 7), ("700", 7), ("450", 4.5), ("375.0", 7.5), ("6.5 points", 6.5), ("5.5pts", 5.5), ("6½", 6.5),
    ("6 1/2", 6.5), ("5 and a half", 5.5), ("6目半", 6.5), ("７．５", 7.5), ("−5.5", -5.5), ("3又3/4子", 7.5),
    ("1e1", 10), ("", None), ("none", None), ("黑贴6目半", None), ("nan", None), ("inf", None), ("1e9", None),
    ("-650", None), ("1000", None), ("6.7", None), ("9" * 400, None), ("W+6.5", None), ("\\]", None),
    ("(6.5)", None),
)  # fmt: skip
SIZES = ("{0}", "{0}:{0}", " {0} ", "{0}x{0}", "0{0}", "{0}.0", "{0} lines")
NOT_SIZES = ("9:13", "0", "1", "99", "nine", "-9", "9;9", "1e1:9")
RULES = (
    "",
    "Chinese",
    "Japanese",
    "AGA",
    "NZ",
    "GOE",
    "中国规则",
    "house",
    "koSIMPLEscoreAREAtaxNONEsui0",
    "{",
)
GAMES = ("1", " 1", "", "Go", "1 Go")
NAMES = {
    "shift_jis": ("ソ", "ゾ山", "高尾紳路", "十段表ー予"), "gbk": ("古力", "俊侍乗", "李世石"),
    "big5": ("許功蓋", "周俊勳"), "utf-8": ("Lee ☺", "李世石", "Sjögren"),
    "latin-1": ("José", "Sjögren", "Åström"), "euc-kr": ("조훈현", "이창호"),
    "cp1252": ("Ñandú", "Müller"), "euc-jp": ("高尾紳路", "ソゾ"),
}  # fmt: skip
LABELS = {
    "shift_jis": ("Shift_JIS", "SJIS", "shift-jis"), "gbk": ("GBK", "gb2312", "GB18030"),
    "big5": ("Big5", "big5"), "utf-8": ("UTF-8", "utf8", ""), "latin-1": ("ISO-8859-1", "latin1", ""),
    "euc-kr": ("EUC-KR", "ks_c_5601-1987"), "cp1252": ("Windows-1252", "cp1252"), "euc-jp": ("EUC-JP",),
}  # fmt: skip
#: Encodings that are found without a label; a short name may be taken for one of another of them.
FOUND = ("shift_jis", "gbk", "big5")


@dataclass
class Board:
    """Stones by the rules that every rule set shares: what has no liberty comes off, own stones last."""

    size: int
    stones: dict[Point, str] = field(default_factory=dict)

    def beside(self, point: Point) -> list[Point]:
        x, y = point
        near = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)]
        return [(a, b) for a, b in near if 0 <= a < self.size and 0 <= b < self.size]

    def chain(self, point: Point) -> tuple[set[Point], bool]:
        """Return the chain at a point, and whether it has a liberty."""
        found, todo, free = {point}, [point], False
        while todo:
            for near in self.beside(todo.pop()):
                if near not in self.stones:
                    free = True
                elif self.stones[near] == self.stones[point] and near not in found:
                    found.add(near)
                    todo.append(near)
        return found, free

    def play(self, colour: str, point: Point) -> None:
        self.stones[point] = colour
        for near in [*self.beside(point), point]:
            if near in self.stones and (self.stones[near] != colour or near == point):
                chain, free = self.chain(near)
                for p in () if free else chain:
                    del self.stones[p]

    def stands(self) -> bool:
        return all(self.chain(p)[1] for p in self.stones)


@dataclass
class Odd:
    """A record and its meaning. ``wrong``: what its refusal must contain; empty if it can be played."""

    data: bytes = b""
    size: int = 19
    komi: float | None = None
    stones: dict[Point, str] = field(default_factory=dict)
    moves: int = 0
    turn: str = ""
    names: tuple[str, str] = ("", "")
    labelled: bool = True
    kinds: list[str] = field(default_factory=list)
    wrong: str = ""


def text_of(point: Point) -> str:
    return chr(97 + point[0]) + chr(97 + point[1])


class Maker:
    """Makes odd records."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def make(self) -> Odd:
        rng, odd = self.rng, Odd()
        odd.size = rng.choice((5, 7, 9, 13, 19))
        board = Board(odd.size)
        headers = self._headers(odd)
        stones, handicap, turn = self._start(odd, board)
        if handicap:
            headers.append(f"HA[{handicap}]")
        line = self._moves(odd, board, turn)
        odd.stones = board.stones
        size = rng.choice(SIZES).format(odd.size)
        if self.chance(0.04):
            size, odd.wrong = rng.choice(NOT_SIZES), "SZ["
        if odd.size != 19 or odd.wrong or self.chance(0.7):
            headers.append(f"SZ[{size}]")
        rng.shuffle(headers)
        late = [headers.pop() for _ in range(1) if headers and self.chance(0.1)]
        behind = f";{''.join(late)}" if late else ""
        # The label comes before or after the text that it is for.
        encoding, label, names = self._names(odd)
        headers.insert(rng.randrange(len(headers) + 1), label)
        headers.insert(rng.randrange(len(headers) + 1), names)
        text = f"(;{''.join(headers)}{stones}{behind}{line})"
        if self.chance(0.1):
            text = f"junk before\n{text}\n(;SZ[13];B[aa])"
        try:
            odd.data = text.encode(encoding)
        except UnicodeEncodeError:  # a header in characters that the encoding has not
            return self.make()
        if encoding == "utf-8" and self.chance(0.2):
            odd.data = b"\xef\xbb\xbf" + odd.data
        return odd

    def _headers(self, odd: Odd) -> list[str]:
        rng = self.rng
        text, odd.komi = rng.choice(KOMI)
        if odd.komi is not None and odd.komi > odd.size**2:
            odd.komi = None
        odd.kinds.append(f"KM[{text[:12]}]")
        name = rng.choice(("KM", "KM", "KM", "Km", "km"))
        headers = [f"{name}[{text}]"]
        if self.chance(0.05):
            headers[0] += "[3.5]" if text.strip() else ""
        if self.chance(0.7):
            headers.append(f"RU[{rng.choice(RULES)}]")
        if self.chance(0.7):
            headers.append(f"GM[{rng.choice(GAMES)}]")
        headers.append(
            rng.choice(
                ("FF[3]", "FF[4]", "FF[x]", "", "AP[foxwq]", "XY9[a][b]", "foo[bar]", "RE[?]", "PL[?]")
            )
        )
        return headers

    def _start(self, odd: Odd, board: Board) -> tuple[str, str, str]:
        """Stones before the first move: as text, the handicap's text and the colour that moves first."""
        rng = self.rng
        kind = rng.choice(("none", "none", "stones", "fixed", "setup", "odd"))
        odd.kinds.append(f"start {kind}")
        most = go.most_handicap(odd.size)
        if kind in ("stones", "fixed") and most:
            count = rng.randint(2, most)
            points = [(p % odd.size, p // odd.size) for p in go.star_points(odd.size, count)]
            board.stones.update(dict.fromkeys(points, "B"))
            stones = "AB" + "".join(f"[{text_of(p)}]" for p in points) if kind == "stones" else ""
            return stones, rng.choice((f"{count}", f" {count}", f"{count} stones")), "W"
        if kind == "setup":
            board.stones[(1, 1)], board.stones[(3, 3)] = "B", "W"
            first = rng.choice("BW")
            return f"AB[bb]AW[dd]AE[]PL[{rng.choice((first, first.lower()))}]", "", first
        return "", rng.choice(("x", "-1", "2.5", "99", "0", "1", "")) if kind == "odd" else "", "B"

    def _moves(self, odd: Odd, board: Board, turn: str) -> str:
        rng, line = self.rng, []
        # A move on a fixed point may say that the handicap's stones are not there.
        wrong_at = rng.randrange(1, 12) if self.chance(0.08) and odd.kinds[-1] != "start fixed" else 0
        for number in range(1, rng.randrange(2, 3 * odd.size)):
            empty = [(x, y) for x in range(odd.size) for y in range(odd.size) if (x, y) not in board.stones]
            if number == wrong_at and board.stones and not odd.wrong:
                taken = text_of(rng.choice(sorted(board.stones)))
                line.append(f";{turn}[{rng.choice((taken, 'zz', 'D4', taken[:1]))}]")
                odd.wrong = f"move {number}, {turn}"
                return "".join(line)
            if self.chance(0.05) or not empty:
                line.append(f";{turn}[{rng.choice(('', 'tt'))}]")
            else:
                point = rng.choice(empty)
                board.play(turn, point)
                line.append(f";{turn}[{text_of(point)}]")
            odd.moves += 1
            turn = "W" if turn == "B" else "B"
            if self.chance(0.05):
                line.append(self._setup(board))
            if self.chance(0.03):
                turn = rng.choice("BW")
                line.append(
                    f"{rng.choice((';', ''))}PL[{turn}]" if not line[-1].startswith(";A") else f"PL[{turn}]"
                )
        odd.turn = turn
        return "".join(line)

    def _setup(self, board: Board) -> str:
        """Return a node that adds or removes a stone."""
        point = (self.rng.randrange(board.size), self.rng.randrange(board.size))
        before = dict(board.stones)
        colour = self.rng.choice("BWE")
        board.stones.pop(point, None)
        if colour != "E":
            board.stones[point] = colour
        if not board.stands():
            board.stones = before
            return ""
        return f";A{colour}[{text_of(point)}]"

    def _names(self, odd: Odd) -> tuple[str, str, str]:
        """Return the encoding, its label and the names."""
        rng = self.rng
        encoding = rng.choice(list(NAMES))
        odd.names = (rng.choice(NAMES[encoding]), rng.choice(NAMES[encoding]))
        label = rng.choice(LABELS[encoding])
        odd.labelled = True
        if encoding in FOUND and self.chance(0.3):
            label, odd.labelled = rng.choice(("", "klingon")), False
        if self.chance(0.1):  # converted by a program that kept the label
            encoding, odd.labelled = "utf-8", False
        odd.kinds.append(f"{encoding} {label or '-'}")
        names = [f"PB[{odd.names[0]}]PW[{odd.names[1]}]".encode(encoding).decode(encoding)]
        if self.chance(0.3):
            names.append(f"C[{odd.names[0]}\\]{odd.names[1]}]")
        return encoding, f"CA[{label}]" if label else "", "".join(names)


class Reader:
    """An engine that loads one record after the other."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.engine = Engine(BotPlayer("random"), {"size": "19", "komi": "3.5"}, log=self.said.append)

    def state(self) -> list[str]:
        return [self.engine.handle(c) for c in ("showboard", "printsgf", "kata-get-rules")]

    def fault(self, odd: Odd, path: str) -> str:
        """Return the fault of the answer; empty if there is none."""
        engine, self.said[:] = self.engine, []
        engine.handle("boardsize 19")
        engine.handle("komi 3.5")
        engine.handle("play b c3")
        before = self.state()
        answer = engine.handle(f"loadsgf {path}").strip()
        notes = "\n".join(self.said)
        if "internal error" in answer + notes or "\n" in answer:
            return f"an error of the program: {answer}"
        if odd.wrong:
            if not answer.startswith("?") or odd.wrong not in answer:
                return f"expected a refusal that contains {odd.wrong!r}: {answer}"
            return "" if self.state() == before else "a refused record changed the match"
        if not answer.startswith("="):
            return f"refused: {answer}"
        return self._meaning(odd, answer, notes)

    def _meaning(self, odd: Odd, answer: str, notes: str) -> str:
        session = self.engine.session
        cells = session.match.view()["cells"]
        found = {(p % odd.size, p // odd.size): "BW"[c] for p, c in enumerate(cells) if c >= 0}
        info = session.loaded.info
        names = (info.get("PB"), info.get("PW"))
        turn = {"= black": "B", "= white": "W"}.get(answer, "")
        komi = 3.5 if odd.komi is None else odd.komi
        for what, wanted, got in (
            ("size", odd.size, session.size),
            ("moves", odd.moves, len(session.moves)),
            ("stones", odd.stones, found),
            ("turn", odd.turn, turn),
            ("komi", komi, session.komi),
            ("names", odd.names, names if odd.labelled or "read as" not in notes else odd.names),
        ):
            if wanted != got:
                return f"{what}: expected {wanted!r}, got {got!r}"
        if odd.komi is None and "KM" not in notes:
            return "a komi that was not read is not named"
        return ""


def run(records: int, seed: int, folder: str) -> dict[str, object]:
    """Load records; raises ``SystemExit`` with the first one that is read wrongly."""
    maker, reader, tally = Maker(random.Random(seed)), Reader(), Counter[str]()
    path = f"{folder}/odd record.sgf"
    for number in range(records):
        odd = maker.make()
        with open(path, "wb") as file:
            file.write(odd.data)
        fault = reader.fault(odd, path)
        if fault:
            print(
                f"record {number}: {fault}\n{odd.data!r}\n{odd.kinds}\n" + "\n".join(reader.said),
                file=sys.stderr,
            )
            raise SystemExit(3)
        tally["refused, with a reason" if odd.wrong else "loaded"] += 1
        tally["with notes"] += bool(reader.said)
        tally["moves"] += odd.moves
    return {"records": records, "seed": seed, **tally}


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    return parser


def main() -> None:
    import tempfile

    args = parser_of().parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(run(args.records, args.seed, folder)))


if __name__ == "__main__":
    main()

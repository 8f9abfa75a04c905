"""Records of Go as programs and people leave them: odd headers, encodings, cuts, several games a file."""

from __future__ import annotations

import random
from pathlib import Path

from ludus.games.match import GameError, Match

_KOMI = (
    "KM[375]",
    "KM[6,5]",
    "KM[6.5]",
    "KM[]",
    "KM[7.5 points]",
    "KM[abc]",
    "KM[3 3/4]",
    "KM[-5.5]",
    "KM[0]",
    "",
)
_RULES = ("RU[Japanese]", "RU[cn]", "RU[nonsense \\] x]", "RU[]", "RU[AGA]", "RU[NZ]", "RU[Chinese]", "")
_RESULTS = (
    "RE[B+R]", "RE[W+3.5]", "RE[0]", "RE[Draw]", "RE[Void]", "RE[?]", "RE[W+Resign]", "RE[B+T]", "RE[w+1/2]",
    "RE[黑中盘胜]", "RE[B+]", "RE[W+99999]", "RE[B+0.50]", "",
)  # fmt: skip
_DATES = (
    "DT[2016-03-09]", "DT[2016-03-09,10]", "DT[2016]", "DT[2016-02-31]", "DT[1996-12-27..1997-01-03]",
    "DT[9.3.2016]",
    "DT[Published on 2001/5/6]", "DT[２０１７－０１]", "DT[]", "DT[0000-00-00]", "",
)  # fmt: skip
_NAMES = (
    "Cho Chikun", "趙治勲", "이세돌", "a\\]b", "x\\\\y", "\x1b[31mred", "tab\there", "line\nbreak",
    "  blanks  ",
    "n" * 500, "\u202egnirts", "CA[gbk", "", "名" * 250, "\xa0wide\u3000", "\x07" * 120,
)  # fmt: skip
_COMMENTS = (
    "",
    "C[plain]",
    "C[a \\] b \\\\ c]",
    "C[(;GM[1\\];B[aa\\])]",
    "C[control \x01\x02]",
    "C[" + "x" * 300_000 + "]",
)
_ENCODINGS = ("utf-8", "utf-8", "utf-8", "gb18030", "shift_jis", "euc_kr", "big5hkscs", "latin-1")


class OddRecords:
    """Generator of records, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        """Start the sequence ``seed``."""
        self.draw = random.Random(seed)

    def write(self, folder: Path, files: int) -> None:
        """Write ``files`` files."""
        folder.mkdir(parents=True)
        for number in range(files):
            (folder / f"{number:04d}.sgf").write_bytes(self.file(number))

    def file(self, number: int) -> bytes:
        """Return the bytes of file ``number``."""
        draw = self.draw
        if number % 50 == 17:
            return draw.choice(
                (b"", b"\0" * 64, b"no record at all", b"(", b"(;", b"\xff\xfe", b"(;GM[1]", b"[" * 5000)
            )
        games = [self.game(number) for _ in range(draw.choice((1, 1, 1, 1, 2, 5)))]
        if not draw.randrange(10):
            games.append(games[0])  # twice in a file
        joint = draw.choice(("", "\n", "\r\n\r\n", " some text \n"))
        text = joint.join(games)
        encoding = draw.choice(_ENCODINGS)
        try:
            data = text.encode(encoding)
        except UnicodeEncodeError:
            data = text.encode("utf-8")
        change = draw.randrange(24)
        if change == 0:
            data = data[: draw.randrange(len(data))]
        elif change == 1:
            data = data.replace(b"\n", b"\r\n")
        elif change == 2:
            data = b"\xef\xbb\xbf" + data
        elif change == 3:
            data = data[1:]  # without its bracket
        elif change == 4:
            at = draw.randrange(len(data))
            data = data[:at] + b"\0" + data[at:]
        elif change == 5:
            data = text.encode("utf-16")
        return data

    def game(self, number: int) -> str:
        """Return one game."""
        draw = self.draw
        size = draw.choice((9,) * 12 + (13, 19, 5, 25))
        heads = [
            f"SZ[{size}]",
            draw.choice(_KOMI),
            draw.choice(_RULES),
            draw.choice(_RESULTS),
            draw.choice(_DATES),
        ]
        heads += [f"PB[{draw.choice(_NAMES)}]", f"PW[{draw.choice(_NAMES)}]"]
        heads += [draw.choice(("CA[UTF-8]", "CA[gb2312]", "CA[nothing]", "", ""))]
        heads += [draw.choice(("GM[1]",) * 9 + ("GM[2]", "", "gm[1]"))]
        heads += [
            draw.choice(
                (
                    "",
                    "",
                    "",
                    "HA[2]",
                    "HA[9]",
                    "HA[x]",
                    "AB[cc][gg]",
                    "AB[aa:ba]AW[ee]",
                    "PL[W]",
                    "AW[dd]PL[B]",
                )
            )
        ]
        draw.shuffle(heads)
        moves = self.moves(min(size, 19), draw.randrange(2, 40))
        comment = draw.choice(_COMMENTS) if draw.randrange(40) else _COMMENTS[-1]
        body = "".join(moves)
        spot = draw.randrange(12)
        if spot == 0:
            body += "(;B[aa])(;B[bb];W[cc])"
        elif spot == 1:
            body += f"{moves[-1]}"  # a point that is taken
        elif spot == 2:
            body += ";AB[ii];W[hh]"
        elif spot == 3:
            body = body.replace("];", "]\n;", 3).replace(";B[", ";b[", draw.choice((0, 0, 1)))
        elif spot == 4:
            body += ";B[zz]"
        elif spot == 5:
            body += ";B[];W[tt];B[aa]"
        return f"(;FF[4]{''.join(heads)}{comment}{body})"

    def moves(self, size: int, count: int) -> list[str]:
        """Return legal moves of an empty board, sometimes passes."""
        match = Match("go", {"size": str(size)})
        out: list[str] = []
        while len(out) < count and not match.over:
            point = self.draw.randrange(size * size) if self.draw.randrange(30) else size * size
            (seat,) = match.to_act
            try:
                match.play(point)
            except GameError:
                continue
            text = "" if point == size * size else chr(97 + point % size) + chr(97 + point // size)
            out.append(f";{'BW'[seat]}[{text}]")
        return out

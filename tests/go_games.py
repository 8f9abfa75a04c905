"""Records of Go by form, and random ones, whose positions ``tests/golden/sgf.json`` has by sgfmill."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

#: Starts of a file, and whether the first ``(`` and ``;`` are there in some form.
STARTS = (
    "(;",
    " \n( ;\n",
    "\ufeff(;",
    "From: a player (;-)\nSubject: Go [9x9]\n\n(;",
    "see (1) and [2]; it is a win\n(;",
    ";",
    "(",
    "",
)
#: Games behind the start. The second text is the same game without forms that sgfmill does not read.
BODIES: tuple[str | tuple[str, str], ...] = (
    "SZ[9]KM[5.5];B[ee];W[cc])",
    "SZ[9]KM[5.5];B[ee](;W[cc];B[dd])(;W[gg]))",
    "SZ[9];B[ee](;W[ed](;B[fe](;W[fd])(;W[aa]))(;B[bb]))(;W[gg];B[hh];W[hg]))",
    "SZ[9])",
    "SZ[9]PL[W])",
    "SZ[9]PL[B])",
    "SZ[9]AB[dd][cc])",
    "SZ[9]AB[dd][cc]PL[W])",
    "SZ[9]AB[dd][cc];W[ee])",
    "SZ[9]AW[dd])",
    "SZ[9]AB[dd]AW[ee])",
    "SZ[9]AB[dd]AW[ee]PL[W])",
    "SZ[9]HA[0]AB[ee]AW[dd];B[cc];W[dc])",
    "SZ[9]HA[2]AB[gc][cg])",
    "SZ[9]HA[2]AB[gc][cg];W[ee])",
    "SZ[9]HA[2]AB[gc][cg]PL[B])",
    "SZ[9]HA[2]AB[gc][cg]AW[ee])",
    ("SZ[9]HA[3])", "SZ[9]HA[3]AB[cc][gc][cg])"),
    ("SZ[9]HA[3];W[dd];B[ff])", "SZ[9]HA[3]AB[cc][gc][cg];W[dd];B[ff])"),
    "SZ[9]HA[2]PL[B])",
    "SZ[9]HA[2];B[gc];B[cg];W[ee])",
    "SZ[9];W[ee];B[ef])",
    "SZ[9];B[];W[])",
    "SZ[9];B[tt];W[ee];B[])",
    "SZ[9];B[ee];B[ff];B[dd])",
    "SZ[9];B[dd];PL[B])",
    "SZ[9];B[dd];PL[W])",
    "SZ[9];B[dd];AB[ee]AW[ff]AE[dd])",
    "SZ[9];B[dd];AW[ee]PL[B])",
    "SZ[9];B[dd];AE[dd]PL[W];W[dd];B[ee])",
    "SZ[9];AB[dd];AW[ee]PL[W];W[cc])",
    "SZ[5]AB[aa:cb];W[ee])",
    "SZ[5]AB[ab]AW[aa];B[ba])",
    "SZ[13]KM[0.5];B[gg];W[gh])",
    "KM[7.5];B[pd];W[dp])",
    "SZ[9]C[look (;W[aa\\]) and )(;SZ[5\\];];B[ee])",
    "SZ[9]PB[(;];B[ee]C[)])(;SZ[5];B[aa];W[bb])",
    ("SiZe[9]KoMi[6.5];Black[ee];White[cc])", "SZ[9]KM[6.5];B[ee];W[cc])"),
    ("SZ[9]RU[CN]KM[3.75]; B [ee]\n;W[cc])", "SZ[9]KM[7.5];B[ee];W[cc])"),
    ("SZ[9]KM[6,5](B[ee](W[cc])(W[dd])))", "SZ[9]KM[6.5](;B[ee](;W[cc])(;W[dd])))"),
)


class Written(NamedTuple):
    """A file, and the same game as every program reads it."""

    text: str
    usual: str


def by_form() -> Iterator[Written]:
    """Yield each start with each body."""
    for start in STARTS:
        for body in BODIES:
            given, usual = (body, body) if isinstance(body, str) else body
            yield Written(start + given, f"(;{usual}")


def generated(count: int, seed: int) -> Iterator[Written]:
    """Yield random games: stones set up, handicaps, turns, passes, and changes of the board between moves."""
    rng = random.Random(seed)
    for _ in range(count):
        text = _game(rng)
        yield Written(text, text)


def _game(rng: random.Random) -> str:
    size = rng.choice((5, 6, 7, 9))
    points = [chr(97 + x) + chr(97 + y) for x in range(size) for y in range(size)]
    rng.shuffle(points)
    free = iter(points[: size * size // 2])
    out = [f"(;GM[1]FF[4]SZ[{size}]KM[{rng.randint(-2, 20) / 2:g}]"]
    black = [next(free) for _ in range(rng.choice((0, 0, 1, 2, 3)))]
    white = [next(free) for _ in range(rng.choice((0, 0, 0, 1, 2)))]
    if len(black) >= 2 and not white and rng.random() < 0.6:
        out.append(f"HA[{len(black)}]")
    out += [_setup(rng, black, white, []), rng.choice(("", "", "PL[B]", "PL[W]"))]
    placed = black + white
    colour = rng.choice("BBBW")
    for _ in range(rng.randint(0, 8)):
        point = next(free, "")
        if rng.random() < 0.1:
            out.append(f";{colour}[]")
        else:
            out.append(f";{colour}[{point}]")
            placed.append(point)
        if rng.random() < 0.15:
            gone = [rng.choice(placed)] if placed else []
            new = [point for point in (next(free, ""),) if point]
            where = (new, []) if rng.random() < 0.5 else ([], new)
            out.append(";" + _setup(rng, *where, gone) + rng.choice(("", "PL[B]", "PL[W]")))
        if rng.random() < 0.1:
            out.append(f";PL[{rng.choice('BW')}]")
        if rng.random() < 0.9:
            colour = "BW"[colour == "B"]
    return "".join([*out, ")"])


def _setup(rng: random.Random, black: list[str], white: list[str], empty: list[str]) -> str:
    parts = [
        name + "".join(f"[{point}]" for point in points)
        for name, points in (("AB", black), ("AW", white), ("AE", empty))
        if points
    ]
    rng.shuffle(parts)
    return "".join(parts)

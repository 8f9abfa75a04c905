"""Small GTP engines for tests: each plays the first free point, and fails in its own way."""

from __future__ import annotations

import sys
from pathlib import Path

_ENGINE = """
import os, sys, time
HOW, AFTER = {how!r}, {after}
size, taken, asked = 9, set(), 0

def vertex(p):
    return "ABCDEFGHJKLMNOPQRST"[p % size] + str(size - p // size)

def point(text):
    return (size - int(text[1:])) * size + "ABCDEFGHJKLMNOPQRST".index(text[0].upper())

def move():
    global asked
    asked += 1
    if asked > AFTER:
        if HOW == "exit":
            print("out of memory", file=sys.stderr)
            sys.exit(3)
        if HOW == "hang":
            time.sleep(60)
        if HOW == "slow":
            time.sleep(0.4)
        if HOW == "resign":
            return "resign"
        if HOW == "illegal":
            return vertex(min(taken))
        if HOW == "nonsense":
            return "Z99 \\x1b[31m"
        if HOW == "flood":
            while True:
                print("x" * 4096)
        if HOW == "pass":
            return "pass"
    if asked > 20:
        return "pass"
    free = next(p for p in range(size * size) if p not in taken)
    taken.add(free)
    return vertex(free)

for line in sys.stdin:
    number, name, *rest = line.split() + [""]
    good, answer = "=", ""
    if name == "quit":
        print("=" + number + "\\n", flush=True)
        break
    if name == "name":
        answer = "fake " + HOW
    elif name == "version":
        answer = "1"
    elif name == "boardsize":
        size = int(rest[0])
        if HOW == "size":
            good, answer = "?", "unacceptable size"
    elif name == "clear_board":
        taken, asked = set(), 0
    elif name == "play" and rest[1] != "pass":
        taken.add(point(rest[1]))
    elif name == "genmove":
        answer = move()
    elif name == "final_score":
        answer = {{"score": "Black wins", "infinite": "B+inf"}}.get(HOW, "B+3.5")
    elif name == "time_left" and HOW == "untimed":
        good, answer = "?", "unknown command"
    print(good + number, answer + "\\n", flush=True)
"""


def engine(folder: Path, how: str = "plays", after: int = 2) -> str:
    """Return the command of an engine that fails in the way ``how`` after some moves of a match."""
    path = folder / f"{how}_{after}.py"
    path.write_text(_ENGINE.format(how=how, after=after), encoding="utf-8")
    return f"{sys.executable} {path}"

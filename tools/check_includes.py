"""Checks C++ includes: ``base <- game <- {games | pool | search} <- host <- {bind | tools}``.

Games never include each other; inside ``games/rts``: ``engine <- {minirts | capture_the_flag | ...}``.
``preload/`` goes into other programs and knows nothing of ours. Python's headers stay in ``bind/``.
``tests/`` may include everything. Prints one line a violation; exit code 3 then.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path, PurePosixPath

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SOURCES = {".hpp", ".cpp", ".h", ".inc"}

#: folder -> the folders below it that it may include (itself apart)
LAYERS: dict[str, frozenset[str]] = {
    "base": frozenset(),
    "game": frozenset({"base"}),
    "games": frozenset({"base", "game"}),
    "pool": frozenset({"base", "game"}),
    "search": frozenset({"base", "game"}),
    "host": frozenset({"base", "game", "games", "pool", "search"}),
    "bind": frozenset({"base", "game", "games", "pool", "search", "host"}),
    "tools": frozenset({"base", "game", "games", "pool", "search", "host"}),
    "preload": frozenset(),
    "tests": frozenset({"base", "game", "games", "pool", "search", "host", "bind", "tools"}),
}

#: folders of games/rts that its games share, lowest first
RTS_SHARED = ("engine",)

_PYTHON_HEADERS = ("nanobind/", "pybind11/", "Python.h")
_BANNED_HEADERS = ("torch/", "ATen/", "c10/")


def violation(source: str, included: str, quoted: bool = True) -> str | None:
    """Why ``source`` (path from cpp/) may not include ``included``, or None if it may."""
    here, there = PurePosixPath(source).parts, PurePosixPath(included).parts
    layer = here[0]
    if layer not in LAYERS:
        return f"{layer}/ has no place in the order of includes (tools/check_includes.py: LAYERS)"
    if included.startswith(_BANNED_HEADERS):
        return "LibTorch stays out of the C++ core"
    if included.startswith(_PYTHON_HEADERS):
        return None if layer == "bind" else "Python's headers stay in bind/"
    if not quoted:
        return None
    if ".." in there or there[0] == ".":
        return "write it from cpp/ as root"
    if len(there) == 1 or there[0] not in LAYERS:
        return "write it from cpp/ as root: folder/file.hpp"
    if there[0] == layer:
        return _between_games(here[1:], there[1:]) if layer == "games" else None
    if there[0] not in LAYERS[layer]:
        return f"{layer}/ may include {', '.join(sorted(LAYERS[layer])) or 'nothing but itself'}"
    return None


def _between_games(here: tuple[str, ...], there: tuple[str, ...]) -> str | None:
    if len(here) == 1 or len(there) == 1:  # games/registry.cpp lists all games; games/*.hpp is for all
        return (
            None if len(here) == 1 else f"{here[0]} includes games/{there[0]}: a game does not know the list"
        )
    if here[0] != there[0]:
        return f"games never include each other ({here[0]} includes {there[0]})"
    if here[0] != "rts" or len(here) == 2 or len(there) == 2 or here[1] == there[1]:
        return None
    rank = {name: n for n, name in enumerate(RTS_SHARED)}
    if there[1] not in rank:
        return f"games never include each other (rts/{here[1]} includes rts/{there[1]})"
    if rank[there[1]] > rank.get(here[1], len(rank)):
        return f"rts/{there[1]} is above rts/{here[1]}"
    return None


def check_tree(root: Path) -> list[str]:
    """All violations below ``root`` (the cpp/ folder), as ``path:line: ...`` lines."""
    found = []
    for path in sorted(p for p in root.rglob("*") if p.suffix in _SOURCES):
        source = path.relative_to(root).as_posix()
        if "/" not in source:
            found.append(f"cpp/{source}:1: a source file belongs into one of the folders")
            continue
        text = _COMMENT.sub(lambda m: "\n" * m.group().count("\n"), path.read_text("utf-8"))
        for match in _INCLUDE.finditer(text):
            why = violation(source, match.group(2), match.group(1) == '"')
            if why:
                line = text.count("\n", 0, match.start(1)) + 1
                found.append(f"cpp/{source}:{line}: includes {match.group(2)}: {why}")
    return found


def main() -> int:
    root = Path(__file__).resolve().parent.parent / "cpp"
    found = check_tree(root)
    print("\n".join(found) if found else "C++ includes: in order")
    return 3 if found else 0


if __name__ == "__main__":
    sys.exit(main())

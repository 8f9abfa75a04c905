"""``python -m tools.golden [--write]``: the behaviour of every game, as pinned in tests/golden/games.

For each game its signature (one number) and the beginning of one match as text. Without ``--write`` it
compares and exits with 3 on a difference. A commit that rewrites them gives the reason of the change, and
raises the version in the spec of the game.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ludus.games import simulate
from ludus.games.registry import BUILT_IN

CONTEXT, SHOWN = 60, 140  # characters before and from the first that differs
FOLDER = Path(__file__).resolve().parents[1] / "tests" / "golden" / "games"


def texts() -> dict[str, str]:
    """File name -> content, for all built-in games."""
    out = {f"{game}.txt": simulate.playthrough(game, seed=1, steps=8) for game in BUILT_IN}
    out["signature.txt"] = "".join(f"{game} {simulate.game_signature(game)}\n" for game in BUILT_IN)
    return out


def differences() -> list[str]:
    """Return differences from the pinned files: file, line, and both texts from before they differ."""
    found = []
    for name, text in texts().items():
        path = FOLDER / name
        pinned = path.read_text(encoding="utf-8") if path.is_file() else ""
        lines, pins = text.splitlines(), pinned.splitlines()
        for number in range(max(len(lines), len(pins))):
            now = lines[number] if number < len(lines) else "(nothing)"
            then = pins[number] if number < len(pins) else "(nothing)"
            if now != then:
                found.append(f"{path}:{number + 1}: {parted(then, now)}")
                break
    return found


def parted(pinned: str, found: str) -> str:
    """Where two lines differ, with the text around it: lines of states run to thousands of characters."""
    at = next((i for i, (a, b) in enumerate(zip(pinned, found)) if a != b), min(len(pinned), len(found)))

    def shown(text: str) -> str:
        start, end = max(0, at - CONTEXT), at + SHOWN
        return ("..." if start else "") + repr(text[start:end]) + ("..." if end < len(text) else "")

    return f"column {at + 1}: pinned {shown(pinned)}, found {shown(found)}"


def main() -> int:
    if sys.argv[1:] == ["--write"]:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name, text in texts().items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        return 0
    if sys.argv[1:]:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    found = differences()
    print("\n".join(found) if found else "golden: all games behave as pinned")
    return 3 if found else 0


if __name__ == "__main__":
    sys.exit(main())

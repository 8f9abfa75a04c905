"""``python -m tools.golden [--write]``: the behaviour of every game, as pinned in tests/golden/games.

For each game its signature (one number) and the beginning of one match as text. Without ``--write`` it
compares and exits with 3 on a difference. A commit that writes them anew says why behaviour changed, and
raises the version in the spec of the game.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ludus.games import list_games, simulate

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "golden" / "games"


def texts() -> dict[str, str]:
    """File name -> content, for all built-in games."""
    out = {f"{game}.txt": simulate.playthrough(game, seed=1, moments=8) for game in list_games()}
    out["signature.txt"] = "".join(f"{game} {simulate.game_signature(game)}\n" for game in list_games())
    return out


def differences() -> list[str]:
    """What the pinned files say otherwise: file, line, both texts."""
    found = []
    for name, text in texts().items():
        path = FOLDER / name
        pinned = path.read_text(encoding="utf-8") if path.is_file() else ""
        lines, pins = text.splitlines(), pinned.splitlines()
        for number in range(max(len(lines), len(pins))):
            now = lines[number] if number < len(lines) else "(nothing)"
            then = pins[number] if number < len(pins) else "(nothing)"
            if now != then:
                found.append(f"{path}:{number + 1}: pinned {then[:200]!r}, found {now[:200]!r}")
                break
    return found


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

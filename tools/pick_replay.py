"""Prints the replay to show: of the matches that a learned policy won, the one of middle length.

    python tools/pick_replay.py FILE.ludus ...

Where it won none, the longest one is shown. Exit code 2 without a file.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ludus.games import replays


def pick(files: list[Path]) -> Path:
    """Return the file to show; ``files`` must not be empty."""
    infos = sorted(((replays.info(f.read_bytes()), f) for f in files), key=lambda pair: pair[0].ticks)
    won = [
        f
        for info, f in infos
        if any(o > 0 and _learned(player) for o, player in zip(info.outcome, info.players))
    ]
    return won[len(won) // 2] if won else infos[-1][1]


def _learned(player: str) -> bool:
    """Whether a player's name refers to weights and not to a bot."""
    return "@" in player or player.startswith(("policy", "version"))


if __name__ == "__main__":
    paths = [Path(name) for name in sys.argv[1:]]
    if not paths:
        sys.exit(2)
    print(pick(paths))

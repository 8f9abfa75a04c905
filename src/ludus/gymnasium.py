"""Registration of every compiled game with Gymnasium, by import.

    import gymnasium
    import ludus.gymnasium

    env = gymnasium.make("ludus/minirts-v1", opponent="simple")

``gymnasium.make("ludus.gymnasium:ludus/minirts-v1")`` does both in one line. A game of your own needs no
registration: ``ludus.gymnasium.LudusEnv("./my_game.py")``.
"""

from __future__ import annotations

from ludus.games.exports.gymnasium import LudusEnv, LudusVectorEnv
from ludus.games.exports.register import register_all

__all__ = ["LudusEnv", "LudusVectorEnv", "ids"]

#: Registered ids: ``ludus/NAME-vVERSION``.
ids: tuple[str, ...] = tuple(register_all())

"""Why a match has ended, in words: sentences made of the last view document of a match."""

from ludus.games.endings.ending import ending_of, fate_of
from ludus.games.endings.sides import Sides, side_names

__all__ = ["Sides", "ending_of", "fate_of", "side_names"]

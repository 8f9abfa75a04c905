"""Scenarios of ViZDoom by name (``vizdoom/battle``) or by the path of a ``.cfg`` (``vizdoom/./mine.cfg``).

``maker.py`` makes games from parameters, ``scenario.py`` knows the scenarios by name, ``buttons.py`` the
sets of actions, ``seat.py`` what a player observes, ``shaping.py`` the rewards, ``engine.py`` the settings of
an engine. ``game.py`` plays with one engine, ``match.py`` with one for each player.
"""

from ludus.games.adapters.vizdoom.maker import VizdoomMaker, maker

__all__ = ["VizdoomMaker", "maker"]

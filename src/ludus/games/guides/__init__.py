"""Explanations of games for people: the same data makes the pages of matches and ``docs/games``."""

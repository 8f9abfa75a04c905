"""Analyses that ask versions about single positions: ladders, and moves of recorded matches.

:mod:`ludus.analyses.positions.version_reader` answers, by a network alone or with a search; the others choose
positions and count answers. No match is played.
"""

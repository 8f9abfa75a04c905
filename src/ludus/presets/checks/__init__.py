"""Checks of a preset: each yields the problems of one subject."""

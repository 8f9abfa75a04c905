"""Tests of what games written in Python show."""

"""Go, move by move, against independent programs where they are installed.

The long runs are in benchmarks/cross_checks.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil

import pytest

from benchmarks.cross_checks.go_rules import run

GNU_GO = shutil.which("gnugo") or shutil.which("/usr/games/gnugo")


@pytest.mark.skipif(GNU_GO is None, reason="needs GNU Go")
@pytest.mark.parametrize(("size", "matches"), [(5, 12), (9, 6)])
def test_scores_and_dead_stones_agree_with_gnu_go(size: int, matches: int) -> None:
    tally = run(argparse.Namespace(against="gnugo", size=size, matches=matches, seed=2, program=GNU_GO))
    assert tally.matches == matches
    assert tally.captures > 0
    assert len(tally.variants) == 4


@pytest.mark.skipif(importlib.util.find_spec("pyspiel") is None, reason="needs OpenSpiel")
@pytest.mark.parametrize(("size", "matches"), [(5, 30), (9, 20), (19, 2)])
def test_random_matches_of_go_agree_with_open_spiel(size: int, matches: int) -> None:
    tally = run(argparse.Namespace(against="open_spiel", size=size, matches=matches, seed=2))
    assert tally.matches == matches
    assert tally.captures > 0

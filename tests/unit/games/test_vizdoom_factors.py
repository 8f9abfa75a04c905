"""Factors of rewards, and engines that print nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ludus.games.adapters.vizdoom.quiet import quiet
from ludus.games.adapters.vizdoom.shaping import PARTS, shapings, weighted

ONCE = dict.fromkeys(PARTS, 1.0)


@pytest.mark.parametrize("name", ["none", "duel", "deathmatch", "cig", "navigation"])
def test_factors_of_one_change_nothing(name: str) -> None:
    assert weighted(shapings()[name], ONCE) == shapings()[name]


def test_each_factor_multiplies_its_part() -> None:
    duel = shapings()["duel"]
    for part, names in PARTS.items():
        more = weighted(duel, {**ONCE, part: 3.0})
        for name, (up, down) in duel.delta.items():
            times = 3.0 if name.startswith(names) else 1.0
            assert more.delta[name] == pytest.approx((up * times, down * times)), (part, name)
    assert all(any(name.startswith(names) for names in PARTS.values()) for name in duel.delta)


PRINTS = """
import os, subprocess
from ludus.games.adapters.vizdoom.quiet import quiet
with quiet(), quiet():
    subprocess.run(["sh", "-c", "echo loud; echo loud >&2"])
    os.write(1, b"loud")
print("before", flush=True)
try:
    with quiet():
        raise OSError("no engine")
except OSError as error:
    print(error, flush=True)
subprocess.run(["sh", "-c", "echo after; echo after >&2"])
"""


def test_programs_started_meanwhile_print_nothing_and_others_do() -> None:
    done = subprocess.run([sys.executable, "-c", PRINTS], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["before", "no engine", "after", ""]
    assert done.stderr == "after\n"


def test_no_descriptor_is_left_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with quiet():
            pass
    assert len(os.listdir("/proc/self/fd")) == before

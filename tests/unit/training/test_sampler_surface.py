"""Trainers ask a sampler for no more than its protocol: one on another machine fits in its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.rollouts.exchange import Sampler
from ludus.storage import RunDirectory
from ludus.training.actor_learner.sampler import LocalSampler, build_sampler
from ludus.training.machines import LocalMachines
from ludus.training.opponents import Seats
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .league.test_league_runs import LEAGUE, assert_equal_runs
from .runs import small_preset

SURFACE = {name for name in vars(Sampler) if not name.startswith("_")}

SHORT: dict[str, object] = {
    "run__max_steps": 500,
    "evaluation__every_steps": 0,
    "evaluation__matches": 0,
    "evaluation__final_matches": 0,
}


class Elsewhere:
    """A sampler of which only the protocol can be reached."""

    def __init__(self, sampler: LocalSampler, asked: set[str]) -> None:
        self._sampler, self._asked = sampler, asked

    def __getattr__(self, name: str) -> object:
        if name not in SURFACE:
            raise AttributeError(f"{name} is not part of a sampler's protocol")
        self._asked.add(name)
        return getattr(self._sampler, name)


def league() -> Preset:
    return parse_preset(LEAGUE.format(game="matrix", lag="pipelined", steps=900).encode(), "league").preset


def past() -> Preset:
    return small_preset(**SHORT, opponents__0__name="past", opponents__0__past_every=2)


def curriculum() -> Preset:
    return small_preset(**SHORT, curriculum__bot="random", curriculum__ticks=20)


def turns() -> Preset:
    return small_preset(**SHORT, run__topology="one_to_one", run__pools=2, algorithm__minibatches=1)


def test_the_protocol_has_at_most_six_members() -> None:
    assert len(SURFACE) <= 6, SURFACE


@pytest.mark.parametrize("make", [league, past, curriculum, turns])
def test_a_run_needs_no_more_than_the_protocol(tmp_path: Path, make: Callable[[], Preset]) -> None:
    start_run(make(), tmp_path / "here")
    asked = set[str]()

    class Others(LocalMachines):
        def sampler(
            self,
            preset: Preset,
            index: int = 0,
            *,
            slabs: int = 2,
            restarts: int = 0,
            seats: Seats | None = None,
        ) -> Sampler:
            made = build_sampler(preset, index, slabs=slabs, restarts=restarts, seats=seats)
            return cast(Sampler, Elsewhere(made, asked))

    start_run(make(), tmp_path / "elsewhere", machines=Others())
    resume_run(tmp_path / "elsewhere", machines=Others())
    assert asked == SURFACE
    if make is league:
        assert_equal_runs(tmp_path / "here", tmp_path / "elsewhere")
    last = [RunDirectory.open(tmp_path / name).checkpoints.load_last()[0] for name in ("here", "elsewhere")]
    assert last[0].version == last[1].version
    assert all((last[0].weights.tensors[n] == a).all() for n, a in last[1].weights.tensors.items())

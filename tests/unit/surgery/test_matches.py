"""Real matches of Extended MiniRTS with a unit type more: same decisions, same matches."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

import numpy as np
import pytest
import torch

from ludus.flow import GameSpec
from ludus.games.match import Match
from ludus.games.rulebook import read
from ludus.policies.actions.distribution import uniforms
from ludus.policies.network import PolicyNetwork
from ludus.surgery.apply import apply
from ludus.surgery.diff import make_plan
from ludus.surgery.plan import ConversionHints, ConversionPlan, Side
from tests.unit.surgery.cases import arrays, config

PIKEMAN = """
[units.pikeman]
cost = 90
hp = 120
defence = 1
attack = 8
attack_range = 2
vision = 5
speed = 0.05
accepts = ["move", "attack"]
cooldown = { attack = 10 }

"""
FRAME_SKIP, DECISIONS, MATCHES = 50, 60, 3
OLD = {"memory": "lstm", "memory_size": 16, "norm": "batch", "channels": (8, 8), "hidden": (24,)}
NEW = {**OLD, "memory_size": 24, "channels": (12, 8), "hidden": (40,), "dense": (12,), "value_heads": 2}


@pytest.fixture(scope="module")
def rulebooks(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return the rulebook of Extended MiniRTS, and the same with pikemen in the middle of the types."""
    folder = tmp_path_factory.mktemp("rules")
    return _read(folder / "old.toml", _extended()), _read(folder / "new.toml", more_types())


def _extended() -> str:
    return importlib.resources.files("ludus.games").joinpath("rulebooks/extended.toml").read_text()


def more_types(*, last: bool = False) -> str:
    """Return the lines of Extended MiniRTS with pikemen in the middle of the types, or as the ``last``."""
    more = _extended()
    more = f"{more}{PIKEMAN}" if last else more.replace("\n[units.cavalry]", f"{PIKEMAN}[units.cavalry]")
    more = more.replace('builds = ["spearman"]', 'builds = ["spearman", "pikeman"]')
    assert more.count("pikeman") == 2
    return more


def _read(path: Path, text: str) -> str:
    path.write_text(text)
    return read(path)


def _convert(plan: ConversionPlan, network: PolicyNetwork, fresh: PolicyNetwork) -> None:
    made = apply(plan, arrays(network), arrays(fresh))
    fresh.load_state_dict({n: torch.from_numpy(x) for n, x in made.items()})


def _moved(plan: ConversionPlan) -> dict[int, int]:
    axis = plan.axis(plan.choices)
    assert axis is not None
    return dict(zip(*(x.tolist() for x in axis.pairs()[::-1]), strict=True))


class Player:
    """A network that plays one match."""

    def __init__(self, network: PolicyNetwork) -> None:
        self.network, self.memory, self.first = network, network.initial_memory(1), True

    def choose(self, match: Match, mask: np.ndarray, step: int) -> int:
        obs = {n: torch.from_numpy(x.copy())[None] for n, x in match.observe(0).items()}
        out = self.network.step(obs, self.memory, torch.tensor([self.first]))
        self.memory, self.first = out.memory, False
        uniform = torch.from_numpy(uniforms(3, step, np.zeros(1, np.int32), 1))
        return int(out.distribution.sample(torch.from_numpy(mask.copy())[None], uniform).actions[0, 0])


def _units(match: Match) -> list[tuple[object, ...]]:
    view = match.view()
    return [(u["x"], u["y"], u["hp"], u["type"]) for u in view["units"]]


@pytest.mark.parametrize("last", [False, True])
def test_matches_with_a_fifteenth_unit_type_are_the_same(
    rulebooks: tuple[str, str], tmp_path: Path, last: bool
) -> None:
    after = _read(tmp_path / "last.toml", more_types(last=True)) if last else rulebooks[1]
    rules = [{"rulebook": r} for r in (rulebooks[0], after)]
    specs: list[GameSpec] = [Match("rts", r).spec for r in rules]
    old, new = Side(config(**OLD), specs[0]), Side(config(**NEW), specs[1])
    plan = make_plan(old, new)
    assert plan.exact
    added = {o.path: o.text for o in plan.operators if o.kind == "add"}
    assert "pikeman" in added["observation.units"]
    network, fresh = PolicyNetwork(old.config, old.spec, seed=1), PolicyNetwork(new.config, new.spec, seed=2)  # type: ignore[arg-type]
    with torch.no_grad():
        network.policy_head.weight.mul_(100.0)  # type: ignore[operator]
    fresh.load_state_dict(
        {n: torch.from_numpy(x) for n, x in apply(plan, arrays(network), arrays(fresh)).items()}
    )
    moved = _moved(plan)
    taken = set()
    for seed in range(1 if last else MATCHES):
        a, b = Match("rts", rules[0], seed=seed), Match("rts", rules[1], seed=seed)
        one, two = Player(network), Player(fresh)
        for step in range(DECISIONS):
            mask, there = a.legal(0), b.legal(0).copy()
            there[[i for i in range(len(there)) if i not in moved.values()]] = 0
            assert [there[moved[i]] for i in range(len(mask))] == mask.tolist()
            action, other = one.choose(a, mask, step), two.choose(b, there, step)
            assert moved[action] == other
            taken.add(action)
            for match, choice in ((a, action), (b, other)):
                match.act(0, choice)
                match.bot(1, "rush")
                for _ in range(FRAME_SKIP):
                    if not match.over:
                        match.advance()
            assert _units(a) == _units(b)
            if last:  # types keep their numbers, which are part of a hash
                assert a.hash == b.hash
            if a.over:
                break
        assert a.tick == b.tick
        assert one.memory is not None
        assert two.memory is not None
        assert float((one.memory - two.memory[..., :16]).abs().max()) < 1e-5
    assert len(taken) > (1 if last else 3)


def test_a_new_type_like_another_starts_with_its_numbers(rulebooks: tuple[str, str]) -> None:
    specs = [Match("rts", {"rulebook": r}).spec for r in rulebooks]
    old, new = Side(config(**OLD), specs[0]), Side(config(**NEW), specs[1])
    plan = make_plan(old, new, ConversionHints(like={"pikeman": "spearman"}))
    likes = [o for o in plan.operators if o.kind == "like"]
    assert {o.path for o in likes} == {"observation.cells", "observation.units", "observation.globals"}
    assert not plan.exact  # affords_pikeman is 1 before there is a pikeman
    for axis in (a for a in plan.axes if a.copied):
        assert axis.new - axis.old == len(axis.copied) + len(axis.fresh())


def test_the_same_rules_give_matches_of_the_same_hash(rulebooks: tuple[str, str]) -> None:
    rules = {"rulebook": rulebooks[0]}
    spec = Match("rts", rules).spec
    old, new = config(**OLD), config(**NEW)
    plan = make_plan(Side(old, spec), Side(new, spec))
    network, fresh = PolicyNetwork(old, spec, seed=1), PolicyNetwork(new, spec, seed=2)
    fresh.load_state_dict(
        {n: torch.from_numpy(x) for n, x in apply(plan, arrays(network), arrays(fresh)).items()}
    )
    hashes = []
    for net in (network, fresh):
        match, player = Match("rts", rules, seed=5), Player(net)
        trace = []
        for step in range(DECISIONS):
            match.act(0, player.choose(match, match.legal(0), step))
            match.bot(1, "riders")
            for _ in range(FRAME_SKIP):
                if not match.over:
                    match.advance()
            trace.append(match.hash)
            if match.over:
                break
        hashes.append(trace)
    assert hashes[0] == hashes[1]
    assert len(set(hashes[0])) > 10

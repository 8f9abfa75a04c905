"""The old network on a recording of the new game: columns and masks by their names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from msgspec import structs

from ludus.flow import HeadSpec
from ludus.games.match import Match
from ludus.policies.network import PolicyNetwork
from ludus.surgery.apply import apply
from ludus.surgery.diff import make_plan
from ludus.surgery.old_view import old_view
from ludus.surgery.plan import ConversionHints, Side
from ludus.surgery.verify import TOLERANCE, Moments, compare
from tests.unit.surgery.cases import Case, arrays, config, game
from tests.unit.surgery.test_matches import FRAME_SKIP, NEW, OLD, rulebooks

__all__ = ["rulebooks"]
CHANGED = game("aXcb", "defgY", "hZijk", "uVvwx", points=True, more="mn")


@pytest.mark.parametrize("memory", ["none", "lstm", "recall"])
def test_the_old_network_sees_the_columns_that_it_knew(memory: str) -> None:
    old, new = config(memory=memory), config(memory=memory, hidden=(20,))
    case = Case((old, game(points=True)), (new, CHANGED))
    view = old_view(Side(old, game(points=True)), Side(new, CHANGED), ConversionHints())
    seen = view.observations(case.moments.new)
    assert torch.equal(seen["map"], case.moments.old["map"].float() * 0.25)
    assert torch.equal(seen["numbers"], case.moments.old["numbers"])
    masks = view.masks(case.moments.new_mask)
    assert torch.equal(masks[0], case.moments.old_mask)
    assert torch.equal(masks[1], case.moments.new_mask)
    network = PolicyNetwork(old, view.spec)
    network.load_state_dict(case.old.state_dict())
    moments = replace(case.moments, old=seen, old_mask=masks[0], new_mask=masks[1])
    found = compare(case.plan, network, case.new, moments)
    assert found.largest <= TOLERANCE
    assert found.scale > 1e-3


def test_masks_of_heads_that_depend_on_others_are_cut_table_by_table() -> None:
    order, far = HeadSpec("order", 2, ("go", "hit")), HeadSpec("far", 3, ("a", "b", "c"), depends_on=(0,))
    old = structs.replace(game(), heads=(order, far))
    more = structs.replace(order, size=3, labels=("go", "dig", "hit"))
    farther = structs.replace(far, size=4, labels=("a", "z", "b", "c"))
    new = structs.replace(game(), heads=(more, farther))
    view = old_view(Side(config(), old), Side(config(), new), ConversionHints())
    mask = torch.tensor([[1, 1, 0, *(1, 1, 0, 1), *(0, 1, 1, 1), *(0, 1, 1, 0)]], dtype=torch.uint8)
    one, two = view.masks(mask)
    assert one.tolist() == [[1, 0, *(1, 0, 1), *(0, 1, 0)]]
    assert two.tolist() == [[1, 0, 0, *(1, 0, 0, 1), *(0, 0, 1, 1), *(0, 0, 1, 0)]]


def test_a_recording_of_the_new_game_compares_both_networks(rulebooks: tuple[str, str]) -> None:
    specs = [Match("rts", {"rulebook": r}).spec for r in rulebooks]
    old, new = Side(config(**OLD), specs[0]), Side(config(**NEW), specs[1])
    plan = make_plan(old, new)
    view = old_view(old, new, ConversionHints())
    network, fresh = PolicyNetwork(old.config, view.spec, seed=1), PolicyNetwork(new.config, new.spec, seed=2)  # type: ignore[arg-type]
    fresh.load_state_dict(
        {n: torch.from_numpy(x) for n, x in apply(plan, arrays(network), arrays(fresh)).items()}
    )
    match = Match("rts", {"rulebook": rulebooks[1]}, seed=3)
    steps: list[dict[str, np.ndarray]] = []
    masks: list[np.ndarray] = []
    while len(steps) < 100 and not match.over:
        steps.append({n: x.copy() for n, x in match.observe(0).items()})
        masks.append(match.legal(0).copy())
        match.bot(0, "rush")
        match.bot(1, "riders")
        for _ in range(FRAME_SKIP):
            if not match.over:
                match.advance()
    obs = {n: torch.from_numpy(np.stack([s[n] for s in steps]))[:, None] for n in steps[0]}
    first = torch.zeros(len(steps), 1, dtype=torch.bool)
    cut, closed = view.masks(torch.from_numpy(np.stack(masks)))
    moments = Moments(view.observations(obs), obs, first, cut, closed, network.initial_memory(1))
    found = compare(plan, network, fresh, moments)
    assert found.decisions > 50
    assert found.largest <= TOLERANCE
    assert found.value > 0.0 or found.memory > 0.0 or found.logits > 0.0

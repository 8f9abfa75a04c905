"""Action masks of every library follow one rule; a mask without a legal action is an error of its match."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
for library in ("pettingzoo", "dm_env"):
    pytest.importorskip(library)

from gymnasium import spaces  # noqa: E402
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete  # noqa: E402

from ludus.flow import Controller, Lineup, MatchResult, PoolOptions, SeatPlan  # noqa: E402
from ludus.games import check_game, spec  # noqa: E402
from ludus.games.adapters.gymnasium_face import GymnasiumFace  # noqa: E402
from ludus.games.adapters.masks import Masks, StepMask, masks_in  # noqa: E402
from ludus.games.adapters.spaces import Actions  # noqa: E402
from ludus.games.exports.match import PythonMatch  # noqa: E402
from ludus.games.names import typed  # noqa: E402
from ludus.games.registry import maker  # noqa: E402
from ludus.games.searchable import MatchSource  # noqa: E402
from ludus.native import SearchError  # noqa: E402
from ludus.pool.hosted.process import ProcessPool  # noqa: E402
from tests.unit.games.masked_envs import CASES, Own  # noqa: E402
from tests.unit.games.own_spaces import OneOf, registered  # noqa: E402

A = np.array
ENVS = "tests.unit.games.masked_envs"
IN_DICT = spaces.Dict(observation=Box(0, 9, (1,), np.float32), action_mask=Box(0, 1, (4,), np.int8))


class LegalityCheck(OneOf):
    """An environment that asserts that actions are legal by the mask of the step before."""

    def __init__(self, case: str, where: str) -> None:
        masks = [{} if m is None else {"action_mask": A(m, np.int8)} for m in CASES[case]]
        seen = [A([t], np.float32) for t in range(4)]
        inside = where == "observation"
        super().__init__(
            IN_DICT if inside else IN_DICT["observation"],
            values=[{"observation": x, **m} for x, m in zip(seen, masks, strict=True)] if inside else seen,
            infos=[{}] if inside else masks,
            steps=4,
        )
        self.case = case

    def step(self, action: object) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        mask = CASES[self.case][self.tick]
        assert mask is None or (isinstance(action, int) and mask[action]), (
            f"{action} is illegal at tick {self.tick}"
        )
        return super().step(action)


def games(case: str) -> dict[str, tuple[str, dict[str, object]]]:
    """Return a game of each library with the masks of a case."""
    zoo = typed(f"pettingzoo/{ENVS}")
    return {
        "gymnasium, info": (registered(lambda: LegalityCheck(case, "info")), {}),
        "gymnasium, observation": (registered(lambda: LegalityCheck(case, "observation")), {}),
        "pettingzoo, info": (zoo, {"case": case, "where": "info"}),
        "pettingzoo, observation": (zoo, {"case": case, "where": "observation"}),
        "dm_env": (typed(f"dm_env/{ENVS}:Door"), {"case": case}),
        "python": (typed(f"{ENVS}:Own"), {"case": case}),
        "python, two seats": (typed(f"{ENVS}:Own"), {"case": case, "seats": 2}),
    }


LIBRARIES = tuple(games("one"))


def played(game: str, params: dict[str, object], matches: int = 6) -> list[MatchResult]:
    """Play matches of random legal choices."""
    seats = spec(game, params).seats
    lineup = Lineup(tuple(SeatPlan((Controller(policy=0),)) for _ in range(seats)))
    pool = ProcessPool(
        game,
        params,
        lineup,
        PoolOptions(slots=2, groups=1, threads=0, seed=1, num_matches=matches, on_error="truncate"),
    )
    pool.attach(0, pool.slab(40))
    pool.recv(0)
    results: list[MatchResult] = []
    for step in range(40):
        pool.random_actions(0, seed=step)
        pool.send(0)
        results += pool.recv(0).results
    pool.close()
    assert len(results) == matches
    return results


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", ["one", "gone", "late"])
def test_a_mask_holds_for_its_step_and_no_mask_allows_all(library: str, case: str) -> None:
    game, params = games(case)[library]
    assert [r.error for r in played(game, params) if r.error] == []
    if case == "one":
        assert [f for f in check_game(game, params, matches=2).findings if not f.passed] == []
        assert "action_mask" not in [t.name for t in spec(game, params).observation]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_mask_without_a_legal_action_ends_that_match_with_an_error(library: str) -> None:
    game, params = games("none")[library]
    results = played(game, params)
    assert {r.ticks for r in results} == {1}
    for result in results:
        assert result.error.startswith(("legal: ", "observe: "))
        assert "no legal action" in result.error
    report = check_game(game, params, matches=1)
    (found,) = (f for f in report.findings if not f.passed)
    assert found.check == "masks"
    assert "seed 1, tick 1" in found.detail


def test_a_search_and_an_export_refuse_a_mask_without_a_legal_action() -> None:
    match = PythonMatch(typed(f"{ENVS}:Own"), {"case": "none", "seats": 2}, [0], "random")
    match.reset(1)
    match.step(np.full((2, 2), 1, np.int32))
    with pytest.raises(ValueError, match="no legal action"):
        match.legal(0)
    match.step(np.full((2, 2), 1, np.int32))
    assert "no legal action" in match.error  # of the opponent

    class Cloned(Own):
        def clone(self) -> Own:
            return self

    class Maker:
        spec = Own("none").spec

        def make(self) -> Own:
            return Cloned("none")

    source = MatchSource(Maker())  # type: ignore[arg-type]
    source.mask = source.mask[:4]  # of one head
    game, _ = source.begin(1, 0)
    with pytest.raises(SearchError, match="allows seat 0 no action"):
        source.play(game, 0, 1)


def test_a_game_with_masks_is_not_played_by_a_vector_environment() -> None:
    made: Any = maker("gymnasium/CartPole-v1", {})
    game = made.make_vector(2)
    game._env.step = lambda actions: (game._value, A([0, 0]), A([0, 0]), A([0, 0]), {"action_mask": 1})
    game.reset(1)
    with pytest.raises(ValueError, match="set vectorise = no"):
        game.step(np.zeros((2, 1), np.int32))
    game.close()


# ---- forms -----------------------------------------------------------------------------------------

NESTED = spaces.Dict(go=Discrete(3), with_=spaces.Tuple((MultiDiscrete([2, 3]), Box(0, 1, (1,)))))
FORMS: dict[str, tuple[spaces.Space[Any], Any, list[int]]] = {
    "Discrete": (Discrete(3, start=5), A([1, 0, 1], np.int8), [1, 0, 1]),
    "Discrete, bool": (Discrete(3), A([True, False, True]), [1, 0, 1]),
    "Discrete, list": (Discrete(3), [1.0, 0.0, 1.0], [1, 0, 1]),
    "one of MultiDiscrete": (MultiDiscrete([3]), A([1, 0, 1]), [1, 0, 1]),
    "MultiDiscrete": (MultiDiscrete([2, 3]), (A([0, 1]), A([1, 1, 0])), [0, 1, 1, 1, 0]),
    "MultiDiscrete, None": (MultiDiscrete([2, 3]), (None, A([1, 1, 0])), [1, 1, 1, 1, 0]),
    "MultiDiscrete, flat": (MultiDiscrete([2, 3]), A([0, 1, 1, 1, 0]), [0, 1, 1, 1, 0]),
    "MultiDiscrete, rows": (MultiDiscrete([2, 2]), A([[0, 1], [1, 0]]), [0, 1, 1, 0]),
    "matrix": (
        MultiDiscrete(A([[2, 2], [2, 1]])),
        ((A([0, 1]), A([1, 0])), (A([1, 1]), A([1]))),
        [0, 1, 1, 0, 1, 1, 1],
    ),
    "MultiBinary": (MultiBinary(3), A([0, 1, 2]), [1, 0, 0, 1, 1, 1]),
    "MultiBinary, flat": (MultiBinary(2), A([1, 0, 1, 1]), [1, 0, 1, 1]),
    "Tuple": (spaces.Tuple((Discrete(2), Discrete(2))), (A([0, 1]), None), [0, 1, 1, 1]),
    "Tuple, flat": (spaces.Tuple((Discrete(2), Discrete(2))), A([0, 1, 1, 0]), [0, 1, 1, 0]),
    "Dict": (
        NESTED,
        {"go": A([0, 1, 1]), "with_": ((A([1, 0]), A([0, 0, 1])), None)},
        [0, 1, 1, 1, 0, 0, 0, 1, 1, 1],
    ),
    "Dict, a part": (NESTED, {"go": A([0, 1, 1])}, [0, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
}
BROKEN: dict[str, tuple[spaces.Space[Any], Any, str]] = {
    "short": (Discrete(3), A([1, 0]), r"info\['action_mask'\]: shape \(2,\), the action space has \(3,\)"),
    "row": (Discrete(3), A([[1, 0, 1]]), r"shape \(1, 3\)"),
    "two": (Discrete(3), A([1, 2, 0]), r"2 at \[1\], expected 0 or 1"),
    "share": (Discrete(3), A([0.2, 0.8, 0]), r"0.2 at \[0\], expected 0 or 1"),
    "nan": (Discrete(3), A([1, np.nan, 0]), "nan"),
    "words": (Discrete(2), ["yes", "no"], "expected an array of numbers"),
    "no choice": (Discrete(3), A([0, 0, 0]), "no legal action: .* allows no choice of action"),
    "no choice of one": (MultiDiscrete([2, 2]), (A([1, 0]), A([0, 0])), "no choice of action_1"),
    "one mask of two": (MultiDiscrete([2, 2]), (A([1, 0]),), "expected a tuple of 2 masks"),
    "part": (MultiDiscrete([2, 2]), (A([1, 0]), A([1, 0, 1])), r"info\['action_mask'\]\[1\]: shape \(3,\)"),
    "bits": (MultiBinary(3), A([0, 1, 3]), "3, expected 0, 1 or 2"),
    "shape of bits": (MultiBinary(3), A([0, 1]), r"shape \(2,\), expected \(3,\)"),
    "box": (Box(0, 1, (2,)), A([1, 0]), "has no choices to mask; expected None"),
    "key": (NESTED, {"to": A([0, 1, 1])}, r"\['to'\]: no such part of the action space"),
    "no dict": (NESTED, A([0, 1, 1]), "expected a dict with go, with_"),
}


def written(space: spaces.Space[Any], mask: object) -> list[int]:
    masks = Masks(Actions(space))
    out = np.full(masks.size, 9, np.uint8)
    masks.write(masks_in(None, {"action_mask": mask}), out)
    return [int(x) for x in out]


@pytest.mark.parametrize("form", FORMS)
def test_masks_have_the_form_that_action_space_sample_takes(form: str) -> None:
    space, mask, expected = FORMS[form]
    assert written(space, mask) == expected
    assert written(space, None) == [1] * len(expected)


@pytest.mark.parametrize("form", BROKEN)
def test_a_mask_of_another_form_is_named_in_the_error(form: str) -> None:
    space, mask, message = BROKEN[form]
    with pytest.raises(ValueError, match=message):
        written(space, mask)


def test_two_masks_of_a_step_must_agree() -> None:
    masks, out = Masks(Actions(Discrete(2))), np.zeros(2, np.uint8)
    masks.write(masks_in({"action_mask": A([1, 0])}, {"action_mask": A([1, 0])}), out)
    assert out.tolist() == [1, 0]
    with pytest.raises(ValueError, match=r"info\['action_mask'\] and observation\['action_mask'\] differ"):
        masks.write(masks_in({"action_mask": A([1, 0])}, {"action_mask": A([0, 1])}), out)
    masks.write((StepMask(None, "mask"),), out)
    assert out.tolist() == [1, 1]
    assert masks_in(A([1.0]), None) == masks_in({}, {"action_mask": None}) == ()


def test_a_loaded_policy_reads_the_mask_of_the_observation() -> None:
    made = maker(registered(lambda: LegalityCheck("one", "observation")))
    face = GymnasiumFace(made)  # type: ignore[arg-type]
    seen = {"observation": A([1.0], np.float32), "action_mask": A([0, 1, 0, 0], np.int8)}
    assert face.legal(seen, None, None).tolist() == [[0, 1, 0, 0]]
    assert face.legal(seen, A([0, 1, 0, 0]), None).tolist() == [[0, 1, 0, 0]]
    both = {
        "observation": A([[1.0], [2.0]], np.float32),
        "action_mask": A([[0, 1, 0, 0], [1, 1, 0, 0]], np.int8),
    }
    assert face.legal(both, None, 2).tolist() == [[0, 1, 0, 0], [1, 1, 0, 0]]
    rows, count = face.rows(both, made.spec.observation)
    assert (rows["observation"].tolist(), count) == ([[1.0], [2.0]], 2)

"""Games written in Python under the core's search: the same trees as with the compiled game."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest

from ludus.evaluation.play import play_evaluation, rollout_player
from ludus.evaluation.settings import MatchSettings
from ludus.flow import GameSpec
from ludus.flow.positions import MatchMoves, PositionQuery
from ludus.games import spec as game_spec
from ludus.games.names import typed
from ludus.games.registry import maker
from ludus.games.searchable import HostedGames, searchable
from ludus.mcts import (
    LeafBatch,
    Matches,
    SearchConfig,
    SearchError,
    SelfPlay,
    SelfPlayConfig,
    Trees,
)
from ludus.mcts.evaluator import Floats
from ludus.native import GameError, ParamError, SearchableGames, core
from ludus.presets.errors import ConfigError

pytest.importorskip("pyspiel")

HOSTED, NATIVE = "openspiel/connect_four", "connect_four"


def boards(batch: LeafBatch, count: int) -> Sequence[bytes]:
    """Who has a stone where: own stones, then the opponent's, the highest row first.

    OpenSpiel's planes are player 0, player 1 and empty cells, the lowest row first, the same for both.
    """
    name, packed = next(iter(batch.obs.items()))
    rows = packed.view(np.uint8)
    if name == "board":
        return [r.tobytes() for r in np.unpackbits(rows[:count], axis=1, count=84, bitorder="little")]
    planes = np.unpackbits(rows[:count], axis=1, count=126, bitorder="little").reshape(count, 3, 6, 7)
    out = []
    for p in planes:
        a, b = p[0][::-1], p[1][::-1]
        own, other = (a, b) if a.sum() == b.sum() else (b, a)
        out.append(np.stack([own, other]).astype(np.uint8).tobytes())
    return out


class Opinion:
    """Uneven priors and values that depend only on the stones."""

    def __init__(self) -> None:
        self.asked: set[bytes] = set()

    def evaluate(self, batch: LeafBatch, count: int) -> tuple[Floats, Floats]:
        policy = np.zeros((count, 7), np.float32)
        value = np.zeros(count, np.float32)
        for i, board in enumerate(boards(batch, count)):
            self.asked.add(board)
            digest = hashlib.sha256(board).digest()
            policy[i] = np.frombuffer(digest[:7], np.uint8).astype(np.float32) + 1
            value[i] = digest[7] / 255 * 1.6 - 0.8
        return policy, value


def pair(config: SearchConfig, **more: object) -> tuple[Trees, Trees]:
    return tuple(  # type: ignore[return-value]
        Trees(name, {}, config, native=games, **more)  # type: ignore[arg-type]
        for name, games in (searchable(HOSTED), searchable(NATIVE))
    )


@pytest.mark.parametrize(
    "config",
    [
        SearchConfig(visits=200),
        SearchConfig(visits=160, fpu="zero", c_base=500.0, reuse_tree=False, leaves=4),
        SearchConfig(visits=120, solver=True, noise_share=0.25, cache=512),
        SearchConfig(visits=48, gumbel_moves=4),
    ],
)
def test_a_python_game_gets_the_visits_of_the_compiled_one(config: SearchConfig) -> None:
    opinions = Opinion(), Opinion()
    hosted, native = (
        Trees(name, {}, config, evaluator=opinion, slots=2, native=games)
        for (name, games), opinion in zip((searchable(HOSTED), searchable(NATIVE)), opinions, strict=True)
    )
    plies = 0
    while not native.over(0):
        for trees in (hosted, native):
            trees.run([0, 1], noise=True, seed=plies)
        for slot in (0, 1):
            a, b = hosted.root(slot), native.root(slot)
            assert (a.seat, a.visits, a.value) == (b.seat, b.visits, b.value)
            for column in ("moves", "move_visits", "prior", "mean", "policy"):
                np.testing.assert_array_equal(getattr(a, column), getattr(b, column))
            assert hosted.line(slot) == native.line(slot)
            assert hosted.consistent(slot)
        moves = [native.choose(slot, 0.5) for slot in (0, 1)]
        assert [hosted.choose(slot, 0.5) for slot in (0, 1)] == moves
        for trees in (hosted, native):
            trees.play(0, moves[0])
            trees.reset(1, seed=plies)
        plies += 1
    assert plies >= 7
    assert hosted.over(0)
    assert hosted.outcome(0) == native.outcome(0)
    assert hosted.simulations == native.simulations
    assert opinions[0].asked == opinions[1].asked


def test_rollouts_of_a_python_game_equal_the_compiled_ones() -> None:
    hosted, native = pair(SearchConfig(visits=150), evaluator="rollout", rollouts=2, seed=9)
    for trees in (hosted, native):
        for move in (3, 3, 2):
            trees.play(0, move)
        trees.run([0], seed=4)
    np.testing.assert_array_equal(hosted.root(0).move_visits, native.root(0).move_visits)
    np.testing.assert_array_equal(hosted.root(0).mean, native.root(0).mean)


def test_illegal_moves_and_strange_states_are_refused() -> None:
    hosted, _ = pair(SearchConfig(visits=10), evaluator="uniform")
    for _ in range(6):
        hosted.play(0, 2)
    before = hosted.state(0)
    with pytest.raises(GameError, match="openspiel/connect_four: move 2 is illegal"):
        hosted.play(0, 2)
    with pytest.raises(GameError, match=r"move 7 is not in \[0, 7\)"):
        hosted.play(0, 7)
    assert hosted.state(0) == before
    assert not hosted.set_state(0, core.hosted_state(1, 0, [2] * 6))  # another match: nothing is kept
    with pytest.raises(GameError, match="a state of 5 bytes"):
        hosted.set_state(0, b"state")
    with pytest.raises(GameError, match="illegal"):
        hosted.set_state(0, core.hosted_state(0, 0, [2] * 7))


def test_a_tree_is_kept_from_one_state_to_the_next() -> None:
    hosted, _ = pair(SearchConfig(visits=100), evaluator="uniform")
    hosted.set_state(0, core.hosted_state(7, 3, [3]))
    hosted.run([0])
    best = hosted.choose(0)
    answer = hosted.line(0)[1]
    kept = hosted.set_state(0, core.hosted_state(7, 3, [3, best, answer]))
    assert kept
    assert 0 < hosted.root(0).visits < 100


def test_positions_dropped_from_memory_are_replayed() -> None:
    """Other searches push a tree's positions out of memory (112 here); the search continues unchanged."""
    hosted, native = pair(SearchConfig(visits=16), evaluator="uniform", slots=2)
    for trees in (hosted, native):
        for move in (3, 2, 3):
            trees.play(0, move)
        trees.run([0], visits=8)
        for match in range(12):
            trees.reset(1, seed=1, match=match)
            trees.play(1, match % 7)
            trees.run([1])
        trees.run([0])
        trees.play(0, trees.choose(0))
    np.testing.assert_array_equal(hosted.root(0).move_visits, native.root(0).move_visits)
    assert hosted.simulations == native.simulations


def test_self_play_gives_the_same_matches_and_their_positions_are_found_again() -> None:
    config, plays = SearchConfig(visits=8, noise_share=0.25), SelfPlayConfig(slots=3, temperature_plies=8)
    found = []
    for name, games in (searchable(HOSTED), searchable(NATIVE)):
        play = SelfPlay(name, {}, config, plays, evaluator="uniform", seed=3, native=games)
        matches: list[Matches] = []
        while sum(len(g) for g in matches) < 6:
            play.step(64)
            matches.append(play.take_matches())
        found.append(Matches.join(matches))
    hosted, native = found
    for column, values in native.columns().items():
        np.testing.assert_array_equal(hosted.columns()[column], values, err_msg=column)
    wanted = np.array([0, 3, 5], np.int32)
    masks = []
    for name, games in (searchable(HOSTED), searchable(NATIVE)):
        spec = game_spec(name)
        batch, mask = LeafBatch(spec, 3), np.zeros((3, spec.mask_size), np.uint8)
        plies = int(native.plies[0])
        actions = np.ascontiguousarray(native.action[:plies])
        query = PositionQuery(
            MatchMoves(native.match[:1], actions, np.array([0, plies])),
            first=np.array([0, 3]),
            wanted=wanted,
            rows=np.array([2, 0, 1], np.int32),
        )
        games.read_positions(name, {}, 3, query, list(batch.arrays()), mask)
        masks.append(([boards(batch, 3)], mask))
    np.testing.assert_array_equal(masks[0][1], masks[1][1])
    assert masks[0][0] == masks[1][0]


@pytest.mark.parametrize(
    ("game", "why"),
    [
        ("openspiel/kuhn_poker", "hidden information"),
        ("openspiel/backgammon", "chance"),
        ("openspiel/goofspiel", "at the same time"),
        (typed("tests.unit.pool.hosted_games:Duel"), r"Duel has no clone\(\)"),
    ],
)
def test_games_that_cannot_be_searched_are_refused(game: str, why: str) -> None:
    name, games = searchable(game)
    with pytest.raises(SearchError, match=why):
        Trees(name, {}, SearchConfig(visits=4), native=games)


def test_searched_players_meet_in_evaluations() -> None:
    spec: GameSpec = game_spec(HOSTED)
    strong, weak = (rollout_player(f"mcts:{n}", spec, {}, n) for n in (200, 2))
    result, matches = play_evaluation(spec, {}, strong, weak, MatchSettings(matches=12, seed=1))
    assert result.errors == 0
    assert result.matches == 12
    assert result.counts[0] >= 10
    assert {m.plan_of_seat[0] for m in matches} == {0, 1}
    poker = game_spec("openspiel/kuhn_poker")
    with pytest.raises(ConfigError, match="hidden information"):
        play_evaluation(
            poker, {}, rollout_player("mcts:4", poker, {}, 1), weak, MatchSettings(matches=2, seed=1)
        )


def test_the_search_module_of_a_game_is_found_by_its_name() -> None:
    assert isinstance(searchable(HOSTED).games, HostedGames)
    native: SearchableGames = searchable(NATIVE).games
    assert native is core
    with pytest.raises(ParamError, match="did you mean connect_four"):
        searchable("conect_four")
    assert maker(HOSTED, {}).spec.deterministic
    assert not maker("openspiel/backgammon", {}).spec.deterministic

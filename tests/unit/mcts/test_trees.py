"""Trees, self-play and searched players from Python; the tree itself is tested in C++."""

from __future__ import annotations

from typing import get_args

import msgspec
import numpy as np
import pytest
import torch

from ludus.evaluation.play import MatchPlayer, play_evaluation, rollout_player
from ludus.evaluation.settings import MatchSettings
from ludus.games import spec as game_spec
from ludus.games.connect_four import Solver, random_positions
from ludus.mcts import (
    LeafBatch,
    Matches,
    SearchConfig,
    SearchError,
    SearchPlayer,
    SearchText,
    SelfPlay,
    SelfPlayConfig,
    Trees,
    UniformEvaluator,
    parse_search,
)
from ludus.mcts.network import NetworkEvaluator
from ludus.mcts.text import Seen, is_search
from ludus.policies.config import EncoderConfig, ResnetConfig
from ludus.policies.factory import build_network
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.layers.symmetry import Symmetries
from ludus.presets.errors import ConfigError

GAME = "connect_four"


def test_an_evaluator_in_python_finds_what_the_core_finds() -> None:
    spec = game_spec(GAME)
    here = Trees(GAME, config=SearchConfig(visits=300), evaluator=UniformEvaluator(spec), slots=3)
    core = Trees(GAME, config=SearchConfig(visits=300), evaluator="uniform", slots=3)
    for trees in (here, core):
        for slot in range(3):
            trees.reset(slot, seed=1, match=slot)
            for move in (3, 3, 2)[: slot + 1]:
                trees.play(slot, move)
        trees.run(range(3))
    for slot in range(3):
        a, b = here.root(slot), core.root(slot)
        np.testing.assert_array_equal(a.move_visits, b.move_visits)
        assert a.visits == 300 == a.move_visits.sum() + 1
        assert here.consistent(slot)
        assert here.line(slot)[0] in a.moves
    # Seat 0 has two stones in a row below: one move makes three with both ends open, and wins.
    assert here.simulations == core.simulations == 900


def test_a_trees_proofs_equal_the_solvers_values() -> None:
    """Connect Four late: random matches as leaves, outcomes proven from the ends."""
    solver, most = Solver(16), 3000
    trees = Trees(GAME, config=SearchConfig(visits=most, solver=True), evaluator="rollout")
    seen: list[float] = []
    for columns in random_positions((28, 34), 40, seed=5):
        trees.reset(0, seed=1)
        for column in columns:
            trees.play(0, column)
        trees.run([0])
        root = trees.root(0)
        if root.visits == most:
            continue
        assert root.value == solver.value(columns)
        assert trees.consistent(0)
        values = solver.values(columns)
        assert all(values[m] == root.value for m, p in zip(root.moves, root.policy, strict=True) if p > 0)
        assert values[trees.choose(0)] == root.value
        seen.append(root.value)
    assert len(seen) >= 20
    assert set(seen) >= {-1.0, 1.0}


def test_a_win_in_one_is_played_and_the_end_is_reported() -> None:
    trees = Trees(GAME, config=SearchConfig(visits=100), evaluator="rollout", seed=3)
    for move in (0, 6, 0, 6, 0, 6):
        trees.play(0, move)
    trees.run([0])
    assert trees.choose(0) == 0
    assert trees.root(0).value > 0.5
    trees.play(0, 0)
    assert trees.over(0)
    assert trees.outcome(0) == (1.0, -1.0)
    with pytest.raises(SearchError, match="over"):
        trees.run([0])
    with pytest.raises(SearchError, match="slot 1, expected 0 to 0"):
        trees.run([1])


def test_a_search_ends_when_it_is_asked_to() -> None:
    trees = Trees("tic_tac_toe", config=SearchConfig(visits=1_000_000))
    asked = iter([False, False, True])
    trees.run([0], until=lambda: next(asked))
    assert 0 < trees.root(0).move_visits.sum() < 100_000
    assert next(asked, None) is None


def test_seconds_end_a_search() -> None:
    trees = Trees(GAME, config=SearchConfig(visits=1 << 20), evaluator=UniformEvaluator(game_spec(GAME)))
    trees.run([0], seconds=0.05)
    assert 1 <= trees.root(0).visits < 1 << 20
    assert trees.consistent(0)


def test_games_that_cannot_be_searched_are_refused() -> None:
    with pytest.raises(SearchError, match="at the same time"):
        Trees("minirts")
    with pytest.raises(ValueError, match="evaluator 'netwrk'"):
        Trees(GAME, evaluator="netwrk")
    spec = game_spec("minirts")
    bot = MatchPlayer("simple", bot="simple")
    with pytest.raises(ConfigError, match="at the same time"):
        play_evaluation(
            spec, {}, rollout_player("mcts:10", spec, {}, 1), bot, MatchSettings(matches=2, seed=1)
        )


def test_texts_of_searches_are_parsed() -> None:
    assert is_search("mcts:4")
    assert not is_search("mctsx")
    assert parse_search("runs/a@best+search:64,c_puct=2,temperature=0") == (
        "runs/a@best",
        SearchText(SearchConfig(visits=64, c_puct=2.0, noise_share=0.0), temperature=0.0),
    )
    assert parse_search("mcts:7,rollouts=3,seconds=1.5")[1].rollouts == 3
    assert parse_search("runs/a@best+search:64,symmetries=all")[1].symmetries == "all"
    for wrong, message in (
        ("mcts:many", "expected an integer"),
        ("mcts:4,cpuct=1", "did you mean c_puct"),
        ("mcts:0", ">= 1"),
        ("mcts:9,symmetries=all", "symmetries are for networks"),
        ("a@best+search:9,symmetries=some", "symmetries"),
        ("a+searching:4", "expected mcts:VISITS"),
        ("mcts:4,seconds=-1", "out of range"),
    ):
        with pytest.raises(ValueError, match=message):
            parse_search(wrong)


def test_a_search_beats_chance_and_keeps_its_tree_between_its_moves() -> None:
    spec = game_spec(GAME)
    player = rollout_player("mcts:60", spec, {}, 5)
    result, played = play_evaluation(
        spec, {}, player, MatchPlayer("random", bot="random"), MatchSettings(matches=20, seed=2)
    )
    assert result.counts[0] >= 18
    assert all(not r.error for r in played)

    one = SearchPlayer(GAME, {}, parse_search("mcts:200")[1], seed=1)
    found = one.decide([0])[0]
    assert found.line[0] == found.move
    one.play(0, found.move)
    one.play(0, 3)
    assert 1 <= one.trees.root(0).visits < 200


def test_self_play_is_recorded_whole_and_bad_records_are_refused() -> None:
    spec = game_spec(GAME)
    play = SelfPlay(
        GAME,
        {},
        SearchConfig(visits=16, cache=1024),
        SelfPlayConfig(slots=8, full_share=0.5, cheap_visits=4),
        evaluator=UniformEvaluator(spec),
        seed=1,
    )
    play.set_version(7)
    games = Matches.empty()
    while len(games) < 12:
        play.step()
        games = Matches.join([games, play.take_matches()])
    checked = Matches.check(games.columns(), spec.mask_size)
    assert len(checked) >= 12
    assert (checked.version == 7).all()
    assert play.cache_counts[1] > 0
    columns = games.columns()
    for name, value, message in (
        ("action", games.action + 7, "outside"),
        ("plies", games.plies + 1, "entries, expected"),
        ("value", np.full_like(games.value, np.nan), "values lie in"),
        ("outcome", games.outcome * 2 + 3, "outcomes"),
        ("seat", games.seat.astype(np.int64), "is int64"),
    ):
        with pytest.raises(ValueError, match=message):
            Matches.check({**columns, name: value}, spec.mask_size)
    with pytest.raises(ValueError, match="no column value"):
        Matches.check({n: a for n, a in columns.items() if n != "value"}, spec.mask_size)


@pytest.mark.parametrize(("policy_planes", "value_planes"), [(2, 1), (5, 3)])
@pytest.mark.parametrize("name", ["connect_four", "tic_tac_toe"])
def test_a_network_gives_equal_outputs_in_every_mode(
    name: str, policy_planes: int, value_planes: int
) -> None:
    spec = game_spec(name)
    config = ResnetConfig(
        blocks=2, filters=16, value_hidden=16, policy_planes=policy_planes, value_planes=value_planes
    )
    network = build_network(config, spec, seed=3)
    shapes = {n: tuple(p.shape) for n, p in network.named_parameters()}
    cells = spec.observation[0].shape[-1] * spec.observation[0].shape[-2]
    assert shapes["policy_head.weight"] == (spec.heads[0].size, policy_planes * cells)
    assert shapes["value_inner.weight"] == (16, value_planes * cells)
    with torch.no_grad():
        for p in network.parameters():  # statistics and scales that are not trivial
            p.add_(torch.randn(p.shape, generator=torch.Generator().manual_seed(1)) * 0.05)
    batch = LeafBatch(spec, 8)
    random = np.random.default_rng(1)
    for array in batch.obs.values():
        array[...] = random.integers(0, 256, array.shape)
    obs = {n: torch.from_numpy(a) for n, a in batch.obs.items()}
    step = network.step(obs)
    policy, value = NetworkEvaluator(network).evaluate(batch, 8)
    np.testing.assert_allclose(policy, torch.softmax(step.logits, 1).numpy(), atol=1e-5)
    np.testing.assert_allclose(value, step.value.numpy(), atol=1e-5)
    half, _ = NetworkEvaluator(network, "bfloat16").evaluate(batch, 8)
    np.testing.assert_allclose(policy, half, atol=0.03)
    whole = NetworkEvaluator(network, rows=8)  # compiled for batches of 8, right for all
    for count in (8, 5, 8):
        fused, fused_value = whole.evaluate(batch, count)
        np.testing.assert_allclose(policy[:count], fused, atol=1e-5)
        np.testing.assert_allclose(value[:count], fused_value, atol=1e-5)


@pytest.mark.parametrize("name", ["connect_four", "tic_tac_toe"])
def test_all_symmetries_give_equal_outputs_for_a_board_and_its_mirror_image(name: str) -> None:
    spec = game_spec(name)
    network = build_network(ResnetConfig(blocks=1, filters=8, value_hidden=8), spec, seed=3)
    with torch.no_grad():
        for p in network.parameters():
            p.add_(torch.randn(p.shape, generator=torch.Generator().manual_seed(1)) * 0.2)
    symmetries = Symmetries(spec)
    batches = [LeafBatch(spec, 1), LeafBatch(spec, 1)]
    for k, batch in enumerate(batches):
        trees = Trees(name, evaluator=(recorder := _Recorder(spec)))
        for move in (0, 1, 2):
            trees.play(0, int(symmetries.choice[k][move]))
        trees.run([0], visits=1)
        for tensor, array in batch.obs.items():
            array[...] = recorder.seen[tensor]
    found = {
        seen: [NetworkEvaluator(network, symmetries=seen).evaluate(b, 1) for b in batches]
        for seen in get_args(Seen)
    }
    back = symmetries.choice[1]
    assert not np.allclose(found["one"][0][0], found["one"][1][0][:, back], atol=1e-3)
    np.testing.assert_allclose(found["all"][0][0], found["all"][1][0][:, back], atol=1e-5)
    np.testing.assert_allclose(found["all"][0][1], found["all"][1][1], atol=1e-5)
    if symmetries.count == 2:  # as it is and mirrored
        both = (found["one"][0][0] + found["one"][1][0][:, back]) / 2
        np.testing.assert_allclose(found["all"][0][0], both, atol=1e-5)
    with pytest.raises(ValueError, match=r"symmetries=all is for residual networks \(policy.network"):
        NetworkEvaluator(build_network(EncoderConfig(), spec), symmetries="all")


@pytest.mark.parametrize("name", ["connect_four", "tic_tac_toe", "gomoku"])
def test_symmetries_turn_moves_as_they_turn_boards(name: str) -> None:
    """A move and then a turn is a turn and then the turned move, on the game itself."""
    spec = game_spec(name)
    symmetries = Symmetries(spec)
    assert symmetries.count == (2 if name == "connect_four" else 8)
    random = np.random.default_rng(2)
    moves = [int(m) for m in random.permutation(spec.heads[0].size)[:4]]

    def planes(played: list[int]) -> torch.Tensor:
        trees = Trees(name, evaluator=(recorder := _Recorder(spec)))
        for move in played:
            trees.play(0, move)
        trees.run([0], visits=1)
        network = build_network(ResnetConfig(blocks=1, filters=4), spec)
        assert isinstance(network, ResidualNetwork)
        return network.boards({n: torch.from_numpy(a) for n, a in recorder.seen.items()})

    plain = planes(moves)
    for k in range(symmetries.count):
        turned = planes([int(symmetries.choice[k][m]) for m in moves])
        torch.testing.assert_close(symmetries.planes(plain, k), turned)
        policy = torch.rand(1, spec.heads[0].size)
        torch.testing.assert_close(symmetries.from_turned(symmetries.to_turned(policy, k), k), policy)
    turns = torch.tensor([*range(symmetries.count), 0, symmetries.count - 1])
    each = symmetries.each(turns)
    boards, policies = torch.rand(len(turns), *plain.shape[1:]), torch.rand(len(turns), spec.heads[0].size)
    cells = torch.arange(float(boards[:, 0].numel())).reshape(len(turns), -1)
    for row, k in enumerate(turns.tolist()):
        own = slice(row, row + 1)
        torch.testing.assert_close(each.planes(boards)[own], symmetries.planes(boards[own], k))
        torch.testing.assert_close(each.policy(policies)[own], symmetries.to_turned(policies[own], k))
        torch.testing.assert_close(each.cells(cells)[own], symmetries.cells(cells[own], k))


class _Recorder(UniformEvaluator):
    def evaluate(self, batch: LeafBatch, count: int) -> tuple[np.ndarray, np.ndarray]:
        self.seen = {n: a[:count].copy() for n, a in batch.obs.items()}
        return super().evaluate(batch, count)


def test_configurations_survive_json() -> None:
    config = SearchConfig(visits=12, gumbel_moves=4, fpu="loss")
    assert msgspec.json.decode(msgspec.json.encode(config), type=SearchConfig) == config

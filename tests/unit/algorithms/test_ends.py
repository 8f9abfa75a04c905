"""Ownership and score: what matches teach of their ends, and the heads that learn it."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
import torch

from ludus.algorithms.alphazero.learner import AlphaZeroLearner
from ludus.algorithms.alphazero.loss import SCORE_DELTA, ends_loss
from ludus.algorithms.alphazero.replay_buffer import ReplayBuffer
from ludus.algorithms.alphazero.samples import Ends, Positions
from ludus.algorithms.config import AlphaZeroConfig
from ludus.algorithms.learner import LearnerContext
from ludus.flow import GameSpec, Weights
from ludus.flow.positions import MatchMoves, PositionQuery
from ludus.flow.slab import Array
from ludus.games import spec as game_spec
from ludus.games.names import typed
from ludus.games.searchable import searchable
from ludus.mcts import (
    NEVER_RESIGN,
    Matches,
    MatchNumbers,
    SearchConfig,
    SearchError,
    SelfPlay,
    SelfPlayConfig,
    Trees,
)
from ludus.native import core
from ludus.policies.config import ResnetConfig
from ludus.policies.factory import build_network
from ludus.policies.inference import Inference, _Folded
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.layers.symmetry import Symmetries
from ludus.policies.weights import build_policy, load_weights, save_weights
from tests.unit.synthetic import tower

PARAMS = {"size": "5", "komi": "0.5"}
SPEC: GameSpec = game_spec("go", PARAMS)
PASS = 25
PLAIN = ResnetConfig(blocks=1, filters=8, value_hidden=8)
HEADS = msgspec.structs.replace(PLAIN, ownership=True, score=True)

# Black c1 to c5, White d1 to d4 and e5: d5 touches both and has no owner.
MATCH = [22, 23, 17, 18, 12, 13, 7, 8, 2, 4, PASS, PASS]
OWNERS = [
    [1, 1, 1, 0, -1],
    [1, 1, 1, -1, -1],
    [1, 1, 1, -1, -1],
    [1, 1, 1, -1, -1],
    [1, 1, 1, -1, -1],
]
POINTS = 15 - 9 - 0.5


def recorded(*matches: list[int]) -> Matches:
    """Matches of Go with these moves, every position to be learned."""
    plies = [len(m) for m in matches]
    action = np.concatenate(matches).astype(np.uint16)
    count = len(action)
    return Matches(
        match=np.arange(len(matches), dtype=np.uint64),
        plies=np.array(plies, np.int32),
        outcome=np.ones(len(matches), np.float32),
        resigned=np.zeros(len(matches), np.uint8),
        never_resign=np.zeros(len(matches), np.uint8),
        lowest_winner=np.zeros(len(matches), np.float32),
        action=action,
        seat=np.concatenate([np.arange(n) % 2 for n in plies]).astype(np.uint8),
        full=np.ones(count, np.uint8),
        value=np.zeros(count, np.float32),
        version=np.zeros(count, np.int32),
        targets=np.ones(count, np.uint16),
        target_move=action,
        target_share=np.full(count, 65535, np.uint16),
    )


def ends_of(games: Matches, params: dict[str, str] | None = None) -> Ends:
    ends = Ends.empty(len(games), 25)
    offset = np.concatenate([[0], np.cumsum(games.plies, dtype=np.int64)])
    moves = MatchMoves(games.match, games.action, offset)
    core.read_ends("go", PARAMS | (params or {}), 1, moves, ends)
    return ends


def lead(query: PositionQuery) -> tuple[dict[str, Array], npt.NDArray[np.uint8]]:
    planes = np.zeros((len(query.rows), *SPEC.observation[0].packed_shape), np.uint8)
    mask = np.zeros((len(query.rows), SPEC.mask_size), np.uint8)
    core.read_positions("go", PARAMS, 1, query, [planes], mask)
    return {"planes": planes}, mask


def test_finished_matches_have_owners_and_others_have_none() -> None:
    ends = ends_of(recorded(MATCH, MATCH[:-1], MATCH))
    np.testing.assert_array_equal(ends.counted, [1, 0, 1])
    for i in (0, 2):
        np.testing.assert_array_equal(ends.ownership[i].reshape(5, 5), OWNERS)
        assert ends.score[i] == POINTS
    assert not ends.ownership[1].any()
    assert ends.score[1] == 0.0
    # The last choice gives up: the match is over and was not counted.
    resigned = ends_of(recorded([*MATCH[:-1], PASS + 1]), {"resignation": "on"})
    np.testing.assert_array_equal(resigned.counted, [0])


def played(count: int, *, first: int = 0, resign: float = NEVER_RESIGN) -> Matches:
    plays = SelfPlayConfig(slots=16, never_resign_share=0.3)
    play = SelfPlay(
        "go", PARAMS, SearchConfig(visits=8), plays, evaluator="rollout", seed=1, numbers=MatchNumbers(first)
    )
    play.set_resign(resign)
    games = Matches.empty()
    while len(games) < count:
        play.step(64)
        games = Matches.join([games, play.take_matches()])
    return games


def test_resigned_matches_have_no_end_targets() -> None:
    games = played(60, resign=-0.3)
    ends = ends_of(games)
    assert 5 < games.resigned.sum() < len(games) - 5
    np.testing.assert_array_equal(ends.counted, 1 - games.resigned)
    whole = ends.counted == 1
    np.testing.assert_array_equal(np.sign(ends.score[whole]), games.outcome[whole])
    area = ends.ownership.sum(axis=1, dtype=np.float32)
    np.testing.assert_array_equal(ends.score[whole], area[whole] - 0.5)
    assert len(np.unique(ends.score[whole])) > 5


def test_games_that_count_no_owners_are_refused() -> None:
    with pytest.raises(SearchError, match="ply 1"):
        ends_of(recorded([0, 0]))
    with pytest.raises(SearchError, match="the match is over"):
        ends_of(recorded([*MATCH, 0]))
    games, wrong = recorded(MATCH), Ends.empty(1, 24)
    offset = np.array([0, len(MATCH)])
    with pytest.raises(SearchError, match=r"ownership \[1, 25\]"):
        core.read_ends("go", PARAMS, 1, MatchMoves(games.match, games.action, offset), wrong)
    ends = Ends.empty(1, 0)
    for name in ("tic_tac_toe", typed("tests.unit.pool.hosted_games:Duel")):
        reference, module = searchable(name)
        moves = MatchMoves(games.match, np.zeros(1, np.uint16), np.array([0, 1]))
        with pytest.raises(SearchError, match="does not count who owns what"):
            module.read_ends(reference, {}, 1, moves, ends)


def test_targets_are_of_the_seat_that_decides() -> None:
    window = ReplayBuffer(AlphaZeroConfig(window_matches_min=1, window_share=1.0), SPEC.mask_size)
    for number, games in enumerate([recorded(MATCH), recorded(MATCH[:-1], MATCH)]):
        window.add(number, games, ends_of(games))
    drawn = window.draw(600, np.random.default_rng(1), lead)
    assert drawn.ends is not None
    # Planes 16 and 17 say whether Black or White decides.
    planes = np.unpackbits(drawn.obs["planes"].astype(np.uint8), axis=1, bitorder="little")[:, : 18 * 25]
    black = planes.reshape(-1, 18, 25)[:, 16, 0] == 1
    counted = drawn.ends.counted == 1
    assert 0.5 < counted.mean() < 0.9
    for seat, sign in ((black, 1), (~black, -1)):
        rows = seat & counted
        assert rows.sum() > 100
        assert (drawn.ends.ownership[rows] == sign * np.array(OWNERS).reshape(-1)).all()
        assert (drawn.ends.score[rows] == sign * POINTS).all()
        assert (drawn.value[seat] == sign).all()
    assert not drawn.ends.ownership[~counted].any()
    part = drawn.take(slice(3, 9)).ends
    assert part is not None
    np.testing.assert_array_equal(part.ownership, drawn.ends.ownership[3:9])


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_score_share_mixes_the_margin_into_the_value(share: float) -> None:
    """In the targets of matches that were counted, and in a search that comes to the end of one."""
    worth = (1 - share) * 1.0 + share * POINTS / 25
    window = ReplayBuffer(AlphaZeroConfig(window_matches_min=1, value_mix=0.5), SPEC.mask_size, share)
    games = recorded(MATCH[:-1], MATCH)
    games.value[:] = 0.125  # values of the searches; the other half of the target
    window.add(0, games, ends_of(games))
    drawn = window.draw(600, np.random.default_rng(1), lead)
    assert drawn.ends is not None
    counted = drawn.ends.counted == 1
    sign = np.sign(drawn.value - 0.0625)  # of seat 0's win
    assert 200 < counted.sum() < 400
    assert 200 < (sign > 0).sum() < 400
    expected = np.where(counted, worth, 1.0) * sign
    np.testing.assert_allclose(drawn.value, 0.5 * expected + 0.0625, rtol=1e-6)

    trees = Trees("go", PARAMS, SearchConfig(visits=300, score_share=share), evaluator="rollout")
    for move in MATCH[:-1]:
        trees.play(0, move)
    trees.run([0])
    root = trees.root(0)
    assert root.seat == 1
    ends = int(np.flatnonzero(root.moves == PASS)[0])
    assert root.move_visits[ends] > 0
    assert root.mean[ends] == pytest.approx(-worth, rel=1e-5)  # a mean of equal float32


def test_the_margin_counts_at_most_as_much_as_the_board() -> None:
    games = recorded(MATCH)
    params = {"komi": "-40"}  # Black leads by more than all 25 points
    window = ReplayBuffer(AlphaZeroConfig(window_matches_min=1), SPEC.mask_size, 0.5)
    window.add(0, games, ends_of(games, params))
    assert set(window.draw(50, np.random.default_rng(1), lead).value) == {1.0, -1.0}
    trees = Trees("go", PARAMS | params, SearchConfig(visits=50, score_share=0.5), evaluator="rollout")
    for move in MATCH[:-1]:
        trees.play(0, move)
    trees.run([0])
    assert trees.root(0).mean.min() == -1.0


def test_a_search_for_the_margin_is_refused_where_it_means_nothing() -> None:
    for game, config, message in (
        ("tic_tac_toe", SearchConfig(score_share=0.5), "score_share needs a game that is counted"),
        ("go", SearchConfig(score_share=0.5, solver=True), "score_share goes without solver"),
    ):
        with pytest.raises(SearchError, match=message):
            Trees(game, {}, config, evaluator="rollout")


def test_rotated_matches_have_rotated_ends() -> None:
    symmetries = Symmetries(SPEC)
    plain = torch.from_numpy(ends_of(recorded(MATCH)).ownership)
    different = set()
    for k in range(8):
        turned = ends_of(recorded([int(symmetries.choice[k][m]) for m in MATCH]))
        np.testing.assert_array_equal(symmetries.cells(plain, k).numpy(), turned.ownership)
        different.add(turned.ownership.tobytes())
    assert len(different) == 8


def test_the_loss_is_a_mean_over_cells_and_a_sum_over_counted_samples() -> None:
    random = np.random.default_rng(1)
    logits = random.normal(size=(6, 25)) * 3
    owner = random.integers(-1, 2, (6, 25)).astype(np.int8)
    points, target = random.normal(size=6) * 5, np.array([3.0, -40.0, 0.5, 30.0, 1.0, -2.0])
    counted = np.array([1, 1, 0, 1, 0, 1], np.uint8)
    owned = huber = 0.0
    for i in np.flatnonzero(counted):
        for cell in range(25):
            p = 1.0 / (1.0 + math.exp(-logits[i, cell]))
            share = (1 + owner[i, cell]) / 2
            owned -= (share * math.log(p) + (1 - share) * math.log(1 - p)) / 25
        error = abs(points[i] - target[i])
        huber += 0.5 * error**2 if error <= SCORE_DELTA else SCORE_DELTA * (error - 0.5 * SCORE_DELTA)
    targets = (torch.from_numpy(owner), torch.tensor(target, dtype=torch.float32), torch.from_numpy(counted))
    floats = torch.tensor(logits, dtype=torch.float32), torch.tensor(points, dtype=torch.float32)
    loss = ends_loss(*floats, *targets, 1.5, 0.01)
    assert float(loss.numbers["loss/ownership"]) == pytest.approx(owned, rel=1e-5)
    assert float(loss.numbers["loss/score"]) == pytest.approx(huber, rel=1e-5)
    assert float(loss.total) == pytest.approx(1.5 * owned + 0.01 * huber, rel=1e-5)
    assert float(ends_loss(floats[0], None, *targets, 1.5, 0.01).total) == pytest.approx(
        1.5 * owned, rel=1e-5
    )
    assert float(ends_loss(None, floats[1], *targets, 1.5, 0.01).total) == pytest.approx(
        0.01 * huber, rel=1e-5
    )


def positions(count: int, seed: int = 1, *, counted: bool = True) -> Positions:
    """Random boards of which a seat will own its stones and nothing else."""
    random = np.random.default_rng(seed)
    planes = np.zeros((count, 18, 25), np.uint8)
    own = random.random((count, 25)) < 0.4
    planes[:, 0] = own
    planes[:, 16] = 1
    policy = np.full((count, 26), 1 / 26, np.float32)
    ends = Ends(
        np.full(count, int(counted), np.uint8),
        np.where(own, 1, -1).astype(np.int8),
        (2.0 * own.sum(axis=1) - 25).astype(np.float32),
    )
    packed = np.packbits(planes.reshape(count, -1), axis=1, bitorder="little")
    ones = np.ones((count, 26), np.uint8)
    return Positions({"planes": packed}, ones, policy, np.zeros(count, np.float32), ends)


def learner(policy: ResnetConfig, threads: int = 1, **changes: object) -> AlphaZeroLearner:
    plain: dict[str, object] = {"batch_size": 64, "learning_rate_schedule": "constant", "learning_rate": 0.05}
    config = msgspec.convert(plain | changes | {"name": "alphazero"}, AlphaZeroConfig)
    return AlphaZeroLearner(config, tower(policy, SPEC), LearnerContext(1, workers=threads))


def test_heads_learn_and_targets_turn_with_the_board() -> None:
    """Whose a cell will be is to be read off the same cell: it cannot be learned if only one is turned."""
    own = learner(HEADS, 2)
    data = positions(512)
    first = own.learn(data, 0.0)
    for _ in range(12):
        last = own.learn(data, 0.0)
    own.close()
    assert last.numbers["learner/counted"] == 512
    assert last.numbers["loss/ownership"] < 0.1 < first.numbers["loss/ownership"]
    assert last.numbers["loss/score"] < 0.5 * first.numbers["loss/score"]


def test_ends_learned_from_some_matches_predict_those_of_others() -> None:
    window, own = ReplayBuffer(AlphaZeroConfig(window_matches_min=1), SPEC.mask_size), learner(HEADS)
    games, others = played(300), played(200, first=1 << 40)
    window.add(0, games, ends_of(games))
    random = np.random.default_rng(1)
    unseen = ReplayBuffer(window.config, SPEC.mask_size)
    unseen.add(0, others, ends_of(others))
    held = unseen.draw(512, random, lead)
    before = ownership_and_score_loss(own, held)
    for _ in range(12):
        own.learn(window.draw(1024, random, lead), 0.0)
    after = ownership_and_score_loss(own, held)
    assert before[0] == pytest.approx(math.log(2), abs=0.05)
    assert after[0] < 0.6
    assert after[1] < 0.8 * before[1]


def ownership_and_score_loss(own: AlphaZeroLearner, data: Positions) -> tuple[float, float]:
    """Means over ``data`` of a network with the learner's weights, which are left alone."""
    network = own._replicas[0]
    assert data.ends is not None
    with torch.no_grad():
        out = network.learned(network.boards({"planes": torch.from_numpy(data.obs["planes"])}))
        loss = ends_loss(
            out.ownership,
            out.score,
            torch.from_numpy(data.ends.ownership),
            torch.from_numpy(data.ends.score),
            torch.from_numpy(data.ends.counted),
            1.0,
            1.0,
        )
    count = int(data.ends.counted.sum())
    return float(loss.numbers["loss/ownership"]) / count, float(loss.numbers["loss/score"]) / count


def test_the_gradient_is_the_mean_over_counted_samples() -> None:
    own = learner(HEADS, symmetries=False)
    data = positions(64)
    assert data.ends is not None
    data.ends.counted[20:] = 0
    reference = own._replicas[0]
    planes = reference.boards({"planes": torch.from_numpy(data.obs["planes"])})
    out = reference.learned(planes)
    assert out.ownership is not None
    assert out.score is not None
    share = torch.from_numpy(data.ends.ownership[:20]).float() * 0.5 + 0.5
    owned = torch.nn.functional.binary_cross_entropy_with_logits(out.ownership[:20], share)
    points = torch.nn.functional.huber_loss(
        out.score[:20], torch.from_numpy(data.ends.score[:20]), delta=SCORE_DELTA
    )
    heads = [n for n, _ in own.network.named_parameters() if n.startswith(("ownership", "score"))]
    assert heads == ["ownership_plane.weight", "ownership_plane.bias", "score_head.weight", "score_head.bias"]
    named = dict(reference.named_parameters())
    wanted = torch.autograd.grad(1.5 * owned + 0.0015 * points, [named[n] for n in heads])
    own._differentiate(data)
    own._apply(64, 0.0)
    found = own.parameters.named(own._gradients[0])
    for name, gradient in zip(heads, wanted, strict=True):
        assert float(gradient.abs().max()) > 0.0
        # weight decay is added to matrices
        if gradient.dim() > 1:
            gradient = gradient + own.config.weight_decay * named[name].detach()
        torch.testing.assert_close(torch.from_numpy(found[name]), gradient, rtol=1e-4, atol=1e-6)


def test_without_counted_samples_the_other_heads_learn_what_they_learned_before() -> None:
    """Random draws do not move, and the heads change no initial weights of others."""
    plain, heads, unasked = learner(PLAIN, 2), learner(HEADS, 2), learner(PLAIN, 2)
    data = positions(128, counted=False)
    of_ends = {"learner/counted", "loss/ownership", "loss/score"}
    assert not of_ends & set(heads.learn(data, 0.0).numbers)
    stats = plain.learn(Positions(data.obs, data.mask, data.policy, data.value), 0.0)
    assert not of_ends & set(stats.numbers)
    # Targets that no head asks for change nothing either.
    assert not of_ends & set(unasked.learn(positions(128), 0.0).numbers)
    with_heads = heads.parameters.named(heads.parameters.vector)
    for other in (plain, unasked):
        for name, array in other.parameters.named(other.parameters.vector).items():
            np.testing.assert_array_equal(array, with_heads[name])
    for each in (plain, heads, unasked):
        each.close()


def test_a_learner_with_heads_continues_bit_equal() -> None:
    own, other = (learner(HEADS, 2) for _ in range(2))
    data = positions(128)
    own.learn(data, 0.0)
    own.publish(data)
    other.load_state(*own.state())
    own.learn(data, 0.0)
    other.learn(data, 0.0)
    assert torch.equal(own.parameters.vector, other.parameters.vector)
    with pytest.raises(ValueError, match=r"no array 'ownership_plane.weight'"):
        other.load_state(*learner(PLAIN, 2).state())
    own.close()
    other.close()


def test_a_search_evaluates_policy_and_value_alone() -> None:
    plain, heads = build_network(PLAIN, SPEC, 3), build_network(HEADS, SPEC, 3)
    assert isinstance(plain, ResidualNetwork)
    assert isinstance(heads, ResidualNetwork)
    planes = torch.rand(4, 18, 5, 5)
    for network in (plain, heads):
        network.measure([planes])
    for a, b in zip(Inference(plain)(planes), Inference(heads)(planes), strict=True):
        assert torch.equal(a, b)
    names = [[n for n, _ in _Folded(network).named_parameters()] for network in (plain, heads)]
    assert names[0] == names[1]


@pytest.mark.parametrize("rows", [0, 4])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_an_empty_batch_has_empty_answers(precision: str, rows: int) -> None:
    network = build_network(PLAIN, SPEC, 3)
    assert isinstance(network, ResidualNetwork)
    policy, value = Inference(network, precision, rows)(torch.rand(0, 18, 5, 5))
    assert policy.shape == (0, 26)
    assert value.shape == (0,)


def test_weights_with_and_without_heads_load(tmp_path: Path) -> None:
    own = learner(HEADS)
    save_weights(own.weights(), tmp_path / "heads.safetensors")
    network = build_policy(load_weights(tmp_path / "heads.safetensors"))
    assert "score_head.weight" in network.state_dict()
    old = learner(PLAIN).weights()
    architecture = msgspec.json.decode(old.meta.architecture)
    spec = msgspec.json.decode(old.meta.spec)
    del architecture["ownership"], architecture["score"], spec["counted_cells"]
    meta = msgspec.structs.replace(
        old.meta,
        architecture=msgspec.json.encode(architecture).decode(),
        spec=msgspec.json.encode(spec).decode(),
    )
    save_weights(Weights(meta, old.tensors), tmp_path / "old.safetensors")
    loaded = build_policy(load_weights(tmp_path / "old.safetensors"))
    assert isinstance(loaded, ResidualNetwork)
    planes = torch.rand(2, 18, 5, 5)
    kept = learner(PLAIN).playing
    for a, b in zip(loaded.outputs(planes), kept.outputs(planes), strict=True):
        assert torch.equal(a, b)


def test_a_network_refuses_heads_for_cells_without_owners() -> None:
    with pytest.raises(ValueError, match=r"policy\.score = true: tic_tac_toe counts the owners of 0 cells"):
        build_network(msgspec.structs.replace(PLAIN, score=True), game_spec("tic_tac_toe"))

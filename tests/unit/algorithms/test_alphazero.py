"""AlphaZero's loss, window and learner."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
import torch

from ludus.algorithms.alphazero import learner as learner_module
from ludus.algorithms.alphazero.learner import AlphaZeroLearner
from ludus.algorithms.alphazero.loss import alphazero_loss, masked_log_probs
from ludus.algorithms.alphazero.replay_buffer import ReplayBuffer
from ludus.algorithms.alphazero.samples import Positions
from ludus.algorithms.config import AlphaZeroConfig
from ludus.algorithms.learner import LearnerContext
from ludus.algorithms.loss import Loss
from ludus.flow.positions import PositionQuery
from ludus.flow.slab import Array
from ludus.games import spec as game_spec
from ludus.mcts import Matches, MatchNumbers, SearchConfig, SelfPlay, SelfPlayConfig
from ludus.native import core
from ludus.policies.config import ResnetConfig
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.protocol import BoardOutputs
from ludus.ratings.sprt import sprt
from tests.unit.synthetic import tower

GAME = "tic_tac_toe"
SMALL = ResnetConfig(blocks=1, filters=8, value_hidden=8)


def played(count: int, seed: int = 1, first: int = 0) -> Matches:
    play = SelfPlay(
        GAME,
        {},
        SearchConfig(visits=12),
        SelfPlayConfig(slots=16, full_share=0.7, cheap_visits=4),
        evaluator="rollout",
        seed=seed,
        numbers=MatchNumbers(first),
    )
    games = Matches.empty()
    while len(games) < count:
        play.step(8)
        games = Matches.join([games, play.take_matches()])
    return games


def lead(query: PositionQuery) -> tuple[dict[str, Array], npt.NDArray[np.uint8]]:
    board = np.zeros((len(query.rows), 3), np.uint8)
    mask = np.zeros((len(query.rows), 9), np.uint8)
    core.read_positions(GAME, {}, 1, query, [board], mask)
    return {"board": board}, mask


def test_the_loss_equals_equation_1_in_a_float64_loop() -> None:
    random = np.random.default_rng(1)
    logits, mask = random.normal(size=(5, 4)), np.array([[1, 1, 0, 1]] * 5, np.uint8)
    target = random.random((5, 4)) * mask
    target /= target.sum(axis=1, keepdims=True)
    v, z = random.uniform(-1, 1, 5), random.choice([-1.0, 0.0, 1.0], 5)
    expected_policy = expected_value = 0.0
    for i in range(5):
        total = sum(math.exp(logits[i, a]) for a in range(4) if mask[i, a])
        expected_policy -= sum(
            target[i, a] * (logits[i, a] - math.log(total)) for a in range(4) if mask[i, a]
        )
        expected_value += (z[i] - v[i]) ** 2
    loss = alphazero_loss(
        masked_log_probs(torch.tensor(logits), torch.tensor(mask)),
        torch.tensor(v, dtype=torch.float32),
        torch.tensor(target, dtype=torch.float32),
        torch.tensor(z, dtype=torch.float32),
        0.5,
    )
    assert float(loss.numbers["loss/policy"]) == pytest.approx(expected_policy, rel=1e-5)
    assert float(loss.numbers["loss/value"]) == pytest.approx(expected_value, rel=1e-5)
    assert float(loss.total) == pytest.approx(expected_policy + 0.5 * expected_value, rel=1e-5)
    assert float(loss.numbers["target/entropy"]) <= float(loss.numbers["loss/policy"])


def test_positions_drawn_are_recorded_ones_with_their_targets() -> None:
    """Every drawn position is one of a full search, with its own policy and the match's outcome."""
    config = AlphaZeroConfig(window_matches_min=10, window_matches=1000, window_share=1.0)
    window = ReplayBuffer(config, 9)
    parts = [played(30), played(30, first=1 << 40)]
    for number, games in enumerate(parts):
        window.add(number, games)
    joined = Matches.join(parts)
    assert window.positions == int(joined.full.sum())
    drawn = window.draw(4000, np.random.default_rng(1), lead)
    known: dict[bytes, set[tuple[float, ...]]] = {}
    offset = np.concatenate([[0], np.cumsum(joined.plies)])
    pairs = np.concatenate([[0], np.cumsum(joined.targets, dtype=np.int64)])
    for g in range(len(joined)):
        own = [0, 0]
        for ply in range(offset[g], offset[g + 1]):
            seat = int(joined.seat[ply])
            if joined.full[ply]:
                board = (own[seat] | own[1 - seat] << 9).to_bytes(3, "little")
                policy = np.zeros(9)
                cut = slice(pairs[ply], pairs[ply + 1])
                policy[joined.target_move[cut]] = joined.target_share[cut]
                value = float(joined.outcome[g]) * (1 if seat == 0 else -1)
                row = (value, *np.round(policy / policy.sum(), 4))
                known.setdefault(board, set()).add(row)
            own[seat] |= 1 << int(joined.action[ply])
    for i in range(len(drawn)):
        row = (float(drawn.value[i]), *np.round(drawn.policy[i].astype(float), 4))
        options = known[drawn.obs["board"][i].tobytes()]
        assert min(np.abs(np.subtract(row, o)).max() for o in options) < 2e-4
    assert drawn.policy[drawn.mask == 0].max(initial=0.0) == 0.0


def test_the_window_is_first_in_first_out_and_bounded() -> None:
    config = AlphaZeroConfig(window_matches_min=20, window_matches=45, window_share=0.5)
    window = ReplayBuffer(config, 9)
    gone: list[int] = []
    for number in range(8):
        gone += window.add(number, played(20, first=number << 40))
        assert window.ready
    assert gone == list(range(len(gone)))
    assert len(gone) >= 4
    assert window.matches <= 45 + 2 * 35


def test_even_outcomes_draw_wins_of_both_seats_about_equally() -> None:
    games = played(60)
    config = AlphaZeroConfig(even_outcomes=True, window_matches_min=1, window_share=1.0)
    window = ReplayBuffer(config, 9)
    one_sided = games.columns() | {"outcome": np.where(np.arange(len(games)) % 10 == 0, -1.0, 1.0)}
    one_sided["outcome"] = one_sided["outcome"].astype(np.float32)
    window.add(0, Matches.check(one_sided, 9))
    drawn = window.draw(4000, np.random.default_rng(1), lead)
    marks = np.unpackbits(drawn.obs["board"].astype(np.uint8), axis=1, bitorder="little").sum(axis=1)
    winner_first = (drawn.value > 0) == (marks % 2 == 0)
    assert 0.5 < winner_first.mean() < 0.6


def positions(count: int) -> Positions:
    window = ReplayBuffer(AlphaZeroConfig(window_matches_min=1, window_share=1.0), 9)
    window.add(0, played(60))
    return window.draw(count, np.random.default_rng(3), lead)


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_a_learner_overfits_a_batch_and_continues_from_its_state(optimizer: str) -> None:
    config = AlphaZeroConfig(
        optimizer="sgd" if optimizer == "sgd" else "adamw",
        learning_rate=0.05 if optimizer == "sgd" else 0.005,
        batch_size=64,
        learning_rate_schedule="constant",
        symmetries=False,
        ema=0.5,
    )
    spec = game_spec(GAME)
    learner = AlphaZeroLearner(config, tower(SMALL, spec), LearnerContext(1, workers=2))
    data = positions(64)
    first = learner.learn(data, 0.0)
    for _ in range(60):
        last = learner.learn(data, 0.0)
    assert last.numbers["loss/policy_excess"] < 0.6 * first.numbers["loss/policy_excess"]
    assert last.numbers["loss/value"] < 0.7 * first.numbers["loss/value"]

    other = AlphaZeroLearner(config, tower(SMALL, spec), LearnerContext(1, workers=2))
    learner.publish(data)
    arrays, counters = learner.state()
    other.load_state(arrays, counters)
    a, b = learner.weights(), other.weights()
    assert a.meta == b.meta
    for name, tensor in a.tensors.items():
        np.testing.assert_array_equal(tensor, b.tensors[name])
    learner.learn(data, 0.0)
    other.learn(data, 0.0)
    torch.testing.assert_close(learner.parameters.vector, other.parameters.vector)
    with pytest.raises(ValueError, match="no array"):
        other.load_state({n: x for n, x in arrays.items() if "stem" not in n}, counters)
    learner.close()
    other.close()


def test_published_statistics_are_measured_on_the_data_alone() -> None:
    """Acting on the measured batch computes the same as training on it (Tian et al. 2019, appendix C)."""
    spec = game_spec(GAME)
    config = AlphaZeroConfig(batch_size=64, statistics_batches=1, symmetries=False)
    learner = AlphaZeroLearner(config, tower(SMALL, spec), LearnerContext(1))
    data = positions(64)
    for version in range(1, 4):
        for _ in range(10):
            learner.learn(data, 0.0)
        network = learner.publish(data)
        assert isinstance(network, ResidualNetwork)
        planes = network.boards({"board": torch.from_numpy(data.obs["board"])})
        network.train()
        expected, _ = network.outputs(planes)
        network.eval()
        acted, _ = network.outputs(planes)
        # batch variance is over n, the stored one over n - 1
        torch.testing.assert_close(acted, expected, atol=0.02, rtol=0.02)
        assert learner.version == version


def test_a_minibatch_is_cut_for_as_many_threads_as_are_given() -> None:
    """On the processor; each part has a replica, and separate batch normalisation."""
    batch = positions(16)
    weights = []
    for threads in (1, 2, 2):
        config = AlphaZeroConfig(batch_size=16, learning_rate=0.1, symmetries=False)
        learner = AlphaZeroLearner(config, tower(SMALL, game_spec(GAME)), LearnerContext(1, workers=threads))
        assert learner.threads == threads
        learner.learn(batch, 0.0)
        weights.append(learner.parameters.vector.numpy().copy())
    assert np.array_equal(weights[1], weights[2])
    assert not np.allclose(weights[0], weights[1], atol=1e-5)


def test_sprt_errs_no_more_often_than_its_bounds() -> None:
    assert sprt(0, 0, 0.5, 0.6) == ("", 0.0)
    random = np.random.default_rng(1)
    for share, wanted in ((0.5, "reject"), (0.6, "accept")):
        right = 0
        for _ in range(200):
            wins = losses = 0
            verdict = ""
            while not verdict:
                won = random.random() < share
                wins, losses = wins + won, losses + (not won)
                verdict, _ = sprt(wins, losses, 0.5, 0.6)
            right += verdict == wanted
        assert right >= 180
    with pytest.raises(ValueError, match="sprt"):
        sprt(1, 1, 0.6, 0.5)


def test_weights_that_play_are_the_running_average() -> None:
    """The average covers the vectors after each minibatch; its memory grows with their number."""
    config = AlphaZeroConfig(
        batch_size=32, learning_rate_schedule="constant", learning_rate=0.1, symmetries=False, ema=0.75
    )
    learner = AlphaZeroLearner(config, tower(SMALL, game_spec(GAME)), LearnerContext(1))
    data = positions(32)
    expected = learner.parameters.vector.double().numpy().copy()
    for minibatches in range(1, 8):
        learner.learn(data, 0.0)
        keep = min(0.75, 1.0 - 1.0 / (1.0 + minibatches))
        expected = keep * expected + (1.0 - keep) * learner.parameters.vector.double().numpy()
    network = learner.publish(None)
    played = np.concatenate([p.detach().numpy().ravel() for p in network.parameters()])
    np.testing.assert_allclose(played, expected, rtol=1e-4, atol=1e-6)
    assert np.abs(played - learner.parameters.vector.numpy()).max() > 1e-3
    weights = learner.weights().tensors
    first = next(iter(dict(network.named_parameters())))
    np.testing.assert_array_equal(weights[first], dict(network.named_parameters())[first].detach().numpy())
    learner.close()


def test_policy_and_legality_turn_with_the_board(monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions with one own stone, whose cell is the target and the only legal move: it stays there."""
    learner = AlphaZeroLearner(
        AlphaZeroConfig(batch_size=72), tower(SMALL, game_spec(GAME)), LearnerContext(1)
    )
    cells, turns = np.arange(72) % 9, np.arange(72) // 9  # each cell under each symmetry
    board = np.zeros((72, 3), np.uint8)
    one = np.eye(9, dtype=np.float32)[cells]
    for i, cell in enumerate(cells):
        board[i] = np.frombuffer((1 << int(cell)).to_bytes(3, "little"), np.uint8)
    data = Positions({"board": board}, one.astype(np.uint8), one, np.zeros(72, np.float32))
    seen: dict[str, torch.Tensor] = {}
    network, loss, log_probs = learner._replicas[0], alphazero_loss, masked_log_probs
    learned = network.learned

    def looking(planes: torch.Tensor) -> BoardOutputs:
        seen["planes"] = planes
        return learned(planes)

    def legal(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        seen["mask"] = mask
        return log_probs(logits, mask)

    def noted(logs: torch.Tensor, value: torch.Tensor, policy: torch.Tensor, *more: object) -> Loss:
        seen["policy"] = policy
        return loss(logs, value, policy, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(network, "learned", looking)
    monkeypatch.setattr(learner_module, "masked_log_probs", legal)
    monkeypatch.setattr(learner_module, "alphazero_loss", noted)
    learner._part(0, data, turns, 1.0)
    # The plane of own stones is the one that holds a stone a position.
    (own,) = (p for p in seen["planes"].flatten(2).unbind(1) if p.sum() == 72)
    torch.testing.assert_close(own.float(), seen["policy"])
    torch.testing.assert_close(own.float(), seen["mask"].float())
    expected = learner.symmetries
    assert expected is not None
    np.testing.assert_array_equal(seen["policy"].argmax(dim=1).numpy(), expected.choice[turns, cells])
    learner.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_each_position_is_turned_by_a_draw_of_its_own(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One part has all symmetries; the draws depend on seed and minibatch, and not on the parts."""
    config = AlphaZeroConfig(batch_size=64)
    learner = AlphaZeroLearner(config, tower(SMALL, game_spec(GAME)), LearnerContext(1, workers=threads))
    seen: dict[int, np.ndarray] = {}
    part = learner._part

    def noted(worker: int, positions: Positions, turns: np.ndarray, ends_scale: float) -> dict[str, float]:
        seen[worker] = turns
        return part(worker, positions, turns, ends_scale)

    monkeypatch.setattr(learner, "_part", noted)
    drawn = []
    for _ in range(2):
        learner.learn(positions(64), 0.0)
        drawn.append(np.concatenate([seen[worker] for worker in range(threads)]))
    learner.close()
    for number, turns in enumerate(drawn):
        own = np.random.Generator(np.random.Philox(key=1, counter=[0, 0, 0, number]))
        np.testing.assert_array_equal(turns, own.integers(0, 8, 64))
        assert set(turns) == set(range(8))
    assert (drawn[0] != drawn[1]).any()

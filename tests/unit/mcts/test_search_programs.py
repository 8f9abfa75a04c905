"""Search on an accelerator: batches are padded to few sizes, taped answers are the function's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from ludus.flow import GameSpec
from ludus.flow.errors import NotFinite
from ludus.flow.process.as_found import one_thread
from ludus.games import spec as game_spec
from ludus.mcts import LeafBatch
from ludus.mcts.evaluator import Floats
from ludus.mcts.network import NetworkEvaluator, current_evaluator
from ludus.mcts.programs import SMALLEST, padded_rows
from ludus.mcts.text import Seen
from ludus.policies.accelerator import Executor, Plain
from ludus.policies.config import EncoderConfig, ResnetConfig
from ludus.policies.factory import build_network
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.layers.symmetry import Symmetries
from ludus.policies.protocol import Network
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.file import load_preset
from tests.taped import Counting, Taped

PRESETS = ("go5", "connect-four", "tic_tac_toe-alphazero")
TABLE = Path(__file__).resolve().parents[2] / "golden" / "pretended_gpu.json"
ROWS = 64
COUNTS = (64, 5, 33, 1, 17, 64, 0)
SMALL = ResnetConfig(blocks=1, filters=8, value_hidden=8)
TIC_TAC_TOE = game_spec("tic_tac_toe")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Batches are small: several threads would wait for each other."""
    threads = torch.get_num_threads()
    one_thread()
    yield
    torch.set_num_threads(threads)


def small(name: str) -> Preset:
    """Return a preset with two blocks."""
    return load_preset(name, {"policy.blocks": "2", "run.precision": "float32"}).preset


def network_of(policy: object, spec: GameSpec, seed: int = 3) -> ResidualNetwork:
    """Return a network whose weights and statistics are not trivial."""
    assert isinstance(policy, ResnetConfig)
    network = build_network(policy, spec, seed)
    assert isinstance(network, ResidualNetwork)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in network.parameters():
            p.add_(torch.randn(p.shape, generator=generator) * 0.05)
    planes = torch.rand((64, network.stem.convolution.in_channels, network.height, network.width))
    network.measure([planes])
    return network


def fill(batch: LeafBatch, seed: int) -> None:
    """Draw all observations of a batch."""
    random = np.random.default_rng(seed)
    for array in batch.obs.values():
        assert array.dtype == np.uint8
        array[...] = random.integers(0, 256, array.shape)


def answers(
    evaluator: NetworkEvaluator, spec: GameSpec, counts: Sequence[int] = COUNTS
) -> list[tuple[Floats, Floats]]:
    """Return copies of the answers to drawn batches of several sizes."""
    batch = LeafBatch(spec, ROWS)
    out = []
    for k, count in enumerate(counts):
        fill(batch, k)
        policy, value = evaluator.evaluate(batch, count)
        assert policy.shape == (count, spec.mask_size)
        assert value.shape == (count,)
        out.append((policy.copy(), value.copy()))
    return out


def equal(ours: list[tuple[Floats, Floats]], theirs: list[tuple[Floats, Floats]]) -> bool:
    return all(
        np.array_equal(a, b) for x, y in zip(ours, theirs, strict=True) for a, b in zip(x, y, strict=True)
    )


def evaluator(
    network: Network, executor: Executor | None = None, seen: Seen = "one", seed: int = 5
) -> NetworkEvaluator:
    return NetworkEvaluator(network, symmetries=seen, seed=seed, executor=executor)


def test_batches_are_padded_to_few_sizes() -> None:
    for rows in (1, 2, 7, 16, 17, 100, 128, 512):
        sizes = {padded_rows(count, rows) for count in range(rows + 1)}
        assert len(sizes) <= 6
        for count in range(rows + 1):
            size = padded_rows(count, rows)
            assert count <= size <= rows
            assert size <= max(2 * count, 2 * SMALLEST)
    assert [padded_rows(n, 128) for n in (0, 16, 17, 32, 33, 64, 65, 128)] == [
        16,
        16,
        32,
        32,
        64,
        64,
        128,
        128,
    ]


@pytest.mark.parametrize("seen", ["one", "random", "all"])
@pytest.mark.parametrize("name", PRESETS)
def test_taped_answers_are_those_of_the_function(name: str, seen: Seen) -> None:
    preset = small(name)
    spec, _ = resolve_spec(preset)
    network = network_of(preset.policy, spec)
    plain = answers(evaluator(network, Plain(static=True), seen), spec)
    taped = Counting()
    assert equal(answers(evaluator(network, taped, seen), spec), plain)
    assert taped.prepared == 3  # programs of 16, 32 and 64 rows
    late = answers(evaluator(network, Taped(7), seen), spec, COUNTS[:2])
    assert equal(late, plain[:2])


@pytest.mark.parametrize("seen", ["one", "all"])
@pytest.mark.parametrize("name", PRESETS)
def test_an_accelerator_computes_what_the_processor_computes(name: str, seen: Seen) -> None:
    preset = small(name)
    spec, _ = resolve_spec(preset)
    network = network_of(preset.policy, spec)
    ours = answers(evaluator(network, Plain(static=True), seen), spec)
    for (policy, value), (other, others_value) in zip(
        ours, answers(evaluator(network, None, seen), spec), strict=True
    ):
        np.testing.assert_allclose(policy, other, atol=1e-5)
        np.testing.assert_allclose(value, others_value, atol=1e-5)


@pytest.mark.parametrize("name", PRESETS)
def test_random_symmetries_are_drawn_for_each_position(name: str) -> None:
    preset = small(name)
    spec, _ = resolve_spec(preset)
    network = network_of(preset.policy, spec)
    symmetries, batch = Symmetries(spec), LeafBatch(spec, ROWS)
    fill(batch, 1)
    turns = np.random.Generator(np.random.Philox(key=5)).integers(symmetries.count, size=ROWS)
    assert len(set(turns)) == symmetries.count
    policy, value = evaluator(network, Taped(), "random").evaluate(batch, ROWS)
    planes = network.boards({n: torch.from_numpy(a) for n, a in batch.obs.items()})
    with torch.no_grad():
        for k in range(symmetries.count):
            logits, expected = network.outputs(symmetries.planes(planes, k))
            shares = symmetries.from_turned(torch.softmax(logits, dim=1), k)
            np.testing.assert_allclose(policy[turns == k], shares.numpy()[turns == k], atol=1e-5)
            np.testing.assert_allclose(value[turns == k], expected.numpy()[turns == k], atol=1e-5)


def test_new_weights_reach_all_siblings_without_a_new_program() -> None:
    first, second = network_of(SMALL, TIC_TAC_TOE, 1), network_of(SMALL, TIC_TAC_TOE, 2)
    executor = Counting()
    one = evaluator(first, executor, "random")
    threads = [one.sibling(seed) for seed in (5, 6)]
    before = [answers(thread, TIC_TAC_TOE) for thread in threads]
    programs = executor.prepared
    assert programs == 6
    assert one.load(second)
    assert one.network is second
    threads = [one.sibling(seed, thread) for seed, thread in zip((5, 6), threads, strict=True)]
    after = [answers(thread, TIC_TAC_TOE) for thread in threads]
    assert executor.prepared == programs
    for seed, old, new in zip((5, 6), before, after, strict=True):
        assert equal(new, answers(evaluator(second, Plain(static=True), "random", seed), TIC_TAC_TOE))
        assert not equal(new, old)


def test_programs_of_other_weights_are_not_taken_over() -> None:
    first, second = network_of(SMALL, TIC_TAC_TOE, 1), network_of(SMALL, TIC_TAC_TOE, 2)
    executor = Counting()
    old = evaluator(first, executor).sibling(1)
    answers(old, TIC_TAC_TOE)
    new = evaluator(second, executor).sibling(1, old)
    expected = answers(evaluator(second, Plain(static=True)), TIC_TAC_TOE)
    assert equal(answers(new, TIC_TAC_TOE), expected)
    assert executor.prepared == 6
    assert not equal(answers(old, TIC_TAC_TOE), expected)


def test_weights_of_another_form_get_a_new_evaluator() -> None:
    one = evaluator(network_of(SMALL, TIC_TAC_TOE), Taped())
    other = network_of(ResnetConfig(blocks=2, filters=8, value_hidden=8), TIC_TAC_TOE)
    assert not one.load(other)
    assert current_evaluator(other, before=one) is not one


def test_the_processor_compiles_each_weights() -> None:
    first, second = network_of(SMALL, TIC_TAC_TOE, 1), network_of(SMALL, TIC_TAC_TOE, 2)
    one = current_evaluator(first)
    assert not one.load(second)
    two = current_evaluator(second, before=one)
    assert two is not one
    assert not equal(answers(two, TIC_TAC_TOE), answers(one, TIC_TAC_TOE))


def test_bfloat16_weights_are_replaced_in_place_as_they_were_made() -> None:
    first, second = network_of(SMALL, TIC_TAC_TOE, 1), network_of(SMALL, TIC_TAC_TOE, 2)
    executor = Plain(static=True)
    loaded = NetworkEvaluator(first, "bfloat16", executor=executor)
    assert loaded.load(second)
    made = NetworkEvaluator(second, "bfloat16", executor=executor)
    assert equal(answers(loaded, TIC_TAC_TOE), answers(made, TIC_TAC_TOE))
    half = answers(NetworkEvaluator(second, "bfloat16"), TIC_TAC_TOE)
    for (policy, value), (other, others_value) in zip(answers(made, TIC_TAC_TOE), half, strict=True):
        np.testing.assert_allclose(policy, other, atol=0.03)
        np.testing.assert_allclose(value, others_value, atol=0.03)


def test_a_network_without_a_board_is_a_program_too() -> None:
    network = build_network(EncoderConfig(dense=(16,)), TIC_TAC_TOE, 3)
    plain = answers(evaluator(network, Plain(static=True)), TIC_TAC_TOE)
    assert equal(answers(evaluator(network, Taped()), TIC_TAC_TOE), plain)
    for (policy, value), (other, others_value) in zip(
        plain, answers(evaluator(network), TIC_TAC_TOE), strict=True
    ):
        np.testing.assert_allclose(policy, other, atol=1e-5)
        np.testing.assert_allclose(value, others_value, atol=1e-5)


def test_numbers_that_are_not_finite_are_refused_in_rows_that_count() -> None:
    network = network_of(SMALL, TIC_TAC_TOE)
    with torch.no_grad():
        network.value_head.bias.fill_(torch.nan)
    batch = LeafBatch(TIC_TAC_TOE, ROWS)
    broken = evaluator(network, Taped())
    with pytest.raises(NotFinite, match=r"the weights give value nan .*for finite observations"):
        broken.evaluate(batch, 3)
    broken.evaluate(batch, 0)


@pytest.mark.parametrize("name", PRESETS)
def test_a_batch_and_a_minibatch_are_one_copy_up_and_one_down(name: str) -> None:
    """The pretended card's table, whose numbers a slow test counts again."""
    costs = json.loads(TABLE.read_text(encoding="utf-8"))["costs"][name]
    for part in ("evaluate", "minibatch"):
        assert costs[part]["upload"] == costs[part]["download"] == 1
        assert costs[part]["wait"] == 0
    assert costs["publish"]["upload"] == 1

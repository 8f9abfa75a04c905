"""Forms of computations for a GPU: their numbers equal the processor's."""

import copy
import os
import threading

import pytest
import torch

from ludus.algorithms.updates.tasks import UpdatePlan
from ludus.bench.training import limit_of
from ludus.codecs.constants import constant
from ludus.flow.spec import HeadSpec
from ludus.games import spec as game_spec
from ludus.policies.actions.autoregressive import LinearKey
from ludus.policies.actions.pointed import Entities
from ludus.policies.config import ResnetConfig
from ludus.policies.factory import build_network
from ludus.policies.layers.normaliser import ValueNormaliser
from ludus.policies.layers.residual import ResidualNetwork
from ludus.presets import card, hardware


def test_a_constant_is_made_once_and_can_be_used_in_gradients() -> None:
    cpu = torch.device("cpu")
    with torch.inference_mode():
        made = constant((0.5, 2.0), cpu, torch.float32)
    assert constant((0.5, 2.0), cpu, torch.float32) is made
    assert constant((0, 2), cpu).dtype == torch.int64
    x = torch.ones(2, requires_grad=True)
    (x * made).sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    assert x.grad.tolist() == [0.5, 2.0]


def test_moments_follow_every_write_to_the_statistics() -> None:
    values, head = ValueNormaliser(), torch.nn.Linear(2, 1)
    assert values.moments() == (0.0, 1.0)
    values.absorb(torch.tensor([3.0, 5.0]), head)
    assert values.moments() == pytest.approx((4.0, 1.0))
    other = ValueNormaliser()
    assert other.moments() == (0.0, 1.0)
    other.load_state_dict(values.state_dict())
    assert other.moments() == values.moments()
    copied = copy.deepcopy(values)
    copied.mean.fill_(9.0)
    copied.square.fill_(85.0)
    assert copied.moments() == (9.0, 2.0)
    with torch.inference_mode():
        values.mean.fill_(1.0)
        values.square.fill_(10.0)
    assert values.moments() == (1.0, 3.0)


def test_a_plan_of_one_worker_runs_one_task_at_a_time_under_number_0() -> None:
    running, most, numbers = [0], [0], list[int]()
    guard = threading.Lock()

    def task(worker: int) -> None:
        with guard:
            running[0] += 1
            most[0] = max(most[0], running[0])
            numbers.append(worker)
        threading.Event().wait(0.002)
        with guard:
            running[0] -= 1

    plan = UpdatePlan(iter([[task] * 8, [task] * 3]), workers=1)
    threads = [threading.Thread(target=plan.help, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert plan.done
    assert most == [1]
    assert numbers == [0] * 11


def test_stages_that_share_processors_add_their_times_and_others_do_not() -> None:
    assert limit_of(100.0, 300.0, shared=True) == pytest.approx(75.0)
    assert limit_of(100.0, 300.0, shared=False) == 100.0


def test_cuda_is_set_to_a_fixed_order_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    cudnn = torch.backends.cudnn
    for name in ("deterministic", "benchmark", "allow_tf32"):
        monkeypatch.setattr(cudnn, name, getattr(cudnn, name))
    seen = card.CardFacts("2.11", "13.0", 1, "NVIDIA X", (9, 0), ("sm_90",))
    monkeypatch.setattr(card, "facts", lambda: seen)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    assert hardware.device_of("cuda") == "cuda"
    assert (cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32) == (True, False, False)
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


def test_rows_that_all_are_choices_give_the_scores_of_rows_that_are_looked_through() -> None:
    """Where a head has a choice for every row of a tensor, no one asks the device which rows it has."""
    random = torch.Generator().manual_seed(2)
    owner, slot = torch.tensor([0, 0, 2, 2, 2]), torch.tensor([0, 3, 1, 2, 3])
    features = torch.rand((5, 6), generator=random)
    head = HeadSpec("unit", 5, points_at="units", rows=4)
    query, choice = torch.rand((3, 6), generator=random), torch.tensor([3, 4, 1])
    key = LinearKey(torch.rand((6, 6), generator=random))
    with torch.no_grad():
        known, looked = (Entities(owner, slot, features, 3, places) for places in (4, 9))
        assert torch.equal(known.scores(query, key, head), looked.scores(query, key, head))
        assert torch.equal(known.chosen(choice, head), looked.chosen(choice, head))
        assert known.chosen(choice, head).tolist() == [features[1].tolist(), [0.0] * 6, features[2].tolist()]
        fewer = HeadSpec("unit", 3, points_at="units", rows=3)
        some = Entities(owner, slot, features, 3, 4)
        assert torch.equal(some.scores(query, key, fewer), known.scores(query, key, head)[:, :3])


def test_measured_statistics_are_plain_means_over_batches() -> None:
    spec = game_spec("tic_tac_toe")
    network = build_network(ResnetConfig(blocks=1, filters=4), spec, 3)
    assert isinstance(network, ResidualNetwork)
    random = torch.Generator().manual_seed(4)
    shape = (8, network.stem.convolution.in_channels, 3, 3)
    batches = [torch.rand(shape, generator=random) for _ in range(3)]
    network.measure(batches)
    with torch.no_grad():
        means = [network.stem.convolution(planes).mean(dim=(0, 2, 3)) for planes in batches]
    norm = network.stem.norm
    assert norm.running_mean is not None
    torch.testing.assert_close(norm.running_mean, torch.stack(means).mean(dim=0))
    assert (norm.momentum, norm.track_running_stats) == (None, False)

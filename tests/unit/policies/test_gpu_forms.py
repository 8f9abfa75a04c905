"""Forms of computations that a GPU takes: their numbers are those of the processor's."""

import copy
import os
import threading

import pytest
import torch

from ludus.algorithms.tasks import UpdatePlan
from ludus.bench.training import limit_of
from ludus.codecs.constants import constant
from ludus.policies.normaliser import ValueNormaliser
from ludus.presets import hardware
from ludus.presets.config import RunConfig


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
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    assert hardware.device_name(RunConfig(device="cuda")) == "cuda"
    assert (cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32) == (True, False, False)
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"

"""Speed of search on a card: the best batch is the measure, and the report names it."""

import time

import pytest
import torch

from ludus.bench import search
from ludus.bench.search import batch_sizes, bench_search
from ludus.mcts import LeafBatch
from ludus.presets import hardware
from ludus.presets.config import RunConfig


def test_batches_double_up_to_the_largest() -> None:
    assert batch_sizes(64) == [64, 128, 256, 512, 1024, 2048, 4096]
    assert batch_sizes(1)[-1] == 4096
    assert batch_sizes(3000) == [3000]
    assert batch_sizes(9000) == [9000]


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
def test_self_play_is_compared_with_the_best_batch_on_a_card(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``cpu:0`` is the processor by a name that the bench takes for a card's."""
    rates = {4: 900.0, 8: 5000.0, 16: 2000.0}  # of a card that is best at 8
    seen: list[int] = []
    raw = search._raw

    def timed(evaluators: object, batch: LeafBatch, seconds: float) -> int:
        seen.append(batch.rows)
        if seconds in (0.05, 0.2):  # the search of the best size
            clock[0] += seconds
            return int(rates[batch.rows] * seconds)
        return raw(evaluators, batch, seconds)  # type: ignore[arg-type]

    clock = [0.0]
    perf_counter = time.perf_counter
    monkeypatch.setattr(search, "device_of", lambda _: device)
    monkeypatch.setattr(search, "MOST_ROWS", 16)
    monkeypatch.setattr(search, "_raw", timed)
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0] + perf_counter() * 1e-3)
    bench = bench_search(
        "tic_tac_toe",
        {},
        slots=4,
        visits=4,
        blocks=1,
        filters=4,
        run=RunConfig(threads=1, precision="float32"),
        seconds=0.4,
    )
    assert bench.raw_batch == (4 if device == "cpu" else 8)
    assert set(seen) == ({4} if device == "cpu" else {4, 8, 16})
    assert (bench.device, bench.precision) == (device, "float32")
    assert bench.share > 0.0


def test_results_name_card_driver_and_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hardware.device_title("cpu") == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA X")
    monkeypatch.setattr(torch.version, "cuda", "12.4")
    monkeypatch.setattr(hardware, "_driver", lambda: "550.54")
    assert hardware.device_title("cuda") == "cuda (NVIDIA X, driver 550.54, CUDA 12.4)"
    monkeypatch.setattr(hardware, "_driver", lambda: "")
    assert hardware.device_title("cuda") == "cuda (NVIDIA X, CUDA 12.4)"

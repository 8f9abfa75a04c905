"""Training gives the weights of ``tests/golden/weights.json``, bit for bit.

The last bits of a matrix product differ between processors, so each entry is kept under a fingerprint of this
machine's arithmetic. On a machine whose fingerprint is unknown the weights are compared within a tolerance.

``python -m tests.unit.training.test_weight_hashes`` rewrites the file with this machine's fingerprint added.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch

from ludus.algorithms.config import AlphaZeroConfig
from ludus.flow.weights import Weights
from ludus.mcts.network import NetworkEvaluator
from ludus.policies.weights import load_weights
from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.storage import resolve_weights
from ludus.training.alphazero.components import build_alphazero, make_plays
from ludus.training.runs import start_run

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "weights.json"
TOLERANCE = 2e-3  # of a few updates on another processor

ON_POLICY = """
[game]
name = "{game}"
[[opponents]]
name = "{bot}"
weight = 0.5
[[opponents]]
name = "latest"
weight = 0.3
[[opponents]]
name = "past"
weight = 0.2
past_every = 2
past_window = 2
[pool]
slots = 16
rollout_length = 8
[policy]
{policy}
[algorithm]
epochs = 2
minibatches = 2
micro_batch = 64
learning_rate_schedule = "linear"
[evaluation]
every_steps = 0
matches = 0
final_matches = 0
[run]
seed = 3
lag = "{lag}"
threads = {threads}
max_steps = {steps}
precision = "float32"
device = "cpu"
"""

SMALL = 'inputs = ["globals"]\ndense = [16]\nhidden = [16]\n'

ALPHAZERO = """
[game]
name = "tic_tac_toe"
[algorithm.search]
visits = 8
[algorithm.self_play]
slots = 8
[algorithm]
name = "alphazero"
batch_size = 32
round_positions = 100
window_matches_min = 20
[policy]
network = "resnet"
blocks = 1
filters = 8
value_hidden = 8
[evaluation]
every_steps = 0
matches = 0
final_matches = 0
[run]
seed = 3
threads = 1
max_steps = 400
precision = "float32"
device = "cpu"
"""


def _minirts(lag: str, threads: int, memory: str = "none") -> str:
    policy = SMALL + f'memory = "{memory}"\nmemory_size = 16\n'
    return ON_POLICY.format(game="minirts", bot="simple", policy=policy, lag=lag, threads=threads, steps=700)


PRESETS = {
    "minirts-sync": _minirts("sync", 1),
    "minirts-pipelined": _minirts("pipelined", 1),
    "minirts-recall": _minirts("pipelined", 1, "recall"),
    "minirts-gru": _minirts("pipelined", 1, "gru"),
    "minirts-lstm": _minirts("sync", 1, "lstm"),
    "tic-tac-toe": ON_POLICY.format(
        game="tic_tac_toe", bot="random", policy="dense = [16]\n", lag="pipelined", threads=1, steps=900
    ),
    "alphazero": ALPHAZERO,
}
# The number of threads changes no bit.
THREADED = {
    "minirts-sync": _minirts("sync", 3),
    "minirts-pipelined": _minirts("pipelined", 3),
    "minirts-gru": _minirts("pipelined", 3, "gru"),
}


def fingerprint() -> str:
    """Return a digest of this machine's float32 arithmetic: products, sums and functions of fixed numbers."""
    random = np.random.Generator(np.random.Philox(key=7))
    a = torch.from_numpy(random.standard_normal((96, 48)).astype(np.float32))
    b = torch.from_numpy(random.standard_normal((48, 33)).astype(np.float32))
    image = torch.from_numpy(random.standard_normal((4, 8, 9, 9)).astype(np.float32))
    kernel = torch.from_numpy(random.standard_normal((16, 8, 3, 3)).astype(np.float32))
    made = [a @ b, (a @ b).tanh(), (a @ b).softmax(1), a.sum(0), a.exp().log1p()]
    made.append(torch.nn.functional.conv2d(image, kernel, padding=1))
    digest = hashlib.sha256(torch.__version__.encode())
    for tensor in made:
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def train(text: str, folder: Path) -> Weights:
    """Return the last weights of a run of the preset ``text``."""
    preset = parse_preset(text.encode(), "preset.toml").preset
    if isinstance(preset.algorithm, AlphaZeroConfig):
        return _alphazero(preset)
    start_run(preset, folder)
    return load_weights(resolve_weights(f"{folder}@last"))


def _alphazero(preset: Preset) -> Weights:
    """Return weights after three rounds of one worker in this thread: threads stop at varying moments."""
    components = build_alphazero(preset)
    random = np.random.Generator(np.random.Philox(key=5))
    (play,) = make_plays(preset, components, 0, NetworkEvaluator(components.learner.playing, "float32"))
    for number in range(1, 4):
        for _ in range(150):
            play.step()
        components.replay_buffer.add(number, play.take_matches(), None)
        components.learner.learn(
            components.replay_buffer.draw(4 * components.config.batch_size, random, components.lead),
            number / 4,
        )
        network = components.learner.publish(
            components.replay_buffer.draw(components.config.batch_size, random, components.lead)
        )
        play.evaluator = NetworkEvaluator(network, "float32").sibling(number)
        play.set_version(number)
    weights = components.learner.weights()
    components.close()
    return weights


def digest(weights: Weights) -> str:
    """Return the SHA-256 of all tensors and of their names."""
    made = hashlib.sha256()
    for name, tensor in sorted(weights.tensors.items()):
        made.update(name.encode())
        made.update(np.ascontiguousarray(tensor).tobytes())
    return made.hexdigest()


def summary(weights: Weights) -> dict[str, list[float]]:
    """Return mean, deviation and three values of each tensor."""
    return {
        name: [float(x) for x in (t.mean(), t.std(), *t.reshape(-1)[:3])]
        for name, t in sorted(weights.tensors.items())
    }


def _agree(name: str, weights: Weights) -> None:
    golden = json.loads(GOLDEN.read_text())[name]
    assert weights.meta.version == golden["version"]
    known = golden["sha256"].get(fingerprint())
    if known is not None:
        assert digest(weights) == known
    found = summary(weights)
    assert found.keys() == golden["summary"].keys()
    for tensor, numbers in golden["summary"].items():
        np.testing.assert_allclose(found[tensor], numbers, rtol=TOLERANCE, atol=TOLERANCE, err_msg=tensor)


@pytest.mark.parametrize("name", PRESETS)
def test_training_gives_the_pinned_weights(name: str, tmp_path: Path) -> None:
    _agree(name, train(PRESETS[name], tmp_path / "run"))


@pytest.mark.parametrize("name", THREADED)
def test_three_threads_give_the_weights_of_one(name: str, tmp_path: Path) -> None:
    _agree(name, train(THREADED[name], tmp_path / "run"))


def main() -> None:
    """Write the golden file; keep the weights of other machines' fingerprints where nothing has changed."""
    old = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    made = {}
    for name, text in PRESETS.items():
        with tempfile.TemporaryDirectory() as folder:
            weights = train(text, Path(folder) / "run")
        hashes = {fingerprint(): digest(weights)}
        entry = old.get(name, {})
        if entry.get("sha256", {}).get(fingerprint()) == hashes[fingerprint()]:
            hashes = entry["sha256"]
        made[name] = {"version": weights.meta.version, "sha256": hashes, "summary": summary(weights)}
    GOLDEN.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()

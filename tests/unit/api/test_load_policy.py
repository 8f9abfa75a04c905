"""Loaded weights act in the environment's own spaces: masks, memory, batches, numbers."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import msgspec
import numpy as np
import pytest
import torch

import ludus
from ludus.flow import GameSpec, HeadSpec, Weights, WeightsMeta
from ludus.flow.slab import Array
from ludus.games import spec as game_spec
from ludus.games.exports.gymnasium import LudusEnv, LudusVectorEnv
from ludus.games.exports.spaces import action_space, decision_of
from ludus.games.exports.values import SpecFace
from ludus.games.python_game import declare, tensor
from ludus.policies.config import EncoderConfig, PolicyConfig, ResnetConfig
from ludus.policies.factory import build_network
from ludus.policies.weights import save_weights
from ludus.presets.errors import ConfigError
from tests.unit.api.from_folder import python
from tests.unit.api.test_gymnasium import CORRIDOR

SMALL = EncoderConfig(hidden=(16,), dense=(16,), channels=(4, 4))


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Networks of this size lose by several threads."""
    torch.set_num_threads(1)


def weights_of(
    folder: Path,
    game: str,
    config: PolicyConfig = SMALL,
    version: int = 0,
    spread: float = 0.2,
    **params: object,
) -> str:
    """Return a file with untrained weights, moved by ``spread`` so that outputs are far from zero."""
    spec = game_spec(game, params)
    if version:
        spec = msgspec.structs.replace(spec, version=version)
    network = build_network(config, spec, seed=3)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) * spread)
    meta = WeightsMeta(
        version=7,
        spec_hash=spec.spec_hash,
        architecture=msgspec.json.encode(config).decode(),
        spec=msgspec.json.encode(spec).decode(),
        game=spec.name,
        frame_skip=50,
    )
    tensors: dict[str, Array] = {n: t.detach().numpy() for n, t in network.state_dict().items()}
    file = folder / "weights.safetensors"
    save_weights(Weights(meta, tensors), file)
    return str(file)


def test_continuous_actions_are_numbers_of_the_space(tmp_path: Path) -> None:
    policy = ludus.load_policy(weights_of(tmp_path, "gymnasium/Pendulum-v1"))
    env = gymnasium.make("Pendulum-v1")
    seen, _ = env.reset(seed=1)
    drawn = [policy.act(seen) for _ in range(200)]
    assert all(
        isinstance(a, np.ndarray) and a.dtype == np.float32 and env.action_space.contains(a) for a in drawn
    )
    assert np.std(drawn) > 0.2
    likeliest = policy.act(seen, deterministic=True)
    # The squashed mean of the network's Gaussian, worked out here: low + (tanh(u) + 1) / 2 * (high - low).
    network = policy._network
    out = network.step({"observation": torch.from_numpy(seen[None].astype(np.float32))})
    mean = out.distribution.sample(torch.ones((1, 2), dtype=torch.uint8), None).actions[0, 0]
    u = mean.to(torch.int32).view(torch.float32)
    assert likeliest == pytest.approx([-2.0 + (float(torch.tanh(u)) + 1.0) / 2.0 * 4.0], abs=1e-5)
    assert (policy.act(seen, deterministic=True) == likeliest).all()

    many = gymnasium.make_vec("Pendulum-v1", num_envs=3)
    batch, _ = many.reset(seed=1)
    policy.reset()
    actions = policy.act(batch, deterministic=True)
    assert many.action_space.contains(actions)
    assert actions[0] == pytest.approx(likeliest, abs=1e-5)
    many.step(actions)


def test_memory_lasts_until_reset_and_rows_do_not_share_it(tmp_path: Path) -> None:
    config = msgspec.structs.replace(SMALL, memory="gru", memory_size=8)
    policy = ludus.load_policy(weights_of(tmp_path, "gymnasium/Pendulum-v1", config), deterministic=True)
    walk = np.random.default_rng(0).uniform(-1, 1, (6, 3)).astype(np.float32)

    def alone(steps: Array) -> list[float]:
        policy.reset()
        return [float(policy.act(step)[0]) for step in steps]

    first = alone(walk)
    assert alone(walk) == first  # as after loading
    same = alone(np.repeat(walk[:1], 3, axis=0))
    assert len(set(same)) == 3  # the same observation, another past
    policy.reset()
    both = [policy.act(np.stack([a, b])) for a, b in zip(walk[:3], walk[3:])]
    assert [float(x[0, 0]) for x in both] == pytest.approx(first[:3], abs=1e-6)
    policy.reset([False, True])
    after = policy.act(np.stack([walk[3], walk[0]]))
    assert float(after[0, 0]) == pytest.approx(first[3], abs=1e-6)
    assert float(after[1, 0]) == pytest.approx(first[0], abs=1e-6)
    with pytest.raises(ValueError, match="a batch of 1 after one of 2"):
        policy.act(walk[0])
    with pytest.raises(ValueError, match="3 rows, the policy acts for 2"):
        policy.reset([True, False, False])
    with pytest.raises(ValueError, match="expected bool"):
        policy.reset([0, 1])


@pytest.mark.parametrize("key", ["legal", "action_mask"])
def test_only_legal_choices_are_made(key: str, tmp_path: Path) -> None:
    policy = ludus.load_policy(weights_of(tmp_path, "tic_tac_toe"))
    made = LudusEnv("tic_tac_toe", illegal="raise")
    for seed in range(20):
        seen, info = made.reset(seed=seed)
        over = False
        while not over:
            seen, _, over, _, info = made.step(policy.act(seen, info[key]))
    many = LudusVectorEnv("tic_tac_toe", 5)
    batch, info = many.reset(seed=1)
    policy.reset()
    for _ in range(30):
        actions = policy.act(batch, info[key])
        assert info["legal"][np.arange(5), actions].all()
        batch, *_, info = many.step(actions)


def test_a_loaded_policy_sees_the_boards_of_the_pool(tmp_path: Path) -> None:
    """Unpacked from the environment and packed from a match: one observation, one action."""
    policy = ludus.load_policy(weights_of(tmp_path, "connect_four", spread=0.0), deterministic=True)
    match, actions = ludus.Match("connect_four"), set()
    for move in (3, 3, 2, 4, 1, 0, 5):
        (seat,) = match.to_act
        packed = match.observe(seat)
        board = {
            t.name: np.unpackbits(packed[t.name], count=t.elements, bitorder="little").reshape(t.shape)
            if t.dtype == "bits"
            else packed[t.name]
            for t in match.spec.observation
        }
        action = policy.act(packed, match.legal(seat))
        assert policy.act(board, match.legal(seat)) == action
        actions.add(action)
        match.play(move)
    assert len(actions) > 1  # it does look


def test_heads_that_depend_on_each_other_need_the_whole_mask(tmp_path: Path) -> None:
    policy = ludus.load_policy(weights_of(tmp_path, "minirts", commands="units"))
    assert (policy.frame_skip, policy.version) == (50, 7)
    made = LudusEnv(
        "minirts", opponent="noop", illegal="raise", frame_skip=policy.frame_skip, commands="units"
    )
    seen, info = made.reset(seed=1)
    for _ in range(20):
        action = policy.act(seen, info["legal"])
        assert made.action_space.contains(action)
        seen, *_, info = made.step(action)
    with pytest.raises(ValueError, match=r"heads depend on each other, .* pass info\[.legal.\]"):
        policy.act(seen, info["action_mask"])


def test_actions_are_the_inverse_of_environment_actions() -> None:
    """Heads of both kinds, with and without bounds."""
    heads = [
        HeadSpec("jump", 3),
        HeadSpec("turn", 2, kind="continuous", low=-3.0, high=1.0),
        HeadSpec("push", 2, kind="continuous"),
    ]
    spec: GameSpec = declare("mixed", observation=[tensor("x", (1,), "f32", low=0, high=1)], heads=heads)
    u = np.array([[0.3, -1.2], [2.0, 0.0]], np.float32)
    decisions = np.concatenate([np.array([[2], [0]], np.int32), u.view(np.int32)], axis=1)
    face, mask = SpecFace(spec), np.ones(spec.mask_size, np.uint8)
    for row in range(2):
        action = face.actions(decisions[row : row + 1], None)
        assert action_space(spec).contains(action)
        back, _ = decision_of(spec, action, mask, "raise")
        assert back[0] == decisions[row, 0]
        assert back[1:].view(np.float32) == pytest.approx(u[row], abs=1e-4)
    batch = face.actions(decisions, 2)
    assert [part.shape for part in batch] == [(2,), (2, 1), (2, 1)]


def test_draws_depend_on_the_seed(tmp_path: Path) -> None:
    file = weights_of(tmp_path, "tic_tac_toe")
    seen, info = LudusEnv("tic_tac_toe").reset(seed=1)

    def draws(seed: int) -> list[object]:
        policy = ludus.load_policy(file, seed=seed)
        return [policy.act(seen, info["legal"]) for _ in range(30)]

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)
    assert len(set(draws(1))) > 2


def test_a_residual_tower_acts_too(tmp_path: Path) -> None:
    policy = ludus.load_policy(weights_of(tmp_path, "connect_four", ResnetConfig(blocks=1, filters=4)))
    made = LudusEnv("connect_four", illegal="raise")
    seen, info = made.reset(seed=1)
    made.step(policy.act(seen, info["legal"]))


def test_observations_of_another_game_are_refused(tmp_path: Path) -> None:
    file = weights_of(tmp_path, "tic_tac_toe")
    policy = ludus.load_policy(file)
    seen, info = LudusEnv("tic_tac_toe").reset(seed=1)
    (name,) = seen
    for observation, mask, message in [
        (seen[name], None, f"observation is ndarray, expected a dict with {name}"),
        ({"bord": seen[name]}, None, f"observation has bord; {name} is missing"),
        ({name: seen[name][:, :2]}, None, r"shape \(2, 2, 3\), expected \(2, 3, 3\), with N in front"),
        (seen, info["legal"][:5], r"mask of shape \(5,\), expected \(9,\)"),
        (seen, np.zeros(9), "the mask allows no choice of head cell"),
    ]:
        with pytest.raises(ValueError, match=message):
            policy.act(observation, mask)
    with pytest.raises(ConfigError, match="weights of tic_tac_toe, expected weights of connect_four"):
        ludus.load_policy(file, game="connect_four")
    with pytest.raises(ConfigError, match=r"a searched player decides from states.*ludus\.search"):
        ludus.load_policy(f"{file}+search:10")
    old = weights_of(tmp_path, "tic_tac_toe", version=9)
    with pytest.raises(ConfigError, match="made for version 9 of tic_tac_toe, this is version 1"):
        ludus.load_policy(old)
    pendulum = ludus.load_policy(weights_of(tmp_path, "gymnasium/Pendulum-v1"))
    with pytest.raises(ValueError, match=r"observation of shape \(4,\), expected \(3,\), or a batch"):
        pendulum.act(np.zeros(4, np.float32))


@pytest.mark.slow
def test_a_module_of_the_user_is_imported_only_where_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "my_package.py").write_text(CORRIDOR)
    (tmp_path / "corridor.toml").write_text(
        '[game]\nname = "gymnasium/my_package:Corridor-v0"\nparams = { length = 5 }\n'
        "[policy]\nhidden = [8]\n[evaluation]\nevery_steps = 0\nfinal_matches = 4\n"
        "[run]\nmax_steps = 200\nthreads = 1\n"
    )
    python(tmp_path, 'import ludus\nludus.train("corridor.toml", "run")\n')
    output = python(
        tmp_path,
        "import sys, ludus\nfrom ludus.presets.errors import ConfigError\n"
        'try:\n    ludus.load_policy("run@last")\nexcept ConfigError as error:\n    print(error)\n'
        "print('my_package' in sys.modules)\n"
        'policy = ludus.load_policy("run@last", game="gymnasium/my_package:Corridor-v0")\n'
        "import gymnasium\n"
        'env = gymnasium.make("Corridor-v0", length=5)\n'
        "seen, info = env.reset(seed=1)\n"
        "print(env.action_space.contains(policy.act(seen)))\n",
    )
    refused, imported, acts = output.splitlines()
    assert 'load_policy("run@last", game="gymnasium/my_package:Corridor-v0")' in refused
    assert (imported, acts) == ("False", "True")

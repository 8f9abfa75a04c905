"""``decoded=True``: environments give what a network reads after its codecs, so that other trainers can."""

from __future__ import annotations

import sys

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO

from ludus.codecs.forms import decoded
from ludus.codecs.registry import layout_of
from ludus.games import list_games
from ludus.games.exports.gymnasium import LudusEnv, LudusVectorEnv
from ludus.games.exports.pettingzoo import env, parallel_env
from ludus.games.exports.values import SpecFace


@pytest.mark.parametrize("game", list_games())
def test_decoded_observations_equal_the_networks_inputs(game: str) -> None:
    """In the space, and each tensor what its codec makes of the packed one."""
    made, plain = (LudusEnv(game, decoded=flag) for flag in (True, False))
    (seen, info), (packed, _) = made.reset(seed=3), plain.reset(seed=3)
    for _ in range(4):
        assert made.observation_space.contains(seen)
        for t in made.game_spec.observation:
            raw = packed[t.name]
            if t.dtype == "bits":
                raw = np.packbits(raw.reshape(-1) != 0, bitorder="little")
            read = decoded(t, layout_of(t), torch.from_numpy(raw[None].copy()))[0].numpy()
            assert seen[t.name].dtype == np.float32
            assert np.allclose(np.asarray(seen[t.name], np.float32), read, rtol=1e-6)
        action = made.action_space.sample(info.get("action_mask"))
        (seen, _, over, cut, info), (packed, *_) = made.step(action), plain.step(action)
        if over or cut:
            break


def test_vector_environments_decode_as_single_ones() -> None:
    one = LudusEnv("minirts", opponent="simple", decoded=True)
    many = LudusVectorEnv("minirts", 3, opponent="simple", decoded=True)
    seen, _ = many.reset(seed=1)
    assert many.observation_space.contains(seen)
    for name, box in one.observation_space.spaces.items():  # type: ignore[attr-defined]
        assert seen[name].shape == (3, *box.shape)
    many.close()
    games = LudusVectorEnv("tic_tac_toe", 2, decoded=True)
    games.reset(seed=1)
    for _ in range(9):
        seen, _, terminated, _, info = games.step(np.zeros(2, np.int64))
        if terminated.any():
            break
    assert info["final_obs"]["board"].dtype == np.float32
    assert info["final_obs"]["board"][terminated].sum() >= 5  # the board of the end, not of the next match
    games.close()


def test_agents_of_pettingzoo_read_the_same() -> None:
    together, turns = parallel_env("pommerman", decoded=True), env("connect_four", decoded=True)
    seen, _ = together.reset(seed=1)
    for name in together.agents:
        assert together.observation_space(name).contains(seen[name])
        assert seen[name]["board"].shape == (22, 12, 12)
    turns.reset(seed=1)
    agent = turns.agent_selection
    assert turns.observation_space(agent).contains(turns.observe(agent))


@pytest.mark.parametrize("game", ["minirts-v1", "pommerman-v1"])
def test_policies_of_stable_baselines3_fit(game: str) -> None:
    """Packed cells are bit fields to it, and packed planes of bytes look like a picture that is too small."""
    torch.set_num_threads(1)
    made = gymnasium.make(f"ludus.gymnasium:ludus/{game}", decoded=True)
    narrow = {"net_arch": [8]}
    PPO("MultiInputPolicy", made, n_steps=4, batch_size=4, n_epochs=1, policy_kwargs=narrow, seed=1).learn(4)


def test_the_default_needs_no_torch_and_a_missing_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ludus.codecs.arrays", None)
    LudusEnv("tic_tac_toe").reset(seed=1)
    with pytest.raises(
        ImportError, match=r"decoded=True: .*; install it: pip install '\.\[train\]' in the clone of Ludus"
    ):
        LudusEnv("tic_tac_toe", decoded=True)


def test_a_policy_of_ludus_refuses_decoded_tensors() -> None:
    made = LudusEnv("minirts", opponent="simple", decoded=True)
    face, (seen, _) = SpecFace(made.game_spec), made.reset(seed=1)
    for name in ("cells", "units"):
        (tensor,) = (t for t in made.game_spec.observation if t.name == name)
        with pytest.raises(
            ValueError, match=f"observation {name}: .*; a policy of Ludus reads packed tensors"
        ):
            face.rows(seen, [tensor])

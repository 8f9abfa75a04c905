"""Convolution torsos for pictures."""

from __future__ import annotations

import math

import msgspec
import pytest
import torch

from ludus.flow import HeadSpec
from ludus.games.python_game import declare, tensor
from ludus.policies.config import EncoderConfig
from ludus.policies.layers.torso import Planes, Residual
from ludus.policies.network import PolicyNetwork

SPEC = declare(
    "frames",
    observation=[tensor("screen", (4, 84, 84), "u8", low=0, high=255, scale=1 / 255)],
    heads=[HeadSpec("move", 6)],
)
NATURE = EncoderConfig(
    channels=(32, 64, 64), strides=(4, 2, 1), kernels=(8, 4, 3), hidden=(512,), norm="none"
)


def test_the_usual_atari_network_has_its_usual_size() -> None:
    network = PolicyNetwork(NATURE, SPEC, 1)
    torso = network.planes["screen"]
    assert isinstance(torso, Planes)
    assert torso.size == 64 * 7 * 7  # Mnih et al. 2015
    assert sum(p.numel() for p in network.parameters()) == 1_687_719
    screen = torch.randint(0, 256, (2, 4, 84, 84), dtype=torch.uint8)
    reference = screen.float() / 255
    for layer in torso.convolutions:
        reference = torch.nn.functional.leaky_relu(layer(reference), 0.01)
    decoded = torso(screen.float() * (1 / 255))
    assert torch.allclose(decoded, reference.flatten(1), atol=1e-5)
    assert network.step({"screen": screen}).logits.shape == (2, 6)


def test_residual_stages_are_impalas() -> None:
    config = EncoderConfig(channels=(16, 32, 32), strides=(2, 2, 2), convolution="residual", norm="none")
    torso = PolicyNetwork(config, SPEC, 1).planes["screen"]
    assert isinstance(torso, Residual)
    assert torso.size == 32 * 11 * 11  # Espeholt et al. 2018: 3872 numbers before the dense layer
    assert len(torso.convolutions) == 15
    assert torso(torch.rand(2, 4, 84, 84)).shape == (2, torso.size)


def test_planes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"policy\.kernels 1; expected one per convolution"):
        PolicyNetwork(EncoderConfig(channels=(8, 8), strides=(1, 1), kernels=(3,)), SPEC)
    with pytest.raises(ValueError, match="too small for kernels"):
        PolicyNetwork(EncoderConfig(channels=(8, 8), strides=(8, 8), kernels=(8, 12)), SPEC)
    config = EncoderConfig(channels=(8,), strides=(1,), kernels=(3,), convolution="residual")
    with pytest.raises(ValueError, match="3x3 convolutions alone"):
        PolicyNetwork(config, SPEC)


@pytest.mark.parametrize(
    ("strides", "side", "left_out"),
    [
        ((1, 1), 12, True),
        ((2, 1, 1), 12, True),
        ((1, 2, 1), 12, True),
        ((2, 2), 7, False),
        ((1, 1, 1), 6, False),
    ],
    ids=str,
)
def test_the_middle_cell_depends_on_the_cells_near_it(
    strides: tuple[int, ...], side: int, left_out: bool
) -> None:
    """Its features are the features of all planes; what is left out has no gradient there either."""
    config = EncoderConfig(channels=(6,) * len(strides), strides=strides, norm="none", gather="middle")
    torso = Planes(config, (3, side, side))
    assert (torso.near is not None) == left_out
    planes = torch.randn((4, 3, side, side), generator=torch.Generator().manual_seed(1), requires_grad=True)
    found = torso(planes, 0.5)
    assert found.shape == (4, torso.size) == (4, 6)
    (gradient,) = torch.autograd.grad(found.square().sum(), planes)
    torso.near = None
    whole = torso(planes, 0.5)
    torch.testing.assert_close(found, whole)
    torch.testing.assert_close(gradient, torch.autograd.grad(whole.square().sum(), planes)[0])
    torch.testing.assert_close(torso.with_cells(planes * 0.5)[0], whole)
    plain = Planes(msgspec.structs.replace(config, gather="all"), (3, side, side))
    plain.load_state_dict(torso.state_dict())
    after = plain(planes, 0.5).reshape(4, 6, -1)
    size = math.isqrt(after.shape[2])
    torch.testing.assert_close(whole, after[:, :, size // 2 * size + size // 2])


def test_norms_read_all_cells_of_a_board() -> None:
    config = EncoderConfig(channels=(6,), strides=(1,), norm="layer", gather="middle")
    torso = Planes(config, (3, 8, 8))
    planes = torch.randn(2, 3, 8, 8)
    moved = planes.clone()
    moved[:, :, 0, 0] += 3.0
    assert torso.near is None
    assert not torch.allclose(torso(planes), torso(moved))

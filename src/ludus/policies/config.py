"""What a network looks like. Part of every preset and of every weights file."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Count = Annotated[int, msgspec.Meta(ge=1)]
Natural = Annotated[int, msgspec.Meta(ge=0, le=1000)]


class PolicyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Encoder, memory and heads of a policy network.

    ``inputs`` names the observation tensors to read (empty = all). Tensors whose codec decodes to
    planes go through the convolution torso, the others through the dense torso; the two are joined.
    ``context`` is the width of what each head tells the heads after it, where a game's heads depend on each
    other (``autoregressive.py``).

    ``blocks`` above 0 is another network: AlphaGo Zero's residual tower of that many blocks of ``filters``
    filters, for games on a board (``residual.py``); of the settings above it reads ``inputs`` alone.

    ``ownership`` and ``score`` give that tower heads which foretell whose each cell will be when the match is
    counted, and by how many points (Wu 2019, section 4.1), for games that count (``GameSpec.counted_cells``).
    They are for learning: what searches and acts never evaluates them.
    """

    inputs: tuple[str, ...] = ()
    channels: tuple[Count, ...] = (32, 64)  # of each convolution
    strides: tuple[Count, ...] = (2, 2)  # one a convolution
    kernels: tuple[Count, ...] = ()  # one a convolution, without padding; empty = 3x3 with padding 1
    # plain, or residual: IMPALA's stages, each convolution, 3x3 maximum at its stride, two residual blocks
    convolution: Literal["plain", "residual"] = "plain"
    dense: tuple[Count, ...] = (128,)  # torso of the tensors that are not planes
    hidden: tuple[Count, ...] = (256,)  # after joining
    activation: Literal["leaky_relu", "relu", "tanh", "gelu"] = "leaky_relu"
    norm: Literal["none", "layer", "group"] = "layer"
    # recall: what the vector inputs were, without weights; gru, lstm: learned (memory.py)
    memory: Literal["none", "recall", "gru", "lstm"] = "none"
    memory_size: Count = 128  # of gru and lstm
    context: Count = 64  # of heads that are decided one after the other
    normalise_observations: bool = True
    normalise_values: bool = True
    blocks: Natural = 0
    filters: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 64
    policy_planes: Count = 2  # of the tower's policy head, before its linear layer
    value_planes: Count = 1  # of its value head
    value_hidden: Count = 64
    ownership: bool = False
    score: bool = False

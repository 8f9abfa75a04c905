"""Configuration of networks. Part of every preset and of every weights file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from ludus.flow.inputs.decode import from_json

#: Largest size of a layer; most layers of a kind, tensors of a spec and heads; also in weights files.
MAX_SIZE, MAX_PARTS = 1 << 20, 256
Count = Annotated[int, msgspec.Meta(ge=1, le=MAX_SIZE)]
Counts = Annotated[tuple[Count, ...], msgspec.Meta(max_length=MAX_PARTS)]
Blocks = Annotated[int, msgspec.Meta(ge=1, le=1000)]
ValueHeads = Annotated[int, msgspec.Meta(ge=1, le=64)]
Slope = Annotated[float, msgspec.Meta(ge=0, le=1)]
EncoderName = Annotated[str, msgspec.Meta(max_length=128)]
Filters = Annotated[int, msgspec.Meta(ge=1, le=4096)]


class EncoderConfig(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="network", tag="encoder"
):
    """Encoder, memory and heads of a policy network (``network.py``).

    ``inputs`` names the observation tensors to read (empty = all). Tensors whose codec decodes to planes pass
    through the convolutions, the rest through the dense encoder; the two are joined. ``context`` is the
    width of each head's embedding for the heads after it, in games whose heads depend on each other
    (``autoregressive.py``).
    """

    inputs: tuple[str, ...] = ()
    # name of a user's torch module that replaces the torsos and their join (encoders.py); "" = none
    encoder: EncoderName = ""
    channels: Counts = (32, 64)  # of each convolution
    strides: Counts = (2, 2)  # one per convolution
    kernels: Counts = ()  # one per convolution, without padding; empty = 3x3 with padding 1
    # plain, or residual: IMPALA's stages, each convolution, 3x3 maximum at its stride, two residual blocks
    convolution: Literal["plain", "residual"] = "plain"
    # cells of the last convolution that are joined: all, or the middle one, where a rolled board has its seat
    gather: Literal["all", "middle"] = "all"
    dense: Counts = (128,)  # encoder of the tensors that are not planes
    hidden: Counts = (256,)  # after joining
    activation: Literal["leaky_relu", "relu", "tanh", "gelu", "elu"] = "leaky_relu"
    leaky_slope: Slope = 0.01  # of leaky_relu below 0
    # of dense layers and convolutions; batch: by stored statistics (batch_norm.py)
    norm: Literal["none", "layer", "group", "batch"] = "layer"
    # recall: maximum and average of the vector inputs, without weights; gru, lstm: learned (memory.py)
    memory: Literal["none", "recall", "gru", "lstm"] = "none"
    memory_size: Count = 128  # of gru and lstm
    context: Count = 64  # of heads decided one after the other
    # log-deviation of continuous heads: computed from the state, or one parameter of each head
    deviation: Literal["state", "free"] = "state"
    # the value reads the policy's features, or has a separate encoder
    critic: Literal["shared", "own"] = "shared"
    # observations that an own critic sees: of its seat, or of more seats for the learner only
    critic_sees: Literal["own", "team", "all"] = "own"
    # each with its own discount (algorithm.value_discounts); several are for the learner alone
    value_heads: ValueHeads = 1
    # output of a choice: its log-odds, or its value under epsilon-greedy play (q_values.py)
    output: Literal["logits", "q"] = "logits"
    duelling: bool = False  # Q = V + advantage - mean advantage; with output = "q"
    normalise_observations: bool = True
    normalise_values: bool = True

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield settings that contradict each other: the key, and the rest of the error message."""
        for name, given in (("strides", self.strides), ("kernels", self.kernels)):
            optional = name == "kernels"
            if len(given) != len(self.channels) and (given or not optional):
                none = ", or none" if optional else ""
                yield (
                    name,
                    f"has {len(given)} values: expected {len(self.channels)}, "
                    f"one for each of policy.channels{none}",
                )
        if self.critic_sees != "own" and self.critic != "own":
            yield (
                "critic_sees",
                f'= "{self.critic_sees}": the policy sees its own seat; expected policy.critic = "own"',
            )
        elif self.critic_sees != "own" and self.memory == "recall":
            yield (
                "critic_sees",
                f'= "{self.critic_sees}": recall covers no other seats; expected policy.memory = "none"',
            )
        elif self.critic_sees == "all" and self.memory != "none":
            yield (
                "critic_sees",
                '= "all": a critic with learned memory joins the memories of a team; expected "own" or '
                f'"team", or policy.memory = "none", not "{self.memory}"',
            )
        if self.encoder and self.memory == "recall":
            yield (
                "encoder",
                f'= "{self.encoder}": an encoder of your own recalls nothing; expected policy.memory = '
                '"none", "gru" or "lstm"',
            )
        yield from self._output_problems()

    def _output_problems(self) -> Iterator[tuple[str, str]]:
        if self.duelling and self.output != "q":
            yield "duelling", f'= true with policy.output = "{self.output}": expected policy.output = "q"'
        if self.output != "q":
            return
        if self.value_heads > 1:
            yield "value_heads", f'= {self.value_heads} with policy.output = "q": expected 1'
        if self.memory != "none":
            yield "output", f'= "q" with policy.memory = "{self.memory}": expected policy.memory = "none"'
        if self.critic_sees != "own":
            yield (
                "critic_sees",
                f'= "{self.critic_sees}" with policy.output = "q": expected policy.critic_sees = "own"',
            )
        elif self.critic == "own" and not self.duelling:
            yield "critic", '= "own" with policy.output = "q": expected policy.duelling = true'

    def widths(self) -> tuple[int, ...]:
        """Return every size that tensors are made of, for bounds."""
        return (
            *self.channels,
            *self.strides,
            *self.kernels,
            *self.dense,
            *self.hidden,
            self.memory_size,
            self.context,
        )


class ResnetConfig(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="network", tag="resnet"
):
    """AlphaGo Zero's residual network over a board (``residual.py``).

    ``inputs`` names the observation tensors to read (empty = all). ``ownership`` and ``score`` add auxiliary
    heads that predict final ownership and score (Wu 2019, section 4.1), for games that count them
    (``GameSpec.counted_cells``). They are trained, and never evaluated by search or acting.
    """

    inputs: tuple[str, ...] = ()
    blocks: Blocks = 6
    filters: Filters = 64
    policy_planes: Count = 2  # of the policy head, before its linear layer
    value_planes: Count = 1  # of the value head
    value_hidden: Count = 64
    ownership: bool = False
    score: bool = False

    def problems(self) -> Iterator[tuple[str, str]]:
        """Return no problems: no settings exclude each other."""
        return iter(())

    def widths(self) -> tuple[int, ...]:
        """Return every size that tensors are made of, for bounds."""
        return (self.blocks, self.filters, self.policy_planes, self.value_planes, self.value_hidden)


PolicyConfig = EncoderConfig | ResnetConfig


def encode_config(config: PolicyConfig) -> str:
    """Return the configuration as JSON, as in a weights file."""
    return msgspec.json.encode(config).decode()


def decode_config(text: str) -> PolicyConfig:
    """Return the configuration in the JSON text of a weights file.

    Raises:
        msgspec.MsgspecError: The text is not JSON, or no network's configuration.
    """
    config: PolicyConfig = msgspec.convert(from_json(text), PolicyConfig)
    return config

"""Settings of imitation that do not fit its network."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.algorithms.config import ImitationConfig
from ludus.algorithms.registry import CheckInput
from ludus.policies.config import ResnetConfig

#: Settings that only one kind of network reads.
_BOARDS = ("weight_decay", "ema", "symmetries")
_SLABS = (
    *(
        "adam_betas",
        "adam_eps",
        "max_grad_rms",
        "micro_batch",
        "discount",
        "horizon",
        "horizon_final",
    ),
    *("normalise_returns", "reward_scale", "reward_clip", "gae_lambda", "entropy_coefficient"),
)


def problems(config: ImitationConfig, around: CheckInput) -> Iterator[tuple[str, str]]:
    """Yield settings without effect, and board networks that would not learn from recorded matches."""
    policy = around.policy
    boards = isinstance(policy, ResnetConfig)
    if boards and not config.data:
        yield "policy.network", 'policy.network = "resnet": expected "encoder" without algorithm.data'
    default = ImitationConfig()
    network = "resnet" if boards else "encoder"
    for key in _SLABS if boards else _BOARDS:
        value = getattr(config, key)
        if value != getattr(default, key):
            path = f"algorithm.{key}"
            yield path, f'{path} = {_text(value)}: has no effect where policy.network = "{network}"'


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

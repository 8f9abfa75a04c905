"""Outputs of a network's heads (``policy.output``), and the games that they fit. Without torch."""

from __future__ import annotations

from ludus.flow.spec import GameSpec
from ludus.policies.config import EncoderConfig


def unfit_heads(spec: GameSpec) -> str:
    """Return the reason why a game's heads cannot have Q-values; "" if they can."""
    for head in spec.heads:
        what = ""
        if head.kind == "continuous":
            what = "is continuous"
        elif head.depends_on:
            what = f"depends on head {spec.heads[head.depends_on[0]].name}"
        elif head.points_at:
            what = f"points at {head.points_at}"
        if what:
            return (
                f"head {head.name} of {spec.name} {what}; expected independent heads with a list of choices"
            )
    return ""


def check_output(config: EncoderConfig, spec: GameSpec) -> None:
    """Raise ``ValueError`` if ``config.output`` does not fit the game or the rest of ``config``."""
    if config.output == "q" and (unfit := unfit_heads(spec)):
        raise ValueError(f'policy.output = "q": {unfit}')
    for key, text in config.problems():
        if key in ("output", "duelling"):
            raise ValueError(f"policy.{key} {text}")


def gives_q_values(config: object) -> bool:
    """Whether a network of this configuration predicts Q-values."""
    return isinstance(config, EncoderConfig) and config.output == "q"

"""Settings of a preset that do not fit together."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.algorithms.registry import method_of
from ludus.flow.problem import Problem
from ludus.presets.config import MAX_DECISIONS, Preset


def setting_problems(preset: Preset) -> Iterator[Problem]:
    """Yield settings of a preset that do not fit together, without a look at its game."""
    pool, policy = preset.pool, preset.policy
    if pool.slots % pool.groups:
        wanted = f"a multiple of pool.groups = {pool.groups}"
        yield Problem("pool.slots", value=pool.slots, expected=wanted)
    if pool.slots * pool.rollout_length > MAX_DECISIONS:
        text = f"pool.slots = {pool.slots}, pool.rollout_length = {pool.rollout_length}"
        yield Problem("pool.slots", f"{text}: expected a product of at most {MAX_DECISIONS:,}")
    for key, text in policy.problems():
        yield Problem(f"policy.{key}", f"policy.{key} {text}")
    for key, text in preset.algorithm.problems():
        yield Problem(f"algorithm.{key}", f"algorithm.{key} {text}")
    method = method_of(preset.algorithm)
    network = str(policy.__struct_config__.tag)
    if network not in method.networks:
        wanted = " or ".join(f'"{name}"' for name in method.networks)
        text = f'policy.network = "{network}": algorithm.name = "{method.name}" trains {wanted}'
        yield Problem("policy.network", text)
    heads = getattr(policy, "value_heads", 1)
    for key, text in preset.algorithm.head_problems(heads):
        yield Problem(f"algorithm.{key}", f"algorithm.{key} {text}")
    if heads > 1 and not method.value_heads:
        text = f'policy.value_heads = {heads}: algorithm.name = "{method.name}" trains one; expected 1'
        yield Problem("policy.value_heads", text)
    if heads > 1 and preset.run.topology == "one_to_one":
        text = f'policy.value_heads = {heads}: run.topology = "one_to_one" moves one; expected 1'
        yield Problem("policy.value_heads", text)
    output = getattr(policy, "output", "logits")
    if output not in method.outputs:
        wanted = " or ".join(f'"{name}"' for name in method.outputs)
        text = f'policy.output = "{output}": algorithm.name = "{method.name}" trains {wanted}'
        yield Problem("policy.output", text)
    critic = getattr(policy, "critic", "")
    if critic and critic not in method.critics:
        wanted = " or ".join(f'"{name}"' for name in method.critics)
        text = f'policy.critic = "{critic}": algorithm.name = "{method.name}" trains {wanted}'
        yield Problem("policy.critic", text)
    if preset.opponents and not any(o.weight > 0 for o in preset.opponents):
        yield Problem("opponents.0.weight", "opponents: all weights are 0; expected one above 0")

"""Table of every setting: a second value, the probe that shows its effect, and the other settings needed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from . import settings_probes as probes
from .settings_probes import Probe

BOTS = """
[game]
name = "tic_tac_toe"
[[opponents]]
name = "random"
[pool]
slots = 8
groups = 2
threads = 0
rollout_length = 8
[policy]
dense = [8]
hidden = [8]
[algorithm]
minibatches = 2
micro_batch = 32
[evaluation]
every_steps = 0
matches = 0
final_matches = 4
[run]
max_steps = 130
threads = 1
lag = "sync"
precision = "float32"
checkpoint_every_minutes = 0
"""

SELF = """
[game]
name = "tic_tac_toe"
[algorithm]
name = "alphazero"
batch_size = 16
round_positions = 50
sample_reuse = 1.0
window_matches_min = 5
statistics_batches = 2
learning_rate = 0.05
[algorithm.search]
visits = 8
[algorithm.self_play]
slots = 4
[policy]
network = "resnet"
blocks = 1
filters = 4
value_hidden = 4
[evaluation]
every_steps = 0
matches = 0
final_matches = 2
against = ["random"]
visits = 4
[run]
max_steps = 130
threads = 1
lag = "sync"
precision = "float32"
checkpoint_every_minutes = 0
"""

Q = BOTS.replace(
    "[algorithm]\nminibatches = 2",
    """output = "q"
[algorithm]
name = "dqn"
buffer_slabs = 4
batch_size = 16
updates = 4
learning_starts = 16
target_every = 5
epsilon_share = 1.0
learning_rate = 0.01
discount = 0.9""",
)

PREFIXES = {
    "Preset": "",
    "GameConfig": "game.",
    "OpponentConfig": "opponents.0.",
    "PoolConfig": "pool.",
    "EncoderConfig": "policy.",
    "ResnetConfig": "policy.",
    "A2cConfig": "algorithm.",
    "AppoConfig": "algorithm.",
    "ImitationConfig": "algorithm.",
    "ImpalaConfig": "algorithm.",
    "PolicyGradientConfig": "algorithm.",
    "TrpoConfig": "algorithm.",
    "AlphaZeroConfig": "algorithm.",
    "DqnConfig": "algorithm.",
    "SearchConfig": "algorithm.search.",
    "SelfPlayConfig": "algorithm.self_play.",
    "CurriculumConfig": "curriculum.",
    "EvaluationConfig": "evaluation.",
    "RunConfig": "run.",
}

#: Fields that hold another struct, whose own fields are in the table; a league's are tested with its rules.
TABLES = {prefix.rstrip(".").removesuffix(".0").split(".")[-1] for prefix in PREFIXES.values() if prefix}
TABLES.add("league")


@dataclass(frozen=True)
class Seen:
    """How a setting shows its effect.

    ``value``: differs from the base's. ``under``: other settings of both presets that are compared.
    ``text``: text of the preset's file in place of ``value``, for settings without an option.
    """

    value: str
    probe: Probe = probes.run
    under: dict[str, str] = field(default_factory=dict)
    base: str = ""
    text: str = ""
    path: str = ""  # of the value, where the field is a table of others


GO = {"game.name": "go", "game.params.size": "5", "policy.ownership": "true", "policy.score": "true"}
SHORT_GO = GO | {"run.max_steps": "300", "evaluation.final_matches": "2"}
SOLVED = {"algorithm.search.solver": "true"}
ENDGAME = SOLVED | {"algorithm.search.endgame_plies": "6"}
GUMBEL = {"algorithm.search.gumbel_moves": "4"}
WIDE = {"algorithm.search.visits": "64"}
LEAVES = WIDE | {"algorithm.search.leaves": "4"}
RESIGN = SOLVED | {"algorithm.self_play.resign": "true", "algorithm.self_play.never_resign_share": "0.5"}
GATE = {"algorithm.gate": "true", "algorithm.gate_matches": "8"}
LONG = {"run.max_steps": "300"}
RTS = {
    "game.name": "minirts",
    "opponents.0.name": "simple",
    "policy.inputs": "globals",
    "evaluation.final_matches": "2",
    "pool.slots": "4",
}
RULES = RTS | {"game.name": "rts", "opponents.0.name": "rush"}
PAST = {
    "opponents.0.name": "past",
    "opponents.0.past_every": "2",
    "opponents.0.past_slots": "2",
    "algorithm.learning_rate": "0.05",
}
TWO = {"opponents.1.name": "perfect"}
ASYNC = {"run.lag": "async"}
TWO_HEADS = {"policy.value_heads": "2"}
CONTINUOUS = {"game.name": "gymnasium/Pendulum-v1"}
PLANES = {"game.name": "minirts", "policy.inputs": "cells", "opponents.0.name": "simple"}

SEARCH = {
    "visits": Seen("12"),
    "c_puct": Seen("4.0"),
    "c_base": Seen("10.0"),
    "fpu": Seen("loss"),
    "fpu_reduction": Seen("0.5"),
    "virtual_loss": Seen("0.0", probes.searched, LEAVES),
    "leaves": Seen("4", probes.searched, WIDE),
    "reuse_tree": Seen("false"),
    "noise_share": Seen("0.9"),
    "noise_alpha": Seen("0.03"),
    "gumbel_moves": Seen("4"),
    "gumbel_scale": Seen("0.0", under=GUMBEL),
    "gumbel_visit": Seen("500.0", under=GUMBEL),
    "gumbel_value": Seen("5.0", under=GUMBEL),
    "forced_playouts": Seen("8.0"),
    "solver": Seen("true"),
    "endgame_plies": Seen("6", under=SOLVED),
    "endgame_nodes": Seen("1", under=ENDGAME),
    "endgame_root_nodes": Seen("1", under=ENDGAME),
    "score_share": Seen("0.9", under=SHORT_GO),
    "cache": Seen("1000"),
}

SELF_PLAY = {
    "slots": Seen("8"),
    "temperature": Seen("0.1"),
    "temperature_plies": Seen("1"),
    "temperature_end": Seen("2.0", under={"algorithm.self_play.temperature_plies": "1"}),
    "full_share": Seen("0.5", under={"algorithm.self_play.cheap_visits": "3"}),
    "cheap_visits": Seen(
        "2", under={"algorithm.self_play.full_share": "0.5", "algorithm.self_play.cheap_visits": "5"}
    ),
    "resign": Seen("false", probes.resigning, RESIGN),
    "resign_errors": Seen("0.9", probes.resigning, RESIGN),
    "resign_plies": Seen("9", probes.resigning, RESIGN),
    "never_resign_share": Seen("1.0", probes.resigning, RESIGN),
    "random_share": Seen("1.0", under={"algorithm.self_play.random_plies": "3"}),
    "random_plies": Seen(
        "3", under={"algorithm.self_play.random_share": "1.0", "algorithm.self_play.random_plies": "1"}
    ),
    "proven_share": Seen("1.0", under=SOLVED),
}

ALPHAZERO = {
    "optimizer": Seen("adamw"),
    "learning_rate": Seen("0.2"),
    "learning_rate_schedule": Seen("linear"),
    "rate_steps": Seen("2", under={"algorithm.learning_rate_schedule": "steps"}),
    "rate_factor": Seen("0.5"),
    "warmup": Seen("10"),
    "momentum": Seen("0.1"),
    "weight_decay": Seen("0.1"),
    "batch_size": Seen("8"),
    "value_coefficient": Seen("0.1"),
    "value_mix": Seen("1.0"),
    "ownership_coefficient": Seen("0.0", under=SHORT_GO),
    "score_coefficient": Seen("1.0", under=SHORT_GO),
    "max_grad_norm": Seen("0.01"),
    "ema": Seen("0.9"),
    "round_positions": Seen("120"),
    "sample_reuse": Seen("2.0"),
    "window_matches": Seen("10", under=LONG),
    "window_matches_min": Seen("20"),
    "window_share": Seen("1.0", under=LONG),
    "even_outcomes": Seen("true"),
    "symmetries": Seen("false"),
    "statistics_batches": Seen("5"),
    "gate": Seen("true"),
    "gate_matches": Seen("4", under=GATE),
    "gate_score": Seen("0.05", under=GATE | {"algorithm.gate_score": "1.0"}),
}

PIPELINED = {"run.lag": "pipelined"}
TAUGHT = {"algorithm.teacher": "teacher.safetensors"}
#: Settings of every actor-critic method.
ACTOR_CRITIC = {
    "learning_rate": Seen("0.01"),
    "learning_rate_schedule": Seen("cosine"),
    "learning_rate_final": Seen("0.01", under={"algorithm.learning_rate_schedule": "linear"}),
    "learning_rate_kl": Seen("1.0"),
    "optimizer": Seen("sgd"),
    "momentum": Seen("0.1", under={"algorithm.optimizer": "sgd"}),
    "adam_betas": Seen("0.5,0.9"),
    "adam_eps": Seen("0.1"),
    "discount": Seen("0.5"),
    "horizon": Seen("5"),
    "horizon_final": Seen("50", under={"algorithm.horizon": "5"}),
    "value_coefficient": Seen("3.0"),
    "value_discounts": Seen("0.9,0.5", under=TWO_HEADS),
    "value_weights": Seen("1.0,0.0", under=TWO_HEADS | {"algorithm.value_discounts": "0.9,0.5"}),
    "entropy_coefficient": Seen("0.5"),
    "entropy_coefficient_final": Seen("0.5"),
    "max_grad_norm": Seen("0.01"),
    "max_grad_rms": Seen("0.5"),
    "epochs": Seen("2"),
    "sample_reuse": Seen("1.5"),
    "target_kl": Seen("1e-9", under={"algorithm.epochs": "3"}),
    "minibatches": Seen("1"),
    "micro_batch": Seen("4"),
    "normalise_advantages": Seen("false"),
    "normalise_returns": Seen("false"),
    "reward_scale": Seen("3.0", under={"algorithm.normalise_returns": "false"}),
    "reward_clip": Seen("0.1", under={"algorithm.normalise_returns": "false"}),
    "upgo_coefficient": Seen("1.0"),
    "kl_coefficient": Seen("1.0", under={"algorithm.epochs": "2"}),
    "teacher": Seen("teacher.safetensors", probes.taught),
    "teacher_coefficient": Seen("9.0", probes.taught, TAUGHT),
    "teacher_coefficient_final": Seen("9.0", probes.taught, TAUGHT),
}


def seen_in_updates(table: dict[str, Seen]) -> dict[str, Seen]:
    """Return the table without whole runs, for methods that share a learner already covered by runs."""
    return {
        n: replace(s, probe=probes.updates if s.probe is probes.run else s.probe) for n, s in table.items()
    }


APPO = ACTOR_CRITIC | {
    "gae_lambda": Seen("0.1"),
    "vtrace": Seen("false", under=PIPELINED),
    "rho_clip": Seen("0.3", under=PIPELINED),
    "c_clip": Seen("0.3", under=PIPELINED),
    "clip_ratio": Seen("0.001", under={"algorithm.epochs": "4"}),
    "clip_value": Seen("0.001", under={"algorithm.epochs": "4"}),
}

SHARED = seen_in_updates(ACTOR_CRITIC)
A2C = SHARED | {"n_steps": Seen("2"), "clip_ratio": Seen("0.5")}

IMPALA = SHARED | {
    "gae_lambda": Seen("0.1"),
    "rho_clip": Seen("0.3", under=PIPELINED),
    "c_clip": Seen("0.3", under=PIPELINED),
}

POLICY_GRADIENT = SHARED | {
    "baseline": Seen("mean"),
    "clip_ratio": Seen("0.5"),
    "normalise_advantages": Seen("true", probes.updates),
}

PRIORITY = {"algorithm.priority_alpha": "0.6"}
DQN = {
    "learning_rate": Seen("0.1", base=Q),
    "learning_rate_schedule": Seen("cosine", base=Q),
    "learning_rate_final": Seen("0.01", under={"algorithm.learning_rate_schedule": "linear"}, base=Q),
    "optimizer": Seen("sgd", base=Q),
    "momentum": Seen("0.1", under={"algorithm.optimizer": "sgd"}, base=Q),
    "adam_betas": Seen("0.5,0.9", base=Q),
    "adam_eps": Seen("0.1", base=Q),
    "max_grad_norm": Seen("0.01", base=Q),
    "max_grad_rms": Seen("0.5", base=Q),
    "micro_batch": Seen("4", base=Q),
    "discount": Seen("0.5", base=Q),
    "horizon": Seen("5", base=Q),
    "horizon_final": Seen("50", under={"algorithm.horizon": "5"}, base=Q),
    "normalise_returns": Seen("true", base=Q),
    "reward_scale": Seen("3.0", base=Q),
    "reward_clip": Seen("0.1", base=Q),
    "buffer_slabs": Seen("1", base=Q),
    "buffer_mib": Seen("0.001", probes.refused, base=Q),
    "learning_starts": Seen("70", base=Q),
    "batch_size": Seen("8", base=Q),
    "updates": Seen("2", base=Q),
    "n_steps": Seen("1", base=Q),
    "double": Seen("false", base=Q),
    "target": Seen("none", base=Q),
    "target_every": Seen("2", base=Q),
    "target_tau": Seen("0.5", under={"algorithm.target": "polyak"}, base=Q),
    "huber_delta": Seen("0.01", base=Q),
    "epsilon": Seen("0.5", base=Q),
    "epsilon_final": Seen("0.9", base=Q),
    "epsilon_share": Seen("0.1", base=Q),
    "priority_alpha": Seen("0.6", base=Q),
    "priority_beta": Seen("0.9", under=PRIORITY, base=Q),
    "priority_beta_final": Seen("0.5", under=PRIORITY, base=Q),
}

CLONE = BOTS.replace("[algorithm]", '[algorithm]\nname = "imitation"\nteacher = "mcts:2"')
IMITATION = {
    name: replace(seen, base=CLONE)
    for name, seen in (
        {
            n: ACTOR_CRITIC[n]
            for n in (
                *("learning_rate", "learning_rate_schedule", "learning_rate_final", "optimizer", "momentum"),
                *("adam_betas", "adam_eps", "discount", "horizon", "horizon_final", "value_coefficient"),
                *("entropy_coefficient", "max_grad_norm", "max_grad_rms", "epochs", "minibatches"),
                *("micro_batch", "normalise_returns", "reward_scale", "reward_clip"),
            )
        }
        | {
            "teacher": Seen("mcts:4"),
            "seats": Seen("all"),
            "greedy": Seen("true", under={"algorithm.teacher": "mcts:4,plies=9"}),
            "gae_lambda": Seen("0.1"),
        }
    ).items()
}

OWN = {"policy.critic": "own"}
KL_OF_EPOCHS = ("target_kl", "learning_rate_kl", "kl_coefficient")
TRPO = {
    name: replace(seen, under=seen.under | OWN)
    for name, seen in (
        {
            n: s
            for n, s in ACTOR_CRITIC.items()
            if n not in ("target_kl", "learning_rate_kl", "kl_coefficient")
        }
        | {
            "gae_lambda": Seen("0.1"),
            "vtrace": Seen("false", under=PIPELINED),
            "rho_clip": Seen("0.3", under=PIPELINED),
            "c_clip": Seen("0.3", under=PIPELINED),
            "max_kl": Seen("0.0001"),
            "damping": Seen("1.0"),
            "conjugate_steps": Seen("1"),
            "fisher_share": Seen("1.0"),
            "difference": Seen("0.2"),
            "backtracks": Seen("1", under={"algorithm.damping": "0.0"}),
            "backtrack_factor": Seen("0.1", under={"algorithm.damping": "0.0"}),
        }
    ).items()
}

GAME = {
    "name": Seen("connect_four"),
    "params": Seen("seat1", under={"game.name": "connect_four"}, path="game.params.opens"),
    "randomise": Seen("", under=RULES, text='[game.randomise]\n"units.peasant.hp" = [1, 400]\n'),
    "frame_skip": Seen("20", under=RTS),
}

OPPONENT = {
    "name": Seen("perfect"),
    "weight": Seen("0.1", under=TWO),
    "frame_skip": Seen("20", under=RTS),
    "past_window": Seen("1", under=PAST | LONG),
    "past_every": Seen("1", under=PAST | LONG),
    "past_slots": Seen("1", under=PAST),
}

POOL = {
    "slots": Seen("12"),
    "groups": Seen("1", probes.pool),
    "threads": Seen("1", probes.pool),
    "timeout_s": Seen("5.0", probes.pool),
    "on_error": Seen("stop", probes.pool),
    "rollout_length": Seen("4"),
}

CURRICULUM_ON = RTS | {"curriculum.bot": "simple"}
ADVANCING = {
    "curriculum.bot": "perfect",
    "curriculum.ticks": "3",
    "curriculum.advance": "0.01",
    "curriculum.step": "3",
    "curriculum.matches": "8",
}
CURRICULUM = {
    "bot": Seen("simple", under=RTS),
    "ticks": Seen("10", under=CURRICULUM_ON),
    "share": Seen("1.0", under=CURRICULUM_ON),
    "advance": Seen("0.99", under=ADVANCING),
    "step": Seen("1", under=ADVANCING),
    "matches": Seen("400", under=ADVANCING),
}

EVALUATION = {
    "every_steps": Seen("50", under={"evaluation.matches": "4"}),
    "matches": Seen("4"),
    "final_matches": Seen("6"),
    "against": Seen("perfect"),
    "greedy": Seen("true", under={"evaluation.final_matches": "20"}),
    "visits": Seen("2", base=SELF),
    "max_ticks": Seen("10", probes.ending, RTS),
    "initial": Seen("false", under={"evaluation.matches": "4"}),
    "floor_matches": Seen("5"),
}

RUN = {
    "seed": Seen("2"),
    "start": Seen("other.safetensors", probes.beginning),
    "max_steps": Seen("200"),
    "max_minutes": Seen("1.5", probes.spent),
    "target": Seen("0.5", probes.spent),
    "lag": Seen("pipelined"),
    "topology": Seen("one_to_one", under={"run.pools": "2"}),
    "pools": Seen("4", under={"run.topology": "one_to_one", "run.pools": "2"}),
    "queue": Seen("2"),
    "max_lag": Seen("0", probes.components, ASYNC),
    "over_lag": Seen("drop", probes.components, ASYNC),
    "threads": Seen("3", probes.components),
    "checkpoint_every_minutes": Seen("0.0000001", probes.files),
    "keep_checkpoints": Seen("1", probes.files, {"run.checkpoint_every_minutes": "0.0000001"}),
    "device": Seen("cuda", probes.components),
    "precision": Seen("bfloat16", probes.components),
}

ENCODER = {
    "inputs": Seen("units", probes.network, {"game.name": "minirts", "policy.inputs": "globals"}),
    "encoder": Seen("tests.unit.training.settings_probes.Flat", probes.network),
    "channels": Seen("8,8", probes.network, PLANES),
    "strides": Seen("1,1", probes.network, PLANES),
    "kernels": Seen("5,5", probes.network, PLANES),
    "convolution": Seen("residual", probes.network, PLANES),
    "dense": Seen("16", probes.network, RTS),
    "hidden": Seen("16", probes.network),
    "activation": Seen("elu", probes.network),
    "leaky_slope": Seen("0.1", probes.network),
    "norm": Seen("none", probes.network),
    "memory": Seen("gru", probes.network),
    "memory_size": Seen("16", probes.network, {"policy.memory": "gru"}),
    "context": Seen("16", probes.network, {"game.name": "minirts", "game.params.commands": "tactical"}),
    "deviation": Seen("free", probes.network, CONTINUOUS),
    "critic": Seen("own", probes.network),
    "value_heads": Seen("2", probes.network),
    "critic_sees": Seen("all", probes.run, {"policy.critic": "own", "opponents.0.name": "latest"}),
    "normalise_observations": Seen("false", probes.network, RTS),
    "normalise_values": Seen("false", probes.network),
    "output": Seen("", probes.network, base=Q.split("output =")[0], text=Q[Q.index("output =") :]),
    "duelling": Seen("true", probes.network, base=Q),
}

RESNET = {
    "inputs": Seen(
        "cells", probes.network, {"game.name": "minirts", "policy.inputs": "cells,globals"}, base=SELF
    ),
    "blocks": Seen("2", probes.network, base=SELF),
    "filters": Seen("8", probes.network, base=SELF),
    "policy_planes": Seen("3", probes.network, base=SELF),
    "value_planes": Seen("2", probes.network, base=SELF),
    "value_hidden": Seen("8", probes.network, base=SELF),
    "ownership": Seen("false", probes.network, GO, base=SELF),
    "score": Seen("false", probes.network, GO, base=SELF),
}

#: Struct -> field -> how its effect is seen.
TABLE: dict[str, dict[str, Seen]] = {
    "Preset": {"title": Seen("another", probes.files)},
    "GameConfig": GAME,
    "OpponentConfig": OPPONENT,
    "PoolConfig": POOL,
    "EncoderConfig": ENCODER,
    "ResnetConfig": RESNET,
    "A2cConfig": A2C,
    "AppoConfig": APPO,
    "ImitationConfig": IMITATION,
    "ImpalaConfig": IMPALA,
    "PolicyGradientConfig": POLICY_GRADIENT,
    "TrpoConfig": TRPO,
    "AlphaZeroConfig": ALPHAZERO,
    "DqnConfig": DQN,
    "SearchConfig": SEARCH,
    "SelfPlayConfig": SELF_PLAY,
    "CurriculumConfig": CURRICULUM,
    "EvaluationConfig": EVALUATION,
    "RunConfig": RUN,
}

#: Struct -> the method that reads it, where the base preset names another one.
METHODS = {
    "A2cConfig": "a2c",
    "ImpalaConfig": "impala",
    "PolicyGradientConfig": "policy_gradient",
    "TrpoConfig": "trpo",
}

SELF_PLAYED = ("AlphaZeroConfig", "SearchConfig", "SelfPlayConfig")

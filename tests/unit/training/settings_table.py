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
    "BeforeConfig": "game.before.",
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
    "TeamConfig": "team.",
    "EvaluationConfig": "evaluation.",
    "RunConfig": "run.",
    "ClusterConfig": "cluster.",
    "TrackingConfig": "tracking.",
}

#: Fields that hold another struct, whose own fields are in the table; a league's are tested with its rules.
TABLES = {prefix.rstrip(".").removesuffix(".0").split(".")[-1] for prefix in PREFIXES.values() if prefix}
TABLES.add("league")


@dataclass(frozen=True)
class Variant:
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
    "visits": Variant("12"),
    "c_puct": Variant("4.0"),
    "c_base": Variant("10.0"),
    "fpu": Variant("loss"),
    "fpu_reduction": Variant("0.5"),
    "virtual_loss": Variant("0.0", probes.search, LEAVES),
    "leaves": Variant("4", probes.search, WIDE),
    "reuse_tree": Variant("false"),
    "noise_share": Variant("0.9"),
    "noise_alpha": Variant("0.03"),
    "gumbel_moves": Variant("4"),
    "gumbel_scale": Variant("0.0", under=GUMBEL),
    "gumbel_visit": Variant("500.0", under=GUMBEL),
    "gumbel_value": Variant("5.0", under=GUMBEL),
    "forced_playouts": Variant("8.0"),
    "solver": Variant("true"),
    "endgame_plies": Variant("6", under=SOLVED),
    "endgame_nodes": Variant("1", under=ENDGAME),
    "endgame_root_nodes": Variant("1", under=ENDGAME),
    "score_share": Variant("0.9", under=SHORT_GO),
    "cache": Variant("1000"),
}

SELF_PLAY = {
    "slots": Variant("8"),
    "temperature": Variant("0.1"),
    "temperature_plies": Variant("1"),
    "temperature_end": Variant("2.0", under={"algorithm.self_play.temperature_plies": "1"}),
    "full_share": Variant("0.5", under={"algorithm.self_play.cheap_visits": "3"}),
    "cheap_visits": Variant(
        "2", under={"algorithm.self_play.full_share": "0.5", "algorithm.self_play.cheap_visits": "5"}
    ),
    "resign": Variant("false", probes.resignations, RESIGN),
    "resign_errors": Variant("0.9", probes.resignations, RESIGN),
    "resign_plies": Variant("9", probes.resignations, RESIGN),
    "never_resign_share": Variant("1.0", probes.resignations, RESIGN),
    "random_share": Variant("1.0", under={"algorithm.self_play.random_plies": "3"}),
    "random_plies": Variant(
        "3", under={"algorithm.self_play.random_share": "1.0", "algorithm.self_play.random_plies": "1"}
    ),
    "proven_share": Variant("1.0", under=SOLVED),
}

ALPHAZERO = {
    "optimizer": Variant("adamw"),
    "learning_rate": Variant("0.2"),
    "learning_rate_schedule": Variant("linear"),
    "rate_steps": Variant("2", under={"algorithm.learning_rate_schedule": "steps"}),
    "rate_factor": Variant("0.5"),
    "warmup": Variant("10"),
    "momentum": Variant("0.1"),
    "weight_decay": Variant("0.1"),
    "batch_size": Variant("8"),
    "value_coefficient": Variant("0.1"),
    "value_mix": Variant("1.0"),
    "ownership_coefficient": Variant("0.0", under=SHORT_GO),
    "score_coefficient": Variant("1.0", under=SHORT_GO),
    "max_grad_norm": Variant("0.01"),
    "ema": Variant("0.9"),
    "round_positions": Variant("120"),
    "sample_reuse": Variant("2.0"),
    "window_matches": Variant("10", under=LONG),
    "window_matches_min": Variant("20"),
    "window_share": Variant("1.0", under=LONG),
    "even_outcomes": Variant("true"),
    "symmetries": Variant("false"),
    "statistics_batches": Variant("5"),
    "gate": Variant("true"),
    "gate_matches": Variant("4", under=GATE),
    "gate_score": Variant("0.05", under=GATE | {"algorithm.gate_score": "1.0"}),
}

PIPELINED = {"run.lag": "pipelined"}
TEACHER = {"algorithm.teacher": "teacher.safetensors"}
#: Settings of every actor-critic method.
ACTOR_CRITIC = {
    "learning_rate": Variant("0.01"),
    "learning_rate_schedule": Variant("cosine"),
    "learning_rate_final": Variant("0.01", under={"algorithm.learning_rate_schedule": "linear"}),
    "learning_rate_kl": Variant("1.0"),
    "optimizer": Variant("sgd"),
    "momentum": Variant("0.1", under={"algorithm.optimizer": "sgd"}),
    "adam_betas": Variant("0.5,0.9"),
    "adam_eps": Variant("0.1"),
    "discount": Variant("0.5"),
    "horizon": Variant("5"),
    "horizon_final": Variant("50", under={"algorithm.horizon": "5"}),
    "value_coefficient": Variant("3.0"),
    "value_discounts": Variant("0.9,0.5", under=TWO_HEADS),
    "value_weights": Variant("1.0,0.0", under=TWO_HEADS | {"algorithm.value_discounts": "0.9,0.5"}),
    "entropy_coefficient": Variant("0.5"),
    "entropy_coefficient_final": Variant("0.5"),
    "max_grad_norm": Variant("0.01"),
    "max_grad_rms": Variant("0.5"),
    "epochs": Variant("2"),
    "sample_reuse": Variant("1.5"),
    "target_kl": Variant("1e-9", under={"algorithm.epochs": "3"}),
    "minibatches": Variant("1"),
    "micro_batch": Variant("4"),
    "parts": Variant("3"),
    "normalise_advantages": Variant("false"),
    "normalise_returns": Variant("false"),
    "reward_scale": Variant("3.0", under={"algorithm.normalise_returns": "false"}),
    "reward_clip": Variant("0.1", under={"algorithm.normalise_returns": "false"}),
    "upgo_coefficient": Variant("1.0"),
    "kl_coefficient": Variant("1.0", under={"algorithm.epochs": "2"}),
    "teacher": Variant("teacher.safetensors", probes.with_teacher),
    "teacher_coefficient": Variant("9.0", probes.with_teacher, TEACHER),
    "teacher_coefficient_final": Variant("9.0", probes.with_teacher, TEACHER),
}


def by_updates(table: dict[str, Variant]) -> dict[str, Variant]:
    """Return the table without whole runs, for methods that share a learner already covered by runs."""
    return {
        n: replace(s, probe=probes.updates if s.probe is probes.run else s.probe) for n, s in table.items()
    }


APPO = ACTOR_CRITIC | {
    "gae_lambda": Variant("0.1"),
    "vtrace": Variant("false", under=PIPELINED),
    "rho_clip": Variant("0.3", under=PIPELINED),
    "c_clip": Variant("0.3", under=PIPELINED),
    "clip_ratio": Variant("0.001", under={"algorithm.epochs": "4"}),
    "clip_value": Variant("0.001", under={"algorithm.epochs": "4"}),
}

SHARED = by_updates(ACTOR_CRITIC)
A2C = SHARED | {"n_steps": Variant("2"), "clip_ratio": Variant("0.5")}

IMPALA = SHARED | {
    "gae_lambda": Variant("0.1"),
    "rho_clip": Variant("0.3", under=PIPELINED),
    "c_clip": Variant("0.3", under=PIPELINED),
}

POLICY_GRADIENT = SHARED | {
    "baseline": Variant("mean"),
    "clip_ratio": Variant("0.5"),
    "normalise_advantages": Variant("true", probes.updates),
}

PRIORITY = {"algorithm.priority_alpha": "0.6"}
DQN = {
    "learning_rate": Variant("0.1", base=Q),
    "learning_rate_schedule": Variant("cosine", base=Q),
    "learning_rate_final": Variant("0.01", under={"algorithm.learning_rate_schedule": "linear"}, base=Q),
    "optimizer": Variant("sgd", base=Q),
    "momentum": Variant("0.1", under={"algorithm.optimizer": "sgd"}, base=Q),
    "adam_betas": Variant("0.5,0.9", base=Q),
    "adam_eps": Variant("0.1", base=Q),
    "max_grad_norm": Variant("0.01", base=Q),
    "max_grad_rms": Variant("0.5", base=Q),
    "micro_batch": Variant("4", base=Q),
    "parts": Variant("2", probes.parts, base=Q),
    "discount": Variant("0.5", base=Q),
    "horizon": Variant("5", base=Q),
    "horizon_final": Variant("50", under={"algorithm.horizon": "5"}, base=Q),
    "normalise_returns": Variant("true", base=Q),
    "reward_scale": Variant("3.0", base=Q),
    "reward_clip": Variant("0.1", base=Q),
    "buffer_slabs": Variant("1", base=Q),
    "buffer_mib": Variant("0.001", probes.problems, base=Q),
    "learning_starts": Variant("70", base=Q),
    "batch_size": Variant("8", base=Q),
    "updates": Variant("2", base=Q),
    "n_steps": Variant("1", base=Q),
    "double": Variant("false", base=Q),
    "target": Variant("none", base=Q),
    "target_every": Variant("2", base=Q),
    "target_tau": Variant("0.5", under={"algorithm.target": "polyak"}, base=Q),
    "huber_delta": Variant("0.01", base=Q),
    "epsilon": Variant("0.5", base=Q),
    "epsilon_final": Variant("0.9", base=Q),
    "epsilon_share": Variant("0.1", base=Q),
    "priority_alpha": Variant("0.6", base=Q),
    "priority_beta": Variant("0.9", under=PRIORITY, base=Q),
    "priority_beta_final": Variant("0.5", under=PRIORITY, base=Q),
}

CLONE = BOTS.replace("[algorithm]", '[algorithm]\nname = "imitation"\nteacher = "mcts:2"')
IMITATION = {
    name: replace(variant, base=CLONE)
    for name, variant in (
        {
            n: ACTOR_CRITIC[n]
            for n in (
                *("learning_rate", "learning_rate_schedule", "learning_rate_final", "optimizer", "momentum"),
                *("adam_betas", "adam_eps", "discount", "horizon", "horizon_final", "value_coefficient"),
                *("entropy_coefficient", "max_grad_norm", "max_grad_rms", "epochs", "minibatches"),
                *("micro_batch", "parts", "normalise_returns", "reward_scale", "reward_clip"),
            )
        }
        | {
            "teacher": Variant("mcts:4"),
            "seats": Variant("all"),
            "greedy": Variant("true", under={"algorithm.teacher": "mcts:4,plies=9"}),
            "gae_lambda": Variant("0.1"),
        }
    ).items()
}
RECORDS = BOTS.replace("[algorithm]", '[algorithm]\nname = "imitation"\ndata = "records"')
RECORDED_BOARDS = RECORDS.replace(
    "dense = [8]\nhidden = [8]", 'network = "resnet"\nblocks = 1\nfilters = 4\nvalue_hidden = 4'
).replace("micro_batch = 32\n", "")
IMITATION |= {
    "data": Variant("others", probes.with_records, base=RECORDS),
    "players": Variant("first", probes.with_records, base=RECORDS),
    "winners": Variant("true", probes.with_records, base=RECORDS),
    "held_out_decisions": Variant("1", probes.with_records, base=RECORDS),
    "weight_decay": Variant("0.1", probes.with_records, base=RECORDED_BOARDS),
    "ema": Variant("0.9", probes.with_records, base=RECORDED_BOARDS),
    "symmetries": Variant("false", probes.with_records, base=RECORDED_BOARDS),
}

OWN = {"policy.critic": "own"}
KL_OF_EPOCHS = ("target_kl", "learning_rate_kl", "kl_coefficient")
TRPO = {
    name: replace(variant, under=variant.under | OWN)
    for name, variant in (
        {
            n: s
            for n, s in ACTOR_CRITIC.items()
            if n not in ("target_kl", "learning_rate_kl", "kl_coefficient")
        }
        | {
            "gae_lambda": Variant("0.1"),
            "vtrace": Variant("false", under=PIPELINED),
            "rho_clip": Variant("0.3", under=PIPELINED),
            "c_clip": Variant("0.3", under=PIPELINED),
            "max_kl": Variant("0.0001"),
            "damping": Variant("1.0"),
            "conjugate_steps": Variant("1"),
            "fisher_share": Variant("1.0"),
            "difference": Variant("0.2"),
            "backtracks": Variant("1", under={"algorithm.damping": "0.0"}),
            "backtrack_factor": Variant("0.1", under={"algorithm.damping": "0.0"}),
        }
    ).items()
}

GAME = {
    "name": Variant("connect_four"),
    "params": Variant("seat1", under={"game.name": "connect_four"}, path="game.params.opens"),
    "randomise": Variant("", under=RULES, text='[game.randomise]\n"units.peasant.hp" = [1, 400]\n'),
    "frame_skip": Variant("20", under=RTS),
}

OLD = {"game.before.params.opens": "seat1"}  #: rules of old, in every slab at first
EVALUATED = OLD | LONG | {"evaluation.every_steps": "30", "evaluation.matches": "4"}
BEFORE = {
    "params": Variant("random", under=OLD, path="game.before.params.opens"),
    "share": Variant("0.2", under=OLD),
    "share_final": Variant("1.0", under=OLD),
    "until": Variant("1.0", under=OLD),
    "over_steps": Variant("60", under=OLD),
    "setback": Variant("0.01", under=EVALUATED),
}

OPPONENT = {
    "name": Variant("perfect"),
    "weight": Variant("0.1", under=TWO),
    "frame_skip": Variant("20", under=RTS),
    "past_window": Variant("1", under=PAST | LONG),
    "past_every": Variant("1", under=PAST | LONG),
    "past_slots": Variant("1", under=PAST),
}

POOL = {
    "slots": Variant("12"),
    "groups": Variant("1", probes.pool),
    "threads": Variant("1", probes.pool),
    "timeout_s": Variant("5.0", probes.pool),
    "on_error": Variant("stop", probes.pool),
    "rollout_length": Variant("4"),
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
    "bot": Variant("simple", under=RTS),
    "ticks": Variant("10", under=CURRICULUM_ON),
    "share": Variant("1.0", under=CURRICULUM_ON),
    "advance": Variant("0.99", under=ADVANCING),
    "step": Variant("1", under=ADVANCING),
    "matches": Variant("400", under=ADVANCING),
}

TEAMS = {
    "game.name": "pommerman",
    "game.params.mode": "team",
    "game.params.max_steps": "20",
    "game.params.reward_pickup": "0.5",
    "game.params.reward_wood": "0.5",
    "opponents.0.name": "random",
    "policy.inputs": "about",
    "evaluation.final_matches": "2",
    "pool.slots": "4",
}
TEAM = {
    "spirit": Variant("0.5", under=TEAMS),
    "spirit_final": Variant("1.0", under=TEAMS | LONG),
    "zero_sum": Variant("true", under=TEAMS),
}

SCORED = {
    "game.name": "tests.scored_games:Arena",
    "opponents.0.name": "latest",
    "evaluation.against": "uniform",
    "evaluation.matches": "4",
}
EVALUATION = {
    "every_steps": Variant("50", under={"evaluation.matches": "4"}),
    "matches": Variant("4"),
    "final_matches": Variant("6"),
    "against": Variant("perfect"),
    "greedy": Variant("true", under={"evaluation.final_matches": "20"}),
    "visits": Variant("2", base=SELF),
    "max_ticks": Variant("10", probes.outcome, RTS),
    "initial": Variant("false", under={"evaluation.matches": "4"}),
    "floor_matches": Variant("5"),
    "score": Variant("frags", under=SCORED),
}

RUN = {
    "seed": Variant("2"),
    "start": Variant("other.safetensors", probes.initial_weights),
    "max_steps": Variant("200"),
    "max_minutes": Variant("1.5", probes.budgets),
    "target": Variant("0.5", probes.budgets),
    "lag": Variant("pipelined"),
    "topology": Variant("one_to_one", under={"run.pools": "2"}),
    "pools": Variant("4", under={"run.topology": "one_to_one", "run.pools": "2"}),
    "queue": Variant("2"),
    "max_lag": Variant("0", probes.components, ASYNC),
    "over_lag": Variant("drop", probes.components, ASYNC),
    "threads": Variant("3", probes.components),
    "checkpoint_every_minutes": Variant("0.0000001", probes.files),
    "keep_checkpoints": Variant("1", probes.files, {"run.checkpoint_every_minutes": "0.0000001"}),
    "device": Variant("cuda", probes.components),
    "precision": Variant("bfloat16", probes.components),
}

CLUSTER = {
    "rollouts": Variant("2", probes.cluster),
    "min_rollouts": Variant("1", probes.group),
    "inference": Variant("1", probes.group),
    "cpus": Variant("2", probes.cluster),
    "gpus": Variant("0.5", probes.cluster),
    "address": Variant("10.0.0.1:6379", probes.cluster),
    "learners": Variant("2", probes.group),
    "ahead": Variant("2", probes.rounds_ahead),
    "members": Variant("parallel", probes.group),
}

ENCODER = {
    "inputs": Variant("units", probes.network, {"game.name": "minirts", "policy.inputs": "globals"}),
    "encoder": Variant("tests.unit.training.settings_probes.Flat", probes.network),
    "channels": Variant("8,8", probes.network, PLANES),
    "strides": Variant("1,1", probes.network, PLANES),
    "kernels": Variant("5,5", probes.network, PLANES),
    "gather": Variant("middle", probes.network, PLANES),
    "convolution": Variant("residual", probes.network, PLANES),
    "dense": Variant("16", probes.network, RTS),
    "hidden": Variant("16", probes.network),
    "activation": Variant("elu", probes.network),
    "leaky_slope": Variant("0.1", probes.network),
    "norm": Variant("none", probes.network),
    "memory": Variant("gru", probes.network),
    "memory_size": Variant("16", probes.network, {"policy.memory": "gru"}),
    "context": Variant("16", probes.network, {"game.name": "minirts", "game.params.commands": "tactical"}),
    "deviation": Variant("free", probes.network, CONTINUOUS),
    "critic": Variant("own", probes.network),
    "value_heads": Variant("2", probes.network),
    "critic_sees": Variant("all", probes.run, {"policy.critic": "own", "opponents.0.name": "latest"}),
    "normalise_observations": Variant("false", probes.network, RTS),
    "normalise_values": Variant("false", probes.network),
    "output": Variant("", probes.network, base=Q.split("output =")[0], text=Q[Q.index("output =") :]),
    "duelling": Variant("true", probes.network, base=Q),
}

RESNET = {
    "inputs": Variant(
        "cells", probes.network, {"game.name": "minirts", "policy.inputs": "cells,globals"}, base=SELF
    ),
    "blocks": Variant("2", probes.network, base=SELF),
    "filters": Variant("8", probes.network, base=SELF),
    "policy_planes": Variant("3", probes.network, base=SELF),
    "value_planes": Variant("2", probes.network, base=SELF),
    "value_hidden": Variant("8", probes.network, base=SELF),
    "ownership": Variant("false", probes.network, GO, base=SELF),
    "score": Variant("false", probes.network, GO, base=SELF),
}

TRACKING = {
    "sinks": Variant("", probes.tracker),
    "project": Variant("another", probes.tracker),
    "name": Variant("another", probes.tracker),
    "tags": Variant("a,b", probes.tracker),
    "offline": Variant("true", probes.tracker),
}

#: Struct -> field -> variant.
TABLE: dict[str, dict[str, Variant]] = {
    "Preset": {"title": Variant("another", probes.files)},
    "GameConfig": GAME,
    "BeforeConfig": BEFORE,
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
    "TeamConfig": TEAM,
    "EvaluationConfig": EVALUATION,
    "RunConfig": RUN,
    "ClusterConfig": CLUSTER,
    "TrackingConfig": TRACKING,
}

#: Struct -> the method that reads it, where the base preset names another one.
METHODS = {
    "A2cConfig": "a2c",
    "ImpalaConfig": "impala",
    "PolicyGradientConfig": "policy_gradient",
    "TrpoConfig": "trpo",
}

SELF_PLAY_STRUCTS = ("AlphaZeroConfig", "SearchConfig", "SelfPlayConfig")

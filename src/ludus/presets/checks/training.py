"""Settings of a preset that do not fit each other, or that cannot train its game."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ludus.algorithms.config import SlabLearnerConfig
from ludus.algorithms.registry import Method, method_of
from ludus.flow.inputs.whole import whole
from ludus.flow.problem import Problem, near_of
from ludus.flow.spec import GameSpec
from ludus.games.hosted import is_hosted
from ludus.games.names import is_bot_file, is_installed_name
from ludus.mcts.text import is_search
from ludus.presets.checks.before import before_problems
from ludus.presets.config import MAX_DECISIONS, Preset
from ludus.presets.parts import parts_problems

PLAYERS = "RUN@best, a weights file, a bot, FILE.py or a search"
ONE_TO_ONE = 'run.topology = "one_to_one"'
ASYNC = 'run.lag = "async"'
LEAGUE = "there is a league"

#: Whether something rules a value out, and its description.
Reason = tuple[bool, str]


def first_of(reasons: Iterable[Reason]) -> str:
    """Return the first reason that holds; "" where none does."""
    return next((text for holds, text in reasons if holds), "")


def _expected(path: str, value: object, reasons: Iterable[Reason], wanted: str = "") -> Iterator[Problem]:
    """Yield the problem of a value that the first reason that holds rules out.

    Args:
        path: The setting.
        value: Its value.
        reasons: Conditions, each with the end of the expectation.
        wanted: Start of every expectation.
    """
    if reason := first_of(reasons):
        yield Problem(path, value=value, expected=wanted + reason)


def setting_problems(preset: Preset) -> Iterator[Problem]:
    """Yield settings of a preset that do not fit together, without a look at its game."""
    pool, policy, method = preset.pool, preset.policy, method_of(preset.algorithm)
    heads = getattr(policy, "value_heads", 1)
    groups = [(pool.slots % pool.groups != 0, f"a multiple of pool.groups = {pool.groups}")]
    yield from _expected("pool.slots", pool.slots, groups)
    if pool.slots * pool.rollout_length > MAX_DECISIONS:
        text = f"pool.slots = {pool.slots}, pool.rollout_length = {pool.rollout_length}"
        yield Problem("pool.slots", f"{text}: expected a product of at most {MAX_DECISIONS:,}")
    found = [(f"policy.{key}", text) for key, text in policy.problems()]
    found += [(f"algorithm.{key}", text) for key, text in preset.algorithm.problems()]
    for key, value, trained in (
        ("network", str(policy.__struct_config__.tag), method.networks),
        ("output", getattr(policy, "output", "logits"), method.outputs),
        ("critic", getattr(policy, "critic", ""), method.critics),
    ):
        if value and value not in trained:
            names = " or ".join(f'"{name}"' for name in trained)
            text = f'= "{value}": algorithm.name = "{method.name}" trains {names}'
            found.append((f"policy.{key}", text))
    found += [(f"algorithm.{key}", text) for key, text in preset.algorithm.head_problems(heads)]
    for holds, reason in (
        (not method.value_heads, f'algorithm.name = "{method.name}" trains one'),
        (preset.run.topology == "one_to_one", f"{ONE_TO_ONE} moves one"),
    ):
        if heads > 1 and holds:
            found.append(("policy.value_heads", f"= {heads}: {reason}; expected 1"))
    for path, text in found:
        yield Problem(path, f"{path} {text}")
    if preset.opponents and not any(o.weight > 0 for o in preset.opponents):
        yield Problem("opponents.0.weight", "opponents: all weights are 0; expected one above 0")


def training_problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    """Yield every mistake: path, value, expectation."""
    method = method_of(preset.algorithm)
    yield from _teacher_problems(preset, method, declared)
    yield from _horizon_problems(preset, declared)
    yield from _run_problems(preset, method)
    yield from cluster_problems(preset, method)
    yield from before_problems(preset, method, declared)
    yield from parts_problems(preset)
    curriculum = preset.curriculum
    if curriculum.advance > 0 and not curriculum.bot:
        wanted = "0 where curriculum.bot is empty"
        yield Problem("curriculum.advance", value=whole(curriculum.advance), expected=wanted)


def _teacher_problems(preset: Preset, method: Method, declared: GameSpec) -> Iterator[Problem]:
    """Yield mistakes about a teacher and about settings that exclude one."""
    teacher = str(getattr(preset.algorithm, "teacher", ""))
    if method.teaches == "player":
        if data := str(getattr(preset.algorithm, "data", "")) if method.records else "":
            yield from _data_problems(preset, data)
        else:
            yield from _player_problems(teacher, declared)
        if preset.league is not None:
            yield Problem("algorithm.name", value=method.name, expected=f"another where {LEAGUE}")
    elif not teacher:
        return
    elif preset.run.topology == "one_to_one":
        yield Problem("run.topology", value="one_to_one", expected='"many_to_one" where there is a teacher')
    if preset.run.lag == "async" and preset.run.over_lag == "drop":
        yield Problem("run.over_lag", value="drop", expected='"wait" where a teacher sees every slab')


def _data_problems(preset: Preset, data: str) -> Iterator[Problem]:
    """Yield settings that do not fit a data set of recorded matches: its rows are read in this process."""
    path, cluster = "algorithm.data", preset.cluster
    for holds, why in (
        (cluster.rollouts > 0, f"cluster.rollouts = {cluster.rollouts}"),
        (cluster.learners > 1, f"cluster.learners = {cluster.learners}"),
        (preset.curriculum.bot != "", f'curriculum.bot = "{preset.curriculum.bot}"'),
    ):
        if holds:
            yield Problem(path, value=data, expected=f"none where {why}")


def _player_problems(teacher: str, declared: GameSpec) -> Iterator[Problem]:
    """Yield what is wrong with the name of a player whose decisions are learned."""
    from ludus.storage.references import is_reference  # imports numpy, which help pages do without

    path = "algorithm.teacher"
    bots = {b.name: b.demonstrates for b in declared.bots}
    if teacher in bots:
        if not bots[teacher]:
            yield Problem(path, f'{path} = "{teacher}": {declared.cannot_demonstrate(teacher)}', teacher)
    elif not (is_bot_file(teacher) or is_search(teacher) or _is_plan(teacher) or is_reference(teacher)):
        yield Problem(path, value=teacher, expected=PLAYERS, near=near_of(teacher, bots))


def _is_plan(teacher: str) -> bool:
    from ludus.mcts.planner import is_plan  # numpy and the core: only for methods with a player as teacher

    return is_plan(teacher)


def _horizon_problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    config = preset.algorithm
    if not isinstance(config, SlabLearnerConfig):
        return
    ticks = preset.game.frame_skip or declared.default_frame_skip
    for name in ("horizon", "horizon_final"):
        value = getattr(config, name)
        least = [(0 < value < ticks, f"0 or at least {ticks}, the ticks of one decision")]
        yield from _expected(f"algorithm.{name}", whole(value), least)
    final = [(config.horizon_final > 0 and config.horizon == 0, "0 where algorithm.horizon = 0")]
    yield from _expected("algorithm.horizon_final", whole(config.horizon_final), final)


def _run_problems(preset: Preset, method: Method) -> Iterator[Problem]:
    """Yield why there can be no queue of slabs, or no pools that learn in turn."""
    run, pool = preset.run, preset.pool
    league = (preset.league is not None, LEAGUE)
    named = f'algorithm.name = "{method.name}"'
    is_async = run.lag == "async"
    if run.queue:
        reasons = (
            league,
            (not method.learns_from_slabs, named),
            (is_async, f"{ASYNC}: run.max_lag bounds its lag"),
            (run.topology == "one_to_one", f"{ONE_TO_ONE}: its lag is run.pools - 1"),
        )
        yield from _expected("run.queue", run.queue, reasons, "0 where ")
    if run.topology == "many_to_one":
        return
    reasons = (
        league,
        (run.topology not in method.topologies, named),
        (is_async, ASYNC),
        (any(o.name == "past" for o in preset.opponents), 'an opponent is "past"'),
    )
    yield from _expected("run.topology", run.topology, reasons, '"many_to_one" where ')
    if pool.slots % (run.pools * pool.groups):
        wanted = f"a multiple of run.pools = {run.pools} times pool.groups = {pool.groups}"
        yield Problem("pool.slots", value=pool.slots, expected=wanted)


def cluster_problems(preset: Preset, method: Method) -> Iterator[Problem]:
    """Yield why settings of ``cluster`` do not fit."""
    cluster, run = preset.cluster, preset.run
    rollouts, learners = cluster.rollouts, cluster.learners
    is_async = run.lag == "async"
    if learners > 1:
        reasons = (
            (not method.learns_from_slabs, f'1 where algorithm.name = "{method.name}"'),
            (
                preset.league is not None and cluster.members == "turns",
                f'1 where {LEAGUE}: its members learn in turn, except with cluster.members = "parallel"',
            ),
            (run.topology == "one_to_one", f"1 where {ONE_TO_ONE}"),
            (is_async, f"1 where {ASYNC}: an update has one slab"),
            (
                rollouts < learners,
                f"at most {max(rollouts, 1)}, the slabs of an update (cluster.rollouts = {rollouts})",
            ),
        )
        yield from _expected("cluster.learners", learners, reasons)
    if cluster.inference:
        yield from _expected(
            "cluster.inference",
            cluster.inference,
            (
                (not method.learns_from_slabs, f'0 where algorithm.name = "{method.name}"'),
                (rollouts == 0, "0 where cluster.rollouts = 0: servers decide for rollouts"),
                (cluster.inference > rollouts, f"at most cluster.rollouts = {rollouts}"),
                (preset.in_parallel, "0 where the members of a league learn in parallel"),
            ),
        )
    if cluster.ahead is not None and cluster.ahead > 0 and preset.league is None:
        yield Problem("cluster.ahead", value=cluster.ahead, expected="0 without a league")
    least = cluster.min_rollouts
    if least > rollouts:
        wanted = f"at most {rollouts} (cluster.rollouts = {rollouts})"
        yield Problem("cluster.min_rollouts", value=least, expected=wanted)
    if cluster.members == "parallel":
        alone = ((preset.league is None, "there is no league"), *_own_process(preset, method))
        yield from _expected("cluster.members", cluster.members, alone, '"turns" where ')
        wanted = 'above 0 where run.device = "cuda" and cluster.members = "parallel"'
        cardless = run.device == "cuda" and cluster.gpus == 0
        yield from _expected("cluster.gpus", whole(cluster.gpus), [(cardless, wanted)])
    if rollouts == 0:
        return
    yield from _expected("cluster.rollouts", rollouts, _own_process(preset, method), "0 where ")
    if preset.league is not None:
        return  # the members need no order, the rollouts of each do
    if not is_async or rollouts == 1 or not method.learns_from_slabs:
        return
    teacher = str(getattr(preset.algorithm, "teacher", ""))
    wanted = f'1 where {ASYNC} and algorithm.teacher = "{teacher}"'
    yield from _expected(
        "cluster.rollouts", rollouts, [(method.teaches == "player" or teacher != "", wanted)]
    )
    wanted = f"at most run.max_lag + 1 = {run.max_lag + 1} where {ASYNC}"
    yield from _expected("cluster.rollouts", rollouts, [(rollouts > run.max_lag + 1, wanted)])


def _own_process(preset: Preset, method: Method) -> tuple[Reason, ...]:
    """Return why a run plays all matches in its own process."""
    game = preset.game.name
    return (
        (not method.plays_on_rollouts, f'algorithm.name = "{method.name}"'),
        (preset.run.topology == "one_to_one", ONE_TO_ONE),
        (preset.game.before is not None, "there is a table game.before"),
        (game.endswith(".cfg"), f'game.name = "{game}" is a scenario with files of its own'),
        (
            not (is_installed_name(game) or is_hosted(game)),
            f'game.name = "{game}" is a compiled file, which other machines may not run; install it on all '
            "of them, as a package with an entry point in ludus.games",
        ),
    )

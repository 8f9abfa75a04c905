"""Runs in a directory: started from a preset, or resumed from a checkpoint."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import cast

import msgspec

from ludus.algorithms.registry import method_of, resolve
from ludus.evaluation.results import EvalResult
from ludus.evaluation.weights import check_spec
from ludus.flow.process.as_found import as_found
from ludus.policies.summary import check_size
from ludus.presets import hardware
from ludus.presets.checks.game import resolve_spec
from ludus.presets.checks.training import training_problems
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.presets.errors import ConfigError, GroupLost, Interrupted, RunFailed
from ludus.presets.method_file import method_file
from ludus.presets.parts import with_parts
from ludus.ratings.ladder import LadderRating
from ludus.reporting.changes import (
    Change,
    changed_settings,
    code_in_words,
    in_words,
    record_change,
    schedules_in_words,
)
from ludus.reporting.floors import Floors
from ludus.reporting.rates import LearnerRates
from ludus.reporting.run_view import RunView
from ludus.reporting.sinks import RunStart, Sink, Sinks
from ludus.reporting.tracking.process import sinks_of
from ludus.storage import (
    Checkpoint,
    RunDirectory,
    RunInfo,
    StorageError,
    utc_now,
)
from ludus.storage.files import read_bounded
from ludus.storage.tensors import MAX_FILE_BYTES
from ludus.training.actor_learner.checkpoint import check_matches, check_samplers
from ludus.training.league.league_run import prepare as prepare_league
from ludus.training.machines import LOCAL, Machines
from ludus.training.records.recorded import check_unchanged, data_hash, with_data_path
from ludus.training.resumed import Resumed
from ludus.training.run_builder import RunBuilder, RunBuilderFactory
from ludus.training.run_code import changed_code, code_files
from ludus.training.run_context import RunContext
from ludus.training.run_loop import RunLoop
from ludus.training.schedules import moved_schedules, used_budget
from ludus.training.start import resumed_start, start_file
from ludus.training.stopping import more_budget
from ludus.training.teacher import resumed_teacher, teacher_file
from ludus.training.trusted_code import given_rulebooks, why_not_recorded
from ludus.version import __version__

RUN_SCHEMA = 1
MAX_GROUPS = 3  # of learners that may end without a checkpoint between them


class RunResult(msgspec.Struct, frozen=True):
    """Result of a run.

    ``version``: version of the last weights; ``best_version``: version of the weights ``RUN@best``, in a
    league of those of ``best_player``; both are on disk. ``final``: the final evaluation of the best weights;
    ``floors``: results without training; ``report``: path of the report, empty if it could not be written;
    ``more``: settings under which a resumed run continues; ``alone``: the game has one seat, so there is no
    opponent; ``ladder``: strength of the best weights among plain searches, if these are opponents;
    ``rates``: decisions that each learner received and consumed a second, by member ("" without a league).
    """

    run: str
    reason: str
    version: int
    best_version: int
    steps: int
    ticks: int
    minutes: float
    final: tuple[EvalResult, ...]
    floors: Floors
    report: str
    more: dict[str, str]
    best_player: str = ""
    alone: bool = False
    ladder: LadderRating | None = None
    rates: dict[str, LearnerRates] = {}


@as_found()
def start_run(
    preset: Preset, run_dir: Path, *, sinks: Iterable[Sink] = (), machines: Machines = LOCAL
) -> RunResult:
    """Train a new run in ``run_dir``, from its first slab to its report.

    Args:
        preset: The settings.
        run_dir: A directory that does not exist yet.
        sinks: Receive the reports of the run, besides its files.
        machines: Makes what plays the matches; the caller closes it.

    Raises:
        RunExists: The directory exists.
        ConfigError: Settings that do not fit together; no directory is created then.
        Interrupted: Ctrl-C; the run was saved.
        RunFailed: Training cannot continue.
    """
    RunDirectory.refuse_existing(run_dir)  # before a cluster starts
    spec, _ = resolve_spec(preset)
    preset = with_data_path(with_parts(preset, hardware.thread_count(preset.run)))
    file = method_file(preset.algorithm)
    info = RunInfo(
        schema=RUN_SCHEMA,
        package_version=__version__,
        game=spec.name,
        spec_hash=spec.spec_hash,
        seed=preset.run.seed,
        started=utc_now(),
        command=hardware.command(),
        host=hardware.host(),
        versions=hardware.versions(),
        run_id=secrets.token_hex(16),
        signature=hardware.signature_of(preset.game.name),
        method=file.path if file is not None else "",
        method_sha256=file.sha256 if file is not None else "",
        code=code_files(preset),
        data_sha256=data_hash(preset),
    )
    start, teacher, trackers = start_file(preset), teacher_file(preset), sinks_of(preset)
    builder = _builder(preset, None, machines)  # before the directory: a wrong preset creates none
    try:
        run = RunDirectory.create(run_dir, to_toml(preset), info, preset.run.keep_checkpoints)
        if start is not None:
            run.save_start(read_bounded(start, MAX_FILE_BYTES))
        if teacher is not None:
            run.save_teacher(read_bounded(teacher, MAX_FILE_BYTES))
        lock = run.lock()
    except BaseException:
        builder.close()
        raise
    report = Sinks((*trackers, *sinks))
    with lock:
        _record_code(run, preset, preset, report)
        return _train(preset, builder, run, report, machines)


@as_found()
def resume_run(resumed: Resumed, *, sinks: Iterable[Sink] = (), machines: Machines = LOCAL) -> RunResult:
    """Resume a run from its newest whole checkpoint, or start again if there is none.

    Args:
        resumed: The run and its settings from now on (:func:`ludus.training.resumed.resumed_settings`).
        sinks: Receive the reports of the run, besides its files.
        machines: Makes what plays the matches; the caller closes it.

    Raises:
        RunBusy: Another process trains the run.
        CorruptFile: No checkpoint can be read.
        ConfigError: Settings that do not fit together, or another game.
        Interrupted: Ctrl-C; the run was saved.
        RunFailed: Training cannot continue.
    """
    preset = with_data_path(resumed.preset)
    report = Sinks((*_trackers(preset, Sinks(sinks)), *sinks))
    run = RunDirectory.open(resumed.run.path, preset.run.keep_checkpoints)
    status = run.status()
    with run.lock():
        if status.state == "lost" and status.holder is not None:
            report.message(f"the run was lost: {status.holder} ended without recording why")
        checkpoint = _newest(run, report)
        check_unchanged(preset, run.info().data_sha256)
        started = resumed_start(preset, run, from_scratch=checkpoint is None)
        builder = _builder(resumed_teacher(started, run), checkpoint, machines)
        try:
            if checkpoint is not None:
                named = f"version {checkpoint.version} of {run.path}"
                check_spec(checkpoint.weights.meta, builder.spec, named, str(run.path))
            change = _change(run, resumed.configured, preset, checkpoint)
            record_change(run, change)
        except BaseException:
            builder.close()
            raise
        if change.settings:
            report.message(f"changed from now on: {in_words(change)}")
        for text in (*schedules_in_words(change), *code_in_words(change)):
            report.message(text)
        _record_code(run, resumed.configured, preset, report)
        return _train(preset, builder, run, report, machines)


def _trackers(preset: Preset, report: Sinks) -> list[Sink]:
    """Return the sinks of a resumed run; one that cannot be used here is reported and left out."""
    found = []
    for name in preset.tracking.sinks:
        one = msgspec.structs.replace(preset.tracking, sinks=(name,))
        try:
            found += sinks_of(msgspec.structs.replace(preset, tracking=one))
        except ConfigError as error:
            report.problem(f"{error}; the run continues without it")
    return found


def _newest(run: RunDirectory, report: Sinks) -> Checkpoint | None:
    """Return the newest whole checkpoint. Where none was saved, clear the log and return None."""
    if run.checkpoints.versions():
        checkpoint, problems = run.checkpoints.load_last()
        for problem in problems:
            report.problem(f"{problem}; an older checkpoint is used")
        run.checkpoints.forget_older_last(checkpoint.version)
        report.message(f"resuming from version {checkpoint.version}")
        return checkpoint
    removed = run.clear_log()
    dropped = f"; dropped from the record: {', '.join(removed)}" if removed else ""
    report.message(f"no checkpoint was saved yet: starting from the beginning{dropped}")
    return None


def _change(run: RunDirectory, before: Preset, preset: Preset, checkpoint: Checkpoint | None) -> Change:
    """Return what this resume changes: settings, schedules that follow from them, and files with code."""
    books: tuple[str, ...] = ()
    with suppress(StorageError, OSError):  # a state folder that cannot be used ends no resume
        books = given_rulebooks(run.path)
    return Change(
        time=utc_now(),
        command=hardware.command(),
        settings=changed_settings(before, preset),
        steps=used_budget(checkpoint.state).steps if checkpoint is not None else 0,
        code=changed_code(run, preset, books),
        schedules=moved_schedules(before.run, preset, checkpoint.state) if checkpoint is not None else {},
    )


def _record_code(run: RunDirectory, configured: Preset, preset: Preset, report: Sinks) -> None:
    if problem := why_not_recorded(run, configured, preset):
        report.problem(problem)


def _builder(preset: Preset, checkpoint: Checkpoint | None, machines: Machines) -> RunBuilder:
    """Return the components of a run, built by its method.

    Raises:
        ConfigError: Settings that do not fit together.
        CorruptFile: A checkpoint that cannot be read.
    """
    if preset.cluster.rollouts and machines is LOCAL:
        raise ConfigError(
            f"cluster.rollouts = {preset.cluster.rollouts}: expected 0 in a program; `ludus train` and "
            "`ludus resume` start rollouts"
        )
    if preset.cluster.needs_ray and machines is LOCAL:
        raise ConfigError(
            'cluster.members = "parallel": expected "turns" in a program; `ludus train` and `ludus resume` '
            "start members"
        )
    if checkpoint is not None:
        check_matches(checkpoint)
    if checkpoint is not None and (preset.cluster.rollouts or machines is LOCAL):
        check_samplers(checkpoint, preset.cluster.rollouts)
    if wrong := [*training_problems(preset, resolve_spec(preset)[0])]:
        raise ConfigError(*wrong)
    try:
        check_size(preset.policy, resolve_spec(preset)[0])
    except ValueError as error:
        raise ConfigError(error, where="policy") from error
    if preset.cluster.learners == 1:  # a lost group may still hold the memory of its networks
        hardware.check_memory(preset)
    if preset.league is not None:
        return prepare_league(preset, checkpoint, machines)
    try:
        prepare = cast(RunBuilderFactory, resolve(method_of(preset.algorithm).trainer))
    except ValueError as error:
        raise ConfigError(error) from error
    return prepare(preset, checkpoint, machines)


def _train(
    preset: Preset, builder: RunBuilder, run: RunDirectory, report: Sinks, machines: Machines
) -> RunResult:
    """Run the loop to its end, and write the report."""
    context = RunContext(preset, run, report.members)
    context.take_events = machines.take_events
    with closing(context.report):
        try:
            context.describe_weights()
            return _continued(builder, context, machines)
        except Exception as error:
            context.report_machines()
            if not isinstance(error, Interrupted):
                context.report.event("failed", text=str(error))
            raise


def _continued(builder: RunBuilder, context: RunContext, machines: Machines) -> RunResult:
    """Run the loop to its end. Where a learner of a group is lost, a new group continues.

    Raises:
        GroupLost: Several groups ended at one checkpoint, or Ctrl-C came.
    """
    versions = context.directory.checkpoints.versions
    lost_at: list[int] = []  # newest checkpoint at the end of each group
    while True:
        try:
            return _run(builder, context)
        except GroupLost as lost:
            lost_at.append(max(versions(), default=0))
            if context.interrupted() or lost_at.count(lost_at[-1]) == MAX_GROUPS:
                raise
            where = "continues from there" if versions() else "starts from the beginning"
            context.report.problem(f"{lost}; a new group {where}")
            builder = _regrouped(context, machines)


def _run(builder: RunBuilder, context: RunContext) -> RunResult:
    """Run one loop to its end."""
    try:
        started = builder.start(context)
    except GroupLost:
        builder.close()
        raise
    with closing(started) as steps:
        loop = RunLoop(steps, context)
        context.report.start(
            RunStart(
                context.directory.path,
                context.preset,
                steps.run_evaluator.spec,
                loop.doing,
                loop.share,
                say=context.report.message,
            )
        )
        if note := hardware.device_note(context.preset):
            context.report.message(note)
        context.report_removed()
        final = loop.run()
        reported = loop.write_report()
        return _result(loop, context, final, reported)


def _regrouped(context: RunContext, machines: Machines) -> RunBuilder:
    """Return the components of a run that continues in this process, from its newest checkpoint.

    Raises:
        RunFailed: They cannot be built again.
    """
    run, checkpoint = context.directory, None
    if run.checkpoints.versions():
        checkpoint, problems = run.checkpoints.load_last()
        for problem in problems:
            context.report.problem(f"{problem}; an older checkpoint is used")
    else:
        context.rewind_log({"metrics": 0, "matches": 0})
    preset = resumed_start(context.preset, run, from_scratch=checkpoint is None)
    try:
        return _builder(resumed_teacher(preset, run), checkpoint, machines)
    except (ConfigError, StorageError) as error:
        raise RunFailed(error, where="no new group of learners") from error


def _result(loop: RunLoop, context: RunContext, final: tuple[EvalResult, ...], reported: bool) -> RunResult:
    """Return the result of a run that is on disk; ``reported``: its report is there."""
    steps = loop.steps
    preset, run, state = context.preset, context.directory, steps.state
    alone = steps.run_evaluator.spec.seats == 1
    best = run.checkpoints.best()
    return RunResult(
        run=str(run.path),
        reason=loop.reason,
        version=steps.version,
        best_version=0 if best is None else best.weights,
        steps=state.budget.steps,
        ticks=state.budget.ticks,
        minutes=state.budget.minutes,
        final=final,
        floors=RunView(run).floors(),
        report=str(run.report) if reported else "",
        more=more_budget(preset, state.budget, alone),
        best_player="" if best is None else best.player,
        alone=alone,
        ladder=loop.evaluations.strength,
        rates=RunView(run).newest_rates(),
    )

"""Runs in a directory: started from a preset, or resumed from a checkpoint."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import cast

import msgspec

from ludus.algorithms.registry import method_of, resolve
from ludus.evaluation.results import EvalResult
from ludus.evaluation.weights import check_spec
from ludus.flow.shown import shell, shown
from ludus.games.names import is_installed_name
from ludus.policies.summary import check_size
from ludus.presets import hardware
from ludus.presets.code import GAME, TEACHER, code_of
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.presets.errors import ConfigError, Interrupted
from ludus.presets.game_checks import resolve_spec
from ludus.presets.training_checks import training_problems
from ludus.storage import (
    Checkpoint,
    RunDirectory,
    RunInfo,
    StorageError,
    utc_now,
)
from ludus.training.changes import in_words, record_change, run_settings
from ludus.training.league.league_run import prepare as prepare_league
from ludus.training.reporting.floors import Floors, floors_of
from ludus.training.reporting.metrics import read_metrics
from ludus.training.reporting.sinks import RunStart, Sink, Sinks
from ludus.training.reporting.tensorboard import default_sinks
from ludus.training.run_builder import RunBuilder, RunBuilderFactory
from ludus.training.run_context import RunContext
from ludus.training.run_game import remember, resumed_code
from ludus.training.run_loop import RunLoop, Steps
from ludus.training.start import resumed_start, start_file
from ludus.training.stopping import more_budget
from ludus.training.teacher import resumed_teacher, teacher_file
from ludus.version import __version__

RUN_SCHEMA = 1


class RunResult(msgspec.Struct, frozen=True):
    """How a run ended.

    ``best_version``: the weights that ``RUN@best`` gives, in a league those of ``best_player``; ``final``:
    how they play; ``floors``: what was reached without training; ``more``: settings under which a resume
    trains on; ``alone``: the game has one seat, so that there is no opponent.
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


def start_run(preset: Preset, run_dir: Path, *, sinks: Iterable[Sink] = ()) -> RunResult:
    """A new run in ``run_dir``, from its first slab to its report.

    Raises ``RunExists`` (the directory is there), ``ConfigError`` (the preset cannot be put together),
    ``Interrupted`` (Ctrl-C; saved) and ``RunFailed``.
    """
    spec, _ = resolve_spec(preset)
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
    )
    start, teacher = start_file(preset), teacher_file(preset)
    builder = _builder(preset)  # a preset that cannot be put together leaves no directory behind
    try:
        run = RunDirectory.create(run_dir, to_toml(preset), info, preset.run.keep_checkpoints)
        if start is not None:
            run.save_start(start.read_bytes())
        if teacher is not None:
            run.save_teacher(teacher.read_bytes())
        lock = run.lock()
    except BaseException:
        builder.close()
        raise
    report = Sinks((*default_sinks(), *sinks))
    with lock:
        _remember(run_dir, preset, preset, report)
        return _train(preset, builder, run, report)


def resume_run(
    run_dir: Path,
    *,
    sinks: Iterable[Sink] = (),
    more: Callable[[Preset], Preset] | None = None,
    game: str = "",
    teacher: str = "",
) -> RunResult:
    """Goes on with the newest whole checkpoint of ``run_dir``, or from the beginning if there is none.

    ``more`` may change the settings in :data:`ludus.training.changes.RESUMABLE`, the budget above all; later
    resumes keep it. ``game`` names the code of a game that is neither built in nor installed, where
    this user has not started the run here (:mod:`ludus.training.run_game`).

    Raises ``RunNotFound``, ``RunBusy`` (another process trains the run), ``CorruptFile`` and what
    :func:`start_run` raises.
    """
    report = Sinks((*default_sinks(), *sinks))
    run = RunDirectory.open(run_dir)
    preset = run_settings(run).preset
    configured, preset = preset, resumed_code(run_dir, preset, game, teacher)
    _same_game(run, preset, game)
    before = preset
    if more is not None:
        preset = more(preset)
    run = RunDirectory.open(run_dir, preset.run.keep_checkpoints)
    status = run.status()
    with run.lock():
        if status.state == "lost" and status.holder is not None:
            report.message(f"the run was lost: {status.holder} ended without a word")
        checkpoint = _newest(run, report)
        begun = resumed_start(preset, run, begins=checkpoint is None)
        builder = _builder(resumed_teacher(begun, run), checkpoint)
        try:
            if checkpoint is not None:
                check_spec(
                    checkpoint.weights.meta, builder.spec, f"version {checkpoint.version} of {run.path}"
                )
            change = record_change(run, before, preset, hardware.command())
        except BaseException:
            builder.close()
            raise
        if change is not None:
            report.message(f"changed from now on: {in_words(change)}")
        _remember(run_dir, configured, preset, report)
        return _train(preset, builder, run, report)


def _newest(run: RunDirectory, report: Sinks) -> Checkpoint | None:
    """The newest whole checkpoint; None, and no rows, where there was never one."""
    if run.checkpoints.versions():
        checkpoint, problems = run.checkpoints.load_last()
        for problem in problems:
            report.problem(f"{problem}; an older checkpoint is used")
        report.message(f"resuming from version {checkpoint.version}")
        return checkpoint
    report.message("no checkpoint was saved yet: starting from the beginning")
    for path in (run.metrics, run.matches):
        path.unlink(missing_ok=True)
    return None


def _same_game(run: RunDirectory, preset: Preset, game: str) -> None:
    """Raises ``ConfigError`` where ``game``, now that of ``preset``, is not the game of the run."""
    started = run.info()
    if not game:
        return
    spec, _ = resolve_spec(preset)
    if spec.spec_hash != started.spec_hash:
        raise ConfigError(
            f"--game {game}: {spec.name} has spec {spec.spec_hash}; the run was started with "
            f"{shown(started.game)}, spec {shown(started.spec_hash)}"
        )


def _remember(run_dir: Path, configured: Preset, preset: Preset, report: Sinks) -> None:
    try:
        remember(run_dir, configured, preset)
    except (OSError, StorageError) as error:
        code = code_of(preset)
        words = [] if is_installed_name(code[GAME]) else [f"--game {shell(code[GAME])}"]
        words += [f"--teacher {shell(code[TEACHER])}"] if TEACHER in code else []
        report.problem(
            f"{error}; this run could not be recorded as yours, so resuming it will need {' '.join(words)}"
        )


def _builder(preset: Preset, checkpoint: Checkpoint | None = None) -> RunBuilder:
    """The run's parts, as its method puts them together."""
    if wrong := [p.text for p in training_problems(preset, resolve_spec(preset)[0])]:
        raise ConfigError("\n".join(wrong))
    try:
        check_size(preset.policy, resolve_spec(preset)[0])
    except ValueError as error:
        raise ConfigError(f"policy: {error}") from error
    if preset.league is not None:
        return prepare_league(preset, checkpoint)
    try:
        prepare = cast(RunBuilderFactory, resolve(method_of(preset.algorithm).trainer))
    except ValueError as error:
        raise ConfigError(str(error)) from error
    return prepare(preset, checkpoint)


def _train(
    preset: Preset,
    builder: RunBuilder,
    run: RunDirectory,
    report: Sinks,
) -> RunResult:
    context = RunContext(preset, run, report.members)
    with closing(context.report), closing(builder.start(context)) as trainer:
        return _run(trainer, context)


def _floors(run: RunDirectory) -> Floors:
    try:
        return floors_of(read_metrics(run)[1])
    except StorageError:
        return Floors()  # the report says what is wrong with the file


def _run(trainer: Steps, context: RunContext) -> RunResult:
    preset, run, report = context.preset, context.directory, context.report
    loop = RunLoop(trainer, context)
    try:
        report.start(RunStart(run.path, preset, trainer.run_evaluator.spec, loop.doing))
        if note := hardware.device_note(preset.run):
            report.message(note)
        final = loop.run()
        state = trainer.state
        alone = trainer.run_evaluator.spec.seats == 1
        loop.write_report()
        return RunResult(
            run=str(run.path),
            reason=loop.reason,
            version=trainer.version,
            best_version=max(state.best_version, 0),
            steps=state.budget.steps,
            ticks=state.budget.ticks,
            minutes=state.budget.minutes,
            final=final,
            floors=_floors(run),
            report=str(run.report),
            more=more_budget(preset, state.budget, alone),
            best_player=state.best_player,
            alone=alone,
        )
    except Exception as error:
        if not isinstance(error, Interrupted):
            report.event("failed", text=str(error))
        raise

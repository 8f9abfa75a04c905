"""``ludus sweep`` and ``ludus report``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, FAILED, INTERRUPTED
from ludus.flow.inputs.shown import shell
from ludus.flow.inputs.whole import whole_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ludus.sweep.config import SweepConfig
    from ludus.sweep.loop import Outcome
    from ludus.sweep.plan import PlannedRun
    from ludus.sweep.report import SweepReport

Natural = Annotated[int, msgspec.Meta(ge=0)]


class Sweep(msgspec.Struct, frozen=True):
    """Train many runs of one preset: a grid, named cells or random points, each with several seeds.

    Runs are processes, as many at a time as there are processors. All state is in the directory: the same
    command continues a sweep that was interrupted or killed, and tries failed runs again. More seeds may be
    added to the file; other changes need another directory. A setting of all runs can be given as for ludus
    train. At the end a report is written into the directory.

    Exit code 1: some run failed, the others are finished.
    """

    EXAMPLES: ClassVar = (
        "ludus sweep sweeps/lag.toml",
        "ludus sweep sweeps/lag.toml --explain",
        "ludus sweep sweeps/lag.toml --run-dir runs/short --run.max-steps 50000",
    )

    sweep: Annotated[str, positional("a sweep file (TOML)", "FILE")]
    run_dir: Annotated[str, option("directory of the sweep (default: runs/NAME of the file)", "DIR")] = ""
    method: Annotated[
        str, option("Python file with a learning method that presets or cells name", "FILE.py")
    ] = ""
    workers: Annotated[
        Natural, option("runs at a time (default: the file's, else as many as processors)", "N")
    ] = 0
    explain: Annotated[bool, option("print the runs with their settings, and exit")] = False
    quiet: Annotated[bool, option("show no progress")] = False
    json: Annotated[bool, option("print one JSON document when the sweep has ended")] = False
    overrides: dict[str, str] = {}

    def run(self) -> int:
        """Train the runs, or print them with ``--explain``, and return the exit code."""
        from ludus.games.names import typed
        from ludus.presets.method_file import load_method
        from ludus.sweep.config import preset_hashes, read_sweep
        from ludus.sweep.plan import check_sweep
        from ludus.sweep.search import check_search

        file = load_method(typed(self.method)) if self.method else None
        config = read_sweep(self.sweep, self.overrides)
        hashes = preset_hashes(config) | ({file.path: file.sha256} if file is not None else {})
        cells = check_sweep(config)
        if config.search == "tpe":
            check_search(config.source)
        if self.explain:
            from ludus.sweep.plan import known_points, planned_cells, runs_of

            cells = cells if config.search == "tpe" else planned_cells(config, known_points(config))
            show_runs(runs_of(cells, config.seeds), self.json)
            return DONE
        from ludus.sweep.directory import SweepDirectory

        path = Path(self.run_dir) if self.run_dir else Path("runs") / Path(self.sweep).stem
        directory = SweepDirectory.open(path, config, hashes)
        with directory.lock():
            return self._train(config, directory.path)

    def _train(self, config: SweepConfig, path: Path) -> int:
        from ludus.cli.sweep_view import make_sweep_view
        from ludus.sweep.directory import SweepDirectory
        from ludus.sweep.loop import SweepLoop
        from ludus.sweep.report import read_report, write_sweep_report

        workers = self.workers or config.workers or usable_processors(config)
        with make_sweep_view(self.quiet) as view:
            loop = SweepLoop(config, SweepDirectory(path), workers, view)
            outcomes = loop.run()
        report, unwritten = read_report([path]), ""
        try:
            write_sweep_report(report, path)
        except OSError as error:
            unwritten = f"{path / 'report.md'} was not written: {error.strerror or error}"
        failed = [o for o in outcomes if o.state == "failed"]
        if self.json:
            console.document({"run_dir": str(path), "failed": _failures(failed), **_document(report)})
        else:
            show_report(report)
            if not unwritten:
                console.result(f"report  {path / 'report.md'}")
        for problem in filter(None, (loop.problem, unwritten)):
            console.note(f"problem: {problem}")
        for outcome in failed:
            console.note(
                f"{outcome.run.name}: failed: {outcome.message}; see: {loop.directory.log(outcome.run.name)}"
            )
        if loop.stopping:
            console.note(f"interrupted; continue with the same command, or: ludus report {shell(str(path))}")
            return INTERRUPTED
        return FAILED if failed or unwritten else DONE


def usable_processors(config: SweepConfig) -> int:
    """Return the number of runs at a time: one per processor, fewer if a run has more threads."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = whole_text(str(config.settings["run.threads"]))
    each = threads if threads is not None else 1
    return max(1, count // max(1, each))


def show_runs(runs: Sequence[PlannedRun], as_json: bool) -> None:
    """Print the planned runs of a sweep."""
    if as_json:
        console.document(runs)
        return
    common = {k: v for k, v in runs[0].settings.items() if all(r.settings.get(k) == v for r in runs)}
    rows = [
        (r.name, r.preset, " ".join(f"{k}={v}" for k, v in r.settings.items() if k not in common) or "-")
        for r in runs
    ]
    console.result(console.table(rows, ("run", "preset", "settings")))
    console.result("\nall runs: " + " ".join(f"{k}={v}" for k, v in common.items()))


def show_report(report: SweepReport) -> None:
    """Print the results of a sweep as aligned columns."""
    from ludus.sweep.report import result_groups
    from ludus.sweep.tables import interval_text

    several = len({r.game for r in report.results}) > 1
    for of in result_groups(report):
        play, against = of[0].play, of[0].against
        what = "mean return" if of[0].alone else f"win rate against {against}"
        what = f"{of[0].game}: {what}" if several else what
        console.result(f"{what}, {'actions drawn' if play == 'drawn' else 'likeliest actions'}")
        rows = []
        for r in of:
            s = r.summary
            centre = f"{s.centre:,.1f}" if r.alone else console.percent(s.centre)
            rows.append((r.cell, str(len(s.values)), s.kind, centre, interval_text(r)))
        console.result(console.table(rows, ("cell", "seeds", "", "centre", "95% interval"), indent="  "))


def _document(report: SweepReport) -> dict[str, object]:
    document: dict[str, object] = msgspec.to_builtins(report)
    return document


def _failures(failed: Sequence[Outcome]) -> list[dict[str, str]]:
    return [{"run": o.run.name, "message": o.message} for o in failed]

"""``ludus report`` and ``ludus track``: what leaves runs, for people and for trackers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, FAILED, USAGE, UserError
from ludus.cli.words import said
from ludus.flow.process.extras import install_command

if TYPE_CHECKING:
    from ludus.presets.config import TrackingConfig
    from ludus.storage.rundir import RunDirectory

NUMBERS = "metrics.csv"
POLL_S = 2.0  # between two looks at a run that is followed


class Report(msgspec.Struct, frozen=True):
    """Compare runs, or the cells of sweeps: tables and learning curves, as Markdown and as one page.

    Runs that differ in nothing but the seed are one cell. A cell is named after the settings in which it
    differs. If these are many, it is named after its method, its game or its folder, and one table lists
    them. Each game has its tables and plots. RUN may be a folder of runs and sweeps. report.html is one file
    with the plots inside, which opens in any browser. Intervals are Student's under ten seeds, and from
    ten on a stratified bootstrap of the interquartile mean. The report of one sweep is written into its
    directory, any other into --out; without --out it is only printed.
    """

    EXAMPLES: ClassVar = (
        "ludus report runs/lag",
        "ludus report runs --out report",
        "ludus report runs/lag --baseline lag=sync --out report",
        "ludus report runs/a runs/b runs/c --out report",
        "ludus report runs/a --csv > a.csv",
    )

    runs: Annotated[
        tuple[str, ...], positional("directories of sweeps or runs, or folders of them", "RUN")
    ] = ()
    baseline: Annotated[str, option("the cell that others are compared with", "CELL")] = ""
    out: Annotated[
        str, option("write report.md, report.html, the curves (SVG, PDF, CSV) and results.json here", "DIR")
    ] = ""
    csv: Annotated[bool, option("print all numbers of the runs as CSV; with --out write metrics.csv")] = False
    json: Annotated[bool, option("print one JSON document")] = False

    def run(self) -> int:
        """Print the report, write its files and return the exit code."""
        if not self.runs:
            raise UserError(
                "ludus report: missing RUN (directories of sweeps or runs); see: ludus report --help"
            )
        from ludus.storage.files import write_atomic
        from ludus.sweep.directory import is_sweep, reported_folders
        from ludus.sweep.report import read_report, report_text, write_sweep_report

        if self.csv and self.json:
            raise UserError("--csv and --json: expected one of them")
        given = [Path(text) for text in self.runs]
        if self.csv and not self.out:
            console.result(_numbers(given).rstrip("\n"))
            return DONE
        paths = list(dict.fromkeys(p for path in given for p in reported_folders(path)))
        report = read_report(paths, self.baseline)
        out = Path(self.out) if self.out else given[0] if len(given) == 1 and is_sweep(given[0]) else None
        written = write_sweep_report(report, out) if out else []
        if self.csv and out:
            written.append(out / NUMBERS)
            write_atomic(written[-1], _numbers(given).encode())
        if self.json:
            console.document({**msgspec.to_builtins(report), "written": [str(p) for p in written]})
        else:
            console.result(report_text(report).rstrip())
        if written:
            console.note(f"written: {', '.join(map(str, written))}")
            if report.curves and not any(path.suffix == ".pdf" for path in written):
                console.note(f"the curves as PDF need matplotlib: {install_command('figures')}")
        elif not self.json:
            console.note("as files, with the plots: --out DIR writes report.md and report.html")
        for text in report.damaged:
            console.note(f"left out: {text}")
        return USAGE if report.damaged else DONE


class Track(msgspec.Struct, frozen=True):
    """Give the numbers of runs to a tracker: curves over decisions, settings, final results, report, replays.

    Sinks are wandb, mlflow, tensorboard, and sinks of installed packages (entry points ludus.sinks). Old runs
    and running ones are read from their files, so training is neither slowed nor stopped. A second call sends
    what is new since the first. A run reports by itself with tracking.sinks in its preset:
    ludus train PRESET --tracking.sinks wandb. The project, name and tags are the preset's unless given.

    W&B without a login keeps the numbers in RUN/tracking, and wandb sync sends them.
    """

    EXAMPLES: ClassVar = (
        "ludus track runs/minirts-20261120-1530-3f2a --to wandb --project rts",
        "ludus track runs/minirts-20261120-1530-3f2a --to wandb --follow",
        "ludus track runs --to tensorboard",
    )

    runs: Annotated[
        tuple[str, ...], positional("directories of runs or sweeps, or folders of them", "RUN")
    ] = ()
    to: Annotated[str, option("the sink: wandb, mlflow, tensorboard, or one of a package", "SINK")] = ""
    follow: Annotated[bool, option("send new numbers until the run ends")] = False
    project: Annotated[str, option("project of the tracker (default: the preset's, or ludus)", "NAME")] = ""
    name: Annotated[str, option("name of the run there (default: of its directory)", "NAME")] = ""
    tags: Annotated[str, option("tags, separated by commas", "TAG,...")] = ""
    offline: Annotated[bool, option("keep the numbers of W&B in the run directory")] = False
    json: Annotated[bool, option("print one JSON document")] = False

    def run(self) -> int:
        """Give the rows to the sink and return the exit code."""
        from ludus.reporting.tracking.feeder import SinkFailed
        from ludus.reporting.tracking.process import track
        from ludus.reporting.tracking.registry import SINKS, sink_class
        from ludus.storage.errors import StorageError

        names = ", ".join(SINKS.names())
        if not self.runs:
            raise UserError(
                "ludus track: missing RUN (directories of runs or sweeps); see: ludus track --help"
            )
        if not self.to:
            raise UserError(f"ludus track: missing --to SINK; expected one of {names}")
        sink_class(self.to, "--to")
        found = list(dict.fromkeys(run for text in self.runs for run in _runs_in(Path(text))))
        if self.follow and len(found) > 1:
            raise UserError(f"--follow: {len(found)} runs, expected one")
        given, failed = [], 0
        for run in found:
            row: dict[str, object] = {"run": str(run.path), "sink": self.to, "rows": 0, "error": ""}
            try:
                until = _until_ended(run) if self.follow else None
                row["rows"] = track(run, self.to, self._tracking(run), console.note, until)
            except (SinkFailed, StorageError, OSError) as error:
                failed += 1
                row["error"] = said(error)
                console.note(f"{run.path}: {said(error)}")
            given.append(row)
        if self.json:
            console.document(given)
        else:
            rows = [
                (str(r["run"]), self.to, "failed" if r["error"] else f"{r['rows']:,} new rows") for r in given
            ]
            console.result(console.table(rows))
        return FAILED if failed else DONE

    def _tracking(self, run: RunDirectory) -> TrackingConfig:
        """Return the settings of trackers: of the run's preset, and above them the options."""
        from ludus.reporting.tracking.facts import tracking_of_run

        changes: dict[str, object] = {
            key: text for key in ("project", "name") if (text := getattr(self, key))
        }
        if tags := tuple(tag.strip() for tag in self.tags.split(",") if tag.strip()):
            changes["tags"] = tags
        if self.offline:
            changes["offline"] = True
        return msgspec.structs.replace(tracking_of_run(run), **changes)


def _numbers(paths: Sequence[Path]) -> str:
    """Return all numbers of the runs at ``paths`` as CSV."""
    from ludus.reporting.metrics_table import metrics_table
    from ludus.reporting.run_view import RunView

    runs = {run.path: run for path in paths for run in _runs_in(path)}
    return metrics_table([RunView(run) for run in runs.values()])


def _runs_in(path: Path) -> list[RunDirectory]:
    """Return the runs at ``path``: itself, the sweep's, or the folder's. Raises ``StorageError``."""
    from ludus.storage.rundir import RunDirectory
    from ludus.sweep.directory import is_sweep, open_sweep, reported_folders

    found: list[RunDirectory] = []
    for folder in reported_folders(path):
        if is_sweep(folder):
            runs = sorted(open_sweep(folder).runs.glob("*/run.json"))
            found += [RunDirectory.open(info.parent) for info in runs if not info.parent.is_symlink()]
        else:
            found.append(RunDirectory.open(folder))
    return found


def _until_ended(run: RunDirectory) -> Callable[[], bool]:
    def ended() -> bool:
        if run.status().state != "running":
            return True
        time.sleep(POLL_S)
        return False

    return ended

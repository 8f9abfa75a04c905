"""``ludus train`` and ``ludus resume``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import QUIET, option, positional
from ludus.cli.errors import DONE, UserError
from ludus.cli.words import COMMAND_LINE, said
from ludus.flow.inputs.shown import shell
from ludus.flow.problem import written
from ludus.flow.process.extras import install_command
from ludus.games.names import is_installed_name
from ludus.presets.checks.game import check_game, effective_params
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.presets.errors import RunUnsaved
from ludus.presets.file import EffectiveValue, LoadedPreset, explain
from ludus.presets.method_file import with_method
from ludus.presets.options import ends_with, option_of
from ludus.presets.weights_preset import load_settings
from ludus.reporting.changes import RESUMABLE, options

if TYPE_CHECKING:
    from ludus.flow import GameSpec
    from ludus.policies.summary import NetworkSummary
    from ludus.training.machines import Machines
    from ludus.training.runs import RunResult

JSON = option("print one JSON document when the run has ended")
METHOD = option("Python file with the learning method to train by (sets algorithm.name)", "FILE.py")


class Train(msgspec.Struct, frozen=True):
    """Train a policy by a preset, or on a game, in a new run directory.

    A game's name in the preset's place trains by the shipped preset of that game, or by settings that fit
    its observations and actions; the output names a preset to copy. Weights in its place (zoo:go9, RUN@best,
    a weights file) continue to learn: a new run starts with them, by the preset that their file carries.

    Every setting of the preset is also an option: --run.max-minutes 5, --algorithm.learning-rate 1e-4,
    --opponents.0.weight 2, --game.params.map-size 32, --policy.channels 16,32. The last part is enough if
    only one setting has it: --max-minutes 5, --learning-rate 1e-4. --explain lists them all.

    Ctrl-C saves a checkpoint and prints the command that resumes the run.
    """

    EXAMPLES: ClassVar = (
        "ludus train tic_tac_toe",
        "ludus train minirts --run.max-minutes 3 --run.seed 7",
        "ludus train gymnasium/LunarLander-v3 --learning-rate 3e-4",
        "ludus train tic_tac_toe --method ./reinforce.py",
        "ludus train minirts --explain > mine.toml",
    )

    preset: Annotated[
        str,
        positional(
            "name of a shipped preset, a TOML file, a game (gymnasium/LunarLander-v3, ./my_game.py), or "
            "weights (zoo:go9, RUN@best, a file)"
        ),
    ]
    run_dir: Annotated[
        str, option("new run directory (default: runs/<preset or game>-<date>-<time>-<4 hex>)", "DIR")
    ] = ""
    method: Annotated[str, METHOD] = ""
    explain: Annotated[
        bool, option("print all effective settings with their origin and the network, and exit")
    ] = False
    quiet: Annotated[bool, QUIET] = False
    json: Annotated[bool, JSON] = False
    overrides: dict[str, str] = {}

    def run(self) -> int:
        """Train, or print the settings with ``--explain``, and return the exit code."""
        loaded = load_settings(self.preset, with_method(self.method, self.overrides))
        spec = check_game(loaded)
        if loaded.note:
            console.note(loaded.note)
        if self.explain:
            params = effective_params(spec, loaded.preset)
            print_explained(loaded, spec, params=params, as_json=self.json)
            return DONE
        run_dir = Path(self.run_dir) if self.run_dir else Path("runs") / run_name(loaded.name)
        from ludus.storage.rundir import RunDirectory

        if run_dir.exists() or run_dir.is_symlink():
            raise UserError(f"--run-dir {run_dir}: exists already; {RunDirectory(run_dir).hint()}")

        from ludus.cli.live import make_view
        from ludus.training.runs import start_run

        view = make_view(self.quiet)
        with ending_document(self.json), view, machines_of(loaded.preset, view.message) as machines:
            result = start_run(loaded.preset, run_dir, sinks=[view], machines=machines)
        show_ending(result, loaded.preset.game.name, self.json)
        return DONE


class Resume(msgspec.Struct, frozen=True):
    """Resume a run from its newest intact checkpoint.

    A new budget may be given, and later resumes keep it: --run.max-minutes, --run.max-steps, --run.target;
    so may --run.threads and --cluster.rollouts. RUN/changes.jsonl records the change. The code of a game that
    is neither built in nor installed is loaded if you started the run on this machine, or if --game names it;
    so is a learning method from a file, which --method names, a teacher in Python, which --teacher names, and
    a league's rule, which --rule names.
    """

    EXAMPLES: ClassVar = (
        "ludus resume runs/minirts-20261120-1530-3f2a",
        "ludus resume runs/minirts-20261120-1530-3f2a --run.max-minutes 30",
    )

    directory: Annotated[str, positional("a run directory", "RUN")]
    game: Annotated[
        str, option("code of the run's game, if the run was started elsewhere (./my_game.py)", "GAME")
    ] = ""
    teacher: Annotated[
        str, option("Python file of the run's teacher, if the run was started elsewhere", "FILE.py")
    ] = ""
    method: Annotated[
        str, option("Python file of the run's method, if the run was started elsewhere", "FILE.py")
    ] = ""
    rule: Annotated[
        str,
        option(
            "league rule of the run's members, if the run was started elsewhere; several: with commas",
            "FILE.py:CLASS",
        ),
    ] = ""
    quiet: Annotated[bool, QUIET] = False
    json: Annotated[bool, JSON] = False
    overrides: dict[str, str] = {}

    def run(self) -> int:
        """Resume the run, print its result and return the exit code."""
        run_dir = Path(self.directory)
        config = run_dir / "config.toml"
        if not config.is_file():
            raise UserError(f"{run_dir}: not a run directory (no config.toml in it); see: ls runs")
        from ludus.training.resumed import resumed_settings

        resumed = resumed_settings(
            run_dir,
            resumable(self.overrides),
            game=self.game,
            teacher=self.teacher,
            method=self.method,
            rule=self.rule,
        )

        from ludus.cli.live import make_view
        from ludus.training.runs import resume_run

        view = make_view(self.quiet)
        with ending_document(self.json), view, machines_of(resumed.preset, view.message) as machines:
            result = resume_run(resumed, sinks=[view], machines=machines)
        show_ending(result, resumed.preset.game.name, self.json)
        return DONE


@contextmanager
def machines_of(preset: Preset, report: Callable[[str], None] = console.note) -> Iterator[Machines]:
    """Open the machines that play the matches of ``preset``: this process, or a Ray cluster.

    Args:
        preset: Settings of the run.
        report: Called with a line now and then while machines are missing.

    Raises:
        UserError: Ray is not installed.
        ConfigError: An address that is none.
    """
    from ludus.training.machines import LOCAL

    if not preset.cluster.needs_ray:
        yield LOCAL
        return
    try:
        from ludus.cluster.machines import RayMachines
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        cluster = preset.cluster
        asks = f"rollouts = {cluster.rollouts}" if cluster.rollouts else f'members = "{cluster.members}"'
        raise UserError(f"cluster.{asks}: Ray is not installed; {install_command('cluster')}") from error
    machines = RayMachines(preset, report)
    try:
        yield machines
    finally:
        machines.close()


def resumable(given: Mapping[str, str]) -> dict[str, str]:
    """Return the given settings by their whole paths.

    Raises:
        UserError: A setting may not change.
    """
    out: dict[str, str] = {}
    for key, text in given.items():
        name = key.replace("-", "_")
        found = [path for path in RESUMABLE if ends_with(path, name)]
        if len(found) != 1:
            known = ", ".join(map(option_of, RESUMABLE))
            raise UserError(f"--{key}: a resumed run keeps its settings; only {known} may change")
        out[found[0]] = text
    return out


def run_name(preset: str) -> str:
    """Return a new name for a run: ``minirts-20261120-1530-3f2a``."""
    return f"{preset}-{time.strftime('%Y%m%d-%H%M')}-{os.urandom(2).hex()}"


def print_explained(
    loaded: LoadedPreset, spec: GameSpec, params: dict[str, str | int | float | bool], as_json: bool
) -> None:
    """Print the effective settings with their origins, and the network.

    Args:
        loaded: The preset.
        spec: Spec of its game.
        params: Effective parameters of the game.
        as_json: Print one JSON document instead of a TOML preset with comments.
    """
    game = msgspec.structs.replace(loaded.preset.game, params=params)
    whole = msgspec.structs.replace(loaded, preset=msgspec.structs.replace(loaded.preset, game=game))
    settings: list[EffectiveValue] = explain(whole)
    network = explained_network(loaded, spec)
    if as_json:
        console.document({"preset": loaded.source, "settings": settings, "network": network})
        return
    console.result(f"# {loaded.source}")
    console.result(to_toml(whole.preset, {s.path: s.origin for s in settings}).rstrip())
    if network is None:
        console.result(f"\n# network: shown where torch is installed: {install_command('train')}")
        return
    from ludus.policies.summary import summary_lines

    console.result("\n" + "\n".join(f"# {line}" for line in summary_lines(network)))


def explained_network(loaded: LoadedPreset, spec: GameSpec) -> NetworkSummary | None:
    """Return a summary of the preset's network; None if torch is not installed.

    Raises:
        UserError: Settings and game do not fit.
    """
    try:
        from ludus.policies.summary import summary_of
    except ImportError:
        return None
    try:
        return summary_of(loaded.preset.policy, spec)
    except ValueError as error:
        where = written(loaded.where("policy"), COMMAND_LINE)
        raise UserError(f"{where}: {said(error)}") from None


@contextmanager
def ending_document(as_json: bool) -> Iterator[None]:
    """Print a JSON document about a run of the body that ended without its last state on disk.

    ``version`` in it is the newest checkpoint's, null without one. The caller gets the error too.
    """
    try:
        yield
    except RunUnsaved as error:
        if as_json:
            console.document({"run": str(error.run), "error": said(error), "version": error.saved})
        raise


def show_ending(result: RunResult, game: str, as_json: bool) -> None:
    """Print how the run ended, and the next commands.

    Args:
        result: Result of the run.
        game: Reference by which its game was loaded.
        as_json: Print the result as one JSON document instead.
    """
    if as_json:
        console.document(result)
        return
    from ludus.cli.update_texts import interval_text
    from ludus.evaluation.ladder import in_words

    best = f"{result.best_player}:{result.best_version}" if result.best_player else result.best_version
    final: list[tuple[str, str]] = []
    for r in result.final:
        final.append(("mean return" if result.alone else f"against {r.against}", interval_text(r)))
        if floor := result.floors.text(r.against):
            final.append(("floor", floor))
    if strength := in_words(result.ladder):
        final.append(("strength", strength))
    rates = [
        (
            f"rates {name}".rstrip(),
            f"{console.si(r.received_per_s)} decisions received/s, {console.si(r.consumed_per_s)} consumed/s",
        )
        for name, r in result.rates.items()
    ]
    rows = [
        ("run", result.run),
        ("ended", result.reason),
        (
            "trained",
            f"{result.steps:,} decisions, {result.ticks:,} ticks in {console.duration(result.minutes)}",
        ),
        *rates,
        ("weights", f"best version {best}, last version {result.version}"),
        *final,
        ("report", str(Path(result.report).with_suffix(".html")) if result.report else "not written"),
    ]
    console.result(console.table(rows))
    console.result("\nnext steps")
    for line in next_steps(result, game):
        console.result(f"  {line}")


def next_steps(result: RunResult, game: str) -> list[str]:
    """Return complete commands about a run that has ended."""
    run = shell(result.run)
    named = "" if is_installed_name(game) else f" --game {shell(game)}"
    against = "" if result.alone else " --against random"
    if result.final and not result.alone:
        against = f" --against {shell(result.final[0].against)}"
    lines = [f"ludus eval {shell(f'{result.run}@best')}{against}{named} --matches 1000"]
    from ludus.cli.commands.replay import read_replay
    from ludus.games.replays import info

    for replay in sorted(Path(result.run, "replays").glob("*.ludus")):
        try:
            info(read_replay(str(replay)))
        except (UserError, ValueError, OSError):  # cut off by a full disk: the run is whole without it
            continue
        lines.append(f"ludus replay to-html {shell(str(replay))}{named}")
        break
    return [*lines, f"ludus resume {run} {options(result.more)}".rstrip()]

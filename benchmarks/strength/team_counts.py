"""Deeds of each member of a team, over the runs of a finished sweep, as a record of ``benchmarks/results``.

    python -m benchmarks.strength.team_counts NAME SWEEP --game pommerman --title TITLE --commit SHA \
        --machine TEXT

Nothing is trained here. The newest weights of each run play ``simple`` from equal seeds with drawn actions,
once for each kind of deed: the match pays 1 for that deed and nothing else, so that a seat's return is its
count. Rewards are not observed: all those matches are the same. Pommerman also pays the end of a match; the
return of matches that pay for nothing else is taken off. The floor is uniform play on the same seeds.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.settings import MatchSettings
from ludus.flow import MatchResult
from ludus.presets.config import ParamValue
from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory, utc_now
from ludus.storage.errors import StorageError
from tools.raw_lines import Line, figures_of, write_record
from tools.records import Record, preset_hash

Rows = npt.NDArray[np.float64]

AGAINST, UNIFORM = "simple", "uniform"
#: Of MOBA's rulebook.
REWARDS = ("win", "loss", "gold", "xp", "hp", "mana", "kill", "death", "last_hit", "tower", "ancient")
SEATS = ("first seat", "second seat")
CLASSES = ("carry", "tank", "support")
NOTHING = {f"reward_{kind}": 0.0 for kind in ("pickup", "wood", "kill")}
#: Game -> names of the members of a team.
MEMBERS = {"pommerman": SEATS, "moba": CLASSES}


def rulebook(deed: str) -> str:
    """Return the changes of MOBA's rulebook with which a match pays 1 for one deed, from first to last."""
    paid = [f"reward.{name}={1 if name == deed else 0}" for name in REWARDS]
    return "\n".join([*paid, "reward.decay=1", "start.line_up=0"])


def pays(game: str) -> dict[str, dict[str, ParamValue]]:
    """Return the parameters that pay for one deed, by its name; ``""`` has those that pay for none."""
    if game == "moba":
        return {name: {"rulebook": rulebook(name)} for name in ("gold", "kill", "last_hit")}
    return {"": {**NOTHING}, "kill": {**NOTHING, "reward_kill": 1.0}, "wood": {**NOTHING, "reward_wood": 1.0}}


def by_member(player: str, params: dict[str, ParamValue], game: str, settings: MatchSettings) -> Rows:
    """Return the returns of the members of the player's team, an array of matches x members."""
    matches: list[MatchResult] = []
    evaluate(player, AGAINST, settings, game=game, params=params, keep=matches.append)
    rows = []
    for match in matches:
        own = [k for k, name in enumerate(match.players) if name != AGAINST]
        rows.append([match.returns[seat] for seat in own])
    return np.array(rows, dtype=np.float64)


def counted(
    label: str,
    player: str,
    seed: int | None,
    game: str,
    params: dict[str, ParamValue],
    settings: MatchSettings,
) -> Iterator[Line]:
    """Yield a line for each deed and member."""
    base: Rows | None = None
    for deed, paid in pays(game).items():
        found = by_member(player, {**params, **paid}, game, settings)
        if not deed:
            base = found
            continue
        counts = found if base is None else found - base
        middle = counts.mean(axis=0)
        reach = 1.96 * counts.std(axis=0, ddof=1) / np.sqrt(len(counts))
        for k, member in enumerate(MEMBERS[game]):
            name = ", ".join((label, deed.replace("_", " "), member))
            value, low, high = (float(x[k]) for x in (middle, middle - reach, middle + reach))
            who = Path(player).name
            yield Line(label=name, seed=seed, player=who, value=value, low=low, high=high, against=AGAINST)


def lines_of(sweep: Path, game: str, settings: MatchSettings) -> tuple[list[Line], list[Line]]:
    """Return the lines of all finished runs, and those of uniform play."""
    lines: list[Line] = []
    params: dict[str, ParamValue] = {}
    for run in sorted((sweep / "runs").iterdir()):
        opened = RunDirectory.open(run)
        preset = parse_preset(opened.config_bytes(), str(opened.config)).preset
        if not (run / "report.md").is_file():
            print(f"{run.name}: not finished, left out", file=sys.stderr)
            continue
        params = dict(preset.game.params)
        print(run.name, file=sys.stderr, flush=True)
        cell = run.name.rsplit(",seed=", 1)[0]
        lines.extend(counted(cell, f"{run}@last", preset.run.seed, game, params, settings))
    return lines, list(counted(UNIFORM, UNIFORM, None, game, params, settings))


def record_of(args: argparse.Namespace, lines: Sequence[Line], floors: Sequence[Line]) -> Record:
    """Return the record: means over the seeds, beside those of uniform play."""
    command = ["python", "-m", "benchmarks.strength.team_counts", args.name, args.sweep.name]
    return Record(
        schema=2,
        section="learning",
        title=args.title,
        figures=figures_of(lines, "a match", "seeds"),
        floors=figures_of(floors, "a match", "line"),
        commands=(*args.train, shlex.join([*command, "--game", args.game, "--matches", str(args.matches)])),
        commit=args.commit,
        date=utc_now()[:10],
        machine=args.machine,
        preset=args.preset,
        preset_sha256=preset_hash(args.preset),
        notes=tuple(args.note),
    )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("name", help="of the record")
    parser.add_argument("sweep", type=Path, help="directory of a sweep")
    parser.add_argument("--game", required=True, choices=sorted(MEMBERS))
    parser.add_argument("--preset", required=True, help="of the runs, one of presets/")
    parser.add_argument("--matches", type=int, default=200, help="of each run")
    parser.add_argument("--title", required=True)
    parser.add_argument("--train", action="append", required=True, help="a command that made the runs")
    parser.add_argument("--note", action="append", default=[])
    parser.add_argument("--commit", required=True)
    parser.add_argument("--machine", required=True)
    args = parser.parse_args()
    try:
        lines, floors = lines_of(args.sweep, args.game, MatchSettings(matches=args.matches))
        record = record_of(args, lines, floors)
    except (OSError, ValueError, StorageError) as error:
        parser.error(str(error))
    write_record(args.name, record, [*lines, *floors])


if __name__ == "__main__":
    main()

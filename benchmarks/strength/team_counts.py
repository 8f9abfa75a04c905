"""Deeds of each member of a team, over the runs of a finished sweep.

    python -m benchmarks.strength.team_counts SWEEP --game pommerman --command "ludus sweep sweeps/X.toml" \
        [--record NAME --title TITLE]

Nothing is trained here. The newest weights of each run play ``simple`` from equal seeds with drawn actions,
once for each kind of deed: the match pays 1 for that deed and nothing else, so that a seat's return is its
count. Rewards are not observed: all those matches are the same. Pommerman also pays the end of a match; the
return of matches that pay for nothing else is taken off. Floors are played on the same seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks.strength.evaluated import (
    Played,
    Store,
    all_floors,
    kept_runs,
    preset_of,
    setting_of_run,
    weights_folder,
)
from ludus.policies.weights import WeightsError
from ludus.presets.errors import ConfigError
from ludus.storage.errors import StorageError
from tools.figures import figures_of, floors_of
from tools.new_record import add_record_options, own_command, published
from tools.play_lines import play, setting_of
from tools.raw_lines import Line, Setting

AGAINST = "simple"
#: Of MOBA's rulebook.
REWARDS = ("win", "loss", "gold", "xp", "hp", "mana", "kill", "death", "last_hit", "tower", "ancient")
SEATS = ("first seat", "second seat")
CLASSES = ("carry", "tank", "support")
NOTHING = {f"reward_{kind}": "0" for kind in ("pickup", "wood", "kill")}
#: Game -> names of the members of a team.
MEMBERS = {"pommerman": SEATS, "moba": CLASSES}


def rulebook(deed: str) -> str:
    """Return the changes of MOBA's rulebook with which a match pays 1 for one deed, from first to last."""
    paid = [f"reward.{name}={1 if name == deed else 0}" for name in REWARDS]
    return "\n".join([*paid, "reward.decay=1", "start.line_up=0"])


def pays(game: str) -> dict[str, dict[str, str]]:
    """Return the parameters that pay for one deed, by its name; ``""`` has those that pay for none."""
    if game == "moba":
        return {name: {"rulebook": rulebook(name)} for name in ("gold", "kill", "last_hit")}
    return {"": {**NOTHING}, "kill": {**NOTHING, "reward_kill": "1"}, "wood": {**NOTHING, "reward_wood": "1"}}


def settings_of(game: str, params: dict[str, str], matches: int, frame_skip: int = 0) -> Iterator[Setting]:
    """Yield the setting of each deed and member; ``returned`` names both."""
    found = pays(game)
    base = found.get("")
    for deed, paid in found.items():
        if not deed:
            continue
        for k, member in enumerate(MEMBERS[game]):
            yield setting_of(
                game,
                {**params, **paid},
                AGAINST,
                "drawn",
                matches,
                frame_skip=frame_skip,
                member=k,
                less=None if base is None else {**params, **base},
                returned=f"{deed.replace('_', ' ')}, {member}",
            )


def counted(
    runs: list[Played], game: str, matches: int, seed: int, store: Store, folder: Path
) -> Iterator[Line]:
    """Yield a line for each deed, member and run of a cell."""
    params = setting_of_run(runs[0], AGAINST, "drawn", matches).params
    skip = setting_of_run(runs[0], AGAINST, "drawn", matches).frame_skip
    for setting in settings_of(game, params, matches, skip):
        for one in runs:
            label = ", ".join(t for t in (one.run.cell, setting.returned) if t)
            found = store.find(label, one.run.counts_for, setting, one.run.weights)
            yield found or store.add(play(label, setting, seed, run=one.run, folder=folder))


def cells_of(sweep: Path) -> dict[str, list[str]]:
    """Return the finished runs of a sweep by cell. Raises ``ValueError`` for an unfinished one."""
    cells: dict[str, list[str]] = {}
    for run in sorted((sweep / "runs").iterdir()):
        if not (run / "report.md").is_file():
            raise ValueError(f"{run}: not finished")
        cells.setdefault(run.name.rsplit(",seed=", 1)[0], []).append(str(run))
    return cells


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Play everything, print the figures, write the record. Raises ``ValueError`` and ``StorageError``."""
    cells = {
        cell: kept_runs(runs, args.command, folder, cell=cell) for cell, runs in cells_of(args.sweep).items()
    }
    store = Store(args.lines)
    lines = [
        line
        for runs in cells.values()
        for line in counted(runs, args.game, args.matches, args.seed, store, folder)
    ]
    figures = figures_of(lines, "a match", "seeds")
    every = [one.run for runs in cells.values() for one in runs]
    floor_lines, kinds = all_floors(lines, every, figures, store, folder)
    floors = floors_of(floor_lines, figures, kinds)
    for figure in (*figures, *floors):
        print(figure.text())
    assert preset_of(next(iter(cells.values()))[0].where).game.name == args.game
    published(
        args,
        section="learning",
        title=args.title,
        lines=[*lines, *floor_lines],
        figures=figures,
        floors=floors,
        runs=every,
        commands=[own_command("benchmarks.strength.team_counts")],
        notes=args.note,
    )


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sweep", type=Path, help="directory of a sweep")
    parser.add_argument("--game", required=True, choices=sorted(MEMBERS))
    parser.add_argument("--command", required=True, help="that trained the runs")
    parser.add_argument("--matches", type=int, default=200, help="of each run")
    parser.add_argument("--seed", type=int, default=1, help="of the matches")
    parser.add_argument("--lines", type=Path, help="JSON lines, one an evaluation; read first if there")
    parser.add_argument("--title", default="", help="of the record")
    parser.add_argument("--note", action="append", default=[], help="of the record; repeat it")
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    parser = parser_of()
    args = parser.parse_args()
    if args.record and not args.title:
        parser.error("--record: expected --title too")
    try:
        with weights_folder(args.record) as folder:
            measure(args, folder)
    except (OSError, ValueError, ConfigError, StorageError, WeightsError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

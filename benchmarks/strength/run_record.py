"""Finished runs of one preset against bots: win rates drawn and greedy, with all floors.

    python -m benchmarks.strength.run_record moba-1v1-1 moba-1v1-2 moba-1v1-3 --against simple push \
        --command "ludus train moba-1v1 --run.seed S --run.max-steps 1000000" [--record NAME --title TITLE]

Nothing is trained here. The newest weights of each run (``RUN@last``, or ``RUN@best`` where that is named)
play each bot, from the kept file. The floors are the runs' initial weights, uniform play and every bot of the
game.
``--lines FILE`` keeps finished evaluations: a second call plays only the others.

``--param`` plays under other parameters than the training, ``--score`` measures a named score of the game,
and ``--rival RUN@best`` is an opponent that another run has trained (``--rival-command``):

    python -m benchmarks.strength.run_record cig --param players=1 --param bots=7 --score frags best_bot \\
        --matches 5 --command "ludus train vizdoom-cig --run.seed S"
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.strength.evaluated import (
    Asked,
    Store,
    all_floors,
    evaluations,
    kept_runs,
    preset_of,
    weights_folder,
)
from ludus.evaluation.results import ALONE
from ludus.games import spec
from ludus.policies.weights import WeightsError, load_meta
from ludus.presets.checks.game import params_text
from ludus.presets.errors import ConfigError
from ludus.storage import resolve_weights
from ludus.storage.errors import StorageError
from tools.figures import figures_of, floors_of
from tools.new_record import add_record_options, own_command, published
from tools.play_lines import PLAYS


def opponents_of(args: argparse.Namespace, run: Path) -> list[str]:
    """Return ``--against``, or for a game of one seat no opponent. Raises ``ValueError`` without one."""
    game = preset_of(run).game
    declared = spec(game.name, {**params_text(game.params), **changes_of(args)})
    if declared.seats == 1:
        return [ALONE]
    if args.rival:
        return [args.rival_name]
    if not args.against:
        raise ValueError(f"--against: expected opponents; {declared.name} has {declared.seats} seats")
    return list(args.against)


def changes_of(args: argparse.Namespace) -> dict[str, str]:
    """Return the parameters that ``--param`` changes. Raises ``ValueError`` for another form."""
    pairs = [text.partition("=") for text in args.param]
    wrong = next((name for name, sign, _ in pairs if not name or not sign), None)
    if wrong is not None:
        raise ValueError(f"--param {wrong}: expected NAME=VALUE")
    return {name: value for name, _, value in pairs}


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Play everything, print the figures, write the record. Raises ``ValueError`` and ``StorageError``."""
    runs = kept_runs(args.runs, args.command, folder, initial=args.initial, started_from=args.started_from)
    store = Store(args.lines)
    opponents = opponents_of(args, runs[0].where)
    rivals = kept_runs([args.rival], args.rival_command, folder, cell=args.rival_name) if args.rival else []
    met = {one.run.counts_for: rival.run.weights for one in runs for rival in rivals}
    lines, figures = [], []
    for score in args.score or [""]:
        asked = Asked(changes_of(args), score, met)
        mine = list(evaluations(runs, opponents, args.plays, args.matches, args.seed, store, folder, asked))
        unit = "a match" if score else "return" if opponents == [ALONE] else "%"
        lines += mine
        figures += figures_of(mine, unit, "seeds" if len(runs) > 1 else "matches")
    made = [one.run for one in (*runs, *rivals)]
    floor_lines, kinds = all_floors(lines, made, figures, store, folder)
    floors = floors_of(floor_lines, figures, kinds)
    for figure in (*figures, *floors):
        print(figure.text())
    steps = [f"{load_meta(resolve_weights(one.reference)).steps:,}" for one in runs]
    published(
        args,
        section="learning",
        title=args.title,
        lines=[*lines, *floor_lines],
        figures=figures,
        floors=floors,
        runs=made,
        commands=[*args.then, own_command("benchmarks.strength.run_record")],
        budget=f"{', '.join(dict.fromkeys(steps))} decisions of a run",
        reference=args.reference,
        notes=args.note,
    )


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", nargs="+", help="finished runs of different seeds: RUN or RUN@best")
    parser.add_argument("--against", nargs="+", default=[], help="bots of the game")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="of the matches")
    parser.add_argument("--score", nargs="+", default=[], help="named scores of the game that are measured")
    parser.add_argument("--rival", default="", help="weights of another run as the opponent: RUN@best")
    parser.add_argument("--rival-command", default="", help="that trained this run")
    parser.add_argument("--rival-name", default="the rival", help="what its weights are, for the page")
    parser.add_argument("--plays", nargs="+", choices=PLAYS, default=list(PLAYS))
    parser.add_argument("--matches", type=int, default=400, help="of an evaluation")
    parser.add_argument("--seed", type=int, default=1, help="of the matches")
    parser.add_argument("--command", required=True, help="that trained the runs; --run.seed S is filled in")
    parser.add_argument("--then", action="append", default=[], help="a command that followed; repeat it")
    parser.add_argument(
        "--initial", default="", help="weights that the runs started from, if not random ones"
    )
    parser.add_argument("--started-from", default="", help="what these are, for the page")
    parser.add_argument("--lines", type=Path, help="JSON lines, one an evaluation; read first if there")
    parser.add_argument("--title", default="", help="of the record")
    parser.add_argument("--reference", default="", help="of the record")
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

"""A league on MiniRTS beside naive self-play of equal decisions: both bots, and exploiters of each.

    python -m benchmarks.strength.league_minirts --league LEAGUE-1@main LEAGUE-2@main LEAGUE-3@main \
        --naive NAIVE-1@main NAIVE-2@main NAIVE-3@main \
        --against-league X-1@exploiter X-2@exploiter X-3@exploiter \
        --against-naive Y-1@exploiter Y-2@exploiter Y-3@exploiter \
        --commands "ludus train alphastar --run.seed S" "ludus train minirts-self-play --run.seed S" \
        "ludus train benchmarks/strength/minirts-exploiter.toml --run.seed S \
        --league.players.1.seed LEAGUE-{S}@main" "..." [--record NAME]

``--bots``, ``--title``, ``--reference``: settings of another game, as benchmarks/strength/cycle.

The runs are finished. Nothing is trained here. Each player is evaluated against both bots with drawn and with
greedy actions. Exploiter N plays its victim, the Nth player, and counts for the victim's seed. Floors are the
first weights of each player (``RUN@main:0``), uniform play and every bot. ``--lines FILE`` keeps finished
evaluations: a second call plays only the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.strength.evaluated import (
    Played,
    Store,
    all_floors,
    evaluations,
    kept_runs,
    label_of,
    setting_of_run,
    weights_folder,
)
from ludus.league.summary import status
from ludus.policies.weights import WeightsError
from ludus.presets.errors import ConfigError
from ludus.reporting.run_view import RunView
from ludus.storage.errors import StorageError
from tools.figures import figure_of, figures_of, floors_of
from tools.new_record import add_record_options, own_command, published
from tools.play_lines import PLAYS, play
from tools.raw_lines import Line
from tools.records import Figure

BOTS = ("simple", "hit_and_run")
TITLE = "MiniRTS from self-play alone, combined orders: AlphaStar's three roles, and naive self-play"
REFERENCE = "neither bot is met in training; an exploiter that cannot exploit wins about half"
NOTE = "Combined orders, repeated every 5 ticks; the bots' are not."
LEAGUE, NAIVE = "the league's main", "naive self-play"
KINDS = ("league", "naive", "against_league", "against_naive")


def decisions(run: Path) -> int:
    """Decisions of all members of a run together."""
    return sum(member.steps for member in status(RunView.open(run).league(), "").members)


def budget(runs: dict[str, list[Played]]) -> str:
    """Decisions of each kind of run, over its seeds."""

    def span(played: Sequence[Played]) -> str:
        found = sorted(decisions(one.where) / 1e6 for one in played)
        low, high = f"{found[0]:.1f}", f"{found[-1]:.1f}"
        return f"{low} M" if low == high else f"{low} to {high} M"

    text = f"decisions of all members: league {span(runs['league'])}, naive self-play {span(runs['naive'])}"
    exploiters = [*runs["against_league"], *runs["against_naive"]]
    return f"{text}, an exploiter's run {span(exploiters)}" if exploiters else text


def runs_of(args: argparse.Namespace, folder: Path) -> dict[str, list[Played]]:
    """Keep the weights of all runs. Raises ``ValueError`` for two runs of one seed."""
    cells = (LEAGUE, NAIVE, f"a new exploiter of {LEAGUE}", f"a new exploiter of {NAIVE}")
    found: dict[str, list[Played]] = {}
    for number, kind in enumerate(KINDS):
        victims = found.get(kind.removeprefix("against_"), [])
        found[kind] = kept_runs(
            getattr(args, kind),
            args.commands[min(number, len(args.commands) - 1)],
            folder,
            cell=cells[number],
            pairs=[one.run.seed for one in victims],
        )
    return found


def exploited(
    name: str,
    victims: Sequence[Played],
    exploiters: Sequence[Played],
    args: argparse.Namespace,
    store: Store,
    folder: Path,
) -> Iterator[Line]:
    """Yield the matches of each exploiter against its victim's kept weights."""
    label = f"a new exploiter against {name}, drawn"
    for victim, exploiter in zip(victims, exploiters, strict=False):  # there may be no exploiters at all
        setting = setting_of_run(exploiter, name, "drawn", 2 * args.matches)
        found = store.find(label, exploiter.run.counts_for, setting, exploiter.run.weights)
        yield found or store.add(
            play(
                label,
                setting,
                args.seed,
                run=exploiter.run,
                against_weights=victim.run.weights,
                folder=folder,
            )
        )


def measured(
    args: argparse.Namespace, runs: dict[str, list[Played]], store: Store, folder: Path
) -> list[Line]:
    """Return the lines of all figures: from ``--lines`` where they are there, else played."""
    lines: list[Line] = []
    for kind in ("league", "naive"):
        lines += evaluations(runs[kind], args.bots, PLAYS, args.matches, args.seed, store, folder)
    for kind, name in (("league", LEAGUE), ("naive", NAIVE)):
        lines += exploited(name, runs[kind], runs[f"against_{kind}"], args, store, folder)
    return lines


def worst_bots(lines: Sequence[Line], bots: Sequence[str]) -> list[Figure]:
    """Return the win rates against the bot that each seed's player fares worst against, greedy.

    There are none with one bot or one seed.
    """
    if len(bots) < 2 or len({line.seed for line in lines}) < 2:
        return []
    return [
        figure_of(
            lines,
            f"{name}, worst bot, greedy",
            "%",
            "worst",
            of=[label_of(name, bot, "greedy") for bot in bots],
        )
        for name in (LEAGUE, NAIVE)
    ]


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Play everything, print the figures, write the record. Raises ``ValueError`` and ``StorageError``."""
    runs, store = runs_of(args, folder), Store(args.lines)
    lines = measured(args, runs, store, folder)
    figures = [*figures_of(lines, "%", "seeds"), *worst_bots(lines, args.bots)]
    every = [one.run for kind in KINDS for one in runs[kind]]
    floor_lines, kinds = all_floors(lines, every, figures, store, folder)
    floors = floors_of(floor_lines, figures, kinds)
    for figure in (*figures, *floors):
        print(figure.text())
    published(
        args,
        section="learning",
        title=args.title,
        lines=[*lines, *floor_lines],
        figures=figures,
        floors=floors,
        runs=every,
        commands=[own_command("benchmarks.strength.league_minirts")],
        budget=budget(runs),
        reference=args.reference,
        notes=("Newest weights of each member.", *(args.note or (NOTE,))),
    )


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--league", nargs="+", required=True, metavar="RUN@main")
    parser.add_argument("--naive", nargs="+", required=True, metavar="RUN@main")
    parser.add_argument("--against-league", nargs="*", default=[], metavar="RUN@exploiter")
    parser.add_argument("--against-naive", nargs="*", default=[], metavar="RUN@exploiter")
    parser.add_argument(
        "--matches", type=int, default=1000, help="of an evaluation; exploiters: twice as many"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the matches")
    parser.add_argument(
        "--commands",
        nargs="+",
        required=True,
        metavar="COMMAND",
        help="that trained the four kinds of runs, in the order of the options above;\n"
        "the last one stands for those left out; --run.seed S and {S} are filled in",
    )
    parser.add_argument("--bots", nargs="+", default=list(BOTS))
    parser.add_argument("--lines", type=Path, help="JSON lines, one an evaluation; read first if there")
    parser.add_argument("--note", action="append", default=[], help="repeat it; default: MiniRTS's")
    parser.add_argument("--title", default=TITLE, help="of the record")
    parser.add_argument("--reference", default=REFERENCE, help="of the record")
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    parser = parser_of()
    args = parser.parse_args()
    for victims, exploiters in (("league", "against_league"), ("naive", "against_naive")):
        if len(getattr(args, exploiters)) not in (0, len(getattr(args, victims))):
            parser.error(f"--{exploiters.replace('_', '-')}: expected one exploiter for each of --{victims}")
    try:
        with weights_folder(args.record) as folder:
            measure(args, folder)
    except (OSError, ValueError, ConfigError, StorageError, WeightsError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

"""Matches of the bots of MOBA: how even the teams are, how often the ancient decides, and who beats `simple`.

    python -m benchmarks.strength.moba_bots --matches 2000 [--record moba-bots]

Each label has one pair of bots and one number of heroes a team. The teams change sides from match to match.
The floors are uniform play and every bot, in the same matches.
"""

from __future__ import annotations

import argparse

from benchmarks.strength.evaluated import Store, all_floors
from tools.figures import figures_of, floors_of
from tools.kept_weights import FOLDER
from tools.new_record import add_record_options, own_command, published
from tools.play_lines import play, setting_of
from tools.raw_lines import Line, Setting

GAME = "moba"
HEROES = (1, 3)
SEED = 7


def setting(heroes: int, matches: int, of_seat: int = -1) -> Setting:
    """Return matches against ``simple``; with ``of_seat`` the results of that seat."""
    return setting_of(GAME, {"heroes": str(heroes)}, "simple", "", matches, of_seat=of_seat)


def measured(heroes: int, matches: int) -> list[Line]:
    """Return the lines of one number of heroes: the first team of two equal ones, and `push`."""
    size = f"{heroes} against {heroes}"
    even = play(f"{size}, first team, both `simple`", setting(heroes, matches, 0), SEED, player="simple")
    pushed = play(f"{size}, `push` against `simple`", setting(heroes, matches // 2), SEED, player="push")
    return [even, pushed]


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--matches", type=int, default=2000, help="of two equal teams; half as many otherwise"
    )
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    args = parser_of().parse_args()
    lines = [line for heroes in HEROES for line in measured(heroes, args.matches)]
    figures = figures_of(lines, "%", "matches")
    floor_lines, kinds = all_floors(lines, [], figures, Store(None), FOLDER)
    floors = floors_of(floor_lines, figures, kinds)
    for figure in (*figures, *floors):
        print(figure.text())
    published(
        args,
        section="strength",
        title="MOBA: the built-in bots among themselves",
        lines=[*lines, *floor_lines],
        figures=figures,
        floors=floors,
        commands=[own_command("benchmarks.strength.moba_bots")],
        reference="50% for the first of two equal teams",
    )


if __name__ == "__main__":
    main()

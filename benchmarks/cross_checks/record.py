"""Agreement of rules with other implementations, as a record of ``benchmarks/results``.

    python -m benchmarks.cross_checks.record go --record go-rules
    python -m benchmarks.cross_checks.record rts --program build/ci/cpp/games/rts/rts_conformance \
        --record rts-conformance

``go``: random matches move by move against GNU Go and OpenSpiel (`go_rules.py`). ``rts``: matches that ELF's
own engine recorded (`tests/golden/rts`), tick by tick, by `rts_conformance` of the C++ tests. A match agrees
to its end or it does not.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cross_checks.go_rules import Disagreement, Tally, run
from tools.figures import figure_of
from tools.new_record import add_record_options, own_command, published
from tools.raw_lines import Line, counted
from tools.records import ROOT, Figure

TRACES = {
    "MiniRTS": "minirts_traces.txt",
    "Capture the Flag": "ctf_traces.txt",
    "Tower Defense": "td_traces.txt",
}
_SAID = re.compile(r"(\d+) of (\d+) games agree")


def go_lines(matches: Sequence[int], seed: int, program: str) -> list[Line]:
    """Return a line for each opponent and size. Raises :class:`Disagreement`, which names the moves."""
    found = []
    asked = (("gnugo", 9, matches[0]), ("gnugo", 19, matches[1]), ("open_spiel", 9, matches[2]))
    for against, size, count in asked:
        given = argparse.Namespace(against=against, size=size, matches=count, seed=seed, program=program)
        tally: Tally = run(given)
        name = "GNU Go" if against == "gnugo" else "OpenSpiel"
        found.append(counted(f"{name}, {size}x{size}", "w" * tally.matches))
    return found


def rts_lines(program: Path) -> list[Line]:
    """Return a line for each game of ELF. Raises ``ValueError`` where the program does not count matches."""
    found = []
    for name, file in TRACES.items():
        path = ROOT / "tests" / "golden" / "rts" / file
        done = subprocess.run([str(program), str(path)], capture_output=True, text=True, check=False)
        said = _SAID.search(done.stdout)
        if said is None:
            raise ValueError(f"{program}: {done.stderr.strip() or done.stdout.strip()}")
        agree, matches = map(int, said.groups())
        found.append(counted(name, "w" * agree + "l" * (matches - agree)))
    return found


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("rules", choices=("go", "rts"))
    parser.add_argument(
        "--matches",
        nargs=3,
        type=int,
        default=[1000, 200, 10_000],
        metavar=("GNUGO9", "GNUGO19", "OPENSPIEL9"),
        help="of Go",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the matches of Go")
    parser.add_argument(
        "--program", default="", help="GNU Go, or rts_conformance of the C++ tests (build/*/cpp/games/rts)"
    )
    add_record_options(parser)
    return parser


def main() -> int:
    """Run the command line. 3: the rules disagree."""
    parser = parser_of()
    args = parser.parse_args()
    try:
        if args.rules == "go":
            gnugo = args.program or shutil.which("gnugo") or "/usr/games/gnugo"
            lines = go_lines(args.matches, args.seed, gnugo)
        else:
            lines = rts_lines(Path(args.program))
    except Disagreement as error:
        print(f"DISAGREEMENT: {error}")
        return 3
    except (OSError, ValueError) as error:
        parser.error(str(error))
    figures: list[Figure] = [figure_of(lines, line.label, "%", "matches") for line in lines]
    for figure in figures:
        print(figure.text())
    titles = {
        "go": "Go rules against other implementations, move by move: matches that agree to the end",
        "rts": "ELF's games against matches that the original engine recorded: agree at every tick",
    }
    published(
        args,
        section="conformance",
        title=titles[args.rules],
        lines=lines,
        figures=figures,
        commands=[own_command("benchmarks.cross_checks.record")],
    )
    return 0 if all(line.won == line.matches for line in lines) else 3


if __name__ == "__main__":
    raise SystemExit(main())

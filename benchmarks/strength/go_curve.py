"""A run's versions against a fixed ladder of opponents at Go: its rating curve.

    python -m benchmarks.strength.go_curve RUN --komi 7 --matches 20 --jobs 2

Every kept version of the run (``run.keep_checkpoints``), or every one in ``--versions``, plays
``--visits`` visits a move against each of ``--against``, colours in turn from openings drawn in pairs
(``benchmarks/strength/gtp_match.py``). A row a version: positions that self-play had brought, minutes of the
run, matches won and drawn against each, with Wilson's 95% interval.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import msgspec

from benchmarks.strength.gtp_match import CHINESE, GNU_GO, REFEREE, WEAKEST, Setting, play_all
from ludus.gtp.program import ProgramError
from ludus.storage import RunDirectory

LADDER = {
    "tactical": "tactical",
    "mcts:400": "mcts:400",
    "mcts:4000": "mcts:4000",
    "GNU Go, level 1": WEAKEST,
    "GNU Go, level 10": f"{GNU_GO} --level 10 {CHINESE}",
}


class _State(msgspec.Struct):
    budget: dict[str, float | None]


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--versions", type=int, nargs="+", help="default: all that are kept")
    parser.add_argument("--against", nargs="+", choices=list(LADDER), default=list(LADDER))
    parser.add_argument("--visits", type=int, default=400)
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--komi", type=float, default=7.0)
    parser.add_argument("--matches", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of the openings")
    parser.add_argument("--referee", default=REFEREE)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    return parser


def main() -> int:
    args = parser_of().parse_args()
    store = RunDirectory.open(args.run).checkpoints
    setting = Setting(size=args.size, komi=args.komi, seed=args.seed, referee=args.referee)
    rows = []
    print("| version | positions | minutes | " + " | ".join(args.against) + " |")
    print("|---" * (3 + len(args.against)) + "|")
    for version in args.versions or store.versions():
        budget = msgspec.json.decode(store.load_state(version), type=_State).budget
        player = f"{args.run}@{version}+search:{args.visits},fpu_reduction=0.2,leaves=4"
        cells = []
        for name in args.against:
            try:
                report = play_all(player, LADDER[name], setting, args.matches, args.jobs)
            except ProgramError as error:
                print(f"protocol: {error}", file=sys.stderr)
                return 1
            rows.append({"version": version, **budget, "opponent": name, **report})
            drawn = f", {report['drawn']} drawn" if report["drawn"] else ""
            cells.append(f"{report['won']} ({report['ci_low']:.0%} to {report['ci_high']:.0%}){drawn}")
        start = f"| {version} | {budget['steps']:,.0f} | {budget['minutes']:.0f} | "
        print(start + " | ".join(cells) + " |", flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

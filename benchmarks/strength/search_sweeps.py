"""Sweeps of paper 003 at a size of your choice: c_puct, virtual loss, doubled visits.

    python -m benchmarks.strength.search_sweeps c_puct --game connect_four --base mcts:200 --matches 200
    python -m benchmarks.strength.search_sweeps visits --game go --param size=9 --base RUN@best+search:100
    python -m benchmarks.strength.search_sweeps c_puct --base RUN@last+search:64 --random-start 8

``c_puct`` and ``virtual_loss`` play each value against the paper's (1.5 and 1); ``visits`` doubles them a few
times and plays each against half of it, by colour. A network that knows a drawn line by heart needs
``--random-start``: beginnings that differ. A markdown table with Wilson's 95% intervals.
"""

from __future__ import annotations

import argparse

from ludus.cli.params import read_params
from ludus.train.api import evaluate

VALUES = {
    "c_puct": (0.5, 0.85, 1.0, 2.0, 3.0),
    "virtual_loss": (0.1, 0.2, 0.5, 2.0, 3.0, 5.0),
    "visits": (2, 4, 8, 16),
}


def pairs(what: str, base: str, leaves: int) -> list[tuple[str, str, str]]:
    """(label, player, against)."""
    if what == "c_puct":
        return [(f"c_puct {v:g}", f"{base},c_puct={v:g}", f"{base},c_puct=1.5") for v in VALUES[what]]
    if what == "virtual_loss":
        both = f"{base},leaves={leaves}"
        return [
            (f"virtual loss {v:g}", f"{both},virtual_loss={v:g}", f"{both},virtual_loss=1")
            for v in VALUES[what]
        ]
    stem, _, visits = base.rpartition(":")
    first = int(visits.split(",")[0])
    out = []
    for factor in VALUES[what]:
        more, less = first * factor, first * factor // 2
        out.append((f"{more} against {less} visits", f"{stem}:{more}", f"{stem}:{less}"))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sweep", choices=sorted(VALUES))
    parser.add_argument("--base", default="mcts:200")
    parser.add_argument("--game", default="")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--matches", type=int, default=100)
    parser.add_argument("--leaves", type=int, default=8, help="of a batch, in the sweep of virtual loss")
    parser.add_argument("--random-start", type=int, default=0, help="as of ludus eval")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("| setting | matches | won | drawn | lost | score | won, 95% interval | won by seat |")
    print("|---|---|---|---|---|---|---|---|")
    for label, player, against in pairs(args.sweep, args.base, args.leaves):
        r = evaluate(
            player,
            against,
            game=args.game,
            params=read_params(args.param) or None,
            matches=args.matches,
            seed=args.seed,
            random_start=args.random_start,
        )
        seats = " / ".join(f"{x:.1%}" for x in r.win_rate_by_seat)
        print(
            f"| {label} | {r.matches} | {r.wins} | {r.draws} | {r.losses} | {r.score:.1%} "
            f"| {r.ci_low:.1%} to {r.ci_high:.1%} | {seats} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

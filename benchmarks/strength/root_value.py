"""Values of the first position by a run's versions: a curve to compare with a known game value.

    python -m benchmarks.strength.root_value RUN --visits 400

Go on 5x5 with komi 24.5 is won by Black only with the whole board, which is what perfect play gives: the
value must go to +1. One row a version that the run has kept (``run.keep_checkpoints``): positions that
self-play had brought, minutes of the run, values of the network and of the search, the search's line.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import msgspec

from ludus.evaluation.players import evaluator_of, game_of_player
from ludus.games import spec as game_spec
from ludus.mcts import SearchConfig, Trees
from ludus.storage import RunDirectory


class _State(msgspec.Struct):
    budget: dict[str, float | None]


def rows_of(run: Path, visits: int) -> list[dict[str, object]]:
    """Oldest version first."""
    store = RunDirectory.open(run).checkpoints
    rows: list[dict[str, object]] = []
    for version in store.versions():
        name = f"{run}@{version}"
        trained_on = game_of_player(name)
        assert trained_on is not None
        game, params = trained_on
        evaluator, _ = evaluator_of(name, game_spec(game, params))
        config = SearchConfig(visits=visits, noise_share=0.0, fpu_reduction=0.2, solver=True)
        trees = Trees(game, params, config, evaluator=evaluator)
        trees.run([0], visits=1)
        alone = trees.root(0).value
        trees.run([0])
        budget = msgspec.json.decode(store.load_state(version), type=_State).budget
        rows.append(
            {
                "version": version,
                "positions": budget["steps"],
                "minutes": budget["minutes"],
                "network": alone,
                "search": trees.root(0).value,
                "line": trees.line(0, most=8),
            }
        )
    return rows


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--visits", type=int, default=400)
    parser.add_argument("--json", action="store_true")
    return parser


def main() -> None:
    args = parser_of().parse_args()
    rows = rows_of(args.run, args.visits)
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    print("| version | positions | minutes | network | search | line |")
    print("|---|---|---|---|---|---|")
    for r in rows:
        print(
            f"| {r['version']} | {r['positions']:,.0f} | {r['minutes']:.1f} | {r['network']:+.2f} | "
            f"{r['search']:+.2f} | {r['line']} |"
        )


if __name__ == "__main__":
    main()

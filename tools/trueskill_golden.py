"""Values of the reference implementation of TrueSkill, for tests/golden/trueskill.json.

    pip install trueskill==0.4.5 && python -m tools.trueskill_golden > tests/golden/trueskill.json

The package is no dependency of anything: its values are in the repository.
"""

from __future__ import annotations

import importlib
import json
import math

COMMAND = "pip install trueskill==0.4.5 && python -m tools.trueskill_golden > tests/golden/trueskill.json"
SIDES = [
    ([(0.0, 25 / 3)], [(0.0, 25 / 3)]),
    ([(30.0, 2.0)], [(10.0, 25 / 3)]),
    ([(-12.5, 0.9)], [(20.0, 1.1)]),
    ([(100.0, 8.0)], [(20.0, 8.0)]),
    ([(5.0, 3.0), (7.0, 4.0)], [(6.0, 2.0), (1.0, 5.0)]),
    ([(5.0, 3.0)], [(1.0, 2.0), (2.0, 2.0), (3.0, 8.0)]),
]


def main() -> None:
    reference = importlib.import_module("trueskill")
    cases = []
    for draw in (0.02, 0.3):
        beta = 9.862 / math.sqrt(2.0)
        env = reference.TrueSkill(mu=0.0, sigma=25 / 3, beta=beta, tau=0.0, draw_probability=draw)
        for first, second in SIDES:
            for outcome, ranks in ((1, [0, 1]), (0, [0, 0]), (-1, [1, 0])):
                groups = [tuple(env.create_rating(*s) for s in side) for side in (first, second)]
                rated = env.rate(groups, ranks=ranks)
                after = [[(r.mu, r.sigma) for r in side] for side in rated]
                cases.append(
                    {"draw": draw, "first": first, "second": second, "outcome": outcome, "after": after}
                )
    print(json.dumps({"command": COMMAND, "cases": cases}, indent=1))


if __name__ == "__main__":
    main()

"""Values of rliable (Agarwal et al. 2021), for tests/golden/rliable.json.

Run it in a separate environment:

    pip install rliable==1.2.0 "pandas<2.3" "numpy<2.3"
    python tools/rliable_golden.py > tests/golden/rliable.json

The package is no dependency of anything: its values are in the repository, with the scores that they are of.
"""

from __future__ import annotations

import importlib
import json

import numpy as np

COMMAND = (
    'pip install rliable==1.2.0 "pandas<2.3" "numpy<2.3" '
    "&& python tools/rliable_golden.py > tests/golden/rliable.json"
)
REPS = 50_000


def main() -> None:
    library, metrics = (importlib.import_module(f"rliable.{name}") for name in ("library", "metrics"))
    rng = np.random.RandomState(7)
    tasks = np.array([0.2, 0.5, 0.55, 0.8, 1.4, 3.0])
    first = np.round(tasks + rng.gamma(2.0, 0.15, (10, 6)) - 0.3, 4)
    second = np.round(tasks + rng.gamma(2.0, 0.15, (7, 6)) - 0.2, 4)
    second[:3, 0] = first[:3, 0]  # draws
    scores = {"first": first, "second": second, "one_task": first[:, 1:2]}
    points, intervals = library.get_interval_estimates(
        scores,
        lambda x: np.array([metrics.aggregate_iqm(x)]),
        reps=REPS,
        random_state=np.random.RandomState(1),
    )
    pairs = {"first,second": (first, second)}
    better, bounds = library.get_interval_estimates(
        pairs, metrics.probability_of_improvement, reps=REPS, random_state=np.random.RandomState(2)
    )
    golden = {
        "command": COMMAND,
        "reps": REPS,
        "scores": {name: array.tolist() for name, array in scores.items()},
        "iqm": {name: float(points[name][0]) for name in scores},
        "interval": {name: intervals[name][:, 0].tolist() for name in scores},
        "improvement": float(better["first,second"]),
        "improvement_interval": np.ravel(bounds["first,second"]).tolist(),
    }
    print(json.dumps(golden))


if __name__ == "__main__":
    main()

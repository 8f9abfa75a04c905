"""Points of a search by Optuna.

The study lives in memory and is made again for every point, from the points and results in the sweep's
directory; so there is no database, and a point depends only on the known results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ludus.flow.process.extras import install_command
from ludus.presets.errors import ConfigError
from ludus.sweep.ranges import Range, Value, rounded

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

#: A point with its result: a number, None while it is not known, or NaN where its runs failed.
Trial = tuple[Mapping[str, Value], float | None]


def check_search(source: str) -> None:
    """Raise ``ConfigError`` where Optuna is not installed."""
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise ConfigError(
            f'{source}: search = "tpe" needs optuna, which is not installed: {install_command("sweep")}'
        ) from None


def ask(space: Mapping[str, Range], tried: Sequence[Trial], seed: int) -> dict[str, Value]:
    """Return the next point by a tree-structured Parzen estimator (Bergstra et al. 2011).

    Higher results are better. The first ten points are random. Points without a result count as bad ones, so
    that processes at work at the same time try different points.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=(seed * 1_000_003 + len(tried)) % 2**32, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    distributions = {path: _distribution(r) for path, r in space.items()}
    states = optuna.trial.TrialState
    for point, result in tried:
        known = result is not None and result == result
        state = states.COMPLETE if known else states.RUNNING if result is None else states.FAIL
        study.add_trial(
            optuna.trial.create_trial(
                state=state,
                params={path: _external(space[path], value) for path, value in point.items()},
                distributions=distributions,
                value=result if known else None,
            )
        )
    trial = study.ask(distributions)
    return {path: _internal(space[path], trial.params[path]) for path in space}


def _distribution(r: Range) -> BaseDistribution:
    from optuna import distributions as d

    if r.kind == "choice":
        return d.CategoricalDistribution(tuple(range(len(r.values))))
    low, high = r.bounds
    if r.kind == "integer":
        return d.IntDistribution(int(low), int(high))
    return d.FloatDistribution(low, high, log=r.kind == "log_uniform")


def _external(r: Range, value: Value) -> Value:
    """Return a value as Optuna represents it: of a choice its index, which may be a list."""
    return r.values.index(value) if r.kind == "choice" else value


def _internal(r: Range, value: Value) -> Value:
    if r.kind == "choice":
        assert isinstance(value, int)
        return r.values[value]
    if r.kind == "integer":
        return value
    assert isinstance(value, float)
    return rounded(value, *r.bounds)

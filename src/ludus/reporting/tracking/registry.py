"""Sinks by name: the table below, and entry points ``ludus.sinks`` of installed packages.

A package declares a class of the protocol :class:`ludus.reporting.sinks.Sink`, which is made without
arguments:

    [project.entry-points."ludus.sinks"]
    my_tracker = "my_package.tracker:MySink"
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from ludus.flow.names import did_you_mean
from ludus.flow.problem import quoted
from ludus.flow.process.extensions import ExtensionError, Extensions
from ludus.flow.process.extras import install_command, pip_install
from ludus.presets.errors import ConfigError
from ludus.reporting.sinks import Sink

TENSORBOARD = "tensorboard"
_METHODS = ("start", "update", "evaluation", "close")


def _checked(value: object) -> type[Sink]:
    """Return ``value`` if it is a class of sinks. Raises ``ValueError``."""
    if not isinstance(value, type):
        raise ValueError(f"is of type {type(value).__name__}, expected a class")
    missing = [name for name in _METHODS if not callable(getattr(value, name, None))]
    if missing:
        raise ValueError(f"has no {missing[0]}(); expected a class that extends ludus.Sink")
    return value


SINKS: Extensions[type[Sink]] = Extensions(
    "ludus.sinks",
    "sink",
    {
        TENSORBOARD: "ludus.reporting.tensorboard:TensorBoardSink",
        "wandb": "ludus.reporting.tracking.wandb_sink:WandbSink",
        "mlflow": "ludus.reporting.tracking.mlflow_sink:MlflowSink",
    },
    _checked,
)


def sink_class(name: str, where: str = "tracking.sinks") -> type[Sink]:
    """Return the class of the sink ``name``, whose package is installed.

    Raises:
        ConfigError: There is no such sink, its package is broken, or it is not installed. ``where``: the
            setting or option at fault.
    """
    try:
        found = SINKS.find(name)
    except ExtensionError as error:
        raise ConfigError(f"{where}: {error}") from error
    if found is None:
        near = did_you_mean(name, SINKS.names(), "sinks")
        raise ConfigError(f"{where} = {quoted(name)}: no such sink{near}")
    package = getattr(found, "package", "")
    if package and not _is_installed(package):
        extra = getattr(found, "extra", "")
        how = install_command(extra) if extra else pip_install(package)
        raise ConfigError(f"{where} = {quoted(name)}: {package} is not installed; {how}")
    return found


def sink_classes(names: Sequence[str]) -> dict[str, type[Sink]]:
    """Return the classes of sinks by name. TensorBoard is left out where it is not installed.

    Raises:
        ConfigError: A sink cannot be used.
    """
    missing = not _is_installed(TENSORBOARD)
    return {name: sink_class(name) for name in names if not (name == TENSORBOARD and missing)}


def _is_installed(package: str) -> bool:
    """Whether a package can be imported; a folder of its name, as W&B makes one, is no package."""
    found = find_spec(package)
    return found is not None and found.origin is not None

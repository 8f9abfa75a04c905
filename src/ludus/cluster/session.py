"""The Ray cluster of a run: a named one, or a local one for this run only."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
from ray.exceptions import AuthenticationError

from ludus.cluster.checks import host_and_port
from ludus.cluster.processes import probe, reaper
from ludus.cluster.processes.actors import first_line
from ludus.cluster.processes.health import HEALTH
from ludus.cluster.processes.private_folder import PrivateFolder
from ludus.flow.process.interrupts import kept_handlers
from ludus.presets.config import ClusterConfig
from ludus.presets.errors import ConfigError

CONNECT_S = 10.0  # until an address without an answer is given up
FOLDER = "ludus-ray-"
SHORT_PARENT = "/tmp"
#: Longest parent of the folder: the path of a socket has 107 bytes, and Ray's part of it 67.
PARENT_BYTES = 107 - 67 - len(f"/{FOLDER}01234567/r")
SHORT_TMPDIR = f"; set RAY_TMPDIR to a folder of yours with a path of at most {PARENT_BYTES} bytes"
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
NOT_LET_IN = (
    "Ray did not let this process in; RAY_AUTH_TOKEN (or ~/.ray/auth_token) must hold the token of the "
    "cluster, RAY_AUTH_MODE=token must be set here and on its machines, and all must have the same version "
    "of Ray"
)


def connect(config: ClusterConfig) -> None:
    """Connect this process to the cluster of ``config``. Raises ``ConfigError``.

    A cluster that was not named is never joined: Ray alone would join any that runs on this machine.
    """
    for name, value in (HEALTH | QUIET).items():
        os.environ.setdefault(name, value)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    setting = f'cluster.address = "{config.address}"'
    where = host_and_port(config.address)
    folder = _own_folder(setting) if where is None else None
    if where is None:
        options["include_dashboard"] = False
    else:
        _check_reachable(where, setting)
    if folder is not None:
        options["_temp_dir"] = str(folder.path / "r")  # Ray lets all users into this one
    before = reaper.descendants(os.getpid())
    # Ray would print a paragraph about every process that dies to the standard output, which may be JSON.
    ray._private.worker._worker_logs_enabled = False
    try:
        with kept_handlers(), _in_root():  # Ray replaces SIGTERM's
            ray.init(address=config.address, **options)
    except BaseException as error:
        if folder is not None:
            folder.remove()
        if isinstance(error, (AuthenticationError, ConnectionError)):
            raise ConfigError(f"{setting}: {NOT_LET_IN}") from error
        if isinstance(error, Exception):  # Ray raises the base class where it starts too slowly
            raise ConfigError(f"{setting}: {first_line(error)}{_advice(error)}") from error
        raise
    if folder is not None:
        _folders.append(folder)
    own = "" if folder is None else str(folder.path)
    if where is None and (started := reaper.start(before, own)) is not None:
        _reapers.append(started)


_reapers: list[subprocess.Popen[bytes]] = []  # of a cluster of this run alone
_folders: list[PrivateFolder] = []  # of its sockets, logs and spilled objects


def _own_folder(setting: str) -> PrivateFolder | None:
    """Return a folder for a local cluster; None if the user chose one (``RAY_TMPDIR``).

    Ray's own choice is one folder of all users below ``TMPDIR``, which may be too long for its sockets.

    Raises:
        ConfigError: It cannot be made.
    """
    if os.environ.get("RAY_TMPDIR"):
        return None
    parent = tempfile.gettempdir()
    if len(os.fsencode(parent)) > PARENT_BYTES:
        parent = SHORT_PARENT
    try:
        return PrivateFolder(parent, FOLDER)
    except OSError as error:
        why = f"no folder for Ray in {parent} ({error.strerror})"
        raise ConfigError(f"{setting}: {why}{SHORT_TMPDIR}") from error


def _advice(error: Exception) -> str:
    """Return what helps against an error of Ray's start; empty if unknown."""
    return SHORT_TMPDIR if "AF_UNIX path" in str(error) else ""


@contextmanager
def _in_root() -> Iterator[None]:
    """Leave the current folder, which Ray puts on the path of every rollout: it may be untrusted.

    Relative folders of ``PYTHONPATH`` stay those that the user meant.
    """
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    given = os.environ.get("PYTHONPATH", "")
    if given:
        os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, given.split(os.pathsep)))
    try:
        os.chdir("/")
        yield
    finally:
        os.fchdir(here)
        os.close(here)
        if given:
            os.environ["PYTHONPATH"] = given


def _check_reachable(where: tuple[str, int], setting: str) -> None:
    """Check that a cluster answers there, and lets this process in. Raises ``ConfigError``."""
    try:
        socket.create_connection(where, timeout=CONNECT_S).close()
    except OSError as error:
        raise ConfigError(error, where=f"{setting}: no Ray cluster answers there") from error
    answer = probe.lets_in(*where)
    if answer == "refused":
        raise ConfigError(f"{setting}: {NOT_LET_IN}")
    if answer == "silent":
        raise ConfigError(f"{setting}: no Ray cluster answers there: something else does")


def disconnect() -> None:
    """Leave the cluster; a local one ends. Idempotent."""
    ray.shutdown()
    while _reapers:
        _reapers.pop().communicate()
    while _folders:
        _folders.pop().remove()


def free_cpus() -> float:
    """Return the number of processors of the cluster that no process has."""
    return float(ray.available_resources().get("CPU", 0))


def free_gpus() -> float:
    """Return the number of GPUs of the cluster that no process has."""
    return float(ray.available_resources().get("GPU", 0))


def all_cpus() -> float:
    """Return the number of processors of the cluster."""
    return float(ray.cluster_resources().get("CPU", 0))


def all_gpus() -> float:
    """Return the number of GPUs of the cluster."""
    return float(ray.cluster_resources().get("GPU", 0))


def store_bytes() -> int:
    """Return the size of this machine's object store."""
    here = ray.get_runtime_context().get_node_id()
    (node,) = (n for n in ray.nodes() if n["NodeID"] == here)
    return int(node["Resources"].get("object_store_memory", 0))

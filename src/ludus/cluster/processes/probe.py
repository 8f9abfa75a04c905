"""A process that asks whether a Ray cluster lets this machine in.

``ray.init`` tries twenty times: for twenty seconds with a wrong token, for ten minutes where something else
answers. A client without a token where one is needed ends its process. So another process asks once.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Literal

from ludus.cluster.processes.own_process import command_of

ANSWER_S = 30.0  # until a cluster that does not answer is given up
REFUSED, SILENT = 3, 4  # exit codes

Answer = Literal["yes", "refused", "silent"]


def lets_in(host: str, port: int) -> Answer:
    """Return whether a cluster lets this process in, refuses it, or nothing answers in Ray's language."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    command = command_of("ludus.cluster.processes.probe", address)
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=ANSWER_S)
    except subprocess.TimeoutExpired:
        return "silent"
    if done.returncode == 0:
        return "yes"
    return "silent" if done.returncode == SILENT else "refused"  # or ended by the missing token


def main() -> None:
    """Ask the cluster of the command line, and exit with the answer."""
    from ray._raylet import GcsClient  # type: ignore[attr-defined]
    from ray.exceptions import AuthenticationError, RayError

    try:
        GcsClient(address=sys.argv[1])
    except AuthenticationError:
        sys.exit(REFUSED)
    except RayError:
        sys.exit(SILENT)

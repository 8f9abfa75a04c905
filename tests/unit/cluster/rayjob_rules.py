"""Rules of Kubernetes and Ray that no schema of a RayJob sees."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_UNITS = {"": 1, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_UNITS |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def amount(text: str | int | float) -> float:
    """Return a quantity of Kubernetes as a number. Raises ``ValueError``."""
    found = re.fullmatch(r"([0-9.]+)([a-zA-Z]*)", str(text))
    if found is None or found[2] not in _UNITS:
        raise ValueError(f"{text}: not a quantity")
    return float(found[1]) * _UNITS[found[2]]


def broken_rules(rayjob: dict[str, Any]) -> list[str]:
    """Return what is wrong with a RayJob that fits its schema."""
    cluster = rayjob["spec"]["rayClusterSpec"]
    groups = {"head": cluster["headGroupSpec"]}
    groups |= {group["groupName"]: group for group in cluster["workerGroupSpecs"]}
    return [f"{name}: {text}" for name, group in groups.items() for text in _group(group)]


def _group(group: dict[str, Any]) -> Iterator[str]:
    if "resources" in (params := group["rayStartParams"]):
        try:
            found = json.loads(json.loads(params["resources"]))
            if not isinstance(found, dict) or not all(isinstance(n, (int, float)) for n in found.values()):
                yield "rayStartParams.resources: not a table of numbers"
        except (ValueError, TypeError):
            yield "rayStartParams.resources: not a JSON text of a JSON text"
    if not group.get("minReplicas", 0) <= group.get("replicas", 0) <= group.get("maxReplicas", 0):
        yield "replicas: not between minReplicas and maxReplicas"
    pod = group["template"]["spec"]
    volumes = {volume["name"] for volume in pod.get("volumes", ())}
    for container in pod["containers"]:
        for mount in container.get("volumeMounts", ()):
            if mount["name"] not in volumes:
                yield f"{mount['name']}: mounted, no such volume"
        limits = container["resources"]["limits"]
        for name, asked in container["resources"]["requests"].items():
            if name in limits and amount(asked) > amount(limits[name]):
                yield f"{name}: {asked} requested, limit {limits[name]}"
        if int(params["num-cpus"]) > amount(limits["cpu"]):
            yield "num-cpus: more than the limit"

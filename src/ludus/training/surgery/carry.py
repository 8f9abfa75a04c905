"""Arrays of a checkpoint carried over: of learners, of matches and data in flight, of a frozen learner."""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

from ludus.algorithms.learner import REPLAY_BUFFER, TARGET
from ludus.rollouts.exchange import TIME_STEP
from ludus.surgery.plan import SurgeryError
from ludus.training.actor_learner.checkpoint import MAX_TIME_STEP
from ludus.training.surgery.conversion import Arrays, Conversion

NETWORKS = ("network.", f"{TARGET}.")
FIRST, SECOND, MOMENTUM = "adam.first.", "adam.second.", "momentum."
OWN_ROWS, TEACHER_ROWS = "row_memory.memory", "teacher.memory"  # memory that a learner keeps of rows
_KINDS = (*NETWORKS, FIRST, SECOND, MOMENTUM, REPLAY_BUFFER)
#: Memory of rows in a rollout's arrays, with the policy id, perhaps behind the name of a pool or sampler, and
#: of its rules.
_MEMORY = re.compile(
    r"(?:(?:pool|sampler)[0-9]+\.)?(?:(?:now|before)\.)?(?:collector|slab[0-9]*)\.memory\.([0-9]+)"
)
_COPY = re.compile(r"(copy[0-9]+\.).+")


def learner_arrays(arrays: Arrays, conversion: Conversion, *, ring: bool, rows: bool) -> Arrays:
    """Return the arrays of a learner.

    Args:
        arrays: Those of the old one.
        conversion: From its network to the new one.
        ring: Whether a replay buffer is kept; else it starts empty.
        rows: Whether memory of rows is kept; without it rows start without memory.

    Raises:
        SurgeryError: An array that surgery does not know.
    """
    kinds: dict[str, Arrays] = {kind: {} for kind in _KINDS}
    out: Arrays = {}
    for name, array in arrays.items():
        kind = next((k for k in _KINDS if name.startswith(k)), "")
        if kind:
            kinds[kind][name.removeprefix(kind)] = array
        elif name == OWN_ROWS:
            out |= {name: conversion.memory(array)} if rows else {}
        elif name == TEACHER_ROWS:
            out |= {name: array} if rows else {}
        else:
            raise SurgeryError("optimizer.safetensors", name, f"arrays called {', '.join(_KINDS)}...")
    for kind in NETWORKS:
        out |= _named(kind, conversion.tensors(kinds[kind]) if kinds[kind] else {})
    first, second = conversion.moments(kinds[FIRST], kinds[SECOND]) if kinds[FIRST] else ({}, {})
    momentum = conversion.moments(kinds[MOMENTUM], {})[0] if kinds[MOMENTUM] else {}
    out |= _named(FIRST, first) | _named(SECOND, second) | _named(MOMENTUM, momentum)
    if kinds[REPLAY_BUFFER]:
        out |= _named(REPLAY_BUFFER, kinds[REPLAY_BUFFER] if ring else _empty_ring())
    return out


def rollout_arrays(arrays: Arrays, conversion: Conversion, *, others: Collection[int]) -> Arrays:
    """Return matches and data in flight, with the memory of rows carried over.

    Args:
        arrays: Those of a checkpoint; of a league those of one member, without its name.
        conversion: From the old network to the new one.
        others: Policy ids of networks that surgery does not change, such as a teacher's.

    Raises:
        SurgeryError: A copy of the weights that is not of the old network.
    """
    out: Arrays = {}
    copies: dict[str, Arrays] = {}
    for name, array in arrays.items():
        memory, copy = _MEMORY.fullmatch(name), _COPY.fullmatch(name)
        if memory is not None and int(memory[1]) not in others:
            out[name] = conversion.memory(array)
        elif copy is not None:
            copies.setdefault(copy[1], {})[name.removeprefix(copy[1])] = array
        else:
            out[name] = array
    for prefix, tensors in copies.items():
        out |= _named(prefix, conversion.tensors(tensors))
    return out


def time_step_alone(arrays: Arrays) -> Arrays:
    """Return what a rollout keeps whose matches start again: the number of time steps, so draws continue."""
    counts = [a for n, a in arrays.items() if n.endswith(TIME_STEP) and a.dtype == np.int64]
    newest = max((int(a.max(initial=0)) for a in counts), default=0)
    return {TIME_STEP: np.array([min(max(newest, 0), MAX_TIME_STEP - 1)], np.int64)}


def split(arrays: Arrays, members: Collection[str]) -> dict[str, Arrays]:
    """Return the arrays of each member of a league by its name; of any other run all of them by "".

    Raises:
        SurgeryError: An array of no member.
    """
    if not members:
        return {"": arrays}
    parts: dict[str, Arrays] = {name: {} for name in members}
    for name, array in arrays.items():
        member, slash, rest = name.partition("/")
        if not slash or member not in parts:
            raise SurgeryError("checkpoint", name, "an array of a member", valid=[*parts], name=member)
        parts[member][rest] = array
    return parts


def joined(parts: dict[str, Arrays]) -> Arrays:
    """Return what :func:`split` took apart."""
    return {f"{m}/{n}" if m else n: a for m, arrays in parts.items() for n, a in arrays.items()}


def _named(prefix: str, arrays: Arrays) -> Arrays:
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def _empty_ring() -> Arrays:
    return {"highest": np.array(1.0, np.float32), "added": np.array(0, np.int64)}

"""Bots written in Python, for any game: what the seat sees by name in, the name of a choice out.

The slow path: some ten thousand decisions a second, where bots in the core make millions. A bot is a class

    class Pikes:
        def decide(self, scene):
            if scene.count("own", "pikeman") >= 5 and "attack" in scene.legal():
                return "attack"
            return "build_pikeman" if "build_pikeman" in scene.legal() else "wait"

of which every match gets a separate object, so that it may remember things.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, TensorSpec
from ludus.flow.inputs.regular import why_unusable
from ludus.flow.masks import legal_choices
from ludus.flow.names import did_you_mean
from ludus.flow.slab import Array
from ludus.games.names import UntypedBot, admit_bot
from ludus.rollouts.actor import ActInput, Decision

#: Answer of a bot: the label of a choice (or its number) where the game has one head, or one a head.
Answer = str | int | Mapping[str, str | int]


class BotError(ValueError):
    """A bot that cannot be loaded, or an answer that is no choice. Lists the alternatives."""


class Entity(NamedTuple):
    """One row of an entity tensor. ``values``: every column by its label, scaled by the spec."""

    values: dict[str, float]

    def __getitem__(self, label: str) -> float:  # type: ignore[override]
        """Return the column ``label``."""
        return self.values[label]

    def has(self, label: str) -> bool:
        """Whether a column is not 0: ``unit.has("own")``, ``unit.has("pikeman")``."""
        return self.values[label] != 0


class Scene:
    """View of one seat before one decision, by the names of the game's spec.

    ``numbers``: every element of the vectors with labels, ``numbers["money_500"]``. ``entities``: rows of the
    tensor ``units`` or another one with two axes. Both are made when they are first asked for.
    """

    def __init__(self, spec: GameSpec, obs: Mapping[str, Array], mask: Array) -> None:
        """Name the elements of ``obs`` and ``mask`` of one row by ``spec``."""
        self.spec, self.obs, self.mask = spec, obs, mask
        self._entities: dict[str, list[Entity]] = {}

    @cached_property
    def numbers(self) -> dict[str, float]:
        """Elements of all one-dimensional tensors, by label."""
        out: dict[str, float] = {}
        for t in self.spec.observation:
            if len(t.shape) == 1 and t.labels and t.dtype != "bits":
                out.update(zip(t.labels, (float(v) * t.scale for v in self.obs[t.name]), strict=True))
        return out

    def entities(self, tensor: str = "units") -> list[Entity]:
        """Return the rows of a tensor ``[U, F]``, without rows of zeros."""
        if tensor not in self._entities:
            t = self._tensor(tensor)
            rows = np.asarray(self.obs[tensor])
            self._entities[tensor] = [
                Entity(dict(zip(t.labels, (float(v) * t.scale for v in row), strict=True)))
                for row in rows[rows.any(axis=1)]
            ]
        return self._entities[tensor]

    def count(self, *labels: str, tensor: str = "units") -> int:
        """Rows with all of these columns set: ``scene.count("own", "pikeman")``."""
        return sum(all(e.has(label) for label in labels) for e in self.entities(tensor))

    def legal(self, head: str = "", **chosen: int | str) -> list[str]:
        """Return the labels of the choices that the mask allows, of the only head or of ``head``.

        ``chosen``: choices of the heads on which it depends, by name, 0 by default.
        """
        actions = np.zeros((1, len(self.spec.heads)), np.int32)
        for k, h in enumerate(self.spec.heads):
            if not head or h.name == head:
                allowed = np.flatnonzero(legal_choices(self.spec, self.mask[None], k, actions)[0])
                return [h.labels[i] if h.labels else str(i) for i in allowed]
            choice = chosen.get(h.name, 0)
            actions[0, k] = h.labels.index(choice) if choice in h.labels else int(choice)
        raise BotError(
            f"{self.spec.name} has no head {head!r}; there are {', '.join(h.name for h in self.spec.heads)}"
        )

    def _tensor(self, name: str) -> TensorSpec:
        for t in self.spec.observation:
            if t.name == name and len(t.shape) == 2 and t.labels and t.codec == "identity":
                return t
        rows = [t.name for t in self.spec.observation if len(t.shape) == 2 and t.codec == "identity"]
        raise BotError(
            f"{self.spec.name} has no entity tensor {name!r}; there are {', '.join(rows) or 'none'}"
        )


class PythonBot(Protocol):
    """Decides for one seat of one match."""

    def decide(self, scene: Scene) -> Answer:
        """Choose an action."""
        ...


class ScriptedActor:
    """Bots as an actor: one object of ``make`` for each row, built again for every match."""

    def __init__(self, make: Callable[[], PythonBot], spec: GameSpec) -> None:
        """Start without matches."""
        self.make, self.spec = make, spec
        self.version = 0
        self.memory_shape: tuple[int, ...] | None = None
        self._bots: dict[int, PythonBot] = {}

    def act(self, batch: ActInput) -> Decision:
        """See :meth:`ludus.rollouts.actor.Actor.act`."""
        actions = np.zeros((len(batch.rows), len(self.spec.heads)), np.int32)
        for i, row in enumerate(batch.rows.tolist()):
            if batch.is_first[i] or row not in self._bots:
                self._bots[row] = self.make()
            scene = Scene(self.spec, {name: array[i] for name, array in batch.obs.items()}, batch.mask[i])
            try:
                answer = self._bots[row].decide(scene)
            except BotError:
                raise
            except Exception as error:
                raise BotError(
                    f"the bot's decide failed{_where(error)}: {type(error).__name__}: {error}"
                ) from error
            actions[i] = self._choices(answer)
        zeros = np.zeros(len(batch.rows), np.float32)
        return Decision(actions, zeros, zeros.copy(), None)

    def value(
        self, obs: Mapping[str, Array], memory: Array | None, is_first: Array
    ) -> npt.NDArray[np.float32]:
        """Return zeros: a script estimates no value."""
        return np.zeros(len(is_first), np.float32)

    def _choices(self, answer: Answer) -> list[int]:
        heads = self.spec.heads
        if not isinstance(answer, Mapping):
            if len(heads) != 1:
                raise BotError(
                    f"a decision of {self.spec.name} has the heads {', '.join(h.name for h in heads)}"
                )
            answer = {heads[0].name: answer}
        out = []
        for h in heads:
            choice = answer.get(h.name, 0)
            if isinstance(choice, str) and choice in h.labels:
                choice = h.labels.index(choice)
            if not isinstance(choice, int) or not 0 <= choice < h.size:
                known = h.labels or [f"0 to {h.size - 1}"]
                hint = did_you_mean(str(choice), known, "choices", 0.4)
                raise BotError(f"the bot's answer {choice!r} is no choice of {h.name}{hint}")
            out.append(choice)
        return out


def _where(error: Exception) -> str:
    """`` at FILE:LINE`` of the bot's own code."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
    return f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def load_bot(text: str) -> Callable[[], PythonBot]:
    """Return the class that ``my_bot.py:Pikes`` names, or the only one with ``decide``. This runs the file.

    Raises :class:`BotError`, also for a name that the user did not give (:mod:`ludus.games.names`).
    """
    try:
        admit_bot(text)
    except UntypedBot as error:
        raise BotError(str(error)) from None
    file, _, wanted = (text, "", "") if text.endswith(".py") else text.rpartition(":")
    path = Path(file)
    if why := why_unusable(path):
        raise BotError(f"{file}: {why}; expected a Python file with a bot")
    name = f"ludus_bot_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BotError(f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BotError(f"{file}: {type(error).__name__}: {error}") from error
    found = {
        n: c
        for n, c in vars(module).items()
        if isinstance(c, type) and c.__module__ == name and callable(getattr(c, "decide", None))
    }
    if wanted and wanted in found:
        return found[wanted]
    if wanted or len(found) != 1:
        there = ", ".join(found) or "none"
        what = f"no class {wanted} with decide(self, scene)" if wanted else "expected one class with decide"
        raise BotError(f"{file}: {what}; there are: {there}. Name one as {file}:CLASS")
    return next(iter(found.values()))

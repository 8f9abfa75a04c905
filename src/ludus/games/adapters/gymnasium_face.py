"""An environment's own spaces as rows of a policy, also in batches of Gymnasium's vector environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ludus.flow.slab import Array
from ludus.flow.spec import TensorSpec
from ludus.games.adapters.gymnasium import GymnasiumMaker
from ludus.games.adapters.spaces import at, leaves
from ludus.games.python_game import Ints


class GymnasiumFace:
    """Observations and actions in the spaces of ``maker``'s environment."""

    def __init__(self, maker: GymnasiumMaker) -> None:
        self._observation, self._actions = maker.observation, maker.actions
        self._space, self._tensors = maker.observation_space, maker.spec.observation
        self._name = maker.spec.name

    def rows(self, observation: Any, needed: Sequence[TensorSpec]) -> tuple[dict[str, Array], int | None]:
        """See :class:`ludus.games.exports.values.Face`."""
        from gymnasium.vector.utils import batch_space, iterate

        path, leaf = leaves(self._space)[0]
        try:
            shape = np.shape(at(observation, path))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ValueError(f"{self._name}: no member of {self._space} ({error!r})") from None
        expected = tuple(leaf.shape or ())
        count = None if shape == expected else shape[0] if shape[1:] == expected and shape[0] else 0
        if count == 0:
            raise ValueError(
                f"{self._name}: observation of shape {shape}, expected {expected}, or a batch of those"
            )
        if count is None:
            members = iter([observation])
        else:
            members = iterate(batch_space(self._space, count), observation)
        rows = count or 1
        out: dict[str, Array] = {
            t.name: np.zeros((rows, *t.packed_shape), t.packed_dtype) for t in self._tensors
        }
        for row, member in zip(range(rows), members, strict=True):
            self._observation.write(member, {name: array[row] for name, array in out.items()})
        return {t.name: out[t.name] for t in needed}, count

    def actions(self, decisions: Ints, count: int | None) -> Any:
        """See :class:`ludus.games.exports.values.Face`."""
        if count is None:
            return self._actions.decode(decisions[0])
        from gymnasium.vector.utils import concatenate, create_empty_array

        space = self._actions.space
        members = [self._actions.decode(decision) for decision in decisions]
        batch: Any = create_empty_array(space, count)
        return concatenate(space, members, batch)

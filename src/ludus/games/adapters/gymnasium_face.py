"""An environment's own spaces as rows of a policy, also in batches of Gymnasium's vector environments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ludus.flow.slab import Array
from ludus.flow.spec import TensorSpec
from ludus.games.adapters.gymnasium import GymnasiumMaker
from ludus.games.adapters.masks import StepMask, masks_in
from ludus.games.adapters.spaces import at
from ludus.games.exports.values import mask_rows
from ludus.games.python_game import Bytes, Ints


class GymnasiumFace:
    """Observations and actions in the spaces of ``maker``'s environment."""

    def __init__(self, maker: GymnasiumMaker) -> None:
        """Use the conversions that ``maker`` has for its environment."""
        self._observation, self._actions, self._masks = maker.observation, maker.actions, maker.masks
        self._space, self._spec = maker.observation.space, maker.spec

    def rows(self, observation: Any, needed: Sequence[TensorSpec]) -> tuple[dict[str, Array], int | None]:
        """Return ``packed[N, ...]`` of each tensor: see :class:`ludus.games.exports.values.Face`."""
        path, leaf = self._observation.leaves[0]
        try:
            shape = np.shape(at(observation, path))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ValueError(f"{self._spec.name}: no member of {self._space} ({error!r})") from None
        expected = tuple(leaf.shape or ())
        count = None if shape == expected else shape[0] if shape[1:] == expected and shape[0] else 0
        if count == 0:
            raise ValueError(
                f"{self._spec.name}: observation of shape {shape}, expected {expected}, or a batch of those"
            )
        rows = count or 1
        out: dict[str, Array] = {
            t.name: np.zeros((rows, *t.packed_shape), t.packed_dtype) for t in self._spec.observation
        }
        for row, member in zip(range(rows), self._members(observation, count), strict=True):
            try:
                self._observation.write(member, {name: array[row] for name, array in out.items()})
                self._observation.check_finite(member)
            except ValueError as error:
                raise ValueError(f"row {row}: {error}" if count is not None else str(error)) from None
        return {t.name: out[t.name] for t in needed}, count

    def _members(self, observation: Any, count: int | None) -> Iterator[Any]:
        from gymnasium.vector.utils import batch_space, iterate

        if count is None:
            return iter([observation])
        return iter(iterate(batch_space(self._space, count), observation))

    def legal(self, observation: Any, mask: Any, count: int | None) -> Bytes:
        """Return ``uint8[N, A]``: see :class:`ludus.games.exports.values.Face`.

        Without ``mask``, the mask of the observation counts.
        """
        if mask is not None and count is not None:
            return mask_rows(self._spec, mask, count)
        out = np.ones((count or 1, self._spec.mask_size), np.uint8)
        for row, member in zip(out, self._members(observation, count), strict=True):
            self._masks.write(masks_in(member, None) if mask is None else (StepMask(mask, "mask"),), row)
        return out

    def actions(self, decisions: Ints, count: int | None) -> Any:
        """Return members of the action space: see :class:`ludus.games.exports.values.Face`."""
        if count is None:
            return self._actions.decode(decisions[0])
        from gymnasium.vector.utils import concatenate, create_empty_array

        space = self._actions.space
        members = [self._actions.decode(decision) for decision in decisions]
        batch: Any = create_empty_array(space, count)
        return concatenate(space, members, batch)

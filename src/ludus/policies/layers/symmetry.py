"""Rotations and reflections of boards by the symmetry of a game's spec (``GameSpec.symmetry``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.flow import GameSpec


@dataclass(frozen=True, slots=True)
class RowTurns:
    """A transformation for each of N rows.

    Attributes:
        cell: ``int64[N, H * W]``, the cell that comes to each place.
        choice: ``int64[N, A]``, the same of choices.
    """

    cell: Tensor
    choice: Tensor

    def planes(self, planes: Tensor) -> Tensor:
        """Return planes ``[N, C, H, W]``, each row under its own transformation."""
        index = self.cell[:, None, :].expand(-1, planes.shape[1], -1)
        return planes.flatten(2).gather(2, index).view(planes.shape)

    def cells(self, cells: Tensor) -> Tensor:
        """Return numbers per cell, row by row, ``[N, H * W]``."""
        return cells.gather(1, self.cell)

    def policy(self, policy: Tensor) -> Tensor:
        """Return numbers per choice, ``[N, A]``."""
        return policy.gather(1, self.choice)


@dataclass(frozen=True, slots=True)
class _Tables:
    """The transformations on a device."""

    sources: Tensor  # int64[count, H * W + A]: where each cell and each choice comes from
    choice: Tensor  # int64[count, A]: what each choice becomes


class Symmetries:
    """Transformations of a board; number 0 is the identity.

    Transformation k mirrors left to right if ``k & 1``, upside down if ``k & 2``, then swaps rows and columns
    if ``k & 4``.

    Attributes:
        count: Number of transformations.
    """

    def __init__(self, spec: GameSpec) -> None:
        """Derive the transformations from a game's spec. Raise ``ValueError`` for boards of several sizes."""
        self.count = {"none": 1, "mirror": 2, "dihedral": 8}[spec.symmetry]
        boards = {(t.shape[1], t.shape[2]) for t in spec.observation if len(t.shape) == 3}
        if self.count > 1 and len(boards) != 1:
            raise ValueError(f"{spec.name}: symmetry {spec.symmetry!r} of boards of {len(boards)} sizes")
        self.board = next(iter(boards), (0, 0))
        choices = spec.heads[0].size
        #: [count, A]: what choice i becomes
        self.choice: npt.NDArray[np.int64] = np.tile(np.arange(choices), (self.count, 1))
        self._tables: dict[torch.device, _Tables] = {}
        if self.count == 1:
            return
        height, width = self.board
        cells = np.arange(height * width).reshape(height, width)
        for k in range(1, self.count):
            if choices == width and choices < height * width:
                self.choice[k] = np.arange(width)[::-1]
                continue
            # the cell at position p after the transformation came from `source[p]`
            source = _numpy_turn(cells, k).reshape(-1)
            self.choice[k, source] = np.arange(height * width)

    def planes(self, planes: Tensor, k: int) -> Tensor:
        """Return planes ``[N, C, H, W]`` under transformation ``k``."""
        if k & 1:
            planes = planes.flip(3)
        if k & 2:
            planes = planes.flip(2)
        return planes.transpose(2, 3) if k & 4 else planes

    def cells(self, cells: Tensor, k: int) -> Tensor:
        """Return numbers per cell, row by row, ``[N, H * W]``, under transformation ``k``."""
        if k == 0:
            return cells
        height, width = self.board
        return self.planes(cells.reshape(-1, 1, height, width), k).reshape(len(cells), -1)

    def to_turned(self, policy: Tensor, k: int) -> Tensor:
        """Return a policy ``[N, A]`` under transformation ``k`` of the board."""
        if k == 0:
            return policy
        out = torch.empty_like(policy)
        return out.index_copy_(1, self._on(policy.device).choice[k], policy)

    def from_turned(self, policy: Tensor, k: int) -> Tensor:
        """Invert :meth:`to_turned`."""
        return policy if k == 0 else policy.index_select(1, self._on(policy.device).choice[k])

    def each(self, turns: Tensor) -> RowTurns:
        """Return one transformation for each row, ``int64[N]`` on the device of the rows."""
        sources = self._on(turns.device).sources[turns]
        height, width = self.board
        cell, choice = torch.split(sources, [height * width, self.choice.shape[1]], dim=1)
        return RowTurns(cell, choice)

    def turned_back(self, policy: Tensor, turns: Tensor) -> Tensor:
        """Return a policy ``[N, A]`` before the transformations ``turns: int64[N]`` of its rows.

        It inverts :meth:`RowTurns.policy`.
        """
        return policy.gather(1, self._on(policy.device).choice[turns])

    def _table(self) -> Tensor:
        height, width = self.board
        cells = np.arange(height * width).reshape(height, width)
        rows = [
            np.concatenate([_numpy_turn(cells, k).reshape(-1), np.argsort(self.choice[k])])
            for k in range(self.count)
        ]
        return torch.from_numpy(np.stack(rows))

    def _on(self, device: torch.device) -> _Tables:
        """Return the tables on a device, where they stay: graphs keep their addresses."""
        tables = self._tables.get(device)
        if tables is None:
            with torch.inference_mode(False):  # the first caller's mode must not bind later ones
                made = _Tables(self._table().to(device), torch.from_numpy(self.choice).to(device))
            tables = self._tables.setdefault(device, made)
        return tables


def _numpy_turn(cells: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.int64]:
    if k & 1:
        cells = cells[:, ::-1]
    if k & 2:
        cells = cells[::-1]
    return cells.T if k & 4 else cells

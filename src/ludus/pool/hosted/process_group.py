"""A group of match slots as the parent process of a Python game's pool sees it."""

from __future__ import annotations

import select

import numpy as np

from ludus.flow import Slab
from ludus.pool.hosted.shared import Doorbell


class SlotGroup:
    """Slots that are received and sent together, with their time step and their doorbell."""

    def __init__(self, number: int, slots: range, seats: int) -> None:
        """Make a group without a slab; ``seats`` is the number of rows of a slot."""
        self.number, self.slots = number, slots
        self.span = slice(slots.start, slots.stop)
        self.rows = slice(slots.start * seats, slots.stop * seats)
        self.all_rows = np.arange(self.rows.start, self.rows.stop, dtype=np.int32)
        self.slab: Slab | None = None
        self.t = -1
        self.playing = False
        self.received = False  # results of the last step were returned
        self.doorbell = Doorbell()
        self.poll: select.poll | None = None  # of its doorbell and every worker's channel
        self.sent = 0  # number of the last command
        self.orders_changed = False  # since its last send

    def move_to(self, slab: Slab) -> None:
        """Copy the current time step to t = 0 of ``slab``, which gets all later time steps."""
        before = self.slab
        assert before is not None
        if before is not slab or self.t != 0:
            for name, array in before.obs.items():
                slab.obs[name][0, self.rows] = array[self.t, self.rows]
            for name in ("mask", "active", "is_first", "policy"):
                getattr(slab, name)[0, self.rows] = getattr(before, name)[self.t, self.rows]
        self.slab, self.t = slab, 0

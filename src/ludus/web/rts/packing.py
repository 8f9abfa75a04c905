"""Data of a match on a map for the page: tracks, events, and the orders that decisions led to."""

from __future__ import annotations

from ludus.web.rts.tracks import RtsTracks


class MapPacking:
    """See :class:`ludus.web.renderers.ViewPacker`."""

    def __init__(self) -> None:
        """Start with no document."""
        self._tracks = RtsTracks()

    def see(self, document: bytes | str) -> None:
        """Take the next view document. Raises ``ViewError``."""
        self._tracks.see(document)

    def header(self) -> dict[str, object]:
        """Return the header of the tracks, and the events."""
        events = [[e.tick, e.kind, e.seat, e.unit, e.text] for e in self._tracks.events.events]
        return {"tracks": self._tracks.header(), "events": events}

    def data(self) -> bytes:
        """Return the columns of the tracks."""
        return self._tracks.data()

    def effect(self, seat: int, tick: int) -> str:
        """Return the orders that a seat's decision at a tick led to."""
        return self._tracks.orders.text(seat, tick)

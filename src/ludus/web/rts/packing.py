"""What the page needs of a match on a map: tracks, events, and the orders that came of decisions."""

from __future__ import annotations

from ludus.web.rts.tracks import RtsTracks


class MapPacking:
    """See :class:`ludus.web.renderers.Packing`."""

    def __init__(self) -> None:
        self._tracks = RtsTracks()

    def see(self, document: bytes | str) -> None:
        self._tracks.see(document)

    def header(self) -> dict[str, object]:
        events = [[e.tick, e.kind, e.seat, e.unit, e.text] for e in self._tracks.events.events]
        return {"tracks": self._tracks.header(), "events": events}

    def data(self) -> bytes:
        return self._tracks.data()

    def effect(self, seat: int, tick: int) -> str:
        return self._tracks.orders.text(seat, tick)

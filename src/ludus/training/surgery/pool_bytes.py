"""Bytes of a snapshot of a compiled game's pool, taken apart and put together (``cpp/pool/snapshot.hpp``).

Only for bytes that this user's key signed: states of games are memory of the core.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ludus.flow.slab import Array
from ludus.surgery.plan import SurgeryError

Records = npt.NDArray[np.void]

MAGIC = b"LUDUSPOL"
_WITH_SPIRIT = 3  # format; format 2 ends with orders
_FORMATS = 2, _WITH_SPIRIT
_SEATS = 16
#: ``MatchControl`` of the core: the pool's own state of a slot's match.
CONTROL = np.dtype(
    {
        "names": [
            *("match", "next", "phase", "recording", "tick", "next_due", "decisions"),
            *("due_seats", "active_seats", "decided_seats", "first_decision", "policy_seats"),
            *("policy", "bot", "handover", "earned", "returns"),
        ],
        "formats": [
            *("<u8", "<u8", "u1", "u1", "<u4", "<u4", "<u4"),
            *("<u4", "<u4", "<u4", "<u4", "<u4"),
            *(("<i2", _SEATS), ("<i2", _SEATS), ("<u4", _SEATS), ("<f4", _SEATS), ("<f8", _SEATS)),
        ],
        "offsets": [0, 8, 16, 18, 20, 24, 28, 32, 36, 40, 44, 48, 52, 84, 116, 180, 248],
        "itemsize": 376,
    }
)
START, SURFACED = 0, 1  # phases of a slot: its next match is due; its match waits for decisions


@dataclass(frozen=True)
class PoolBytes:
    """A snapshot in parts.

    ``text``: everything that must fit the pool that restores it, a line each. ``settings``: weights of the
    mixtures and :class:`ludus.flow.Terms`. ``orders``: ``int32[slots, plans]`` and ``tags``:
    ``uint64[slots]`` stand. ``slots``: a record ``control``, ``state``, ``tag`` of each slot.
    """

    format: int
    text: bytes
    settings: bytes
    orders: Array
    tags: Array
    slots: Records

    def line(self, name: str) -> str:
        """Return the value of a line of the text; "" without one."""
        return _line(self.text, name)


def take_apart(data: bytes, controllers: Sequence[int]) -> PoolBytes:
    """Return the parts of a snapshot.

    Args:
        data: Of a pool of a compiled game.
        controllers: Number of controllers of each plan of the pool.

    Raises:
        SurgeryError: Bytes of another layout, or with recordings of matches.
    """
    try:
        (form,) = struct.unpack_from("<I", data, len(MAGIC))
        (size,) = struct.unpack_from("<Q", data, 16)
        text = data[24 : 24 + size]
        slots, state = int(_line(text, "matches")), int(_line(text, "state_bytes"))
        control = int(_line(text, "control_bytes"))
    except (ValueError, struct.error):
        raise _odd("no header") from None
    if form not in _FORMATS or control != CONTROL.itemsize:
        raise _odd(f"format {form} with {control} bytes of control")
    plans, at = len(controllers), 24 + size
    end = at + 8 * sum(controllers) + 4 * plans + 8 * (form >= _WITH_SPIRIT)
    record = np.dtype([("control", CONTROL), ("state", f"V{state}"), ("tag", "<u8")])
    sizes = (4 * slots * plans, 8 * slots, record.itemsize * slots)
    if len(data) != end + sum(sizes) + 8:
        raise _odd(f"{len(data)} bytes; matches that are recorded do not move")
    return PoolBytes(
        form,
        text,
        data[at:end],
        np.frombuffer(data, "<i4", slots * plans, end).reshape(slots, plans),
        np.frombuffer(data, "<u8", slots, end + sizes[0]),
        np.frombuffer(data, record, slots, end + sizes[0] + sizes[1]),
    )


def put_together(parts: PoolBytes) -> bytes:
    """Return the snapshot of parts, with its checksum."""
    head = struct.pack("<8sIIQ", MAGIC, parts.format, 0, len(parts.text))
    arrays = (parts.orders.tobytes(), parts.tags.tobytes(), parts.slots.tobytes())
    whole = b"".join((head, parts.text, parts.settings, *arrays))
    return whole + struct.pack("<Q", _checksum(whole))


def _line(text: bytes, name: str) -> str:
    start = f"{name}=".encode()
    return next((x[len(start) :].decode() for x in text.split(b"\n") if x.startswith(start)), "")


def _odd(found: str) -> SurgeryError:
    return SurgeryError("checkpoint.pool", found, "a snapshot of a pool of this build")


def _checksum(data: bytes) -> int:
    """Return the core's ``Hash64`` of bytes."""
    mask, step = (1 << 64) - 1, 0x2545F4914F6CDD1D
    gamma, one, two = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
    padded = data + bytes(-len(data) % 8)
    # Each word with the constant that is added to it, modulo 2^64.
    words = (np.frombuffer(padded, "<u8") + np.uint64(gamma)).tolist()
    state = 0x6C756475735F6831
    for word in ((len(data) + gamma) & mask, *words):
        z = state ^ word
        z = ((z ^ (z >> 30)) * one) & mask
        z = ((z ^ (z >> 27)) * two) & mask
        state = ((z ^ (z >> 31)) + step) & mask
    z = ((state ^ (state >> 30)) * one) & mask
    z = ((z ^ (z >> 27)) * two) & mask
    return z ^ (z >> 31)

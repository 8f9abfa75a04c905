"""Small scenarios of ViZDoom: a configuration and a map, made by tests."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

CONFIG = """\
# a comment
doom_scenario_path = small.wad
doom_map = map01
episode_timeout = 300
livingReward = -0.5
available_buttons =
    {
        ATTACK
        # MOVE_LEFT
        move_right
    }
available_game_variables = { HEALTH AMMO2 HEALTH }
mode = PLAYER
doom_skill = 2
window_visible = False
screen_resolution = RES_320X240
game_args += +sv_noautoaim 1
"""


def wad(
    types: Sequence[int] = (1,), name: str = "MAP01", *, form: str = "doom", kind: bytes = b"PWAD"
) -> bytes:
    """Return a file with one map that has things of ``types``; ``form``: doom, hexen or text."""
    if form == "text":
        text = "".join(f"thing {{ x = 0.0; type = {t}; }}\n" for t in types)
        lumps = [(name, b""), ("TEXTMAP", text.encode()), ("ENDMAP", b"")]
    elif form == "hexen":
        things = b"".join(struct.pack("<6HH6B", 0, 0, 0, 0, 0, t, 0, *bytes(6)) for t in types)
        lumps = [(name, b""), ("THINGS", things), ("BEHAVIOR", b"ACS\0")]
    else:
        things = b"".join(struct.pack("<5H", 0, 0, 0, t, 0) for t in types)
        lumps = [(name, b""), ("THINGS", things), ("LINEDEFS", b"")]
    at, table, data = 12, b"", b""
    for called, content in lumps:
        table += struct.pack("<ii8s", at + len(data), len(content), called.encode())
        data += content
    return struct.pack("<4sii", kind, len(lumps), at + len(data)) + data + table


def scenario(folder: Path, text: str = CONFIG, *, map_file: bytes | None = None) -> Path:
    """Write ``small.cfg`` and ``small.wad``; return the former."""
    folder.mkdir(exist_ok=True)
    (folder / "small.wad").write_bytes(wad() if map_file is None else map_file)
    path = folder / "small.cfg"
    path.write_text(text)
    return path

"""Records of schema 1 and 2, until each is made again: a closed list, which only gets shorter.

Their files may not change. A record that is made again has schema 3, and its name leaves the list; this
module goes with the last one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from tools.records import RECORDS, Figure, Kind, Record

#: Name -> the first twelve digits of the SHA-256 of its file.
PENDING: dict[str, str] = dict(
    line.split()
    for line in """
    capture-the-flag 4452c5cf602e
    cartpole 45f84dcd8b0f
    cluster-copies d81a32f08e01
    connect-four 33185eaa0c71
    demo afee33183bcb
    elf-figure5 7ab081f57ae9
    elf-table3-greedy 68e84801d89e
    elf-table3-minirts ffcae822eaaf
    elf-table4 24897281a0eb
    elf-table5 c481b82be3f5
    elf-table6-minirts fd2430e0b33b
    go-playouts ed0bcdf150fc
    go-rules 90cff4d8fe76
    go5 35aa8f310b40
    go9 bb8bf5c11ff9
    league-blotto 1d14dae79e64
    league-disc 4d060cae57a8
    league-kuhn 947b87de9f9e
    league-leduc b0237eea44c3
    league-minirts 818d52a04d7a
    league-pommerman d074cb246c72
    league-speed 431513c09265
    lunar-lander 811258080219
    minirts-imitation c63b7ecef8a7
    minirts-methods 7e7c94326827
    minirts-mixture ca4d9b1d2370
    minirts-planner 2841ec31137d
    minirts-training 64ac437afe48
    minirts-units 8b6e416f0747
    moba-1v1 a9fd98761182
    moba-3v3 b150a14e26b1
    moba-bots 2ec4d1aa7ece
    moba-simulation 14d4b3ddcc37
    moba-spirit-counts 9258b06960ca
    moba-spirit 6fe801dc717e
    openai-five-reuse b0136afdac05
    openai-five-staleness 1017fd711330
    peers-zen4 986509622e1b
    peers-zen5 c3dae0743c6b
    pendulum e57ca9aac3fa
    pommerman-ffa da22464dcd1d
    pong 40e14f3a04f0
    pool-decisions 77817e7ac318
    population-cartpole 9474e74b0020
    rts-conformance 4facc2dd4a21
    rts-extended e224607d23ea
    rts-simulation 60f6e59bb3e6
    search-speed 079ae68d5876
    surgery-horizon a6840cb5040a
    surgery-stages a028d82b282a
    team-spirit-counts d424eef77f7d
    team-spirit 753625845889
    tower-defense 29396a5017e4
    vizdoom-basic d59f23dfc302
    vizdoom-match 029a3c6b0ec3
    """.strip().splitlines()
)
_KINDS: dict[str, Kind] = {"wilson": "matches", "seeds": "seeds", "range": "readings"}


class OldRecord(Record, frozen=True, kw_only=True):
    """A record of schema 1 or 2; ``typed``: its figures were copied by hand."""

    old: bool = True
    typed: bool = False


def read_old(name: str, content: bytes) -> OldRecord:
    """Return an old record. Raises ``msgspec.DecodeError`` and ``ValueError`` where its file has changed."""
    if hashlib.sha256(content).hexdigest()[:12] != PENDING[name]:
        raise ValueError(f"{name}.json: an old record that has changed: a new figure needs schema 3")
    document = msgspec.json.decode(content)
    for key in ("figures", "floors"):
        document[key] = [_figure(figure) for figure in document.get(key, ())]
    preset, digest = document.pop("preset", ""), document.pop("preset_sha256", "")
    typed = document.pop("transcribed", False)
    old = document["schema"] == 1
    remarks = []
    if typed and not document.get("data"):
        remarks.append("Typed in, not reproducible.")
    elif typed:
        remarks.append("Typed in from the raw measurements.")
    elif old and not document.get("data"):
        remarks.append("Its raw lines were not kept, not reproducible.")
    document["notes"] = [*document.get("notes", ()), *remarks]
    document["files"] = {f"presets/{preset}.toml": digest} if preset else {}
    document["schema"] = 3
    document["typed"] = typed
    return msgspec.convert(document, OldRecord)


def _figure(figure: dict[str, object]) -> Figure:
    low, high, count = (figure.get(key) for key in ("low", "high", "count"))
    return msgspec.convert(
        {
            "label": figure.get("label") or "",
            "unit": figure["unit"],
            "kind": _KINDS.get(str(figure.get("interval")), "exact"),
            "value": figure["value"],
            "low": low,
            "high": high,
            "count": count,
            "seed": figure.get("seed"),
        },
        Figure,
    )


def is_old(record: Record) -> bool:
    """Whether the record has schema 1 or 2."""
    return isinstance(record, OldRecord)


def gone(records: Mapping[str, Record]) -> list[str]:
    """Names of :data:`PENDING` that are no old records any more."""
    left = sorted(name for name in PENDING if name not in records or not is_old(records[name]))
    return [f"{name}: no old record any more: remove the name from PENDING" for name in left]


def digest_of(name: str) -> str:
    """Return the entry of :data:`PENDING` for a record's present file."""
    return hashlib.sha256((RECORDS / f"{name}.json").read_bytes()).hexdigest()[:12]

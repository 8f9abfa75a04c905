"""Types of a rulebook on the page: their roles come from the match, not from a list of names."""

from __future__ import annotations

from typing import Any, cast

from ludus.games import replays
from ludus.web.from_replay import recording_of
from ludus.web.rts.tracks import RtsTracks


def test_unknown_types_have_roles_and_events() -> None:
    rules = "".join(
        f"{line}\n"
        for line in (
            "extends=extended",
            "units.pikeman.hp=80",
            "units.pikeman.accepts=move,attack",
            "units.barrack.builds=spearman,pikeman",
            "bots.pikes.builds=barrack",
            "bots.pikes.trains=pikeman",
        )
    )
    data = replays.record("rts", {"rulebook": rules}, seed=3, bots=["pikes", "mixed"])
    recording = recording_of(data)
    assert recording.renderer == "map"
    assert recording.title.startswith("Extended MiniRTS")
    tracks = RtsTracks()
    for view in recording.views:
        tracks.see(view)
    types = cast("list[dict[str, Any]]", tracks.header()["types"])
    roles = {t["name"]: t["role"] for t in types}
    assert roles["town_hall"] == "base"
    assert roles["barrack"] == "building"
    assert roles["peasant"] == "worker"
    assert roles["pikeman"] == "troop"
    assert "barrack finished" in {e.text for e in tracks.events.events}
    assert "pikeman trained" in {e.text for e in tracks.events.events}

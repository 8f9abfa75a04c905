"""``to_html`` makes one file of a replay that works offline; ``render`` makes it of any recording.

The page is ``static/replay/``: a template, a style sheet and small ES modules, put together here. Nothing
is loaded from anywhere: a Content-Security-Policy admits the page's own script and style by their SHA-256
and nothing else. All data of the match travels deflated and in base64, so that no text of a replay can end
the element that holds it; the page writes names with ``textContent`` only.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Callable, Sequence
from importlib import resources

import msgspec

from ludus.flow.inputs.shown import markup, visible
from ludus.games import replays
from ludus.web.columns import Writer
from ludus.web.from_replay import recording_of
from ludus.web.recording import MOST_OPINIONS, Recording
from ludus.web.renderers import ViewPacker, renderer_named
from ludus.web.thoughts.page import page_data
from ludus.web.thoughts.thought import ThinkError

FORMAT = 1
# In the order in which they are joined: a module only uses those above it.
MODULES = (
    "inflate.js",
    "data.js",
    "page_words.js",
    "palette.js",
    "dom.js",
    "icons.js",
    "scene.js",
    "heroes.js",
    "map_window.js",
    "map_view.js",
    "arena_view.js",
    "coordinates.js",
    "candidates.js",
    "flat_view.js",
    "grid_view.js",
    "noughts_view.js",
    "table_views.js",
    "document_view.js",
    "plots.js",
    "frames_view.js",
    "board_views.js",
    "panels.js",
    "match_links.js",
    "thoughts.js",
    "keyboard.js",
    "controls.js",
    "main.js",
)
_IMPORT = re.compile(r"^import\s[^;]*?;[ \t]*\n", re.MULTILINE)
_EXPORT = re.compile(r"^export\s+(?=(?:async\s+)?(?:function|const|class)\b)", re.MULTILINE)


def to_html(
    replay: bytes,
    every_ticks: int = 0,
    game: str = "",
    think: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
    most_s: float = float("inf"),
) -> str:
    """Return the page of a ``.ludus`` file.

    Args:
        replay: The file's bytes.
        every_ticks: Ticks between two view documents; 0 suits the match's length.
        game: Reference of a compiled game that is neither built in nor installed, as a person names it.
        think: Players whose thoughts the page shows, at most two, as
            :func:`ludus.web.thoughts.replayed.thoughts_of` reads them.
        progress: Called while searches think: decisions that are over, and of how many; in games written in
            Python while they are played: ticks.
        most_s: Seconds after which the rest of a match of a game written in Python is left out.

    Raises:
        ReplayError: The bytes are no replay, or one of other rules.
        ParamError: There is no such game.
        ThinkError: More than two players, or one that gives no thoughts. Each of these is a ``ValueError``;
            ``thoughts_of`` raises others.
    """
    if len(think) > MOST_OPINIONS:
        raise ThinkError(f"{len(think)} players to think, expected at most {MOST_OPINIONS}")
    if replays.info(replay).format != 1:
        from ludus.web.frames.film import filmed  # numpy: only for games written in Python

        return render(filmed(replay, game, think, progress, most_s))
    recording = recording_of(replay, every_ticks, game)
    if think:
        from ludus.web.thoughts.replayed import opinions_of  # numpy, torch: only where a player thinks

        texts = {(d.tick, d.seat): d.text for d in recording.decisions}
        found = opinions_of(replay, think, game=game, texts=texts, progress=progress)
        recording = msgspec.structs.replace(recording, thoughts=found)
    return render(recording)


def render(recording: Recording, follows: str = "", more: str = "") -> str:
    """Return the whole HTML document of ``recording``, UTF-8 text.

    ``follows``: path of a page of the same server, which is opened when the match has been played.
    ``more``: markup below the match, of this package: every text in it has passed :func:`markup`.

    Raises :class:`ludus.web.recording.ViewError` when the view documents cannot be drawn.
    """
    script, style = _script(), asset("style.css")
    policy = (
        f"default-src 'none'; img-src data:; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "POLICY": policy,
        "TITLE": markup(recording.title),
        "STYLE": style,
        "MORE": more,
        "DATA": base64.b64encode(zlib.compress(pack(recording, follows), 1 if follows else 9)).decode(
            "ascii"
        ),
        "SCRIPT": script,
    }
    # One pass, so that nothing inside a part is taken for a mark.
    return re.sub(r"@@([A-Z]+)@@", lambda mark: parts[mark.group(1)], asset("page.html"))


def pack(recording: Recording, follows: str = "") -> bytes:
    """Return the data of the page: length of the header (``uint``), the header (JSON), the columns."""
    header: dict[str, object] = {
        "format": FORMAT,
        "game": visible(recording.game),
        "title": visible(recording.title),
        "renderer": recording.renderer,
        "seats": [visible(name) for name in recording.seats],
        "outcome": recording.outcome,
        "teams": recording.teams,
        "truncated": recording.truncated,
        "facts": [[visible(part) for part in fact] for fact in recording.facts],
        "ticks_per_s": recording.ticks_per_s,
        "follows": follows,
        "resumable": recording.resumable,
        "start": recording.start,
        "words": {visible(name): visible(text) for name, text in recording.words.items()},
        "view": {
            "lines": recording.lines,
            "coordinates": recording.coordinates,
            "labels": [visible(label) for label in recording.labels],
        },
    }
    if recording.record:
        header["record"] = {"text": recording.record, "suffix": recording.record_suffix}
    packing = renderer_named(recording.renderer).packing()
    for view in recording.views:
        packing.see(view)
    header |= packing.header()
    header["decisions"] = _pack_decisions(recording, packing)
    header["thoughts"] = [page_data(opinion) for opinion in recording.thoughts]
    text = msgspec.json.encode(header)
    out = Writer()
    out.uint(len(text))
    return bytes(out.data) + text + packing.data()


def _pack_decisions(recording: Recording, packing: ViewPacker) -> dict[str, object]:
    """Return columns: ticks as differences, seats, decisions and their effects (indices of ``texts``)."""
    texts: dict[str, int] = {}
    ordered = sorted(recording.decisions, key=lambda d: (d.tick, d.seat))
    ticks = [d.tick for d in ordered]
    return {
        "ticks": [b - a for a, b in zip([0, *ticks], ticks, strict=False)],
        "seats": [d.seat for d in ordered],
        "what": [texts.setdefault(d.text, len(texts)) for d in ordered],
        "effects": [
            texts.setdefault(text, len(texts)) if (text := packing.effect(d.seat, d.tick)) else -1
            for d in ordered
        ],
        "texts": [visible(text) for text in texts],
    }


def _script() -> str:
    """Return all modules as one: imports and export marks go, since everything is in one scope."""
    modules = (_EXPORT.sub("", _IMPORT.sub("", asset(name))) for name in MODULES)
    return "\n".join(modules)


def asset(name: str) -> str:
    """Return the text of one source of the page."""
    return resources.files("ludus.web").joinpath("static", "replay", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")

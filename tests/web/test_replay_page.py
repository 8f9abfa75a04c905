"""The page as text: its embedded parts, the documents that it refuses, its size."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib

import msgspec
import pytest

from ludus.flow.inputs.shown import visible
from ludus.web.columns import MAX_UINT, Column, Writer
from ludus.web.recording import Recording, ViewError
from ludus.web.replay_page import MODULES, asset, pack, render
from ludus.web.rts.tracks import RtsTracks
from tests.web import synthetic

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> @@DATA@@ \" ' & <!-- \u2028"


@pytest.fixture(scope="module")
def short() -> Recording:
    return synthetic.recording(ticks=600, every=10)


def parts(html: str) -> tuple[str, str, str, str]:
    """Return policy, style, data and script."""
    found = [
        re.search(pattern, html, re.DOTALL)
        for pattern in (
            r'Content-Security-Policy" content="([^"]*)"',
            r"<style>(.*?)</style>",
            r'<script type="text/plain" id="match-data">(.*?)</script>',
            r'<script type="module">(.*?)</script>',
        )
    ]
    texts = [m.group(1) for m in found if m]
    assert len(texts) == 4
    return texts[0], texts[1], texts[2], texts[3]


def header_of(recording: Recording) -> dict[str, object]:
    data = pack(recording)
    return dict(json.JSONDecoder().raw_decode(data[data.index(b"{") :].decode("utf-8", errors="replace"))[0])


def test_the_policy_admits_exactly_the_pages_own_script_and_style(short: Recording) -> None:
    policy, style, _, script = parts(render(short))
    directives = dict(d.strip().split(" ", 1) for d in policy.split(";"))

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert directives == {
        "default-src": "'none'",
        "img-src": "data:",
        "script-src": digest(script),
        "style-src": digest(style),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_nothing_in_the_page_points_to_the_network(short: Recording) -> None:
    assert re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", render(short)) == []
    assert re.findall(r"\b(?:src|href)=[\"'](?!data:,)", render(short)) == []


def test_hostile_names_cannot_leave_their_place() -> None:
    hostile = synthetic.recording(ticks=100, every=50, seats=(HOSTILE, HOSTILE), title=HOSTILE)
    html = render(hostile)
    assert html.count("<script") == 2
    assert html.count("</script") == 2
    assert "<img" not in html
    assert "alert(1)</" not in html
    _, _, data, _ = parts(html)
    assert re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", data)
    assert HOSTILE.encode("utf-8").split(b'"')[0] in zlib.decompress(base64.b64decode(data))


def test_modules_cannot_end_their_element() -> None:
    for name in (*MODULES, "style.css"):
        text = asset(name).lower()
        assert "</script" not in text
        assert "</style" not in text
        assert "<!--" not in text
        assert "innerhtml" not in text


def test_modules_import_only_what_is_joined_above_them() -> None:
    for at, name in enumerate(MODULES):
        for imported in re.findall(r"from \"\./([^\"]+)\"", asset(name)):
            assert imported in MODULES[:at], f"{name} imports {imported}"


def test_no_two_modules_declare_one_name() -> None:
    declared = r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)"
    names = [name for module in MODULES for name in re.findall(declared, asset(module), re.M)]
    assert len(names) > 100
    assert [name for name in names if names.count(name) > 1] == []


def test_every_import_names_an_export() -> None:
    exports = {
        name: set(re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", asset(name), re.M))
        for name in MODULES
    }
    for name in MODULES:
        for names, source in re.findall(r"^import \{([^}]*)\} from \"\./([^\"]+)\";", asset(name), re.M):
            assert {n.strip() for n in names.split(",") if n.strip()} <= exports[source], name


def test_the_same_match_gives_the_same_page(short: Recording) -> None:
    assert render(short) == render(short)


def test_events_describe_the_match() -> None:
    header = header_of(synthetic.recording())
    events = header["events"]
    assert isinstance(events, list)
    kinds = [kind for _, kind, _, _, _ in events]
    assert {"built", "trained", "died", "alarm", "razed", "over"} <= set(kinds)
    assert kinds.count("over") == 1
    assert kinds[-1] == "over"
    first_barracks = next(e for e in events if e[1] == "built")
    assert first_barracks[0] == 300
    assert first_barracks[2] == 0
    ticks = [e[0] for e in events]
    assert ticks == sorted(ticks)


def test_decisions_keep_their_order_and_effects(short: Recording) -> None:
    decisions = header_of(short)["decisions"]
    assert isinstance(decisions, dict)
    texts = decisions["texts"]
    assert [texts[i] for i in decisions["what"]] == [d.text for d in short.decisions]
    assert sum(decisions["ticks"]) == short.decisions[-1].tick
    assert "3 workers: gather" in texts  # ordered at tick 0


def test_columns_are_changes() -> None:
    column = Column()
    for value in (0, 0, 7, 7, 7, -3):
        column.add(value)
    assert column.changes == [2, 7, 3, -10]
    late = Column(zeros=4)
    late.add(1)
    assert late.changes == [4, 1]


@pytest.mark.parametrize("value", [-1, MAX_UINT + 1])
def test_numbers_that_javascript_cannot_hold_are_refused(value: int) -> None:
    with pytest.raises(ValueError, match="is not in"):
        Writer().uint(value)


def moment(**changes: object) -> bytes:
    view: dict[str, object] = {
        "tick": 0, "map": {"width": 2, "height": 1}, "money": [0, 0], "units": [], "seen": [["10"], ["01"]],
        **changes,
    }  # fmt: skip
    return json.dumps(view).encode()


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (b"[]", "frame 0"),
        (moment(tick="3"), "tick"),
        (moment(map={"width": 0, "height": 1}), "cannot be drawn"),
        (moment(map={"width": 100000, "height": 100000}), "cannot be drawn"),
        (moment(map={"width": 2, "height": 1, "terrain": ["..."]}), "terrain"),
        (moment(money=[0] * 17), "17 seats"),
        (moment(seen=[["10"]]), "seen of 1 seats"),
        (moment(seen=[["1x"], ["01"]]), "seen of seat 0"),
        (
            moment(units=[{"id": 1, "seat": 0, "type": "base", "x": 1e300, "y": 0, "hp": 1, "max_hp": 1}]),
            "coordinate",
        ),
        (moment(bullets=[{"shooter": 1, "x": 0, "y": 0, "state": "gone"}]), "bullet state `gone`"),
    ],
)
def test_a_document_that_cannot_be_drawn_is_refused(document: bytes, message: str) -> None:
    with pytest.raises(ViewError, match=message):
        RtsTracks().see(document)


def test_ticks_must_rise() -> None:
    tracks = RtsTracks()
    tracks.see(moment(tick=5))
    with pytest.raises(ViewError, match="tick 5: it comes after tick 5"):
        tracks.see(moment(tick=5))


def test_other_games_need_a_tick() -> None:
    recording = Recording(game="g", title="g", renderer="g", seats=("a",), views=[b'{"board": 1}'])
    with pytest.raises(ViewError, match="integer `tick`"):
        render(recording)


@pytest.mark.parametrize("text", ["\u202egnp.exe", "a\x1b[31m", "a\nb", "\x9b1m", "a\u2028b"])
def test_invisible_characters_are_shown_as_escapes(text: str) -> None:
    recording = synthetic.recording(ticks=100, every=50, seats=(text, text), title=text)
    recording = msgspec.structs.replace(recording, facts=((text, text),))
    header = header_of(recording)
    assert header["title"] == visible(text) != text
    assert header["seats"] == [visible(text)] * 2
    assert header["facts"] == [[visible(text)] * 2]
    title = re.search(r"<title>(.*?)</title>", render(recording))
    assert title is not None
    assert title[1].isprintable()

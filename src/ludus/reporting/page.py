"""``report.html``: a report of Markdown and plots as one page that opens in any browser, without a network.

The page is made of the lines of the Markdown report, so both say the same. Only what reports use is known:
headings, paragraphs, lists, tables, blocks of code, pictures of plots, code and emphasis in a line.
Text of a report is escaped already (:mod:`ludus.flow.inputs.shown`); everything is escaped here once more,
and a Content-Security-Policy admits the page's own style and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

from ludus.flow.inputs.shown import markup
from ludus.reporting.svg import without_style

_ENTITY = re.compile(r"&(?!(?:#\d{1,7}|lt|gt|amp|quot);)")
_CODE = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)")
_STRONG = re.compile(r"\*\*([^*\s](?:[^*]*[^*\s])?)\*\*")
_EMPHASIS = re.compile(r"(?<![\\*])\*([^*\s](?:[^*]*[^*\s\\])?)\*(?!\*)")
_PICTURE = re.compile(r"!\[(.*)\]\(([\w.-]+)\)")
_BAR = re.compile(r"(?<!\\)\|")
_NUMBER = re.compile(r"[-+]?[\d.,]+%?(?:e[-+]?\d+)?|-|")

_STYLE = """
:root { color-scheme: light dark;
  --bg: #fff; --ink: #1b2330; --muted: #5a6472; --line: #d9dee5; --soft: #f3f5f8; }
@media (prefers-color-scheme: dark) {
  :root { --bg: #11161d; --ink: #e6ebf2; --muted: #98a3b3; --line: #2b333f; --soft: #1a212b; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 20px 48px; max-width: 1120px; background: var(--bg); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 26px; margin: 0 0 12px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 32px 0 10px; padding-top: 10px; border-top: 1px solid var(--line); }
p, li { max-width: 80ch; overflow-wrap: anywhere; }
nav { margin: 12px 0 0; color: var(--muted); }
nav a { margin-right: 14px; white-space: nowrap; }
a { color: inherit; }
.table { overflow-x: auto; margin: 10px 0; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 16px 5px 0; border-bottom: 1px solid var(--line); }
th, td { text-align: left; vertical-align: top; }
th { font-weight: 600; color: var(--muted); }
td { max-width: 44ch; overflow-wrap: anywhere; }
td:first-child code { white-space: nowrap; }
.n { text-align: right; white-space: nowrap; overflow-wrap: normal; }
tbody tr:hover { background: var(--soft); }
pre { padding: 12px; background: var(--soft); overflow-x: auto; font-size: 13px; line-height: 1.45; }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .92em; }
figure { margin: 12px 0; }
figure svg { max-width: 100%; height: auto; border: 1px solid var(--line); }
figure svg text:not([fill]), figure svg rect[fill="#000000"] { fill: var(--ink); }
figure svg text[fill="#555"] { fill: var(--muted); }
figure svg circle[fill="#ffffff"] { fill: var(--bg); }
figure svg [stroke="#ddd"] { stroke: var(--line); }
figure svg [stroke="#000000"] { stroke: var(--ink); }
figcaption { color: var(--muted); font-size: 13px; }
"""


def page(report: str, plots: Mapping[str, str]) -> str:
    """Return the whole document, UTF-8 text.

    Args:
        report: The Markdown report.
        plots: SVG by the name under which the report shows it. Unknown pictures are left out.
    """
    lines = report.split("\n")
    title = next((_inline(line[2:]) for line in lines if line.startswith("# ")), "Report")
    plain = re.sub(r"<[^>]*>", "", title)
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    head = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<title>{plain}</title><link rel="icon" href="data:,">',
        f"<style>{_STYLE}</style></head><body><main>",
    ]
    return "\n".join([*head, *_blocks(lines, plots), "</main></body></html>", ""])


def _blocks(lines: Sequence[str], plots: Mapping[str, str]) -> Iterator[str]:
    headings = [line[3:] for line in lines if line.startswith("## ")]
    section = at = 0
    while at < len(lines):
        line, end = lines[at], at + 1
        picture = _PICTURE.fullmatch(line)
        if line.startswith("```"):
            fence = line[: len(line) - len(line.lstrip("`"))]
            while end < len(lines) and lines[end] != fence:
                end += 1
            code = "\n".join(markup(inside.expandtabs(4)) for inside in lines[at + 1 : end])
            yield f"<pre><code>{code}</code></pre>"
            end += 1
        elif line.startswith("# "):
            yield f"<h1>{_inline(line[2:])}</h1>"
            yield from _contents(headings)
        elif line.startswith("## "):
            section += 1
            yield f'<h2 id="s{section}">{_inline(line[3:])}</h2>'
        elif picture is not None:
            if picture[2] in plots:
                yield _figure(picture[1], plots[picture[2]])
        elif line.startswith("|"):
            while end < len(lines) and lines[end].startswith("|"):
                end += 1
            yield from _table(lines[at:end])
        elif line.startswith("- "):
            while end < len(lines) and lines[end].startswith("- "):
                end += 1
            yield "<ul>" + "".join(f"<li>{_inline(item[2:])}</li>" for item in lines[at:end]) + "</ul>"
        elif line:
            yield f"<p>{_inline(line)}</p>"
        at = end


def _contents(headings: Sequence[str]) -> Iterator[str]:
    if len(headings) > 2:
        links = (f'<a href="#s{number}">{_inline(text)}</a>' for number, text in enumerate(headings, 1))
        yield f"<nav>{' '.join(links)}</nav>"


def _figure(caption: str, svg: str) -> str:
    """Return a figure. ``svg`` is one of our plots: its names are escaped, and it has no style or script."""
    about = f"<figcaption>{_inline(caption)}</figcaption>"
    return f'<figure aria-label="{markup(caption)}">{without_style(svg).strip()}{about}</figure>'


def _table(lines: Sequence[str]) -> Iterator[str]:
    head, *rows = [[cell.strip() for cell in _BAR.split(line)[1:-1]] for line in (lines[0], *lines[2:])]
    numeric = [
        bool(rows)
        and all(_NUMBER.fullmatch(row[k]) for row in rows if k < len(row))
        and any(row[k] for row in rows if k < len(row))
        for k in range(len(head))
    ]

    def cells(row: Sequence[str], tag: str) -> str:
        kinds = (' class="n"' if k < len(numeric) and numeric[k] else "" for k in range(len(row)))
        return "".join(f"<{tag}{kind}>{_inline(c)}</{tag}>" for kind, c in zip(kinds, row, strict=True))

    yield '<div class="table" tabindex="0"><table><thead><tr>' + cells(head, "th") + "</tr></thead><tbody>"
    yield from (f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    yield "</tbody></table></div>"


def _inline(text: str) -> str:
    """Return one line of Markdown within an element."""
    out, at = [], 0
    for span in _CODE.finditer(text):
        out += [_words(text[at : span.start()]), f"<code>{_verbatim(span[2])}</code>"]
        at = span.end()
    return "".join([*out, _words(text[at:])])


def _verbatim(text: str) -> str:
    spaced = text.startswith(" ") and text.endswith(" ") and "`" in text
    return markup((text[1:-1] if spaced else text).replace("\\|", "|"))


def _words(text: str) -> str:
    plain = _ENTITY.sub("&amp;", text).replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    marked = _EMPHASIS.sub(r"<em>\1</em>", _STRONG.sub(r"<strong>\1</strong>", plain))
    return marked.replace("\\*", "*")

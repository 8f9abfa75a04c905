"""Check comments, docstrings, messages and documents for phrases that this project does not use.

The list is short and each entry names its replacement. Code is not read: only comments, string literals and
the text of Markdown files outside code.

Run: python -m tools.check_prose [PATH ...]
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "cpp", "tests", "docs", "tools", "benchmarks", "examples")
SUFFIXES = (".py", ".hpp", ".cpp", ".md")
#: This file and its test hold the phrases; golden files are data; the results page quotes records.
EXEMPT = ("tools/check_prose.py", "tests/unit/tools/test_check_prose.py", "tests/golden/", "docs/results")

#: A phrase and its replacement. A blank also matches a line break.
PHRASES = {
    r"anew": "again, from scratch, restart",
    r"begin|begins|began|begun": "start, starts, started",
    r"(?:(?-i:go)|goes|going|gone|went) on": "continue, resume",
    r"(?:no|some|any|every)body": "no one, the thing meant",
    r"whom": "a plain clause",
    r"told|tells": "returns, reports, shows",
    r"says": "returns, reports, contains",
    r"paper 0\d\d": "the authors and the year",
}
#: Turns of phrase and their replacement, checked below the paths in ``SWEPT``.
TURNS = {
    r"(?<!\d\s)(?<!times\s)(?<!half\s)(?<!twice\s)(?:those|that) of": "the noun itself",
    r"\w+ of (?:its|their) own": "separate, its own, dedicated",
    r"(?<!leave\s)(?<!left\s)alone(?=[.,;:]|\s(?:is|are|was|has|have|can|may|must|do|\w\w+s)\b)": "only",
    r"from now on": "the present tense, a point in time",
    r"(?<=;\s)(?-i:none)(?!:)": '"if there is one", no ...',
}
_PACKAGES = (
    *(
        "algorithms",
        "bench",
        "cli",
        "cluster",
        "codecs",
        "datasets",
        "evaluation",
        "flow",
        "games",
        "gtp",
        "league",
        "mcts",
    ),
    *("native", "policies", "pool", "ratings", "reporting", "rollouts", "storage", "surgery", "sweep", "web"),
)
#: Path prefixes that are free of the turns, and the exceptions below them.
SWEPT = (
    *("benchmarks/", "cpp/", "docs/", "examples/", "tests/system/", "tests/unit/", "tools/"),
    *(f"src/ludus/{package}/" for package in _PACKAGES),
)
UNSWEPT = (
    "docs/reference/api.md",  # from docstrings
    "tests/system/test_last_state.py",
    "tests/unit/training/",
    "tests/unit/tools/test_results.py",
    *("benchmarks/strength/league_minirts.py", "tools/results.py"),  # records and their page hold these texts
)
#: Path prefixes below which pieces and units stand on cells.
BOARDS = ("cpp/games/", "cpp/tests/", "docs/games/", "src/ludus/games/", "tests/unit/gtp/")


def _compiled(phrases: dict[str, str]) -> dict[re.Pattern[str], str]:
    return {
        re.compile(rf"(?<![\w.-])(?:{phrase.replace(' ', chr(92) + 's+')})(?![\w(-])", re.IGNORECASE): instead
        for phrase, instead in phrases.items()
    }


_PHRASES = _compiled(PHRASES)
_TURNS = _compiled(TURNS)
_TURNS[re.compile(r"(?im)^[^\w\n]*\w*[^\w\n]*: of\b")] = 'a noun, as in "name: Number of ..."'
_STANDS = _compiled({r"(?<!checkpoint\s)stands?(?! (?:for|in for|out|still)\b)": "is, holds, applies"})
#: Openings of a docstring or a comment.
OPENINGS = {
    r"What\b(?![^.\n]*\?)": 'a noun or a verb: "Return ...", "Settings of ..."',
    r"Of (?:the|a|an|its|each|every)\b": 'a noun or a verb: "Number of ..."',
}
_OPENINGS = {re.compile(rf"\W*{opening}"): instead for opening, instead in OPENINGS.items()}
_INLINE_CODE = re.compile(r"``[^`]*``|`[^`\n]*`")
_F_STRING = re.compile(r"[rR]?[fF][rR]?[\"']")
_FORMATTED = re.compile(rf"{_INLINE_CODE.pattern}|\{{[^{{}}\n]*\}}")
#: A string literal of one word is a name of the code.
_IDENTIFIER = re.compile(r"""[rf]?(["'])\w+\1""")
_CPP = re.compile(r'(?P<comment>//[^\n]*(?:\n[ \t]*//[^\n]*)*)|(?P<string>"(?:[^"\\\n]|\\.)*")')
_COMMENT_MARK = re.compile(r"(?m)^[ \t]*(?://+<?|#+:?)")
#: A table that `make docs` copies from a spec.
_COPIED = re.compile(r"(?ms)^<!-- spec: .*?^<!-- end -->")
_FENCE = re.compile(r"(?ms)^ *```.*?^ *```")


class Passage(NamedTuple):
    """Text of one comment, string or document.

    Attributes:
        line: Line of the file that it starts at, from 1.
        text: The text, line breaks kept.
        opens: Whether an opening is checked: true for comments and docstrings.
    """

    line: int
    text: str
    opens: bool


class Violation(NamedTuple):
    """A phrase found, with its place and its replacement."""

    path: str
    line: int
    phrase: str
    instead: str


def violations(path: str, text: str) -> Iterator[Violation]:
    """Yield every phrase of the list that ``text``, the content of ``path``, contains."""
    for passage in _passages(path, text):
        if _IDENTIFIER.fullmatch(passage.text):
            continue
        code = _FORMATTED if _F_STRING.match(passage.text) else _INLINE_CODE
        plain = code.sub(lambda found: re.sub(r"[^\n]", "`", found[0]), passage.text)
        plain = re.sub(r"\n[ \t]+", "\n", plain)
        for phrase, instead in _phrases(path, passage.text).items():
            for found in phrase.finditer(plain):
                if found[0].isupper():  # a name of code, such as SQL
                    continue
                yield Violation(path, passage.line + plain.count("\n", 0, found.start()), found[0], instead)
        if passage.opens:
            for opening, instead in _OPENINGS.items():
                if first := opening.match(plain):
                    yield Violation(path, passage.line, first[0].strip(' "/#'), instead)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _phrases(path: str, passage: str) -> dict[re.Pattern[str], str]:
    of_a_spec = path.startswith("cpp/games/") and passage.startswith('"')  # golden files hold its texts
    if of_a_spec or path.startswith(UNSWEPT) or not path.startswith(SWEPT):
        return _PHRASES
    return _PHRASES | _TURNS | ({} if path.startswith(BOARDS) else _STANDS)


def _passages(path: str, text: str) -> Iterator[Passage]:
    if path.endswith(".py"):
        yield from _python(text)
    elif path.endswith(".md"):
        prose = _COPIED.sub(_blank, _FENCE.sub(_blank, text))
        yield Passage(1, prose, opens=False)
    else:
        last = -1
        for found in _CPP.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            comment = found.lastgroup == "comment"
            plain = _COMMENT_MARK.sub("", found[0]) if comment else found[0]
            yield Passage(line, plain, opens=comment and line != last + 1)
            last = text.count("\n", 0, found.end()) + 1 if comment else last


def _python(text: str) -> Iterator[Passage]:
    first_of_line = True
    comments: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if comments and token.start[0] != comments[-1].start[0] + 1:
                yield _comment(comments)
                comments = []
            comments.append(token)
        elif token.type == tokenize.STRING:
            docstring = first_of_line and token.string.lstrip("rR").startswith('"""')
            yield Passage(token.start[0], token.string, opens=docstring)
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            first_of_line = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    if comments:
        yield _comment(comments)


def _comment(lines: list[tokenize.TokenInfo]) -> Passage:
    text = "\n".join(_COMMENT_MARK.sub("", line.string) for line in lines)
    return Passage(lines[0].start[0], text, opens=True)


def _files(paths: list[str]) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *(paths or FOLDERS)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    return [path for path in listed if path.endswith(SUFFIXES) and not path.startswith(EXEMPT)]


def main() -> int:
    """Print every violation; return the exit status."""
    found = [
        violation
        for path in _files(sys.argv[1:])
        if (ROOT / path).is_file()
        for violation in violations(path, (ROOT / path).read_text())
    ]
    for path, line, phrase, instead in found:
        print(f"{path}:{line}: {phrase!r}: write {instead}")
    if found:
        print(f"{len(found)} phrases; the list is in tools/check_prose.py")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

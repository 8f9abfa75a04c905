"""Check a commit message: scope and change in the subject, a reason in the body.

pre-commit runs it as the ``commit-msg`` hook. Messages that git writes (merges, reverts, fixups) pass.

Run: python -m tools.check_commit FILE
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

LONGEST = 72
_MERGE = r"Merge (?:branch|branches|tag|commit|remote-tracking|pull request) "
_GIT = re.compile(_MERGE + r"|Revert \"|(?:fixup|squash)! ")
_SCOPE = re.compile(r"[a-z][\w./-]*(?:, [a-z][\w./-]*)*: \S")
_SCISSORS = re.compile(r"(?m)^# -+ >8 -+$")
_TRAILER = re.compile(r"[A-Z][A-Za-z]*(?:-[A-Za-z]+)+: \S")


def mistakes(message: str) -> Iterator[str]:
    """Yield what is wrong with ``message``, the content of git's message file."""
    lines = [line for line in _SCISSORS.split(message)[0].splitlines() if not line.startswith("#")]
    subject, *body = "\n".join(lines).strip().split("\n")
    if not subject:
        return  # git itself refuses an empty message
    if _GIT.match(subject):
        return
    if re.fullmatch(r"wip\W*\d*", subject, re.IGNORECASE) or subject.startswith("--"):
        yield f"subject {subject!r} does not name a change; squash it into a commit that does"
        return
    if not _SCOPE.match(subject):
        yield f"subject {subject!r}: expected SCOPE: CHANGE, such as 'web: show results of one seat'"
    elif re.match(r"wip\b", subject.split(": ", 1)[1], re.IGNORECASE):
        yield f"subject {subject!r} does not name a change; squash it into a commit that does"
    if len(subject) > LONGEST:
        yield f"subject has {len(subject)} characters; expected at most {LONGEST}"
    if body and body[0].strip():
        yield f"line 2 {body[0]!r}: expected a blank line between subject and body"
    if not any(line.strip() and not _TRAILER.match(line) for line in body):
        yield "the body is missing: expected the reason for the change, after a blank line"


def main() -> int:
    """Print every mistake of the message in the named file; return the exit status."""
    found = list(mistakes(Path(sys.argv[1]).read_text(encoding="utf-8")))
    for mistake in found:
        print(f"commit message: {mistake}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

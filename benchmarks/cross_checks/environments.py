"""``ludus games check`` over every environment of the installed libraries.

    python benchmarks/cross_checks/environments.py                       # prints the table
    python benchmarks/cross_checks/environments.py --write               # and writes environments.md
    python benchmarks/cross_checks/environments.py openspiel --only chess,go --seconds 300

Families: ``openspiel`` (games that load without parameters), ``gymnasium`` (its registry), ``pettingzoo``
(its modules), ``atari`` (the ROMs of ale-py). An environment passes, or it is refused with a reason before a
match starts, or a check fails, which is a fault of the environment or of ours. One that needs longer than
``--seconds`` is stopped, and what was slow is checked a second time, with five times the limit: machines are
busy. One process checks the environments of a family; it is started again where it died. Exit code 3 if a
process died or an exception is no refusal.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import select
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

FAMILIES = ("openspiel", "gymnasium", "pettingzoo", "atari")
PACKAGES = {
    "openspiel": "open_spiel",
    "gymnasium": "gymnasium",
    "pettingzoo": "pettingzoo",
    "atari": "ale-py",
}
#: Parameters that keep a check short.
PARAMS: dict[str, dict[str, object]] = {
    "gymnasium": {"max_episode_steps": 200},
    "atari": {"max_frames": 400},
}
VERDICTS = ("passed", "refused", "failed", "slow", "broken")
TABLE = Path(__file__).with_suffix(".md")


class Result(NamedTuple):
    """Result of one environment's check."""

    name: str
    verdict: str
    detail: str = ""
    seconds: float = 0.0


def names(family: str) -> list[str]:
    """Every environment of a family, as games of Ludus."""
    if family == "openspiel":
        import pyspiel

        found = [g.short_name for g in pyspiel.registered_games() if g.default_loadable]
    elif family == "gymnasium":
        import gymnasium

        found = list(gymnasium.registry)
    elif family == "pettingzoo":
        import pettingzoo

        root = Path(next(iter(pettingzoo.__path__)))
        found = [f"{p.parent.name}/{p.stem}" for p in root.glob("*/*_v[0-9]*.py")]
    else:
        from ale_py import roms

        found = list(roms.get_all_rom_ids())
    return [f"{family}/{name}" for name in sorted(found)]


def check(name: str, matches: int) -> Result:
    """Check one environment in this process."""
    from ludus.games import check_game, typed
    from ludus.native import ParamError

    try:
        report = check_game(typed(name), PARAMS.get(name.partition("/")[0]), matches=matches)
    except ParamError as error:
        return Result(name, "refused", str(error))
    except Exception as error:
        return Result(name, "broken", f"{type(error).__name__}: {error}")
    failed = [f"{f.check}: {f.detail}" for f in report.findings if not f.passed]
    return Result(name, "failed" if failed else "passed", "; ".join(failed))


def work(matches: int) -> None:
    """Check the names on stdin, one a line; write a result a line to the descriptor that was stdout."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what environments print
    for line in sys.stdin:
        json.dump(check(line.strip(), matches), answers)
        answers.write("\n")
        answers.flush()


def checked(todo: list[str], matches: int, seconds: float) -> Iterator[Result]:
    """Yield the results of ``todo``, by a process that is replaced when it dies or is late."""
    process: subprocess.Popen[bytes] | None = None
    for name in todo:
        if process is None:
            process = subprocess.Popen(
                [sys.executable, __file__, "--worker", "--matches", str(matches)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        started = time.monotonic()
        process.stdin.write(name.encode() + b"\n")
        process.stdin.flush()
        answer = _line(process.stdout, seconds)
        took = time.monotonic() - started
        if answer:
            _, verdict, detail, _ = json.loads(answer)
            yield Result(name, verdict, detail, took)
            continue
        late = process.poll() is None and took >= seconds
        process.kill()
        code = process.wait()
        process = None
        if late:
            yield Result(name, "slow", f"longer than {seconds:g} s", took)
        else:
            yield Result(name, "broken", f"the process ended with code {code}", took)
    if process is not None and process.stdin is not None:
        process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()


def _line(stream: IO[bytes], seconds: float) -> bytes:
    """Return the next line, or nothing if it does not come in time."""
    end, got = time.monotonic() + seconds, b""
    while not got.endswith(b"\n"):
        ready, _, _ = select.select([stream], [], [], max(0.0, end - time.monotonic()))
        part = os.read(stream.fileno(), 1 << 16) if ready else b""
        if not part:
            return b""
        got += part
    return got


def _was_slow(result: Result) -> bool:
    return result.verdict == "slow" or (result.verdict == "failed" and result.detail.startswith("speed: "))


def page(results: dict[str, list[Result]], seconds: float, matches: int) -> str:
    """Return the results as Markdown: counts, then every environment that did not pass."""
    lines = [
        "# Every environment of the installed libraries",
        "",
        f"`python benchmarks/cross_checks/environments.py --write --seconds {seconds:g} --matches {matches}`",
        "",
        "| library | environments | " + " | ".join(VERDICTS) + " |",
        "| --- |" + " --- |" * (1 + len(VERDICTS)),
    ]
    for family, found in results.items():
        counts = Counter(r.verdict for r in found)
        package = f"{family} ({PACKAGES[family]} {importlib.metadata.version(PACKAGES[family])})"
        row = [package, str(len(found)), *(str(counts[v]) for v in VERDICTS)]
        lines.append("| " + " | ".join(row) + " |")
    for verdict in VERDICTS[1:]:
        rows = [r for found in results.values() for r in found if r.verdict == verdict]
        if rows:
            lines += ["", f"## {verdict.capitalize()}", "", "| environment | message |", "| --- | --- |"]
            lines += [f"| `{r.name}` | {_cell(r)} |" for r in rows]
    return "\n".join(lines) + "\n"


def _cell(result: Result) -> str:
    text = " ".join(result.detail.removeprefix(f"{result.name}: ").split()).replace("|", "\\|")
    for char in "<*_`":
        text = text.replace(char, "\\" + char)
    return text if len(text) <= 300 else text[:297] + "..."


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES) + " (default: all)")
    parser.add_argument("--only", default="", metavar="NAMES", help="environments of the families, by comma")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of one environment")
    parser.add_argument("--matches", type=int, default=1, help="random matches of each")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name} beside this file")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser


def main() -> int:
    """Run the command line."""
    parser = parser_of()
    args = parser.parse_args()
    if args.worker:
        work(args.matches)
        return 0
    unknown = [f for f in args.families if f not in FAMILIES]
    if unknown:
        parser.error(f"unknown family {unknown[0]}: expected {', '.join(FAMILIES)}")
    results: dict[str, list[Result]] = {}
    only = set(filter(None, args.only.split(",")))
    for family in args.families or FAMILIES:
        todo = [n for n in names(family) if not only or n.partition("/")[2] in only]
        results[family] = []
        for result in checked(todo, args.matches, args.seconds):
            results[family].append(result)
            print(
                f"{result.seconds:6.1f} s  {result.verdict:8} {result.name}  {result.detail[:160]}",
                flush=True,
            )
    text = page(results, args.seconds, args.matches)
    print("\n" + text)
    if args.write:
        TABLE.write_text(text, "utf-8")
    return 3 if any(r.verdict == "broken" for found in results.values() for r in found) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Faults of records of published results. ``tools.results --check`` prints them.

Records made from now on (schema 2) keep raw lines, from which their figures are computed again here, and have
floors under win rates and returns. The older ones are a closed list: :data:`FROM_BEFORE`.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import msgspec

from tools.raw_lines import INITIAL, UNIFORM, Line, digits_of, figure_of, read_lines
from tools.records import RECORDS, ROOT, Figure, Record

#: Records from before raw lines and floors: name -> :func:`figures_hash`. No name is ever added and no hash
#: changed: a record that is made again has schema 2 and leaves the list.
FROM_BEFORE = dict(
    line.split()
    for line in """
    capture-the-flag 15f93cb073ea
    cartpole 5328b89364d5
    connect-four 2b79f06f1c7f
    demo 2a8625d8ed3a
    elf-figure5 d704dd57811f
    elf-table3-minirts c9cc3d530b23
    elf-table4 a5e9f7456d4d
    elf-table5 9cf4af189103
    elf-table6-minirts b42903621ed5
    go-playouts a3b8a90d5ac6
    go-rules 2de2a9e0200b
    go5 39de02cc8f94
    go9 4f8c469bed29
    league-blotto a7f1242a5adb
    league-disc b45c2dd8a04f
    league-leduc 28d180e3781c
    league-pommerman 3775187632b6
    league-speed a0886e98f102
    lunar-lander f7036751e0b5
    minirts-imitation efb471bfc778
    minirts-methods 499dd421bb9d
    minirts-mixture abfb8b1bf135
    minirts-planner 1d05621f6688
    minirts-training 5da77170c081
    minirts-units c5bbeea93129
    openai-five-reuse 02469620c636
    openai-five-staleness eeea776d9678
    peers-zen4 f266bd4b7359
    peers-zen5 12f32a97281f
    pendulum 88181ad144c7
    pommerman-ffa 9075963ac32a
    pong 02722f9b4671
    pool-decisions 7bd6a70b81f6
    population-cartpole 74ef72c85f47
    rts-conformance 738ded270bcf
    rts-extended f2ce45c3a6fc
    rts-simulation 03e985064994
    search-speed 527c26248171
    tower-defense d71bb3d84bf8
    vizdoom-basic efbdafbe0ad3
    vizdoom-match 3c1d73189a49
    """.strip().splitlines()
)
LAST_BEFORE = "2026-11-25"  # newest date of such a record

_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TRAINS = re.compile(r"ludus (train|resume|sweep)\b")


class Checkout:
    """The git repository around ``root``; outside of one its questions have no answer (None)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        listed = self._git("ls-files", "-z")
        self.tracked = None if listed is None else set(listed.decode().split("\0"))

    def _git(self, *words: str) -> bytes | None:
        try:
            done = subprocess.run(["git", "-C", str(self.root), *words], capture_output=True, check=False)
        except OSError:
            return None
        return done.stdout if done.returncode == 0 else None

    def has(self, path: str) -> bool:
        """Whether the repository has this file; without git, whether it is there."""
        clean = str(Path(path))
        return (self.root / clean).is_file() if self.tracked is None else clean in self.tracked

    def knows(self, commit: str) -> bool:
        """Whether ``commit`` can be read. A shallow clone has few."""
        return self._git("cat-file", "-e", f"{commit}^{{commit}}") is not None

    def file_at(self, commit: str, path: str) -> bytes | None:
        return self._git("show", f"{commit}:{path}")


def faults(
    records: Mapping[str, Record], folder: Path = RECORDS, root: Path = ROOT, checkout: Checkout | None = None
) -> list[str]:
    """Return the faults of records that can be read, a line each.

    ``checkout``: of ``root``; None: files are looked up on the disk, and no commit is read.
    """
    wrong = []
    for name, record in records.items():
        found = [*_plain(record, folder, root), *_figures(record), *_commands(record, root, checkout)]
        found += _from_before(name, record) if record.schema == 1 else _made_now(record, folder)
        found += [] if checkout is None else _preset(record, checkout)
        wrong += [f"{name}: {text}" for text in found]
    return wrong


def figures_hash(record: Record) -> str:
    """Return a hash of the figures only: an old record's text about them may change."""
    return hashlib.sha256(msgspec.json.encode(record.figures)).hexdigest()[:12]


def notices(records: Mapping[str, Record], checkout: Checkout) -> list[str]:
    """Return the checks that could not be made here, a line each."""
    unread = sorted({r.commit for r in records.values() if r.preset and not checkout.knows(r.commit)})
    if not unread:
        return []
    return [f"not checked, commits that are not in this clone: presets of {', '.join(unread)}"]


def gone(records: Mapping[str, Record]) -> list[str]:
    """Names of :data:`FROM_BEFORE` that are none any more."""
    left = sorted(n for n in FROM_BEFORE if n not in records or records[n].schema != 1)
    return [f"{n}: no old record any more: remove the name from FROM_BEFORE" for n in left]


def _plain(record: Record, folder: Path, root: Path) -> Iterator[str]:
    if not record.figures or not record.commands:
        yield "expected at least one figure and one command"
    if not _COMMIT.fullmatch(record.commit):
        yield f"commit {record.commit!r}: expected 7 to 40 hexadecimal digits"
    if not _DATE.fullmatch(record.date):
        yield f"date {record.date!r}: expected YYYY-MM-DD"
    if record.preset and not (root / "presets" / f"{record.preset}.toml").is_file():
        yield f"no preset {record.preset}"
    if bool(record.preset) != bool(record.preset_sha256):
        yield "preset and preset_sha256 go together"
    yield from (f"no file {d}" for d in record.data if not (folder / d).is_file())


def _figures(record: Record) -> Iterator[str]:
    for figure in (*record.figures, *record.floors):
        low = figure.value if figure.low is None else figure.low
        high = figure.value if figure.high is None else figure.high
        if not low <= figure.value <= high:
            yield f"{figure.text()}: the value is outside of its interval"
        if (figure.low is None) != (figure.high is None):
            yield f"{figure.text()}: an interval has two ends"
        bounded = figure.low is not None and figure.interval != "wilson"
        if bounded and figure.count == 1:
            yield f"{figure.text()}: an interval of one seed"
        if bounded and figure.count is None and figure.interval in ("seeds", "range"):
            yield f"{figure.text()}: an interval over seeds without their count"


def _from_before(name: str, record: Record) -> Iterator[str]:
    if name not in FROM_BEFORE:
        yield "schema 1: expected 2; a record made now keeps raw lines (tools.raw_lines.write_record)"
    elif record.date > LAST_BEFORE:
        yield f"schema 1 of {record.date}: a figure measured again needs schema 2, with raw lines"
    elif figures_hash(record) != FROM_BEFORE[name]:
        yield "the figures of this old record have changed: a new figure needs schema 2, with raw lines"


def _made_now(record: Record, folder: Path) -> Iterator[str]:
    if record.transcribed:
        yield "transcribed: expected a record that a program wrote"
    if not record.data:
        yield "data is empty: expected a file with the raw lines"
    if record.section not in ("learning", "strength"):
        return
    kinds = {UNIFORM}
    if record.section == "learning" or any(_TRAINS.search(c) for c in record.commands):
        kinds.add(INITIAL)
    if any(f.unit in ("%", "return") for f in record.figures):
        yield from (
            f"no floor {kind!r}: expected the same measure of it"
            for kind in sorted(kinds)
            if not any(f.label.startswith(kind) for f in record.floors)
        )
    lines: list[Line] = []
    for name in record.data:
        try:
            lines += read_lines(folder / name) if (folder / name).is_file() else []
        except ValueError as error:
            yield str(error)
            return
    for figure in (*record.figures, *record.floors):
        yield from _computed(figure, lines)


def _computed(figure: Figure, lines: list[Line]) -> Iterator[str]:
    """Yield the faults of a figure against its raw lines."""
    if not figure.interval:
        yield f"{figure.text()}: expected an interval of wilson, seeds, range or line"
        return
    try:
        again = figure_of(lines, figure.label, figure.unit, figure.interval, figure.seed)
    except ValueError as error:
        yield str(error)
        return
    near = 0.11 * 10.0 ** -digits_of(figure.unit)
    pairs = ((figure.value, again.value), (figure.low, again.low), (figure.high, again.high))
    same = all((a is None) == (b is None) and abs((a or 0.0) - (b or 0.0)) <= near for a, b in pairs)
    if not same or figure.count != again.count:
        yield f"{figure.text()}: the raw lines give {again.text()}"


def _commands(record: Record, root: Path, checkout: Checkout | None) -> Iterator[str]:
    """Files, presets, modules and targets that the commands name and the repository lacks."""
    has = checkout.has if checkout is not None else lambda path: (root / path).is_file()
    for command in record.commands:
        try:
            words = shlex.split(command)
        except ValueError as error:
            yield f"{command!r}: {error}"
            continue
        while words and "=" in words[0]:  # an environment
            words = words[1:]
        values = [word.rpartition("=")[2].partition(":")[0] for word in words]
        needed = [(v,) for v in values if v.endswith((".toml", ".py"))]
        for choices in dict.fromkeys([*needed, *_named(words)]):
            if not any(has(path) for path in choices):
                yield f"{command!r}: {choices[0]} is not in the repository"
        if words and Path(words[0]).name == "make":
            makefile = (
                (root / "Makefile").read_text(encoding="utf-8") if (root / "Makefile").is_file() else ""
            )
            targets = [w for w in words[1:] if "=" not in w and not w.startswith("-")]
            yield from (
                f"{command!r}: the Makefile has no target {t}"
                for t in targets
                if not re.search(rf"^{re.escape(t)}:", makefile, re.MULTILINE)
            )


def _named(words: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the files, one of each tuple, behind names of presets, sweeps and modules."""
    program = Path(words[0]).name if words else ""
    presets = [value for option, value in pairwise(words) if option == "--preset"]
    if program == "ludus":
        if words[1:2] == ["train"] or words[1:3] == ["bench", "train"]:
            presets += words[words.index("train") + 1 :][:1]
        if words[1:2] == ["sweep"]:
            yield from ((word,) for word in words[2:3])
    for name in presets:
        if not name.startswith("-"):
            yield (name,) if name.endswith(".toml") else (f"presets/{name}.toml", name)
    for option, module in pairwise(words):
        if (
            program.startswith("python")
            and option == "-m"
            and module.split(".")[0] in ("benchmarks", "tools")
        ):
            path = module.replace(".", "/")
            yield f"{path}.py", f"{path}/__main__.py"


def _preset(record: Record, checkout: Checkout) -> Iterator[str]:
    """Yield a fault where the commit has no preset with this hash."""
    if not record.preset or not checkout.knows(record.commit):
        return
    path = f"presets/{record.preset}.toml"
    content = checkout.file_at(record.commit, path)
    if content is None:
        yield f"commit {record.commit} has no {path}"
    elif hashlib.sha256(content).hexdigest() != record.preset_sha256:
        yield f"commit {record.commit} has another {path} than preset_sha256"

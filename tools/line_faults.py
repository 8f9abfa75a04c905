"""Faults of runs and raw lines: each line is of a run, its seed, its weights and one setting."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.kept_weights import MAX_FILE, find_kept, kept_path
from tools.raw_lines import DIGITS, Line, unpacked
from tools.record_commands import seeds_of, split
from tools.records import DERIVED, INITIAL, Figure, Record, Run

#: Units of costs, which need no floor: numbers of the training, without weights that play.
COSTS = ("k decisions", "M decisions", "decisions", "minutes", "s", "updates")
TRAINS = re.compile(r"\bludus (train|sweep|resume)\b")
#: Matches that two trained networks cannot play alike by chance with drawn actions. Untrained ones can: they
#: choose among almost equal shares, by equal draws.
MANY = 100
#: The run of a line, by its id and the weights that played.
Runs = dict[tuple[str, str], Run]
_WORDS = dict(zip("one two three four five six seven eight nine ten".split(), range(1, 11), strict=True))
_SEEDS = re.compile(rf"\b(\d+|{'|'.join(_WORDS)}) seeds?\b", re.IGNORECASE)
_DIGEST = re.compile(r"[0-9a-f]{64}")


def run_faults(record: Record, folder: Path) -> Iterator[str]:
    """Yield the faults of the training runs of a record."""
    if not record.runs:
        if record.section == "learning" or any(TRAINS.search(c) for c in record.commands):
            yield "no runs: expected the training runs, with seeds and kept weights (tools.play_lines.run_of)"
        if record.seeds:
            yield f"seeds {list(record.seeds)} without runs"
        return
    yield from _seeds(record)
    ids = Counter((run.id, run.version) for run in record.runs)
    yield from (f"{n} runs have the id {key[0]}" for key, n in ids.items() if n > 1)
    weights = Counter(run.weights for run in record.runs if run.weights)
    yield from (f"{n} runs have the weights {key[:16]}" for key, n in weights.items() if n > 1)
    for run in record.runs:
        yield from _kept(run, folder / "weights")


def _seeds(record: Record) -> Iterator[str]:
    """Yield what is wrong with seeds: every cell has all, and the commands name the same."""
    if list(record.seeds) != sorted(set(record.seeds)):
        yield f"seeds {list(record.seeds)}: expected each one once, in order"
    for cell in dict.fromkeys(run.cell for run in record.runs):
        mine = sorted(run.counts_for for run in record.runs if run.cell == cell)
        if mine != list(record.seeds):
            yield f"runs of {cell or 'the record'!r} are of seeds {mine}, expected {list(record.seeds)}"
    for run in record.runs:
        try:
            named = seeds_of(split(run.command))
        except ValueError:
            continue  # the fault of the command is named elsewhere
        if not named and TRAINS.search(run.command) and "ludus train" in run.command and run.seed != 1:
            yield f"run {run.id}: its command names no seed, expected --run.seed {run.seed}"
        if named and run.seed not in named:
            yield f"run {run.id}: seed {run.seed}, its command has {sorted(named)}"
        several = len(named) > 1 and run.pair is None
        if several and (missing := named - {r.seed for r in record.runs if r.command == run.command}):
            yield f"{run.command!r}: no run of seed {min(missing)}"
    for found in _SEEDS.finditer(f"{record.title} \n {record.budget}"):
        number = _WORDS.get(found[1].lower(), 0) or int(found[1])
        if number != len(record.seeds):
            yield f"{found[0]!r}: the record has {len(record.seeds)}"


def _kept(run: Run, weights: Path) -> Iterator[str]:
    if run.unkept:
        if run.unkept <= MAX_FILE or run.weights or run.initial:
            yield f"run {run.id}: weights of {run.unkept:,} bytes can be kept, expected their digests"
        return
    if 0 < run.initial_unkept <= MAX_FILE:
        yield f"run {run.id}: initial weights of {run.initial_unkept:,} bytes can be kept"
    for name, digest in (("weights", run.weights), ("initial", run.initial)):
        if not _DIGEST.fullmatch(digest):
            yield f"run {run.id}: {name} {digest!r}: expected the SHA-256 of a kept file"
        elif name == "initial" and run.initial_unkept:
            continue
        elif find_kept(digest, weights) is None:
            yield f"run {run.id}: no file weights/{kept_path(digest).name}"
    if run.weights and run.weights == run.initial:
        yield f"run {run.id}: its weights are its initial ones"


def line_faults(record: Record, lines: Sequence[Line]) -> Iterator[str]:
    """Yield the faults of the raw lines of a record of players."""
    runs = {}
    for line in lines:  # a run may have several versions of its weights
        mine = [run for run in record.runs if run.id == line.run]
        found = [run for run in mine if line.weights in (run.weights, run.initial)] or mine
        if found:
            runs[line.run, line.weights] = found[0]
    digests = {run.weights for run in record.runs} | {run.initial for run in record.runs}
    floors = {figure.label: figure for figure in record.floors}
    for line in lines:
        yield from _one(line, runs, digests, floors.get(line.label), record)
    for label in dict.fromkeys(line.label for line in lines):
        yield from _together(label, [line for line in lines if line.label == label], record, runs)
    for figure in record.figures:
        yield from _kinds(figure, [line for line in lines if line.label == figure.label])


def _one(line: Line, runs: Runs, digests: set[str], floor: Figure | None, record: Record) -> Iterator[str]:
    where = f"line {line.label!r}" if line.seed is None else f"line {line.label!r} of seed {line.seed}"
    if line.setting is None:
        yield f"{where}: no setting (game, opponent, frame skips)"
        return
    run = runs.get((line.run, line.weights))
    if line.run and run is None:
        yield f"{where}: no run {line.run} in the record"
    if run is None:
        if line.weights:
            yield f"{where}: weights of no run"
        if floor is None and record.runs or floor is None and record.section == "learning":
            yield f"{where}: belongs to no run"
    else:
        yield from _of_run(line, run, floor, where)
    if line.against_weights and line.against_weights not in digests:
        yield f"{where}: weights of an opponent that no run of the record has"
    if line.setting.measure == "matches":
        count = line.matches if line.matches is not None else len(line.samples)
        if line.eval_seed is None:
            yield f"{where}: no seed of the matches (eval_seed)"
        if count != line.setting.matches:
            yield f"{where}: {count} matches, its setting has {line.setting.matches}"
        if not line.against_weights and not line.setting.opponent:
            yield f"{where}: no opponent"


def _of_run(line: Line, run: Run, floor: Figure | None, where: str) -> Iterator[str]:
    if line.seed != run.counts_for:
        yield f"{where}: its run {run.id} is of seed {run.counts_for}"
    if line.setting is not None and line.setting.measure == "training":
        if line.weights:
            yield f"{where}: measured while training, by no kept weights"
        return
    wanted = run.weights if floor is None else run.initial
    exact = line.setting is not None and line.setting.measure == "exact"
    if exact and not line.weights:
        return  # of several weights, such as a mixture of frozen players
    if run.unkept and not line.weights:
        return
    if line.weights != wanted:
        which = "weights" if floor is None else "initial weights"
        player = line.weights[:16] or "no kept weights"
        yield f"{where}: played by {player}, the run's {which} are {wanted[:16]}"


def _together(label: str, lines: Sequence[Line], record: Record, runs: Runs) -> Iterator[str]:
    """Yield faults among the lines of one label: a line for each seed, one setting, no copies."""
    settings = list(dict.fromkeys(repr(line.setting) for line in lines))
    if len(settings) > 1:
        yield f"{label!r}: lines of {len(settings)} settings, expected one"
    trained = any(line.run for line in lines)
    counted = Counter(line.seed for line in lines)
    yield from (
        f"{label!r}: {n} lines of seed {seed}, expected one"
        for seed, n in counted.items()
        if n > 1 and (seed is not None or trained or record.runs)
    )
    if trained:
        missing = [seed for seed in record.seeds if seed not in counted]
        yield from (f"{label!r}: no line of seed {seed}" for seed in missing)
        cells = {runs[key].cell for line in lines if (key := (line.run, line.weights)) in runs}
        if len(cells) > 1:
            yield f"{label!r}: lines of {len(cells)} cells, expected one"
    seen: dict[str, Line] = {}
    for line in lines:
        other = seen.setdefault(line.outcomes or repr(line.samples), line)
        learned = all(x.run and not x.label.startswith(INITIAL) for x in (line, other))
        if learned and other.seed != line.seed and _telling(line):
            yield f"{label!r}: seeds {other.seed} and {line.seed} have the same matches, one by one"
    weights = Counter(line.weights for line in lines if line.weights)
    yield from (f"{label!r}: {n} lines of the weights {w[:16]}" for w, n in weights.items() if n > 1)


def _telling(line: Line) -> bool:
    """Whether another network cannot have the same results by chance."""
    if line.setting is None or line.setting.play != "drawn" or line.setting.measure != "matches":
        return False
    if line.samples:
        return len(set(line.samples)) > 10
    found = unpacked(line.outcomes, line.matches or 0)
    return len(found) >= MANY and max(found.count(d) for d in DIGITS) <= 0.9 * len(found)


def _kinds(figure: Figure, lines: Sequence[Line]) -> Iterator[str]:
    """Yield a fault where a figure of matches is shown in a way that hides its noise."""
    if figure.kind in DERIVED:
        return
    measures = {line.setting.measure for line in lines if line.setting is not None}
    if "matches" in measures and figure.kind not in ("matches", "seeds"):
        yield f"{figure.text()}: a figure of matches, expected kind matches or seeds"
    if figure.kind == "readings" and any(line.run for line in lines):
        yield f"{figure.text()}: over training runs, expected kind seeds"
    rate = figure.unit in ("%", "return")
    if "exact" in measures and rate and any(line.run and not line.weights for line in lines):
        yield f"{figure.text()}: a rate or return of no kept weights"
    learning = any(word in figure.label for word in ("learn", "train"))
    if "training" in measures and figure.unit not in COSTS and not learning:
        yield f"{figure.text()}: measured while training, expected a label that has the word"
    if figure.unit in COSTS and (any(x.outcomes for x in lines) or measures - {"training"}):
        yield f"{figure.text()}: a cost is measured while training, not in matches"

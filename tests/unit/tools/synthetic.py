"""A small clone with records of schema 3: two cells of three seeds at tic-tac-toe, and a throughput."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np

from ludus.presets.file import load_preset
from ludus.training.actor_learner.build import build_learner
from tools.figures import figure_of, figures_of, floors_of
from tools.kept_weights import keep_weights
from tools.play_lines import floor_kinds, floors, play, setting_of
from tools.raw_lines import Line, sampled, write_record
from tools.record_commands import settings_files
from tools.records import ROOT, Record, Run, Wanted, load, sha256_of
from tools.results import main, render

CELLS = ("league", "naive")
SEEDS = (1, 2, 3)
MATCHES = 120
LEAGUE, NAIVE = (f"{cell}, against random, drawn" for cell in CELLS)
SMALL = {"policy.dense": "[4]", "policy.hidden": "[4]", "run.threads": "1"}
ROW = "| Tic-tac-toe by a league, against random | {league}% won | {naive}% by naive self-play"
README = f"""# Ludus

## Numbers

| | Ludus | compared with |
|---|---|---|
{ROW} <!-- ttt: {{a}}; {{b}} --> |
| Speed of MOBA | {{speed}} million ticks/s | <!-- speed: MOBA --> |

## More

Nine steps, C++20.
"""
RTS = "# RTS\n\nThe guide's own preset wins 98.7% of 1000 against riders.\n"
UNTIED = '[[number]]\npage = "games/rts.md"\ntext = "wins 98.7% of 1000 against"\nreason = "R"\n'
PAGE = "# Results\n\n" + "".join(
    f"<!-- results: {name} -->\n<!-- end -->\n\n" for name in ("learning", "strength", "throughput")
)


def run_of(cell: str, seed: int, weights: Path) -> Run:
    """Return a run whose weights are its initial ones with some noise, without training."""
    number = seed + 10 * CELLS.index(cell)
    preset = load_preset("tic_tac_toe", {**SMALL, "run.seed": str(number)}).preset
    first = build_learner(preset).weights()
    initial = keep_weights(first, "x", weights)
    draw = np.random.default_rng(number)
    tensors = {
        n: a + draw.normal(0.0, 0.4, a.shape).astype(a.dtype) if a.dtype == np.float32 and a.ndim else a
        for n, a in first.tensors.items()
    }
    last = msgspec.structs.replace(first.meta, version=9)
    kept = keep_weights(type(first)(last, tensors), "x", weights)
    command = f"ludus train tic_tac_toe --run.seed {seed}"
    command += " --run.max-steps 9" if cell == "naive" else ""
    return Run(
        id=f"{number:032x}", seed=seed, command=command, version=9, weights=kept, initial=initial, cell=cell
    )


def learning(weights: Path) -> tuple[Record, list[Line]]:
    """Return the record of both cells, without its commit."""
    runs = [run_of(cell, seed, weights) for cell in CELLS for seed in SEEDS]
    setting = setting_of("tic_tac_toe", {}, "random", "drawn", MATCHES)
    lines = [play(f"{run.cell}, against random, drawn", setting, 5, run=run, folder=weights) for run in runs]
    figures = figures_of(lines, "%", "seeds")
    made = list(floors(lines, runs, figures, weights))
    difference = figure_of(lines, "league minus naive", "points", "difference", of=(LEAGUE, NAIVE))
    record = Record(
        schema=3,
        section="learning",
        title="Tic-tac-toe by a league and by naive self-play, three seeds",
        figures=(*figures, difference),
        floors=tuple(floors_of(made, figures, floor_kinds(setting, trained=True))),
        commands=tuple(dict.fromkeys(run.command for run in runs)),
        commit="",
        date="2026-11-28",
        machine="2 cores of M",
        seeds=SEEDS,
        runs=tuple(runs),
    )
    return record, [*lines, *made]


def speed() -> tuple[Record, list[Line]]:
    """Return the record of a throughput with a ratio, without its commit."""
    lines = [sampled("MOBA", [0.9, 0.88, 0.91]), sampled("Flag", [2.4, 2.2, 2.3])]
    ratio = figure_of(lines, "MOBA in parts of Flag", "x", "ratio", of=("MOBA", "Flag"))
    record = Record(
        schema=3,
        section="throughput",
        title="Speed of MOBA",
        figures=(*figures_of(lines, "M ticks/s", "readings"), ratio),
        commands=("python -m benchmarks.throughput.simulation minirts --rounds 3",),
        commit="",
        date="2026-11-28",
        machine="2 cores of M",
        wanted=(Wanted("MOBA", least=1.0),),
    )
    return record, lines


class Clone:
    """The clone in ``root``: its records may be changed and checked."""

    def __init__(self, root: Path) -> None:
        """Take the clone in ``root``."""
        self.root, self.results = root, root / "benchmarks" / "results"

    @classmethod
    def make(cls, root: Path) -> Clone:
        """Write the clone, and commit everything but the records."""
        for name in ("presets/tic_tac_toe.toml", "Makefile", "cpp/tools/gamectl.cpp"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
        for name, text in (
            ("benchmarks/throughput/simulation.py", ""),
            ("docs/results.md", PAGE),
            ("docs/games/rts.md", RTS),
            ("tools/untied_numbers.toml", UNTIED),
        ):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@x.org"]
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "m"], check=True)
        done = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        made = cls(root)
        for name, (record, lines) in (("ttt", learning(made.results / "weights")), ("speed", speed())):
            record = msgspec.structs.replace(record, commit=done.stdout.strip())
            files = {path: sha256_of(root / path) for path in settings_files(record)}
            write_record(name, msgspec.structs.replace(record, files=files), lines, made.results)
        made.write_readme()
        return made

    def copy(self, root: Path) -> Clone:
        """Return a copy."""
        shutil.copytree(self.root, root)
        return Clone(root)

    def record(self, name: str = "ttt") -> Record:
        """Return a record."""
        return msgspec.json.decode((self.results / f"{name}.json").read_bytes(), type=Record)

    def lines(self, name: str = "ttt") -> list[Line]:
        """Return its raw lines."""
        text = (self.results / "data" / f"{name}.jsonl").read_bytes().splitlines()
        return [msgspec.json.decode(line, type=Line) for line in text]

    def write_readme(self) -> None:
        """Write README with the figures of the records as they are."""
        league, naive = (self.record().figure(label) for label in (LEAGUE, NAIVE))
        moba = self.record("speed").figure("MOBA")
        assert league is not None
        assert naive is not None
        assert moba is not None
        text = README.format(league=league.value, naive=naive.value, a=LEAGUE, b=NAIVE, speed=moba.value)
        (self.root / "README.md").write_text(text)

    def change(self, name: str = "ttt", **fields: object) -> None:
        """Change fields of a record; ``lines`` of its document stay the hash of the data file."""
        self.write(msgspec.structs.replace(self.record(name), **fields), self.lines(name), name)

    def write(self, record: Record, lines: list[Line], name: str = "ttt") -> None:
        """Write a record with raw lines and the right hash."""
        write_record(name, record, lines, self.results)

    def relined(self, change: Callable[[Line], Line | None], name: str = "ttt") -> None:
        """Change raw lines, and compute every figure from them again, as a careful forger does."""
        lines = [new for line in self.lines(name) if (new := change(line)) is not None]
        record = self.record(name)

        def again(kind: str) -> tuple[object, ...]:
            return tuple(
                figure_of(
                    lines,
                    f.label,
                    f.unit,
                    f.kind,
                    f.seed,
                    f.of,
                    lower_is_better=f.lower_is_better,
                    floor=f.floor,
                    floor_of=f.floor_of,
                )
                for f in getattr(record, kind)
            )

        self.write(
            msgspec.structs.replace(record, figures=again("figures"), floors=again("floors")), lines, name
        )
        self.write_readme()

    def raw(self, name: str, change: Callable[[dict[str, object]], None]) -> None:
        """Change the document of a record as JSON."""
        path = self.results / f"{name}.json"
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    def check(self) -> int:
        """Write the page, as a forger does, and check."""
        page = self.root / "docs" / "results.md"
        with suppress(ValueError):
            page.write_text(render(page.read_text(), load(self.results), self.root))
        return main(["--check"], self.root)

"""Evaluations of finished runs as raw lines, with their floors: what the programs of strength share.

The weights of each run are kept first, and the kept file plays, so that everything can be played again.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from ludus.evaluation.results import ALONE
from ludus.games import spec
from ludus.policies.weights import load_meta
from ludus.presets.checks.game import params_text
from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory, resolve_weights
from ludus.training.opponents import opponent_skip
from tools.figures import floor_label
from tools.kept_weights import FOLDER
from tools.play_lines import floor_kinds, floors, play, run_of, setting_of
from tools.raw_lines import Line, Setting, read_lines
from tools.records import DERIVED, Figure, Run


class Played(NamedTuple):
    """A run whose weights play: ``where`` is its directory."""

    run: Run
    where: Path
    reference: str


class Store:
    """Finished lines of a file (``--lines``), read first and added to; None: they are not kept."""

    def __init__(self, path: Path | None) -> None:
        """Read the lines that are there. Raises ``ValueError``."""
        self.path = path
        known = read_lines(path) if path is not None and path.is_file() else []
        self._known = {self._key(line): line for line in known}

    @staticmethod
    def _key(line: Line) -> tuple[str, int | None, str, str, str]:
        return line.label, line.seed, line.weights, line.against_weights, repr(line.setting)

    def find(self, label: str, seed: int | None, setting: Setting, weights: str = "") -> Line | None:
        """Return a finished line."""
        wanted = label, seed, weights, repr(setting)
        keys = (k for k in self._known if (k[0], k[1], k[2], k[4]) == wanted)
        return next((self._known[k] for k in keys), None)

    def add(self, line: Line) -> Line:
        """Keep a line, and print it."""
        if self.path is not None and self._key(line) not in self._known:
            with self.path.open("ab") as file:
                file.write(msgspec.json.encode(line) + b"\n")
        self._known[self._key(line)] = line
        seed = "" if line.seed is None else f"seed {line.seed}, "
        mean = sum(line.samples) / len(line.samples) if line.samples else 0.0
        result = f"{line.won} of {line.matches}" if line.matches else f"{mean:.4g}"
        print(f"{seed}{line.label}: {result}", file=sys.stderr, flush=True)
        return line


@contextmanager
def weights_folder(record: str) -> Iterator[Path]:
    """Give the folder of kept weights: the records' folder, or without a record one that is removed."""
    if record:
        yield FOLDER
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def preset_of(run: Path) -> Preset:
    """Return the settings of the run. Raises ``ConfigError`` and ``StorageError``."""
    opened = RunDirectory.open(run)
    return parse_preset(opened.config_bytes(), str(opened.config)).preset


def kept_runs(
    references: Iterable[str],
    command: str,
    folder: Path,
    *,
    cell: str = "",
    pairs: Sequence[int] = (),
    initial: str = "",
    started_from: str = "",
) -> list[Played]:
    """Keep the weights ``RUN@last`` of each reference; ``--run.seed S`` of the command is filled in.

    Raises ``ValueError`` for two runs of one seed, which would count twice.
    """
    found = []
    for number, reference in enumerate(references):
        named = reference if "@" in Path(reference).name else f"{reference}@last"
        made = run_of(
            named,
            command,
            cell=cell,
            pair=pairs[number] if pairs else None,
            initial=initial,
            started_from=started_from,
            folder=folder,
        )
        found.append(Played(made, Path(named.rpartition("@")[0]), named))
    seeds = [one.run.seed for one in found]
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds {seeds}, expected runs with different seeds")
    return found


class Asked(NamedTuple):
    """Measures of evaluations beside wins and returns.

    Attributes:
        params: Parameters of the game that are other than in the training.
        score: Named score that counts; "": the outcome, or the return.
        rivals: Weights of the opponents, by the seed that the run counts for.
    """

    params: Mapping[str, str] = MappingProxyType({})
    score: str = ""
    rivals: Mapping[int, str] = MappingProxyType({})


PLAIN = Asked()


def setting_of_run(one: Played, opponent: str, play_: str, matches: int, asked: Asked = PLAIN) -> Setting:
    """Return the setting of a run's evaluations against an opponent of its game, by name."""
    preset = preset_of(one.where)
    params = {**params_text(preset.game.params), **asked.params}
    return setting_of(
        preset.game.name,
        params,
        ALONE if spec(preset.game.name, params).seats == 1 else opponent,
        play_,
        matches,
        frame_skip=load_meta(resolve_weights(one.reference)).frame_skip,
        against_frame_skip=opponent_skip(preset, opponent),
        score=asked.score,
    )


def label_of(cell: str, opponent: str, play_: str, score: str = "") -> str:
    """Return the label of a figure: ``n=6, against simple, greedy``."""
    against = "" if opponent == ALONE else f"against {opponent}"
    return ", ".join(text for text in (cell, score, against, play_) if text)


def evaluations(
    runs: Sequence[Played],
    opponents: Sequence[str],
    plays: Sequence[str],
    matches: int,
    seed: int,
    store: Store,
    folder: Path,
    asked: Asked = PLAIN,
) -> Iterator[Line]:
    """Yield a line for each opponent, way of play and run, all of one cell."""
    for opponent in opponents:
        for play_ in plays:
            for one in runs:
                setting = setting_of_run(one, opponent, play_, matches, asked)
                label = label_of(one.run.cell, setting.opponent, play_, asked.score)
                found = store.find(label, one.run.counts_for, setting, one.run.weights)
                rival = asked.rivals.get(one.run.counts_for, "")
                yield found or store.add(
                    play(label, setting, seed, run=one.run, against_weights=rival, folder=folder)
                )


def all_floors(
    lines: Sequence[Line], runs: Sequence[Run], figures: Sequence[Figure], store: Store, folder: Path
) -> tuple[list[Line], list[str]]:
    """Return the lines of all floors of the figures, and the kinds of floors that there are."""
    made: list[Line] = []
    kinds: list[str] = []
    for figure in figures:
        own = [x for x in lines if x.label == figure.label and x.setting is not None]
        if figure.kind in DERIVED or not own or own[0].setting is None:
            continue
        if own[0].setting.measure != "matches":
            continue
        mine = floor_kinds(own[0].setting, bool(own[0].run))
        kinds += [kind for kind in mine if kind not in kinds]
        labels = [floor_label(kind, figure.label) for kind in mine]
        known = [x for x in made if x.label in labels]  # of another seed's figure of the same label
        if not known:
            made += [store.add(line) for line in floors(lines, runs, [figure], folder)]
    return made, kinds

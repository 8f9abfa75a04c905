"""Names of weights: ``RUN@best``, ``RUN@last``, ``RUN@1200``, in a league ``RUN@main:1200``; or a file."""

from __future__ import annotations

from pathlib import Path

from ludus.flow.weights import Weights
from ludus.storage.errors import RunNotFound
from ludus.storage.frozen import is_player_name
from ludus.storage.rundir import RunDirectory
from ludus.storage.tensors import read_weights

ALL = "all"  #: RUN@all: every kept version of a run, every frozen player of a league


def is_reference(text: str) -> bool:
    """Whether ``text`` names weights, not a bot: it has an ``@`` or our suffix, or is an existing file."""
    return "@" in text or text.endswith(".safetensors") or Path(text).is_file()


def is_run(text: str) -> bool:
    """Whether ``text`` is the directory of a run."""
    return bool(text) and (Path(text) / "run.json").is_file()


def refuse_run(text: str) -> None:
    """Raises ``RunNotFound`` for a player's name that lacks its ``@best``."""
    if is_run(text):
        raise RunNotFound(
            f"{text}: a run, not a player (did you mean {text}@best?); also RUN@last, RUN@VERSION"
        )


def run_of(path: Path) -> RunDirectory | None:
    """The run that a weights file lies in, or None."""
    folders = path.resolve().parents
    if len(folders) < 3 or not is_run(str(folders[2])):
        return None
    return RunDirectory(folders[2])


def name_of(path: Path, version: int) -> str:
    """The name of weights in results, replays and ``matches.jsonl``: ``RUN@VERSION`` or
    ``RUN@PLAYER:VERSION``, where RUN is the name of the run's folder; the path of weights outside a run.
    """
    run = run_of(path)
    if run is None:
        return str(path)
    folder = path.resolve().parent
    frozen = folder.parent == run.snapshots.resolve() and is_player_name(folder.name)
    return run.reference(version, folder.name if frozen else "")


def resolve_weights(text: str) -> Path:
    """The weights file that ``text`` names. Raises ``RunNotFound`` with the valid names."""
    folder, at, reference = text.rpartition("@")
    if at:
        if not reference or not folder:
            raise RunNotFound(f"{text!r}: expected RUN@best, RUN@last, RUN@VERSION or RUN@PLAYER:VERSION")
        run = RunDirectory.open(Path(folder))
        if reference == ALL:
            raise RunNotFound(f"{text!r}: several players, expected one; ludus rate takes RUN@all")
        return run.frozen.find(reference) if ":" in reference else _version(run, reference)
    path = Path(text)
    if path.is_dir():
        return RunDirectory.open(path).checkpoints.weights_path("best")
    if not path.is_file():
        raise RunNotFound(f"{text}: no such weights file; expected a file, RUN@best, RUN@last or RUN@VERSION")
    return path


def _version(run: RunDirectory, reference: str) -> Path:
    """A checkpoint by name; in a league a player's name alone is explained."""
    if run.frozen.versions(reference):
        raise RunNotFound(
            f"{run.path}@{reference}: which version? (did you mean {run.path}@{reference}:last?)"
        )
    return run.checkpoints.weights_path(reference)


def all_of(run: RunDirectory) -> list[list[str]]:
    """What ``RUN@all`` stands for, as names behind the ``@``: a list for each member of a league, oldest
    first; of any other run one list of its checkpoints.

    Of a league those that its journal has as frozen players: not the first weights of an exploiter, which
    nobody meets. Raises ``CorruptFile`` for a damaged journal.
    """
    kept = {player: run.frozen.versions(player) for player in run.frozen.players()}
    if not any(kept.values()):
        return [[str(version) for version in run.checkpoints.versions()]]
    if run.league.exists():
        from ludus.storage.journal import Journal  # sqlite3: for leagues alone

        with Journal.read(run.league) as journal:
            met = journal.frozen()
        kept = {player: [v for v in versions if (player, v) in met] for player, versions in kept.items()}
    return [[f"{player}:{v}" for v in versions] for player, versions in kept.items() if versions]


def load_weights(text: str) -> Weights:
    """Weights by name. Raises ``RunNotFound`` or ``CorruptFile``."""
    return read_weights(resolve_weights(text))

"""Names of weights: ``RUN@best``, ``RUN@last``, ``RUN@1200``; a file; in a league also its members.

``RUN@main``: the weights of a member in the newest checkpoint. ``RUN@main:1200``: a frozen
player, or what a checkpoint has of the member at that version. ``RUN@main:last``: its newest frozen player.
``zoo:NAME``: a player of the package (:mod:`ludus.storage.zoo`).
"""

from __future__ import annotations

import re
from pathlib import Path

from ludus.flow.inputs.regular import TEXT
from ludus.flow.inputs.shown import shell
from ludus.flow.names import did_you_mean, nearest
from ludus.flow.weights import Weights
from ludus.storage import zoo
from ludus.storage.checkpoints import member_of_file
from ludus.storage.errors import RunNotFound
from ludus.storage.frozen import is_player_name
from ludus.storage.rundir import RunDirectory, is_aside
from ludus.storage.tensors import read_weights

ALL = "all"  #: RUN@all: every kept version of a run, every frozen player of a league
#: Version 0 of a run, or of a member of a league.
_INITIAL = re.compile(r"(@0+|(?:@|\A)[a-z0-9][a-z0-9_-]{0,63}:0+)(\+[^@]*)?\Z")


def is_reference(text: str) -> bool:
    """Whether ``text`` names weights, not a bot: of the zoo, with an ``@`` or our suffix, or a file."""
    return zoo.is_zoo(text) or "@" in text or text.endswith(".safetensors") or Path(text).is_file()


def is_run(text: str) -> bool:
    """Whether ``text`` is the directory of a run."""
    return bool(text) and not is_aside(Path(text).name) and (Path(text) / "run.json").is_file()


def refuse_run(text: str) -> None:
    """Raise ``RunNotFound`` for a player's name that lacks its ``@best``."""
    if is_run(text):
        raise RunNotFound(
            f"{text}: a run, not a player (did you mean {text}@best?); also RUN@last, RUN@VERSION"
        )


def run_of(path: Path) -> RunDirectory | None:
    """Return the run that a weights file lies in, or None."""
    folders = path.resolve().parents
    if len(folders) < 3 or not is_run(str(folders[2])):
        return None
    return RunDirectory(folders[2])


def name_of(path: Path, version: int) -> str:
    """Return the name of weights in results, replays and ``matches.jsonl``.

    That is ``RUN@VERSION`` or ``RUN@PLAYER:VERSION``, where RUN is the name of the run's folder, ``zoo:NAME``
    for a player of the zoo, and the path for other weights outside a run.
    """
    if named := zoo.name_of_path(path):
        return named
    run = run_of(path)
    if run is None:
        return str(path)
    folder = path.resolve().parent
    if folder.parent == run.snapshots.resolve() and is_player_name(folder.name):
        return run.reference(version, folder.name)
    return run.reference(version, member_of_file(path)[0])


def labelled(name: str) -> str:
    """Return the name of weights for people: version 0 has ``(initial weights)`` behind it."""
    return _INITIAL.sub(r"\1 (initial weights)\2", name)


def resolve_weights(text: str) -> Path:
    """Return the weights file that ``text`` names. Raises ``RunNotFound`` with the valid names."""
    if zoo.is_zoo(text):
        _refuse_suffix(text, text)
        return zoo.path_of(text)
    folder, at, reference = text.rpartition("@")
    if at:
        if folder:
            _refuse_suffix(reference, text)
        if not reference or not folder:
            raise RunNotFound(
                f"{text!r}: expected RUN@best, RUN@last, RUN@VERSION, RUN@PLAYER or RUN@PLAYER:VERSION"
            )
        run = RunDirectory.open(Path(folder))
        if reference == ALL:
            raise RunNotFound(f"{text!r}: several players, expected one; ludus rate takes RUN@all")
        return _of_member(run, reference) if ":" in reference else _newest(run, reference)
    path = Path(text)
    if path.is_dir():
        return RunDirectory.open(path).checkpoints.weights_path("best")
    if path.exists() and not path.is_file():
        raise RunNotFound(f"{text}: {TEXT}; expected a weights file, RUN@best, RUN@last or RUN@VERSION")
    if not path.is_file():
        raise RunNotFound(f"{text}: no such weights file; expected a file, RUN@best, RUN@last or RUN@VERSION")
    return path


def _refuse_suffix(reference: str, text: str) -> None:
    """Raise ``RunNotFound`` for a ``+`` in ``reference``, the end of ``text``: only +search is known."""
    _, plus, how = reference.partition("+")
    if plus:
        visits = how.partition(":")[2]
        wanted = f"+search:{visits}" if visits else "+search:VISITS"
        near = nearest(how.partition(":")[0], ["search"], 0.5)
        meant = f"did you mean {wanted}?" if near else f"expected {wanted} behind weights"
        raise RunNotFound(f"{text!r}: unknown +{how[:40]} ({meant})")


def members_of(run: RunDirectory) -> list[str]:
    """Return the sorted names of a league's members that have weights, empty for any other run."""
    store, frozen = run.checkpoints, run.frozen
    versions = store.versions()
    saved = store.members(store.resolve("last")) if versions else {}
    return sorted({*saved, *(p for p in frozen.players() if frozen.versions(p))})


def _of_member(run: RunDirectory, reference: str) -> Path:
    """Return the file of ``PLAYER:VERSION``: of a frozen player, else from a checkpoint."""
    player, _, number = reference.partition(":")
    fits = is_player_name(player) and number.isdecimal() and len(number) <= 18
    if fits and int(number) not in run.frozen.versions(player):
        path = run.checkpoints.member_path(int(number), player)
        if path is not None:
            return path
    return run.frozen.find(reference)


def _newest(run: RunDirectory, reference: str) -> Path:
    """Return a checkpoint's weights by name, or the newest ones of a member of a league."""
    store = run.checkpoints
    members = members_of(run)
    if reference in ("best", "last") or (reference not in members and reference.isdecimal()):
        return store.weights_path(reference)
    if reference not in members:
        if members:
            hint = did_you_mean(reference, [*members, "best", "last"], "members")
            raise RunNotFound(f"{run.path}: no member {reference[:80]!r}{hint}; also best, last or a version")
        return store.weights_path(reference)
    if not store.versions():
        frozen = any(run.frozen.versions(reference)[-1:])
        there = "last is its newest frozen player" if frozen else "0 are its initial weights"
        raise RunNotFound(
            f"{run.path}@{reference}: the run has no checkpoint yet; {run.path}@{reference}:{there}"
        )
    last = store.resolve("last")
    path = store.members(last).get(reference)
    if path is None:
        raise RunNotFound(
            f"{run.path}@{reference}: no weights of this member in the newest checkpoint; "
            f"after ludus resume {shell(str(run.path))} the next one has them"
        )
    return path


def all_of(run: RunDirectory) -> list[list[str]]:
    """Return the names that ``RUN@all`` stands for, without the ``RUN@``.

    Returns:
        In a league one list for each member, oldest first: its frozen players in the journal, without the
        first weights of an exploiter, which no one meets. In any other run one list of its checkpoints.

    Raises:
        CorruptFile: The journal is damaged.
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
    """Return weights by name. Raises ``RunNotFound`` or ``CorruptFile``."""
    return read_weights(resolve_weights(text))

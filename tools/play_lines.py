"""Matches as raw lines: published evaluations are played here, and played again.

:func:`run_of` keeps a run's weights, :func:`play` plays them from the kept file, :func:`floors` plays those
that learned nothing in the same setting, :func:`again` plays a finished line a second time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tools.figures import floor_label
from tools.kept_weights import FOLDER, TooLarge, first_weights_of, keep, keep_weights, opened_all
from tools.raw_lines import Line, Setting, counted, sampled
from tools.records import BOT, INITIAL, UNIFORM, Figure, Run

if TYPE_CHECKING:
    from ludus.flow import MatchResult

PLAYS = ("drawn", "greedy")
TOGETHER = " + "  # between several opponents of one line


def run_of(
    reference: str,
    command: str,
    *,
    cell: str = "",
    pair: int | None = None,
    initial: str = "",
    started_from: str = "",
    half: bool = True,
    folder: Path = FOLDER,
) -> Run:
    """Keep the weights ``RUN@last`` or ``RUN@PLAYER`` and the run's initial ones. Return the run.

    Args:
        reference: The weights that play.
        command: That trained the run; ``--run.seed S`` has the run's seed filled in, ``{S}`` the record's.
        cell: Cell of the experiment.
        pair: The seed of the record that the run counts for, where its own is another.
        initial: Weights that the run started from (default: its own of version 0).
        started_from: What these are, where they had been trained before.
        half: Keep half precision.
        folder: Folder of kept weights.

    Raises:
        StorageError: There are no such weights.
    """
    where, _, player = reference.rpartition("@")
    run_id, seed, version = run_facts(reference)
    made = Run(
        id=run_id,
        seed=seed,
        command=command.replace("--run.seed S", f"--run.seed {seed}").replace(
            "{S}", str(seed if pair is None else pair)
        ),
        version=version,
        weights="",
        cell=cell,
        pair=pair,
        started_from=started_from,
    )
    name = player.partition(":")[0]
    member = name not in ("", "last", "best") and not name.isdecimal()
    try:
        weights = keep(reference, folder, half=half)
        if initial or member:
            first = keep(initial or f"{where}@{name}:0", folder, half=half)
        else:
            first = keep_weights(first_weights_of(Path(where)), f"{where}@0", folder, half=half)
    except TooLarge as error:
        return msgspec.structs.replace(made, unkept=error.size)
    if weights == first:
        raise ValueError(f"{reference}: untrained weights; expected RUN@last or RUN@PLAYER")
    return msgspec.structs.replace(made, weights=weights, initial=first)


def run_facts(reference: str) -> tuple[str, int, int]:
    """Return a run's id and seed, and the version of its weights. Raises ``StorageError``."""
    from ludus.policies.weights import load_meta
    from ludus.presets.file import parse_preset
    from ludus.storage import RunDirectory, resolve_weights

    opened = RunDirectory.open(Path(reference.rpartition("@")[0]))
    seed = parse_preset(opened.config_bytes(), str(opened.config)).preset.run.seed
    return opened.info().run_id, seed, load_meta(resolve_weights(reference)).version


def setting_of(
    game: str,
    params: dict[str, str],
    opponent: str,
    play: str,
    matches: int,
    *,
    frame_skip: int = 0,
    against_frame_skip: int = 0,
    search: str = "",
    random_start: int = 0,
    of_seat: int = -1,
    member: int = 0,
    less: dict[str, str] | None = None,
    returned: str = "",
    score: str = "",
) -> Setting:
    """Return a setting with the frame skips that are played: 0 is the game's default."""
    from ludus.games import spec

    default = max(1, spec(game, params).default_frame_skip)
    return Setting(
        game=game,
        params=params,
        frame_skip=frame_skip or default,
        against_frame_skip=against_frame_skip or default,
        opponent=opponent,
        play=play,
        matches=matches,
        search=search,
        random_start=random_start,
        of_seat=of_seat,
        member=member,
        less=less or {},
        returned=returned,
        score=score,
    )


def play(
    label: str,
    setting: Setting,
    eval_seed: int,
    *,
    run: Run | None = None,
    player: str = "",
    against_weights: str = "",
    seed: int | None = None,
    folder: Path = FOLDER,
    initial: bool = False,
) -> Line:
    """Play matches and return their line.

    Args:
        label: Label of the line.
        setting: How; its opponent plays unless ``against_weights`` are given.
        eval_seed: Seed of the matches.
        run: Its kept weights play; with ``initial`` those that it started from.
        player: A bot, ``uniform`` or a search plays instead.
        against_weights: SHA-256 of the kept weights of the opponent.
        seed: Seed of the line (default: the run's).
        folder: Folder of kept weights.
        initial: See ``run``.

    Raises:
        ValueError: A match had an error, or there are no such weights.
    """
    weights = "" if run is None else run.initial if initial else run.weights
    if run is not None and not weights:
        raise ValueError(f"{label}: the weights of run {run.id} are not kept")
    found = _played(label, setting, eval_seed, weights, player, against_weights, folder)
    mine = seed if run is None or seed is not None else run.counts_for
    name = player if run is None else f"{run.cell or 'run'}@{0 if initial else run.version}"
    return msgspec.structs.replace(
        found,
        seed=mine,
        run="" if run is None else run.id,
        player=name,
        against=setting.opponent,
        weights=weights,
        against_weights=against_weights,
    )


def _played(
    label: str,
    setting: Setting,
    eval_seed: int,
    weights: str,
    player: str,
    against_weights: str,
    folder: Path,
) -> Line:
    from ludus.evaluation.results import ALONE

    plain = msgspec.structs.replace(setting, member=0, less={}, returned="", score="", of_seat=-1)
    key = eval_seed, weights, player, against_weights, folder
    results = _matches(msgspec.json.encode(plain), *key)
    if setting.score:
        return sampled(label, _scores(results, setting), setting=setting, eval_seed=eval_seed)
    if setting.returned or setting.opponent == ALONE:
        returns = _returns(results, setting)
        if setting.less:
            base = msgspec.structs.replace(plain, params=setting.less)
            less = _returns(_matches(msgspec.json.encode(base), *key), setting)
            returns = [a - b for a, b in zip(returns, less, strict=True)]
        return sampled(label, returns, setting=setting, eval_seed=eval_seed)
    ends = [r.outcome[_seat(r, setting)] for r in results]
    text = "".join("w" if e > 0 else "l" if e < 0 else "d" for e in ends)
    return counted(label, text, setting=setting, eval_seed=eval_seed)


def _seat(result: MatchResult, setting: Setting) -> int:
    """Return the seat whose results count."""
    if setting.of_seat >= 0:
        return setting.of_seat
    from ludus.evaluation.results import seat_of_plan
    from ludus.games import spec

    own, declared = seat_of_plan(result, 0), spec(setting.game, setting.params)
    return [seat for seat in range(declared.seats) if declared.together(own, seat)][setting.member]


def _returns(results: Sequence[MatchResult], setting: Setting) -> list[float]:
    return [float(r.returns[_seat(r, setting)]) for r in results]


def _scores(results: Sequence[MatchResult], setting: Setting) -> list[float]:
    from ludus.games import spec

    names = spec(setting.game, setting.params).scores
    if setting.score not in names:
        raise ValueError(
            f"{setting.game} has no score {setting.score} (scores: {', '.join(names) or 'none'})"
        )
    column = names.index(setting.score)
    return [float(r.scores[_seat(r, setting)][column]) for r in results]


@lru_cache(maxsize=8)
def _matches(
    encoded: bytes, eval_seed: int, weights: str, player: str, against_weights: str, folder: Path
) -> tuple[MatchResult, ...]:
    """Play the matches of a setting, against each of its opponents."""
    from ludus.evaluation.evaluate import evaluate
    from ludus.evaluation.results import ALONE
    from ludus.evaluation.settings import MatchSettings

    setting = msgspec.json.decode(encoded, type=Setting)
    opponents = setting.opponent.split(TOGETHER)
    results: list[MatchResult] = []
    with opened_all([weights, against_weights], folder) as (own, other):
        asked = MatchSettings(
            matches=setting.matches // len(opponents),
            seed=eval_seed,
            frame_skip=setting.frame_skip,
            against_frame_skip=setting.against_frame_skip,
            greedy=setting.play == "greedy",
            random_start=setting.random_start,
            max_ticks=setting.max_ticks,
            device="cpu",
        )
        for name in opponents:
            evaluate(
                f"{own}{setting.search}" if own else player,
                f"{other}{setting.search}" if other else "" if name == ALONE else name,
                asked,
                game=setting.game,
                params={**setting.params},
                keep=results.append,
            )
    wrong = [r for r in results if r.error]
    if wrong or len(results) < setting.matches:
        raise ValueError(f"{len(wrong)} of {len(results)} matches ended with an error")
    return tuple(results)


def floor_kinds(setting: Setting, trained: bool) -> list[str]:
    """Return the floors that a figure in this setting has: initial weights, uniform play, every bot."""
    from ludus.games import spec

    if setting.of_seat >= 0:
        return []  # how even seats are, not how well someone plays
    found = [INITIAL] if trained else []
    if setting.measure != "programs":  # no program plays uniformly
        found.append(UNIFORM)
    if setting.measure not in ("matches", "programs"):
        return found
    declared = spec(setting.game, setting.params)
    return found + [f"{BOT}{bot.name}" for bot in declared.bots]


def floors(
    lines: Sequence[Line], runs: Sequence[Run], figures: Sequence[Figure], folder: Path = FOLDER
) -> Iterator[Line]:
    """Play the floors of ``figures`` from the settings and seeds of their lines, and yield their lines."""
    by_id = {run.id: run for run in runs}
    for figure in figures:
        mine = [x for x in lines if x.label == figure.label and x.setting and figure.seed in (None, x.seed)]
        if not mine or mine[0].setting is None:
            continue
        kinds = floor_kinds(mine[0].setting, bool(mine[0].run))
        for kind in kinds:
            label = floor_label(kind, figure.label)
            every = kind == INITIAL or not mine[0].run or mine[0].against_weights
            for line in mine if every else mine[:1]:
                assert line.setting is not None
                assert line.eval_seed is not None
                own = by_id[line.run] if kind == INITIAL else None
                yield play(
                    label,
                    line.setting,
                    line.eval_seed,
                    run=own,
                    initial=own is not None,
                    player=kind.removeprefix(BOT) if own is None else "",
                    against_weights=line.against_weights,
                    seed=line.seed if own or line.against_weights else None,
                    folder=folder,
                )


def again(line: Line, folder: Path = FOLDER) -> Line:
    """Play the matches of a line again. Raises ``ValueError`` for a line that has no matches to play."""
    if line.setting is None or line.eval_seed is None or line.setting.measure != "matches":
        raise ValueError(f"{line.label!r}: not of matches")
    player = "" if line.weights else line.player
    return _played(
        line.label,
        line.setting,
        line.eval_seed,
        line.weights,
        player,
        line.against_weights,
        folder,
    )

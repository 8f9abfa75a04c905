"""Measures of the zoo's players as records with raw lines, by ``benchmarks/strength/zoo.toml``.

Floors are the initial weights of the same network, uniform play and every bot of the game, each in the same
setting. The initial weights are drawn again from the command that trained the player.
"""

from __future__ import annotations

import argparse
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import tomllib

from benchmarks.strength import gtp_match
from benchmarks.strength.evaluated import Store
from ludus.evaluation.exploitability import exploitability, plans_of, sequence_form, uniform
from ludus.evaluation.results import ALONE
from ludus.evaluation.value_kept import moves_of, outcomes_of, solved_positions
from ludus.evaluation.zoo_check import (
    EXPLOITABILITY,
    GNU_GO,
    MEASURES,
    RETURN,
    VALUE_KEPT,
    exploitability_of,
    figure_label,
    unit_of,
)
from ludus.flow import Weights
from ludus.flow.process.as_found import one_thread
from ludus.policies.weights import load_meta
from ludus.storage import zoo
from ludus.storage.zoo import Card
from tools.figures import figure_of, floor_label, floors_of
from tools.kept_weights import MAX_FILE, encoded, first_weights_of, kept_path, opened, rounded
from tools.new_record import own_command, published
from tools.play_lines import floor_kinds, play, setting_of
from tools.raw_lines import Line, Setting, counted, sampled
from tools.records import BOT, INITIAL, RECORDS, ROOT, UNIFORM, Figure, Kind, Record, Run, sha256_of
from tools.zoo_cards import record_of, with_figures, write_card

PLAN = ROOT / "benchmarks" / "strength" / "zoo.toml"
EASY = "-easy"
SEED = 1  # of the matches
SOLVER, RESPONSE = "the solver", "the best response"


class Measure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Measure of a player: ``against`` an opponent, or a ``measure`` by name; ``matches`` or positions."""

    against: str = ""
    measure: str = ""
    matches: int = 0

    @property
    def label(self) -> str:
        """Label of its figure."""
        return figure_label(self.against, self.measure)


def measures_of(name: str, path: Path = PLAN) -> list[Measure]:
    """Return the measures of a player. Raises ``ValueError`` for a player without any, and wrong ones."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    entry = document.get(name, document.get(name.removesuffix(EASY)))
    if entry is None:
        raise ValueError(f"{path.name} has no measures of {name}: add a line {name} = [...]")
    try:
        found = msgspec.convert(entry, list[Measure])
    except msgspec.ValidationError as error:
        raise ValueError(f"{path.name}: {name}: {error}") from None
    for one in found:
        if bool(one.against) == bool(one.measure) or one.measure and one.measure not in MEASURES:
            raise ValueError(f"{path.name}: {name}: expected against, or measure of {', '.join(MEASURES)}")
        if one.matches < 1 and one.measure != EXPLOITABILITY:
            raise ValueError(f"{path.name}: {name}: {one.label}: expected matches")
    return found


class Player:
    """A player of the zoo with the run that it is of, and all weights that play in one folder."""

    def __init__(self, name: str, run: str, folder: Path) -> None:
        """Find its weights and initial ones. ``run``: directory of the run; empty: they are drawn again."""
        self.name, self.folder = name, folder
        self.card: Card = zoo.card(name)
        self.path = zoo.path_of(name)
        self.meta = load_meta(self.path)
        self.params = params_of(name)
        first = first_weights_of(Path(run)) if run else first_weights_by(self.card.command)
        # With the parameters of its game, so that it plays by itself.
        first.meta = msgspec.structs.replace(first.meta, provenance=self.meta.provenance)
        content = encoded(rounded(first))
        temporary = folder / "initial.tmp"
        temporary.write_bytes(content)
        initial = sha256_of(temporary)
        temporary.replace(kept_path(initial, folder))
        kept = kept_path(self.card.sha256, folder)
        if not kept.is_file():
            kept.write_bytes(self.path.read_bytes())
        self.run = Run(
            id=f"zoo-{name}-{self.card.sha256[:16]}",
            seed=seed_of(self.card.command),
            command=self.card.command,
            version=self.card.version,
            weights=self.card.sha256,
            initial=initial,
            initial_unkept=len(content) if len(content) > MAX_FILE else 0,
        )

    @property
    def search(self) -> str:
        """Suffix of the weights, as in a setting.

        A greedy search has it in its suffix: ``greedy`` in a setting would change an opponent's search too.
        """
        if not self.card.play:
            return ""
        greedy = self.card.greedy and "plies=" not in self.card.play
        return f"+{self.card.play}{',plies=0' if greedy else ''}"

    def keep_initial(self, kept: Path) -> None:
        """Keep the initial weights with the records, where they are small enough."""
        if not self.run.initial_unkept:
            kept.mkdir(parents=True, exist_ok=True)
            target = kept_path(self.run.initial, kept)
            target.write_bytes(kept_path(self.run.initial, self.folder).read_bytes())

    def setting(self, measure: Measure) -> Setting:
        """Return the setting of a measure."""
        opponent = measure.against or {RETURN: ALONE, VALUE_KEPT: SOLVER}.get(measure.measure, RESPONSE)
        exact = measure.measure == EXPLOITABILITY
        made = setting_of(
            self.card.game,
            self.params,
            opponent,
            "" if exact else "greedy" if self.card.greedy and not self.card.play else "drawn",
            measure.matches,
            frame_skip=self.meta.frame_skip,
            search=self.search,
        )
        kinds = {EXPLOITABILITY: "exact", VALUE_KEPT: "positions"}
        kind = "programs" if is_program(measure) else kinds.get(measure.measure, "matches")
        return msgspec.structs.replace(made, measure=kind)


def is_program(measure: Measure) -> bool:
    """Whether the opponent is another program."""
    return measure.against.split()[:1] == [GNU_GO]


def params_of(name: str) -> dict[str, str]:
    """Return the parameters of the game of a player."""
    from ludus.evaluation.players import game_of_player

    found = game_of_player(str(zoo.path_of(name)))
    assert found is not None
    return found[1]


def seed_of(command: str) -> int:
    """Return the seed of a training command, 1 where it names none."""
    words = shlex.split(command)
    return int(words[words.index("--run.seed") + 1]) if "--run.seed" in words else 1


def first_weights_by(command: str) -> Weights:
    """Return the weights of version 0 that ``ludus train ...`` draws. Raises ``ValueError`` for others."""
    from ludus.algorithms.config import AlphaZeroConfig
    from ludus.cli import arguments
    from ludus.cli.commands.train import Train
    from ludus.presets.file import load_preset
    from ludus.training.actor_learner.build import build_learner
    from ludus.training.alphazero.components import build_alphazero

    words = shlex.split(command)
    if words[:2] != ["ludus", "train"]:
        raise ValueError(f"{command!r}: expected ludus train ...; name the run: --run DIR")
    asked = arguments.parse(Train, "train", words[2:])
    preset = load_preset(asked.preset, asked.overrides).preset
    if preset.run.start or preset.league is not None:
        raise ValueError(f"{command!r}: starts from other weights; name the run: --run DIR")
    if isinstance(preset.algorithm, AlphaZeroConfig):
        return build_alphazero(preset).learner.weights()
    return build_learner(preset).weights()


def lines_of(player: Player, measure: Measure, store: Store, jobs: int) -> Iterator[Line]:
    """Yield the line of a measure, then the lines of its floors."""
    setting, run = player.setting(measure), player.run
    known = store.find(measure.label, run.counts_for, setting, run.weights)
    yield known or store.add(_measured(player, measure, setting, "", jobs))
    for kind in floor_kinds(setting, trained=True):
        label = floor_label(kind, measure.label)
        seed, weights = (run.counts_for, run.initial) if kind == INITIAL else (None, "")
        known = store.find(label, seed, setting, weights)
        yield known or store.add(_measured(player, measure, setting, kind, jobs))


def _measured(player: Player, measure: Measure, setting: Setting, floor: str, jobs: int) -> Line:
    """Return the line of a measure, or of its ``floor`` of that kind."""
    label = floor_label(floor, measure.label) if floor else measure.label
    digest = {"": player.run.weights, INITIAL: player.run.initial}.get(floor, "")
    name = floor.removeprefix(BOT)
    if setting.measure == "matches":
        own = player.run if digest else None
        initial = floor == INITIAL
        who = "" if digest else name
        return play(label, setting, SEED, run=own, initial=initial, player=who, folder=player.folder)
    if digest:
        with opened(digest, player.folder) as path:
            line = _numbers(str(path), measure, setting, label, jobs)
        version = 0 if floor else player.run.version
        return msgspec.structs.replace(
            line, seed=player.run.counts_for, run=player.run.id, player=f"run@{version}", weights=digest
        )
    return msgspec.structs.replace(_numbers(name, measure, setting, label, jobs), player=name)


def _numbers(who: str, measure: Measure, setting: Setting, label: str, jobs: int) -> Line:
    searched = who + (setting.search if who.endswith(".safetensors") else "")
    if setting.measure == "exact":
        if who == UNIFORM:
            form = sequence_form(setting.game, setting.params)
            value = exploitability(form, plans_of(form, uniform))
        else:
            value = exploitability_of(who)
        return sampled(label, [value], setting=setting)
    greedy = setting.play == "greedy"
    if setting.measure == "positions":
        positions = solved_positions(setting.game, setting.matches, SEED)
        asked = [position.moves for position in positions]
        greedy = greedy or bool(setting.search)
        chosen = moves_of(searched, setting.game, setting.params, asked, seed=SEED, greedy=greedy)
        return counted(label, outcomes_of(positions, chosen), setting=setting, eval_seed=SEED)
    outcomes = gnu_go_outcomes(searched, measure, setting, jobs)
    return counted(label, outcomes, setting=setting, eval_seed=SEED)


def gnu_go_outcomes(who: str, measure: Measure, setting: Setting, jobs: int) -> str:
    """Return the outcomes of matches of Go against GNU Go, colours in turn."""
    level = measure.against.removeprefix(GNU_GO).strip()
    against = f"{gtp_match.GNU_GO} {level} {gtp_match.CHINESE}"
    rules = gtp_match.Setting(
        size=int(setting.params.get("size", "9")), komi=float(setting.params.get("komi", "7.0")), seed=SEED
    )
    ours = " ".join(map(shlex.quote, gtp_match.command(who)))
    ours += " --greedy" if setting.play == "greedy" else ""
    played = gtp_match.play_jobs(ours, against, rules, setting.matches, jobs)
    return "".join(
        "d" if played[n].winner is None else "w" if played[n].winner == n % 2 else "l" for n in sorted(played)
    )


def measure_player(
    name: str, args: argparse.Namespace, results: Path = RECORDS, plan: Path = PLAN
) -> Record | None:
    """Play the measures of a player, write its record, and fill the figures of its card.

    Args:
        name: Name of the player.
        args: Options of ``python -m tools.zoo measure``.
        results: Folder of records.
        plan: File with the measures.
    """
    one_thread()
    with tempfile.TemporaryDirectory() as folder:
        player = Player(name, args.run, Path(folder))
        store = Store(args.lines)
        lines: list[Line] = []
        figures: list[Figure] = []
        kinds: list[str] = []
        for measure in measures_of(name, plan):
            mine = list(lines_of(player, measure, store, args.jobs))
            lines += mine
            kind: Kind = "exact" if measure.measure == EXPLOITABILITY else "matches"
            figures.append(
                figure_of(
                    mine,
                    measure.label,
                    unit_of(measure.measure),
                    kind,
                    player.run.counts_for,
                    lower_is_better=measure.measure == EXPLOITABILITY,
                )
            )
            kinds += [k for k in floor_kinds(player.setting(measure), trained=True) if k not in kinds]
        shown = floors_of(lines, figures, kinds)
        for figure in (*figures, *shown):
            print(figure.text(), flush=True)
        if args.dry_run:
            return None
        args.record = record_of(name)
        command = own_command("tools.zoo", ["measure", name])
        made = published(
            args,
            section="learning",
            title=player.card.title,
            lines=lines,
            figures=figures,
            floors=shown,
            runs=[player.run],
            commands=[command],
            budget=player.card.trained.rstrip("."),
            reference=args.reference,
            notes=args.note,
            folder=results,
        )
        assert made is not None
        player.keep_initial(results / "weights")
        write_card(with_figures(player.card, made), zoo.FOLDER / f"{name}.toml")
        return made


def names_or_all(names: Sequence[str]) -> list[str]:
    """Return the named players, or all."""
    return list(names) or list(zoo.names())

"""How near leagues come to the equilibria of small games: exact exploitability of what a run has frozen.

    python -m benchmarks.strength.equilibria disc --methods naive fsp pfsp psro --seeds 1 2 3 4 5
    python -m benchmarks.strength.equilibria kuhn --methods naive self_pfsp --seeds 1 2 3 --out kuhn.jsonl

Each run is trained in this process with one thread, from a preset that ``--show`` prints. Of its frozen
players: the ``uniform`` mixture, in which one is drawn before each match; the ``last``; and the ``nash``
mixture that none of them beats. 0 is an equilibrium. Disc and Blotto start with a player of one action: one
that starts at the middle need not find it. With ``--out FILE`` runs that it holds are not made again;
``--record NAME`` writes the rows as a record of ``benchmarks/results``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import torch

from benchmarks.strength.evaluated import weights_folder
from ludus.evaluation.exploitability import (
    Plans,
    SequenceForm,
    exploitability,
    kuhn_rule,
    mixture,
    nash_mixture,
    plans_of,
    played_by,
    sequence_form,
    uniform,
)
from ludus.evaluation.weights import network_of
from ludus.games import spec as game_spec
from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory
from ludus.storage.tensors import encode_weights
from ludus.training.actor_learner.build import build_learner
from ludus.training.runs import start_run
from tools.figures import figure_of, floor_label, floors_of
from tools.new_record import add_record_options, own_command, published
from tools.play_lines import run_of
from tools.raw_lines import Line, Setting, sampled
from tools.records import INITIAL, UNIFORM, Figure, Kind, Run

ONE_ACTION = 4.0  # logit of the one action, above the others
FIRST = "main"  # the member that is measured

COMMON = """
[evaluation]
every_steps = 0
matches = 0
final_matches = 0
[run]
max_steps = {steps}
seed = {seed}
lag = "sync"
threads = 1
precision = "float32"
checkpoint_every_minutes = 0
"""

# A table has one position: the network is the bias of its policy head.
MATRIX = """
[pool]
slots = 64
rollout_length = 8
[policy]
dense = []
hidden = []
[algorithm]
learning_rate = {rate}
epochs = 2
minibatches = 1
entropy_coefficient = {entropy}
entropy_coefficient_final = {entropy}
"""

POKER = """
[pool]
slots = 512
rollout_length = 8
[policy]
dense = []
hidden = [64, 64]
activation = "tanh"
norm = "none"
normalise_observations = false
[algorithm]
learning_rate = 2e-3
epochs = 2
minibatches = 4
gae_lambda = 1.0
discount = 1.0
entropy_coefficient = 0.05
entropy_coefficient_final = 0.05
"""


class Game(msgspec.Struct, frozen=True):
    """``period``: decisions between two freezes. ``one_action``: what the first weights play."""

    name: str
    table: str
    settings: str
    steps: int
    period: int
    one_action: bool = False


GAMES = {
    "disc": Game("matrix", "disc", MATRIX.format(rate=5e-2, entropy=0.15), 500_000, 12_800, one_action=True),
    "blotto": Game(
        "matrix", "blotto", MATRIX.format(rate=1e-1, entropy=0.1), 500_000, 15_360, one_action=True
    ),
    "kuhn": Game("kuhn_poker", "", POKER, 5_000_000, 50_000),
    "leduc": Game("leduc_poker", "", POKER, 10_000_000, 100_000),
}

TITLES = {
    "disc": "Disc game of 30 actions",
    "blotto": "Colonel Blotto, ten soldiers on three fields",
    "kuhn": "Kuhn poker",
    "leduc": "Leduc poker",
}
#: Rules that bet and call with the king: how often the jack bluffs and the queen calls.
KUHN_RULES = (
    ("a rule that also calls with the queen", 0.0, 1.0),
    ("with every other queen", 0.0, 0.5),
    ("with every other queen, and bluffs with a third of the jacks", 1.0 / 3.0, 0.5),
)

ANEW = 'from = {rule = "seed"}'
METHODS: dict[str, str] = {
    "naive": 'meet = [{rule = "latest"}]',
    "fsp": f'meet = [{{rule = "fsp"}}]\n{ANEW}',
    "pfsp": f'meet = [{{rule = "pfsp", weighting = "squared"}}]\n{ANEW}',
    "psro": f'meet = [{{rule = "psro"}}]\n{ANEW}',
    "fsp_going_on": 'meet = [{rule = "fsp"}]',
    "self_pfsp": 'meet = [{rule = "latest", weight = 0.35}, {rule = "pfsp", weight = 0.65}]',
    "roles": "",
}
NAMES = {"uniform": "mixture of all frozen", "last": "last frozen"}
RATING = {"psro": 0.2}  # share of matches between frozen players: what a meta-strategy is made of


class Row(msgspec.Struct, frozen=True):
    """One run. ``curve``: frozen players and the exploitability of their uniform mixture."""

    game: str
    method: str
    seed: int
    steps: int
    frozen: int
    uniform: float
    last: float
    nash: float
    minutes: float
    settings: dict[str, str]
    curve: list[tuple[int, float]]
    first: float = 0.0  # exploitability of the initial weights
    run: Run | None = None


def preset_text(game: Game, method: str, steps: int, seed: int, start: str = "") -> str:
    """Return the preset of a run. ``start``: a file with the initial weights of every member."""
    params = f'[game.params]\ntable = "{game.table}"\n' if game.table else ""
    seed_line = f'seed = "{start}"\n' if start else ""
    text = f'[game]\nname = "{game.name}"\n{params}{game.settings}{COMMON.format(steps=steps, seed=seed)}'
    text += f"[league]\nlanes = 16\nrating_share = {RATING.get(method, 0.0)}\n"
    if method != "roles":
        freeze = f'freeze = {{rule = "period", steps = {game.period}}}\n'
        player = f'[[league.players]]\nname = "{FIRST}"\nrole = "pfsp"\n'
        return f"{text}{player}{freeze}{seed_line}{METHODS[method]}\n"
    for role, share in (("main", 2.0), ("main_exploiter", 1.0), ("league_exploiter", 1.0)):
        against = ', against = ["mains"]' if role == "main_exploiter" else ""
        bounds = f"min_steps = {game.period // 2}, max_steps = {2 * game.period}"
        text += f'[[league.players]]\nname = "{role}"\nrole = "{role}"\nshare = {share}\n'
        text += f'freeze = {{rule = "beats", {bounds}{against}}}\n{seed_line}'
    return text


def write_one_action(preset: Preset, path: Path) -> None:
    """Weights that prefer the first action."""
    learner = build_learner(preset)
    with torch.no_grad():
        dict(learner.network.named_parameters())["policy_head.bias"][0] += ONE_ACTION
    path.write_bytes(encode_weights(learner.weights()))


def train(game: Game, method: str, seed: int, folder: Path, overrides: Mapping[str, str], steps: int) -> Path:
    """Trains one run. Gives its directory, in ``folder``."""
    start = folder / "one-action.safetensors" if game.one_action else None
    if start is not None and not start.is_file():
        plain = preset_text(game, method, steps, seed)
        write_one_action(parse_preset(plain.encode(), method, overrides=overrides).preset, start)
    text = preset_text(game, method, steps, seed, str(start or ""))
    run = folder / f"{method}-{seed}"
    start_run(parse_preset(text.encode(), method, overrides=overrides).preset, run)
    return run


def frozen_plans(run: Path, game: Game, form: SequenceForm) -> list[Plans]:
    """Plans of the frozen players of the first member, oldest first."""
    frozen = RunDirectory.open(run).frozen
    spec = game_spec(game.name, {"table": game.table} if game.table else {})
    networks = (network_of(frozen.load(FIRST, version), spec) for version in frozen.versions(FIRST))
    return [plans_of(form, played_by(network)) for network in networks]


def form_of(game: Game) -> SequenceForm:
    return sequence_form(game.name, {"table": game.table} if game.table else {})


def measured(
    name: str,
    method: str,
    seed: int = 1,
    overrides: Mapping[str, str] | None = None,
    *,
    steps: int = 0,
    period: int = 0,
    folder: Path | None = None,
    command: str = "",
    weights: Path | None = None,
) -> Row:
    """Trains a run in ``folder`` (default: one that is thrown away) and measures what it froze.

    ``overrides``: settings by path. ``steps``, ``period``: 0 = the game's. ``command``: of this program.
    ``weights``: folder in which the last player's weights are kept; None: they are not.
    """
    game, overrides = GAMES[name], overrides or {}
    game = msgspec.structs.replace(game, period=period or game.period)
    form, started, steps = form_of(game), time.monotonic(), steps or game.steps
    with tempfile.TemporaryDirectory() as thrown_away:
        run = train(game, method, seed, folder or Path(thrown_away), overrides, steps)
        minutes = (time.monotonic() - started) / 60.0
        plans = frozen_plans(run, game, form)
        kept = None if weights is None else run_of(f"{run}@{FIRST}", command, cell=method, folder=weights)
    counts = sorted({max(1, round(len(plans) * k / 10)) for k in range(1, 11)})
    curve = [(n, exploitability(form, mixture(plans[:n]))) for n in counts]
    last = exploitability(form, plans[-1])
    nash = exploitability(form, nash_mixture(form, plans))
    return Row(
        name,
        method,
        seed,
        steps,
        len(plans),
        curve[-1][1],
        last,
        nash,
        minutes,
        dict(overrides),
        curve,
        exploitability(form, plans[0]),
        kept,
    )


def table(rows: Sequence[Row]) -> str:
    """Return a line for each run, then one for each method: the mean and the worst of its seeds."""
    lines = [
        "| game | method | seed | frozen | uniform | last | nash | minutes | curve: frozen, uniform |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        curve = ", ".join(f"{n} {value:.3f}" for n, value in r.curve)
        lines.append(
            f"| {r.game} | {r.method} | {r.seed} | {r.frozen} | {r.uniform:.3f} | {r.last:.3f} "
            f"| {r.nash:.3f} | {r.minutes:.1f} | {curve} |"
        )
    for game, method in dict.fromkeys((r.game, r.method) for r in rows):
        mine = [r for r in rows if (r.game, r.method) == (game, method)]
        values = [np.array([getattr(r, key) for r in mine]) for key in ("uniform", "last", "nash")]
        cells = " | ".join(f"{v.mean():.3f} [{v.min():.3f}, {v.max():.3f}]" for v in values)
        lines.append(f"| {game} | {method} | mean [least, greatest] of {len(mine)} | | {cells} | | |")
    return "\n".join(lines)


def lines_of(rows: Sequence[Row]) -> list[Line]:
    """Return the exploitability of each run's mixture and of its last frozen player, with their floors."""
    found = []
    for key in ("uniform", "last"):
        for r in rows:
            game = GAMES[r.game]
            params = {"table": game.table} if game.table else {}
            setting = Setting(game.name, params, opponent="the best response", measure="exact")
            label = f"{r.method}, {NAMES[key]}"
            curve = ", ".join(f"{n}: {value:.3f}" for n, value in r.curve)
            line = sampled(label, [getattr(r, key)], setting=setting)
            detail: dict[str, str | float] = {**r.settings, "frozen": r.frozen, "curve": curve}
            run = r.run.id if r.run is not None else ""
            found.append(msgspec.structs.replace(line, seed=r.seed, run=run, detail=detail))
            first = sampled(floor_label(INITIAL, label), [r.first], setting=setting)
            found.append(msgspec.structs.replace(first, seed=r.seed, run=run))
            floor = sampled(floor_label(UNIFORM, label), [exploitability_of_uniform(r.game)], setting=setting)
            floor = msgspec.structs.replace(floor, player=UNIFORM)
            found += [floor] if floor not in found else []
    return found


@cache
def exploitability_of_uniform(name: str) -> float:
    """Return the exploitability of uniform play over the legal actions."""
    form = form_of(GAMES[name])
    return exploitability(form, plans_of(form, uniform))


def figures_of(lines: Sequence[Line]) -> tuple[list[Figure], list[Figure]]:
    """Return the figures over the seeds, and their floors."""
    own = [x for x in lines if not x.label.startswith((INITIAL, UNIFORM))]
    found = []
    for label in dict.fromkeys(line.label for line in own):
        seeds = {line.seed for line in own if line.label == label}
        kind: Kind = "seeds" if len(seeds) > 1 else "exact"
        seed = None if len(seeds) > 1 else seeds.pop()
        found.append(figure_of(own, label, "", kind, seed, lower_is_better=True))
    return found, floors_of(lines, found, (INITIAL, UNIFORM))


def reference_of(name: str) -> str:
    """Return what the figures of a game are compared with, computed here: an equilibrium and simple rules."""
    parts = ["an equilibrium: 0", f"uniform play: {exploitability_of_uniform(name):.3f}"]
    if name == "kuhn":
        form = form_of(GAMES[name])
        parts += [
            f"{text}: {exploitability(form, plans_of(form, kuhn_rule(bluff, call))):.3f}"
            for text, bluff, call in KUHN_RULES
        ]
    return "; ".join(parts)


def publish(args: argparse.Namespace, rows: Sequence[Row], steps: int) -> None:
    """Write the rows of one game as a record."""
    lines = lines_of(rows)
    figures, floors = figures_of(lines)
    published(
        args,
        section="learning",
        title=f"{TITLES[args.game]}: exploitability of the frozen players, exact",
        lines=lines,
        figures=figures,
        floors=floors,
        runs=[r.run for r in rows if r.run is not None],
        commands=[own_command("benchmarks.strength.equilibria")],
        budget=f"{steps:,} decisions a run, {np.mean([r.minutes for r in rows]):.1f} minutes",
        reference=reference_of(args.game),
        notes=args.note,
    )


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("game", choices=GAMES)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["naive", "fsp", "pfsp", "psro"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--steps", type=int, default=0, help="decisions of a run; 0 = the game's target")
    parser.add_argument("--set", nargs=2, action="append", default=[], metavar=("PATH", "VALUE"))
    parser.add_argument("--out", type=Path, help="JSON lines, one a run; read first where it exists")
    parser.add_argument("--known", action="store_true", help="only the runs that --out has")
    parser.add_argument("--show", action="store_true", help="print the presets and train nothing")
    parser.add_argument("--note", action="append", default=[], help="of the record; repeat it")
    add_record_options(parser)
    return parser


def rows_of(args: argparse.Namespace, steps: int, weights: Path) -> list[Row]:
    """Return the runs that the options name: from ``--out`` where they are there, else trained."""
    overrides = {str(path): str(value) for path, value in args.set}
    text = args.out.read_text(encoding="utf-8") if args.out and args.out.is_file() else ""
    known = [msgspec.json.decode(line, type=Row) for line in text.splitlines() if line.strip()]
    command = own_command("benchmarks.strength.equilibria")
    rows = []
    for method in args.methods:
        for seed in args.seeds:
            key = (args.game, method, seed, steps, overrides)
            row = next((r for r in known if (r.game, r.method, r.seed, r.steps, r.settings) == key), None)
            if row is None and args.known:
                continue
            if row is None:
                row = measured(
                    args.game, method, seed, overrides, steps=steps, command=command, weights=weights
                )
                if args.out:
                    with args.out.open("ab") as file:
                        file.write(msgspec.json.encode(row) + b"\n")
            rows.append(row)
            print(table([row]).splitlines()[2], file=sys.stderr, flush=True)
    return rows


def main() -> None:
    args = parser_of().parse_args()
    steps = args.steps or GAMES[args.game].steps
    if args.show:
        for method in args.methods:
            print(preset_text(GAMES[args.game], method, steps, args.seeds[0]))
        return
    with weights_folder(args.record or str(args.out or "")) as folder:
        rows = rows_of(args, steps, folder)
    print(table(rows))
    if args.record:
        publish(args, rows, steps)


if __name__ == "__main__":
    main()

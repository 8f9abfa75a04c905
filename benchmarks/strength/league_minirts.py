"""A league on MiniRTS and naive self-play of equal decisions, as a record of ``benchmarks/results``.

    python -m benchmarks.strength.league_minirts --league LEAGUE-1@main LEAGUE-2@main LEAGUE-3@main \
        --naive NAIVE-1@main NAIVE-2@main NAIVE-3@main \
        --against-league X-1@exploiter X-2@exploiter X-3@exploiter \
        --against-naive Y-1@exploiter Y-2@exploiter Y-3@exploiter \
        --train "ludus train alphastar --run.seed S ..." \
        --train "ludus train presets/minirts-self-play.toml ..." --commit SHA --machine TEXT

``--bots``, ``--preset``, ``--title``, ``--reference``: those of another game, as benchmarks/strength/cycle.

The runs are finished. Nothing is trained here. Each player is evaluated against both bots with drawn and with
greedy actions, and so are its first weights (``RUN@main:0``) and uniform play. Exploiter N plays its victim,
the Nth player. ``--lines FILE`` keeps finished evaluations: a second call plays only the others.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.results import EvalResult
from ludus.evaluation.settings import MatchSettings
from ludus.league.summary import status
from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory, utc_now
from ludus.storage.errors import StorageError
from ludus.training.reporting.league_record import read_record
from tools.raw_lines import INITIAL, UNIFORM, Line, figures_of, line_of, read_lines, write_record
from tools.records import Record, preset_hash

PRESET = "alphastar"
BOTS = ("simple", "hit_and_run")
TITLE = "MiniRTS from self-play alone, combined orders: AlphaStar's three roles, and naive self-play"
REFERENCE = "neither bot is met in training; an exploiter that cannot exploit wins about half"
NOTE = "Combined orders, repeated every 5 ticks; the bots' are not."
PLAYS = ("drawn", "greedy")
LEAGUE, NAIVE = "the league's main", "naive self-play"


class Job(msgspec.Struct, frozen=True):
    """One evaluation. ``setting``: the weights whose game and frame skips uniform play has."""

    label: str
    seed: int | None
    player: str
    against: str
    play: str
    matches: int
    setting: str = ""


def run_of(reference: str) -> RunDirectory:
    """Return the run of ``RUN@PLAYER``."""
    return RunDirectory.open(Path(reference.rpartition("@")[0]))


def first_weights(reference: str) -> str:
    """``RUN@main:0`` of ``RUN@main`` or ``RUN@main:last``."""
    folder, _, player = reference.rpartition("@")
    return f"{folder}@{player.partition(':')[0]}:0"


def seed_of(reference: str) -> int:
    """Seed of the run of ``reference``."""
    run = run_of(reference)
    return parse_preset(run.config_bytes(), str(run.config)).preset.run.seed


def decisions(reference: str) -> int:
    """Decisions of all members of a run together."""
    return sum(member.steps for member in status(read_record(run_of(reference)), "").members)


def jobs(args: argparse.Namespace) -> Iterator[Job]:
    """Every evaluation of the record, those of the figures first."""
    for name, players in ((LEAGUE, args.league), (NAIVE, args.naive)):
        for player in players:
            for bot in args.bots:
                for play in PLAYS:
                    label = f"{name}, against {bot}, {play}"
                    yield Job(label, seed_of(player), player, bot, play, args.matches)
    pairs = ((LEAGUE, args.league, args.against_league), (NAIVE, args.naive, args.against_naive))
    for name, victims, exploiters in pairs:
        for victim, exploiter in zip(victims, exploiters, strict=False):  # there may be no exploiters at all
            label = f"a new exploiter against {name}, drawn"
            yield Job(label, seed_of(exploiter), exploiter, victim, "drawn", 2 * args.matches)
    for bot in args.bots:
        for play in PLAYS:
            for player in args.league:
                label = f"{INITIAL}, against {bot}, {play}"
                yield Job(label, seed_of(player), first_weights(player), bot, play, args.matches)
        yield Job(f"{UNIFORM}, against {bot}", None, UNIFORM, bot, "drawn", args.matches, args.league[0])


def measure(job: Job, seed: int, threads: int) -> Line:
    """Plays one evaluation. Raises ``ValueError`` where trained weights turn out to be the first ones."""
    game, params = "", None
    if job.setting:
        run = run_of(job.setting)
        preset = parse_preset(run.config_bytes(), str(run.config)).preset
        game, params = preset.game.name, preset.game.params
    result: EvalResult = evaluate(
        job.player,
        job.against,
        MatchSettings(matches=job.matches, seed=seed, greedy=job.play == "greedy", threads=threads),
        game=game,
        params=params,
    )
    trained = [n for n in (job.player, job.against) if "@" in n and not job.label.startswith(INITIAL)]
    for name, played in ((job.player, result.player), (job.against, result.against)):
        if name in trained and played.endswith(":0"):
            raise ValueError(f"{name}: untrained weights ({played}); expected RUN@PLAYER, the newest ones")
    return line_of(result, job.label, seed=job.seed, play=job.play)


def measured(args: argparse.Namespace) -> list[Line]:
    """Return the lines of all jobs: from ``--lines`` where they are there, else played."""
    known = read_lines(args.lines) if args.lines and args.lines.is_file() else []
    found = {(line.label, line.seed): line for line in known}
    lines = []
    for job in jobs(args):
        line = found.get((job.label, job.seed))
        if line is None:
            line = measure(job, args.seed, args.threads)
            if args.lines:
                with args.lines.open("ab") as file:
                    file.write(msgspec.json.encode(line) + b"\n")
        print(f"seed {line.seed}, {line.label}: {line.won} of {line.matches}", file=sys.stderr, flush=True)
        lines.append(line)
    return lines


def check_seeds(args: argparse.Namespace) -> None:
    """Raise ``ValueError`` for two runs of one seed, which would count twice."""
    for kind in ("league", "naive", "against_league", "against_naive"):
        seeds = [seed_of(r) for r in getattr(args, kind)]
        if len(set(seeds)) < len(seeds):
            option = f"--{kind.replace('_', '-')}"
            raise ValueError(f"{option}: seeds {seeds}, expected runs with seeds of their own")


def budget(args: argparse.Namespace) -> str:
    """Decisions of each kind of run, over its seeds."""

    def span(references: list[str]) -> str:
        found = sorted(decisions(r) / 1e6 for r in references)
        low, high = f"{found[0]:.1f}", f"{found[-1]:.1f}"
        return f"{low} M" if low == high else f"{low} to {high} M"

    text = f"decisions of all members: league {span(args.league)}, naive self-play {span(args.naive)}"
    exploiters = [*args.against_league, *args.against_naive]
    return f"{text}, an exploiter's run {span(exploiters)}" if exploiters else text


def own_command(args: argparse.Namespace) -> str:
    """Return this program's command, with the runs by the names of their folders."""
    words = ["python", "-m", "benchmarks.strength.league_minirts"]
    for kind in ("league", "naive", "against_league", "against_naive"):
        if getattr(args, kind):
            words += [f"--{kind.replace('_', '-')}", *(Path(r).name for r in getattr(args, kind))]
    if tuple(args.bots) != BOTS:
        words += ["--bots", *args.bots]
    return shlex.join([*words, "--matches", str(args.matches), "--seed", str(args.seed)])


def record(args: argparse.Namespace, lines: list[Line]) -> Record:
    """Return the record of the lines; its figures are over the seeds."""
    floors = [line for line in lines if line.label.startswith((INITIAL, UNIFORM))]
    seeded = [line for line in floors if line.seed is not None]
    plain = [line for line in floors if line.seed is None]
    return Record(
        schema=2,
        section="learning",
        title=args.title,
        figures=figures_of([line for line in lines if line not in floors], "%", "seeds"),
        floors=figures_of(seeded, "%", "seeds") + figures_of(plain, "%", "wilson"),
        commands=(*args.train, own_command(args)),
        commit=args.commit,
        date=utc_now()[:10],
        machine=args.machine,
        preset=args.preset,
        preset_sha256=preset_hash(args.preset) if args.preset else "",
        budget=budget(args),
        reference=args.reference,
        notes=(
            "Newest weights of each member. Over the seeds: mean and Student's interval.",
            *(args.note or (NOTE,)),
        ),
    )


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--name", default="league-minirts", help="of the record")
    parser.add_argument("--league", nargs="+", required=True, metavar="RUN@main")
    parser.add_argument("--naive", nargs="+", required=True, metavar="RUN@main")
    parser.add_argument("--against-league", nargs="*", default=[], metavar="RUN@exploiter")
    parser.add_argument("--against-naive", nargs="*", default=[], metavar="RUN@exploiter")
    parser.add_argument(
        "--matches", type=int, default=1000, help="of an evaluation; exploiters: twice as many"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the matches")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--train", action="append", default=[], help="a command that made the runs; repeat it"
    )
    parser.add_argument("--note", action="append", default=[], help="repeat it; default: MiniRTS's")
    parser.add_argument("--bots", nargs="+", default=list(BOTS))
    parser.add_argument("--preset", default=PRESET, help="of the league, one of presets/; empty: none")
    parser.add_argument("--title", default=TITLE)
    parser.add_argument("--reference", default=REFERENCE)
    parser.add_argument(
        "--lines", type=Path, help="JSON lines, one an evaluation; read first where it exists"
    )
    parser.add_argument("--commit", required=True)
    parser.add_argument("--machine", required=True)
    return parser


def main() -> None:
    """Run the command line."""
    parser = parser_of()
    args = parser.parse_args()
    for victims, exploiters in (("league", "against_league"), ("naive", "against_naive")):
        if len(getattr(args, exploiters)) not in (0, len(getattr(args, victims))):
            parser.error(f"--{exploiters.replace('_', '-')}: expected one exploiter for each of --{victims}")
    try:
        check_seeds(args)
        lines = measured(args)
        write_record(args.name, record(args, lines), lines)
    except (ValueError, StorageError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

"""``ludus go match``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import QUIET, option, positional
from ludus.cli.errors import DONE, FAILED, INTERRUPTED, UserError
from ludus.cli.words import said

if TYPE_CHECKING:
    from ludus.gtp.matches import Contest, MatchConditions, Pairing, PlayedFixture
    from ludus.gtp.standings import ContestLine, ContestResult, OpponentScore, ProgramRating

Size = Annotated[int, msgspec.Meta(ge=2, le=19)]
Komi = Annotated[float, msgspec.Meta(ge=-400, le=400)]
Level = Annotated[int, msgspec.Meta(ge=1, le=10)]
Matches = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
Jobs = Annotated[int, msgspec.Meta(ge=1, le=256)]
Stones = Annotated[int, msgspec.Meta(ge=0, le=16)]
Natural = Annotated[int, msgspec.Meta(ge=0, le=1 << 31)]
Seconds = Annotated[int, msgspec.Meta(ge=0, le=86_400)]
Timeout = Annotated[float, msgspec.Meta(gt=0, le=86_400)]

MOST_OPPONENTS = 16
NO_REFEREE = "none"
INSTALL = "install it (Debian, Ubuntu: apt install gnugo; macOS: brew install gnu-go)"


class GoMatch(msgspec.Struct, frozen=True, kw_only=True):
    """Play matches of Go between a player and GTP programs: win rates, and a rating against all of them.

    PLAYER and opponents are ours, as for ludus gtp (RUN@best+search:400, mcts:2000, zoo:go9+search:200), or
    quoted commands ("gnugo --mode gtp --level 10"). Matches come in pairs with one opening, colours in
    turn. Ludus checks every move; the referee counts the score.

    A program that ends, does not answer, breaks the protocol or plays an illegal move loses its match, and
    the others continue. Where the referee fails, the match is void. A program that fails three times in a row
    plays no more. Ctrl-C keeps the finished matches; with --out the same command plays the others.
    """

    EXAMPLES: ClassVar = (
        "ludus go match RUN@best+search:400 --gnugo 1,5,10 --matches 40 --komi 7",
        'ludus go match mcts:2000 --against "gnugo --mode gtp --level 10" --jobs 2 -o matches.jsonl',
    )

    player: Annotated[str, positional("a player of ours, or a quoted command", "PLAYER")]
    against: Annotated[tuple[str, ...], option("an opponent, as PLAYER; repeatable", "PLAYER")] = ()
    gnugo: Annotated[
        tuple[Level, ...], option("GNU Go at these levels as opponents: 1,5,10", "LEVEL,...")
    ] = ()
    cross: Annotated[bool, option("let the opponents play each other too: a better rating")] = False
    matches: Annotated[Matches, option("matches of each pairing", "N")] = 20
    size: Annotated[Size, option("lines of the board", "N")] = 9
    komi: Annotated[Komi, option("points for White", "POINTS")] = 7.5
    opening: Annotated[Stones, option("stones drawn before each pair of matches", "N")] = 4
    seed: Annotated[Natural, option("seed of the openings", "N")] = 1
    time: Annotated[Seconds, option("seconds of each program for a match; 0 = no limit", "S")] = 0
    move_time: Annotated[Seconds, option("seconds of each program for a move; 0 = no limit", "S")] = 0
    timeout: Annotated[Timeout, option("seconds without an answer after which a program has failed", "S")] = (
        600.0
    )
    referee: Annotated[
        str,
        option(
            "program that counts the score; none: Ludus, all stones alive (default: GNU Go if installed)",
            "PLAYER",
        ),
    ] = ""
    jobs: Annotated[Jobs, option("matches at a time, each with its own programs", "N")] = 1
    sgf: Annotated[str, option("folder for the records of the matches", "DIR")] = ""
    out: Annotated[
        str, option("file with a line of JSON a match; matches that it has are not played again", "FILE")
    ] = ""
    quiet: Annotated[bool, QUIET] = False
    json: Annotated[bool, option("print one JSON document")] = False

    def run(self) -> int:
        """Play the matches, print rates and ratings, and return the exit code."""
        from ludus.cli.progress import Progress
        from ludus.gtp.matches import Contest
        from ludus.gtp.standings import head_of, line_of, over_of, read_record, result_of
        from ludus.storage.jsonl import JsonlWriter

        pairings = self._pairings()
        conditions = self._conditions()
        head = head_of(conditions)
        out = Path(self.out) if self.out else None
        lines = read_record(out, head) if out else []
        contest = Contest(pairings, conditions, self.matches, self.jobs, over_of(lines, pairings))
        total = sum(map(len, contest.schedule()))
        if total:
            self._check(contest)
        if self.sgf:
            Path(self.sgf).mkdir(parents=True, exist_ok=True)
        writer = JsonlWriter(out) if out else None
        if writer and not writer.size():
            writer.append(head)
        with Progress(total, quiet=self.quiet) as progress:

            def played(done: PlayedFixture) -> None:
                pairing = pairings[done.fixture.pairing]
                line = line_of(done, pairing, conditions)
                if writer:
                    writer.append(line)
                lines.append(line)
                if self.sgf:
                    self._keep(done, len(pairings))
                progress.count(1)
                if done.text or not self.quiet:
                    progress.clear()
                    console.note(_line(line))

            try:
                contest.play(played, progress.should_stop)
            finally:
                if writer:
                    writer.close()
            stopped = progress.stopped
        result = result_of(head, pairings, lines, contest.left_out, interrupted=stopped)
        if self.json:
            console.document(result)
        elif any(score.matches + score.void for score in result.scores):
            console.result(_text(result))
        return self._end(result, progress.over, total)

    def _end(self, result: ContestResult, over: int, total: int) -> int:
        """Return the exit code, and say why it is not 0."""
        if result.interrupted:
            again = f"; the same command plays the others: {self.out}" if self.out else ""
            console.note(f"interrupted: {over} of {total} matches were over{again}")
            return INTERRUPTED
        for name in result.left_out:
            console.note(f"{name}: failed three times in a row, and was left out of the other matches")
        return FAILED if result.left_out else DONE

    def _conditions(self) -> MatchConditions:
        from ludus.gtp.driver import TimeControl
        from ludus.gtp.matches import GNU, MatchConditions, gnu_go_found

        if self.time and self.move_time:
            raise UserError("--time and --move-time: expected one of the two")
        referee = self.referee
        if not referee:
            referee = GNU if gnu_go_found() else NO_REFEREE
            if referee == NO_REFEREE and not self.quiet:
                console.note(f"no GNU Go as referee: Ludus counts, with all stones alive; {INSTALL}")
        return MatchConditions(
            size=self.size,
            komi=self.komi,
            opening=self.opening,
            seed=self.seed,
            referee="" if referee == NO_REFEREE else referee,
            timeout=self.timeout,
            time=TimeControl(self.time, self.move_time),
        )

    def _pairings(self) -> list[Pairing]:
        from itertools import combinations

        from ludus.gtp.matches import GNU, Pairing, command, gnu_go_found

        opponents = [*self.against, *(f"{GNU}:{level}" for level in self.gnugo)]
        if not opponents:
            raise UserError("missing an opponent: --against PLAYER, or --gnugo LEVEL,...")
        if len(opponents) > MOST_OPPONENTS:
            raise UserError(f"--against: {len(opponents)} opponents, expected at most {MOST_OPPONENTS}")
        for name, players in (("PLAYER", [self.player]), ("--against", opponents)):
            for player in players:
                try:
                    words = command(player)
                except ValueError as error:
                    raise UserError(f"{name} {player}: {said(error)}") from None
                if not words or not player.strip():
                    raise UserError(f"{name}: expected a player or a command")
        named = {p.partition(":")[0] for p in (self.player, *opponents, self.referee)}
        if GNU in named and not gnu_go_found():
            raise UserError(f"GNU Go is neither on PATH nor in /usr/games; {INSTALL}")
        if self.player in opponents:
            raise UserError(f"--against {self.player}: is the player itself; expected another one")
        twice = [p for k, p in enumerate(opponents) if p in opponents[:k]]
        if twice:
            raise UserError(f"--against {twice[0]}: is given twice")
        pairs = [Pairing(self.player, opponent) for opponent in opponents]
        return pairs + ([Pairing(*pair) for pair in combinations(opponents, 2)] if self.cross else [])

    def _check(self, contest: Contest) -> None:
        """Start every program once, so that a wrong one is named before the first match."""
        from ludus.gtp.matches import check_program
        from ludus.gtp.program import ProgramError

        players = {player: "" for pairing in contest.pairings for player in pairing}
        referee = contest.conditions.referee
        for player in (*players, *([referee] if referee else [])):
            try:
                check_program(player, contest.conditions)
            except ProgramError as error:
                what = "--referee" if player == referee and player not in players else "player"
                raise UserError(f"{what} {player}: {_reason(str(error), player)}") from None

    def _keep(self, done: PlayedFixture, pairings: int) -> None:
        from ludus.gtp.matches import record
        from ludus.storage.files import write_atomic

        black, white = done.names[:: 1 - 2 * (done.fixture.number % 2)]
        part = f"{done.fixture.pairing + 1:02d}-" if pairings > 1 else ""
        path = Path(self.sgf) / f"{part}match-{done.fixture.number + 1:04d}.sgf"
        write_atomic(path, record(done.match, self.size, self.komi, black, white).encode())


def _reason(text: str, player: str = "") -> str:
    """Return an error of a program without its command, and without the end that a usual error brings."""
    text = text.rpartition(" --quiet: ")[2].removeprefix(f"{player}: ")
    return text.removeprefix(f"it has ended: {player}: ") if player else text


def _line(line: ContestLine) -> str:
    failed = f"; {line.faulty} failed: {_reason(line.text)}" if line.faulty else f", {line.by}"
    return (
        f"{line.player} ({line.colour}) against {line.against}, match {line.number + 1}: "
        f"{line.outcome}, {line.result}{failed}"
    )


def _text(result: ContestResult) -> str:
    head = (
        "player",
        "against",
        "score",
        "95%",
        "won",
        "drawn",
        "lost",
        "void",
        "failed",
        "distinct",
        "s/move",
    )
    parts = [console.filled([_score(score) for score in result.scores], head)]
    if len(result.ratings) > 1:
        rows = [_rating(rating) for rating in result.ratings]
        parts.append(console.table(rows, ("program", "Elo", "95%", "score", "matches")))
        base = next(score.against for score in result.scores if score.matches)
        parts.append(f"Elo above {base}, which has 0")
    return "\n\n".join(parts)


def _score(s: OpponentScore) -> tuple[str, ...]:
    return (
        s.player,
        s.against,
        console.percent(s.rate) if s.matches else "none",
        f"{console.percent(s.low)} to {console.percent(s.high)}",
        str(s.won),
        str(s.drawn),
        str(s.lost),
        str(s.void) if s.void else "-",
        f"{s.faults} and {s.opponent_faults}" if s.faults or s.opponent_faults else "-",
        str(s.distinct),
        f"{s.seconds_per_move[0]:.2f} and {s.seconds_per_move[1]:.2f}",
    )


def _rating(r: ProgramRating) -> tuple[str, ...]:
    beyond = {"": "", "low": " or less: no point", "high": " or more: no loss"}[r.bound]
    return (
        r.player,
        f"{r.elo:+.0f}{beyond}",
        f"{r.elo_low:+.0f} to {r.elo_high:+.0f}",
        console.percent(r.points / max(1, r.matches)),
        str(r.matches),
    )

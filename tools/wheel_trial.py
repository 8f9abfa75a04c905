"""Tries an installed Ludus as a user of the wheel does, away from the sources.

    python -m tools.wheel_trial                # of this Python: every step
    python -m tools.wheel_trial --no-training  # without torch: games, replays and their pages
    python -m tools.wheel_trial --short        # fewer matches of the zoo's players

Plays matches of bots, trains five seconds, then plays a zoo player over the printed address and compares
another with its card.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tools.page_player import play_address
from tools.wheel_files import WheelError

ROOT = Path(__file__).resolve().parent.parent

#: `import ludus` loads neither numpy nor torch.
IMPORT_LIMIT_S = 0.1
#: Zoo players that a script plays a match against.
PLAYED = ("connect-four", "go9")
#: A zoo player whose result is compared with its card: against, matches.
RATED = ("minirts", "simple", 200)
_DROPPED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")


def run(*command: str, env: Mapping[str, str] | None = None, cwd: Path = ROOT, quiet: bool = False) -> str:
    """Run a command and return its stdout. Raises ``WheelError`` with all its output if it fails."""
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WheelError(f"{shlex.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    if not quiet:
        print(done.stdout, end="", flush=True)
    return done.stdout


class Installed:
    """The Ludus of a Python, used from a folder outside the sources."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder, self.python = folder, python
        # Nothing of the sources or of the calling environment may be found.
        self.environment = {
            k: v for k, v in os.environ.items() if k not in _DROPPED and not k.startswith("LUDUS")
        }
        self.environment["XDG_CONFIG_HOME"] = self.environment["XDG_STATE_HOME"] = str(folder / "home")

    def command(self, *words: str) -> list[str]:
        print("  ludus", *words, flush=True)
        return [str(Path(self.python).parent / "ludus"), *words]

    def __call__(self, *words: str) -> str:
        """Run ``ludus WORDS`` and return its stdout."""
        return run(*self.command(*words), env=self.environment, cwd=self.folder, quiet=True)

    def evaluate(self, code: str) -> str:
        """Run a line of Python and return its stdout."""
        return run(self.python, "-c", code, env=self.environment, cwd=self.folder, quiet=True)

    @contextmanager
    def serving(self, *words: str) -> Iterator[str]:
        """Run a command that serves pages and yield the address that it prints."""
        process = subprocess.Popen(
            self.command(*words),
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            if not address.startswith("http://127.0.0.1:"):
                raise WheelError(f"ludus {shlex.join(words)}: printed {address!r}, expected an address")
            yield address
        finally:
            process.terminate()
            process.wait()

    def import_s(self) -> float:
        """Seconds that ``import ludus`` takes, the best of five processes."""
        code = (
            "from time import perf_counter as now; t = now(); import ludus; print(now() - t, ludus.__file__)"
        )
        times = []
        for _ in range(5):
            took, file = self.evaluate(code).split()
            if Path(file).is_relative_to(ROOT / "src"):
                raise WheelError(f"import ludus: found {file}, expected the wheel's")
            times.append(float(took))
        return min(times)

    def zoo(self) -> list[str]:
        """Names of the players that come with the package."""
        code = (
            "from importlib.resources import files as f; print(*(p.name for p in f('ludus.zoo').iterdir()))"
        )
        try:
            return sorted(n.removesuffix(".toml") for n in self.evaluate(code).split() if n.endswith(".toml"))
        except WheelError:
            return []  # a package without a zoo

    def card(self, name: str) -> str:
        """Text of a player's card."""
        return self.evaluate(
            f"from importlib.resources import files as f; print((f('ludus.zoo') / '{name}.toml').read_text())"
        )


def try_plain(installed: Installed) -> None:
    """Check that games, benchmarks, matches of bots, replays and their pages work without extras."""
    if (took := installed.import_s()) > IMPORT_LIMIT_S:
        raise WheelError(f"import ludus: {took * 1e3:.0f} ms, expected at most {IMPORT_LIMIT_S * 1e3:.0f} ms")
    print(f"  import ludus: {took * 1e3:.0f} ms", flush=True)
    listed = installed("games", "list")
    if "minirts" not in listed:
        raise WheelError(f"ludus games list: no minirts in\n{listed}")
    golden = (ROOT / "tests" / "golden" / "games" / "signature.txt").read_text(encoding="utf-8")
    signature = json.loads(installed("signature", "--json"))["games"]
    if signature != dict(line.split() for line in golden.splitlines()):
        raise WheelError(f"ludus signature: {signature}, expected what tests/golden/games/signature.txt pins")
    installed("bench", "sim", "minirts", "--seconds", "1")
    match = ("eval", "simple", "--against", "hit_and_run", "--game", "minirts", "--matches", "2")
    result = json.loads(installed(*match, "--record", "kept", "--json"))
    installed("replay", "verify", *result["replays"])
    installed("replay", "to-html", result["replays"][0], "--out", "page.html")


def try_training(installed: Installed) -> None:
    """Five seconds of training, and a match of the weights."""
    started = time.monotonic()
    installed("train", "tic_tac_toe", "--run-dir", "trained", "--quiet", "--run.max-minutes", f"{5 / 60:.4f}")
    print(f"  trained, with start and evaluation: {time.monotonic() - started:.0f} s", flush=True)
    match = ("eval", "trained@last", "--against", "random", "--matches", "20")
    result = json.loads(installed(*match, "--record", "played", "--json"))
    installed("replay", "verify", *result["replays"])


def try_play(installed: Installed, player: str, *options: str) -> None:
    """A whole match over the address that ``ludus play PLAYER`` prints, moves drawn by chance."""
    with installed.serving("play", player, *options, "--no-browser") as address:
        outcome, moves = play_address(address)
    print(f"  the match is over after {moves} moves: outcome {outcome}", flush=True)


def try_zoo(installed: Installed, *, short: bool = False) -> None:
    """Matches against players of the zoo, and one player's result beside its card."""
    names = installed.zoo()
    played = [name for name in PLAYED if name in names] or names[:1]
    if not played:
        print("  the package has no zoo player: the match is against a search", flush=True)
        try_play(installed, "mcts:30", "--game", "connect_four")
        return
    if left := [name for name in PLAYED if name not in names]:
        print(f"  not in the package: zoo:{', zoo:'.join(left)}", flush=True)
    for name in played:
        try_play(installed, f"zoo:{name}")
    name, against, matches = RATED
    if name in names:
        number = 20 if short else matches
        words = ("eval", f"zoo:{name}", "--against", against, "--matches", str(number), "--json")
        compare(json.loads(installed(*words)), installed.card(name), against)


def compare(result: Mapping[str, float], card: str, against: str) -> None:
    """Raise ``WheelError`` if the interval of a result does not meet the interval of the card's figure."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    figures = [f for f in tomllib.loads(card).get("figures", []) if f.get("against") == against]
    if not figures:
        raise WheelError(f"the card has no figure against {against}")
    said, low, high = figures[0], result["ci_low"], result["ci_high"]
    text = f"{result['win_rate']:.1%} ({low:.1%} to {high:.1%}), the card: {said['low']} to {said['high']}"
    bounds = [b / 100 if said["high"] > 1 else b for b in (said["low"], said["high"])]  # a percentage
    if low > bounds[1] or high < bounds[0]:
        raise WheelError(f"against {against}: {text}")
    print(f"  against {against}: {text}", flush=True)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-training", action="store_true", help="only what needs no torch and no pages")
    parser.add_argument("--short", action="store_true", help="fewer matches of the zoo's players")
    options = parser.parse_args(words)
    try:
        with tempfile.TemporaryDirectory(prefix="ludus-trial-") as name:
            installed = Installed(Path(name))
            try_plain(installed)
            if not options.no_training:
                try_training(installed)
                try_zoo(installed, short=options.short)
    except WheelError as error:
        print(f"wheel_trial: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

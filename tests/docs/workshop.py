"""A folder with what a page of the documentation presupposes, where its commands run with small budgets."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest

from ludus.cli import __main__ as cli
from ludus.cli import errors
from ludus.games.match import Match
from ludus.web.serve.server import PageServer
from tests.docs.blocks import ROOT, Block, blocks, words_of
from tests.unit.league.recorded import recorded_run
from tests.web.live import make_run

BIN = Path(sys.executable).parent
#: Games of the runs that a page names, by page and name; others are of MiniRTS.
GAMES: dict[str, tuple[str, dict[str, object]]] = {
    "docs/algorithms/alphazero.md RUN": ("connect_four", {}),
    "docs/guides/search.md RUN": ("tic_tac_toe", {}),
    "docs/guides/analyses.md RUN": ("tic_tac_toe", {}),
    "docs/guides/analyse_a_match.md RUN": ("go", {"size": 9}),
    "runs/go9": ("go", {"size": 9}),
    "docs/guides/python_games.md RUN": ("connect_four", {}),
    "docs/guides/python_games.md runs/my-run": ("gymnasium/CartPole-v1", {}),
    "runs/nim": ("./nim.py", {}),
    "runs/pom": ("pommerman", {}),
    "runs/moba-1v1": ("moba", {}),
    "runs/a": ("tic_tac_toe", {}),
    "runs/first": ("tic_tac_toe", {}),
}
#: Settings of a run that ends after its first update.
BRIEF = (
    *("--run.max-minutes", "0", "--run.max-steps", "64", "--run.threads", "1", "--pool.slots", "4"),
    *("--evaluation.matches", "2", "--evaluation.final-matches", "2"),
)
#: Pages whose commands use what the training before them made.
GO_ON = {"docs/guides/change_a_run.md"}
#: Options of commands, with the values that take seconds.
FEW = {"--matches": "2", "--versions": "2", "--seconds": "1", "--record-matches": "1", "--hours": "1"}
FEW |= {"--visits": "8"}  # of an analysis
#: Commands that play hundreds of matches without an option.
COUNTED = {"eval": ("--matches", "2"), "rate": ("--matches", "2")}
_RUN = re.compile(r"\b(RUN2|RUN|OTHER|THEIR_RUN|runs/[\w.,=-]*\w)(?:@(\d+))?")
_SERVERS = ("play", "watch", "serve")


def brief(words: Sequence[str]) -> list[str]:
    """Words of a command of ludus with a small budget in place of the page's."""
    out: list[str] = []
    for word in words:
        previous = out[-1] if out else ""
        if previous in FEW:
            word = str(min(int(word), int(FEW[previous])))
        word = re.sub(r"\bmcts:\d+", "mcts:8", word)
        word = re.sub(r"\bsearch:\d+", "search:4", word)
        out.append(re.sub(r"\bplan:\d+x\d+", "plan:1x2", word))
    if out[0] in COUNTED and "--matches" not in out:
        out += COUNTED[out[0]]
    if out[0] == "bench" and "--seconds" not in out:
        out += ["--seconds", "1"]
    if out[0] == "sweep" and "--explain" not in out:
        out.append("--explain")
    if out[0] == "resume":
        for option in ("--run.max-minutes", "--run.max-steps"):
            if option in out:
                del out[out.index(option) : out.index(option) + 2]
        out += ["--run.max-minutes", "0", "--run.max-steps", "128"]
    return out


class Workshop:
    """The folder of a page."""

    def __init__(self, folder: Path, page: str, trained: Path) -> None:
        self.folder, self.page, self.trained = folder, page, trained
        game, params = GAMES.get(f"{page} RUN", ("minirts", {}))
        self.match = replay_of(game, **params)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("LUDUS")}
        self.environment["PATH"] = f"{BIN}{os.pathsep}{self.environment['PATH']}"
        (folder / "runs").mkdir()
        for name in ("presets", "sweeps", "examples", "benchmarks"):
            (folder / name).symlink_to(ROOT / name)

    def runs_for(self, block: Block) -> None:
        """Make the runs that a block names and no earlier one has made."""
        text = block.text if block.kind == "python" else "\n".join(block.commands)
        made = set(re.findall(r"(?:--run-dir|--out) (\S+)", text))
        made |= set(re.findall(r"ludus\.train\([^)]*?\"(runs/[\w-]+)\"", text))
        for name, version in _RUN.findall(text):
            path = self.folder / name
            if name in made or path.exists():
                continue
            game, params = GAMES.get(f"{self.page} {name}", GAMES.get(name, ("minirts", {})))
            if "/" in game:
                self._ludus(["train", game, "--run-dir", name, "--quiet", *BRIEF])
            elif "league" in name:
                recorded_run(path)
            elif game == "minirts" and not version:
                shutil.copytree(self.trained, path)
            else:
                versions = [int(version)] if version else [3, 7]
                make_run(path, game, versions, **params)

    def file(self, name: str, text: str | bytes) -> None:
        """Write a file unless the page has made it."""
        path = self.folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def run(self, command: str) -> str:
        """Run a command line and return its stdout; it must end with 0."""
        words = words_of(command)
        program = words[0].removeprefix(".venv/bin/")
        if program != "ludus":
            command = command.replace("minimal_ppo.py", "minimal_ppo.py --steps 2000")
            return self._shell(command)
        words = brief(words[1:])
        for name in (w for w in words if w.endswith("/FILE.ludus")):  # any replay of the folder
            self.file(name, self.match)
        if words[0] == "train" and "--explain" not in words:
            return self._trained(words)
        if words[0] in _SERVERS:
            return self._served([w for w in words if w != "--no-browser"])
        out = self._ludus(words)
        if target := re.search(r"(?<!2)> (\S+)$", command):
            (self.folder / target[1]).write_text(out, encoding="utf-8")
        return out

    def _trained(self, words: list[str]) -> str:
        """Run a training to its first update where a page continues it, else to its settings."""
        if self.page in GO_ON:
            return self._ludus([*words, *BRIEF])
        out = self._ludus([*words, "--explain"])
        if "--run-dir" in words:
            shutil.copytree(self.trained, self.folder / words[words.index("--run-dir") + 1])
        return out

    def _ludus(self, words: Sequence[str], expected: int = 0) -> str:
        with ExitStack() as stack:
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            patch.chdir(self.folder)
            patch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"quit\n")))  # to an engine of Go
            out = stack.enter_context(redirect_stdout(StringIO()))
            expanded = [w for word in words for w in self._expanded(word)]
            code = cli.main(expanded)
        text = out.getvalue()
        assert code == expected, f"ludus {' '.join(expanded)}: exit code {code}\n{text}"
        return text

    def _expanded(self, word: str) -> list[str]:
        pattern = word.replace("...", "*")  # the date of a run
        found = sorted(self.folder.glob(pattern)) if "*" in pattern else []
        return [str(f.relative_to(self.folder)) for f in found] or [word]

    def _served(self, words: Sequence[str]) -> str:
        """Run a command that serves pages until it would wait for the browser."""

        def ends(server: PageServer) -> None:
            server.matches.stop(5)
            server.close()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PageServer, "run", ends)
            line = self._ludus([*words, "--no-browser"], errors.INTERRUPTED)
        assert line.startswith("http://127.0.0.1:"), f"ludus {' '.join(words)}: {line}"
        return line

    def _shell(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=self.environment,
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout


def replay_of(game: str, **params: object) -> bytes:
    """Return a replay of a match between bots."""
    match = Match(game, params, record=True)
    bot = match.spec.bots[0].name
    while not match.over and match.tick < 300:
        for seat in match.to_act:
            match.bot(seat, bot)
        match.advance()
    return match.replay((bot, bot))


def toml_blocks(page: str) -> list[str]:
    """TOML files of a page."""
    return [b.text for b in blocks(ROOT / page) if b.kind == "toml"]

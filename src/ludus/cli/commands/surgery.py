"""``ludus surgery``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import QUIET, option, positional
from ludus.cli.errors import DONE, CheckError, UserError
from ludus.cli.words import said
from ludus.flow.inputs.shown import shell

if TYPE_CHECKING:
    from ludus.cli.progress import Display
    from ludus.evaluation.progress import MatchProgress
    from ludus.presets.config import Preset
    from ludus.storage.rundir import RunDirectory
    from ludus.surgery.plan import ConversionHints
    from ludus.training.surgery.conversion import Pair
    from ludus.training.surgery.operate import Outline
    from ludus.training.surgery.proof import Proof

Count = Annotated[int, msgspec.Meta(ge=0)]


class Surgery(msgspec.Struct, frozen=True):
    """Carry a trained run over to other settings, a larger network or a changed game.

    SOURCE is RUN@last, RUN@best or RUN@VERSION, or with --out a weights file or zoo:NAME. A new run directory
    is written, whole or not at all, and ludus resume continues there; the old run stays as it is. Weights,
    both moments of the optimiser, past opponents, frozen players and matches in play are carried over. What
    cannot be carried over exactly is refused (exit code 2).

    Every setting of the preset is also an option, as for ludus train.
    """

    EXAMPLES: ClassVar = (
        "ludus surgery RUN@last --to wider.toml --plan",
        "ludus surgery RUN@last --policy.hidden 512 --plan",
        "ludus surgery RUN@last --to wider.toml --verify --run-dir runs/wider",
        "ludus surgery RUN@last --to new_unit.toml --like pikeman=spearman",
        "ludus surgery RUN@best --to wider.toml -o wider.safetensors",
        "ludus surgery old.safetensors -o new.safetensors",
    )

    source: Annotated[str, positional("RUN@last, RUN@best, RUN@VERSION, zoo:NAME or a file", "SOURCE")]
    to: Annotated[
        str, option("preset with the settings after surgery (default: of the source)", "PRESET")
    ] = ""
    run_dir: Annotated[
        str, option("new run directory (default: runs/<preset>-<date>-<time>-<4 hex>)", "DIR")
    ] = ""
    out: Annotated[str, option("write the weights alone into this new file", "FILE")] = ""
    plan: Annotated[bool, option("print the changes and write nothing")] = False
    verify: Annotated[
        bool, option("compare both networks on recorded matches; exit code 3 if they differ")
    ] = False
    matches: Annotated[
        Count,
        option(
            "play N matches of old against new, or of each against a bot; exit code 3 if one is stronger "
            "(wrong for equal networks in 1 of 1,000 tests)",
            "N",
        ),
    ] = 0
    like: Annotated[
        tuple[str, ...], option("start what is called NEW as a copy of what is called OLD", "NEW=OLD")
    ] = ()
    rename: Annotated[tuple[str, ...], option("label, tensor or head OLD is called NEW now", "OLD=NEW")] = ()
    approximate: Annotated[bool, option("allow changes that are not exact")] = False
    settle: Annotated[
        Annotated[int, msgspec.Meta(ge=-1, le=1_000_000)],
        option("updates at learning rate 0 (-1 = 200 where weights are added, else 0)", "N"),
    ] = -1
    quiet: Annotated[bool, QUIET] = False
    json: Annotated[bool, option("print one JSON document")] = False
    overrides: dict[str, str] = {}

    def run(self) -> int:
        """Carry the run over, print what was done, and return the exit code."""
        if self.out and self.run_dir:
            raise UserError(f"--run-dir {self.run_dir}: expected none with --out, which writes weights alone")
        from ludus.presets.checks.game import check_game
        from ludus.presets.file import load_preset
        from ludus.presets.weights_preset import settings_of

        lone = self._is_lone()
        if lone and not self.out:
            raise UserError(f"--out: expected a new file: {self.source} is weights of no run")
        own = None if self.to or lone else self._own_run()
        if lone and not self.to:
            loaded = settings_of(self.source, self.overrides)
        else:
            loaded = load_preset(self.to if own is None else str(own.config), self.overrides)
        check_game(loaded)
        target = self._target(loaded.name if own is None else own.path.resolve().name)
        return self._operate(loaded.preset, target)

    def _own_run(self) -> RunDirectory:
        """Return the run of the source, whose settings change. Raises ``UserError`` if none is to change."""
        from ludus.storage.references import run_of
        from ludus.storage.rundir import RunDirectory

        expected = "--to: expected the preset with the settings after surgery"
        if not self.overrides:
            raise UserError(f"{expected}, or a setting to change, such as --policy.hidden 512")
        folder, at, _ = self.source.rpartition("@")
        path = Path(folder if at else self.source)
        run = run_of(path) if path.is_file() else None
        return RunDirectory.open(path) if run is None else run

    def _is_lone(self) -> bool:
        """Return whether the source is weights of no run, whose file carries its settings."""
        from ludus.storage.references import run_of
        from ludus.storage.zoo import is_zoo

        path = Path(self.source)
        return is_zoo(self.source) or (path.is_file() and run_of(path) is None)

    def _target(self, name: str) -> Path:
        """Return what is written. Raises ``UserError`` where it exists."""
        from ludus.cli.commands.train import run_name
        from ludus.storage.rundir import RunDirectory

        flag, text = ("--out", self.out) if self.out else ("--run-dir", self.run_dir)
        path = Path(text) if text else Path("runs") / run_name(name)
        if path.exists() or path.is_symlink():
            advice = "choose another file" if self.out else RunDirectory(path).hint()
            raise UserError(f"{flag} {path}: exists already; {advice}")
        return path

    def _operate(self, preset: Preset, target: Path) -> int:
        from ludus.presets.checks.before import before_text
        from ludus.training.surgery.operate import Operation, Request
        from ludus.training.surgery.source import read_source

        if self.out:
            return self._weights_alone(preset, target)
        settle = None if self.settle < 0 else self.settle
        source = read_source(self.source)
        operation = Operation(source, Request(preset, self._hints(), settle))
        proof = None
        with self._display() as display:
            if not self.plan:
                operation.prepare()
            if (self.verify or self.matches) and not self.plan:
                proof = self._proof(operation.pair(), display)
            written = "" if self.plan else str(operation.write(target).path)
        self._show(operation.outline(), proof, written)
        if operation.unrecorded:
            console.note(said(operation.unrecorded))
        if (before := preset.game.before) is not None:
            console.note(before_text(before))
        return DONE

    def _weights_alone(self, preset: Preset, target: Path) -> int:
        from ludus.policies.weights import save_weights
        from ludus.training.surgery.weights_alone import convert

        with self._display() as display:
            pair, outline = convert(self.source, preset, self._hints(), play=not self.plan)
            proven = (self.verify or self.matches) and not self.plan
            proof = self._proof(pair, display) if proven else None
        if not self.plan:
            save_weights(pair.new, target)
        self._show(outline, proof, "" if self.plan else str(target))
        return DONE

    def _display(self) -> Display:
        from ludus.cli.progress import Display

        return Display("the run is being carried over", quiet=self.quiet)

    def _proof(self, pair: Pair, display: Display) -> Proof:
        from ludus.training.surgery.proof import prove

        def watch(progress: MatchProgress) -> None:
            display.watch("old against new", progress)

        display.say("verification: both networks are being compared on recorded matches")
        proof = prove(pair, verify=self.verify, matches=self.matches, watch=watch)
        if proof.failure:
            raise CheckError(f"{proof.failure}; nothing was written")
        return proof

    def _hints(self) -> ConversionHints:
        from ludus.surgery.plan import ConversionHints

        like, rename = pairs("--like", self.like), pairs("--rename", self.rename)
        return ConversionHints(like=like, rename=rename, approximate=self.approximate)

    def _show(self, outline: Outline, proof: Proof | None, written: str) -> None:
        if self.json:
            console.document({**msgspec.to_builtins(outline), "proof": proof, "written": written})
            return
        before, after = outline.parameters
        rows = [("from", outline.source), ("parameters", f"{before:,} -> {after:,}")]
        rows += [("change", text) for text in outline.operators]
        rows += [("network", "unchanged" if not outline.operators else _exactness(outline.exact))]
        counts = zip(outline.calibrated, ("columns", "units under batch norm"), strict=True)
        rows += [("calibrated", f"{count} new {noun}") for count, noun in counts if count]
        if self.out:
            pass
        elif outline.new_matches:
            rows.append(("matches", f"start again: {outline.new_matches}"))
        else:
            rows.append(("matches", outline.matches))
        if outline.empty_replay_buffer:
            rows.append(("replay buffer", f"starts empty: {outline.empty_replay_buffer}"))
        rows += [("players", f"{outline.players} carried over")] if outline.players else []
        rows += [("settle", f"{outline.settle} updates at learning rate 0")] if outline.settle else []
        rows += [("verified", text) for text in (proof.lines() if proof is not None else ())]
        rows += [("written", written)] if written else []
        console.result(console.table(rows))
        if written and not self.out:
            console.result(f"\nnext step\n  ludus resume {shell(written)}")


def pairs(flag: str, texts: Sequence[str]) -> dict[str, str]:
    """Return ``A=B`` texts as a dictionary. Raises ``UserError``."""
    out: dict[str, str] = {}
    for text in texts:
        left, equals, right = text.partition("=")
        if not equals or not left or not right or left in out:
            raise UserError(f"{flag} {text}: expected two names, {flag} A=B, and each A once")
        out[left] = right
    return out


def _exactness(exact: bool) -> str:
    return "same outputs for old inputs" if exact else "same outputs but for the changes above"

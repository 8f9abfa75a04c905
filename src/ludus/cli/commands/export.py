"""``ludus export``."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import QUIET, option, positional
from ludus.cli.errors import DONE
from ludus.cli.params import read_game


class Export(msgspec.Struct, frozen=True):
    """Write a policy as an ONNX file, which runs without Ludus (onnxruntime and numpy).

    The graph maps decoded observations, the mask of legal choices and the memory to probabilities, value and
    next memory; the metadata of the file names everything in it. Before anything is written, matches are
    played, and the graph has to agree with the network within 1e-5 at 200 observations. An earlier export
    under the name is replaced, another file only with --force.
    """

    EXAMPLES: ClassVar = (
        "ludus export RUN@best --onnx policy.onnx",
        "ludus export RUN@main:1200 --onnx policy.onnx --json",
    )

    player: Annotated[str, positional("weights: RUN@best, RUN@VERSION, FILE.safetensors", "PLAYER")]
    onnx: Annotated[str, option("the file to write", "FILE")]
    game: Annotated[str, option("the game (default: the one that the weights were trained on)", "GAME")] = ""
    param: Annotated[tuple[str, ...], option("set a parameter of the game; repeatable", "NAME=VALUE")] = ()
    force: Annotated[bool, option("replace a file that is no export")] = False
    quiet: Annotated[bool, QUIET] = False
    json: Annotated[bool, option("print one JSON document")] = False

    def run(self) -> int:
        """Write the file, print what is in it and return the exit code."""
        from ludus.cli.progress import Progress, Ticker
        from ludus.export.api import OBSERVATIONS, export_onnx

        game, params = read_game(self.game, self.param)
        progress = Progress(OBSERVATIONS, "observations")
        with Ticker(progress.line, quiet=self.quiet):
            done = export_onnx(
                self.player,
                self.onnx,
                game=game,
                params=params or None,
                force=self.force,
                progress=progress.count,
            )
        document = done.document
        if self.json:
            beside = str(done.described) if done.described is not None else ""
            console.document(
                {
                    "file": str(done.file),
                    "bytes": done.size,
                    "described": beside,
                    **msgspec.to_builtins(document),
                }
            )
            return DONE
        rows = [
            ("file", f"{done.file} ({done.size:,} bytes)"),
            *([("metadata", str(done.described))] if done.described is not None else []),
            ("weights", f"{document.game}, version {document.version}"),
            *(("input", _port(i.name, i.dtype, i.shape)) for i in document.inputs),
            *(("output", _port(o.name, o.dtype, o.shape)) for o in document.outputs),
            *(("left out", f"{name}: {why}") for name, why in document.left_out.items()),
            ("memory", document.memory),
            (
                "checked",
                f"{done.compared.observations} observations, largest difference {done.compared.largest:.1e}",
            ),
        ]
        console.result(console.table(rows))
        return DONE


def _port(name: str, dtype: str, shape: tuple[int | str, ...]) -> str:
    return f"{name} {dtype}[{', '.join(map(str, shape))}]"

"""Export of weights by name: convert, check against the network in played matches, write."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ludus.evaluation.evaluate import decide_game
from ludus.evaluation.weights import load_network
from ludus.export.check import Compared, compare
from ludus.export.document import ExportDocument, document_of
from ludus.export.errors import ExportError
from ludus.export.graph import PolicyGraph
from ludus.export.model import convert, described
from ludus.export.recorded import PlayedGame, record
from ludus.export.target import Target
from ludus.flow.inputs.shown import visible
from ludus.flow.process.as_found import as_found, one_thread
from ludus.flow.process.extras import install_command
from ludus.games import spec as game_spec
from ludus.games import typed
from ludus.mcts.text import is_search
from ludus.policies.protocol import Network
from ludus.presets.config import ParamValue
from ludus.storage import is_reference, refuse_run

OBSERVATIONS = 200  #: that an export is checked with
ROWS = 4  #: of a batch of them


class Exported(NamedTuple):
    """An exported file. ``described``: the file with the metadata beside it; None if there is none."""

    file: Path
    described: Path | None
    size: int
    document: ExportDocument
    compared: Compared


class Model(NamedTuple):
    """An ONNX model that was compared with its network."""

    data: bytes
    graph: PolicyGraph
    compared: Compared


def checked_model(
    network: Network,
    play: PlayedGame,
    observations: int,
    progress: Callable[[int], None],
) -> Model:
    """Convert a network and compare the model with it in matches.

    Raises:
        ExportError: It cannot be converted, differs, or its game cannot be played.
    """
    graph = PolicyGraph(network)
    data = convert(graph)
    moments = record(network, play, -(-observations // ROWS), ROWS, progress)
    return Model(data, graph, compare(data, graph, moments))


def _need_packages() -> None:
    """Raise ``ImportError`` with the command that installs what is missing."""
    for package in ("onnx", "onnxruntime"):
        try:
            import_module(package)
        except ImportError as error:
            text = f"an export needs {package}, which is not installed: {install_command('export')}"
            raise ImportError(text, name=package) from error


@as_found()
def export_onnx(
    player: str,
    file: str | Path,
    *,
    game: str = "",
    params: dict[str, ParamValue] | None = None,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Exported:
    """Write a network as an ONNX file, after a check with onnxruntime in played matches.

    Args:
        player: ``RUN@best``, ``RUN@last``, ``RUN@VERSION``, ``RUN@PLAYER`` or ``RUN@PLAYER:VERSION`` of a
            league, or a weights file.
        file: The file to write.
        game: The game; needed if it is your own.
        params: Parameters of the game (default: the run's).
        force: Replace a file that is no export.
        progress: Receives the number of observations of each part of the check.

    Returns:
        The file, its document, and the largest difference from the network.

    Raises:
        ExportError: The network cannot be exported, or the file not be written there.
        ConfigError: Not weights of one network, or of another game.
        StorageError: No such run, version or file.
        ImportError: onnx or onnxruntime is not installed.
    """
    _need_packages()
    target = Target(Path(file), force=force)
    target.check()
    if is_search(player):
        raise ExportError(f"{player}: a search is no network; export the weights before the +")
    refuse_run(player)
    if not is_reference(player):
        raise ExportError(
            f"{visible(player)}: not weights; expected RUN@best, RUN@last, RUN@VERSION or a weights file"
        )
    name, text = decide_game([player], typed(game), params)
    spec = game_spec(name, text)
    network, meta, _, _ = load_network(player, spec, "cpu")
    one_thread()
    model = checked_model(network, PlayedGame(name, text, meta.frame_skip), OBSERVATIONS, progress or _silent)
    document = document_of(model.graph, meta, text, model.compared)
    data = described(model.data, document)
    beside = target.write(data, document)
    return Exported(target.file, beside, len(data), document, model.compared)


def _silent(_: int) -> None:
    """Show no progress."""

"""Data sets as lines: matches, records, sources, rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ludus.cli import console
from ludus.cli.console import percent
from ludus.flow.inputs.shown import shown, visible

if TYPE_CHECKING:
    from ludus.datasets.manifest import Manifest

_MOST = 10  # sources and sets of parameters in a line


def described(path: Path, manifest: Manifest) -> str:
    """Return the content of a data set as a table."""
    counts = manifest.counts
    size = sum(shard.bytes for shard in manifest.shards)
    split = "by the hash of a match" if manifest.split.by == "match" else "the newest"
    rows = [
        ("data set", str(path)),
        ("game", f"{manifest.game}, version {manifest.version}"),
        ("matches", f"{manifest.matches:,}"),
        ("decisions", f"{manifest.decisions:,}"),
        ("held out", f"{manifest.held_out:,} matches ({percent(manifest.split.held_out)} asked, {split})"),
        ("files", f"{len(manifest.shards):,} shards, {size:,} bytes"),
        ("sha256", manifest.sha256),
        ("records", f"{counts.read:,} read"),
    ]
    rows += [("", f"{count:,} left out: {reason}") for reason, count in sorted(counts.left_out.items())]
    for count, what in (
        (counts.duplicates, "left out: duplicates"),
        (counts.shortened, "shortened"),
        (counts.links, "links not followed"),
    ):
        if count:
            rows.append(("", f"{count:,} {what}"))
    if manifest.licence:
        rows.append(("licence", manifest.licence))
    for number, source in enumerate(manifest.sources[:_MOST]):
        files = f", {source.files:,} files, {source.bytes:,} bytes" if source.files else ""
        rows.append(("sources" if not number else "", f"{source.name}{files}"))
    if len(manifest.sources) > _MOST:
        rows.append(("", f"and {len(manifest.sources) - _MOST:,} more"))
    for number, params in enumerate(manifest.params[:_MOST]):
        text = (
            " ".join(f"{name}={shown(value)}" for name, value in sorted(params.items())) or "the game's own"
        )
        rows.append(("rules" if not number else "", text))
    if len(manifest.params) > _MOST:
        rows.append(("", f"and {len(manifest.params) - _MOST:,} more sets of parameters"))
    return console.table([(name, visible(text)) for name, text in rows])

"""``ludus go show``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from ludus.cli.arguments import option, positional
from ludus.cli.commands.go.options import RecordOutput, show_record, write_page
from ludus.cli.errors import DONE, UserError
from ludus.flow.inputs.regular import why_unusable


class GoShow(RecordOutput, frozen=True, kw_only=True):
    """Show the record of an analysis: its tables, computed again from its raw lines, and its page.

    A record whose tables do not follow from its lines is refused (exit code 2).
    """

    EXAMPLES: ClassVar = (
        "ludus go show RUN/analyses/elo.json",
        "ludus go show RUN/analyses/elo.json -o elo.html",
    )

    file: Annotated[str, positional("record of an analysis", "RECORD")]
    out: Annotated[str, option("page to write", "PAGE")] = ""

    def run(self) -> int:
        """Check and print the record, write the page and return the exit code."""
        from ludus.analyses.registry import read_checked

        path = Path(self.file)
        if why := why_unusable(path, "no such file; expected a record (RUN/analyses/elo.json)"):
            raise UserError(f"{self.file}: {why}")
        if self.out and Path(self.out).resolve() == path.resolve():
            raise UserError(f"{self.out}: would overwrite the record; choose another name with --out")
        analysis, record = read_checked(path)
        files = (write_page(Path(self.out), analysis, record),) if self.out else ()
        show_record(record, as_json=self.json, files=files)
        return DONE

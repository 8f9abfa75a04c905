"""Contracts for import-linter: modules that only certain packages may import, modules without circles.

Unlike import-linter's own ``protected`` contract the first can be stated before either side exists, so the
rule is there on the day that the first ``import ray`` is written.
"""

from __future__ import annotations

from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class OnlyContract(Contract):
    """``homes``: lines ``"module ... -> package ..."``, read as *only those packages import those modules*.

    Modules below a named one count as it does; imports inside it are free.
    """

    type_name = "only"

    homes = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        broken: list[str] = []
        for line in cast("list[str]", self.homes):  # a descriptor: the instance holds the parsed list
            guarded, arrow, packages = line.partition("->")
            if not arrow or not guarded.split() or not packages.split():
                raise ValueError(f"contract {self.name!r}: {line!r} is not 'module ... -> package ...'")
            for name in guarded.split():
                broken += _violations(graph, name, packages.split())
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["broken"]:
            output.print_error(line)


class PairsContract(Contract):
    """No two modules of ``root`` import each other, inside of functions neither."""

    type_name = "pairs"

    root = fields.StringField()

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        inside = sorted(m for m in graph.modules if _is_in(m, cast(str, self.root)))
        broken = [
            f"{one} and {other} import each other"
            for one in inside
            for other in sorted(graph.find_modules_directly_imported_by(one))
            if other > one and one in graph.find_modules_directly_imported_by(other)
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["broken"]:
            output.print_error(line)


def _violations(graph: ImportGraph, guarded: str, packages: list[str]) -> list[str]:
    found = []
    for module in sorted(m for m in graph.modules if _is_in(m, guarded)):
        for importer in sorted(graph.find_modules_that_directly_import(module)):
            if not any(_is_in(importer, package) for package in (guarded, *packages)):
                lines = [
                    str(d["line_number"])
                    for d in graph.get_import_details(importer=importer, imported=module)
                ]
                found.append(
                    f"{importer} imports {module} (line {', '.join(lines)}); only {', '.join(packages)} may"
                )
    return found


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")

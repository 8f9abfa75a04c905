"""Mutation testing: small errors in the Python code, one at a time, and whether the closest tests fail.

    python -m tools.mutate                            120 mutants or 30 minutes, seed 1
    python -m tools.mutate --seed 2 --minutes 5       others, for five minutes
    python -m tools.mutate --only ratings --count 20  of one package

Cosmic Ray makes the mutants and runs the tests. Mutants are drawn by the seed, a package in turn, and run
in a copy of the installed package that comes before it on the path, so no source is ever changed. A mutant
that survives must be in ``tools/mutation_survivors.toml`` with a reason.

Exit code: 0 if every survivor is listed, 3 if one is not or if an entry has no source line any more, 2 if the
tests fail without a mutant.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import ndiff
from pathlib import Path
from unittest.mock import patch

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import TestOutcome
from parso.python.tree import Keyword, PythonNode
from parso.tree import NodeOrLeaf

from tools.freshness import ANY_PACKAGE

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
LISTED = ROOT / "tools" / "mutation_survivors.toml"
OVERLAY = ROOT / "build" / "mutate"
PACKAGES = (
    "algorithms",
    "rollouts",
    "mcts",
    "training",
    "evaluation",
    "reporting",
    "sweep",
    "presets",
    "bench",
    "storage",
    "ratings",
    "pool",
    "league",
)
KINDS = ("equivalent", "text", "speed", "limit")

#: One likely slip for each operator. Cosmic Ray has all pairs, most of which no person would write.
SLIPS = """
Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Mul Mod_Mul Pow_Mul RShift_LShift LShift_RShift
BitOr_BitAnd BitAnd_BitOr BitXor_BitOr
Eq_NotEq NotEq_Eq Lt_LtE LtE_Lt Gt_GtE GtE_Gt Is_IsNot IsNot_Is USub_UAdd Delete_USub Delete_Not Delete_Invert
""".split()
OTHERS = """
AddNot ReplaceTrueWithFalse ReplaceFalseWithTrue ReplaceAndWithOr ReplaceOrWithAnd ReplaceBreakWithContinue
ReplaceContinueWithBreak NumberReplacer ZeroIterationForLoop
""".split()

#: The closest tests, by the longest prefix of the module's path. Cheap ones first: one failure ends a run.
TESTS: dict[str, tuple[str, ...]] = {
    "algorithms": ("algorithms/test_update.py", "algorithms/test_appo.py"),
    "algorithms/a2c": ("algorithms/test_methods.py",),
    "algorithms/actor_critic": (
        "algorithms/test_update.py",
        "algorithms/test_terms.py",
        "algorithms/test_methods.py",
    ),
    "algorithms/alphazero": ("algorithms/test_alphazero.py", "algorithms/test_ends.py"),
    "algorithms/config": (
        "training/test_defaults.py",
        "algorithms/test_update.py",
        "algorithms/test_appo.py",
    ),
    "algorithms/dqn": ("algorithms/test_dqn.py",),
    "algorithms/updates/forward": ("algorithms/test_forward.py", "algorithms/test_appo.py"),
    "algorithms/impala": ("algorithms/test_methods.py",),
    "algorithms/updates/optimiser": ("algorithms/test_optimiser.py", "algorithms/test_update.py"),
    "algorithms/policy_gradient": ("algorithms/test_methods.py",),
    "algorithms/returns": (
        "algorithms/test_returns.py",
        "algorithms/test_methods.py",
        "algorithms/test_terms.py",
    ),
    "pool": ("pool/test_process_pool.py",),
    "pool/factory": ("training/test_parts.py", "training/test_levels.py"),
    "pool/native": ("pool/test_teams.py", "pool/test_native_pool.py"),
    "pool/replay_recorder": ("pool/test_replay_recorder.py",),
    "league": ("league/test_rules.py", "league/test_members.py", "league/test_events.py"),
    "ratings": ("ratings",),
    "rollouts": ("rollouts", "training/test_levels.py"),
    "rollouts/exchange": ("training/test_sampler_and_learner.py",),
    "rollouts/search_actor": ("rollouts/test_search_actor.py", "mcts/test_planner.py"),
    "mcts": ("mcts/test_hosted.py", "mcts/test_trees.py"),
    "mcts/config": ("training/test_defaults.py", "mcts/test_hosted.py", "mcts/test_trees.py"),
    "mcts/planner": ("mcts/test_planner.py",),
    "mcts/self_play": (
        "mcts/test_trees.py::test_self_play_is_recorded_whole_and_bad_records_are_refused",
        "mcts/test_hosted.py",
        "training/test_alphazero.py",
    ),
    "storage": ("storage", "training/test_lost_files.py"),
    "storage/journal": ("league/test_journal.py", "league/test_killed.py"),
    "storage/matches": ("training/test_lost_files.py", "training/test_alphazero.py"),
    "training": (
        "training/test_parts.py",
        "training/test_one_seat.py",
        "training/test_levels.py",
        "training/test_weight_hashes.py",
        "training/test_runs.py",
    ),
    "training/alphazero": ("training/test_alphazero.py", "training/test_lost_files.py"),
    "training/actor_learner/async_loop": ("training/test_async_loop.py",),
    "training/actor_learner/round_robin_loop": ("training/test_round_robin_loop.py",),
    "training/run_loop": (
        "training/test_candidates.py",
        "training/test_lost_files.py",
        "training/test_runs.py",
    ),
    "training/evaluations": ("training/test_candidates.py", "training/test_runs.py"),
    "reporting/metrics": ("training/test_metrics.py",),
    "reporting/run_view": ("training/test_run_view.py", "training/test_metrics.py"),
    "reporting/sinks": ("training/test_metrics.py", "training/test_sinks.py"),
    "bench/training": ("training/test_bench.py",),
    "bench/search": ("training/test_bench_search.py",),
    "training/candidates": ("training/test_candidates.py",),
    "presets/config": ("training/test_defaults.py", "training/test_preset_file.py", "training/test_parts.py"),
    "training/actor_learner/curriculum": ("training/test_parts.py",),
    "evaluation": ("training/test_parts.py", "training/test_one_seat.py"),
    "training/alphazero/gate": ("training/test_gate.py", "training/test_alphazero.py"),
    "presets/hardware": ("training/test_hardware.py", "training/test_parts.py"),
    "training/actor_learner/rollout_summary": ("training/test_parts.py", "training/test_one_seat.py"),
    "training/actor_learner/seating": ("training/test_lanes_in_play.py", "training/test_lost_files.py"),
    "training/actor_learner/snapshots": ("training/test_lanes_in_play.py", "training/test_lost_files.py"),
    "training/actor_learner/sampler": ("training/test_sampler_and_learner.py",),
    "training/opponents": ("training/test_parts.py", "pool/test_teams.py"),
    "evaluation/loaded_policy": ("api/test_load_policy.py",),
    "evaluation/players": ("training/test_players.py", "training/test_parts.py", "training/test_runs.py"),
    "presets": ("training/test_preset_file.py", "training/test_parts.py"),
    "training/run_evaluator": ("training/test_candidates.py", "training/test_one_seat.py"),
    "reporting/report": ("training/test_parts.py", "training/test_one_seat.py"),
    "training/actor_learner/slab_steps": (
        "training/test_weight_hashes.py",
        "training/test_lost_files.py",
        "training/test_runs.py",
    ),
    "training/actor_learner/old_rules": ("training/test_old_rules.py", "training/test_game_before.py"),
    "training/resumed": ("training/test_changes.py", "training/test_run_code.py"),
    "training/actor_learner/trainer": (
        "training/test_weight_hashes.py",
        "training/test_lost_files.py",
        "training/test_runs.py",
    ),
    "presets/schema": ("training/test_preset_file.py",),
    "training/alphazero/workers": ("training/test_alphazero.py",),
    "training/stopping": ("training/test_parts.py",),
    "evaluation/tournament": ("training/test_tournament.py",),
}
TIMEOUT_S = 400.0  # of all tests of a mutant; a mutant that takes longer counts as found


class MutationError(Exception):
    """Obstacle to a run: a broken list, or tests that fail without a mutant."""


@dataclass(frozen=True)
class Mutant:
    """One change of one module: the lines that it removes and those that it puts there, stripped."""

    module: str  # "ratings/interval.py"
    before: str
    after: str
    code: str  # the whole module with the change

    @property
    def key(self) -> tuple[str, str, str]:
        return self.module, self.before, self.after


# ---- the mutants -----------------------------------------------------------------------------------


class _Bare(ast.NodeTransformer):
    """Drops what no run reads: annotations and docstrings."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        node.annotation = ast.Constant(None)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        return ast.Pass() if isinstance(node.value, ast.Constant) else node


def meaning(code: str) -> str | None:
    """Return the syntax tree as text, without annotations and docstrings; None if the code is no Python."""
    try:
        return ast.dump(_Bare().visit(ast.parse(code)))
    except (SyntaxError, ValueError):
        return None


def changed_lines(old: str, new: str) -> tuple[str, str]:
    """Lines that only the one and only the other has, stripped and joined."""
    parts: dict[str, list[str]] = {"-": [], "+": []}
    for line in ndiff(old.splitlines(), new.splitlines()):
        if line[0] in parts:
            parts[line[0]].append(line[2:].strip())
    return "\n".join(filter(None, parts["-"])), "\n".join(filter(None, parts["+"]))


class DropCall(Operator):  # type: ignore[misc]  # the library has no types
    """Leaves out a statement that is a call: Cosmic Ray has nothing like it."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        statement = node.children[0] if isinstance(node, PythonNode) and node.type == "simple_stmt" else None
        if statement is not None and statement.type == "atom_expr" and statement.get_last_leaf().value == ")":
            yield node.start_pos, node.end_pos

    def mutate(self, node: PythonNode, index: int) -> PythonNode:
        call = node.children[0]
        node.children[0] = Keyword("pass", call.start_pos, call.get_first_leaf().prefix)
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("f(1)\n", "pass\n"),)


def operators() -> dict[str, Operator]:
    """Those that are used, by name."""
    found: dict[str, Operator] = {"DropCall": DropCall()}
    for name in cosmic_ray.plugins.operator_names():
        short = name.removeprefix("core/")
        if short in OTHERS or short.partition("Operator_")[2] in SLIPS:
            found[name] = cosmic_ray.plugins.get_operator(name)()
    return found


def drawn(module: str, code: str, seed: int) -> Iterator[Mutant]:
    """Mutants of one module, at most one a position, in an order that the seed gives.

    The rank of a mutant depends on the text of its line, not on its place: a change of other lines
    draws no others.
    """
    nodes = list(ast_nodes(get_ast(code)))
    lines = code.splitlines()
    nth = _occurrences(lines)
    ranked: list[tuple[str, tuple[int, int], str, int]] = []
    available = operators()
    for name, operator in available.items():
        places = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        for i, (row, column) in enumerate(places):
            line = lines[row - 1] if row <= len(lines) else ""
            again = sum(p == (row, column) for p in places[:i][-40:])
            label = f"{seed}|{module}|{line.strip()}|{nth[row]}|{column}|{name}|{again}"
            ranked.append((hashlib.sha256(label.encode()).hexdigest(), (row, column), name, i))
    whole, taken = meaning(code), set[tuple[int, int]]()
    for _, place, name, i in sorted(ranked):
        if place in taken:
            continue
        mutated = mutate_code(code, available[name], i)
        bare = None if mutated is None else meaning(mutated)
        if bare is None or bare == whole:
            continue
        taken.add(place)
        yield Mutant(module, *changed_lines(code, mutated), mutated)


def _occurrences(lines: Sequence[str]) -> dict[int, int]:
    """Line number -> how many equal lines come before it."""
    seen: Counter[str] = Counter()
    out = {len(lines) + 1: 0}
    for number, line in enumerate(lines, 1):
        out[number] = seen[line.strip()]
        seen[line.strip()] += 1
    return out


def sample(folder: Path, packages: Sequence[str], seed: int) -> Iterator[Mutant]:
    """Yield a mutant of each package in turn; inside one, of a module by its size."""
    streams: dict[str, dict[str, Iterator[Mutant]]] = {}
    sizes: dict[str, int] = {}
    for package in packages:
        for path in sorted((folder / package).rglob("*.py")):
            module, code = path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8")
            sizes[module] = len(code)
            streams.setdefault(package, {})[module] = drawn(module, code, seed)
    number = 0
    while streams:
        for package in list(streams):
            while modules := streams.get(package):
                number += 1
                digest = hashlib.sha256(f"{seed}|{package}|{number}".encode()).digest()
                point = int.from_bytes(digest[:8], "big") % sum(sizes[m] for m in modules)
                for module in modules:
                    point -= sizes[module]
                    if point < 0:
                        break
                mutant = next(modules[module], None)
                if mutant is not None:
                    yield mutant
                    break
                del modules[module]
                if not modules:
                    del streams[package]


def tests_of(module: str) -> tuple[str, ...]:
    """The closest tests of a module, as arguments of pytest."""
    prefixes = [p for p in TESTS if module.startswith(p)]
    return tuple(f"tests/unit/{t}" for t in TESTS[max(prefixes, key=len)])


# ---- the list of survivors -------------------------------------------------------------------------


def read_listed(path: Path) -> dict[tuple[str, str, str], str]:
    """Survivors by (module, lines before, lines after) with their reasons. Raises :class:`MutationError`."""
    listed: dict[tuple[str, str, str], str] = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", []):
        missing = {"module", "before", "after", "kind", "reason"} - set(entry)
        if missing or not str(entry["reason"]).strip():
            raise MutationError(f"{path.name}: {entry}: expected {', '.join(sorted(missing)) or 'a reason'}")
        if entry["kind"] not in KINDS:
            raise MutationError(f"{path.name}: kind {entry['kind']!r}: expected one of {', '.join(KINDS)}")
        listed[entry["module"], entry["before"], entry["after"]] = entry["reason"]
    return listed


def stale(listed: Iterable[tuple[str, str, str]], folder: Path) -> list[tuple[str, str, str]]:
    """Entries whose lines are in no source any more."""

    def there(module: str, before: str) -> bool:
        path = folder / module
        lines = (
            {x.strip() for x in path.read_text(encoding="utf-8").splitlines()} if path.is_file() else set()
        )
        return all(line in lines for line in before.splitlines())

    return [key for key in listed if not there(key[0], key[1])]


def as_toml(mutant: Mutant) -> str:
    """Return an entry for the list, without its reason."""

    def quoted(text: str) -> str:
        if "'" in text or "\n" in text:
            return "'''" + text + "'''"
        return f"'{text}'"

    return (
        f'[[survivor]]\nmodule = "{mutant.module}"\nbefore = {quoted(mutant.before)}\n'
        f'after = {quoted(mutant.after)}\nkind = ""\nreason = ""\n'
    )


# ---- a run -----------------------------------------------------------------------------------------


@contextmanager
def changed(path: Path, code: str) -> Iterator[None]:
    """Give a file other contents for the duration of the block."""
    original = path.read_text(encoding="utf-8")
    try:
        path.write_text(code, encoding="utf-8")
        yield
    finally:
        path.write_text(original, encoding="utf-8")


class Bench:
    """A copy of the installed package, on the path before it, in which mutants are tested."""

    def __init__(self, folder: Path = OVERLAY) -> None:
        spec = importlib.util.find_spec("ludus")
        if spec is None or spec.origin is None:
            raise MutationError("ludus is not installed here: make install")
        installed = Path(spec.origin).parent
        self.package = folder / "ludus"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(installed, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        # Compiled once; a changed module is recognised by its hash, not by the second of its change.
        compiling = [
            sys.executable,
            "-m",
            "compileall",
            "-q",
            "--invalidation-mode",
            "checked-hash",
            str(folder),
        ]
        subprocess.run(compiling, check=True)
        #: The copy is imported here, and tests accept that it differs from src/; this process keeps its own.
        self.environment = {**os.environ, "PYTHONPATH": str(folder), ANY_PACKAGE: "1"}
        self._passed: set[tuple[str, ...]] = set()

    def survives(self, mutant: Mutant) -> bool:
        """Whether the closest tests pass with the mutant. Raises where they fail without it."""
        tests = tests_of(mutant.module)
        self._check(tests)
        with changed(self.package / mutant.module, mutant.code):
            return self._run(tests)

    def _check(self, tests: tuple[str, ...]) -> None:
        """Once for each set of tests: they pass without a mutant, and once for all that they run the copy."""
        if tests in self._passed:
            return
        if not self._passed:
            path = self.package / "__init__.py"
            with changed(path, path.read_text(encoding="utf-8") + "\nraise ImportError('the copy')\n"):
                if self._run(tests):
                    raise MutationError(f"{' '.join(tests)} do not import ludus from {self.package}")
        if not self._run(tests):
            raise MutationError(f"{' '.join(tests)} fail without a mutant: mend them first")
        self._passed.add(tests)

    def _run(self, tests: tuple[str, ...]) -> bool:
        options = "-x -q --timeout 90 -p no:cacheprovider -p no:xdist --no-header"
        command = f"{shlex.quote(sys.executable)} -m pytest {options} {' '.join(tests)}"
        with patch.dict(os.environ, self.environment):
            outcome, _ = run_tests(command, TIMEOUT_S)
        return bool(outcome == TestOutcome.SURVIVED)


def run(
    mutants: Iterator[Mutant],
    bench: Bench,
    listed: Mapping[tuple[str, str, str], str],
    *,
    count: int,
    minutes: float,
) -> list[Mutant]:
    """Test mutants until there were ``count`` or time is up; return survivors that are not listed."""
    started = time.monotonic()
    found: Counter[str] = Counter()
    unlisted: list[Mutant] = []
    numbers: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant in mutants:
        if sum(found.values()) >= count or time.monotonic() - started > 60.0 * minutes:
            break
        if not bench.survives(mutant):
            outcome = "killed"
        elif mutant.key in listed:
            outcome = "listed"
        else:
            outcome = "SURVIVED"
            unlisted.append(mutant)
        found[outcome] += 1
        numbers[mutant.module.split("/")[0]][outcome] += 1
        print(f"{outcome:8} {mutant.module}: {mutant.before!r} -> {mutant.after!r}", flush=True)
    for package, outcomes in sorted(numbers.items()):
        print(f"{package:12} " + ", ".join(f"{n} {o}" for o, n in sorted(outcomes.items())))
    took = (time.monotonic() - started) / 60.0
    print(f"{sum(found.values())} mutants in {took:.1f} minutes: " + str(dict(found)))
    return unlisted


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=120, help="mutants at most")
    parser.add_argument("--minutes", type=float, default=30.0, help="no mutant starts later")
    parser.add_argument("--only", nargs="*", choices=PACKAGES, default=PACKAGES, help="packages to mutate")
    options = parser.parse_args(argv)
    try:
        listed = read_listed(LISTED)
        bench = Bench()
        gone = stale(listed, bench.package)
        mutants = sample(bench.package, options.only, options.seed)
        unlisted = run(mutants, bench, listed, count=options.count, minutes=options.minutes)
    except MutationError as error:
        print(error, file=sys.stderr)
        return 2
    for module, before, _ in gone:
        print(f"{LISTED.name}: {module} has no line {before!r} any more: remove the entry")
    if unlisted:
        print(f"\nWrite a test for each of these, or list it in {LISTED.name} with a reason:\n")
        print(*map(as_toml, unlisted), sep="\n")
    return 3 if unlisted or gone else 0


if __name__ == "__main__":
    sys.exit(main())

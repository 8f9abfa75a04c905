"""Checks that old names do not come back: identifiers, file names and preset keys that were renamed.

A rule names what is banned, what to write instead, and where. Python identifiers are read by the tokenizer,
C++ identifiers with comments and strings removed, so prose is free. Prints one line for each violation; exit
code 3 then.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_CPP_NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b")
_CPP = {".hpp", ".cpp"}
#: Files that name old names on purpose: translations of files of before, and this table with its test.
EXEMPT = {
    "src/ludus/policies/autoregressive.py",  # `told` is a name in weights files
    "src/ludus/policies/stacked.py",
    "tools/check_names.py",
    "tests/unit/tools/test_check_names.py",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """``old``: banned identifiers; ``new``: what to write; ``under``: path prefixes where the rule holds."""

    old: tuple[str, ...]
    new: str
    under: tuple[str, ...] = ("src/", "cpp/", "tests/", "tools/", "benchmarks/", "examples/")


def _rule(old: str, new: str, *under: str) -> Rule:
    return Rule(tuple(old.split()), new, under or Rule((), "").under)


TRAIN = ("src/ludus/train/", "tests/unit/train/")
POOL = ("src/ludus/pool/", "tests/unit/pool/")

IDENTIFIERS: tuple[Rule, ...] = (
    _rule("gang Gang", "learner_threads, LearnerThreads"),
    _rule("crew _crew Crew", "workers, WorkerPool"),
    _rule(
        "_Hand _hands hire bury dismiss _greet _welcome _introduce", "_Worker: start, kill, shutdown", *POOL
    ),
    _rule("Bell bell bells silence", "Doorbell: notify, clear"),
    _rule("ring", "Doorbell.notify", *POOL),
    _rule("beat beats", "heartbeat", *POOL),
    _rule("Cells _cells cells", "ControlBlock, control (cells are pointer targets)", *POOL),
    _rule("Tape Tapes tape tapes _tapes", "MatchRecorder, ReplayRecorder"),
    _rule("Rerun rerun", "Resimulation"),
    _rule("Preference preference Judged", "ActionDistribution: sample, evaluate"),
    _rule("Unfolded unfolded unfold", "TensorLayout, decode"),
    _rule("Window", "ReplayBuffer", "src/ludus/algorithms/", "src/ludus/train/alphazero/"),
    _rule(
        "moment",
        "time_step",
        *("cpp/", *(f"src/ludus/{p}/" for p in ("flow", "pool", "rollouts", "policies", "algorithms"))),
    ),
    _rule("moments", "steps", "src/ludus/pool/", "src/ludus/rollouts/", "src/ludus/algorithms/", "cpp/pool/"),
    _rule("logp", "log_prob"),
    _rule("ours", "learner_mask", "src/ludus/algorithms/", "src/ludus/train/"),
    _rule("known follows", "valid, next_index", "src/ludus/algorithms/returns.py"),
    _rule("schedule", "num_matches", *POOL, "cpp/pool/", "cpp/bind/pool.hpp"),
    _rule("Referee referee", "RunEvaluator", *TRAIN),
    _rule("Judge", "Gate"),
    _rule("Parts parts wiring", "components", "src/ludus/train/on_policy/", "src/ludus/train/alphazero/"),
    _rule("Games", "Matches", "src/ludus/search/", "src/ludus/algorithms/", "src/ludus/train/"),
    _rule("GameFiles", "MatchFiles"),
    _rule("foresee Foresight", "static evaluation hook"),
    _rule("told tells", "returned, reported, message, ...", "src/", "cpp/"),
)

#: C++ identifiers: path search in the terms of the literature, hooks, time steps.
CPP_RENAMED: dict[str, str] = {
    "FlagLearned": "FlagHeuristic",
    "Foresight": "StaticEvaluation",
    "HasCount": "HasFinalScore",
    "HasForesight": "HasStaticEvaluation",
    "Homes": "StartPositions",
    "Hopeless": "FailedSearchCache",
    "HostedMoment": "HostedStep",
    "LearnedStore": "HeuristicStore",
    "LearnedTables": "HeuristicTables",
    "Moment": "TimeStep",
    "Outlook": "VisibilityMask",
    "PathEntry": "CachedWaypoint",
    "Routes": "PathCache",
    "RuleField": "OverrideField",
    "RuleFields": "OverrideFields",
    "Taken": "BlockedCells",
    "all4": "broadcast4",
    "apply_rules": "apply_overrides",
    "deal_lots": "draw_tie_breaks",
    "draw_home": "draw_start_position",
    "enter_strips": "enter_buckets",
    "fellows": "collision_group",
    "for_fours": "for_groups_of_4",
    "for_strips": "for_buckets",
    "foresee": "static_evaluation",
    "fours": "groups_of_4",
    "homes": "start_positions",
    "homes_of": "start_positions_of",
    "homes_on_map": "starts_on_map",
    "hopeless": "failed_searches",
    "inner_strips": "inner_buckets",
    "kHomes": "kStartSeats",
    "kHopelessBits": "kFailedSearchBits",
    "kLearnedChains": "kHeuristicChains",
    "kLearnedEntries": "kHeuristicEntries",
    "kLotTicks": "kTieBreakTicks",
    "kMaxPops": "kMaxExpansions",
    "kPathEntries": "kCachedWaypoints",
    "kStrips": "kBuckets",
    "learned_now": "find_active_seats",
    "learned_size": "heuristic_size",
    "leave_strips": "leave_buckets",
    "lots": "tie_breaks",
    "make_route": "cache_search",
    "may_remember_routes": "may_cache_paths",
    "outlook": "visible",
    "path_head": "waypoint_head",
    "path_hint": "waypoint_hint",
    "path_memory": "path_caches",
    "path_size": "waypoint_count",
    "place_homes": "place_start_positions",
    "plan_path_afresh": "plan_path_uncached",
    "print_rules": "print_overrides",
    "read_moments": "read_steps",
    "rewrite_moment": "rewrite_time_step",
    "select_told": "select_bounded",
    "strip_of": "bucket_of",
    "taken_in_vain": "blocking_was_irrelevant",
    "that_take": "accepting_units",
    "write_moment": "write_time_step",
    "take_games": "take_matches",
    "GameColumns": "MatchColumns",
}

#: Banned file names: their last part.
FILES: dict[str, str] = {
    "gang.py": "learner_threads.py",
    "crew.py": "worker_pool.py",
    "cells.py": "control_block.py",
    "single.py": "single_agent.py",
    "tape.py": "match_record.py",
    "tapes.py": "replay_recorder.py",
    "preference.py": "action_distribution.py",
    "unfolded.py": "layout.py",
    "window.py": "replay_buffer.py",
    "moment.hpp": "step_io.hpp",
    "homes.hpp": "start_positions.hpp",
    "lanes.hpp": "simd.hpp",
    "learned.hpp": "learned_heuristic.hpp",
    "lines.hpp": "line_of_sight.hpp",
    "lots.hpp": "tie_breaks.hpp",
    "path_memory.hpp": "path_caches.hpp",
    "routes.hpp": "path_cache.hpp",
    "referee.py": "run_evaluator.py",
    "wiring.py": "components.py",
    "base.py": "run_loop.py",
}

#: Banned preset keys, in presets, documentation and commands: pattern -> what to write.
KEYS: dict[str, str] = {
    r"(?<![\w.-])(?:--)?pool\.matches\b": "pool.slots",
    r"(?<![\w.-])(?:--)?pool\.steps\b": "pool.rollout_length",
    r"(?<![\w.-])--search\.": "--algorithm.search.",
    r"(?<![\w.-])--self-play\.": "--algorithm.self-play.",
    r"(?m)^\[search\]": "[algorithm.search]",
    r"(?m)^\[self_play\]": "[algorithm.self_play]",
}
#: Where keys are read. Published results keep the command that made them.
KEY_FILES = (
    "presets/",
    "docs/",
    "README.md",
    "GLOSSARY.md",
    "CONTRIBUTING.md",
    "examples/",
    "src/",
    "tools/",
)
KEY_EXEMPT = ("docs/results.md", "docs/decisions/", "src/ludus/presets/renamed.py")


def identifiers(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Line and name of every identifier of a Python or C++ source."""
    if path.endswith(".py"):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                yield token.start[0], token.string
        return
    plain = _CPP_NOISE.sub(lambda noise: "\n" * noise[0].count("\n") or " ", text)
    for number, line in enumerate(plain.split("\n"), 1):
        for found in _IDENTIFIER.finditer(line):
            yield number, found[0]


def violations(path: str, text: str) -> Iterator[str]:
    """One line for each old name in the file ``path`` (from the root of the repository)."""
    if path in EXEMPT:
        return
    name = path.rsplit("/", 1)[-1]
    if name in FILES and path.startswith(("src/", "cpp/")):
        yield f"{path}: a file of this name is called {FILES[name]}"
    rules = [rule for rule in IDENTIFIERS if path.startswith(rule.under)]
    if rules and Path(path).suffix in {".py", *_CPP}:
        banned = {old: rule.new for rule in rules for old in rule.old}
        banned |= CPP_RENAMED if path.startswith("cpp/") else {}
        for line, found in identifiers(path, text):
            if found in banned:
                yield f"{path}:{line}: {found}: write {banned[found]}"
    if path.startswith(KEY_FILES) and not path.startswith(KEY_EXEMPT):
        for pattern, new in KEYS.items():
            for match in re.finditer(pattern, text):
                yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}: write {new}"


def tracked(root: Path) -> Iterable[str]:
    """Paths of the repository's files: text that rules look at."""
    listed = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=root
    )
    suffixes = (".py", ".hpp", ".cpp", ".toml", ".md")
    return [p for p in listed.decode().split("\n") if p.endswith(suffixes) and (root / p).is_file()]


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    found = [v for path in tracked(root) for v in violations(path, (root / path).read_text(encoding="utf-8"))]
    for line in found:
        print(line)
    if found:
        print(f"{len(found)} old names; the present ones stand in tools/check_names.py and GLOSSARY.md")
    return 3 if found else 0


if __name__ == "__main__":
    sys.exit(main())

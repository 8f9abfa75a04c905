"""Turns recorded transitions of the original (JSON lines, gzip) into the text that
``pommerman_conformance`` reads.

Usage: traces.py INPUT.jsonl.gz OUTPUT.txt [--every N]

``start SIZE MAX_BLAST`` starts a record and is followed by one ``state`` line; then every
``step A0 A1 A2 A3`` is followed by the ``state`` it led to. A ``state`` has BOARD AGENTS BOMBS HIDDEN FLAMES:
the board is one hex digit a cell in row-major order, the others are lists of numbers, "-" where empty, with
six, six, three and three numbers an entry (agents: row, column, ammo, alive, blast, kick; bombs in order:
row, column, owner, life, blast, direction; hidden power-ups: row, column, item; flames: row, column, life).
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterable


def numbers(entries: Iterable[Iterable[int]]) -> str:
    return ",".join(str(int(v)) for entry in entries for v in entry) or "-"


def state_text(state: dict[str, list]) -> str:
    board = "".join(f"{cell:x}" for row in state["board"] for cell in row)
    agents = sorted(state["agents"], key=lambda a: a["id"])
    lists = (
        ((*a["pos"], a["ammo"], a["alive"], a["blast"], a["kick"]) for a in agents),
        ((*b["pos"], b["owner"], b["life"], b["blast"], b["dir"]) for b in state["bombs"]),
        ((*pos, item) for pos, item in state["items"]),
        ((*pos, life) for pos, life in state["flames"]),
    )
    return " ".join(["state", board, *map(numbers, lists)])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--every", type=int, default=1, help="keep every Nth record")
    args = parser.parse_args()
    steps = 0
    with gzip.open(args.input, "rt") as source, open(args.output, "w", encoding="utf-8") as out:
        for number, text in enumerate(source):
            if number % args.every:
                continue
            record = json.loads(text)
            start = record["start"]
            out.write(f"start {start['n']} {record['max_blast_strength']}\n{state_text(start)}\n")
            for step in record["steps"]:
                actions = " ".join(str(a) for a in step["actions"])
                out.write(f"step {actions}\n{state_text(step['state'])}\n")
                steps += 1
    print(f"{args.output}: {steps} steps")


if __name__ == "__main__":
    main()

"""Turns recorded matches of the original engine (JSON lines, gzip) into the text that
``rts_conformance`` reads.

Usage: traces.py INPUT.jsonl.gz OUTPUT.txt [--states] [--games 0,1,2] [--ticks N]

Output, one item a line:

``game GAME NUMBER SEED BOT0 BOT1 SKIP0 SKIP1 MAX_TICK`` starts a game; ``terrain ROW...`` has its map;
``state TICK MONEY0 MONEY1 MONEY2 UNITS BULLETS`` is followed by that many ``u`` and ``b`` lines (only the
first state of a game unless ``--states``, which needs a state a tick); ``crc FIRST_TICK HEX`` has eight hex
digits a tick; ``end TICKS WINNER`` closes a game that was not cut by ``--ticks``.
"""

from __future__ import annotations

import argparse
import gzip
import json

COMMANDS = {
    "MOVE": 1,
    "ATTACK": 2,
    "GATHER": 3,
    "BUILD": 4,
    "GET_FLAG": 5,
    "ESCORT_FLAG_TO_BASE": 6,
    "BUILD_TOWER": 7,
}


def command_text(command: list[object] | None) -> str:
    """Kind, start tick, target id, other id, x, y, phase; "-" where there is none."""
    if command is None:
        return "0 0 - - - - 0"
    kind = COMMANDS[str(command[0])]
    a = ["-" if v is None else str(v) for v in command[1:]]
    if kind == 1:
        return f"1 {a[0]} - - {a[1]} {a[2]} 0"
    if kind in (2, 5):
        return f"{kind} {a[0]} {a[1]} - - - 0"
    if kind == 6:
        return f"6 {a[0]} - - - - 0"
    if kind == 7:
        return f"7 {a[0]} - - {a[1]} {a[2]} 0"
    if kind == 3:
        return f"3 {a[0]} {a[1]} {a[2]} - - {a[3]}"
    return f"4 {a[0]} {a[1]} - {a[2]} {a[3]} {a[4]}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--states", action="store_true")
    parser.add_argument("--games", default="")
    parser.add_argument("--ticks", type=int, default=10**9)
    args = parser.parse_args()
    wanted = {int(g) for g in args.games.split(",")} if args.games else None
    keep = False
    first = True
    last = 0
    with gzip.open(args.input, "rt") as source, open(args.output, "w", encoding="utf-8") as out:
        for text in source:
            line = json.loads(text)
            if "game" in line:
                keep = wanted is None or line["g"] in wanted
                first = True
                if keep:
                    p, f = line["players"], line["frame_skip"]
                    out.write(
                        f"game {line['game']} {line['g']} {line['seed']} {p[0]} {p[1]} "
                        f"{f[0]} {f[1]} {line['max_tick']}\n"
                    )
            elif not keep:
                continue
            elif "terrain" in line:
                out.write(f"terrain {' '.join(line['terrain'])}\n")
            elif "end" in line:
                if line["ticks"] <= args.ticks:
                    out.write(f"end {line['ticks']} {line['winner']}\n")
            elif line["t"] <= args.ticks:
                if first or args.states:
                    out.write(
                        f"state {line['t']} {' '.join(map(str, (line['res'] + [0])[:3]))} "
                        f"{len(line['units'])} {len(line['bullets'])}\n"
                    )
                    for u in line["units"]:
                        cds = " ".join(map(str, u[6]))
                        carried = f"{u[9]} {u[10]}" if len(u) == 12 else "0 -"
                        out.write(
                            f"u {u[0]} {u[1]} {u[2]} {u[3]} {u[4]} {u[5]} {cds} {u[7]} {u[8]} "
                            f"{command_text(u[-1])} {carried}\n"
                        )
                    for b in line["bullets"]:
                        out.write("b " + " ".join(map(str, b)) + "\n")
                crc = line["crc"]
                start = line["t"] - len(crc) // 8 + 1
                out.write(f"crc {start} {crc}\n")
                first = False
                last = line["t"]
    print(f"{args.output}: last tick {last}")


if __name__ == "__main__":
    main()

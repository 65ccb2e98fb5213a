#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a table operator x backend, in Markdown, of what `collage bench-ops --json` has measured.

    collage bench-ops CASE... --threads 2 --json | bench/matrix.py
    bench/matrix.py FILE

Each cell is the time of the backend's fastest variant by the lower decile, as a multiple of the fastest
backend's, which is bold. A dash: the backend does not take the case, or failed.
"""
import json
import sys


def best_times(case):
    """The lower decile of each backend's fastest variant, by the backend's name."""
    best = {}
    for result in case["results"]:
        if result["state"] == "measured":
            name, time = result["backend"], result["decile_ns"]
            best[name] = min(time, best.get(name, time))
    return best


def row(case, names):
    best = best_times(case)
    if not best:
        return None
    least = min(best.values())
    cells = [f"`{case['case']}`", f"{least / 1e3:.0f}"]
    for name in names:
        ratio = best[name] / least if name in best else None
        cells.append("-" if ratio is None else f"**{ratio:.2f}**" if best[name] == least else f"{ratio:.2f}")
    return cells


def main():
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    source = open(sys.argv[1], encoding="utf-8") if len(sys.argv) == 2 else sys.stdin
    with source:
        report = json.load(source)
    names = sorted({result["backend"] for case in report["cases"] for result in case["results"]})
    versions = ", ".join(f"{name} {report['versions'].get(name, '?')}" for name in names)
    print(f"{report['threads']} threads; {versions}.\n")
    head = ["case", "fastest [us]", *names]
    for cells in (head, ["---"] * len(head)):
        print("| " + " | ".join(cells) + " |")
    for case in report["cases"]:
        cells = row(case, names)
        if cells:
            print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

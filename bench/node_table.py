#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the onnx package's node test cases on each backend and prints the tables of docs/results.md.

    bench/node_table.py [--backends reference,onednn] [--reasons 12] [--build build/check] [--venv .venv]

Needs Python 3.9 and a build with tests. The reference runs whole cases; a backend runs each node of them that it
claims, in every variant, against the reference (tests/conform/node). The second table says what was skipped and why,
the most frequent reasons first. The exit status is 1 if anything failed.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GENERATOR = ROOT / "tests/conform/node/generate.py"
BACKENDS = ("reference", "onednn", "onnxruntime", "openvino")
TYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16",
         11: "float64", 12: "uint32", 13: "uint64", 16: "bfloat16"}

REFERENCE_TALLY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped as gaps; (\d+) skipped as not wanted$", re.M)
TALLY = re.compile(r"^(\S+) (.+), (\d+) cases, (\d+) claimed: (\d+) variants passed, (\d+) failed, (\d+) limited by "
                   r"infinities, (\d+) that the library cannot compile; (\d+) nodes not claimed, (\d+) repeated$", re.M)


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr}")
    return done.stdout


def find_tally(pattern, output, name):
    found = pattern.search(output)
    if not found:
        sys.exit(f"{name}: the output has no line of this form: {pattern.pattern}")
    return found.groups()


def failures(output):
    """A line that says of the one before it that it is a known limit takes it back."""
    lines = output.splitlines()
    return [line for line, after in zip(lines, lines[1:] + [""])
            if "FAILED" in line and not after.startswith("  a known limit")]


# ---- reasons, without what makes each of them unique ----

def type_name(match):
    return "element type " + TYPES.get(int(match.group(1)), match.group(1))


def case_reason(text):
    """Of the reference: the operator, the type or the numbers stand in parentheses at the end."""
    return re.sub(r" \(.*\)$", "", text)


def node_reason(text):
    text = re.sub(r"'[^']*'", "'...'", text)
    text = re.sub(r" \(variant [^)]*\)", "", text)
    text = re.sub(r"^[A-Z]\w*: ", "", text)
    text = re.sub(r"^[A-Z]\w* is not ", "the operator is not ", text)
    return re.sub(r"element type (\d+)", type_name, text) or "no reason is given"


def count_reasons(pattern, output, shorten):
    return collections.Counter(shorten(text.strip()) for text in re.findall(pattern, output, re.M))


# ---- the backends ----

def reference_row(options):
    output = run(options.build / "bin/conform_node", options.cases, 0)
    passed, failed, gaps, unwanted = map(int, find_tally(REFERENCE_TALLY, output, "conform_node"))
    ran = passed + failed
    cells = ["reference", ran + gaps + unwanted, ran, ran, passed, failed, 0,
             f"{unwanted} cases that are not wanted, {gaps} that are not supported"]
    return cells, {"case": count_reasons(r"^skipped \S+: (.*)$", output, case_reason)}, failures(output)


def backend_row(options, name):
    output = run(options.build / "bin/conform_node_backends", options.cases, options.build / "lib/plugins", name, 0,
                 "--reasons")
    tally = find_tally(TALLY, output, name)
    cases, claimed, passed, failed, limited, unmade, unclaimed, _ = map(int, tally[2:])
    cells = [f"{name} {tally[1]}", cases, claimed, passed + failed + limited, passed, failed, limited,
             f"{unclaimed} nodes that are not claimed, {unmade} variants that the library cannot compile"]
    reasons = {"node": count_reasons(r"^not claimed \S+ \S+: (.*)$", output, node_reason),
               "variant": count_reasons(rf"^{name}\s.*\sunimplemented\s+(.*)$", output, node_reason)}
    return cells, reasons, failures(output)


def print_reasons(rows, most):
    print("\n| backend | what | skipped because | count |\n|---|---|---|--:|")
    for cells, reasons, _ in rows:
        for what, counter in reasons.items():
            ranked = counter.most_common()
            rest = sum(count for _, count in ranked[most:])
            for reason, count in ranked[:most]:
                print(f"| {cells[0]} | {what} | {reason.replace('|', '/')} | {count} |")
            if rest:
                print(f"| {cells[0]} | {what} | {len(ranked) - most} other reasons | {rest} |")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--backends", help="comma-separated; all that are built if not given")
    parser.add_argument("--reasons", type=int, default=12, help="how many to print for each backend")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/check")
    parser.add_argument("--venv", type=pathlib.Path, default=ROOT / ".venv")
    options = parser.parse_args()
    options.cases = options.venv / "node-cases"
    built = [name for name in BACKENDS
             if name == "reference" or (options.build / f"lib/plugins/collage_{name}.so").exists()]
    options.backends = options.backends.split(",") if options.backends else built
    for name in options.backends:
        if name not in built:
            parser.error(f"the backend '{name}' is not built in {options.build}")
    return options


def main():
    options = read_options()
    run(options.venv / "bin/python", GENERATOR, options.cases)  # does nothing if they are there
    rows = [reference_row(options) if name == "reference" else backend_row(options, name)
            for name in options.backends]
    print("| backend | node cases | claimed | variants run | passed | failed | limited by infinities | skipped |")
    print("|---|--:|--:|--:|--:|--:|--:|---|")
    for cells, _, _ in rows:
        print(f"| {' | '.join(map(str, cells))} |")
    print_reasons(rows, options.reasons)
    failed = [line for _, _, lines in rows for line in lines]
    for line in failed:
        print(line, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

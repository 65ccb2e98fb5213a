#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where networks spend their time, and how far that is from the machine's roofline, as Markdown tables.

    bench/roofline.py [--networks a,b] [--threads N] [--backends a,b] [--budget 60s] [--race 5s] [--rows 8]
                      [--work DIR] [--collage PROGRAM]
    bench/roofline.py --plans PLAN...      of these plans, measures no kernels

For each network: optimises it for the op-level libraries (of a graph-level one's session nobody sees the kernels), and
prints the kinds of kernels that the most could be gained from (`collage explain PLAN --roofline`), under a table with a
line for each network and the kernel to write next. Plans and costs are kept in DIR; a network whose plan is there is
not optimised again. Needs Python 3.9 and a release build; nothing else should run on the machine.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OP_LEVEL = "native,onednn,xnnpack,openblas,blis"


def run(options, *arguments):
    environment = dict(os.environ)
    if not options.plans:
        environment["COLLAGE_CACHE"] = str(options.work / "cache")
    done = subprocess.run([options.collage, *map(str, arguments)], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"collage {' '.join(map(str, arguments))}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def make_plan(options, network):
    """Of those op-level libraries that are there."""
    plan, model = options.work / f"{network}.{options.threads}.plan.json", options.work / f"{network}.onnx"
    if plan.exists():
        return plan
    if not (options.work / f"{network}.weights").exists():
        run(options, "weights", ROOT / f"bench/networks/{network}.onnx", "--output", options.work)
    there = {b["name"] for b in json.loads(run(options, "backends", "--json")) if not b["problem"]}
    backends = [name for name in options.backends.split(",") if name in there]
    run(options, "optimize", model, "--threads", options.threads, "--backends", ",".join(backends), "-o", plan, "--quiet",
        "--budget", options.budget, "--race", options.race)
    return plan


def roof(row):
    return f"{100 * row['bound_ns'] / row['cost_ns']:.0f} %" if row["cost_ns"] > 0 and row["bound_ns"] > 0 else "-"


def gb(row):
    return (row["weight_bytes"] + row["activation_bytes"]) / 1e9


def name(row):
    return " ".join(filter(None, (row["backend"], row["variant"])))


def print_table(told, rows):
    print("| operators | kernel | count | time [ms] | share | GFLOP | GB | roof | room [ms] |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for row in told["kinds"][:rows]:
        print(f"| {row['operators']} | {name(row)} | {row['count']} | {row['cost_ns'] / 1e6:.3f} | "
              f"{100 * row['cost_ns'] / told['cost_ns']:.1f} % | {row['flop'] / 1e9:.3f} | {gb(row):.4f} | {roof(row)} | "
              f"{row['room_ns'] / 1e6:.3f} |")
    rest = told["kinds"][rows:]
    if rest:
        cost, room = (sum(row[key] for row in rest) for key in ("cost_ns", "room_ns"))
        print(f"| {len(rest)} others | | {sum(row['count'] for row in rest)} | {cost / 1e6:.3f} | "
              f"{100 * cost / told['cost_ns']:.1f} % | | | | {room / 1e6:.3f} |")


def print_tables(all_told, rows):
    for told in all_told.values():
        peaks = told["peaks"]
        print(f"{told['device']}, {told['threads']} threads: {peaks['gflops']:.1f} GFLOP/s, "
              f"{peaks['memory_gb_per_s']:.1f} GB/s from memory, {peaks['last_cache_gb_per_s']:.1f} GB/s from the last "
              f"cache, {peaks['second_cache_gb_per_s']:.1f} GB/s from the second.\n")
        break
    print("| network | kernels [ms] | roof | the next kernel to write | now | its room |")
    print("|---|--:|--:|---|---|--:|")
    for network, told in all_told.items():
        first = told["kinds"][0]
        print(f"| {network} | {told['cost_ns'] / 1e6:.3f} | {roof(told)} | {first['operators']} | {name(first)} | "
              f"{100 * first['room_ns'] / told['cost_ns']:.1f} % |")
    for network, told in all_told.items():
        print(f"\n### {network}\n")
        print_table(told, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--networks", default=",".join(sorted(p.stem for p in (ROOT / "bench/networks").glob("*.onnx"))))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--backends", default=OP_LEVEL)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--race", default="5s")
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/roofline")
    parser.add_argument("--collage", default=str(ROOT / "build/release/bin/collage"))
    parser.add_argument("--plans", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    told, failed = {}, 0
    for item in options.plans or options.networks.split(","):
        try:
            plan = item if options.plans else make_plan(options, item)
            label = item.name.removesuffix(".json").removesuffix(".plan") if options.plans else item
            told[label] = json.loads(run(options, "explain", plan, "--roofline", "--json"))
        except RuntimeError as problem:
            print(problem, file=sys.stderr)
            failed += 1
    print_tables({label: one for label, one in told.items() if one["kinds"]}, options.rows)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

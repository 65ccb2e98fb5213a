#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures networks and prints the tables of docs/results.md.

    bench/results.py [--networks a,b] [--threads 1,2] [--seconds 30] [--work DIR] [--collage PROGRAM]

For each network and number of threads: optimises with an empty cost store (cold) and again (warm),
verifies the plan against the reference, and races it against each library alone (`collage bench`).
Needs Python 3.9 and a release build; nothing else should run on the machine.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(program, *arguments, cache):
    environment = dict(os.environ, COLLAGE_CACHE=str(cache))
    start = time.monotonic()
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"collage {' '.join(arguments)}: status {done.returncode}\n{done.stderr}")
    return done.stdout, time.monotonic() - start


def measure(program, network, threads, seconds, work):
    model, plan = work / f"{network}.onnx", work / f"{network}.{threads}.plan.json"
    cache = work / f"cache-{network}-{threads}"
    shutil.rmtree(cache, ignore_errors=True)
    if not (work / f"{network}.weights").exists():
        run(program, "weights", str(ROOT / f"bench/networks/{network}.onnx"), "--output", str(work), cache=cache)
    optimise = ("optimize", str(model), "--threads", str(threads), "-o", str(plan), "--quiet")
    _, cold = run(program, *optimise, cache=cache)
    made = json.loads(plan.read_text())
    _, warm = run(program, *optimise, cache=cache)
    verified, _ = run(program, "verify", str(plan), cache=cache)
    bench, _ = run(program, "bench", str(plan), "--seconds", str(seconds), "--json", "--quiet", cache=cache)
    race = json.loads(bench)
    race = race[0] if isinstance(race, list) else race
    return {"network": network, "threads": threads, "cold": cold, "warm": warm, "verified": verified.strip(),
            "plan": made, "race": race}


def milliseconds(row):
    return f"{row['minimum_ns'] / 1e6:.3f} / {row['median_ns'] / 1e6:.3f}"


def ratio(row):
    return f"{row['ratio']:.3f} [{row['ratio_low']:.3f}, {row['ratio_high']:.3f}]"


def what(plan):
    """Which backends the plan runs on, with their shares of its steps."""
    if plan["standalone"]:
        return f"{plan['backends'][0]['name']} alone"
    names = [backend["name"] for backend in plan["backends"]]
    steps = [step for step in plan["steps"] if step.get("backend") is not None]
    counts = {}
    for step in steps:
        backend = step["backend"]
        name = names[backend] if isinstance(backend, int) else backend
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{name} {count}" for name, count in counts.items()) + " steps"


def print_comparison(results):
    print("| network | threads | onednn min / median [ms] | onnxruntime min / median [ms] | plan min / median [ms] "
          "| the plan is | onnxruntime / plan [95 % CI] | best alone / plan [95 % CI] |")
    print("|---|--:|--:|--:|--:|---|--:|--:|")
    for result in results:
        rows = {row["name"]: row for row in result["race"]["results"]}
        plan = rows.pop("plan")
        alone = {name: row for name, row in rows.items() if "(plan)" not in name and row["median_ns"] > 0}
        best = min(alone.values(), key=lambda row: row["ratio"])
        cells = [milliseconds(rows[name]) if name in alone else "the plan" for name in ("onednn", "onnxruntime")]
        print(f"| {result['network']} | {result['threads']} | {cells[0]} | {cells[1]} | {milliseconds(plan)} "
              f"| {what(result['plan'])} | {ratio(alone['onnxruntime'])} | {ratio(best)} |")


def print_search(results):
    print("| network | threads | cold [s] | warm [s] | keys measured | failed | sum of costs / minimum of the race "
          "| worst error | peak memory plan, onednn, onnxruntime [MiB] |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for result in results:
        evidence, rows = result["plan"]["evidence"], result["plan"]["results"]
        mix = next((row for row in rows if row["name"] == "mix"), rows[0])
        additivity = mix["predicted_ns"] / mix["minimum_ns"] - 1 if mix["minimum_ns"] else float("nan")
        peak = {row["name"]: f"{row['peak_bytes'] / 2**20:.0f}" for row in result["race"]["results"]}
        peaks = ", ".join(peak.get(name, "-") for name in ("plan", "onednn", "onnxruntime"))
        error = result["verified"].split(" are within ")[-1].split(" of ")[0]
        print(f"| {result['network']} | {result['threads']} | {result['cold']:.1f} | {result['warm']:.1f} "
              f"| {evidence['keys']} | {evidence['failed']} | {100 * additivity:+.1f} % | {error} | {peaks} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", default="tiny_cnn,resnet50,mobilenet_v2,tiny_transformer")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/results")
    parser.add_argument("--collage", default=str(ROOT / "build/release/bin/collage"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    results = []
    for network in options.networks.split(","):
        for threads in options.threads.split(","):
            results.append(measure(options.collage, network, int(threads), options.seconds, options.work))
            print(f"{network}, {threads} threads: done", file=sys.stderr)
    (options.work / "results.json").write_text(json.dumps(results))
    print_comparison(results)
    print()
    print_search(results)


if __name__ == "__main__":
    main()

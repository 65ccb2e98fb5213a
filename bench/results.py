#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures networks and prints the tables of docs/results.md.

    bench/results.py [--networks a,b] [--threads 1,2] [--budget 60] [--seconds 20] [--work DIR] [--collage PROGRAM]
    bench/results.py --tables [--work DIR]      prints the tables of what was measured, measures nothing

For each network and number of threads: optimises with an empty cost store (cold) and again with what is then stored
(warm, a budget of 1 s), then races the cold run's plan against each library alone in two interleaved runs
(`collage bench`, which compares everybody with the reference first). Each run has processes of its own, since two
processes that do the same differ by some percent for as long as they live; a ratio is the geometric mean of the two,
and its interval spans both. What is measured is kept in DIR and not measured again. Needs Python 3.9 and a release
build; nothing else should run on the machine.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARIES = ("onednn", "onnxruntime", "openvino")


def run(program, *arguments, cache):
    environment = dict(os.environ, COLLAGE_CACHE=str(cache))
    start = time.monotonic()
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"collage {' '.join(arguments)}: status {done.returncode}\n{done.stderr}")
    return done.stdout, time.monotonic() - start


def comparison_seconds(options, plan):
    """At least what was asked for, and about 30 rounds, up to 40 s: each runs everybody once, with a pause."""
    a_round = sum(row["median_ns"] for row in plan["results"]) * 1e-9 * 1.5
    return max(options.seconds / 2, min(30 * a_round, 40))


def measure(options, network, threads):
    program, work = options.collage, options.work
    model, plan = work / f"{network}.onnx", work / f"{network}.{threads}.plan.json"
    cache = work / f"cache-{network}-{threads}"
    shutil.rmtree(cache, ignore_errors=True)
    if not (work / f"{network}.weights").exists():
        run(program, "weights", str(ROOT / f"bench/networks/{network}.onnx"), "--output", str(work), cache=cache)
    optimise = ["optimize", str(model), "--threads", str(threads), "-o", str(plan), "--quiet",
                "--budget", f"{options.budget}s", "--race", f"{options.race}s"]
    _, cold = run(program, *optimise, cache=cache)
    made = json.loads(plan.read_text())
    optimise[optimise.index(str(plan))] = str(work / "warm.plan.json")
    optimise[optimise.index(f"{options.budget}s")] = "1s"
    _, warm = run(program, *optimise, cache=cache)
    races, seconds = [], comparison_seconds(options, made)
    for _ in range(2):
        bench, _ = run(program, "bench", str(plan), "--seconds", f"{seconds:.1f}", "--json", "--quiet",
                       cache=cache)
        races.append(json.loads(bench)[0]["results"])
    return {"network": network, "threads": threads, "cold": cold, "warm": warm, "plan": made, "races": races}


def pooled(races):
    """One row for each contestant that finished all races."""
    rows = {}
    for name in (row["name"] for row in races[0]):
        runs = [row for race in races for row in race if row["name"] == name and row["median_ns"] > 0]
        if len(runs) < len(races):
            continue
        rows[name] = {
            "minimum_ns": min(row["minimum_ns"] for row in runs),
            "median_ns": statistics.fmean(row["median_ns"] for row in runs),
            "ratio": statistics.geometric_mean(row["ratio"] for row in runs),
            "ratio_low": min(row["ratio_low"] for row in runs),
            "ratio_high": max(row["ratio_high"] for row in runs),
            "worst_error": max(row["worst_error"] for row in runs),
            "peak_bytes": max(row["peak_bytes"] for row in runs),
        }
    return rows


def milliseconds(row):
    return f"{row['minimum_ns'] / 1e6:.3f} / {row['median_ns'] / 1e6:.3f}"


def ratio(row):
    return f"{row['ratio']:.3f} [{row['ratio_low']:.3f}, {row['ratio_high']:.3f}]"


def shares(plan):
    """Which backends the plan runs on, each with its operators and its share of the predicted time."""
    if plan["standalone"]:
        return f"{plan['backends'][0]['name']} alone"
    names = [backend["name"] for backend in plan["backends"]]
    times, nodes = {}, {}
    for step in plan["steps"]:
        if step.get("backend") in (None, ""):  # copies and joins
            continue
        name = names[step["backend"]] if isinstance(step["backend"], int) else step["backend"]
        times[name] = times.get(name, 0) + step.get("cost_ns", 0)
        nodes[name] = nodes.get(name, 0) + len(step.get("nodes", []))
    total = sum(times.values()) or 1
    ranked = sorted(times, key=lambda name: -times[name])
    return ", ".join(f"{name} {100 * times[name] / total:.0f} % ({nodes[name]} operators)" for name in ranked)


def alone(result):
    """The rows of the libraries alone that finished; the plan's row."""
    rows = pooled(result["races"])
    return {name: rows[name] for name in LIBRARIES if name in rows}, rows["plan"]


def same(result):
    """The library that the plan is, or None. Its ratio is 1: what is measured is what the machine does to equals."""
    names = {backend["name"] for backend in result["plan"]["backends"]} - {"reference"}
    if result["plan"]["standalone"] or names == {"onednn"}:
        return names.pop()
    return None


def against(result, rows):
    """The library alone that the plan is compared with: the fastest."""
    name = min(rows, key=lambda name: rows[name]["ratio"])
    if name != same(result):
        return rows[name]
    return dict(rows[name], ratio=1.0, ratio_low=1.0, ratio_high=1.0)


def against_cell(result, rows):
    name = min(rows, key=lambda name: rows[name]["ratio"])
    return f"1 (equals: {ratio(rows[name])})" if name == same(result) else f"{name} {ratio(rows[name])}"


def sessions(rows):
    return {name: row for name, row in rows.items() if name != "onednn"}


def print_comparison(results):
    print("| network | threads | onednn | onnxruntime | openvino | plan | the plan is "
          "| best alone / plan [95 % CI] | best session / plan [95 % CI] |")
    print("|---|--:|--:|--:|--:|--:|---|--:|--:|")
    for result in results:
        rows, plan = alone(result)
        cells = [milliseconds(rows[name]) if name in rows else "failed" for name in LIBRARIES]
        print(f"| {result['network']} | {result['threads']} | {' | '.join(cells)} | {milliseconds(plan)} "
              f"| {shares(result['plan'])} | {against_cell(result, rows)} | {against_cell(result, sessions(rows))} |")


def additivity(plan):
    chosen = [row for row in plan["results"] if row["chosen"]] + plan["results"]
    row = next((row for row in chosen if row["predicted_ns"] > 0 and row["steps_ns"] > 0), None)
    return row["predicted_ns"] / row["steps_ns"] - 1 if row else None


def percent(value):
    return "-" if value is None else f"{100 * value:+.1f} %"


def bound(plan):
    if plan["standalone"]:
        return "-"
    if plan["optimal"]:
        return "optimal"
    if plan["bound_ns"] > 0:
        return f"within {100 * (plan['predicted_ns'] / plan['bound_ns'] - 1):.2f} %"
    return "none"


def print_search(results):
    print("| network | threads | cold [s] | warm [s] | candidates | keys | failed | not worth it | no time | placing [s] "
          "| bound | additivity error | worst error | peak memory plan, onednn, onnxruntime, openvino [MiB] |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|--:|--:|")
    for result in results:
        evidence = result["plan"]["evidence"]
        peak = {name: f"{row['peak_bytes'] / 2**20:.0f}" for name, row in pooled(result["races"]).items()}
        peaks = ", ".join(peak.get(name, "-") for name in ("plan", *LIBRARIES))
        _, plan = alone(result)
        print(f"| {result['network']} | {result['threads']} | {result['cold']:.1f} | {result['warm']:.1f} "
              f"| {evidence['candidates']} | {evidence['keys']} | {evidence['failed']} | {evidence['not_worth']} "
              f"| {evidence['unmeasured']} | {evidence['place_seconds']:.2f} | {bound(result['plan'])} "
              f"| {percent(additivity(result['plan']))} | {plan['worst_error']:.1e} | {peaks} |")


def print_summary(results):
    """How often the aims are met: by point estimates, and with the whole interval."""
    pairs = [(against(result, alone(result)[0]), against(result, sessions(alone(result)[0]))) for result in results]
    print(f"{len(pairs)} rows, {sum(same(result) is not None for result in results)} of which are a library alone. "
          "Against the best library alone, the plan's time is")
    print(f"  at most 1.02 of it in {sum(a['ratio'] >= 1 / 1.02 for a, _ in pairs)} "
          f"(with the whole interval in {sum(a['ratio_low'] >= 1 / 1.02 for a, _ in pairs)}; "
          f"above it for sure in {sum(a['ratio_high'] < 1 / 1.02 for a, _ in pairs)})")
    print(f"  less by 1.05 or more in {sum(a['ratio'] >= 1.05 for a, _ in pairs)} "
          f"(with the whole interval in {sum(a['ratio_low'] >= 1.05 for a, _ in pairs)})")
    print("Against the best session (ONNX Runtime, OpenVINO), it is")
    print(f"  less by 1.05 or more in {sum(s['ratio'] >= 1.05 for _, s in pairs)} "
          f"(with the whole interval in {sum(s['ratio_low'] >= 1.05 for _, s in pairs)})")
    errors = [abs(value) for value in (additivity(result["plan"]) for result in results) if value is not None]
    print(f"Additivity error: at most 10 % in {sum(e <= 0.1 for e in errors)} of {len(errors)}, "
          f"median {100 * statistics.median(errors):.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    networks = sorted(path.stem for path in (ROOT / "bench/networks").glob("*.onnx"))
    parser.add_argument("--networks", default=",".join(networks))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--budget", type=float, default=60, help="seconds for measuring, each")
    parser.add_argument("--race", type=float, default=20, help="seconds for the race that decides")
    parser.add_argument("--seconds", type=float, default=20, help="seconds for the comparison")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/results")
    parser.add_argument("--collage", default=str(ROOT / "build/release/bin/collage"))
    parser.add_argument("--tables", action="store_true", help="only print what was measured")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    results = []
    for network in options.networks.split(","):
        for threads in options.threads.split(","):
            kept = options.work / f"{network}.{threads}.result.json"
            if not kept.exists() and not options.tables:
                start = time.monotonic()
                try:
                    kept.write_text(json.dumps(measure(options, network, int(threads))))
                    outcome = "done"
                except RuntimeError as error:
                    outcome = f"failed: {error}"
                print(f"{network}, {threads} threads: {outcome}, {time.monotonic() - start:.0f} s", file=sys.stderr)
            if kept.exists():
                results.append(json.loads(kept.read_text()))
    if not results:
        sys.exit("nothing was measured")
    print_comparison(results)
    print()
    print_search(results)
    print()
    print_summary(results)


if __name__ == "__main__":
    main()

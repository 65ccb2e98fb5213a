#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the searches on networks, side by side, and prints tables.

    bench/searches.py [--networks a,b] [--threads 1,2] [--budget 60] [--work DIR] [--collage PROGRAM] ...
    bench/searches.py --tables [--work DIR]      prints the tables of what was measured, measures nothing
    bench/searches.py --tables --collect FILE.tar.gz     packs results and plans, too, without weights and costs

For each network and number of threads, with a cost store of its own:
1. the exact search with an empty store (cold, a short race at its end);
2. with what is then stored and a small budget: op-level, two-level, greedy, brute (where the network has at most 12
   operators), and exact again, so that it chooses by all costs that any of the others has learned;
3. all plans and each library alone in one interleaved race (`collage bench --together`, nobody rests), twice, each
   time with processes of its own (see results.py). Plans with the same steps race once. The plan of the exact search
   may be a library alone, since it takes what is fastest in its race; the others' plans are what they found, whatever
   is faster. So what the exact search's best placement is predicted to take is given, too.
4. for the networks of --ablate: one library more at a time (`collage bench --ablate`).

Each finished command is kept in DIR and not run again. --jobs N measures N networks at once, each on its own part of
the processors of --cpus: these parts should share neither cores nor more cache than must be. After --deadline seconds
no command is started, those that run have --grace seconds more, and what is there is kept. Needs Python 3.9, `taskset`
for --cpus, and a release build; nothing else should run on the machine.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import queue
import signal
import statistics
import subprocess
import sys
import tarfile
import threading
import time

from results import LIBRARIES, ROOT, additivity, bound, milliseconds, percent, pooled, ratio, shares

OTHERS = ("op-level", "two-level", "greedy", "brute")
SEARCHES = ("exact", *OTHERS)
BRUTE_NODES = 12
COLLECT_BYTES = 16 << 20
STARTED = time.monotonic()
weights_lock = threading.Lock()


class OutOfTime(Exception):
    pass


class Place:
    """Where commands run: on which processors, with which cost store, until when."""

    def __init__(self, options, cpus, cache):
        self.options, self.cpus, self.cache = options, cpus, cache

    def run(self, *arguments):
        options, limit = self.options, None
        if options.deadline:
            if time.monotonic() - STARTED > options.deadline:
                raise OutOfTime
            limit = options.deadline + options.grace - (time.monotonic() - STARTED)
        command = ["taskset", "-c", self.cpus] if self.cpus else []
        environment = dict(os.environ, COLLAGE_CACHE=str(self.cache))
        start = time.monotonic()
        process = subprocess.Popen([*command, options.collage, *arguments], env=environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise OutOfTime from None
        finally:
            if process.poll() is None:  # its workers are in its group, and may be stopped
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode:
            raise RuntimeError(f"collage {' '.join(arguments)}: status {process.returncode}\n{err}")
        return out, time.monotonic() - start


def write(path, value):
    """Whole or not at all."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(json.dumps(value))
    temporary.replace(path)


def read(path, default=None):
    return json.loads(path.read_text()) if path.exists() else default


class Measurement:
    def __init__(self, options, network, threads, cpus):
        self.options, self.network, self.threads = options, network, threads
        self.folder = options.work / f"{network}.{threads}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.place = Place(options, cpus, self.folder / "cache")
        self.model = options.work / f"{network}.onnx"
        self.kept = self.folder / "steps.json"
        self.steps = read(self.kept, {})  # of each finished step what is to be remembered

    def keep(self, step, value):
        self.steps[step] = value
        write(self.kept, self.steps)

    def make_weights(self):
        with weights_lock:
            if not (self.options.work / f"{self.network}.weights").exists():
                source = ROOT / f"bench/networks/{self.network}.onnx"
                self.place.run("weights", str(source), "--output", str(self.options.work))

    def plan_path(self, step):
        return self.folder / f"{step}.plan.json"

    def optimise(self, step, search, budget, race):
        if step in self.steps:
            return
        arguments = ["optimize", str(self.model), "--threads", str(self.threads), "-o", str(self.plan_path(step)),
                     "--search", search, "--budget", f"{budget}s", "--race", f"{race}s", "--quiet"]
        if search == "two-level":
            arguments += ["--search-time", f"{self.options.search_time}s"]
        try:
            _, wall = self.place.run(*arguments)
            self.keep(step, {"wall": wall})
        except RuntimeError as error:
            if search not in OTHERS:
                raise
            self.keep(step, {"failure": str(error)})

    def plans(self):
        """The plan of each step that has one."""
        return {step: json.loads(self.plan_path(step).read_text())
                for step in ("cold", *SEARCHES) if "wall" in self.steps.get(step, {})}

    def few_nodes(self):
        return sum(len(step["nodes"]) for step in self.plans()["cold"]["steps"]) <= BRUTE_NODES

    def search(self):
        options = self.options
        self.optimise("cold", "exact", options.budget, options.short_race)
        for search in OTHERS:
            if search != "brute" or self.few_nodes():
                self.optimise(search, search, options.warm_budget, options.short_race)
        self.optimise("exact", "exact", options.warm_budget, options.race)

    def race(self):
        plans = self.plans()
        if len({plan["device"] for plan in plans.values()}) != 1:
            raise RuntimeError(f"{self.folder} holds plans of several machines: remove it")
        runners = [step for step in SEARCHES if step in plans and step == alias(plans, step)]
        a_round = sum(row["median_ns"] for row in plans["exact"]["results"]) * 1e-9
        a_round += sum(chosen(plans[step])["median_ns"] for step in runners) * 1e-9
        seconds = max(self.options.seconds / 2, min(45 * a_round, 60))
        for number in range(2):
            if f"race {number}" not in self.steps:
                paths = [str(self.plan_path(step)) for step in runners]
                out, _ = self.place.run("bench", "--together", *paths, "--seconds", f"{seconds:.1f}", "--json",
                                        "--quiet")
                self.keep(f"race {number}", json.loads(out)[0]["results"])

    def ablate(self):
        if self.network in self.options.ablate.split(",") and "ablation" not in self.steps:
            out, _ = self.place.run("bench", "--ablate", str(self.model), "--threads", str(self.threads),
                                    "--seconds", str(self.options.seconds), "--json", "--quiet")
            self.keep("ablation", json.loads(out)[0])

    def measure(self):
        self.make_weights()
        self.search()
        self.race()
        self.ablate()
        plans = self.plans()
        searches = {step: dict(summary(plan), wall=self.steps[step]["wall"], same_as=alias(plans, step))
                    for step, plan in plans.items()}
        failures = {step: value["failure"] for step, value in self.steps.items() if "failure" in value}
        return {"network": self.network, "threads": self.threads, "device": plans["exact"]["device_name"],
                "collage": plans["exact"]["collage"], "searches": searches, "failures": failures,
                "races": [self.steps["race 0"], self.steps["race 1"]], "ablation": self.steps.get("ablation")}


def what_runs(plan):
    told = ("cost_ns", "pattern", "implementation")
    steps = [{key: value for key, value in step.items() if key not in told} for step in plan["steps"]]
    return [plan["standalone"], plan["backends"], steps, plan["tensors"]]


def alias(plans, step):
    """The first search whose plan runs the same."""
    return next(other for other in (*SEARCHES, step)
                if other in plans and what_runs(plans[other]) == what_runs(plans[step]))


def chosen(plan):
    return next(row for row in plan["results"] if row["chosen"])


def summary(plan):
    """A plan without its steps."""
    kept = ("predicted_ns", "bound_ns", "optimal", "standalone", "backends", "results")
    evidence = {key: value for key, value in plan["evidence"].items() if key != "failures"}
    return dict({key: plan[key] for key in kept}, evidence=evidence, shares=shares(plan))


# ---- tables ----

def placed(plan):
    """What the search's best placement is predicted to take, even if a library alone became the plan."""
    found = plan["evidence"].get("placement")
    if found:
        return dict(found, standalone=False)
    if plan["standalone"]:
        rounds = plan["evidence"].get("convergence")
        return {"predicted_ns": rounds[-1]["best_ns"] if rounds else 0, "bound_ns": 0, "optimal": False,
                "standalone": False}
    return plan


def search_seconds(plan):
    evidence = plan["evidence"]
    return evidence["place_seconds"] + evidence.get("evolution", {}).get("seconds", 0)


def in_order(result):
    return [(step, result["searches"][step]) for step in ("cold", *SEARCHES) if step in result["searches"]]


def print_searches(results):
    print("| network | threads | search | costs [ms] | plan min / median [ms] | time / exact [95 % CI] | plan "
          "| search [s] | measuring [s] | whole [s] | bound |")
    print("|---|--:|---|--:|--:|--:|---|--:|--:|--:|---|")
    for result in results:
        rows = pooled(result["races"])
        for step, plan in in_order(result):
            row, found = rows.get(plan["same_as"]), placed(plan)
            times, against = ("failed", "-") if not row else (milliseconds(row), ratio(row))
            if plan["same_as"] == "exact":
                against = "1" if step == "exact" else "the same plan"
            elif step == "cold" and plan["same_as"] == "cold":
                times = against = "not raced"
            elif plan["same_as"] != step:
                against += f" (as {plan['same_as']})"
            name = {"cold": "exact, nothing stored"}.get(step, step)
            costs = f"{found['predicted_ns'] / 1e6:.3f}" if found["predicted_ns"] > 0 else "-"
            proven = bound(found) if step in ("cold", "exact") else "-"
            print(f"| {result['network']} | {result['threads']} | {name} | {costs} | {times} | {against} "
                  f"| {'library alone' if plan['standalone'] else 'placed'} | {search_seconds(plan):.2f} "
                  f"| {plan['evidence']['measure_seconds']:.1f} | {plan['wall']:.1f} | {proven} |")
        for step, failure in result["failures"].items():
            print(f"| {result['network']} | {result['threads']} | {step} | failed: "
                  f"{failure.strip().splitlines()[-1].replace('|', '/')} | | | | | | | |")


def print_sessions(results):
    """The exact search's plan against what users have without Collage."""
    print("| network | threads | onnxruntime | openvino | plan | the plan is | best session / plan [95 % CI] |")
    print("|---|--:|--:|--:|--:|---|--:|")
    ratios = []
    for result in results:
        rows, plan = pooled(result["races"]), result["searches"]["exact"]
        sessions = {name: rows[name] for name in ("onnxruntime", "openvino") if name in rows}
        if "exact" not in rows or not sessions:
            continue
        best = min(sessions, key=lambda name: sessions[name]["ratio"])
        same = plan["standalone"] and plan["backends"][0]["name"] == best
        ratios.append(1.0 if same else sessions[best]["ratio"])
        against = f"1 (equals: {ratio(sessions[best])})" if same else f"{best} {ratio(sessions[best])}"
        cells = [milliseconds(rows[name]) if name in rows else "failed" for name in ("onnxruntime", "openvino", "exact")]
        print(f"| {result['network']} | {result['threads']} | {' | '.join(cells)} | {plan['shares']} | {against} |")
    if ratios:
        print(f"\nGeometric mean of {len(ratios)}: {statistics.geometric_mean(ratios):.3f}; 1.05 and more in "
              f"{sum(value >= 1.05 for value in ratios)}, below 0.98 in {sum(value < 0.98 for value in ratios)}.")


def print_candidates(results):
    print("| network | threads | search | candidates | keys | measured | from the store | failed | regions merged "
          "| share of the predicted time by backend |")
    print("|---|--:|---|--:|--:|--:|--:|--:|--:|---|")
    for result in results:
        for step, plan in in_order(result):
            counts = [plan["evidence"][key]
                      for key in ("candidates", "keys", "measured", "reused", "failed", "regions_merged")]
            name = {"cold": "exact, nothing stored"}.get(step, step)
            print(f"| {result['network']} | {result['threads']} | {name} | {' | '.join(map(str, counts))} "
                  f"| {plan['shares']} |")


def whole_error(plan):
    """Of the exact search's placement: the sum of costs against the least time of the whole, in the same race."""
    row = next((row for row in plan["results"] if row["name"] == "mix"), chosen(plan))
    return row["predicted_ns"] / row["minimum_ns"] - 1 if row["predicted_ns"] > 0 and row["minimum_ns"] > 0 else None


def print_additivity(results):
    print("| network | threads | costs [ms] | costs / minimum of the whole - 1 | costs / steps in the network - 1 |")
    print("|---|--:|--:|--:|--:|")
    errors = []
    for result in results:
        plan = result["searches"]["exact"]
        errors.append(whole_error(plan))
        print(f"| {result['network']} | {result['threads']} | {placed(plan)['predicted_ns'] / 1e6:.3f} "
              f"| {percent(errors[-1])} | {percent(additivity(plan))} |")
    known = [abs(error) for error in errors if error is not None]
    if known:
        print(f"\nOf the whole: at most 10 % in {sum(error <= 0.1 for error in known)} of {len(known)}, "
              f"median {100 * statistics.median(known):.1f} %")


def interval(value):
    return f"{value[0]:.3f} [{value[1]:.3f}, {value[2]:.3f}]" if value else "-"


def print_ablations(results):
    print("| network | threads | libraries | costs [ms] | min / median [ms] | speed-up [95 % CI] "
          "| over the row above |")
    print("|---|--:|---|--:|--:|--:|--:|")
    for result in results:
        if not result["ablation"]:
            continue
        for kind in ("rows", "alone"):
            for row in result["ablation"][kind]:
                name = f"{row['added']} alone, its own session" if kind == "alone" else " + ".join(row["libraries"])
                if row.get("same"):
                    cells = "| as above | as above | as above | 1 |"
                else:
                    times = milliseconds(row) if row["median_ns"] > 0 else "-"
                    costs = f"{row['predicted_ns'] / 1e6:.3f}" if row["predicted_ns"] > 0 else "-"
                    cells = f"| {costs} | {times} | {interval(row['speed_up'])} | {interval(row['gain'])} |"
                print(f"| {result['network']} | {result['threads']} | {name} {cells}")


def print_summary(results):
    """Is the exact search ever worse? By costs, and by the clock."""
    costs, clock = collections.Counter(), collections.Counter()
    for result in results:
        rows, best = pooled(result["races"]), placed(result["searches"]["exact"])["predicted_ns"]
        for step, plan in in_order(result):
            if step not in OTHERS:
                continue
            if plan["predicted_ns"] > 0 and best > 0:
                costs["worse" if best > plan["predicted_ns"] * 1.000001 else "not worse"] += 1
            row = rows.get(plan["same_as"])
            if plan["same_as"] == "exact":
                clock["the same plan"] += 1
            elif row:
                clock["worse for sure" if row["ratio_high"] < 1 else
                      "better for sure" if row["ratio_low"] > 1 else "equal within the noise"] += 1
            else:
                clock["the other failed"] += 1
    print("The exact search against each other search. By the costs: "
          + ", ".join(f"{what} {count} times" for what, count in sorted(costs.items())) + ". Its plan by the clock: "
          + ", ".join(f"{what} {count} times" for what, count in sorted(clock.items())) + ".")


def print_tables(results):
    for printer in (print_searches, print_summary, print_sessions, print_candidates, print_additivity):
        printer(results)
        print()
    if any(result["ablation"] for result in results):
        print_ablations(results)


# ---- all of them ----

def collect(work, path):
    """Results and plans; without the plans if they are too many."""
    for patterns in (("*.result.json", "*/steps.json", "*/*.plan.json"), ("*.result.json", "*/steps.json")):
        with tarfile.open(path, "w:gz") as archive:
            for pattern in patterns:
                for file in sorted(work.glob(pattern)):
                    archive.add(file, arcname=str(file.relative_to(work)))
        if path.stat().st_size < COLLECT_BYTES:
            return
    sys.exit(f"{path}: {path.stat().st_size} bytes are more than {COLLECT_BYTES}")


def parse_cpus(text, jobs):
    """For each job the list of processors that it may use, as taskset takes it; '': all."""
    if not text:
        return [""] * jobs
    numbers = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    each = len(numbers) // jobs
    return [",".join(map(str, numbers[job * each:(job + 1) * each])) for job in range(jobs)]


def measure(options, network, threads, free_cpus):
    """What became of it, in words."""
    kept = options.work / f"{network}.{threads}.result.json"
    if kept.exists():
        return "was measured before"
    if options.deadline and time.monotonic() - STARTED > options.deadline:
        return "no time left"
    cpus = free_cpus.get()
    start = time.monotonic()
    try:
        write(kept, Measurement(options, network, threads, cpus).measure())
        outcome = "done"
    except OutOfTime:
        outcome = "not finished in time"
    except (RuntimeError, OSError, LookupError, ValueError) as error:
        outcome = f"failed: {error!r}" if not isinstance(error, RuntimeError) else f"failed: {error}"
    finally:
        free_cpus.put(cpus)
    return f"{outcome}, {time.monotonic() - start:.0f} s"


def measure_all(options, pairs):
    free_cpus = queue.SimpleQueue()
    for cpus in parse_cpus(options.cpus, options.jobs):
        free_cpus.put(cpus)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(measure, options, *pair, free_cpus): pair for pair in pairs}
        for done in concurrent.futures.as_completed(running):
            print(f"{running[done][0]}, {running[done][1]} threads: {done.result()}", file=sys.stderr, flush=True)


def take_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    networks = sorted(path.stem for path in (ROOT / "bench/networks").glob("*.onnx"))
    parser.add_argument("--networks", default=",".join(networks))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--budget", type=float, default=60, help="seconds for measuring with nothing stored")
    parser.add_argument("--warm-budget", type=float, default=5, help="seconds for measuring, each search after that")
    parser.add_argument("--search-time", type=float, default=60, help="seconds for the two-level search")
    parser.add_argument("--race", type=float, default=20, help="seconds for the race that decides the exact plan")
    parser.add_argument("--short-race", type=float, default=2, help="seconds for the races that decide nothing")
    parser.add_argument("--seconds", type=float, default=30, help="seconds for the comparison of all plans")
    parser.add_argument("--ablate", default="", help="networks of which to add one library at a time")
    parser.add_argument("--jobs", type=int, default=1, help="networks measured at once")
    parser.add_argument("--cpus", default="", help="processors, such as 0-15 or 0,8,1,9: each job takes its share")
    parser.add_argument("--deadline", type=float, default=0, help="seconds after which nothing is started; 0: none")
    parser.add_argument("--grace", type=float, default=60, help="seconds after the deadline for what runs")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/searches")
    parser.add_argument("--collage", default=str(ROOT / "build/release/bin/collage"))
    parser.add_argument("--tables", action="store_true", help="only print what was measured")
    parser.add_argument("--collect", type=pathlib.Path, help="in the end pack results and plans of DIR there")
    options = parser.parse_args()
    if options.jobs < 1 or (options.jobs > 1 and not options.cpus):
        parser.error("--jobs is 1 or more, and more than 1 needs --cpus: jobs on the same cores disturb each other")
    each = parse_cpus(options.cpus, options.jobs)[0]
    if options.cpus and len(list(filter(None, each.split(",")))) < max(map(int, options.threads.split(","))):
        parser.error("--cpus has fewer processors for each job than --threads")
    return options


def main():
    options = take_arguments()
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    pairs = [(network, int(threads))
             for network in options.networks.split(",") for threads in options.threads.split(",")]
    if not options.tables:
        measure_all(options, pairs)
    if options.collect:
        collect(options.work, options.collect)
    paths = [options.work / f"{network}.{threads}.result.json" for network, threads in pairs]
    results = [json.loads(path.read_text()) for path in paths if path.exists()]
    if not results:
        sys.exit("nothing was measured")
    print_tables(results)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
# search.py: MetaSchedule, a round at a time. A round measures programs in this process for some seconds, and goes on
# where the rounds before it ended. The best one of each kernel and number of threads is a line of JSON in a file of
# records, from which later searches, here and elsewhere, begin.
import hashlib
import json
import os
import sys
import time
import types

import numpy
import tvm

ROUND_SECONDS = 8
TRIALS_AT_ONCE = 8
SLOW_SECONDS = 0.2  # a program that takes longer is measured once only
LINE_BYTES = 1 << 20


def meta_schedule():
    # Descriptions of instructions that are not used here, and take long to load.
    sys.modules.setdefault("tvm.s_tir.tensor_intrin", types.ModuleType("tvm.s_tir.tensor_intrin"))
    from tvm.s_tir import meta_schedule as ms
    return ms


def records_path():
    """$COLLAGE_TVM_RECORDS, else a file in Collage's cache folder."""
    path = os.environ.get("COLLAGE_TVM_RECORDS")
    if path:
        return path
    cache = os.environ.get("COLLAGE_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "collage")
    return os.path.join(cache, "tvm.records")


def key_of(request):
    rest = {k: v for k, v in request.items() if k != "rounds"}
    return hashlib.sha256(json.dumps([tvm.__version__, rest], sort_keys=True).encode()).hexdigest()[:32]


def read_record(key):
    """The fastest record of that key, or None. What is malformed is passed over."""
    best = None
    try:
        with open(records_path(), encoding="ascii") as file:
            for line in file:
                if key not in line or len(line) > LINE_BYTES:
                    continue
                try:
                    record = json.loads(line)
                    if record["key"] == key and (best is None or float(record["ns"]) <= float(best["ns"])):
                        best = record
                except (ValueError, KeyError, TypeError):
                    continue
    except (OSError, UnicodeDecodeError):
        return best
    return best


def write_record(record):
    """One line in one write: several searches may add to the file at the same time."""
    path = records_path()
    os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab", buffering=0) as file:
        file.write((json.dumps(record) + "\n").encode("ascii"))


def make_tensors(shapes):
    return [tvm.runtime.tensor(numpy.random.uniform(0.1, 1, shape).astype("float32")) for shape in shapes]


class Search:
    """What is known of one kernel."""

    def __init__(self, key, function, shapes, target, threads):
        ms = meta_schedule()
        self.key, self.target = key, target
        self.module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
        self.rounds, self.best_seconds, self.best = 0, float("inf"), None
        self.tensors = make_tensors(shapes)
        self.context = ms.TuneContext(
            mod=self.module, target=target, num_threads=threads, rand_state=1,
            # not those of the target: with AVX-512 they ask for instructions on integers
            space_generator=ms.space_generator.PostOrderApply(sch_rules="llvm", postprocs="llvm", mutator_probs="llvm"),
            search_strategy=ms.search_strategy.EvolutionarySearch(
                population_size=64, init_measured_ratio=0.2, init_min_unmeasured=16, genetic_num_iters=1,
                genetic_mutate_prob=0.85, genetic_max_fail_count=10, eps_greedy=0.1))
        self.database = ms.database.MemoryDatabase()
        self.workload = self.database.commit_workload(self.module)
        self.take_record(ms)
        self.context.pre_tuning(max_trials=1 << 20, num_trials_per_iter=TRIALS_AT_ONCE,
                                design_spaces=self.context.generate_design_space(), database=self.database,
                                cost_model=ms.cost_model.RandomModel(seed=1))

    def take_record(self, ms):
        record = read_record(self.key)
        if record is None:
            return
        try:
            s = tvm.s_tir.Schedule(self.module)
            tvm.s_tir.schedule.Trace.apply_json_to_schedule(json.loads(record["trace"]), s)
            self.best, self.best_seconds, self.rounds = s, float(record["ns"]) * 1e-9, int(record.get("rounds", 0))
            self.database.commit_tuning_record(ms.database.TuningRecord(
                s.trace, self.workload, [self.best_seconds], self.target, None))
        except Exception:  # of another TVM, or damaged: the search begins anew
            self.best, self.best_seconds, self.rounds = None, float("inf"), 0

    def measure(self, s):
        return self.measure_module(s.mod, None)

    def measure_module(self, module, shapes):
        """Seconds, or None if it cannot be built or run. shapes: if they are not the search's."""
        tensors = self.tensors if shapes is None else make_tensors(shapes)
        try:
            built = tvm.compile(module, target=self.target)
            timer = built.mod if hasattr(built, "mod") else built
            device = tvm.cpu()
            first = timer.time_evaluator("main", device, number=1, repeat=1)(*tensors).results[0]
            if first > SLOW_SECONDS or first > 3 * self.best_seconds:
                return first
            repeat = max(3, min(20, int(0.02 / max(first, 1e-6))))
            return float(numpy.median(timer.time_evaluator("main", device, number=1, repeat=repeat)(*tensors).results))
        except Exception:
            return None

    def search(self, seconds):
        ms = meta_schedule()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            before = self.best_seconds
            candidates = self.context.generate_measure_candidates()
            if not candidates:
                return
            results = []
            for candidate in candidates:
                took = self.measure(candidate.sch) if time.monotonic() < end else None
                results.append(ms.runner.RunnerResult([took] if took else None, None if took else "not measured"))
                if took:
                    self.database.commit_tuning_record(ms.database.TuningRecord(
                        candidate.sch.trace, self.workload, [took], self.target, candidate.args_info))
                if took and took < self.best_seconds:
                    self.best, self.best_seconds = candidate.sch, took
            self.context.notify_runner_results(candidates, results)
            if self.best_seconds < before:
                self.write_record()  # now: who is too slow is stopped

    def write_record(self):
        write_record({"key": self.key, "ns": self.best_seconds * 1e9, "rounds": self.rounds,
                      "trace": json.dumps(plain(self.best.trace.as_json()))})

    def rounds_to(self, rounds, seconds):
        """At most one round is searched now: the host gives a candidate so much time."""
        if self.rounds < rounds or self.best is None:
            self.search(seconds)
            self.rounds += 1
            if self.best is not None:
                self.write_record()
        if self.best is None:
            raise Refused("no program that MetaSchedule tried could be measured")
        return self.best.mod["main"]


def plain(value):
    """A trace's lists and numbers as Python's own."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    return value.value if hasattr(value, "value") else [plain(v) for v in value]


searches = {}


def searched(request, function, shapes, target):
    key = key_of(request)
    if key not in searches:
        searches.clear()  # one kernel is tuned after the other
        searches[key] = Search(key, function, shapes, target, request["threads"])
    return searches[key].rounds_to(request["rounds"], ROUND_SECONDS)

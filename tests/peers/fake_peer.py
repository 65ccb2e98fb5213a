#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fake_peer.py FAULT: a peer (docs/peers.md) that hands out the file FAKE_PEER_OUTPUT as its result
and then has one fault. FAKE_PEER_NOTE: a file that gets the ids of all its processes."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

# A command's words cannot hold blanks: "hang" is "hang at load", say.
short = {"leave": "leave at load", "hang": "hang at load", "environment": "environment at hello"}
fault = short.get(sys.argv[1], sys.argv[1])


def hang():
    """With children: one in our process group, one that leaves it, one whose parent has ended as well."""
    note = os.environ.get("FAKE_PEER_NOTE")
    if note:
        near = subprocess.Popen(["sleep", "600"])
        far = subprocess.Popen(["sleep", "600"], start_new_session=True)
        orphan = subprocess.run(["sh", "-c", "setsid sleep 600 >/dev/null & echo $!"], stdout=subprocess.PIPE).stdout
        with open(note + ".part", "w") as file:
            print(os.getpid(), near.pid, far.pid, int(orphan), file=file)
        os.rename(note + ".part", note)
    while True:
        time.sleep(1)


def leave():
    print("some words", "the last words", sep="\n", file=sys.stderr)
    sys.exit(3)


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def close():
    os.close(0)  # both are ends of one socket
    os.close(1)
    hang()


# At hello, load or run: called, or the answer as it is written.
deeds = {
    "crash at hello": crash, "crash at load": crash, "crash at run": crash,
    "hang at hello": hang, "hang at load": hang, "hang at run": hang,
    "leave at hello": leave, "leave at load": leave, "leave at run": leave,
    "close at load": close,
    "absent at hello": '{"absent": "no module named \'fake\'"}',
    "environment at hello": json.dumps({"absent": "GOMP_SPINCOUNT is " + os.environ.get("GOMP_SPINCOUNT", "not set")}),
    "error at load": '{"error": "no conversion of Conv"}',
    "garbage at hello": "\x1b[31m\x00 hello, world",
    "garbage at run": "Segmentation fault",
    "list at load": "[1, 2]",
    "deep at load": "[" * 100000,
    "long at load": "x" * (2 << 20),
    "two at load": "{}\n{}",
    "null at run": '{"times_ns": null}',
    "text at run": '{"times_ns": ["5", "5", "5"]}',
    "nothing at run": "{}",
}
hellos = {"protocol": {"protocol": 2}, "threads": {"threads": 4}, "precision": {"precision": "bfloat16"},
          "nobody": {"name": 5, "version": None, "details": []}}
times = {"negative": lambda ns: -ns, "zero": lambda ns: 0, "microseconds": lambda ns: ns / 1000,
         "double": lambda ns: 2 * ns + 1e7, "infinite": lambda ns: 1e400, "nan": lambda ns: float("nan")}


def hello(request):
    answer = {"protocol": 1, "name": "Fake", "version": "1.0", "details": "no model", "threads": request["threads"],
              "precision": "float32"}
    answer.update(hellos.get(fault, {}))
    return answer


def load(request):
    file = request["outputs"][0]["file"]
    assert all(os.path.getsize(item["file"]) > 100 for item in request["inputs"]) and os.path.exists(request["model"])
    if fault == "pipe":
        os.mkfifo(file)
    elif fault != "missing":
        shutil.copy(os.environ["FAKE_PEER_OUTPUT"], file)
    if fault == "wrong":
        with open(file, "r+b") as stream:
            stream.seek(-2, os.SEEK_END)
            stream.write(b"\x55\x40")
    elif fault == "cut":
        os.truncate(file, 90)
    elif fault == "huge":
        os.truncate(file, 1 << 40)
    elif fault == "shape":
        with open(file, "r+b") as stream:
            text = stream.read()
            stream.seek(0)
            stream.write(text.replace(b"(1, 10", b"(10, 1", 1))
    return {"ready": True}


def run(request):
    taken = []
    for _ in range(request["warm"] + request["runs"]):
        start = time.perf_counter_ns()
        while time.perf_counter_ns() - start < 200_000:
            pass
        taken.append(time.perf_counter_ns() - start)
    taken = taken[request["warm"]:]
    if fault == "few":
        taken = taken[1:]
    return {"times_ns": [times.get(fault, lambda ns: ns)(ns) for ns in taken]}


if fault == "chatty":
    print("\x1b[2J" + "word " * 100000, file=sys.stderr)
for line in sys.stdin:
    request = json.loads(line)
    deed = deeds.get(fault) if fault.endswith(" at " + request["do"]) else None
    if callable(deed):
        deed()
    print(deed or json.dumps({"hello": hello, "load": load, "run": run}[request["do"]](request)), flush=True)

# SPDX-License-Identifier: Apache-2.0
# Plans whose steps run side by side: lanes put into plans by hand, for each library that there is, and
# plans that say what cannot be.
make_network tiny_transformer

available() {
    "$collage" backends | grep -q "^$1 .*available\$"
}

# lay PLAN OUT [KEY=VALUE]: steps in lanes by turns, every seventh on all threads; what the libraries
# call the same kernel on one thread of several is that kernel on a lane's only thread.
lay() {
    python3 - "$@" <<'END'
import json, sys
plan = json.load(open(sys.argv[1]))
plan["lanes"] = 2
for k, step in enumerate(plan["steps"]):
    if k % 7:
        step["lane"] = k % 2
        step["variant"] = step["variant"].removesuffix("/1t")
for change in sys.argv[3:]:
    path, value = change.split("=")
    at = plan
    *first, last = path.split(".")
    for key in first:
        at = at[int(key)] if isinstance(at, list) else at[key]
    at[last] = json.loads(value)
json.dump(plan, open(sys.argv[2], "w"))
END
}

for backend in reference onednn onednn_graph native onnxruntime openvino; do
    available $backend || continue
    used=$backend
    [ $backend = native ] && used=native,onednn # that reorders for it
    good "predicted" optimize tiny_transformer.onnx -t2 -b $used --search op-level --budget 30 --race 0.5 \
        -q -o $backend.plan.json
    holds "$backend: lanes are put in" lay $backend.plan.json $backend.lanes.json
    good "^Right:" verify $backend.lanes.json
    good "minimum .* of 300 runs" run $backend.lanes.json --runs 300
    sed -n 's/.* starts //p' "$work/out" >first.txt
    good "minimum .* of 300 runs" run $backend.lanes.json --runs 300
    sed -n 's/.* starts //p' "$work/out" >second.txt
    holds "$backend: each run gives the same" cmp first.txt second.txt
done

# Its heads make a plan with lanes take part in the race, whoever wins it. The costs are given: what is measured
# differs from machine to machine, and waking a lane can take longer than these small kernels do.
printf 'collage_given_costs 1\nreference * 100ms\n' >equal.costs
good "^[* ] mix in 2 lanes  *[0-9.]*  *[0-9.]* " optimize tiny_transformer.onnx -t2 -b reference --budget 30 --race 1 \
    -q --costs equal.costs -o raced.plan.json
good "^Right:" verify raced.plan.json
good "1 thread" optimize tiny_transformer.onnx -t1 -b reference --budget 30 --race 1 -q -o raced.plan.json
holds "one thread has no lanes" sh -c '! grep -q lanes "$1"' - "$work/out"

good "predicted" run reference.lanes.json --profile
good "steps run side by side, in 2 lanes of 1 thread each" show reference.lanes.json
good " lane 1\$" show reference.lanes.json
good "steps run side by side, in 2 lanes of 1 thread each" explain reference.lanes.json
good "^lane  *1 of 2, on 1 of 2 threads" explain reference.lanes.json 1
good "contestant" bench reference.lanes.json --seconds 0.5 -q
holds "the page tells of lanes" sh -c '"$1" show reference.lanes.json -o lanes.html && grep -q "in 2 lanes" lanes.html' \
    - "$collage"

lay reference.plan.json bad.json lanes=3
bad "3 lanes of 2 threads" run bad.json
lay reference.plan.json bad.json lanes=1
bad "1 lanes of 2 threads" run bad.json
lay reference.plan.json bad.json steps.1.lane=2
bad "a lane is out of range" run bad.json
lay reference.plan.json bad.json steps.1.lane=-1
bad "a lane is out of range" run bad.json
lay reference.plan.json bad.json 'steps.1.lane="0"'
bad "'lane' of step 1 has the wrong type" run bad.json

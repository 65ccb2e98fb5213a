# SPDX-License-Identifier: Apache-2.0
# Why a plan is as it is, and one node on every backend. Two backends whose costs are few: the
# reference, and the test plugin that takes Relu only and misbehaves on demand.
make_network tiny_cnn
plugins="$(cd "$(dirname "$collage")/.." && pwd)/test-plugins/faulty"
holds "the test plugin is there" [ -d "$plugins" ]
export COLLAGE_PLUGINS="$plugins"
good "tiny_cnn.plan.json" optimize tiny_cnn.onnx -t1 --budget 20 --race 1 -q
[ -s tiny_cnn.plan.json ] || return

# The whole plan. Nobody else has a measured Relu: the reference was not needed for it.
good '^step  *backend  *cost \[us\]  share  *roof  operators  *runner-up' explain tiny_cnn.plan.json
holds "a step without a rival says so" grep -q '^ *[0-9]* faulty .* Relu  *no other$' "$work/out"
holds "it counts what is known" grep -q '^[1-9][0-9]* candidates are measured, 0 failed, ' "$work/out"
holds "it says why the whole won" grep -q '^  It is the contestant ' "$work/out"
holds "it says how good the placement is" grep -q '^  The placement: ' "$work/out"
holds "the comparison is there" grep -q '^\* ' "$work/out"

# A node: by its name, by a result, by its number.
good "^node  *1 '/Relu', Relu, float32 1x32x32x32" explain tiny_cnn.plan.json /Relu
holds "its step is named" grep -q '^step  *[0-9]* of [0-9]*: Relu (node 1)$' "$work/out"
holds "its backend is named" grep -q '^backend  *faulty 1\.0, faulty$' "$work/out"
holds "what is chosen is marked" grep -q '^\* faulty ' "$work/out"
holds "what was not measured is counted" grep -q '^Not measured: 1 on reference$' "$work/out"
good "^node  *1 '/Relu'" explain tiny_cnn.plan.json /Relu_output_0
good "^node  *1 '/Relu'" explain tiny_cnn.plan.json %/Relu_output_0
good "^node  *1 '/Relu'" explain tiny_cnn.plan.json 1
good "^node  *0 .*Conv" explain tiny_cnn.plan.json '#0'
holds "a refusal has its reason" grep -q '^  faulty: no pattern starts with Conv$' "$work/out"
good "^step  *none: it is a view" explain tiny_cnn.plan.json /Flatten

# One node on every backend: what the store lacks is measured now, and kept.
good "^node  *1 '/Relu'" measure tiny_cnn.onnx --node /Relu -t1 -q
holds "one cost is of the store" [ "$(grep -c 'from the store' "$work/out")" = 1 ]
holds "the other is measured" [ "$(grep -c 'measured now' "$work/out")" = 1 ]
holds "the layouts are told" grep -q 'Relu (node 1), row-major' "$work/out"
good 'from the store' measure tiny_cnn.onnx -n /Relu -t1 -q
holds "nothing is measured twice" [ "$(grep -c 'from the store' "$work/out")" = 2 ]
good 'faulty  *[+-].*the runner-up\|reference  *[+-].*the runner-up' explain tiny_cnn.plan.json /Relu
good ' Relu  *reference  *[+-]' explain tiny_cnn.plan.json

# How far it is from what the machine can do: not known until it is asked for, then kept.
good '^Roof: not known before `collage explain PLAN --roofline`' explain tiny_cnn.plan.json
holds "no step has a roof" [ -z "$(grep '^ *[0-9]* .*% .*%' "$work/out")" ]
good '^roofline  *not known before' explain tiny_cnn.plan.json /Relu
good '^1 thread of .*GFLOP/s;$' explain tiny_cnn.plan.json --roofline
holds "kinds have their windows" grep -q '^ .* reference  *Conv 3x3' "$work/out"
holds "all have a sum" grep -q '^  *[0-9.]*  *[0-9.]* 100\.0%  *[0-9.]*% .*  all$' "$work/out"
holds "what to write next is named" grep -q '^The next kernel to write: ' "$work/out"
good '^Roof: the least time' explain tiny_cnn.plan.json
holds "steps have a roof" grep -q '^ *[0-9]* faulty .*% .*%  Relu ' "$work/out"
good '^work  *0\.033 MFLOP; 0\.000 MB of weights, 0\.262 MB' explain tiny_cnn.plan.json /Relu
holds "a node has its roofline" grep -q '^roofline  *[0-9.]* us at least, [0-9.]* % of the cost; room: ' "$work/out"
good '"kinds"' explain tiny_cnn.plan.json --roofline --json
holds "the JSON says the same" python3 - "$work/out" <<'END'
import json, math, sys
told = json.load(open(sys.argv[1]))
kinds, steps = told["kinds"], told["steps"]
assert told["threads"] == 1 and told["peaks"]["gflops"] > 0
assert sum(kind["count"] for kind in kinds) == len(steps)
assert [k["room_ns"] for k in kinds] == sorted((k["room_ns"] for k in kinds), reverse=True)
for member in ("cost_ns", "bound_ns", "room_ns"):
    assert math.isclose(told[member], sum(kind[member] for kind in kinds), rel_tol=1e-9)
    assert math.isclose(told[member], sum(step[member] for step in steps), rel_tol=1e-9)
END
good 'share  *GFLOP  *GB  *roof' run tiny_cnn.plan.json --profile
holds "a run has its roofs" grep -q '^ *[0-9]*  faulty .*% .*%' "$work/out"
bad "of the whole plan" explain tiny_cnn.plan.json /Relu --roofline
bad "goes with --roofline" explain tiny_cnn.plan.json --json
sed 's/"device": *"[0-9a-f]*"/"device": "00000000000000000000000000000000"/' tiny_cnn.plan.json >moved.plan.json
run explain moved.plan.json --roofline
holds "peaks of another machine are not measured here" grep -q "whose peaks the cost store does not know" "$work/err"

# A failure is kept with its reason; the plan is explained by its own costs then.
export COLLAGE_FAULTY=wrong
good '^Failed:' measure tiny_cnn.onnx --node 1 -t1 -b faulty --remeasure -q
holds "the reason is told" grep -q '^  faulty, Relu (node 1): wrong' "$work/out"
unset COLLAGE_FAULTY
good '^cost  *[0-9.]* us; [0-9.]* us when the plan was made' explain tiny_cnn.plan.json 1

# An empty store: one line says so.
export COLLAGE_CACHE="$work/none"
good 'has no costs for this plan' explain tiny_cnn.plan.json
holds "nothing is made up" grep -q ' Relu  *not known$' "$work/out"
good 'has no costs for this plan' explain tiny_cnn.plan.json /Relu
export COLLAGE_CACHE="$work/cache"

bad "'nosuch'" explain tiny_cnn.plan.json nosuch
bad "an input of the model" explain tiny_cnn.plan.json input
bad "a constant" explain tiny_cnn.plan.json fc.bias
bad "'9999'" explain tiny_cnn.plan.json 9999
bad "'third'" explain tiny_cnn.plan.json 1 third
bad "--node is missing" measure tiny_cnn.onnx
bad "'nosuch'" measure tiny_cnn.onnx --node nosuch
bad "'nobody'" measure tiny_cnn.onnx --node 1 --backends nobody
bad "no-such-file" measure no-such-file --node 1
bad "--threads" measure tiny_cnn.onnx --node 1 --threads 0

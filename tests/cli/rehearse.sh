# SPDX-License-Identifier: Apache-2.0
# Costs that are other ones inside the network: the test plugin's Relu is fast when it is run again and
# again, as kernels are that are measured alone, and takes 5 ms when anything else ran in between.
make_network tiny_cnn
plugins="$(cd "$(dirname "$collage")/.." && pwd)/test-plugins/faulty"
holds "the test plugin is there" [ -d "$plugins" ]
export COLLAGE_PLUGINS="$plugins:$(cd "$(dirname "$collage")/.." && pwd)/lib/plugins" COLLAGE_FAULTY=cold
# The other one's cost is given, so that the test does not depend on the machine.
printf 'collage_given_costs 1\nnative Relu 500us\nnative * never\n' >native.costs
few="--backends faulty,native,reference --costs native.costs"
quick="tiny_cnn.onnx -t1 --budget 20 -q $few"

# Without a rehearsal it is believed.
good 'plan.json' optimize $quick --race 0.5 --search op-level -o believed.plan.json
holds "the cost alone is believed" grep -q '"backend": *"faulty"' believed.plan.json

# With one it is not, and the plan says what it is instead.
good 'plan.json' optimize $quick --race 1 -o first.plan.json
holds "the rehearsal is in the evidence" grep -q '"rehearsed": *[1-9]' first.plan.json
holds "the plan is made without it" [ -z "$(grep '"backend": *"faulty"' first.plan.json)" ]
good '^ *[0-9]*  *faulty .*' measure tiny_cnn.onnx --node /Relu -t1 -q $few
holds "both costs are shown" grep -q 'in the network; [0-9.]* us alone' "$work/out"
good 'in the network; [0-9.]* us alone' explain first.plan.json /Relu

# It is remembered, by other searches too.
good 'plan.json' optimize $quick --race 1 -o second.plan.json
holds "nothing is rehearsed again" grep -q '"rehearsed": *0' second.plan.json
holds "nor believed" [ -z "$(grep '"backend": *"faulty"' second.plan.json)" ]
good 'plan.json' optimize $quick --race 0.5 --search op-level -o third.plan.json
holds "nor by another search" [ -z "$(grep '"backend": *"faulty"' third.plan.json)" ]

# Measured anew, it is found out again.
good 'plan.json' optimize $quick --race 1 --remeasure -o fourth.plan.json
holds "rehearsed again" grep -q '"rehearsed": *[1-9]' fourth.plan.json

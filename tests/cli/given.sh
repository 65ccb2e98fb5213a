# SPDX-License-Identifier: Apache-2.0
# Costs that the user gives, in files: for one run, and for all. Two backends: the reference, and the
# test plugin that takes Relu only. And files of patterns where costs are looked at.
make_network tiny_cnn
plugins="$(cd "$(dirname "$collage")/.." && pwd)/test-plugins/faulty"
holds "the test plugin is there" [ -d "$plugins" ]
export COLLAGE_PLUGINS="$plugins"
registry="$COLLAGE_CACHE/registry"
given='collage_given_costs 1'

# What must not be used is not; nothing of it is kept.
printf '%s\n# comment\n\nfaulty Relu never\n' "$given" >never.costs
good 'tiny_cnn.plan.json' optimize tiny_cnn.onnx -t1 --budget 20 --race 1 -q --costs never.costs
holds "the plan is made without it" [ -z "$(grep '"backend": "faulty"' tiny_cnn.plan.json)" ]
holds "the evidence says that costs are given" grep -q '"given": *{' tiny_cnn.plan.json
good '^0 costs are listed' costs list --backend faulty
good "never to be used, says '$PWD/never.costs'" explain tiny_cnn.plan.json /Relu --costs never.costs

# A given cost instead of a measured one: the plan has it, verified and raced as ever.
printf '%s\nfaulty\tRelu\t0.5us\tout=1x32x*\tdtype=float32\tthreads=1\n' "$given" >cheap.costs
good 'measured and given costs' optimize tiny_cnn.onnx -t1 --budget 20 --race 1 -q \
    --costs cheap.costs --search greedy --backends faulty,reference
holds "the plan has the cost" grep -q '"cost_ns": *500' tiny_cnn.plan.json
holds "the evidence names the step" grep -q '"given": *{"costs": *[0-9]*, *"steps": *\[1,' tiny_cnn.plan.json
holds "it was raced" grep -q '"worst_error"' tiny_cnn.plan.json
good '.' verify tiny_cnn.plan.json
good '^0 costs are listed' costs list --backend faulty --operator Relu
good ' Relu .*  given$' explain tiny_cnn.plan.json
holds "explained" grep -q '^Given: the user says what it costs; it was not measured' "$work/out"
good '^cost  *0.50 us (given, not measured); 0.50 us (given) when the plan was made' \
    explain tiny_cnn.plan.json /Relu
good "given by '$PWD/cheap.costs', not measured" \
    measure tiny_cnn.onnx --node /Relu -t1 -q --costs cheap.costs

# The first line that fits counts; of files the last one.
printf '%s\nfaulty Re* 3us\nany Relu 4us\n' "$given" >first.costs
good ' 3\.00 ' measure tiny_cnn.onnx --node /Relu -t1 -q --costs first.costs
holds "both backends have given costs" [ "$(grep -c 'not measured$' "$work/out")" = 2 ]
good ' 0\.50 ' measure tiny_cnn.onnx --node /Relu -t1 -q --costs first.costs --costs cheap.costs
printf '%s\nfaulty Relu 3us threads=2\nfaulty Relu 3us variant=none\nfaulty Relu 3us in=9x*\n' \
    "$given" >other.costs
good 'measured now' measure tiny_cnn.onnx --node /Relu -t1 -q --costs other.costs
holds "nothing is given" [ -z "$(grep 'not measured' "$work/out")" ]

# Measured costs stay what they are.
good '^1 costs are listed' costs list --backend faulty
"$collage" costs export before.costs >"$work/out"
good ' 3\.00 ' measure tiny_cnn.onnx --node /Relu -t1 -q --costs first.costs --remeasure
"$collage" costs export after.costs >"$work/out"
holds "the store is as it was" cmp -s before.costs after.costs
good 'from the store' measure tiny_cnn.onnx --node /Relu -t1 -q

# What is not well-formed is one line, and no run.
for line in 'faulty' 'faulty Relu' 'faulty Relu 3' 'faulty Relu nan' 'faulty Relu NaNus' \
    'faulty Relu -1us' 'faulty Relu 0us' 'faulty Relu inf' 'faulty Relu 1e400us' 'faulty Relu us' \
    'faulty Relu 99999999999999999999s' 'faulty Relu 1000001s' 'faulty Relu 1.2.3us' \
    'faulty Relu 3us threads=0' 'faulty Relu 3us threads=1.5' 'faulty Relu 3us threads=1 threads=1' \
    'faulty Relu 3us out=' 'faulty Relu 3us out=1 out=2' 'faulty Relu 3us size=3' \
    "$(printf 'faulty Re\033lu 3us')" "$(printf 'faulty Re\377lu 3us')"; do
    printf '%s\n%s\n' "$given" "$line" >bad.costs
    bad "bad.costs:2: expected" measure tiny_cnn.onnx --node /Relu -t1 --costs bad.costs
done
printf '%s\nnobody Relu 3us\n' "$given" >nobody.costs
bad "nobody.costs:2: there is no backend 'nobody'" optimize tiny_cnn.onnx --costs nobody.costs -o x.json
bad "there is no backend 'nobody'" costs add nobody.costs
printf 'collage_given_costs 2\n' >bad.costs
bad "bad.costs:1: expected 'collage_given_costs 1'" costs add bad.costs
: >bad.costs
bad "bad.costs:1: expected" costs add bad.costs
printf '%s\nfaulty Relu 3us\n\0' "$given" >bad.costs
bad "no file of costs" costs add bad.costs
bad "missing.costs" costs add missing.costs
bad "--costs goes with a model" bench tiny_cnn.plan.json --costs first.costs

# For all later runs.
good 'added' costs add first.costs
holds "it is registered" grep -q "^costs	any	$PWD/first.costs\$" "$registry"
good "^  costs .*$PWD/first.costs\$" costs list
good ' 3\.00 ' measure tiny_cnn.onnx --node /Relu -t1 -q
bad "'$PWD/never.costs' is not registered" costs replace never.costs cheap.costs
good 'replaced' costs replace first.costs cheap.costs
holds "once" [ "$(grep -c '^costs' "$registry")" = 1 ]
good ' 0\.50 ' measure tiny_cnn.onnx --node /Relu -t1 -q
bad "is not registered" costs remove first.costs
printf 'nonsense\n' >cheap.costs
run measure tiny_cnn.onnx --node /Relu -t1
holds "one that is malformed now is one warning" [ "$(grep -c 'cheap.costs:1: expected' "$work/err")" = 1 ]
holds "and no failure" [ "$status" = 0 ]
good 'cheap.costs:1: expected' costs list
rm cheap.costs
good 'removed' costs remove cheap.costs
holds "nothing is left" [ "$(cat "$registry")" = "collage_registry 1" ]
good 'added' costs add nobody.costs --target 'Nobody makes this*'
good "for Nobody makes this\* (another machine)$" costs list
good 'from the store' measure tiny_cnn.onnx --node /Relu -t1 -q
good 'removed' costs remove nobody.costs
bad "--target goes with add" costs list --target any
bad "FILE NEW is missing" costs replace first.costs

# Files of patterns where a plan is explained and libraries join one by one: taken as by optimize.
printf 'collage_patterns 1\nbackend faulty, nobody\npattern two { y = Relu(Relu(x)) output y }\n' >two.patterns
printf 'collage_patterns 1\nnonsense\n' >bad.patterns
for command in 'explain tiny_cnn.plan.json' 'bench tiny_cnn.onnx --ablate' 'measure tiny_cnn.onnx -n0' \
    'optimize tiny_cnn.onnx -o x.json'; do
    # shellcheck disable=SC2086 # words
    bad "bad.patterns:2:1: expected" $command --patterns bad.patterns
    # shellcheck disable=SC2086
    bad "missing.patterns" $command --patterns missing.patterns
done
good '^step ' explain tiny_cnn.plan.json --patterns two.patterns
holds "it was read, once" [ "$(grep -c "there is no backend 'nobody' here" "$work/err")" = 1 ]
good '^  faulty ' bench tiny_cnn.onnx --ablate -t1 --seconds 1 --patterns two.patterns
holds "here, too" [ "$(grep -c "there is no backend 'nobody' here" "$work/err")" = 1 ]
good '^  faulty ' bench tiny_cnn.onnx --ablate -t1 --seconds 1 -q --costs first.costs
bad "--patterns goes with a model" bench tiny_cnn.plan.json --patterns two.patterns

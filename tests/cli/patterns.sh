# SPDX-License-Identifier: Apache-2.0
# Files of patterns: what is in them, what they mean in a model, and their way into a plan.
make_network tiny_cnn
fusions="$networks/../../examples/fusions.patterns"
good '^8 entries are well-formed' patterns check "$fusions"
good '^pattern conv_add: 3 operators, forms: 2; target: cpu; backends: onednn onnxruntime openvino$' \
    patterns check "$fusions"
good '^rule pointwise_tail: 6 operators, pairs: 2, up to 4 nodes' patterns check "$fusions"
good '^chain conv_tail: 7 matches$' patterns match "$fusions" tiny_cnn.onnx
good '^rule pointwise_tail: 10 matches$' patterns match "$fusions" tiny_cnn.onnx
good '^  #4 #5 #6  Conv Relu Add$' patterns match "$fusions" tiny_cnn.onnx

printf 'collage_patterns 1\nbackend reference\npattern p { y = Swoosh(x) }\n' >bad.patterns
bad "bad.patterns:3:17: expected an operator; 'Swoosh' is none" patterns check bad.patterns
bad "bad.patterns:3:17" patterns match bad.patterns tiny_cnn.onnx
bad "bad.patterns:3:17" optimize tiny_cnn.onnx --patterns bad.patterns -q
bad "bad.patterns:3:17" measure tiny_cnn.onnx --node 0 --patterns bad.patterns -q
bad "missing.patterns" patterns check missing.patterns
: >empty.patterns
bad "empty.patterns:1:1: expected 'collage_patterns', not the end" patterns check empty.patterns
bad "none of check, match, list" patterns frobnicate "$fusions"
bad "FILE is missing" patterns check
bad "FILE MODEL is missing" patterns match "$fusions"
bad "one argument too many" patterns check "$fusions" tiny_cnn.onnx
bad "--shape" patterns check "$fusions" --shape input=1
bad "no-such-file" patterns match "$fusions" no-such-file
bad "is missing" patterns

# The reference takes one operator at a time: it is asked, refuses, and nothing else changes.
printf 'collage_patterns 1\nbackend reference\npattern first { y = Relu(Conv(x, ...)) output y }\n' \
    >first.patterns
run measure tiny_cnn.onnx --node 0 --backends reference -t1 -q
cp "$work/out" plain.txt
good '.' measure tiny_cnn.onnx --node 0 --backends reference -t1 -q --patterns first.patterns
holds "what the backend refuses is no candidate" [ "$(wc -l <"$work/out")" = "$(wc -l <plain.txt)" ]
good "tiny_cnn.plan.json" optimize tiny_cnn.onnx -t1 --backends reference --race 1 -q \
    --patterns first.patterns
good '.' verify tiny_cnn.plan.json

# Along with another search.
good "tiny_cnn.plan.json" optimize tiny_cnn.onnx -t1 --backends reference --race 1 -q \
    --patterns first.patterns --search op-level
bad "bad.patterns:3:17" optimize tiny_cnn.onnx -q --patterns bad.patterns --search greedy

# A pattern with two outputs: the ReLU goes on to the convolution and to the sum. Its group is one
# kernel of a graph-level library, in the plan and in the placement; other searches take it if it is
# pinned. Copies of the ReLU are another thing.
if "$collage" backends | grep -q '^onnxruntime .* available'; then
    printf 'collage_patterns 1\nbackend onnxruntime\npattern pair {\n  r = Relu(x)\n  c = Conv(r, ...)\n  output r, c\n}\n' \
        >pair.patterns
    good '^pattern pair: 2 matches$' patterns match pair.patterns tiny_cnn.onnx
    printf 'post_dfs_order,annotation\n1,0-onnxruntime_Relu+Conv\n2,0-onnxruntime_Relu+Conv\n' >pair.csv
    for search in exact op-level; do
        good "pair.plan.json" optimize tiny_cnn.onnx -t1 --backends onnxruntime --budget 10 --race 1 -q \
            --patterns pair.patterns --placement pair.csv --placement-out out.csv --search $search \
            -o pair.plan.json
        holds "$search: the plan has the pair" grep -q '"pair"' pair.plan.json
        holds "$search: the pair is one group" \
            [ "$(sed -n 's/^[12],//p' out.csv | sort -u | grep -c 'onnxruntime_Relu+Conv$')" = 1 ]
        good '.' verify pair.plan.json
    done
    good "copies.plan.json" optimize tiny_cnn.onnx -t1 --backends onnxruntime --budget 10 --race 1 -q \
        --allow-recompute -o copies.plan.json
    holds "the evidence says it" grep -q '"recompute": *true' copies.plan.json
    good '.' verify copies.plan.json
fi

# SPDX-License-Identifier: Apache-2.0
# The searches of `collage optimize`, and what is placed beforehand: on the reference, and on the
# libraries that there are.
make_network tiny_cnn
make_network tiny_transformer
quick="tiny_cnn.onnx -t1 --budget 60 --race 1 -q"

available() {
    "$collage" backends | grep -q "^$1 .*available\$"
}

# Each search makes a plan that runs, and says which search it was.
for search in op-level two-level greedy brute; do
    good "^  placed by the $search search" optimize $quick -b reference --search $search \
        -o $search.plan.json --placement-out $search.csv
    holds "$search: the plan says so" grep -q "\"search\": *\"$search\"" $search.plan.json
    good "^  placed by the $search search" show $search.plan.json
    good "^output: 1x10 float32" run $search.plan.json
    holds "$search: the placement has a first line" \
        [ "$(head -n 1 $search.csv)" = post_dfs_order,annotation ]
    holds "$search: and a line for each of 10 nodes" [ "$(wc -l <$search.csv)" = 11 ]
done
good "reference" optimize $quick -b reference -o exact.plan.json --placement-out exact.csv --search exact
holds "the default search is not told" sh -c '! grep -q "placed by" "$1"' - "$work/out"
holds "nor is it in the plan" sh -c '! grep -q "\"search\"" exact.plan.json'
holds "on one backend all place alike" cmp exact.csv op-level.csv
good "^  placed by the op-level search" optimize $quick -b reference --search op-level \
    --kernel-cost 0.01ms -o dear.plan.json
holds "the plan has the term" grep -q '"kernel_cost_ns": *10000' dear.plan.json
bad "at most 12 nodes" optimize tiny_transformer.onnx -t1 --search brute

# Several plans of one model in one race: each is a row, by the name of its file, compared with the first.
touch m.onnx
sed 's/"threads": *1,/"threads": 2,/' greedy.plan.json >two.plan.json
good "^\* op-level .* 1 " bench --together op-level.plan.json ./greedy.plan.json --seconds 0.2 -q
holds "the other plan has a row" grep -q '^  greedy  *[0-9.]* *[0-9.]* *[0-9.]* *\[' "$work/out"
good '"name": "greedy"' bench --together op-level.plan.json greedy.plan.json --seconds 0.2 -q --json
holds "JSON has one object" [ "$(grep -c '"results": ' "$work/out")" = 1 ]
holds "with both plans and what the reference has" [ "$(grep -c '"chosen": true' "$work/out")" = 1 ]
bad "'m.onnx' is a model" bench --together op-level.plan.json m.onnx
bad "--ablate with models" bench --together op-level.plan.json --ablate
bad "no-such" bench --together op-level.plan.json no-such
bad "plan 2: it is for 2 threads" bench --together op-level.plan.json two.plan.json
good "reference" optimize tiny_transformer.onnx -t1 --budget 60 --race 1 -q -b reference -o other.plan.json
bad "plan 2: " bench --together op-level.plan.json other.plan.json

# A placement that was written is read, whole and in part.
good "10 nodes pinned" optimize $quick -b reference --placement op-level.csv \
    -o again.plan.json --placement-out again.csv
holds "it comes out as it went in" cmp op-level.csv again.csv
{ head -n 1 op-level.csv && grep -e Gemm -e Flatten op-level.csv; } >part.csv
good "2 nodes pinned" optimize $quick -b reference --placement part.csv -o part.plan.json
bad "missing.csv" optimize $quick --placement missing.csv
: >wrong.csv
bad "wrong.csv' is empty" optimize $quick --placement wrong.csv
tail -n 1 op-level.csv >wrong.csv
bad "wrong.csv' line 1" optimize $quick --placement wrong.csv
sed 's/reference_Gemm/reference_Conv/' op-level.csv >wrong.csv
bad "another model" optimize $quick --placement wrong.csv
sed 's/reference_Gemm/nolib_Gemm/' op-level.csv >wrong.csv
bad "nolib_Gemm" optimize $quick --placement wrong.csv
printf 'post_dfs_order,annotation\n99,0-reference\n' >wrong.csv
bad "there is no node 99" optimize $quick --placement wrong.csv
printf 'post_dfs_order,annotation\n0,0-reference\n1,0-reference\n' >wrong.csv
bad "'/conv.0/Conv' (Conv): group 0" optimize $quick --placement wrong.csv

# Pins by name.
good "1 node pinned" optimize $quick -b reference --place /fc/Gemm=reference -o pin.plan.json
good "3 nodes pinned" optimize $quick -b reference --place '/Relu*=reference' -o pin.plan.json
bad "'nosuch'" optimize $quick --place nosuch=reference
bad "'nolib'" optimize $quick --place /Add=nolib

if available onednn; then
    good "3 nodes pinned" optimize $quick -b reference,onednn --place '/conv.*=onednn' \
        --place '/conv.1/Conv=reference' -o pin.plan.json --placement-out pin.csv
    holds "two convolutions are on oneDNN" [ "$(grep -c '^[0-9]*,[0-9]*-onednn_Conv' pin.csv)" -ge 2 ]
    holds "one is on the reference" grep -q '^2,[0-9]*-reference_Conv$' pin.csv
    bad "'/Add' (Add) cannot run on 'onednn', which is not" \
        optimize $quick -b reference --place /Add=onednn
fi
if available onednn && available onnxruntime; then
    good "plans run end to end" optimize $quick -b onednn,onnxruntime --search two-level \
        --search-time 20 --search-generations 2 --search-seed 3 -o two.plan.json
    good "^output: 1x10 float32" run two.plan.json
    good "^  placed by the greedy search" optimize $quick -b onnxruntime,onednn --search greedy \
        -o greedy.plan.json --placement-out greedy.csv
    holds "the first of the list takes all, as one region" \
        [ "$(grep -c '^[0-9]*,0-onnxruntime_' greedy.csv)" = 10 ]
fi

# SPDX-License-Identifier: Apache-2.0
# Costs go out, come in again, and let nothing senseless in.
make_network tiny_cnn
good "tiny_cnn.plan.json" optimize tiny_cnn.onnx -t1 --backends reference -q
good '[1-9][0-9]* costs are written' costs export first.costs
holds "the first line says what it is" grep -q '"format":"collage-costs"' first.costs
export COLLAGE_CACHE="$work/other"
good '[1-9][0-9]* costs were new' costs import first.costs
good '^0 costs were new' costs import first.costs
good '[1-9][0-9]* costs were new' costs import --replace first.costs
good '[1-9][0-9]* costs are written' costs export second.costs
holds "what came in goes out" cmp first.costs second.costs

# All or none: the second line is damaged after a good one.
export COLLAGE_CACHE="$work/third"
{ head -2 first.costs; echo '{}'; } >bad.costs
bad "line 3" costs import bad.costs
good '^0 costs are written' costs export empty.costs
sed 's/"threads":1/"threads":-1/' first.costs >bad.costs
bad "threads" costs import bad.costs
sed 's/"backend":"[a-z]*"/"backend":"a\\u0007b"/' first.costs >bad.costs
bad "backend" costs import bad.costs
sed 's/"passes"/"surprises"/' first.costs >bad.costs
bad "passes" costs import bad.costs
tail -1 first.costs >bad.costs
bad "no file of costs" costs import bad.costs
: >bad.costs
bad "bad.costs" costs import bad.costs
bad "missing.costs" costs import missing.costs
bad "neither" costs share first.costs
bad "FILE" costs export

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
bad "'share' is none of" costs share first.costs
bad "FILE" costs export

# Looking through the store.
export COLLAGE_CACHE="$work/cache"
all=$(grep -c '"backend"' first.costs)
good "^$all costs are listed" costs list
good "^machine [0-9a-f]\{32\}: costs: $all; this one, " costs list
holds "a line for each" [ "$(grep -c '^reference ' "$work/out")" = "$all" ]
good '^[1-9][0-9]* costs are listed' costs list --operator Conv
holds "only that operator" [ -z "$(grep '^reference ' "$work/out" | grep -v Conv)" ]
good '^0 costs are listed' costs list -o Con
good '^0 costs are listed' costs list --backend nobody
good "^$all costs are listed" costs list --backend reference --device here
good '^0 costs are listed' costs list --device 0123
good '^0 costs are listed' costs list --failed
good '^0 costs are listed' costs list --older 1h
good '^0 costs are listed' costs list --uninstalled

# Merging: stores by file, by folder, and what was exported; the lower cost stays.
export COLLAGE_CACHE="$work/fourth"
good "^$all costs were new" costs merge "$work/cache/costs.sqlite"
holds "the other store has nothing beside it" \
    [ "$(ls "$work/cache" | tr '\n' ' ')" = "costs.lock costs.sqlite " ]
good '^0 costs were new' costs merge "$work/cache" first.costs
costs=$(sed -n 's/.*"cost_ns":\([0-9.e+]*\).*/\1/p' first.costs | head -1)
sed "s/\"cost_ns\":$costs,/\"cost_ns\":0.5,/" first.costs >lower.costs
good '^[1-9][0-9]* costs were new or better' costs merge lower.costs
good '^0 costs were new' costs merge first.costs
good "^$all costs were new" costs merge --replace first.costs
good '.' costs export back.costs
holds "replaced costs are as they were" cmp first.costs back.costs
head -c 3000 "$work/cache/costs.sqlite" >cut.sqlite
bad "cut.sqlite" costs merge cut.sqlite
echo "no store" >text.costs
bad "text.costs" costs merge text.costs
mkdir empty-folder
bad "costs.sqlite" costs merge empty-folder
good '.' costs export after.costs
holds "nothing came of it" cmp first.costs after.costs

# Pruning: failures, versions that are gone, what fits.
sed 's/"failed":false/"failed":true/' first.costs | sed 's/"version":"[^"]*"/"version":"0.0.1"/' \
    >old.costs
good "^$all costs were new" costs import old.costs
good "^$all costs are listed" costs list --failed
holds "failures are called so" grep -q '^reference .* failed ' "$work/out"
good "^$all costs are listed" costs list --uninstalled
good "^$all costs are removed, $all are left" costs prune --uninstalled
good '.' costs export after.costs
holds "what is installed stays" cmp first.costs after.costs
good "^$all costs were new" costs import old.costs
good "^$all costs are removed, $all are left" costs prune --failed
good "^0 costs are removed, $all are left" costs prune --older 1d
sleep 2
good "^$all costs are removed, 0 are left" costs prune --older 1s
bad "which costs" costs prune
bad "--replace" costs list --replace
bad "list and prune" costs export x.costs --failed
bad "one argument too many" costs list x.costs
bad "one argument too many" costs import first.costs second.costs
bad "FILE is missing" costs merge
bad "is missing" costs
bad "--older" costs prune --older soon
bad "machine 'nowhere'" costs prune --uninstalled --device nowhere

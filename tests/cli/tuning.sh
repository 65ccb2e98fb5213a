# SPDX-License-Identifier: Apache-2.0
# Schedules: searched, remembered, logged, shipped with the plan. The backend is made for the tests:
# its schedule "wait=0" is the fastest for certain.
test_plugins="$(dirname "$collage")/../test-plugins"
COLLAGE_PLUGINS="$(realpath "$test_plugins/scheduled")"
export COLLAGE_PLUGINS
make_network tiny_cnn

# evidence NAME: a number of the plan's evidence of tuning.
evidence() {
    tr -d '\n ' <"$1" | sed -n "s/.*\"tuning\":{[^}]*\"$2\":\([0-9]*\).*/\1/p"
}

# same_log A B: the same records, whatever the times.
same_log() {
    cut -f1-5,7 "$1" >a.cut
    cut -f1-5,7 "$2" >b.cut
    cmp -s a.cut b.cut
}

optimize() {
    good 'plan.json' optimize tiny_cnn.onnx -t1 --budget 20 --race 1 -q "$@"
}

# Without tuning nothing changes.
optimize -o plain.plan.json
holds "no schedule without tuning" sh -c '! grep -q \"schedule\": plain.plan.json'
holds "no evidence of tuning" sh -c '! grep -q \"tuning\": plain.plan.json'

# With it, the fastest schedule is found, and what is wrong or malformed is not taken.
optimize --tune 30s --tuning-log t.log -o first.plan.json
holds "three kernels have the schedule" [ "$(grep -c '"schedule": *"wait=0"' first.plan.json)" = 3 ]
holds "one key is tuned" [ "$(evidence first.plan.json kernels)" = 1 ]
holds "its three schedules are measured" [ "$(evidence first.plan.json measured)" = 3 ]
holds "the log has a header" [ "$(head -1 t.log)" = 'collage_tuning 1' ]
holds "and one record" [ "$(grep -c '^scheduled	1.0	.*	1	[0-9a-f]*	[0-9]*	wait=0$' t.log)" = 1 ]
good '^schedule *wait=0$' explain first.plan.json 1

# Again: all is remembered.
cp t.log before.log
optimize --tune --tuning-log t.log -o second.plan.json
holds "the second run measures no schedule" [ "$(evidence second.plan.json measured)" = 0 ]
holds "and nothing else" grep -q '"measured": *0' second.plan.json
holds "it finds them in the store" [ "$(evidence second.plan.json reused)" = 3 ]
holds "the log is as it was" same_log before.log t.log
holds "the plan has the schedule" [ "$(grep -c '"schedule": *"wait=0"' second.plan.json)" = 3 ]

# With the other searches, too.
for search in op-level greedy brute; do
    optimize --tune --search $search -o search.plan.json
    holds "$search: three kernels have the schedule" \
        [ "$(grep -c '"schedule": *"wait=0"' search.plan.json)" = 3 ]
done

# The plan needs no log.
rm t.log
good '.' verify first.plan.json
good '^ .*scheduled' run first.plan.json --profile

# A log alone, without tuning and with nothing in the store, is enough; it stays as it is.
COLLAGE_CACHE="$work/other" optimize --tuning-log before.log -o logged.plan.json
holds "the schedule is that of the log" [ "$(grep -c '"schedule": *"wait=0"' logged.plan.json)" = 3 ]
holds "nothing was tuned" sh -c '! grep -q \"tuning\": logged.plan.json'

# One that has another schedule than the best is put right; one that has one that does not work is
# not held to.
sed 's/wait=0/wait=longer/' before.log >t.log
optimize --tune 30s --tuning-log t.log -o third.plan.json
holds "the better schedule is in the log again" same_log before.log t.log
sed 's/wait=0/wrong=1/' before.log >wrong.log
optimize --tuning-log wrong.log -o wrong.plan.json
holds "a wrong kernel is no choice" sh -c '! grep -q \"schedule\": wrong.plan.json'

# Records of others are kept and not used, and that is said; what the backend does not list as well.
sed 's/^scheduled	1.0/scheduled	0.9/' before.log >others.log
run optimize tiny_cnn.onnx -t1 --budget 20 --race 1 --tune 30s --tuning-log others.log -o o.plan.json
holds "it says so in a line" \
    grep -q "^collage: warning: 'others.log': 1 of 1 records are for other backends" "$work/err"
holds "the old record is kept" grep -q '^scheduled	0.9	.*	wait=0$' others.log
holds "the new one is there" grep -q '^scheduled	1.0	.*	wait=0$' others.log
sed 's/wait=0/unknown=1/' before.log >unknown.log
optimize --tuning-log unknown.log -o unknown.plan.json
holds "an unknown schedule is not used" sh -c '! grep -q \"schedule\": unknown.plan.json'

# Another version of the library: tuned anew.
COLLAGE_SCHEDULED_VERSION=2.0 optimize --tune 30s --tuning-log others.log -o v2.plan.json
holds "three records" [ "$(grep -c '^scheduled' others.log)" = 3 ]
holds "measured for the other version" [ "$(evidence v2.plan.json measured)" = 3 ]

# Logs that are none.
printf 'nonsense\n' >bad.log
bad "bad.log:1: this is no tuning log" optimize tiny_cnn.onnx -q --tuning-log bad.log
printf 'collage_tuning 1\nscheduled\t1.0\n' >bad.log
bad "bad.log:2: a record has 7 fields" optimize tiny_cnn.onnx -q --tuning-log bad.log --tune
printf 'collage_tuning 1\n# a remark\n\nscheduled\t1.0\td\t1\txyz\t5\twait=0\n' >bad.log
bad "bad.log:4: the key is not" optimize tiny_cnn.onnx -q --tuning-log bad.log --tune
bad "missing.log" optimize tiny_cnn.onnx -q --tuning-log missing.log
bad "no-such-folder" optimize tiny_cnn.onnx -q --tune --tuning-log no-such-folder/t.log
bad "--tune: '0' is not in range" optimize tiny_cnn.onnx --tune 0
bad "--tune: '5x' is not a time" optimize tiny_cnn.onnx --tune=5x

# Plans with schedules that cannot be.
long=$(printf '%0100d' 0)
sed "s/\"wait=0\"/\"$long\"/" first.plan.json >hostile.plan.json
bad "the schedule of step 1 is not 1 to 95 printable characters" verify hostile.plan.json
sed 's/"wait=0"/"wait\\u001b[31m"/' first.plan.json >hostile.plan.json
bad "the schedule of step 1 is not 1 to 95 printable characters" verify hostile.plan.json
sed 's/"wait=0"/"wait=1"/' first.plan.json >hostile.plan.json
npy x.npy '<f4' '(1, 3, 32, 32)' 12288
run run hostile.plan.json --input input=x.npy
holds "an unknown schedule is refused" [ "$status" != 0 ]
holds "in a line" grep -q "does not know the schedule 'wait=1' here" "$work/err"

# A kernel whose cost the user gave is not tuned: it is not measured, and nothing of it is stored.
printf 'collage_given_costs 1\nscheduled Relu 1ms\nreference Relu 9ms\n' >given.costs
"$collage" costs export before.costs >"$work/out"
optimize --tune --costs given.costs -o given.plan.json
holds "its given cost counts" grep -q '"cost_ns": *1000000' given.plan.json
holds "it is not tuned" [ "$(evidence given.plan.json kernels)" = 0 ]
"$collage" costs export after.costs >"$work/out"
holds "the store has nothing of it" cmp -s before.costs after.costs

# SPDX-License-Identifier: Apache-2.0
# `collage bench --ablate`: one library more at a time, with the test plugin and with those there are.
make_network tiny_cnn
real_plugins="${COLLAGE_PLUGINS-}"
plugins="$(cd "$(dirname "$collage")/.." && pwd)/test-plugins/faulty"
holds "the test plugin is there" [ -d "$plugins" ]

touch m.onnx
printf '{}' >m.plan.json
bad "--ablate" bench m.plan.json --ablate
bad "--peers" bench m.onnx --ablate --peers torch
bad "--ablate takes no value" bench m.onnx --ablate=2
bad "no-such-file" bench no-such-file --ablate

# One library, which takes Relu only: the reference does the rest, and that is said.
export COLLAGE_PLUGINS="$plugins"
good "^  faulty  *[0-9.]* *[0-9.]* *[0-9.]*  1$" bench tiny_cnn.onnx --ablate -t1 --seconds 1 -q
holds "the reference is named" grep -q '^      with reference for .*Conv' "$work/out"
holds "there is one row" [ "$(grep -c '^+ ' "$work/out")" = 0 ]
good '"added": "faulty"' bench tiny_cnn.onnx --ablate -t1 --seconds 1 -q --json
holds "it is an array" [ "$(head -n 1 "$work/out")" = "[" -a "$(tail -n 1 "$work/out")" = "]" ]
holds "the note is there" grep -q '"note": "with reference for ' "$work/out"

# Without any library there is nothing to add: not the user's mistake, but no result either.
mkdir nothing
export COLLAGE_PLUGINS="$work/home/nothing"
run bench tiny_cnn.onnx --ablate -t1 --seconds 1 -q
holds "without a library it fails (exit status $status)" [ "$status" = 3 ]
holds "it says why, in one line" [ "$(grep -c 'no library but the reference' "$work/err")" = 1 ]

# All that there are: each joins once, whether it gains anything or not.
if [ -n "$real_plugins" ]; then export COLLAGE_PLUGINS="$real_plugins"; else unset COLLAGE_PLUGINS; fi
libraries=$("$collage" backends | grep ' available$' | grep -vc '^reference ')
if [ "$libraries" -ge 2 ]; then
    good "^  libraries  *costs" bench tiny_cnn.onnx --ablate -t1 --seconds 2 -q
    holds "each of $libraries libraries joins" [ "$(grep -c '^+ ' "$work/out")" = $((libraries - 1)) ]
    holds "all are measured or the same" [ -z "$(sed -n '/^  libraries/,/^$/p' "$work/out" |
        grep '^[+ ] [a-z]' | grep -v -e '^  libraries' -e '[0-9]' -e 'nothing to gain')" ]
    good '"gain": \[' bench tiny_cnn.onnx --ablate -t1 --seconds 1 -q --json
    holds "JSON has as many rows" [ "$(grep -c '"libraries": ' "$work/out")" = "$libraries" ]
else
    echo "skipped: $libraries libraries; two are needed to add one"
fi

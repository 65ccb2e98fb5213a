# SPDX-License-Identifier: Apache-2.0
# What is registered: backends and files of patterns that later runs have, too. The plugins are those
# made for the tests.
test_plugins="$(dirname "$collage")/../test-plugins"
faulty="$(realpath "$test_plugins/faulty/collage_faulty.so")"
export COLLAGE_PLUGINS="$work/plugins"
registry="$COLLAGE_CACHE/registry"
mkdir "$work/plugins"
make_network tiny_cnn

# A backend: added, there in every later run, and measured by the worker.
bad "there is no backend 'faulty'" backends remove faulty
good 'added' backends add "$faulty"
good '^faulty .* 1.0 .* 1  available$' backends
good "^  plugin    faulty  $faulty\$" backends
good '"origin": "registered"' backends --json
holds "the file is the user's alone" [ "$(stat -c %a "$registry")" = 600 ]
bad "there is a backend 'faulty' already" backends add "$faulty"
good 'plan.json' optimize tiny_cnn.onnx -t1 --backends faulty,reference --budget 5 --race 1 -q
holds "the plan is made with it" grep -q '"faulty"' tiny_cnn.plan.json
good '.' verify tiny_cnn.plan.json

# Replaced by another file of that name; only by one of that name.
cp "$faulty" other.so
bad "is 'faulty', not 'nobody'" backends replace nobody other.so
good 'replaced' backends replace faulty other.so
good "^  plugin    faulty  $PWD/other.so\$" backends
holds "once" [ "$(grep -c '^plugin' "$registry")" = 1 ]

# Removed: what was added is forgotten, what a folder holds is switched off, and restored.
good 'removed' backends remove faulty
holds "nothing is left" [ "$(cat "$registry")" = "collage_registry 1" ]
cp "$faulty" "$work/plugins/"
good '^faulty .* available$' backends
bad "there is a backend 'faulty' already" backends add other.so
good 'replaced' backends replace faulty other.so
good "^faulty .* replaced by '$PWD/other.so'\$" backends
good 'removed' backends remove faulty
good '^faulty .* switched off' backends
bad "there is no backend 'faulty'" backends remove faulty
run optimize tiny_cnn.onnx -t1 --backends faulty -q
holds "what is off is not used" [ "$status" != 0 ]
good 'as if nothing' backends restore faulty
bad "nothing is registered for the name 'faulty'" backends restore faulty
good '^faulty .* available$' backends
bad "'reference' stays" backends remove reference

# For other machines: kept, but of no use here.
good 'added' backends add other.so --target 'Nobody makes this*'
good "for Nobody makes this\* (another machine)\$" backends
holds "here it is the folder's" [ "$("$collage" backends | grep -c '^faulty .*available$')" = 1 ]
good 'as if' backends restore faulty

# Malformed plugins are refused, and nothing is written.
cp "$registry" before.registry
bad "lists no pattern" backends add "$test_plugins/broken/collage_nopattern.so"
bad "does not load" backends add tiny_cnn.onnx
bad "no-such.so" backends add no-such.so
bad "is not a regular file" backends add .
cp "$faulty" 'a:b.so'
bad "':' separates" backends add a:b.so
holds "the registry is as it was" cmp -s "$registry" before.registry

# A file that is gone is one warning.
rm -r "$work/plugins"/*
good 'added' backends add other.so
rm other.so
run backends
holds "the rest goes on" [ "$status" = 0 ]
holds "one warning" [ "$(grep -c 'other.so' "$work/err")" = 1 ]
holds "the list says so" grep -q 'other.so: the file is gone$' "$work/out"
good 'as if' backends restore faulty

# Files of patterns.
printf 'collage_patterns 1\nbackend reference\npattern first { y = Relu(Conv(x, ...)) }\n' >first.patterns
good '^No file of patterns is registered' patterns list
good 'added' patterns add first.patterns
good 'added' patterns add first.patterns
holds "once" [ "$(grep -c '^patterns' "$registry")" = 1 ]
good "^  patterns .*$PWD/first.patterns\$" patterns list
printf 'collage_patterns 1\nnonsense\n' >bad.patterns
bad "bad.patterns:2:1: expected" patterns add bad.patterns
good 'reference' measure tiny_cnn.onnx --node 0 --backends reference -t1
cp bad.patterns first.patterns
run measure tiny_cnn.onnx --node 0 --backends reference -t1
holds "a malformed one is one warning" [ "$(grep -c 'first.patterns:2:1' "$work/err")" = 1 ]
holds "and no failure" [ "$status" = 0 ]
good 'first.patterns:2:1: expected' patterns list
rm first.patterns
good 'removed' patterns remove first.patterns
bad "is not registered" patterns remove first.patterns

# A registry that somebody else could have written is ignored, and not written over; so is one that
# is malformed.
good 'added' backends add "$faulty"
chmod 666 "$registry"
run backends
holds "one warning" [ "$(grep -c "may be written by other users" "$work/err")" = 1 ]
holds "ignored" [ -z "$(grep '^faulty' "$work/out")" ]
run backends add "$faulty"
holds "not written" [ "$status" = 2 ]
chmod 600 "$registry"
good '^faulty ' backends
for line in 'plugin' 'plugin any faulty' 'plugin	any	faulty	relative.so' 'off	any' 'wrong	any	x' \
    'patterns	any	/a	/b' 'plugin		faulty	/x.so'; do
    printf 'collage_registry 1\n%s\n' "$line" >"$registry"
    run backends
    holds "'$line' is refused" [ "$(grep -c "registry:2: expected" "$work/err")" = 1 ]
done
printf 'collage_registry 2\n' >"$registry"
run backends
holds "another version is refused" grep -q "registry:1: expected 'collage_registry 1'" "$work/err"

# Somewhere else, and nowhere.
COLLAGE_REGISTRY="$work/elsewhere/registry" good 'added' backends add "$faulty"
holds "it is there" [ -f "$work/elsewhere/registry" ]
COLLAGE_REGISTRY='' bad "no registry file" backends add "$faulty"

# SPDX-License-Identifier: Apache-2.0
# Generated kernels: made while optimising, shipped beside the plan, run without a compiler; plans
# whose code is gone or another; compilers that are missing, broken or hang.
plugins="$(dirname "$collage")/../lib/plugins"
if [ ! -e "$plugins/collage_native.so" ] || ! command -v cc >/dev/null; then
    echo "there is no native backend or no C compiler: nothing to test"
    pass
    return 0
fi
unset COLLAGE_CC
mkdir native
ln -s "$(realpath "$plugins")/collage_native.so" native/
COLLAGE_PLUGINS="$PWD/native"
export COLLAGE_PLUGINS
make_network tiny_transformer

# What is generated costs nothing: it will be chosen wherever it can be made.
printf 'collage_given_costs 1\nnative * 20ns variant=generated*\n' >cheap.costs
umask 002 # objects must load all the same

# optimize NAME ARGUMENT...
optimize() {
    name="$1"
    shift
    mkdir -p "$name"
    good 'plan.json' optimize tiny_transformer.onnx -t1 --budget 20 --race 1 -q --search greedy \
        -b native,reference -o "$name/t.plan.json" "$@"
}
generated() {
    grep -c '"variant": *"generated' "$1/t.plan.json"
}
objects() {
    find "$1" -name '*-*.so' | wc -l
}

optimize first --costs cheap.costs
chmod g-w first
holds "kernels are generated" [ "$(generated first)" -ge 2 ]
holds "their objects lie beside the plan" [ "$(objects first)" -ge 1 ]
holds "the plan names as many" [ "$(grep -c '"sha256": *"[0-9a-f]*"' first/t.plan.json)" = "$(objects first)" ]
holds "nothing else is left in the cache" [ -z "$(find "$COLLAGE_CACHE/code" -name 'make-*')" ]

# No compiler and no cache: the plan and its objects are enough.
mv first second
COLLAGE_CC=''
export COLLAGE_CC
rm -rf "$COLLAGE_CACHE"
good '^ .*native' run second/t.plan.json --profile
good '.' verify second/t.plan.json
good '.' bench second/t.plan.json --seconds 1
holds "nothing was made" [ -z "$(find "$COLLAGE_CACHE" -name "*.so")" ]

# An object that is another, or gone; folders of others.
object=$(find second -name '*-*.so' | head -1)
cp "$object" kept
printf 'x' >>"$object"
bad "$(basename "$object")" run second/t.plan.json
bad 'SHA-256' verify second/t.plan.json
rm "$object"
bad "$(basename "$object")" run second/t.plan.json
cp kept "$object"
chmod 644 "$object"
good '.' run second/t.plan.json
chmod g+w second
bad '--trust' run second/t.plan.json
good '.' run second/t.plan.json --trust
chmod g-w second
tr '\n' ' ' <second/t.plan.json | sed 's/"objects": *\[[^]]*\], *//' >second/bare.plan.json
bad 'optimize the model again' run second/bare.plan.json

# Without a compiler that works, measured: the interpreter, and why.
for kind in missing broken hanging; do
    case $kind in
    missing) COLLAGE_CC='' ;;
    broken)
        printf '#!/bin/sh\necho cc: error: broken by a test >&2\nexit 1\n' >bad-cc
        COLLAGE_CC="$PWD/bad-cc"
        ;;
    hanging)
        printf '#!/bin/sh\nexec sleep 100\n' >bad-cc
        COLLAGE_CC="$PWD/bad-cc"
        ;;
    esac
    [ -e bad-cc ] && chmod +x bad-cc
    optimize "$kind"
    holds "$kind: nothing is generated" [ "$(generated "$kind")" = 0 ]
    holds "$kind: no objects" [ "$(objects "$kind")" = 0 ]
    holds "$kind: the evidence says why" grep -q 'native: cannot compile: .*C compiler' \
        "$kind/t.plan.json"
done
unset COLLAGE_CC

# That says nothing of tomorrow: failures for want of a compiler are not kept.
good 'generated' measure tiny_transformer.onnx --node /blocks/blocks.0/Mul_2 -t1 -q
holds "it is measured now" sh -c '! grep -q "C compiler" "$1"' - "$work/out"

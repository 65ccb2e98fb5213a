# SPDX-License-Identifier: Apache-2.0
# The whole way on tiny_cnn, then plans that are damaged or do not fit.
make_network tiny_cnn
make_network tiny_transformer
check_sum=e23a58539026ab1f6c25ee9355160a7b55004c58a62677a235987677510c8c83
holds "weights are byte for byte" [ "$(sha256sum <tiny_cnn.weights)" = "$check_sum  -" ]
mkdir copy
good "copy" weights tiny_cnn.onnx --output copy
holds "weights --output copies the model" cmp tiny_cnn.onnx copy/tiny_cnn.onnx
holds "weights --output writes the weights" cmp tiny_cnn.weights copy/tiny_cnn.weights

good "reference" backends
good '"name": "reference"' backends --json
good "Conv" inspect tiny_cnn.onnx
good "Conv" inspect tiny_cnn.onnx --text
good "float32" inspect --text tiny_cnn.onnx --shape input=1x3x32x32

# Optimise.
good "tiny_cnn.plan.json" optimize tiny_cnn.onnx --threads 1 --budget 60
holds "optimize reports progress in plain lines" grep -q '^[A-Z].*: [0-9]* of [0-9]*' "$work/err"
holds "the default plan is there" [ -s tiny_cnn.plan.json ]
[ -s tiny_cnn.plan.json ] || return
good '"format"' optimize tiny_cnn.onnx -t1 -o again.plan.json --json --quiet
holds "--quiet is quiet" [ ! -s "$work/err" ]
good "reference" optimize tiny_cnn.onnx -t1 --backends reference -o plain.plan.json -q
good "reference" optimize tiny_cnn.onnx -t1 --backends reference -o plain.plan.json -q --dump stages
for stage in 1-imported 2-canonical 3-placed; do
    holds "$stage is dumped as text" [ "$(head -n 1 stages/$stage.graph)" = 'graph "tiny_cnn" {' ]
    holds "$stage is dumped as a picture" grep -sq -e '<svg' -e digraph stages/$stage.svg stages/$stage.dot
done
holds "imported is as it was" grep -q BatchNormalization\( stages/1-imported.graph
holds "canonical is simplified" sh -c '! grep -q BatchNormalization\( stages/2-canonical.graph'
holds "placed says where" grep -q '= Conv(.*  // step 0, reference$' stages/3-placed.graph
holds "placed says what is a view" grep -q '= Flatten(.*  // a view$' stages/3-placed.graph
holds "that is all" [ "$(ls stages | wc -l)" = 6 ]
bad "tiny_cnn.onnx" optimize tiny_cnn.onnx --backends reference --dump tiny_cnn.onnx
holds "nothing else was written" [ "$(ls ./*.plan.json | wc -l)" = 3 ]

# Run.
good "^output: 1x10 float32, mean " run tiny_cnn.plan.json
holds "run says which inputs are examples" grep -q '^Input input: the example input' "$work/out"
sed -n 's/.* starts //p' "$work/out" >mix.txt
good "minimum .* of 3 runs" run plain.plan.json --runs 3
good "predicted" run tiny_cnn.plan.json --profile
npy zeros.npy '<f4' '(1, 3, 32, 32)' 12288
good "^output: 1x10 float32" run tiny_cnn.plan.json --input input=zeros.npy
good "copy/output.npy" run tiny_cnn.plan.json -i input=zeros.npy -o copy
holds "run writes a .npy file" [ "$(head -c 6 copy/output.npy | tail -c 5)" = NUMPY ]

# Check, compare, show.
good "^Right:" verify tiny_cnn.plan.json
good "^Right:" verify tiny_cnn.onnx
good "^  contestant .*min" bench tiny_cnn.plan.json --seconds 2 --quiet
good "^\\[" bench tiny_cnn.plan.json --seconds 2 --quiet --json
holds "bench --json prints an array" [ "$(tail -n 1 "$work/out")" = "]" ]
export COLLAGE_CACHE="$work/empty"
good "^  contestant .*min" bench tiny_cnn.plan.json --seconds 1 --quiet
holds "without stored costs no library alone runs on the reference" \
    sh -c '! grep -q "with reference for.*Conv" "$1"' - "$work/out"
export COLLAGE_CACHE="$work/cache"
good "Conv" show tiny_cnn.plan.json
run show tiny_cnn.plan.json -o picture.svg
holds "show draws an SVG" grep -q '<svg' picture.svg
run show tiny_cnn.plan.json -o picture.dot
holds "show writes Graphviz source" grep -q 'digraph' picture.dot

# Code objects beside a plan: with their hash, from a folder that nobody else may write; or trusted.
mkdir -m 700 objects
printf kernel >objects/k.so
chmod 600 objects/k.so
object=$(sha256sum objects/k.so | cut -d " " -f 1)
sed "1s/{/{\"objects\": [{\"name\": \"k.so\", \"sha256\": \"$object\"}],/" tiny_cnn.plan.json >objects/code.plan.json
good "^output: 1x10 float32" run objects/code.plan.json -m tiny_cnn.onnx
good "^Right:" verify objects/code.plan.json -m tiny_cnn.onnx
chmod 770 objects
bad "may be written by other users" run objects/code.plan.json -m tiny_cnn.onnx
bad "may be written by other users" verify objects/code.plan.json -m tiny_cnn.onnx
good "^output: 1x10 float32" run objects/code.plan.json -m tiny_cnn.onnx --trust
good "^Right:" verify objects/code.plan.json -m tiny_cnn.onnx --trust
printf another >objects/k.so
bad "is not the one that the plan was made with" run objects/code.plan.json -m tiny_cnn.onnx --trust
rm -r objects

# A disk that is full before the picture is whole: as if by a limit on the size of files.
(
    trap '' XFSZ
    ulimit -f 1
    exec "$collage" show tiny_cnn.plan.json -o full.svg
) >"$work/out" 2>"$work/err"
holds "a full disk is bad output" [ $? = 2 ]
holds "the message names the picture" grep -q "'full.svg' cannot be written: File too large" "$work/err"
holds "no half of a picture is left" [ -z "$(ls | grep full)" ]

# A plan and its model that have moved.
mkdir moved
cp tiny_cnn.plan.json moved
good "^output:" run moved/tiny_cnn.plan.json --model tiny_cnn.onnx

# Inputs that do not fit.
npy flat.npy '<f4' '(1, 3, 32)' 384
npy whole.npy '<i8' '(1, 3, 32, 32)' 24576
npy short.npy '<f4' '(1, 3, 32, 32)' 12287
npy huge.npy '<f4' '(4000000000, 4000000000, 4000000000)' 4
echo "1 2 3" >text.npy
for file in flat.npy whole.npy short.npy huge.npy text.npy nosuch.npy copy; do
    bad "$file" run tiny_cnn.plan.json --input "input=$file"
done
bad "nosuch=zeros.npy" run tiny_cnn.plan.json --input nosuch=zeros.npy
bad "'zeros.npy'" run tiny_cnn.plan.json --input zeros.npy

# Plans that are damaged, or of another model.
size=$(wc -c <plain.plan.json)
for length in 0 1 10 100 $((size / 4)) $((size / 2)) $((size * 3 / 4)) $((size - 3)); do
    head -c "$length" plain.plan.json >cut.plan.json
    bad "cut.plan.json" run cut.plan.json
    bad "cut.plan.json" show cut.plan.json
done
sed 's/"version": *1\>/"version": 999/' plain.plan.json >future.plan.json
bad "999" run future.plan.json
sed 's/"backend": *[0-9]*/"backend": 77/g' plain.plan.json >odd.plan.json
bad "odd.plan.json" run odd.plan.json
sed 's/:/,/' plain.plan.json >comma.plan.json
bad "comma.plan.json" verify comma.plan.json
echo '{}' >object.plan.json
bad "object.plan.json" bench object.plan.json
bad "plan: line 1" run tiny_cnn.onnx
holds "a file is named once" [ "$(grep -o tiny_cnn.onnx "$work/err" | wc -l)" = 1 ]
echo '[]' >list.plan.json
bad "list.plan.json" run list.plan.json
bad "tiny_transformer.onnx" run tiny_cnn.plan.json --model tiny_transformer.onnx
bad "nosuch.onnx" verify tiny_cnn.plan.json --model nosuch.onnx
bad "no-folder" show tiny_cnn.plan.json -o no-folder/picture.svg
mv tiny_cnn.onnx gone.onnx
bad "tiny_cnn.onnx" run tiny_cnn.plan.json
mv gone.onnx tiny_cnn.onnx

# Ids that no table has: one line, also from a library that likes to log.
npy ids.npy '<i8' '(1, 16)' 120
printf '\377\377\377\377\377\377\377\177' >>ids.npy
for backend in reference onnxruntime; do
    "$collage" backends | grep -q "^$backend .*available\$" || continue
    good "ids.plan.json" optimize tiny_transformer.onnx -t1 -b $backend --budget 5 -q -o ids.plan.json
    run run ids.plan.json -i input_ids=ids.npy
    holds "$backend refuses wrong ids (exit status $status)" [ "$status" = 2 -o "$status" = 3 ]
    holds "$backend says so in one line" [ "$(wc -l <"$work/err")" = 1 ]
    holds "$backend names the index" grep -q 9223372036854775807 "$work/err"
done

# The model is not overwritten by its plan, also under another name.
ln -s tiny_cnn.onnx link.onnx
cp tiny_cnn.onnx before.onnx
for name in tiny_cnn.onnx link.onnx ../home/tiny_cnn.onnx; do
    bad "is the model" optimize tiny_cnn.onnx -o "$name" --backends reference
done
holds "the model is untouched" cmp tiny_cnn.onnx before.onnx

# Outputs "a/b" = Relu(x) and "a_b" = Neg(x) do not share a file.
printf '\010\010:Y\012\016\012\001x\022\003a/b"\004Relu\012\015\012\001x\022\003a_b"\003Neg' >twins.onnx
for name in x a/b a_b; do
    case $name in x) field='Z\017\012\001' ;; *) field='b\021\012\003' ;; esac
    [ $name = x ] && printf '\022\001g' >>twins.onnx
    printf "$field$name"'\022\012\012\010\010\001\022\004\012\002\010\002' >>twins.onnx
done
printf 'B\004\012\000\020\021' >>twins.onnx
good "twins.plan.json" optimize twins.onnx -t1 --backends reference --budget 5 -q
mkdir twins
npy twin.npy '<f4' '(2,)' 0
printf '\000\000\200\077\000\000\000\300' >>twin.npy # 1 and -2
good "twins/a_b-1.npy" run twins.plan.json -i x=twin.npy -o twins
holds "each output has a file" [ "$(ls twins | tr '\n' ' ')" = "a_b-0.npy a_b-1.npy " ]
holds "they differ" [ "$(cmp -s twins/a_b-0.npy twins/a_b-1.npy; echo $?)" = 1 ]

# Without standard error or output: what is printed must not end in a file or a worker's socket.
"$collage" optimize tiny_cnn.onnx -t1 --backends reference --budget 5 -o closed.plan.json \
    --remeasure >"$work/out" 2>&-
holds "optimize works without standard error" [ $? = 0 ]
"$collage" run closed.plan.json >&- 2>"$work/err"
holds "a closed standard output is noticed" [ $? = 2 ]
good "^output:" run closed.plan.json

# Ctrl-C at once: a clean stop, with no plan, or with one of what was measured by then.
timeout --preserve-status --signal=INT 0.5 "$collage" optimize tiny_transformer.onnx --remeasure \
    --quiet >"$work/out" 2>"$work/err"
status=$?
holds "Ctrl-C stops it (exit status $status)" \
    [ "$status" = 0 -o "$status" = 3 -o "$status" = 130 ]
[ "$status" = 0 ] || holds "an interrupted optimize leaves no plan" [ -z "$(ls | grep tiny_transformer.plan)" ]
rm -f tiny_transformer.plan.json

# begin_optimize: starts one and waits until something is measured; sets $process.
begin_optimize() {
    env --default-signal=INT "$collage" optimize tiny_transformer.onnx --remeasure --race 600 \
        --budget 600 -o early.plan.json >"$work/out" 2>"$work/err" &
    process=$!
    for moment in $(seq 600); do
        grep -q '^Measuring: [1-9][0-9]* of' "$work/err" && break
        sleep 0.1
    done
    kill -INT $process
}

# Ctrl-C while it measures: the plan of what is measured, checked, and with a short race.
begin_optimize
wait $process
status=$?
holds "Ctrl-C ends measuring (exit status $status)" [ "$status" = 0 ]
holds "it says so" grep -q '^Ending early: ' "$work/err"
holds "progress tells how much is measured" grep -q '^Measuring: [1-9][0-9]* of [0-9]* (' "$work/err"
holds "progress tells how long at most" grep -q '^Measuring: .*; at most [0-9]*:[0-9][0-9] left' "$work/err"
holds "progress tells the best so far" grep -q '^Racing .*; best [0-9.]* ms' "$work/err"
holds "the result is there" grep -q '^  contestant .*min' "$work/out"
holds "the plan says so" grep -q '"ended_early": *true' early.plan.json
good "ended early: [0-9]* candidates" show early.plan.json
good "^Right:" verify early.plan.json

# Twice: at once, with no plan.
rm -f early.plan.json
begin_optimize
for moment in $(seq 100); do
    grep -q '^Ending early: ' "$work/err" && break
    sleep 0.05
done
kill -INT $process
wait $process
status=$?
holds "a second Ctrl-C ends at once (exit status $status)" [ "$status" = 130 ]
holds "there is no plan then" [ ! -e early.plan.json ]

# Strict precision is in the plan, and told.
good "^  precision: strict" optimize tiny_cnn.onnx -t1 -b reference --budget 20 --race 1 -q --precision strict -o strict.plan.json
holds "the plan says strict" grep -q '"precision": *"strict"' strict.plan.json
good "^  precision: strict" show strict.plan.json
good "reference" explain strict.plan.json
good "measured now" measure tiny_cnn.onnx -n 0 -b reference -t1 -q --precision strict --remeasure
holds "by default nothing is told" sh -c '! grep -q precision plain.plan.json'
sed 's/"precision": *"strict"/"precision": "loose"/' strict.plan.json >loose.plan.json
bad "precision" show loose.plan.json

# SPDX-License-Identifier: Apache-2.0
# Models that are missing, broken or not what they should be; places that cannot be written.
make_network tiny_cnn
mkdir folder

# Not ONNX.
: >empty.onnx
echo "This is a text about cats." >text.onnx
head -c 5000 /dev/zero >zeros.onnx
for file in empty.onnx text.onnx zeros.onnx folder; do
    for command in inspect optimize verify bench weights; do
        bad "$file" "$command" "$file"
    done
done

# Cut off.
size=$(wc -c <tiny_cnn.onnx)
for length in 1 2 7 20 100 500 1000 $((size / 2)) $((size - 1000)) $((size - 1)); do
    head -c "$length" tiny_cnn.onnx >cut.onnx
    bad "cut.onnx" inspect cut.onnx
    bad "cut.onnx" optimize cut.onnx
done

# An operator that nobody knows.
sed 's/Relu/Rexu/g' tiny_cnn.onnx >odd.onnx
bad "Rexu" inspect odd.onnx
bad "Rexu" optimize odd.onnx

# Weights that are missing, too short, or elsewhere.
mkdir bare
cp tiny_cnn.onnx bare
bad "tiny_cnn.weights" optimize bare/tiny_cnn.onnx
head -c 100 tiny_cnn.weights >bare/tiny_cnn.weights
bad "tiny_cnn.weights" optimize bare/tiny_cnn.onnx
cp tiny_cnn.weights y_cnn.weights
sed 's|tiny_cnn.weights|../y_cnn.weights|g' tiny_cnn.onnx >folder/escape.onnx
bad "../y_cnn.weights" optimize folder/escape.onnx

# Shapes.
bad "nosuch" inspect tiny_cnn.onnx --shape nosuch=1x3x32x32
bad "input" inspect tiny_cnn.onnx --shape input=1x3x32
bad "input" inspect tiny_cnn.onnx --shape input=1x4x32x32
bad "input" optimize tiny_cnn.onnx --shape input=1x3x4000000000x4000000000

# Backends.
bad "nosuch" optimize tiny_cnn.onnx --backends nosuch
bad "nosuch" optimize tiny_cnn.onnx --backends reference,nosuch

# Places that cannot be written.
bad "no-folder" optimize tiny_cnn.onnx --output no-folder/plan.json
bad "folder" optimize tiny_cnn.onnx --output folder
bad "text.onnx" optimize tiny_cnn.onnx --output text.onnx/plan.json
bad "text.onnx" weights tiny_cnn.onnx --output text.onnx
bad "/proc" weights tiny_cnn.onnx --output /proc/nowhere

# Models that state no rule for their weights.
sed 's/collage.weights.rule/collage.weights.rulx/' tiny_cnn.onnx >norule.onnx
bad "norule.onnx" weights norule.onnx

# A full disk behind standard output.
"$collage" inspect tiny_cnn.onnx >/dev/full 2>"$work/err"
holds "a full disk is noticed" [ $? = 2 ]

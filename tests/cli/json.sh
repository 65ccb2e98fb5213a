# SPDX-License-Identifier: Apache-2.0
# JSON of a model, of files and of backends whose names hold quotes, controls, DEL and what is no UTF-8.
make_network tiny_cnn
plugins="$(cd "$(dirname "$collage")/.." && pwd)/test-plugins/faulty"
export COLLAGE_PLUGINS="$plugins"

# read_json: standard output is JSON, shows no terminal what it must not see, and holds the text $1.
read_json() {
    python3 - "$work/out" "$1" <<'END'
import json, sys, unicodedata
data = open(sys.argv[1], "rb").read()
text = data.decode("utf-8")
assert not [c for c in text if unicodedata.category(c)[0] == "C" and c != "\n"], "control characters"
def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in (value if isinstance(value, list) else [*value, *value.values()]):
            yield from strings(item)
wanted = sys.argv[2].encode().decode("unicode_escape")
assert any(wanted in s for s in strings(json.loads(text))), "not found"
END
}

# Names of the same length: a model whose nodes, values and input are called so.
sed -e 's|/Relu|a"\x01\x7f\xff|g' -e 's|/MaxPool|\\\x1b[2J\xc2\x9bz|g' -e 's|input|i"\\\x7f\x02|g' \
    tiny_cnn.onnx >named.onnx
holds "the names are others" [ "$(wc -c <named.onnx)" = "$(wc -c <tiny_cnn.onnx)" ]
name="$(printf 'we"ird\\\001\177\033[2J')"
cp named.onnx "$name.onnx"
good '.' optimize "$name.onnx" -t1 --race 0.5 --budget 20 -q --json -o weird.plan.json
holds "optimize --json" read_json 'we\"ird\\\x01\x7f\x1b[2J.onnx'
holds "the plan is JSON" python3 -c 'import json; json.load(open("weird.plan.json"))'
good '.' verify weird.plan.json
good '.' bench weird.plan.json --seconds 0.5 -q --json
holds "bench --json" read_json 'we\"ird\\\x01\x7f\x1b[2J.onnx'
good '.' bench "$name.onnx" --ablate -t1 --seconds 0.5 -q --json
holds "bench --ablate --json" read_json 'reference'
input="$(printf 'i"\\\177\002')"
good '.' optimize named.onnx -t1 --race 0.5 --budget 20 -q --json --shape "$input=1x3x32x32" -o named.plan.json
holds "the input's name" read_json 'i\"\\\x7f\x02'
run show named.plan.json -o named.html
holds "the page is there" [ -s named.html ]
holds "the page is no worse" [ -z "$(tr -d '\n\t' <named.html | tr -d -c '\000-\037\177')" ]
good '.' bench-ops relu --json -q -b faulty
holds "bench-ops --json" read_json 'cases'

# A file whose name is no UTF-8 cannot be named by a plan: one line.
cp named.onnx "$(printf 'no\377utf8.onnx')"
bad "is not UTF-8" optimize "$(printf 'no\377utf8.onnx')" -t1 --race 0.5 --budget 20 -q --json -o no.plan.json

# Plugins, in a folder of such a name.
folder="$(printf '%s/p"\\\001\177' "$work")"
mkdir "$folder"
cp "$plugins/collage_faulty.so" "$folder/collage_faulty.so"
printf 'no plugin' >"$(printf '%s/collage_b"\001\177\377.so' "$folder")"
export COLLAGE_PLUGINS="$folder"
good '"faulty"' backends list --json
holds "backends --json" read_json 'b\"\x01\x7f\ufffd'
holds "the folder, too" read_json 'p\"\\\x01\x7f/collage_faulty.so'

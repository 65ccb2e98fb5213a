# SPDX-License-Identifier: Apache-2.0
# Command lines that are wrong by themselves.
bad "command is missing"
bad "'frobnicate'" frobnicate
bad "'--bogus'" --bogus
bad "there is no command" "$(printf 'two\nlines')"

for command in optimize run verify bench show explain inspect weights; do
    bad "is missing" "$command"
    bad "'--bogus'" "$command" thing --bogus
    bad "'-z'" "$command" -z thing
    bad "'no-such-file'" "$command" no-such-file
    bad "no-such-file" "$command" -- no-such-file
    bad "no-folder" "$command" no-folder/no-such-file
done
for command in optimize run verify show inspect weights; do
    bad "'second'" "$command" first second
done
bad "'thing'" backends thing
bad "'thing'" backends list thing
bad "PLUGIN is missing" backends add
bad "NAME PLUGIN is missing" backends replace onednn
bad "NAME is missing" backends remove
bad "NAME is missing" backends restore
bad "'more'" backends remove onednn more
bad "--json" backends remove onednn --json
bad "--target" backends --target any
bad "--target" patterns list --target any
bad "--target" backends add x.so --target ''

for value in x 0 -1 1.5 2x '' 99999999999999999999; do
    bad "--threads" optimize m.onnx --threads "$value"
    bad "--threads" optimize m.onnx "--threads=$value"
    bad "--runs" run m.plan.json --runs "$value"
done
for value in x 0 -5 5q m inf nan '' 5mm; do
    bad "--budget" optimize m.onnx --budget "$value"
    bad "--seconds" bench m.onnx --seconds "$value"
done
touch m.onnx
for value in x input input= =1x2 input=1x input=1xx2 input=x1 input=1x-2 input=0x3 input=1x2y \
    input=+1 'input= 1' input=1x2x3x4x5x6x7x8x9 input=99999999999999999999; do
    bad "--shape" optimize m.onnx --shape "$value"
    bad "--shape" inspect m.onnx --shape="$value"
done
for value in x op_level Exact exact, ''; do
    bad "--search" optimize m.onnx --search "$value"
done
for value in x 0ns -1us 5 5m inf nan '' 5mss; do
    bad "--kernel-cost" optimize m.onnx --search op-level --kernel-cost "$value"
done
for value in x 0 -5 5q ''; do
    bad "--search-time" optimize m.onnx --search two-level --search-time "$value"
    bad "--search-generations" optimize m.onnx --search two-level --search-generations "$value"
    bad "--search-seed" optimize m.onnx --search two-level --search-seed "$value"
done
bad "--kernel-cost" optimize m.onnx --kernel-cost 0.01ms
for search in exact greedy brute; do
    bad "--kernel-cost" optimize m.onnx --search $search --kernel-cost 0.01ms
done
for search in exact op-level greedy brute; do
    bad "--search-time" optimize m.onnx --search $search --search-time 5
    bad "--search-generations" optimize m.onnx --search $search --search-generations 5
    bad "--search-seed" optimize m.onnx --search $search --search-seed 5
done
for search in op-level two-level greedy; do
    bad "--allow-recompute" optimize m.onnx --search $search --allow-recompute
done
for value in x = node= =onednn ''; do
    bad "--place" optimize m.onnx --place "$value"
    bad "--place" optimize m.onnx --place a=reference --place="$value"
done
bad "more than 64" optimize m.onnx $(yes -- '--place i=reference' | head -65)
bad "--placement" optimize m.onnx --placement ''
bad "no-folder/x.csv" optimize m.onnx --placement-out no-folder/x.csv
bad "is the model" optimize m.onnx --placement-out m.onnx
bad "is the plan" optimize m.onnx -o p.json --placement-out p.json
bad "--output" optimize m.onnx --output
bad "--output" optimize m.onnx -o ''
bad "--json" optimize m.onnx --json=yes
bad "--quiet" bench m.onnx --quiet=no
bad "more than 64" optimize m.onnx $(yes -- '--shape i=1' | head -65)
bad "picture.png" show m.plan.json -o picture.png
bad "no-folder" run m.plan.json --output no-folder
bad "no-folder/x" optimize m.onnx -o no-folder/x
bad "cannot be written" optimize m.onnx -o .
bad "/dev/null" optimize m.onnx -o /dev/null
printf '{}' >m.plan.json
bad "--threads" bench m.plan.json --threads 2
bad "--shape" bench m.plan.json --shape input=1
bad "--shape" verify m.plan.json --shape input=1
bad "--model" verify m.onnx --model m.onnx

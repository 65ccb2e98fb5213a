# SPDX-License-Identifier: Apache-2.0
# Single operators, for real: what can be listed, a short run, and as JSON.
good '^resnet50_stem  *x: 1x3x224x224' bench-ops --list
good '^conv_1x1 ' bench-ops --all --list
good '^lstm_reverse ' bench-ops -a -l -f lstm_
bad "'nonsense'" bench-ops nonsense
bad "'bogus'" bench-ops relu --backends bogus
bad "'zzz'" bench-ops --filter zzz
bad "--threads" bench-ops relu --threads 0
bad "--bogus" bench-ops --bogus

good '^relu_vector: 33 -> 33' bench-ops relu_vector --backends reference --threads 1 -q
good '^  reference ' bench-ops relu_vector --backends reference --threads 1 -q
good 'refused: a view' bench-ops reshape -b reference -q
good '"case": "relu_vector"' bench-ops relu_vector -b reference --json -q
good '"state": "measured"' bench-ops relu_vector -b reference --json -q

# Strict precision: every kernel is direct, and within the bound of direct summation.
bad "'loose' is not a precision" bench-ops relu_vector --precision loose
good '^  reference ' bench-ops conv_1x1 -b reference -q --precision strict
if "$collage" backends | grep -q '^native .*available$'; then
    good 'winograd_f4' bench-ops winograd_square -b native -q -t1
    good 'native .* refused: .* not strict' bench-ops winograd_square -b native -q -t1 --precision strict
    good 'winograd_s2_f4' bench-ops winograd_s2_square -b native -q -t1
    good 'native .* refused: .* not strict' bench-ops winograd_s2_square -b native -q -t1 --precision strict
    good 'winograd_t2_f4' bench-ops winograd_t2_square -b native -q -t1
fi

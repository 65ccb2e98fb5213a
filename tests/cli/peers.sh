# SPDX-License-Identifier: Apache-2.0
# Who else takes part in `collage bench`: lists that are wrong, a peer that behaves, peers that do not.
make_network tiny_cnn
fake="$here/../peers/fake_peer.py"
mkdir empty folder right
cp "$fake" folder/fake_peer
chmod +x folder/fake_peer
printf '#!/bin/sh\nexec %s "$@"\n' "'$work/home/folder/fake_peer'" >other
chmod +x other

# Lists are checked before anything is measured.
bad "'nosuch'" bench tiny_cnn.onnx --peers nosuch
bad "onnxruntime" bench tiny_cnn.onnx --peers nosuch
bad "a name is missing" bench tiny_cnn.onnx --peers torch,,tvm
bad "./none" bench tiny_cnn.onnx --peers "./none --fast"
bad "tiny_cnn.weights" bench tiny_cnn.onnx --peers ./tiny_cnn.weights
bad "empty" bench tiny_cnn.onnx --peers ./empty
bad "--peers" bench tiny_cnn.onnx --peers ''
export COLLAGE_PEERS="$work/home/empty"
bad "COLLAGE_PEERS" bench tiny_cnn.onnx --peers all
bad "'torch'" bench tiny_cnn.onnx --peers torch
export COLLAGE_PEERS="$work/home/empty:$work/home/folder"
bad "fake" bench tiny_cnn.onnx --peers torch

# One race with all kinds of peers.
good "tiny_cnn.plan.json" optimize tiny_cnn.onnx -t1 --budget 10 -q
good "right/output.npy" run tiny_cnn.plan.json -o right
export FAKE_PEER_OUTPUT="$work/home/right/output.npy"
commands="./other none,./other wrong,./other leave,./other environment"
good "^  other (peer)  *[0-9.]* .*Fake 1.0, no model" bench tiny_cnn.plan.json --seconds 1 -q --peers "$commands"
holds "a wrong peer is named" grep -q '^  other (peer)  *-  *- .*wrong result: output' "$work/out"
holds "a peer that leaves is named" grep -q 'ended the process (exit status 3); it printed: the last words' "$work/out"
holds "peers have the user's environment" grep -q 'absent: GOMP_SPINCOUNT is not set' "$work/out"
good '"note": "absent: GOMP' bench tiny_cnn.plan.json --seconds 1 -q --json --peers "./other environment"

# The peers that come along, as far as their frameworks are there.
unset COLLAGE_PEERS
good "^\* plan" bench tiny_cnn.plan.json --seconds 1 -q --peers onnxruntime,openvino,torch
for peer in onnxruntime openvino torch; do
    holds "$peer takes part, or is absent" \
        grep -q -e "^  $peer (peer)  *[0-9]" -e "^  $peer (peer) .* absent: " "$work/out"
done

# Ctrl-C while a peer hangs: a clean stop, with nobody left.
export FAKE_PEER_NOTE="$work/note" TMPDIR="$work/home/folder"
env --default-signal=INT "$collage" bench tiny_cnn.plan.json -q --peers "./other hang" >"$work/out" 2>"$work/err" &
bench=$!
for second in $(seq 100); do
    [ -s "$work/note" ] && break
    sleep 0.2
done
kill -INT $bench
wait $bench
holds "Ctrl-C stops a bench" [ $? = 3 ]
sleep 0.5
for process in $(cat "$work/note"); do # init may take its time to bury it: a zombie is gone
    holds "process $process of the peer is gone" [ -z "$(grep '^State:.[^ZX]' "/proc/$process/status" 2>/dev/null)" ]
done
holds "the folder of the peers is gone" [ -z "$(ls folder | grep collage-peers)" ]

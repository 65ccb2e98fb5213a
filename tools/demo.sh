#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make demo: sets up, builds, optimises ResNet-50 on this machine, shows what runs where.
set -eu
cd "$(dirname "$0")/.."
collage=build/release/bin/collage
folder=build/demo

echo "== This installs what is missing (Debian packages with apt, Python wheels into .venv), builds"
echo "== Collage in build/release and optimises ResNet-50: some minutes the first time. The measured"
echo "== costs are kept in ${COLLAGE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/collage}."
tools/setup.sh

echo "== Building"
cmake --preset release >/dev/null
cmake --build --preset release

echo "== Making the weights of ResNet-50 (100 MB)"
mkdir -p "$folder"
[ -f "$folder/resnet50.weights" ] ||
    "$collage" weights bench/networks/resnet50.onnx --output "$folder"

echo "== Optimising"
"$collage" optimize "$folder/resnet50.onnx" --output "$folder/resnet50.plan.json"
"$collage" show "$folder/resnet50.plan.json" --output "$folder/resnet50.svg"
echo "The picture is in $folder/resnet50.svg."
echo "Run the plan: $collage run $folder/resnet50.plan.json --profile"

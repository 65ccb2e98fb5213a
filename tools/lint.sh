#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/lint.sh BUILD: clang-tidy on the sources in BUILD/compile_commands.json (a configured build
# whose generated headers are there), on all cores. Generated code and tests are left out.
set -eu
cd "$(dirname "$0")/.."
build="${1:?tools/lint.sh: give the folder of a configured build, such as build/clang}"
python3 - "$build/compile_commands.json" "$PWD" <<'END' |
import json, sys
root = sys.argv[2]
folders = tuple(f"{root}/{name}/" for name in ("src", "solver", "cli", "backends", "examples"))
files = {row["file"] for row in json.load(open(sys.argv[1]))}
print("\n".join(sorted(name for name in files if name.startswith(folders))))
END
    xargs -r -d '\n' -n 2 -P "$(nproc)" clang-tidy --quiet -p "$build"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/fuzz.sh [MINUTES [TARGET...]]: builds the libFuzzer programs (clang, AddressSanitizer) in build/fuzz, runs each
# for so long (20 if not given) on a copy of its corpus, and prints a Markdown table. A target stops at its first
# finding. Inputs that were found stay in build/fuzz/findings/TARGET, the grown corpus in build/fuzz/corpus/TARGET, what
# libFuzzer wrote in build/fuzz/TARGET.log. The exit status is 1 if there is a finding.
set -eu
cd "$(dirname "$0")/.."
minutes="${1:-20}"
[ $# -eq 0 ] || shift
case "$minutes" in
'' | *[!0-9]* | 0*)
    echo "tools/fuzz.sh: '$minutes' is no number of minutes" >&2
    exit 2
    ;;
esac
[ $# -gt 0 ] || set -- import text plan costs patterns
for target in "$@"; do
    if [ ! -d "fuzz/corpus/$target" ]; then
        echo "tools/fuzz.sh: there is no target '$target'" >&2
        exit 2
    fi
done
folder=build/fuzz
found=0

# Quietly, unless it fails.
build() {
    mkdir -p "$folder"
    if ! {
        CC=clang cmake -B "$folder" -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS_DEBUG=-O1 -g" \
            -DCMAKE_C_FLAGS=-fsanitize=fuzzer-no-link -DCOLLAGE_FUZZ=ON -DCOLLAGE_SANITIZE_ADDRESS=ON &&
            cmake --build "$folder" --parallel "$(nproc)" --target \
                fuzz_import fuzz_text fuzz_plan fuzz_costs fuzz_patterns
    } >"$folder/build.log" 2>&1; then
        cat "$folder/build.log" >&2
        exit 1
    fi
}

# files FOLDER: how many are in it.
files() {
    find "$1" -type f | wc -l
}

# final NAME LOG: one of the numbers that libFuzzer prints at its end; "-" if it did not.
final() {
    number=$(sed -n "s/^stat::$1: *\([0-9]*\).*/\1/p" "$2" | tail -n 1)
    echo "${number:--}"
}

# edges LOG: the last count of covered edges; "-" if there is none.
edges() {
    number=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$1" | tail -n 1)
    echo "${number:--}"
}

# fuzz TARGET: one row of the table.
fuzz() {
    corpus="$folder/corpus/$1"
    findings="$folder/findings/$1"
    log="$folder/$1.log"
    rm -rf "$corpus"
    mkdir -p "$corpus" "$findings"
    cp "fuzz/corpus/$1"/* "$corpus"
    before=$(files "$corpus")
    start=$(date +%s)
    result=0
    "$folder/bin/fuzz_$1" -max_total_time=$((60 * minutes)) -print_final_stats=1 \
        -artifact_prefix="$findings/" "$corpus" >"$log" 2>&1 || result=$?
    seconds=$(($(date +%s) - start))
    new=$(grep "Test unit written to" "$log" | grep -vc "/slow-unit-" || true)
    if [ "$result" -ne 0 ] && [ "$new" -eq 0 ]; then
        echo "tools/fuzz.sh: fuzz_$1 ended with status $result, see $log" >&2
        tail -n 20 "$log" >&2
        exit 1
    fi
    found=$((found + new))
    printf '| %s | %d.%d | %s | %s | %s | %d | %d |\n' "$1" $((seconds / 60)) $((seconds % 60 / 6)) \
        "$(final number_of_executed_units "$log")" "$(final average_exec_per_sec "$log")" \
        "$(edges "$log")" $(($(files "$corpus") - before)) "$new"
}

build
echo "| target | minutes | executions | executions/s | edges covered | new corpus entries | findings |"
echo "|---|--:|--:|--:|--:|--:|--:|"
for target in "$@"; do
    fuzz "$target"
done
if [ "$found" -gt 0 ]; then
    echo "tools/fuzz.sh: what was found is in $folder/findings" >&2
    exit 1
fi

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make check: sets up, then everything that must hold before a change lands. Stops at the first step
# that fails; the last line says how many tests passed and failed in all runs.
set -eu
cd "$(dirname "$0")/.."
passed=0
failed=0
skipped=0
log=build/logs
mkdir -p "$log"

finish() {
    result=$?
    [ "$result" = 0 ] || echo "== make check failed at: $step" >&2
    echo "$passed passed, $failed failed, $skipped skipped"
    exit "$result"
}
trap finish EXIT

begin() {
    step="$1"
    echo "== $step [$(date +%H:%M:%S)]"
}

# build PRESET: configures and builds; the output is shown only if it fails.
build() {
    if ! { cmake --preset "$1" && cmake --build --preset "$1"; } >"$log/build-$1.log" 2>&1; then
        cat "$log/build-$1.log"
        return 1
    fi
}

# count NAME FILE: the attribute NAME of the test suite in a file of JUnit's format.
count() {
    number=$(tr '\n' ' ' <"$2" | sed -n "s/.*<testsuite [^>]*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p")
    echo "${number:-0}"
}

# run_tests PRESET: runs its tests and adds to the counts.
run_tests() {
    results="$PWD/$log/tests-$1.xml"
    outcome=0
    ctest --preset "$1" --parallel "$(nproc)" --output-junit "$results" || outcome=$?
    failed=$((failed + $(count failures "$results")))
    skipped=$((skipped + $(count skipped "$results") + $(count disabled "$results")))
    passed=$((passed + $(count tests "$results") - $(count failures "$results") -
        $(count skipped "$results") - $(count disabled "$results")))
    return "$outcome"
}

begin "set-up"
tools/setup.sh --check
begin "format"
tools/format.sh --check
begin "source rules"
tools/check-source
tools/check-layers
begin "build with gcc (release)"
build check
begin "build with clang (debug)"
build clang
begin "clang-tidy"
tools/lint.sh build/clang
begin "tests"
run_tests check
begin "tests with AddressSanitizer and UndefinedBehaviorSanitizer"
build asan
run_tests asan
begin "tests with ThreadSanitizer"
build tsan
run_tests tsan

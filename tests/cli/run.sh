#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh GROUP COLLAGE NETWORKS: tests of the command COLLAGE. Bad input must give exit status 2, one
# line on standard error that names the thing, and no new file. With UPDATE_GOLDEN=1 the group
# `help` writes the golden texts anew.
set -u
group="$1"
collage="$2"
networks="$3"
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Without a compiler, plans have no code objects, so that they can be moved and changed: code.sh is about these.
export COLLAGE_CACHE="$work/cache" COLLAGE_CC='' TERM=dumb LC_ALL=C
mkdir "$work/home"
cd "$work/home" || exit 1
passed=0
failed=0

pass() {
    passed=$((passed + 1))
}

fail() {
    failed=$((failed + 1))
    echo "FAIL: $1"
    sed 's/^/  stdout: /' "$work/out" | head -5
    sed 's/^/  stderr: /' "$work/err" | head -5
}

run() {
    "$collage" "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
}

# bad WORD ARGUMENT...: the command must refuse the arguments, naming WORD.
bad() {
    word="$1"
    shift
    find . | sort >"$work/before"
    run "$@"
    find . | sort >"$work/after"
    if [ "$status" != 2 ]; then
        fail "collage $*: exit status $status, not 2"
    elif [ "$(wc -l <"$work/err")" != 1 ] || ! grep -q '^collage[ :]' "$work/err"; then
        fail "collage $*: standard error is not one line of collage"
    elif ! grep -qF -e "$word" "$work/err"; then
        fail "collage $*: the message does not name '$word'"
    elif ! cmp -s "$work/before" "$work/after"; then
        fail "collage $*: leaves files behind: $(comm -13 "$work/before" "$work/after" | tr '\n' ' ')"
    else
        pass
    fi
}

# good PATTERN ARGUMENT...: the command must succeed and print a line that matches.
good() {
    pattern="$1"
    shift
    run "$@"
    if [ "$status" != 0 ]; then
        fail "collage $*: exit status $status"
    elif ! grep -q -e "$pattern" "$work/out"; then
        fail "collage $*: no line matches '$pattern'"
    else
        pass
    fi
}

# holds TEXT COMMAND...: any other claim.
holds() {
    claim="$1"
    shift
    if "$@"; then pass; else fail "$claim"; fi
}

# npy FILE TYPE SHAPE BYTES: a file of zeros, such as: npy x.npy '<f4' '(1, 3, 32, 32)' 12288
npy() {
    printf '\223NUMPY\001\000v\000%-117s\n' \
        "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" >"$1"
    head -c "$4" /dev/zero >>"$1"
}

make_network() {
    cp "$networks/$1.onnx" .
    "$collage" weights "$1.onnx" >"$work/out" 2>"$work/err" || {
        fail "collage weights $1.onnx"
        exit 1
    }
}

. "$here/$group.sh"

echo "$group: $passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

# SPDX-License-Identifier: Apache-2.0
# Help texts are golden files.
check_help() {
    golden="$here/golden/$1.txt"
    shift
    run "$@" --help
    if [ "${UPDATE_GOLDEN-}" = 1 ]; then
        cp "$work/out" "$golden"
    fi
    if [ "$status" != 0 ] || [ -s "$work/err" ]; then
        fail "collage $* --help: exit status $status"
    elif ! diff "$golden" "$work/out"; then
        fail "collage $* --help differs from $golden"
    else
        pass
    fi
}

check_help collage
for command in optimize run verify bench show explain measure bench-ops inspect backends costs \
    patterns weights; do
    check_help "$command" "$command"
    good "^  $command " --help
    good "^Usage: collage $command" "$command" nonsense -h
done
good '^collage [0-9]*\.[0-9]*\.[0-9]*$' --version

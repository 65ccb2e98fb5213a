#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh GROUP: tests of the installed Collage. CMakeLists.txt gives by the environment: SOURCE, BUILD,
# CMAKE, CC, CXX (empty: none), VENV, LIBRARY (libcollage of the build), DLPACK (its include folder).
set -eu
group="$1"
here=$(cd "$(dirname "$0")" && pwd)
work="$BUILD/install-test/$group"
rm -rf "$work"
mkdir -p "$work"
unset DESTDIR
export COLLAGE_CACHE="$work/cache" TERM=dumb LC_ALL=C

fail() {
    echo "FAIL: $1" >&2
    exit 1
}

# quietly NAME COMMAND...: runs it; its output is shown only if it fails.
quietly() {
    log="$work/$1.log"
    shift
    "$@" >"$log" 2>&1 || {
        cat "$log"
        fail "$*"
    }
}

# install PREFIX [OPTION...]
install() {
    prefix="$1"
    shift
    quietly install "$CMAKE" --install "$BUILD" --prefix "$prefix" "$@"
}

# listing FOLDER: everything in it, with the contents of the files.
listing() {
    (cd "$1" && find . -printf '%y %m %p %l\n' && find . -type f -exec cksum {} +) | sort
}

# must_be EXPECTED ACTUAL WHAT
must_be() {
    [ "$1" = "$2" ] || fail "$3: '$2', expected '$1'"
}

. "$here/$group.sh"
rm -rf "$work"
echo "passed: install_$group"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what Collage needs to be built and run, as far as it is missing. As root or with sudo.
#   tools/setup.sh           to build and run
#   tools/setup.sh --check   also what `make check` needs: clang, the linters, cmocka, a browser for the page
#   tools/setup.sh --blas    also BLIS and MKL (230 MB to download), beside OpenBLAS
#   tools/setup.sh --tvm     also TVM, which compiles and tunes kernels
# Touches Debian's packages, .venv in this checkout, and pip's cache in the user's cache folder.
set -eu
cd "$(dirname "$0")/.."

# Compiler and build; ONNX messages; cost store; plan files; pictures; device key; hashes; bounds of
# placements; wheels; OpenBLAS and XNNPACK.
packages="build-essential cmake ninja-build pkg-config
    libprotobuf-c-dev protobuf-c-compiler
    libsqlite3-dev libjansson-dev libgraphviz-dev libhwloc-dev libxxhash-dev
    coinor-libcbc-dev
    python3 python3-venv
    libopenblas0-openmp libxnnpack-dev libpthreadpool-dev"
check_packages="clang clang-format clang-tidy libcmocka-dev chromium"

blas=no
tvm=no
case "${1-}" in
"") ;;
--check) packages="$packages $check_packages" ;;
--blas)
    packages="$packages libblis4-openmp"
    blas=yes
    ;;
--tvm) tvm=yes ;;
*)
    echo "tools/setup.sh: there is no option '$1'; only --check, --blas and --tvm" >&2
    exit 2
    ;;
esac

is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

install_packages() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        echo "Set-up: no apt-get here; these Debian packages (or their like) must be there already:"
        echo "  $(echo $packages)"
        return
    fi
    missing=""
    for package in $packages; do
        is_installed "$package" || missing="$missing $package"
    done
    if [ -z "$missing" ]; then
        echo "Set-up: all Debian packages are there."
        return
    fi
    echo "Set-up: will install these Debian packages:$missing"
    as_root=""
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "tools/setup.sh: this needs root or sudo; run as root: apt-get install$missing" >&2
            exit 1
        fi
        as_root="sudo"
    fi
    $as_root apt-get update -qq
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        $missing </dev/null
}

# The wheels of requirements.txt in .venv; again only when that file changes.
install_wheels() {
    stamp=.venv/requirements.installed
    if [ -x .venv/bin/python ] && cmp -s requirements.txt "$stamp"; then
        echo "Set-up: .venv is up to date."
        return
    fi
    echo "Set-up: will install these Python wheels into .venv (about 400 MB on disk):" \
        "$(grep -v '^#' requirements.txt | tr '\n' ' ')"
    python=/usr/bin/python3
    [ -x "$python" ] || python=python3
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input \
        --requirement requirements.txt
    cp requirements.txt "$stamp"
}

# MKL alone, without the runtimes of threads that its wheel asks for: it uses GCC's.
install_mkl() {
    echo "Set-up: will install MKL into .venv (700 MB on disk)"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps mkl==2026.2.1
}

# Newer versions of its part apache-tvm-ffi crash in tuning (0.1.15.post2).
install_tvm() {
    echo "Set-up: will install TVM into .venv"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input \
        apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post0 numpy
}

install_packages
install_wheels
[ "$blas" = no ] || install_mkl
[ "$tvm" = no ] || install_tvm

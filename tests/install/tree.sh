# SPDX-License-Identifier: Apache-2.0
# Part of run.sh: the installed tree works by itself, at its first place and after it was moved.
first="$work/first"
second="$work/second place"
install "$first"
install "$first" --component backends
networks="$work/networks"
mkdir "$networks"
"$BUILD/bin/collage" weights "$SOURCE/bench/networks/tiny_cnn.onnx" --output "$networks" >/dev/null
model="$networks/tiny_cnn.onnx"

# Nothing installed may name the build tree; the checkout only as the place of a backend's library.
[ -z "$(grep -rlF -e "$BUILD" "$first")" ] || fail "names the build tree: $(grep -rlF "$BUILD" "$first")"

# consume PREFIX: a user's CMake project, a pkg-config build and a plugin, against that prefix.
consume() {
    rm -rf "$work/consumer" "$work/plugins"
    quietly configure "$CMAKE" -S "$here/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$1" \
        -DCMAKE_C_COMPILER="$CC" -DCMAKE_BUILD_TYPE=Release
    quietly build "$CMAKE" --build "$work/consumer"
    "$work/consumer/consumer" "$model" >"$work/by-cmake"
    PKG_CONFIG_PATH=$(find "$1" -name pkgconfig)
    export PKG_CONFIG_PATH
    must_be "$("$1/bin/collage" --version)" "collage $(pkg-config --modversion collage)" "the version"
    eval "set -- $(pkg-config --cflags --libs collage) -Wl,-rpath,\"$(dirname "$PKG_CONFIG_PATH")\""
    quietly pkg-config "$CC" -std=c11 "$here/consumer/main.c" -o "$work/by-pkg-config" "$@"
    "$work/by-pkg-config" "$model" | cmp - "$work/by-cmake" || fail "the two consumers differ"
    grep -q '^collage .*\[0\] = ' "$work/by-cmake" || fail "the consumer says: $(cat "$work/by-cmake")"
}

# use PREFIX [all]: the command itself with all backends; lists the shared objects that were loaded.
use() {
    rm -rf "$COLLAGE_CACHE" "$work/loaded"*
    (
        cd "$work"
        export LD_DEBUG=libs LD_DEBUG_OUTPUT="$work/loaded"
        "$1/bin/collage" backends >"$work/backends"
        [ "${2-}" = all ] || exit 0
        "$1/bin/collage" optimize "$model" --backends onednn --threads 1 --budget 2 --quiet \
            --output tiny.plan.json
        "$1/bin/collage" run tiny.plan.json
        "$1/bin/collage" show tiny.plan.json --output tiny.svg
    ) >"$work/use.log" 2>&1 || {
        cat "$work/use.log"
        fail "using $1"
    }
    must_be "" "$(tail -n +2 "$work/backends" | grep -v 'available$' || true)" "a backend"
    cat "$work"/loaded.* | sed -n 's/.*calling init: //p' | sort -u >"$work/objects"
    grep -qF "$1/" "$work/objects" || fail "no shared object of $1 was loaded"
}

# The libraries that are installed beside the plugins win over those of the build.
loaded_elsewhere() {
    grep -F -e "$SOURCE/" -e "$(realpath "$VENV")/" -e "$VENV/" "$work/objects" |
        grep -vF "$1/" || true
}

consume "$first"
use "$first"
must_be "" "$(loaded_elsewhere "$first")" "a shared object from elsewhere"

mv "$first" "$second"
consume "$second"
use "$second" all
must_be "" "$(loaded_elsewhere "$second")" "a shared object from elsewhere"

# A plugin of one's own.
quietly plugin-configure "$CMAKE" -S "$SOURCE/examples/plugin" -B "$work/plugins" \
    -DCOLLAGE_INCLUDE="$second/include" -DDLPACK_INCLUDE="$second/include/collage/third_party" \
    -DCMAKE_C_COMPILER="$CC"
quietly plugin-build "$CMAKE" --build "$work/plugins"
COLLAGE_PLUGINS="$work/plugins" "$second/bin/collage" backends | grep -q '^example .*available$' ||
    fail "the example plugin is not available"

# Without the copies: where the libraries were when Collage was built.
rm -r "$(dirname "$(find "$second" -name plugins)")/backends"
use "$second"
[ -z "$VENV" ] || [ -n "$(loaded_elsewhere "$second")" ] || fail "the libraries come from nowhere"

quietly uninstall "$SOURCE/tools/uninstall.sh" "$second"
[ ! -e "$second" ] || fail "left behind: $(find "$second")"

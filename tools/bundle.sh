#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make bundle: a relocatable archive of Collage with the libraries behind its backends and what else it
# needs but glibc and GCC's runtime (docs/installing.md), in build/bundle/. Unpacks it into another
# folder and tries it before it says that it is done. The same input gives the same bytes.
#   tools/bundle.sh --folder     makes and tries the folder only, without the archive
set -eu
cd "$(dirname "$0")/.."
build=build/bundle
archive=yes
case "${1-}" in
"") ;;
--folder) archive=no ;;
*)
    echo "tools/bundle.sh: there is no option '$1'; only --folder" >&2
    exit 2
    ;;
esac
for tool in dpkg-query ldd realpath xz; do
    command -v $tool >/dev/null || {
        echo "tools/bundle.sh: $tool is missing; a bundle is made on Debian" >&2
        exit 1
    }
done

# Of every machine: glibc, and GCC's runtime, of which the newest must win. Sonames, as a pattern.
system='^(ld-linux.*|linux-vdso|libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+)\.so'
LC_ALL=C
export LC_ALL
umask 022

build_stage() {
    cmake --preset release -B "$build" -DCOLLAGE_BUNDLE=ON -DCMAKE_INSTALL_LIBDIR=lib \
        -DCMAKE_C_FLAGS="-ffile-prefix-map=$PWD/=" >"$build.log"
    cmake --build "$build" >>"$build.log"
    version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
    name="collage-$version-linux-$(uname -m)"
    stage="$PWD/$build/stage/$name"
    rm -rf "$build/stage"
    cmake --install "$build" --prefix "$stage" --strip >>"$build.log"
    cmake --install "$build" --prefix "$stage" --component backends >>"$build.log"
    rm "$stage/share/collage/installed.txt" # a bundle is removed with its folder
}

# Lists the shared objects that the listed files need and that the bundle has to bring: name and path.
needed() {
    xargs -d '\n' ldd <"$1" | sed -n 's/^\t\([^ ]*\) => \(\/[^ ]*\) (0x.*/\1 \2/p' | grep -vE "$system" |
        grep -vF " $stage/" | sort -u
}

add_system_libraries() {
    bundled="$stage/lib/collage/bundled"
    mkdir -p "$bundled/graphviz"
    graphviz=$(ldd "$stage/lib/libcollage.so" | sed -n 's/.*libgvc.* => \(.*\)\/libgvc.*/\1/p')/graphviz
    sources="$build/bundled.txt"
    for plugin in core dot_layout; do
        cp -L "$graphviz/libgvplugin_$plugin.so.6" "$bundled/graphviz/"
        echo "graphviz/$plugin $graphviz/libgvplugin_$plugin.so.6"
    done >"$sources"
    find "$stage" -type f \( -name '*.so*' -o -path "$stage/bin/*" -o -path "$stage/libexec/*" \) \
        >"$build/objects.txt"
    needed "$build/objects.txt" >"$build/needed.txt"
    while read -r soname path; do
        cp -L "$path" "$bundled/$soname"
        echo "$soname $path"
    done <"$build/needed.txt" >>"$sources"
}

# The Debian packages that the copies come from: versions, and their licences.
add_notices() {
    licences="$stage/share/doc/collage/licences"
    while read -r soname path; do
        file=$(realpath "$path")
        package=$(dpkg-query -S "$file" 2>/dev/null || dpkg-query -S "${file#/usr}")
        echo "${package%%:*}"
    done <"$build/bundled.txt" | sort -u >"$build/packages.txt"
    while read -r package; do
        mkdir -p "$licences/$package"
        cp -L "/usr/share/doc/$package/copyright" "$licences/$package/"
        dpkg-query -W -f='${Package} ${Version} (source: ${source:Package} ${source:Version})\n' "$package"
    done <"$build/packages.txt" >"$licences/packages.txt"
}

write_archive() {
    file="$build/$name.tar.xz"
    date=$(git log -1 --format=%ct 2>/dev/null || echo 0)
    tar --create --sort=name --format=gnu --owner=0 --group=0 --numeric-owner \
        --mode=u+rwX,go+rX,go-w --mtime="@${SOURCE_DATE_EPOCH:-$date}" \
        --directory "$build/stage" "$name" | xz -6 -T2 >"$file" # two threads: one would cut other blocks
}

# Tries the bundle at another place, with a bare environment: every backend is there, a network is
# optimised, run and drawn, and no shared object is loaded but the bundle's own and the system's.
try_it() {
    place="$PWD/$build/try it here"
    rm -rf "$place"
    mkdir -p "$place/home" "$place/loaded"
    if [ "$archive" = yes ]; then
        tar --extract --xz --file "$file" --directory "$place"
    else
        cp -R "$stage" "$place/"
    fi
    home="$place/$name"
    (
        cd "$place/home"
        collage() {
            env -i PATH=/usr/bin:/bin HOME="$place/home" COLLAGE_CC= LD_DEBUG=libs \
                LD_DEBUG_OUTPUT="$place/loaded/by" "$home/bin/collage" "$@"
        }
        collage backends >backends.txt
        collage weights "$OLDPWD/bench/networks/tiny_cnn.onnx" --output . >log.txt
        collage optimize tiny_cnn.onnx --threads 1 --budget 20 --quiet >>log.txt
        collage run tiny_cnn.plan.json >>log.txt
        collage show tiny_cnn.plan.json --output tiny_cnn.svg >>log.txt
    )
    for plugin in "$stage"/lib/collage/plugins/collage_*.so; do
        backend=$(basename "$plugin" .so | sed 's/^collage_//')
        grep -q "^$backend .*available\$" "$place/home/backends.txt" || {
            cat "$place/home/backends.txt" >&2
            echo "tools/bundle.sh: the bundle has no working $backend" >&2
            exit 1
        }
    done
    grep -q '<svg' "$place/home/tiny_cnn.svg"
    cat "$place"/loaded/* | sed -n 's/.*calling init: //p' | sort -u >"$build/loaded.txt"
    grep -vF "$home/" "$build/loaded.txt" | sed 's/.*\///' | grep -vE "$system" >"$build/foreign.txt" &&
        {
            echo "tools/bundle.sh: the bundle needs what it does not bring:" >&2
            cat "$build/foreign.txt" >&2
            exit 1
        }
    rm -rf "$place"
}

mkdir -p "$build"
build_stage
add_system_libraries
add_notices
[ "$archive" = no ] || write_archive
try_it
if [ "$archive" = yes ]; then
    echo "$file: $(($(wc -c <"$file") / 1000000)) MB, $(du -sm --apparent-size "$stage" | cut -f1) MiB unpacked"
else
    echo "$stage: $(du -sm --apparent-size "$stage" | cut -f1) MiB"
fi

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/uninstall.sh PREFIX: removes what `make install` put there, by the record in
# PREFIX/share/collage/installed.txt (cmake/install/record.cmake): the files, and the folders that
# were made for them as far as they are empty. PREFIX includes DESTDIR, and may have been moved.
set -eu
prefix="${1:?tools/uninstall.sh: give the prefix, such as /usr/local}"
record="$prefix/share/collage/installed.txt"
if [ ! -f "$record" ]; then
    echo "tools/uninstall.sh: there is no Collage in $prefix ($record is missing)" >&2
    exit 1
fi
rows=$(cat "$record")

# each KIND: the paths of that kind, what lies deepest first.
each() {
    printf '%s\n' "$rows" | sed -n "s/^$1 //p" | LC_ALL=C sort -r
}

if each file | grep -qE '^/|(^|/)\.\.(/|$)' || each folder | grep -qE '^/|(^|/)\.\.(/|$)'; then
    echo "tools/uninstall.sh: $record names files outside of $prefix; nothing was removed" >&2
    exit 1
fi
each file | while IFS= read -r path; do
    rm -f -- "$prefix/$path"
done
each folder | while IFS= read -r path; do
    case "$path" in
    .) rmdir -- "$prefix" 2>/dev/null || true ;;
    *) rmdir -- "$prefix/$path" 2>/dev/null || true ;;
    esac
done
each above | while IFS= read -r path; do
    rmdir -- "$path" 2>/dev/null || true
done
echo "Collage was removed from $prefix."

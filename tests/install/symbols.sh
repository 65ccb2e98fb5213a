# SPDX-License-Identifier: Apache-2.0
# Part of run.sh: libcollage exports what collage.h declares and nothing else, and has a versioned name.
nm -D --defined-only "$LIBRARY" | awk '{ print $3 }' | sort >"$work/exported"
cat "$SOURCE/include/collage/collage.h" "$SOURCE/include/collage/registration.h" | tr '\n' ' ' | sed 's/COLLAGE_API/\n&/g' |
    sed -n 's/^COLLAGE_API [^(]*[ *]\(collage_[a-z0-9_]*\)(.*/\1/p' | sort >"$work/declared"
[ "$(wc -l <"$work/declared")" -gt 20 ] || fail "the declarations of collage.h are not found"
diff "$work/declared" "$work/exported" || fail "declared and exported symbols differ"

version=$("$BUILD/bin/collage" --version | sed 's/collage //')
soname=$(readelf -d "$LIBRARY" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
must_be "libcollage.so.${version%%.*}" "$soname" "the soname"
must_be "libcollage.so.$version" "$(basename "$(realpath "$LIBRARY")")" "the file"

# A plugin exports its entry and nothing else.
for plugin in "$BUILD"/lib/plugins/collage_*.so; do
    must_be collage_backend_entry "$(nm -D --defined-only "$plugin" | awk '{ print $3 }')" "$plugin"
done

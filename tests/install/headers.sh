# SPDX-License-Identifier: Apache-2.0
# Part of run.sh: each public header compiles by itself, in C and C++, without a warning. DLPack's own
# header is a system header to the test: it is not ours.
for header in collage registration backend; do
    echo "#include <collage/$header.h>" >"$work/$header.c"
    cp "$work/$header.c" "$work/$header.cpp"
    for standard in c11 c17; do
        "$CC" -std=$standard -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$SOURCE/include" \
            -isystem "$DLPACK" "$work/$header.c" || fail "$header.h as $standard"
    done
    [ -z "$CXX" ] || "$CXX" -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
        -I "$SOURCE/include" -isystem "$DLPACK" "$work/$header.cpp" || fail "$header.h as C++17"
done

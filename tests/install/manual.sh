# SPDX-License-Identifier: Apache-2.0
# Part of run.sh: collage(1) and the command's own help name the same commands and options, the page
# names every variable of the environment that the sources read, and renders without a warning.
page="$SOURCE/docs/man/collage.1"
collage="$BUILD/bin/collage"

# help_options COMMAND: the left column of its options, such as "-o, --output PLAN"; not --help.
help_options() {
    "$collage" "$1" --help | sed -n '/^Options:/,$p' | sed -n 's/^  \(..[ ,] --.*\)/\1/p' |
        sed 's/^ *//; s/   *.*//' | grep -v -e '--help$' | sort
}

# page_options COMMAND: the same of its section in the page.
page_options() {
    sed -n "/^\.SS collage $1\( \|\$\)/,/^\.S[SH] collage \|^\.SH/p" "$page" |
        awk 'after_tp { print } { after_tp = ($0 == ".TP") }' |
        sed 's/^\.BR\{0,1\} //; s/ *", " */,@/g; s/ *" " */@/g; s/\\f[IBR]//g; s/\\-/-/g; s/ //g; s/@/ /g' |
        sort
}

"$collage" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' | sort >"$work/commands"
sed -n 's/^\.SS collage \([a-z\\-]*\).*/\1/p' "$page" | sed 's/\\-/-/g' | sort >"$work/sections"
diff "$work/commands" "$work/sections" || fail "the commands of 'collage --help' (<) and of the page (>) differ"
while read -r command; do
    help_options "$command" >"$work/help"
    section=$(echo "$command" | sed 's/-/\\\\-/g')
    page_options "$section" >"$work/page"
    diff "$work/help" "$work/page" ||
        fail "the options of 'collage $command --help' (<) and of the page (>) differ"
done <"$work/commands"

find "$SOURCE/src" "$SOURCE/cli" "$SOURCE/backends" -name '*.[ch]' -exec cat {} + |
    grep -oE 'getenv\("[A-Z_]+"|"COLLAGE_[A-Z_]+"' | grep -oE '[A-Z][A-Z_]+' | sort -u >"$work/variables"
while read -r variable; do
    grep -q "$variable" "$page" || fail "the page does not name the variable $variable"
done <"$work/variables"

grep -q "^\.TH COLLAGE 1 .*\"Collage $("$collage" --version | sed 's/collage //')\"" "$page" ||
    fail "the page is for another version"
if command -v groff >/dev/null; then
    must_be "" "$(groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null)" "groff's warnings"
elif command -v mandoc >/dev/null; then
    must_be "" "$(mandoc -Tlint -Wwarning "$page" 2>&1)" "mandoc's warnings"
fi

# SPDX-License-Identifier: Apache-2.0
# Part of run.sh: an uninstalled Collage leaves nothing behind and takes nothing else with it.

# A prefix in use: files and empty folders of others, also where Collage puts its own.
used="$work/used"
mkdir -p "$used/lib/cmake" "$used/lib/collage" "$used/share/man/man1" "$used/bin" "$used/share/doc"
echo other >"$used/bin/other"
echo other >"$used/share/man/man1/other.1"
listing "$used" >"$work/before"
install "$used"
echo theirs >"$used/lib/collage/plugins/collage_theirs.so"
install "$used" # a second time: what the first one made is still known
quietly uninstall "$SOURCE/tools/uninstall.sh" "$used"
must_be theirs "$(cat "$used/lib/collage/plugins/collage_theirs.so")" "a file put among ours"
rm -r "$used/lib/collage/plugins"
listing "$used" >"$work/after"
diff "$work/before" "$work/after" || fail "uninstalling changed the prefix"

# A prefix that did not exist, with folders above it, under DESTDIR; moved before it is removed.
export DESTDIR="$work/stage"
install /opt/some/where
unset DESTDIR
[ -x "$work/stage/opt/some/where/bin/collage" ] || fail "DESTDIR is not respected"
mv "$work/stage/opt/some/where" "$work/moved away"
quietly uninstall "$SOURCE/tools/uninstall.sh" "$work/moved away"
[ ! -e "$work/moved away" ] || fail "left behind: $(find "$work/moved away")"
[ ! -e "$work/stage" ] || fail "left behind: $(find "$work/stage")"

# A relative prefix.
(cd "$work" && install relative && quietly uninstall "$SOURCE/tools/uninstall.sh" relative)
[ ! -e "$work/relative" ] || fail "left behind: $(find "$work/relative")"

# A record that was tampered with must not reach outside of the prefix.
install "$work/hostile"
echo keep >"$work/keep"
echo "file ../keep" >>"$work/hostile/share/collage/installed.txt"
if "$SOURCE/tools/uninstall.sh" "$work/hostile" >/dev/null 2>&1; then
    fail "a record that leads outside is obeyed"
fi
[ -f "$work/keep" ] && [ -x "$work/hostile/bin/collage" ] || fail "a bad record removed something"
if "$SOURCE/tools/uninstall.sh" "$work/nowhere" >/dev/null 2>&1; then
    fail "uninstalling what is not there succeeds"
fi

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clang-format on all C sources: in place, or with --check only saying what differs.
set -eu
cd "$(dirname "$0")/.."
case "${1-}" in
"") mode="-i" ;;
--check) mode="--dry-run --Werror" ;;
*)
    echo "tools/format.sh: there is no option '$1'; only --check" >&2
    exit 2
    ;;
esac
git ls-files -z --cached --others --exclude-standard -- '*.c' '*.h' |
    xargs -0 -r clang-format --style=file $mode

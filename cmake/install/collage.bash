# SPDX-License-Identifier: Apache-2.0
# Completion of collage's commands and options for bash: it asks the command itself.
_collage() {
    local word="${COMP_WORDS[COMP_CWORD]}" choices=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        choices="$("${COMP_WORDS[0]}" --help 2>/dev/null |
            sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p') --help --version"
    elif [[ "$word" == -* ]]; then
        choices="$("${COMP_WORDS[0]}" "${COMP_WORDS[1]}" --help 2>/dev/null |
            sed -n 's/^  ....\(--[a-z-]*\).*/\1/p')"
    fi
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
    if [ ${#COMPREPLY[@]} -eq 0 ]; then
        compopt -o default
    fi
}
complete -F _collage collage

#!/bin/bash
# The manual page and the completions, which are made out of the program's tables, against what --help prints.
# usage: manual.sh FOLDER-OF-CATENA SOURCE-FOLDER
set -e
PATH=$1:$PATH
page=$1/manual/catena.1
unset CATENA_SCENES
failed=0
wrong() { echo "manual: $*"; failed=1; }

# "--dt" and so on, one a line, of the help of a command; and what it says of them
options() { catena "$1" --help | sed -n '/^options:/,/^$/s/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p'; }
meanings() { catena "$1" --help | sed -n '/^options:/,/^$/s/^  \(-., \|    \)--[^ ]* *\([A-Za-z]* \)\? *  *//p'; }

# what bash offers for the words given, the last of which is being typed, one a line
. "$1/manual/catena.bash"
offers() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _catena
    printf '%s\n' "${COMPREPLY[@]}"
}
offered() { # WORD WORDS...: WORD is among what is offered
    local word=$1
    shift
    offers "$@" | grep -qxF -e "$word" || wrong "'$*' is not completed to '$word', but: $(offers "$@" | tr '\n' ' ')"
}

plain=$(sed 's/\\f[BIR]//g; s/\\-/-/g; s/\\e/\\/g' "$page")
commands=$(catena --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 8 ] || wrong "too few commands found: $commands"
for c in $commands; do
    grep -q "^\.SS catena $c\b" <<<"$plain" || wrong "no section 'catena $c'"
    listed=$(sed -n "/^\.SS catena $c\b/,/^Options:/s/^Options: //p" <<<"$plain" | tr -d ' ' | tr ',' '\n' | sort)
    [ "$listed" = "$(options "$c" | sort)" ] || wrong "catena $c has other options in the page than in --help"
    [ "$(offers catena "$c" -- | sort)" = "$(options "$c" | sort)" ] || wrong "bash offers other options for catena $c than --help"
    for o in $(options "$c"); do
        grep -qE "^(-., )?$o( [^ ]*)?$" <<<"$plain" || wrong "$o has no entry"
    done
    while read -r meaning; do
        grep -qF -e "$meaning" <<<"$plain" || wrong "catena $c: not in the page: $meaning"
    done < <(meanings "$c")
    offered "$c" catena "${c:0:3}"
done

cd "$2/scenes"
offered radau catena run --method rad
offered radau catena run -m rad
offered radau catena run --method = rad
offered chain100.yaml catena replay --out chain100 # a file of this folder
offered chain10.yaml catena run chain10
cd /
offered chain10 catena run chain1
offered chain10 catena render chain1
for engine in $(offers catena run --engine ''); do
    if catena info chain10 --engine "$engine" 2>&1 | grep -q "engine: unknown"; then wrong "no engine '$engine'"; fi
done
for method in $(offers catena run --method ''); do catena info chain10 --method "$method" >/dev/null || wrong "no method '$method'"; done

if command -v mandoc >/dev/null; then
    said=$(mandoc -T lint -W warning "$page" | grep -v 'missing date' || true)
    [ -z "$said" ] || wrong "mandoc: $said"
fi
if command -v groff >/dev/null; then
    said=$(groff -man -ww -z -Tutf8 "$page" 2>&1)
    [ -z "$said" ] || wrong "groff: $said"
fi
if command -v zsh >/dev/null; then zsh -n "$1/manual/_catena" || wrong "zsh does not read its completion"; fi
if command -v fish >/dev/null; then fish -n "$1/manual/catena.fish" || wrong "fish does not read its completion"; fi
[ $failed = 0 ] && echo "the page and the completions say what --help says"
exit $failed

#!/bin/sh
# What docs/architecture.md says of adding things: each example stands in just the files that are listed for it; all files that the page
# names are there; rows of the tables that code comes from are in the docs. usage: walk.sh SOURCE-FOLDER
cd "$1" || exit 2
page=docs/architecture.md
failed=0
wrong() { echo "walk: $*"; failed=1; }

# a line for each thing to add: the examples' names, a colon, files
lists=$(sed -n '/^## Adding things/,/^Besides:/p' $page | tr -s '\n ' ' ' | sed 's/ - \*/\n/g' | sed -n 's/.*Where \(.*\) stands\?: *\(.*\)\..*/\1:\2/p' | tr -d '`,')
[ "$(echo "$lists" | wc -l)" -ge 5 ] || wrong "fewer than 5 lists in $page"
old=$IFS
IFS='
'
for line in $lists; do
    IFS=$old
    names=$(echo "${line%%:*}" | sed 's/ and /|/g')
    listed=$(echo "${line#*:}" | tr -s ' ' '\n' | sort)
    found=$(grep -rlwE "$names" include dynamics forces contact integrators sim cli render CMakeLists.txt | sort)
    [ "$listed" = "$found" ] || wrong "$names stands in other files than $page lists: $(printf '%s\n' "$listed" "$found" | sort | uniq -u | tr '\n' ' ')"
done
for path in $(grep -o '`[a-z]*/[a-z_/0-9]*\.[a-z]*`' $page | tr -d '`' | sort -u); do
    [ -e "$path" ] || [ -e "include/$path" ] || wrong "there is no $path"
done

# rows of the tables that code comes from, against the tables in the docs. told TABLE ROW PAGE
told() {
    rows=$(sed -n "s/^ *#define .*//; s/^    $2(\([A-Za-z_]*\),.*/\1/p" "$1")
    [ "$(echo "$rows" | wc -l)" -ge 5 ] || wrong "fewer than 5 rows in $1"
    for row in $rows; do
        sed -n 's/^| \(.*\)/\1/p' "$3" | grep -qE "(\`|\`[a-z]*/)$row\`" || wrong "$3 has no row for $row of $1"
    done
}
told sim/base/step_stats.h stat docs/recording.md
told integrators/block_step.h part $page
exit $failed

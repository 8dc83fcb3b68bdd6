#!/bin/sh
# What docs/architecture.md says of adding things: each example stands in just the files that are listed for it; and all files that the page
# names are there. usage: walk.sh SOURCE-FOLDER
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
    found=$(grep -rlwE "$names" include dynamics forces integrators sim cli render CMakeLists.txt | sort)
    [ "$listed" = "$found" ] || wrong "$names stands in other files than $page lists: $(printf '%s\n' "$listed" "$found" | sort | uniq -u | tr '\n' ' ')"
done
for path in $(grep -o '`[a-z]*/[a-z_/0-9]*\.[a-z]*`' $page | tr -d '`' | sort -u); do
    [ -e "$path" ] || [ -e "include/$path" ] || wrong "there is no $path"
done
exit $failed

#!/bin/sh
# What docs/architecture.md says of adding things: its examples are found in the code; all files that the page names are there; rows
# of the tables that code comes from are in the docs; and how long lines of control/ are. usage: walk.sh SOURCE-FOLDER
cd "$1" || exit 2
page=docs/architecture.md
failed=0
wrong() { echo "walk: $*"; failed=1; }

# what to look for, by the table of things to add: each name stands in several files
names=$(sed -n '/^## Adding things/,/^Besides:/s/^| an\{0,1\} [^|]*| \([^|]*\)|.*/\1/p; /^## Adding things/,/^Besides:/s/^| what [^|]*| \([^|]*\)|.*/\1/p' $page | tr -d '`,')
[ "$(echo "$names" | wc -w)" -ge 15 ] || wrong "fewer than 15 names to look for in $page"
for name in $names; do
    found=$(grep -rlw "$name" include dynamics forces contact integrators sim control cli render CMakeLists.txt | wc -l)
    [ "$found" -ge 2 ] || wrong "$name stands in $found files, so $page does not lead far by it"
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

# clang-format leaves comments in `///` as long as they are
long=$(awk 'length > 130 { print FILENAME ":" FNR }' control/*.[ch])
[ -z "$long" ] || wrong "lines longer than 130: $long"
exit $failed

#!/bin/sh
# The sessions that README.md shows (```console) against what the programs print now; times are not compared. Lines "$ catena ..." and
# "$ ./pendulum" are run, others ("$ cc ...") are not. usage: readme.sh README.md FOLDER-OF-CATENA PROGRAM-OF-THE-C-BLOCK SOURCE-FOLDER
set -e
PATH=$2:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$4/scenes" "$work/scenes"
ln -s "$3" "$work/pendulum"

# what the sessions say, and the commands in them
awk -v said="$work/said" -v commands="$work/commands" '
    /^```/ { inside = /^```console/; runs = 0; next }
    inside && /^\$ / { runs = /^\$ (catena|\.\/pendulum)/; if (runs) print substr($0, 3) > commands }
    inside && runs { print > said }' "$1"
[ "$(wc -l <"$work/commands")" -ge 2 ] || { echo "readme: too few sessions found in $1"; exit 1; }

cd "$work"
while read -r line; do
    printf '$ %s\n' "$line"
    eval "$line" 2>&1 || true  # a run that is shown may be one that fails
done <commands >printed
for file in said printed; do sed 's/ simulated in .*/ simulated in .../' $file >$file.compared; done
diff -u said.compared printed.compared || { echo "readme: lines with - stand in $1, lines with + are printed now"; exit 1; }
echo "$(wc -l <commands) sessions are as $1 shows them"

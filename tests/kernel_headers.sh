#!/bin/sh
# Every kernel header includes what it uses: it compiles by itself, after a lane.
# usage: kernel_headers.sh COMPILER SOURCE-FOLDER
compiler=$1
cd "$2" || exit 2
failed=0
for header in dynamics/*.h forces/*.h integrators/*.h; do
    case $header in
    dynamics/lane_scalar.h | dynamics/lane_avx*.h | dynamics/transpose.h) continue ;;  # the lanes themselves
    esac
    printf '#include "dynamics/lane_scalar.h"\n#include "%s"\n' "$header" |
        "$compiler" -std=gnu11 -Wall -Wextra -Wno-unused-function -Werror -Iinclude -I. -fsyntax-only -x c - || {
        echo "kernel_headers: $header does not compile by itself"
        failed=1
    }
done
exit $failed

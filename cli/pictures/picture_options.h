/// Options that say what a picture has: --show, --trail, --title, --colors, --floor, --layout.
#ifndef CATENA_CLI_PICTURE_OPTIONS_H
#define CATENA_CLI_PICTURE_OPTIONS_H

#include "cli/base/arguments.h"
#include "render/draw/colors.h"
#include "render/draw/layout.h"
#include "render/draw/marks.h"

/// What stands in a picture beside the bodies.
typedef struct picture_extras {
    unsigned what;        // a sum of marks_show
    trail_point *trails;  // [trail_count]; NULL: none was chosen
    int trail_count;
    double seconds;     // that trails last
    const char *title;  // NULL: none
} picture_extras;

/// --show, --trail and --title, for the window (`model` NULL) without trails of links. Returns an exit status with errors
/// printed; picture_extras_close is due in any case.
int picture_extras_read(const arguments *args, const ctn_model *model, picture_extras *x);
void picture_extras_close(picture_extras *x);

/// --colors; most_energy: the end of the scale (J), if it is given. Unchanged without it. Returns an exit status.
int colors_option(const arguments *args, link_coloring *colors, double *most_energy);

/// --floor, m; -infinity: none; NAN: it is not given. Returns an exit status.
int floor_option(const arguments *args, double *floor);

/// --layout, by default a grid. Returns an exit status.
int layout_option(const arguments *args, world_layout *layout);

#endif

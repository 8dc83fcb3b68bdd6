/// What `catena render` shows beside the bodies: --show, --trail, --title.
#ifndef CATENA_CLI_SHOW_H
#define CATENA_CLI_SHOW_H

#include "cli/arguments.h"
#include "render/colors.h"
#include "render/layout.h"
#include "render/marks.h"

typedef struct shown {
    unsigned what;        // a sum of marks_show
    trail_point *trails;  // [trail_count]; NULL: none was chosen
    int trail_count;
    double seconds;     // that trails last
    const char *title;  // NULL: none
} shown;

/// Reads the options, for the window (`model` NULL) without trails of links. Returns an exit status with errors printed; show_close is due in any case.
int show_read(const arguments *args, const ctn_model *model, shown *s);
void show_close(shown *s);

/// --colors; most_energy: the end of the scale (J), if it is given. Unchanged without it. Returns an exit status.
int colors_option(const arguments *args, link_coloring *colors, double *most_energy);

/// --floor, m; -infinity: none; NAN: it is not given. Returns an exit status.
int floor_option(const arguments *args, double *floor);

/// --layout, by default a grid. Returns an exit status.
int layout_option(const arguments *args, world_layout *layout);

#endif

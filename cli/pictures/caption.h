/// What is written in the corner of a picture: the time, how it was computed, energy.
#ifndef CATENA_CLI_CAPTION_H
#define CATENA_CLI_CAPTION_H

#include "cli/pictures/frames.h"
#include "render/draw/text.h"

typedef struct caption {
    const char *title;  // NULL: none
    bool text;          // all below it
    int decimals;       // of energies, the same in all pictures
    long cell;          // which picture of a sheet: each has its time, the first one title and method. Negative: it is none
} caption;

/// How many decimals energies of the states in `f` and of motions of `radius` m need for five digits; negative: so many that
/// powers of ten are better.
int caption_decimals(const frames *f, ctn_dynamics *dyn, double radius);

/// Writes it for the states at t that are in `f`, for a picture of this width, pixels, in letters of `size`. False: no memory.
bool caption_place(const caption *c, const frames *f, ctn_dynamics *dyn, double t, int width, float size, label_list *labels);

/// The size that suits pictures of width x height.
float caption_size(int width, int height);

#endif

/// Colours that say something: which link, which world, how much energy. sRGB, 0 to 1.
#ifndef CATENA_RENDER_COLORS_H
#define CATENA_RENDER_COLORS_H

#include "render/draw/lines.h"
#include "render/draw/text.h"

#include <catena/model.h>

/// One of some colours that are easily told apart, for k = 0, 1, 2 ...; they come again after a few.
void color_palette(int k, float *rgb);

/// viridis, from dark blue at 0 to yellow at 1: as far apart to the eye as the numbers are. Numbers outside take the nearest end.
void color_scale(double x, float *rgb);

/// A hue: `share` 0 to 1 goes once round the circle.
void color_hue(double share, float *rgb);

/// Another shade of the same colour, darker, or lighter where it is dark.
void color_shade(float *rgb);

/// What the colours of links tell.
typedef enum link_coloring { COLORS_SCENE, COLORS_LINK, COLORS_ENERGY, COLORS_WORLD, COLORINGS } link_coloring;

/// How the links of a world are painted: COLORS_ENERGY by `energy` [links] on the scale to `most_energy` (J), COLORS_WORLD by
/// `share` of color_hue, grey whatever else is said if it is frozen.
typedef struct link_paint {
    link_coloring by;
    bool frozen;
    double share, most_energy;
    const double *energy;
} link_paint;

/// Paints into rgb [links][3] and returns it; NULL: the scene's own colours stay. Where all links would be alike, every other one
/// along a branch has another shade.
const float (*color_links(const link_paint *how, const ctn_model *model, float (*rgb)[3]))[3];

/// Kinetic energy (J) of each link, energy [links], from its rotation R [links][9] and twist [links][6] (catena/dynamics.h).
/// Rotors are not in it. `mass_scale` [links]: mass and inertia are these times the model's; NULL: 1.
void link_energies(const ctn_model *model, const double *mass_scale, const double *R, const double *twist, double *energy);

/// A bar of color_scale with its numbers, 0 to `most`, and `title` over them, on a dark plate in the lower right corner of a
/// picture of width x height. `size`: pixels, of the letters. False: no memory.
bool legend_place(const char *title, double most, int width, int height, float size, line_list *lines, label_list *labels);

#endif

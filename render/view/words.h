/// What the window says in numbers and words.
#ifndef CATENA_RENDER_WORDS_H
#define CATENA_RENDER_WORDS_H

#include "render/view/player.h"

enum { QUANTITY_WORDS = 24 + 8 };

/// A number in its unit with the prefix that suits it, three digits: "10 ms", "1.25 kN", "0 s". What is beyond pico and tera
/// stands in powers of ten.
void quantity_words(double x, const char *unit, char text[QUANTITY_WORDS]);

/// What has frozen of a run of `worlds` worlds, when and why, and which keys go on from there; "" if nothing has. Of a recording
/// (`recorded`) those that there are.
void frozen_words(const player_run *r, int worlds, bool recorded, char *text, size_t size);

#endif

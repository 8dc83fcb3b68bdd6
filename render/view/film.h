/// A recording that is played by the clock, or looked at where one likes.
#ifndef CATENA_RENDER_FILM_H
#define CATENA_RENDER_FILM_H

#include "render/view/player.h"

typedef struct film film;

/// Opens a recording (.h5) of `catena run` or `catena rollout`, at its first state: all worlds, or (0 or more) that one. NULL: as
/// recorded_open, ctn_model_create; CTN_BAD_ARGUMENT if it has no record yet, or no such world.
film *film_open(const char *path, long world, ctn_error *err);
void film_free(film *f);  // NULL is allowed

const ctn_scene *film_scene(const film *f);  // as long as the film
const ctn_model *film_model(const film *f);
int film_world(const film *f, int k);  // which one of the file is shown as world k
int film_worlds(const film *f);
/// What is to be said of a file when it is opened: worlds that were not run yet and are left out, velocities that are missing.
/// NULL: nothing; else valid as long as the film.
const char *film_lacks(const film *f);
void film_range(const film *f, double *first, double *last);  // s

/// A view with room for the states of its worlds, for film_look; false: no memory.
bool film_view_create(const film *f, player_view *view);

/// What there is to see now, between records; worlds without a state stay where they were. CTN_IO, or else as recorded_rows.
ctn_status film_look(film *f, player_view *view, ctn_error *err);

void film_run_on(film *f, bool running);
void film_speed(film *f, double times);
void film_steps(film *f, int records);  // on or back, to the next record; stops the clock
void film_seek(film *f, double time);   // s

#endif

/// Where finished pictures go: PNG files, a movie by ffmpeg, or an array of numpy.
#ifndef CATENA_RENDER_PICTURES_H
#define CATENA_RENDER_PICTURES_H

#include <catena/status.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct pictures pictures;

/// Whether `path` takes one picture alone: it ends in .png and has no number in it.
bool pictures_single(const char *path);

/// Opens `path` for pictures of width x height: NAME.png, one picture; frames/%04d.png, a file each, numbered from 0; .mp4,
/// .webm, .webp or .gif, a movie of `fps` pictures a second by ffmpeg. An mp4 or webm can be played as far as it was written,
/// however the program ends. .npy: one array of numpy, uint8 [pictures][height][width][3], RGB. CTN_BAD_ARGUMENT for other names, CTN_IO if it cannot be written, CTN_UNAVAILABLE without ffmpeg.
ctn_status pictures_open(const char *path, int width, int height, double fps, pictures **out, ctn_error *err);

/// The next picture, rgb [height][width][3], is taken; it is written while this thread goes on. CTN_IO, CTN_NO_MEMORY: one of
/// those before could not be written, and no more can follow.
ctn_status pictures_add(pictures *p, const uint8_t *rgb, ctn_error *err);

/// Finishes and frees, also on error. CTN_IO, CTN_NO_MEMORY, unless pictures_add has told. NULL is allowed.
ctn_status pictures_close(pictures *p, ctn_error *err);

#endif

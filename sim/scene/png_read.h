/// PNG images of grey pixels, 8 or 16 bits, with or without alpha, which is passed over; not interlaced.
#ifndef CATENA_PNG_READ_H
#define CATENA_PNG_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PNG_REASON = 128 };

typedef struct png_head {
    uint32_t columns, rows;
    int bits;      // of a grey
    int channels;  // 1, or 2 with alpha
} png_head;

/// Whether a file begins as one.
bool png_is(const char *text, size_t length);

/// What its head says; else why it cannot be read.
bool png_read_head(const char *text, size_t length, png_head *head, char reason[PNG_REASON]);

/// Its pixels [rows][columns], 0 to 255 or 65535.
bool png_read_grey(const char *text, size_t length, const png_head *head, double *pixels, char reason[PNG_REASON]);

#endif

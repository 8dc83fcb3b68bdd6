/// PNG images of grey pixels (PNG Specification, third edition): chunks, one deflated stream, five filters by row. The sums of
/// chunks are checked.
#include "sim/scene/png_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char signature[8] = "\x89PNG\r\n\x1a\n";

typedef struct {
    const unsigned char *data;
    uint32_t size, type;
} chunk;

static uint32_t word(const unsigned char *p) { return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]; }

static bool say(char *reason, const char *what)
{
    snprintf(reason, PNG_REASON, "%s", what);
    return false;
}

/// The chunk at *at, which moves on.
static bool next_chunk(const unsigned char **at, const unsigned char *end, chunk *c)
{
    if (end - *at < 12) return false;
    c->size = word(*at), c->type = word(*at + 4), c->data = *at + 8;
    if (c->size > (size_t)(end - *at) - 12) return false;
    if (crc32(crc32(0, NULL, 0), *at + 4, c->size + 4) != word(c->data + c->size)) return false;
    *at = c->data + c->size + 4;
    return true;
}

bool png_is(const char *text, size_t length) { return length >= sizeof signature && !memcmp(text, signature, sizeof signature); }

bool png_read_head(const char *text, size_t length, png_head *head, char reason[PNG_REASON])
{
    const unsigned char *at = (const unsigned char *)text + sizeof signature, *const end = (const unsigned char *)text + length;
    chunk c;
    if (!next_chunk(&at, end, &c) || c.type != 0x49484452u || c.size != 13) return say(reason, "a PNG image without a head");
    const int color = c.data[9];
    head->columns = word(c.data), head->rows = word(c.data + 4), head->bits = c.data[8], head->channels = color == 4 ? 2 : 1;
    if ((color != 0 && color != 4) || (head->bits != 8 && head->bits != 16))
        return say(reason, "expected a PNG image of grey pixels of 8 or 16 bits; convert it to one");
    if ((double)head->columns * head->rows > 1100. * (double)length)  // deflate packs no better
        return say(reason, "the pixels of the PNG image end too early");
    if (c.data[10] || c.data[11] || c.data[12]) return say(reason, "an interlaced PNG image; save it without");
    return true;
}

static int nearest(int a, int b, int c)  // Paeth's
{
    const int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

/// Undoes a row's filter; before: the row above, unfiltered, at first zeros. unit: bytes of a pixel.
static bool unfilter(int filter, unsigned char *row, const unsigned char *before, size_t size, size_t unit)
{
    if (filter > 4) return false;
    for (size_t k = 0; k < size; k++) {
        const int left = k < unit ? 0 : row[k - unit], up = before[k], corner = k < unit ? 0 : before[k - unit];
        const int add = filter == 1   ? left
                        : filter == 2 ? up
                        : filter == 3 ? (left + up) / 2
                        : filter == 4 ? nearest(left, up, corner)
                                      : 0;
        row[k] = (unsigned char)(row[k] + add);
    }
    return true;
}

/// The stream of all data, inflated to `size` bytes.
static bool inflate_all(const char *text, size_t length, unsigned char *to, size_t size)
{
    const unsigned char *at = (const unsigned char *)text + sizeof signature, *const end = (const unsigned char *)text + length;
    z_stream z = {.next_out = to, .avail_out = (uInt)size};
    int state = Z_OK;
    chunk c;
    if (inflateInit(&z) != Z_OK) return false;
    while (state == Z_OK && next_chunk(&at, end, &c)) {
        if (c.type != 0x49444154u || !c.size) continue;
        z.next_in = (unsigned char *)(uintptr_t)c.data, z.avail_in = c.size;
        state = inflate(&z, Z_NO_FLUSH);
        if (state == Z_BUF_ERROR) state = Z_OK;
    }
    const bool whole = z.avail_out == 0;
    inflateEnd(&z);
    return whole;
}

bool png_read_grey(const char *text, size_t length, const png_head *head, double *pixels, char reason[PNG_REASON])
{
    const size_t unit = (size_t)head->channels * (size_t)head->bits / 8, row = unit * head->columns, all = (row + 1) * head->rows;
    unsigned char *const data = calloc(all + row, 1);
    bool ok = data || say(reason, "not enough memory for the image");
    if (ok && !inflate_all(text, length, data, all))
        ok = say(reason, "the pixels of the PNG image are damaged, or end too early");
    for (size_t i = 0; i < head->rows && ok; i++) {
        unsigned char *const at = data + i * (row + 1) + 1;
        const unsigned char *const before = i ? at - row - 1 : data + all;
        if (!unfilter(at[-1], at, before, row, unit)) ok = say(reason, "a row of the PNG image has an unknown filter");
        for (size_t k = 0; k < head->columns; k++)
            pixels[i * head->columns + k] = head->bits == 16 ? 256.0 * at[k * unit] + at[k * unit + 1] : at[k * unit];
    }
    free(data);
    return ok;
}

/// Which characters may be shown. [Unicode 15, UAX 9 and chapter 23; ECMA-48]
#include "sim/base/printable.h"

#include <stdbool.h>
#include <string.h>

long character_at(const char *text, size_t *size)
{
    static const long least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *const c = (const unsigned char *)text;
    const size_t n = *c < 0x80 ? 1 : *c < 0xc0 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : *c < 0xf8 ? 4 : 0;
    long code = n == 1 ? *c : *c & (0x7f >> n);
    *size = 1;
    for (size_t k = 1; k < n; k++) {
        if ((c[k] & 0xc0) != 0x80) return -1;  // its end, too
        code = code << 6 | (c[k] & 0x3f);
    }
    if (!n || code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return -1;
    *size = n;
    return code;
}

static bool may_be_shown(long code)
{
    static const long hidden[][2] = {
        {0x00, 0x1f},     {0x7f, 0x9f},                          // controls
        {0xad, 0xad},     {0x34f, 0x34f},     {0x61c, 0x61c},    // soft hyphen, joiner of graphemes, Arabic mark
        {0x115f, 0x1160}, {0x17b4, 0x17b5},   {0x180b, 0x180f},  // fillers, vowels without a shape, Mongolian selectors
        {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},  // no width, marks; ends of lines, overrides; isolates
        {0x3164, 0x3164}, {0xfeff, 0xfeff},   {0xffa0, 0xffa0},  // fillers, byte order mark
        {0xfff9, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };
    bool ok = code >= 0;
    for (size_t k = 0; k < sizeof hidden / sizeof *hidden; k++) ok = ok && (code < hidden[k][0] || code > hidden[k][1]);
    return ok;
}

const char *find_unprintable(const char *text, size_t *size)
{
    for (size_t n; *text; text += n)
        if (!may_be_shown(character_at(text, &n))) {
            if (size) *size = n;
            return text;
        }
    return NULL;
}

void make_printable(char *text)
{
    char *to = text;
    size_t n;
    for (const char *from = text; *from; from += n) {
        if (may_be_shown(character_at(from, &n))) memmove(to, from, n), to += n;
        else *to++ = '?';
    }
    *to = 0;
}

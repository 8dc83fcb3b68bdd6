/// Letters are drawn by stb_truetype at the size and the quarter of a pixel where they are wanted, once, into a texture: crisp at
/// any size. Beside each lies its shade, the letter grown and softened, which is drawn dark below all letters of a list, and
/// above their plates.
#include "render/draw/text.h"

#include "render/draw/font.h"
#include "render/draw/programs.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STB_TRUETYPE_IMPLEMENTATION
#define STBTT_STATIC
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include <stb/stb_truetype.h>
#pragma GCC diagnostic pop

// ---- labels

label label_over(const double *at)
{
    return (label){.in_space = true,
                   .position = {(float)at[0], (float)at[1], (float)at[2]},
                   .align = {0.5f, 1},
                   .size = 14,
                   .color = {1, 1, 1},
                   .plate = 0.4f};
}

float label_margin(float size) { return ceilf(0.2f * size); }

bool label_list_add(label_list *l, const label *how, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    const size_t end = l->letter_count + (size_t)n + 1;
    if (end > l->letter_room) {
        char *const letters = realloc(l->letters, 2 * end);
        if (!letters) return false;
        l->letters = letters, l->letter_room = 2 * end;
    }
    if (l->count == l->room) {
        label *const of = realloc(l->of, (2 * l->room + 16) * sizeof *of);
        if (!of) return false;
        l->of = of, l->room = 2 * l->room + 16;
    }
    va_start(args, format);
    vsnprintf(l->letters + l->letter_count, (size_t)n + 1, format, args);
    va_end(args);
    l->of[l->count] = *how;
    l->of[l->count++].text = l->letter_count;
    l->letter_count = end;
    return true;
}

void label_list_clear(label_list *l) { l->count = l->letter_count = 0; }

void label_list_free(label_list *l)
{
    free(l->of), free(l->letters);
    *l = (label_list){0};
}

/// The next character of UTF-8 [RFC 3629]; `text` moves behind it.
static uint32_t next_letter(const char **text)
{
    const unsigned char *const s = (const unsigned char *)*text;
    const int more = s[0] < 0x80                   ? 0
                     : s[0] >= 0xc2 && s[0] < 0xe0 ? 1
                     : s[0] >= 0xe0 && s[0] < 0xf0 ? 2
                     : s[0] >= 0xf0 && s[0] < 0xf5 ? 3
                                                   : -1;
    uint32_t letter = more < 1 ? s[0] : s[0] & (0x3fu >> more);
    int k = 1;
    for (; k <= more && (s[k] & 0xc0) == 0x80; k++) letter = letter << 6 | (s[k] & 0x3f);
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    *text += k;
    return more < 0 || k <= more || letter < least[more] || letter > 0x10ffff || (letter & 0xfffff800) == 0xd800 ? 0xfffd
                                                                                                                 : letter;
}

// ---- letters in the texture

enum { ATLAS_WIDTH = 1024, QUARTERS = 4 };

/// A letter at a size, so many quarters of a pixel right of a whole one.
typedef struct glyph {
    uint32_t letter;
    float size;
    int quarter;
    int x, y, width, height;  // where it lies in the texture
    int left, top;            // pixels from the pen to its upper left corner
} glyph;

/// A rectangle on the picture, what is drawn in it, and how.
typedef struct text_quad {
    float place[4], part[4];  // x, y, width, height: pixels of the picture, of the texture
    float color[3];
} text_quad;

typedef struct quad_list {
    text_quad *of;
    size_t count, room;
} quad_list;

/// Pixels that a label takes.
typedef struct text_box {
    float left, top, right, bottom;
} text_box;

enum { MOST_BOXES = 256 };  // more are not kept from covering each other

struct text_pen {
    GLuint program, vao, buffer, texture;
    stbtt_fontinfo font;
    int ascent, descent, gap;  // font units
    glyph *glyphs;
    size_t glyph_count, glyph_room;
    uint8_t *atlas;  // [height][ATLAS_WIDTH][2]: the letter, its shade
    int height, most, shelf, shelf_height, end;
    bool changed;  // the texture is not what OpenGL has
    quad_list letters, plates;
    text_box boxes[MOST_BOXES];  // of the labels drawn so far
    int box_count;
    float lower;  // edge of the label drawn last
};

/// Pixels of shade around a letter.
static float shade_reach(float size) { return fminf(fmaxf(0.13f * size, 2), 8); }

/// Grown: the most of the letter within reach, the less the farther away.
static void make_shade(const text_pen *pen, const glyph *g)
{
    const float reach = shade_reach(g->size);
    const int most = (int)ceilf(reach);
    for (int y = 0; y < g->height; y++)
        for (int x = 0; x < g->width; x++) {
            float best = 0;
            for (int j = -most; j <= most; j++)
                for (int i = -most; i <= most; i++) {
                    if (x + i < 0 || x + i >= g->width || y + j < 0 || y + j >= g->height) continue;
                    const float near = fminf(1.6f * (1 - sqrtf((float)(i * i + j * j)) / (reach + 0.5f)), 1);
                    best = fmaxf(best, near * pen->atlas[2 * ((g->y + y + j) * ATLAS_WIDTH + g->x + x + i)]);
                }
            pen->atlas[2 * ((g->y + y) * ATLAS_WIDTH + g->x + x) + 1] = (uint8_t)(best + 0.5f);
        }
}

/// Room in the texture, row by row, one pixel apart. False: none.
static bool find_room(text_pen *pen, glyph *g)
{
    if (g->width + 1 > ATLAS_WIDTH) return false;
    if (pen->end + g->width + 1 > ATLAS_WIDTH) pen->shelf += pen->shelf_height, pen->shelf_height = pen->end = 0;
    int height = pen->height ? pen->height : 128;
    while (height < pen->shelf + g->height + 1) height *= 2;
    if (height > pen->most) return false;
    if (height > pen->height) {
        uint8_t *const atlas = realloc(pen->atlas, 2 * (size_t)height * ATLAS_WIDTH);
        if (!atlas) return false;
        memset(atlas + 2 * (size_t)pen->height * ATLAS_WIDTH, 0, 2 * (size_t)(height - pen->height) * ATLAS_WIDTH);
        pen->atlas = atlas, pen->height = height;
    }
    g->x = pen->end, g->y = pen->shelf;
    pen->end += g->width + 1;
    if (g->height + 1 > pen->shelf_height) pen->shelf_height = g->height + 1;
    return true;
}

/// NULL: no room.
static const glyph *find_glyph(text_pen *pen, uint32_t letter, float size, int quarter)
{
    for (size_t k = 0; k < pen->glyph_count; k++) {
        const glyph *const g = &pen->glyphs[k];
        if (g->letter == letter && g->size == size && g->quarter == quarter) return g;
    }
    if (pen->glyph_count == pen->glyph_room) {
        glyph *const glyphs = realloc(pen->glyphs, (2 * pen->glyph_room + 64) * sizeof *glyphs);
        if (!glyphs) return NULL;
        pen->glyphs = glyphs, pen->glyph_room = 2 * pen->glyph_room + 64;
    }
    const float scale = stbtt_ScaleForMappingEmToPixels(&pen->font, size), right = (float)quarter / QUARTERS;
    const int which = stbtt_FindGlyphIndex(&pen->font, (int)letter), margin = (int)ceilf(shade_reach(size)) + 1;
    glyph g = {.letter = letter, .size = size, .quarter = quarter};
    int x0, y0, x1, y1;
    stbtt_GetGlyphBitmapBoxSubpixel(&pen->font, which, scale, scale, right, 0, &x0, &y0, &x1, &y1);
    if (x1 > x0 && y1 > y0) {
        const int width = x1 - x0, height = y1 - y0;
        g.width = width + 2 * margin, g.height = height + 2 * margin, g.left = x0 - margin, g.top = y0 - margin;
        uint8_t *const ink = malloc((size_t)width * (size_t)height);
        if (!ink || !find_room(pen, &g)) {
            free(ink);
            return NULL;
        }
        stbtt_MakeGlyphBitmapSubpixel(&pen->font, ink, width, height, width, scale, scale, right, 0, which);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                pen->atlas[2 * ((g.y + margin + y) * ATLAS_WIDTH + g.x + margin + x)] = ink[y * width + x];
        free(ink);
        make_shade(pen, &g);
        pen->changed = true;
    }
    pen->glyphs[pen->glyph_count] = g;
    return &pen->glyphs[pen->glyph_count++];
}

/// Pixels from a letter to the next one.
static float advance(const text_pen *pen, uint32_t letter, float size)
{
    int units, bearing;
    stbtt_GetCodepointHMetrics(&pen->font, (int)letter, &units, &bearing);
    return (float)units * stbtt_ScaleForMappingEmToPixels(&pen->font, size);
}

static float line_height(const text_pen *pen, float size)
{
    return (float)(pen->ascent - pen->descent + pen->gap) * stbtt_ScaleForMappingEmToPixels(&pen->font, size);
}

/// The end of the line at `text`, at most `most` wide: at \n, else at the last space that fits, else at the last letter that
/// does.
static const char *line_end(const text_pen *pen, const char *text, float size, float most, float *width)
{
    const char *space = NULL;
    float x = 0, before = 0;
    for (const char *first = text, *next; *text && *text != '\n'; text = next) {
        next = text;
        const float step = advance(pen, next_letter(&next), size);
        if (*text == ' ') space = text, before = x;
        else if (most > 0 && x + step > most && text > first) return space ? (*width = before, space) : (*width = x, text);
        x += step;
    }
    *width = x;
    return text;
}

/// The line behind one that has its end there.
static const char *next_line(const char *end) { return *end == '\n' || *end == ' ' ? end + 1 : end; }

static void open_font(text_pen *pen)
{
    stbtt_InitFont(&pen->font, font_file, 0);
    stbtt_GetFontVMetrics(&pen->font, &pen->ascent, &pen->descent, &pen->gap);
}

void text_size(const text_pen *pen, const char *text, float size, float most, float *width, float *height)
{
    text_pen own;
    if (!pen) open_font(&own), pen = &own;
    *width = 0, *height = line_height(pen, size);
    for (const char *end; *text; text = next_line(end)) {
        float x;
        end = line_end(pen, text, size, most, &x);
        *width = fmaxf(*width, x);
        if (*end) *height += line_height(pen, size);
    }
}

// ---- drawing

static const char text_vertex[] =
    "#version 330 core\n"
    "layout(location = 0) in vec4 place; layout(location = 1) in vec4 part; layout(location = 2) in vec3 colour;\n"
    "uniform vec2 size;\nout vec2 at; flat out vec3 paint;\n"
    "void main() {\n"
    "    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1), p = place.xy + corner * place.zw;\n"
    "    at = part.xy + corner * part.zw; paint = colour;\n"
    "    gl_Position = vec4(p.x / size.x * 2 - 1, 1 - p.y / size.y * 2, 0, 1);\n"
    "}\n";
static const char text_fragment[] =
    "#version 330 core\nin vec2 at; flat in vec3 paint;\nuniform sampler2D letters; uniform int what;\nout vec4 result;\n"
    "void main() {\n"
    "    const vec3 dark = vec3(0.05, 0.06, 0.08);\n"
    "    vec2 ink = texelFetch(letters, ivec2(at), 0).rg;\n"
    "    result = what == 0 ? vec4(dark, paint.r) : what == 1 ? vec4(dark, 0.75 * ink.g) : vec4(paint, ink.r);\n"
    "}\n";

text_pen *text_pen_create(ctn_error *err)
{
    text_pen *const pen = calloc(1, sizeof *pen);
    if (!pen) return fail(err, CTN_NO_MEMORY, "not enough memory for text"), NULL;
    open_font(pen);
    if (!(pen->program = program_link(text_vertex, text_fragment, "text", err))) {
        free(pen);
        return NULL;
    }
    glGetIntegerv(GL_MAX_TEXTURE_SIZE, &pen->most);
    glGenVertexArrays(1, &pen->vao), glGenBuffers(1, &pen->buffer), glGenTextures(1, &pen->texture);
    glBindVertexArray(pen->vao), glBindBuffer(GL_ARRAY_BUFFER, pen->buffer);
    program_input(0, 4, sizeof(text_quad), offsetof(text_quad, place), 1);
    program_input(1, 4, sizeof(text_quad), offsetof(text_quad, part), 1);
    program_input(2, 3, sizeof(text_quad), offsetof(text_quad, color), 1);
    return pen;
}

void text_pen_free(text_pen *pen)
{
    if (!pen) return;
    glDeleteProgram(pen->program), glDeleteVertexArrays(1, &pen->vao), glDeleteBuffers(1, &pen->buffer);
    glDeleteTextures(1, &pen->texture);
    free(pen->glyphs), free(pen->atlas), free(pen->letters.of), free(pen->plates.of);
    free(pen);
}

static bool put_quad(quad_list *l, text_quad quad)
{
    if (l->count == l->room) {
        text_quad *const of = realloc(l->of, (2 * l->room + 64) * sizeof *of);
        if (!of) return false;
        l->of = of, l->room = 2 * l->room + 64;
    }
    l->of[l->count++] = quad;
    return true;
}

/// Behind a text that takes so many pixels.
static bool put_plate(text_pen *pen, const label *l, text_box b)
{
    const float room = label_margin(l->size), left = floorf(b.left - room), top = floorf(b.top - room / 2);
    return put_quad(&pen->plates,
                    (text_quad){{left, top, ceilf(b.right + room) - left, ceilf(b.bottom + room / 2) - top}, {0}, {l->plate}});
}

/// A letter whose pen stands at x on the whole row y.
static bool put_letter(text_pen *pen, const label *l, uint32_t letter, float x, float y)
{
    const float quarters = floorf(x * QUARTERS + 0.5f), whole = floorf(quarters / QUARTERS);
    const glyph *const g = find_glyph(pen, letter, l->size, (int)(quarters - whole * QUARTERS));
    if (!g) return false;
    if (!g->width) return true;
    return put_quad(&pen->letters, (text_quad){{whole + (float)g->left, y + (float)g->top, (float)g->width, (float)g->height},
                                               {(float)g->x, (float)g->y, (float)g->width, (float)g->height},
                                               {l->color[0], l->color[1], l->color[2]}});
}

/// But for half a pixel, so that lines fit under each other.
static bool is_free(const text_pen *pen, text_box b)
{
    b.left += 0.5f, b.top += 0.5f, b.right -= 0.5f, b.bottom -= 0.5f;
    for (int k = 0; k < pen->box_count; k++) {
        const text_box *const other = &pen->boxes[k];
        if (b.left < other->right && other->left < b.right && b.top < other->bottom && other->top < b.bottom) return false;
    }
    return true;
}

/// How far a label at a point in space goes up (or down) by whole lines so that it covers no other; 0 if it would have to go far.
static float free_shift(const text_pen *pen, text_box b, float line, int height)
{
    enum { FAR = 6 };
    for (int n = 0; n <= 2 * FAR; n++) {
        const float shift = (float)(n % 2 ? -(n + 1) / 2 : n / 2) * line;
        const text_box at = {b.left, b.top + shift, b.right, b.bottom + shift};
        if (is_free(pen, at) && (!n || (at.top >= 0 && at.bottom <= (float)height))) return shift;
    }
    return 0;
}

static bool put_label(text_pen *pen, const label *l, const char *text, const matrix4 *clip, int width, int height)
{
    float x = l->position[0], y = l->position[1], wide, high;
    if (l->in_space) {
        float c[4];
        for (int i = 0; i < 4; i++)
            c[i] =
                clip->m[i] * l->position[0] + clip->m[4 + i] * l->position[1] + clip->m[8 + i] * l->position[2] + clip->m[12 + i];
        if (c[2] + c[3] <= 0) return true;
        x = (0.5f + 0.5f * c[0] / c[3]) * (float)width, y = (0.5f - 0.5f * c[1] / c[3]) * (float)height;
    }
    if (l->below) y += pen->lower;
    if (!(fabsf(x) < 1e6f && fabsf(y) < 1e6f)) return true;  // far off the picture, or nowhere
    text_size(pen, text, l->size, l->width, &wide, &high);
    const float left = x + l->shift[0] - l->align[0] * wide;
    const float ascent = (float)pen->ascent * stbtt_ScaleForMappingEmToPixels(&pen->font, l->size);
    y += l->shift[1] - l->align[1] * high;
    if (l->in_space) y += free_shift(pen, (text_box){left, y, left + wide, y + high}, line_height(pen, l->size), height);
    const text_box box = {left, y, left + wide, y + high};
    if (pen->box_count < MOST_BOXES) pen->boxes[pen->box_count++] = box;
    pen->lower = y + high;
    bool all = !(l->plate > 0 && wide > 0) || put_plate(pen, l, box);
    for (const char *end; *text; text = next_line(end), y += line_height(pen, l->size)) {
        float x_end;
        end = line_end(pen, text, l->size, l->width, &x_end);
        for (x = left; text < end;) {
            const uint32_t letter = next_letter(&text);
            all = put_letter(pen, l, letter, x, floorf(y + ascent + 0.5f)) && all;
            x += advance(pen, letter, l->size);
        }
    }
    return all;
}

static void send_letters(text_pen *pen)
{
    glBindTexture(GL_TEXTURE_2D, pen->texture);
    if (!pen->changed) return;
    glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RG8, ATLAS_WIDTH, pen->height, 0, GL_RG, GL_UNSIGNED_BYTE, pen->atlas);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    pen->changed = false;
}

/// Draws rectangles: 0 plates, 1 shades of letters, 2 letters.
static void draw_quads(const text_pen *pen, const quad_list *l, int first, int last)
{
    if (!l->count) return;
    glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)(l->count * sizeof *l->of), l->of, GL_STREAM_DRAW);
    for (int what = first; what <= last; what++) {
        glUniform1i(glGetUniformLocation(pen->program, "what"), what);
        glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, (GLsizei)l->count);
    }
}

bool text_pen_draw(text_pen *pen, const label_list *labels, const matrix4 *clip, int width, int height, float scale)
{
    bool all = true;
    pen->letters.count = pen->plates.count = 0;
    pen->box_count = 0, pen->lower = 0;
    for (size_t k = 0; k < 2 * labels->count; k++) {  // those on the picture first: the others make room for them
        label l = labels->of[k % labels->count];
        if (l.in_space != (k >= labels->count)) continue;
        l.size *= scale, l.width *= scale, l.shift[0] *= scale, l.shift[1] *= scale;
        all = put_label(pen, &l, labels->letters + l.text, clip, width, height) && all;
    }
    if (!pen->letters.count) return all;
    glActiveTexture(GL_TEXTURE0);
    send_letters(pen);
    glBindVertexArray(pen->vao), glBindBuffer(GL_ARRAY_BUFFER, pen->buffer);
    glUseProgram(pen->program);
    glUniform2f(glGetUniformLocation(pen->program, "size"), (float)width, (float)height);
    glUniform1i(glGetUniformLocation(pen->program, "letters"), 0);
    glDisable(GL_DEPTH_TEST), glDisable(GL_CULL_FACE);
    glEnable(GL_BLEND), glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
    draw_quads(pen, &pen->plates, 0, 0), draw_quads(pen, &pen->letters, 1, 2);
    glEnable(GL_DEPTH_TEST), glEnable(GL_CULL_FACE), glDisable(GL_BLEND);
    return all;
}

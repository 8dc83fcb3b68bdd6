/// Each piece of a line is a rectangle on the picture, an instance that also sees the points before and after it, so that pieces
/// meet without gap or overlap. Edges are smoothed over a pixel by opacity.
#include "render/draw/lines.h"

#include "render/draw/programs.h"
#include "sim/base/status.h"

#include <stdlib.h>
#include <string.h>

bool line_list_add(line_list *l, const line_point *points, size_t count)
{
    if (!count) return true;
    const size_t more = count == 1 ? 4 : count + 2;  // both ends twice; a disc is a piece of length zero
    if (l->count + more > l->room) {
        const size_t room = 2 * (l->count + more);
        line_point *const of = realloc(l->of, room * sizeof *of);
        if (!of) return false;
        l->of = of, l->room = room;
    }
    line_point *const to = l->of + l->count;
    for (size_t k = 0; k < more; k++) to[k] = points[k < 1 ? 0 : k - 1 < count ? k - 1 : count - 1];
    to[0].width = to[more - 1].width = -1;  // no piece begins or ends there
    l->count += more;
    return true;
}

void line_list_clear(line_list *l) { l->count = 0; }

void line_list_free(line_list *l)
{
    free(l->of);
    *l = (line_list){NULL, 0, 0};
}

// ---- drawing

/// What is at or behind the near plane is cut off, as it has no place on the picture.
static const char line_vertex[] =
    "#version 330 core\n"
    "layout(location = 0) in vec3 before; layout(location = 1) in vec3 from; layout(location = 2) in float from_width;\n"
    "layout(location = 3) in vec4 from_colour; layout(location = 4) in float hidden; layout(location = 5) in vec3 to;\n"
    "layout(location = 6) in float to_width; layout(location = 7) in vec4 to_colour; layout(location = 8) in vec3 after;\n"
    "layout(location = 9) in float thickness;\n"
    "uniform mat4 to_clip; uniform vec2 size; uniform float scale; uniform bool behind;\n"
    "out vec2 at; out float half_width; out vec4 paint;\n"
    "vec4 place(vec3 x) {\n"
    "    return hidden < 0 ? vec4(x.x / size.x * 2 - 1, 1 - x.y / size.y * 2, -1, 1) : to_clip * vec4(x, 1);\n"
    "}\n"
    "float seen(vec4 x) { return hidden < 0 ? 1 : x.z + x.w; }\n"
    "vec2 pixel(vec4 x) { return x.xy / x.w * 0.5 * size; }\n"
    "void main() {\n"
    "    bool end = gl_VertexID > 1;\n"
    "    float side = gl_VertexID % 2 == 0 ? -1 : 1;\n"
    "    vec4 a = place(from), b = place(to), c = place(end ? after : before);\n"
    "    float a_seen = seen(a), b_seen = seen(b);\n"
    "    gl_Position = vec4(2, 2, 2, 1); at = vec2(0); half_width = 0; paint = vec4(0);\n"
    "    if (from_width < 0 || to_width < 0 || (a_seen <= 0 && b_seen <= 0) || (behind && hidden <= 0)) return;\n"
    "    float cut = a_seen / (a_seen - b_seen), t0 = a_seen <= 0 ? cut + 1e-5 : 0, t1 = b_seen <= 0 ? cut - 1e-5 : 1;\n"
    "    float share = end ? t1 : t0;\n"
    "    vec4 here = mix(a, b, share);\n"
    "    vec2 p = pixel(here), along = pixel(mix(a, b, t1)) - pixel(mix(a, b, t0)), turn = end ? pixel(c) - p : p - pixel(c);\n"
    "    float magnified = length(vec3(to_clip[0].y, to_clip[1].y, to_clip[2].y));\n"
    "    bool disc = from == to;\n"
    "    vec2 d = length(along) > 1e-4 ? normalize(along) : vec2(1, 0), normal = vec2(-d.y, d.x), offset = normal;\n"
    "    if (!disc && seen(c) > 0 && length(turn) > 1e-3) {\n"
    "        vec2 e = normalize(turn), middle = normal + vec2(-e.y, e.x);\n"
    "        if (dot(d, e) > 0.5) offset = middle / dot(middle, normal);\n"
    "    }\n"
    "    float own = mix(from_width, to_width, share), width = scale * own;\n"
    "    if (thickness > 0) width = min(width, thickness * 0.5 * size.y * magnified / here.w * own / max(from_width, "
    "to_width));\n"
    "    half_width = 0.5 * width;\n"
    "    float reach = half_width + 1;\n"
    "    at = vec2(side * reach, disc ? (end ? reach : -reach) : 0);\n"
    "    p += side * reach * offset + at.y * d;\n"
    "    paint = mix(from_colour, to_colour, share);\n"
    "    if (behind) paint.a *= hidden;\n"
    "    gl_Position = vec4(p / (0.5 * size), here.z / here.w, 1);\n"
    "}\n";
static const char line_fragment[] = "#version 330 core\nin vec2 at; in float half_width; in vec4 paint;\nout vec4 result;\n"
                                    "void main() {\n"
                                    "    float covered = clamp(half_width + 0.5 - length(at), 0, 1) * min(2 * half_width, 1);\n"
                                    "    result = vec4(paint.rgb, paint.a * covered);\n"
                                    "}\n";

struct line_pen {
    GLuint program, vao, buffer;
};

line_pen *line_pen_create(ctn_error *err)
{
    line_pen *const pen = calloc(1, sizeof *pen);
    if (!pen) return fail(err, CTN_NO_MEMORY, "not enough memory for lines"), NULL;
    if (!(pen->program = program_link(line_vertex, line_fragment, "lines", err))) {
        free(pen);
        return NULL;
    }
    glGenVertexArrays(1, &pen->vao), glGenBuffers(1, &pen->buffer);
    glBindVertexArray(pen->vao), glBindBuffer(GL_ARRAY_BUFFER, pen->buffer);
    enum { POSITION = offsetof(line_point, position), WIDTH = offsetof(line_point, width), COLOR = offsetof(line_point, color) };
    const size_t n = sizeof(line_point);  // instance k: points k to k + 3
    program_input(0, 3, n, POSITION, 1);
    program_input(1, 3, n, n + POSITION, 1), program_input(2, 1, n, n + WIDTH, 1), program_input(3, 4, n, n + COLOR, 1);
    program_input(4, 1, n, n + offsetof(line_point, hidden), 1);
    program_input(9, 1, n, n + offsetof(line_point, thickness), 1);
    program_input(5, 3, n, 2 * n + POSITION, 1), program_input(6, 1, n, 2 * n + WIDTH, 1);
    program_input(7, 4, n, 2 * n + COLOR, 1);
    program_input(8, 3, n, 3 * n + POSITION, 1);
    return pen;
}

void line_pen_free(line_pen *pen)
{
    if (!pen) return;
    glDeleteProgram(pen->program), glDeleteVertexArrays(1, &pen->vao), glDeleteBuffers(1, &pen->buffer);
    free(pen);
}

void line_pen_draw(line_pen *pen, const line_list *lines, const matrix4 *clip, int width, int height, float scale)
{
    if (!lines->count) return;
    glBindVertexArray(pen->vao), glBindBuffer(GL_ARRAY_BUFFER, pen->buffer);
    glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)(lines->count * sizeof *lines->of), lines->of, GL_STREAM_DRAW);
    glUseProgram(pen->program);
    program_matrix(pen->program, "to_clip", clip);
    glUniform2f(glGetUniformLocation(pen->program, "size"), (float)width, (float)height);
    glUniform1f(glGetUniformLocation(pen->program, "scale"), scale);
    glEnable(GL_DEPTH_TEST), glDisable(GL_CULL_FACE), glDepthMask(GL_FALSE);
    glEnable(GL_BLEND), glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
    for (int behind = 1; behind >= 0; behind--) {
        glDepthFunc(behind ? GL_GREATER : GL_LEQUAL);
        glUniform1i(glGetUniformLocation(pen->program, "behind"), behind);
        glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, (GLsizei)(lines->count - 3));
    }
    glDepthFunc(GL_LESS), glDepthMask(GL_TRUE), glEnable(GL_CULL_FACE), glDisable(GL_BLEND);
}

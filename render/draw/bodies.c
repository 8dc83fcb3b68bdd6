/// Kinds of bodies as vertex arrays, of which each instance takes the level that it needs.
#include "render/draw/bodies.h"

#include "render/draw/programs.h"
#include "render/draw/vectors.h"
#include "sim/base/status.h"

#include <glad/gl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void make_body(body *b, const mesh *m)
{
    *b = (body){.index_count = (GLsizei)m->nindex};
    glGenVertexArrays(1, &b->vao), glGenBuffers(1, &b->vertices), glGenBuffers(1, &b->indices), glGenBuffers(1, &b->instances);
    glBindVertexArray(b->vao);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, b->indices);
    glBufferData(GL_ELEMENT_ARRAY_BUFFER, (GLsizeiptr)(m->nindex * sizeof *m->indices), m->indices, GL_STATIC_DRAW);
    glBindBuffer(GL_ARRAY_BUFFER, b->vertices);
    glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)(m->nvertex * sizeof *m->vertices), m->vertices, GL_STATIC_DRAW);
    program_input(0, 3, sizeof *m->vertices, offsetof(mesh_vertex, position), 0);
    program_input(1, 3, sizeof *m->vertices, offsetof(mesh_vertex, normal), 0);
    program_input(2, 1, sizeof *m->vertices, offsetof(mesh_vertex, side), 0);
    glBindBuffer(GL_ARRAY_BUFFER, b->instances);
    const size_t stride = sizeof(render_instance);
    for (GLuint row = 0; row < 3; row++) program_input(3 + row, 3, stride, offsetof(render_instance, rotation) + 12 * row, 1);
    program_input(6, 3, stride, offsetof(render_instance, position), 1),
        program_input(7, 3, stride, offsetof(render_instance, scale), 1);
    program_input(8, 1, stride, offsetof(render_instance, half), 1),
        program_input(9, 3, stride, offsetof(render_instance, color), 1);
    glEnableVertexAttribArray(10);
    glVertexAttribIPointer(10, 1, GL_UNSIGNED_INT, (GLsizei)stride, (const void *)offsetof(render_instance, id));
    glVertexAttribDivisor(10, 1);
    program_input(11, 1, stride, offsetof(render_instance, fade), 1);
    program_input(12, 1, stride, offsetof(render_instance, lift), 1);
}

/// Takes away all bodies of kinds `first` and above.
static void drop_bodies(body_store *s, int first)
{
    for (int k = first * MESH_LEVELS; k < s->kinds * MESH_LEVELS; k++) {
        const GLuint buffers[] = {s->bodies[k].vertices, s->bodies[k].indices, s->bodies[k].instances};
        glDeleteBuffers(3, buffers), glDeleteVertexArrays(1, &s->bodies[k].vao);
    }
    s->kinds = first < s->kinds ? first : s->kinds;
}

static bool grow_bodies(body_store *s, int kinds)
{
    const size_t all = (size_t)kinds * MESH_LEVELS, had = (size_t)s->kinds * MESH_LEVELS;
    body *const bodies = realloc(s->bodies, all * sizeof *bodies);
    if (!bodies) return false;
    memset(bodies + had, 0, (all - had) * sizeof *bodies);
    s->bodies = bodies, s->kinds = kinds;
    return true;
}

bool bodies_create(body_store *s)
{
    if (!grow_bodies(s, MESHES)) return false;
    for (int k = 0; k < MESHES * MESH_LEVELS; k++) {
        mesh m = mesh_create((mesh_kind)(k / MESH_LEVELS), k % MESH_LEVELS);
        if (!m.vertices) return false;
        make_body(&s->bodies[k], &m);
        mesh_free(&m);
    }
    return true;
}

/// A surface at all its levels. False: no memory.
static bool make_levels(body *of, const mesh *finest)
{
    make_body(&of[0], finest);
    mesh last = {0};
    bool ok = true;
    for (int level = 1; level < MESH_LEVELS && ok; level++) {
        mesh next = mesh_coarsen(level > 1 ? &last : finest, level);
        if ((ok = next.vertices)) make_body(&of[level], &next);
        mesh_free(&last);
        last = next;
    }
    mesh_free(&last);
    return ok;
}

ctn_status bodies_set_meshes(body_store *s, const mesh *meshes, int count, ctn_error *err)
{
    drop_bodies(s, MESHES);
    bool ok = grow_bodies(s, MESHES + count);
    for (int k = 0; k < count && ok; k++) ok = make_levels(&s->bodies[(MESHES + k) * MESH_LEVELS], &meshes[k]);
    return ok ? CTN_OK : fail(err, CTN_NO_MEMORY, "not enough memory for %d meshes", count);
}

size_t bodies_triangles(const body_store *s)
{
    size_t sum = 0;
    for (int k = 0; k < s->kinds * MESH_LEVELS; k++) sum += s->bodies[k].count * (size_t)s->bodies[k].index_count / 3;
    return sum;
}

/// How many pixels the radius of an instance has, where it is nearest to the camera. What is out of sight may have a shadow
/// there: it counts as seen from the side.
static double radius_in_pixels(const render_instance *x, const sight *from)
{
    const float *const p = x->position, *const m = from->clip.m;
    const double radius = fmaxf(x->scale[0], fmaxf(x->scale[1], x->scale[2])),
                 depth = m[3] * p[0] + m[7] * p[1] + m[11] * p[2] + m[15];
    const double d[3] = {p[0] - from->eye[0], p[1] - from->eye[1], p[2] - from->eye[2]};
    const double near = fmax(depth, 0.2 * vector_length(d)) - radius - x->half;
    return near > 0 ? radius / (near * from->pixel) : INFINITY;
}

static bool grow_sorted(body_store *s, size_t count)
{
    if (count <= s->most) return true;
    render_instance *const sorted = realloc(s->sorted, 2 * count * sizeof *sorted);
    if (sorted) s->sorted = sorted;
    uint8_t *const levels = sorted ? realloc(s->levels, 2 * count) : NULL;
    if (levels) s->levels = levels, s->most = 2 * count;
    return levels;
}

/// The instances of one kind to the buffers of their levels.
static void send_kind(body_store *s, int kind, const render_instance *all, size_t count, const sight *from)
{
    size_t next[MESH_LEVELS] = {0};
    body *const of = s->bodies + kind * MESH_LEVELS;
    for (size_t n = 0; n < count; n++) {
        s->levels[n] = (uint8_t)mesh_level((mesh_kind)kind, radius_in_pixels(&all[n], from));
        next[s->levels[n]]++;
    }
    for (size_t k = 0, start = 0; k < MESH_LEVELS; k++) of[k].count = next[k], next[k] = start, start += of[k].count;
    for (size_t n = 0; n < count; n++) s->sorted[next[s->levels[n]]++] = all[n];
    for (size_t k = 0; k < MESH_LEVELS; k++) {
        const size_t size = of[k].count * sizeof *all;
        if (!size) continue;
        glBindBuffer(GL_ARRAY_BUFFER, of[k].instances);
        if (size > of[k].room) of[k].room = size;
        glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)of[k].room, NULL,
                     GL_STREAM_DRAW);  // a fresh one: the last picture may still be drawn
        glBufferSubData(GL_ARRAY_BUFFER, 0, (GLsizeiptr)size, s->sorted + (next[k] - of[k].count));
    }
}

ctn_status bodies_send(body_store *s, const instance_list *list, const sight *from, ctn_error *err)
{
    for (int k = 0; k < s->kinds * MESH_LEVELS; k++) s->bodies[k].count = 0;
    for (int k = 0; k < list->kinds; k++) {
        if (!list->count[k]) continue;
        if (k >= s->kinds)
            return fail(err, CTN_BAD_ARGUMENT, "the renderer has no mesh %d: renderer_set_meshes is missing", k - MESHES);
        if (!grow_sorted(s, list->count[k])) return fail(err, CTN_NO_MEMORY, "not enough memory for %zu bodies", list->count[k]);
        send_kind(s, k, list->of[k], list->count[k], from);
    }
    return CTN_OK;
}

void bodies_draw(const body_store *s)
{
    for (int k = 0; k < s->kinds * MESH_LEVELS; k++) {
        const body *const b = &s->bodies[k];
        if (!b->count) continue;
        glBindVertexArray(b->vao);
        glDrawElementsInstanced(GL_TRIANGLES, b->index_count, GL_UNSIGNED_INT, NULL, (GLsizei)b->count);
    }
}

void bodies_free(body_store *s)
{
    drop_bodies(s, 0);
    free(s->bodies), free(s->sorted), free(s->levels);
}

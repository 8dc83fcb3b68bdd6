/// The passes of a picture: shadows as the sun sees them; sky, ground, bodies and lines into a buffer of several samples a pixel;
/// one sample out, and text onto it.
#include "render/draw/renderer.h"

#include "render/draw/bodies.h"
#include "render/draw/framebuffers.h"
#include "render/draw/programs.h"
#include "render/draw/shaders.h"
#include "render/draw/shadows.h"
#include "render/draw/foreground.h"
#include "sim/base/status.h"

#include <float.h>
#include <glad/gl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_A_PIXEL = 4 };

static const float horizon[] = {GLSL_HORIZON};  // linear

typedef enum pass { PASS_IDS, PASS_BODIES, PASS_GROUND, PASS_UNDERSIDE, PASS_SHADED, PASS_SKY, PASSES } pass;

/// What sky and ground depend on, but for shadows.
typedef struct view_behind {
    matrix4 clip;
    double axes[3][3], eye[3], field;
    float ground[4], cell;
    bool floor, below;  // there is one; and the eye is below it
} view_behind;

struct renderer {
    int width, height;
    GLuint program[PASSES], empty_vao;
    body_store bodies;
    shadows shadows;
    GLuint frame, color, depth;  // several samples
    int samples;
    GLuint behind_frame, behind_color;  // likewise: sky and ground alone, of the picture before if it had the same
    GLuint backdrop_frame, backdrop;    // the same with one sample
    view_behind behind;
    bool behind_held, behind_refused;
    GLuint flat_frame, flat_color;   // one sample
    GLuint id_frame, ids, id_depth;  // likewise, of numbers; made when first asked for
    line_pen *lines;
    text_pen *text;
    bool letters_missing;
};

// ---- programs

static bool make_programs(renderer *r, ctn_error *err)
{
    static const struct {
        const char *vertex, *fragment, *name;
    } of[PASSES] = {[PASS_IDS] = {id_vertex, id_fragment, "ids"},
                    [PASS_BODIES] = {body_vertex, body_fragment, "bodies"},
                    [PASS_GROUND] = {ground_vertex, ground_fragment, "ground"},
                    [PASS_UNDERSIDE] = {ground_vertex, underside_fragment, "ground from below"},
                    [PASS_SHADED] = {shaded_vertex, shaded_fragment, "shaded ground"},
                    [PASS_SKY] = {sky_vertex, sky_fragment, "sky"}};
    for (int k = 0; k < PASSES; k++)
        if (!(r->program[k] = program_link(of[k].vertex, of[k].fragment, of[k].name, err))) return false;
    return true;
}

// ---- framebuffers

/// What pictures of the renderer's size are drawn into.
static bool make_frames(renderer *r, ctn_error *err)
{
    GLint most = 1;
    glGetIntegerv(GL_MAX_SAMPLES, &most);
    const int samples = r->samples = most < SAMPLES_A_PIXEL ? most : SAMPLES_A_PIXEL;
    r->frame = framebuffer_create();
    r->color = framebuffer_buffer(samples, GL_RGBA8, r->width, r->height, GL_COLOR_ATTACHMENT0);
    r->depth = framebuffer_buffer(samples, GL_DEPTH_COMPONENT24, r->width, r->height, GL_DEPTH_ATTACHMENT);
    if (!framebuffer_complete("pictures", err)) return false;
    r->flat_frame = framebuffer_create();
    r->flat_color = framebuffer_buffer(0, GL_RGBA8, r->width, r->height, GL_COLOR_ATTACHMENT0);
    return framebuffer_complete("finished pictures", err);
}

static void free_behind(renderer *r)
{
    const GLuint frames[] = {r->behind_frame, r->backdrop_frame}, buffers[] = {r->behind_color, r->backdrop};
    glDeleteFramebuffers(2, frames), glDeleteRenderbuffers(2, buffers);
    r->behind_frame = r->backdrop_frame = r->behind_color = r->backdrop = 0;
}

static ctn_status report(GLenum error, ctn_error *err)
{
    if (error == GL_CONTEXT_LOST) return fail(err, CTN_UNAVAILABLE, "the OpenGL context is lost: the driver was reset");
    return error ? fail(err, CTN_UNAVAILABLE, "OpenGL reports error 0x%x: the picture is lost", error) : CTN_OK;
}

/// The buffer for what is behind. Where there is no room for it, that is drawn each time. CTN_UNAVAILABLE for what went wrong
/// before.
static ctn_status make_behind(renderer *r, ctn_error *err)
{
    enum { MOST_ERRORS = 16 };
    if (r->behind_frame || r->behind_refused) return CTN_OK;
    const ctn_status status = report(glGetError(), err);
    if (status != CTN_OK) return status;
    r->behind_frame = framebuffer_create();
    r->behind_color = framebuffer_buffer(r->samples, GL_RGBA8, r->width, r->height, GL_COLOR_ATTACHMENT0);
    const bool several = framebuffer_complete("sky and ground", NULL);
    r->backdrop_frame = framebuffer_create();
    r->backdrop = framebuffer_buffer(0, GL_RGBA8, r->width, r->height, GL_COLOR_ATTACHMENT0);
    r->behind_refused = !several || !framebuffer_complete("sky and ground", NULL) || glGetError() != GL_NO_ERROR;
    glBindFramebuffer(GL_FRAMEBUFFER, r->frame);
    if (!r->behind_refused) return CTN_OK;
    for (int k = 0; k < MOST_ERRORS && glGetError() != GL_NO_ERROR; k++) continue;  // the picture lacks nothing
    free_behind(r);
    return CTN_OK;
}

static void free_frames(renderer *r)
{
    const GLuint frames[] = {r->frame, r->flat_frame, r->id_frame};
    const GLuint buffers[] = {r->color, r->depth, r->flat_color, r->ids, r->id_depth};
    glDeleteFramebuffers(3, frames), glDeleteRenderbuffers(5, buffers);
    r->frame = r->flat_frame = r->id_frame = r->color = r->depth = r->flat_color = r->ids = r->id_depth = 0;
    free_behind(r);
    r->behind_held = r->behind_refused = false;
}

ctn_status renderer_resize(renderer *r, int width, int height, ctn_error *err)
{
    GLint most = 0;
    glGetIntegerv(GL_MAX_RENDERBUFFER_SIZE, &most);
    if (width > most || height > most)
        return fail(err, CTN_BAD_ARGUMENT, "size: expected at most %dx%d with this OpenGL, found %dx%d", most, most, width,
                    height);
    free_frames(r);
    r->width = width, r->height = height;
    ctn_error why;
    if (make_frames(r, &why) && shadows_fit(&r->shadows, width, height, &why)) return CTN_OK;
    return fail(err, CTN_UNAVAILABLE, "size: this OpenGL has no room for pictures of %dx%d, make them smaller: %s", width, height,
                why.message);
}

renderer *renderer_create(int width, int height, ctn_error *err)
{
    renderer *const r = calloc(1, sizeof *r);
    if (!r) {
        fail(err, CTN_NO_MEMORY, "not enough memory for a renderer");
        return NULL;
    }
    glGenVertexArrays(1, &r->empty_vao);
    bool ok = make_programs(r, err) && shadows_create(&r->shadows, err) && renderer_resize(r, width, height, err) == CTN_OK;
    if (ok && !(ok = bodies_create(&r->bodies))) fail(err, CTN_NO_MEMORY, "not enough memory for a renderer");
    ok = ok && (r->lines = line_pen_create(err)) && (r->text = text_pen_create(err));
    if (ok) return r;
    renderer_free(r);
    return NULL;
}

void renderer_free(renderer *r)
{
    if (!r) return;
    for (int k = 0; k < PASSES; k++) glDeleteProgram(r->program[k]);
    free_frames(r);
    line_pen_free(r->lines), text_pen_free(r->text);
    shadows_free(&r->shadows);
    glDeleteVertexArrays(1, &r->empty_vao);
    bodies_free(&r->bodies);
    free(r);
}

ctn_status renderer_set_meshes(renderer *r, const mesh *meshes, int count, ctn_error *err)
{
    return bodies_set_meshes(&r->bodies, meshes, count, err);
}

size_t renderer_triangles(const renderer *r) { return bodies_triangles(&r->bodies); }

// ---- pictures

/// Round bodies are right to a quarter of a pixel: by half a pixel one of two in the same place is nearer.
static double lift_of(const render_camera *camera, const sight *from) { return camera->near * from->pixel; }

static sight sight_of(const renderer *r, const render_camera *camera)
{
    return (sight){camera->eye, camera_pixel(camera, r->height), camera_matrix(camera, (double)r->width / r->height)};
}

/// The largest of 1, 10, 100 ... of which some fit into the scene.
static double cell_size(double radius) { return pow(10, floor(log10(radius)) - 1) * 2; }

/// Above the horizon, over its colour: the more, the higher one looks.
static void draw_sky(const renderer *r, const view_behind *b)
{
    const GLuint sky = r->program[PASS_SKY];
    const double blue = 1.8, half = tan(0.5 * b->field), aspect = (double)r->width / r->height;
    glUseProgram(sky);
    program_number(sky, "tilt", -blue * b->axes[2][2]);
    glUniform2f(glGetUniformLocation(sky, "rise"), (float)(blue * half * aspect * b->axes[0][2]),
                (float)(blue * half * b->axes[1][2]));
    glEnable(GL_CLIP_DISTANCE0), glDisable(GL_DEPTH_TEST);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glDisable(GL_CLIP_DISTANCE0), glEnable(GL_DEPTH_TEST);
}

/// All colours of a framebuffer, to one with as many samples a pixel or with one.
static void copy(const renderer *r, GLuint from, GLuint to)
{
    glBindFramebuffer(GL_READ_FRAMEBUFFER, from), glBindFramebuffer(GL_DRAW_FRAMEBUFFER, to);
    glBlitFramebuffer(0, 0, r->width, r->height, 0, 0, r->width, r->height, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    glBindFramebuffer(GL_FRAMEBUFFER, r->frame);
}

/// One sample out of several in a part of the picture, which takes a CPU long; the rest is sky and ground alone, and known.
static void flatten(const renderer *r, picture_part part)
{
    const int width = part.right - part.left, height = part.high - part.low;
    const bool most = 2L * width * height > (long)r->width * r->height;  // then what is known is not worth copying
    if (!most) {
        copy(r, r->backdrop_frame, r->flat_frame);
        glEnable(GL_SCISSOR_TEST), glScissor(part.left, part.low, width, height);
    }
    copy(r, r->frame, r->flat_frame);
    glDisable(GL_SCISSOR_TEST);
    glBindFramebuffer(GL_FRAMEBUFFER, r->flat_frame);
}

static view_behind behind_of(const render_camera *camera, const sight *from, const scenery *around)
{
    view_behind b;
    double distance = 0;
    memset(&b, 0, sizeof b);  // padding, too: it is compared
    camera_axes(camera, b.axes);
    for (int k = 0; k < 3; k++) distance += (camera->eye[k] - camera->target[k]) * b.axes[2][k];
    for (int k = 0; k < 3; k++) b.eye[k] = camera->eye[k];
    b.clip = from->clip, b.field = camera->field, b.cell = (float)cell_size(around->radius);
    b.floor = isfinite(around->floor), b.below = b.floor && b.eye[2] < around->floor;
    const double height = b.floor ? fabs(b.eye[2] - around->floor) : 0;
    b.ground[0] = (float)camera->target[0], b.ground[1] = (float)camera->target[1];
    b.ground[2] = b.floor ? (float)around->floor : -FLT_MAX,
    b.ground[3] = (float)fmin(12 * fmax(distance, height), 0.6 * camera->far);
    return b;
}

static void give_floor(GLuint program, const view_behind *b)
{
    program_number(program, "cell", b->cell);
    glUniform4f(glGetUniformLocation(program, "ground"), b->ground[0], b->ground[1], b->ground[2], b->ground[3]);
}

static void draw_ground(const renderer *r, const view_behind *b, bool shaded)
{
    const GLuint ground = r->program[shaded ? PASS_SHADED : b->below ? PASS_UNDERSIDE : PASS_GROUND];
    glUseProgram(ground);
    program_matrix(ground, "to_clip", &b->clip), program_vector(ground, "eye", b->eye);
    give_floor(ground, b);
    glDisable(GL_CULL_FACE), glDepthMask(GL_FALSE);  // nothing collides with the ground: what falls through is not hidden
    glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, shaded ? SHADOW_ROWS : 1);
    glEnable(GL_CULL_FACE), glDepthMask(GL_TRUE);
}

/// Sky and ground without shadows. Where the camera stands still they are kept from the second picture on, sample by sample: the
/// same bytes.
static ctn_status draw_behind(renderer *r, const view_behind *b, ctn_error *err)
{
    const bool same = !memcmp(b, &r->behind, sizeof *b);
    if (same && r->behind_held) return copy(r, r->behind_frame, r->frame), CTN_OK;
    glClearColor(sqrtf(horizon[0]), sqrtf(horizon[1]), sqrtf(horizon[2]), 1);
    glClear(GL_COLOR_BUFFER_BIT);
    if (!b->below) draw_sky(r, b);
    if (b->floor) draw_ground(r, b, false);
    r->behind = *b, r->behind_held = false;
    if (!same) return CTN_OK;
    const ctn_status status = make_behind(r, err);
    r->behind_held = status == CTN_OK && r->behind_frame;
    if (r->behind_held) copy(r, r->frame, r->behind_frame), copy(r, r->frame, r->backdrop_frame);
    return status;
}

static void flip(void *picture, size_t row, int height, void *spare)
{
    char *const p = picture;
    for (int i = 0, j = height - 1; i < j; i++, j--) {
        memcpy(spare, p + (size_t)i * row, row);
        memcpy(p + (size_t)i * row, p + (size_t)j * row, row);
        memcpy(p + (size_t)j * row, spare, row);
    }
}

/// Whether the driver was reset, which it may say only once. In such a context nothing is drawn and nothing read, and not every
/// driver counts that as an error.
static bool context_is_lost(void)
{
    static bool lost;  // there is one context in a process
    const GLenum status = GLAD_GL_KHR_robustness   ? glGetGraphicsResetStatus()
                          : GLAD_GL_ARB_robustness ? glGetGraphicsResetStatusARB()
                                                   : GL_NO_ERROR;
    lost = lost || status != GL_NO_ERROR;
    return lost;
}

ctn_status renderer_check(ctn_error *err)
{
    const GLenum error = glGetError();
    return report(context_is_lost() ? GL_CONTEXT_LOST : error, err);
}

/// Reads what is bound for reading, the top row first.
static ctn_status read_pixels(const renderer *r, GLenum format, GLenum type, size_t row, void *picture, ctn_error *err)
{
    void *const spare = malloc(row);
    if (!spare) return fail(err, CTN_NO_MEMORY, "not enough memory for a row of a picture");
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glReadPixels(0, 0, r->width, r->height, format, type, picture);
    flip(picture, row, r->height, spare);
    free(spare);
    return renderer_check(err);
}

ctn_status renderer_paint(renderer *r, const instance_list *bodies, const render_camera *camera, const scenery *around,
                          const overlay *over, ctn_error *err)
{
    const sight from = sight_of(r, camera);
    shadows_aim(&r->shadows, bodies, around);
    const ctn_status sent = bodies_send(&r->bodies, bodies, &from, err);
    if (sent != CTN_OK) return sent;
    glEnable(GL_DEPTH_TEST), glEnable(GL_CULL_FACE), glDisable(GL_BLEND);
    shadows_draw(&r->shadows, &r->bodies);
    glBindFramebuffer(GL_FRAMEBUFFER, r->frame);
    glViewport(0, 0, r->width, r->height);
    glClear(GL_DEPTH_BUFFER_BIT);
    const view_behind behind = behind_of(camera, &from, around);
    glBindVertexArray(r->empty_vao);
    const ctn_status drawn = draw_behind(r, &behind, err);
    if (drawn != CTN_OK) return drawn;
    shadows_give(&r->shadows, r->program[PASS_SHADED]);
    if (behind.floor && !behind.below) draw_ground(r, &behind, true);
    const GLuint program = r->program[PASS_BODIES];
    shadows_give(&r->shadows, program);
    program_matrix(program, "to_clip", &from.clip), program_vector(program, "eye", from.eye);
    program_number(program, "pixel", from.pixel), program_number(program, "over", lift_of(camera, &from));
    give_floor(program, &behind);
    glEnable(GL_SAMPLE_ALPHA_TO_COVERAGE);  // what is seen through covers some of the samples: no order is needed
    bodies_draw(&r->bodies);
    glDisable(GL_SAMPLE_ALPHA_TO_COVERAGE);
    const float scale = over && over->scale > 0 ? (float)over->scale : 1;
    if (over && over->lines) line_pen_draw(r->lines, over->lines, &from.clip, r->width, r->height, scale);
    const picture_part all = {0, 0, r->width, r->height};
    flatten(r, r->behind_held ? picture_foreground(bodies, &r->shadows, around->floor, over ? over->lines : NULL, scale, &from,
                                                   r->width, r->height)
                              : all);
    r->letters_missing = over && over->labels && !text_pen_draw(r->text, over->labels, &from.clip, r->width, r->height, scale);
    return CTN_OK;
}

ctn_status renderer_read(const renderer *r, uint8_t *rgb, ctn_error *err)
{
    if (r->letters_missing) return fail(err, CTN_NO_MEMORY, "not enough memory for the letters of a picture");
    glBindFramebuffer(GL_FRAMEBUFFER, r->flat_frame);
    return read_pixels(r, GL_RGB, GL_UNSIGNED_BYTE, 3 * (size_t)r->width, rgb, err);
}

ctn_status renderer_read_window(const renderer *r, uint8_t *rgb, ctn_error *err)
{
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    return read_pixels(r, GL_RGB, GL_UNSIGNED_BYTE, 3 * (size_t)r->width, rgb, err);
}

void renderer_show(const renderer *r)
{
    glBindFramebuffer(GL_READ_FRAMEBUFFER, r->flat_frame), glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
    glBlitFramebuffer(0, 0, r->width, r->height, 0, 0, r->width, r->height, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
}

ctn_status renderer_draw(renderer *r, const instance_list *bodies, const render_camera *camera, const scenery *around,
                         const overlay *over, uint8_t *rgb, ctn_error *err)
{
    const ctn_status status = renderer_paint(r, bodies, camera, around, over, err);
    return status == CTN_OK ? renderer_read(r, rgb, err) : status;
}

/// Draws ids of the bodies and how far they are away.
static ctn_status draw_ids(renderer *r, const instance_list *bodies, const render_camera *camera, ctn_error *err)
{
    const sight from = sight_of(r, camera);
    static const GLuint none[4] = {0};
    if (!r->id_frame) {
        r->id_frame = framebuffer_create();
        r->ids = framebuffer_buffer(0, GL_R32UI, r->width, r->height, GL_COLOR_ATTACHMENT0);
        r->id_depth = framebuffer_buffer(0, GL_DEPTH_COMPONENT24, r->width, r->height, GL_DEPTH_ATTACHMENT);
        if (!framebuffer_complete("ids", err)) return CTN_UNAVAILABLE;
    }
    const ctn_status sent = bodies_send(&r->bodies, bodies, &from, err);
    if (sent != CTN_OK) return sent;
    glBindFramebuffer(GL_FRAMEBUFFER, r->id_frame);
    glViewport(0, 0, r->width, r->height);
    glEnable(GL_DEPTH_TEST), glEnable(GL_CULL_FACE);
    glClear(GL_DEPTH_BUFFER_BIT);
    glClearBufferuiv(GL_COLOR, 0, none);
    glUseProgram(r->program[PASS_IDS]);
    program_matrix(r->program[PASS_IDS], "to_clip", &from.clip), program_number(r->program[PASS_IDS], "pixel", from.pixel);
    program_number(r->program[PASS_IDS], "over", lift_of(camera, &from));
    bodies_draw(&r->bodies);
    return CTN_OK;
}

ctn_status renderer_ids(renderer *r, const instance_list *bodies, const render_camera *camera, uint32_t *ids, ctn_error *err)
{
    const ctn_status status = draw_ids(r, bodies, camera, err);
    return status == CTN_OK ? read_pixels(r, GL_RED_INTEGER, GL_UNSIGNED_INT, 4 * (size_t)r->width, ids, err) : status;
}

ctn_status renderer_pick(renderer *r, const instance_list *bodies, const render_camera *camera, int x, int y, int reach,
                         uint32_t *id, double *depth, ctn_error *err)
{
    enum { MOST_REACH = 16, MOST = (2 * MOST_REACH + 1) * (2 * MOST_REACH + 1) };
    GLuint ids[MOST];
    GLfloat away[MOST];
    const int most = reach < MOST_REACH ? reach : MOST_REACH, row = r->height - 1 - y;
    const int left = x > most ? x - most : 0, right = x + most < r->width ? x + most : r->width - 1;
    const int low = row > most ? row - most : 0, high = row + most < r->height ? row + most : r->height - 1;
    const int width = right - left + 1, height = high - low + 1;
    *id = 0, *depth = 1;
    glEnable(GL_SCISSOR_TEST), glScissor(left, low, width, height);
    const ctn_status status = draw_ids(r, bodies, camera, err);
    glDisable(GL_SCISSOR_TEST);
    if (status != CTN_OK) return status;
    glPixelStorei(GL_PACK_ALIGNMENT, 4);
    glReadPixels(left, low, width, height, GL_RED_INTEGER, GL_UNSIGNED_INT, ids);
    glReadPixels(left, low, width, height, GL_DEPTH_COMPONENT, GL_FLOAT, away);
    for (int k = 0, nearest = most * most + 1; k < width * height; k++) {
        const int dx = left + k % width - x, dy = low + k / width - row;
        if (!ids[k] || dx * dx + dy * dy >= nearest) continue;
        nearest = dx * dx + dy * dy, *id = ids[k], *depth = 2 * (double)away[k] - 1;
    }
    return renderer_check(err);
}

/// The passes of a picture: shadows as the sun sees them; sky, ground, bodies and lines into a buffer of several samples a pixel; one sample
/// out, and text onto it.
#include "render/renderer.h"

#include "render/bodies.h"
#include "render/programs.h"
#include "render/shaders.h"
#include "render/vectors.h"
#include "sim/status.h"

#include <glad/gl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_A_PIXEL = 4 };

typedef enum pass { PASS_SHADOW, PASS_IDS, PASS_BODIES, PASS_GROUND, PASS_SKY, PASSES } pass;

struct renderer {
    int width, height;
    GLuint program[PASSES], empty_vao;
    body_store bodies;
    GLuint shadow_map, shadow_frame;
    int shadow_size;                 // pixels, of its sides
    GLuint frame, color, depth;      // several samples
    GLuint flat_frame, flat_color;   // one sample
    GLuint id_frame, ids, id_depth;  // likewise, of numbers; made when first asked for
    line_pen *lines;
    text_pen *text;
    bool letters_missing;
};

static const double sun[3] = {0.35, -0.45, 0.82};  // towards it; normalised when used

// ---- programs

static bool make_programs(renderer *r, ctn_error *err)
{
    static const struct {
        const char *vertex, *fragment, *name;
    } of[PASSES] = {[PASS_SHADOW] = {shadow_vertex, shadow_fragment, "shadow"},
                    [PASS_IDS] = {id_vertex, id_fragment, "ids"},
                    [PASS_BODIES] = {body_vertex, body_fragment, "bodies"},
                    [PASS_GROUND] = {ground_vertex, ground_fragment, "ground"},
                    [PASS_SKY] = {sky_vertex, sky_fragment, "sky"}};
    for (int k = 0; k < PASSES; k++)
        if (!(r->program[k] = program_link(of[k].vertex, of[k].fragment, of[k].name, err))) return false;
    return true;
}

// ---- framebuffers

static bool complete(const char *what, ctn_error *err)
{
    const GLenum status = glCheckFramebufferStatus(GL_FRAMEBUFFER);
    if (status == GL_FRAMEBUFFER_COMPLETE) return true;
    fail(err, CTN_UNAVAILABLE, "OpenGL refuses the framebuffer for %s (0x%x)", what, status);
    return false;
}

static GLuint renderbuffer(int samples, GLenum format, int width, int height, GLenum attach)
{
    GLuint buffer;
    glGenRenderbuffers(1, &buffer);
    glBindRenderbuffer(GL_RENDERBUFFER, buffer);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, format, width, height);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, attach, GL_RENDERBUFFER, buffer);
    return buffer;
}

static GLuint framebuffer(void)
{
    GLuint frame;
    glGenFramebuffers(1, &frame);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    return frame;
}

/// What pictures of the renderer's size are drawn into.
static bool make_frames(renderer *r, ctn_error *err)
{
    GLint most = 1;
    glGetIntegerv(GL_MAX_SAMPLES, &most);
    const int samples = most < SAMPLES_A_PIXEL ? most : SAMPLES_A_PIXEL;
    r->frame = framebuffer();
    r->color = renderbuffer(samples, GL_RGBA8, r->width, r->height, GL_COLOR_ATTACHMENT0);
    r->depth = renderbuffer(samples, GL_DEPTH_COMPONENT24, r->width, r->height, GL_DEPTH_ATTACHMENT);
    if (!complete("pictures", err)) return false;
    r->flat_frame = framebuffer();
    r->flat_color = renderbuffer(0, GL_RGBA8, r->width, r->height, GL_COLOR_ATTACHMENT0);
    return complete("finished pictures", err);
}

static void free_frames(renderer *r)
{
    const GLuint frames[] = {r->frame, r->flat_frame, r->id_frame};
    const GLuint buffers[] = {r->color, r->depth, r->flat_color, r->ids, r->id_depth};
    glDeleteFramebuffers(3, frames), glDeleteRenderbuffers(5, buffers);
    r->frame = r->flat_frame = r->id_frame = r->color = r->depth = r->flat_color = r->ids = r->id_depth = 0;
}

/// As fine as the picture asks for: in small ones what light falls on costs more than anything else.
static bool fit_shadow_map(renderer *r, ctn_error *err)
{
    const int size = r->width > 1024 || r->height > 1024 ? 2048 : 1024;
    if (size == r->shadow_size) return true;
    glDeleteFramebuffers(1, &r->shadow_frame), glDeleteTextures(1, &r->shadow_map);
    r->shadow_size = size;
    r->shadow_frame = framebuffer();
    glGenTextures(1, &r->shadow_map);
    glBindTexture(GL_TEXTURE_2D, r->shadow_map);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_DEPTH_COMPONENT24, size, size, 0, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT, NULL);
    static const GLint settings[][2] = {{GL_TEXTURE_MIN_FILTER, GL_LINEAR},
                                        {GL_TEXTURE_MAG_FILTER, GL_LINEAR},
                                        {GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE},
                                        {GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE},
                                        {GL_TEXTURE_COMPARE_MODE, GL_COMPARE_REF_TO_TEXTURE},
                                        {GL_TEXTURE_COMPARE_FUNC, GL_LEQUAL}};
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++)
        glTexParameteri(GL_TEXTURE_2D, (GLenum)settings[k][0], settings[k][1]);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, r->shadow_map, 0);
    glDrawBuffer(GL_NONE);
    glReadBuffer(GL_NONE);
    return complete("shadows", err);
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
    return make_frames(r, err) && fit_shadow_map(r, err) ? CTN_OK : CTN_UNAVAILABLE;
}

renderer *renderer_create(int width, int height, ctn_error *err)
{
    renderer *const r = calloc(1, sizeof *r);
    if (!r) {
        fail(err, CTN_NO_MEMORY, "not enough memory for a renderer");
        return NULL;
    }
    glGenVertexArrays(1, &r->empty_vao);
    bool ok = make_programs(r, err) && renderer_resize(r, width, height, err) == CTN_OK;
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
    glDeleteFramebuffers(1, &r->shadow_frame), glDeleteTextures(1, &r->shadow_map);
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

static sight sight_of(const renderer *r, const render_camera *camera)
{
    return (sight){camera->eye, camera_pixel(camera, r->height), camera_matrix(camera, (double)r->width / r->height)};
}

/// The largest of 1, 10, 100 ... of which some fit into the scene.
static double cell_size(double radius) { return pow(10, floor(log10(radius)) - 1) * 2; }

/// Of a ball about the center with the bodies and, in the direction in which light falls, their shadows in it.
static double shadow_radius(const scenery *around, const double *to_sun)
{
    const double drop = fmax(around->center[2] - around->floor, 0) / to_sun[2];  // m, along the light
    return fmax(1.05 * around->radius, fmin(drop + around->radius, 8 * around->radius));
}

static void draw_shadows(const renderer *r, const matrix4 *light, double radius)
{
    glBindFramebuffer(GL_FRAMEBUFFER, r->shadow_frame);
    glViewport(0, 0, r->shadow_size, r->shadow_size);
    glClear(GL_DEPTH_BUFFER_BIT);
    glUseProgram(r->program[PASS_SHADOW]);
    program_matrix(r->program[PASS_SHADOW], "to_clip", light),
        program_number(r->program[PASS_SHADOW], "pixel", radius / r->shadow_size);
    bodies_draw(&r->bodies);
}

/// The part of the shadow map that bodies may be in, x and y from 0 to 1: outside of it all is lit.
static void shadow_box(const renderer *r, const instance_list *bodies, const matrix4 *light, double radius, float *box)
{
    const float around = 3.0f / (float)r->shadow_size;  // as far as shadows are blurred
    box[0] = box[1] = 1, box[2] = box[3] = 0;
    for (int kind = 0; kind < bodies->kinds; kind++)
        for (size_t n = 0; n < bodies->count[kind]; n++) {
            const render_instance *const b = &bodies->of[kind][n];
            const float reach =
                kind < MESHES ? b->half + sqrtf(b->scale[0] * b->scale[0] + b->scale[1] * b->scale[1] + b->scale[2] * b->scale[2])
                              : INFINITY;  // of meshes it is not known
            for (int i = 0; i < 2; i++) {
                float at = light->m[12 + i];
                for (int k = 0; k < 3; k++) at += light->m[4 * k + i] * b->position[k];
                const float from = 0.5f * (at - reach / (float)radius) + 0.5f - around,
                            to = 0.5f * (at + reach / (float)radius) + 0.5f + around;
                box[i] = fmaxf(fminf(box[i], from), 0), box[2 + i] = fminf(fmaxf(box[2 + i], to), 1);
            }
        }
}

static void set_light(const renderer *r, GLuint program, const matrix4 *clip, const matrix4 *light, const float *shade,
                      const double *to_sun, const double *eye)
{
    glUseProgram(program);
    program_matrix(program, "to_clip", clip), program_matrix(program, "to_light", light);
    program_vector(program, "sun", to_sun), program_vector(program, "eye", eye);
    program_number(program, "texel", 1.0 / r->shadow_size);
    glUniform4fv(glGetUniformLocation(program, "shade"), 1, shade);
    glUniform1i(glGetUniformLocation(program, "shadow"), 0);
}

static void draw_surroundings(const renderer *r, const render_camera *camera, const scenery *around)
{
    const GLuint ground = r->program[PASS_GROUND], sky = r->program[PASS_SKY];
    glBindVertexArray(r->empty_vao);
    glUseProgram(sky);
    double axes[3][3], distance = 0;
    camera_axes(camera, axes);
    for (int k = 0; k < 3; k++) distance += (camera->eye[k] - camera->target[k]) * axes[2][k];
    const double level = hypot(axes[0][2], axes[1][2]), aspect = (double)r->width / r->height;  // 0: it looks straight up or down
    program_number(sky, "tilt", 0.15 - 0.9 * asin(axes[2][2]));
    glUniform2f(glGetUniformLocation(sky, "rise"), (float)(level > 0 ? aspect * axes[0][2] / level : 0),
                (float)(level > 0 ? axes[1][2] / level : 1));
    glDisable(GL_DEPTH_TEST);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glEnable(GL_DEPTH_TEST);
    glUseProgram(ground);
    glUniform4f(glGetUniformLocation(ground, "ground"), (float)camera->target[0], (float)camera->target[1], (float)around->floor,
                (float)(12 * distance));
    program_number(ground, "cell", cell_size(around->radius));
    glDisable(GL_CULL_FACE), glDepthMask(GL_FALSE);  // nothing collides with it: what falls through is not hidden
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    glEnable(GL_CULL_FACE), glDepthMask(GL_TRUE);
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

ctn_status renderer_check(ctn_error *err)
{
    enum { CONTEXT_LOST = 0x0507 };  // of OpenGL 4.5
    const GLenum error = glGetError();
    if (error == CONTEXT_LOST) return fail(err, CTN_UNAVAILABLE, "the OpenGL context is lost: the driver was reset");
    return error ? fail(err, CTN_UNAVAILABLE, "OpenGL reports error 0x%x: the picture is lost", error) : CTN_OK;
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
    const double n = vector_length(sun);
    const double to_sun[3] = {sun[0] / n, sun[1] / n, sun[2] / n}, falls[3] = {-to_sun[0], -to_sun[1], -to_sun[2]};
    const double radius = shadow_radius(around, to_sun);
    const matrix4 light = light_matrix(falls, around->center, radius);
    const sight from = sight_of(r, camera);
    float shade[4];
    shadow_box(r, bodies, &light, radius, shade);
    const ctn_status sent = bodies_send(&r->bodies, bodies, &from, err);
    if (sent != CTN_OK) return sent;
    glEnable(GL_DEPTH_TEST), glEnable(GL_CULL_FACE), glDisable(GL_BLEND);
    draw_shadows(r, &light, radius);
    glBindFramebuffer(GL_FRAMEBUFFER, r->frame);
    glViewport(0, 0, r->width, r->height);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glActiveTexture(GL_TEXTURE0);
    glBindTexture(GL_TEXTURE_2D, r->shadow_map);
    set_light(r, r->program[PASS_GROUND], &from.clip, &light, shade, to_sun, from.eye);
    draw_surroundings(r, camera, around);
    set_light(r, r->program[PASS_BODIES], &from.clip, &light, shade, to_sun, from.eye);
    program_number(r->program[PASS_BODIES], "pixel", from.pixel);
    glEnable(GL_SAMPLE_ALPHA_TO_COVERAGE);  // what is seen through covers some of the samples: no order is needed
    bodies_draw(&r->bodies);
    glDisable(GL_SAMPLE_ALPHA_TO_COVERAGE);
    if (over && over->lines) line_pen_draw(r->lines, over->lines, &from.clip, r->width, r->height);
    glBindFramebuffer(GL_READ_FRAMEBUFFER, r->frame), glBindFramebuffer(GL_DRAW_FRAMEBUFFER, r->flat_frame);
    glBlitFramebuffer(0, 0, r->width, r->height, 0, 0, r->width, r->height, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    r->letters_missing = over && over->labels && !text_pen_draw(r->text, over->labels, &from.clip, r->width, r->height);
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
        r->id_frame = framebuffer();
        r->ids = renderbuffer(0, GL_R32UI, r->width, r->height, GL_COLOR_ATTACHMENT0);
        r->id_depth = renderbuffer(0, GL_DEPTH_COMPONENT24, r->width, r->height, GL_DEPTH_ATTACHMENT);
        if (!complete("ids", err)) return CTN_UNAVAILABLE;
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
    bodies_draw(&r->bodies);
    return CTN_OK;
}

ctn_status renderer_ids(renderer *r, const instance_list *bodies, const render_camera *camera, uint32_t *ids, ctn_error *err)
{
    const ctn_status status = draw_ids(r, bodies, camera, err);
    return status == CTN_OK ? read_pixels(r, GL_RED_INTEGER, GL_UNSIGNED_INT, 4 * (size_t)r->width, ids, err) : status;
}

ctn_status renderer_pick(renderer *r, const instance_list *bodies, const render_camera *camera, int x, int y, uint32_t *id,
                         double *depth, ctn_error *err)
{
    GLfloat away = 1;
    *id = 0;
    glEnable(GL_SCISSOR_TEST), glScissor(x, r->height - 1 - y, 1, 1);
    const ctn_status status = draw_ids(r, bodies, camera, err);
    glDisable(GL_SCISSOR_TEST);
    if (status != CTN_OK) return status;
    glReadPixels(x, r->height - 1 - y, 1, 1, GL_RED_INTEGER, GL_UNSIGNED_INT, id);
    glReadPixels(x, r->height - 1 - y, 1, 1, GL_DEPTH_COMPONENT, GL_FLOAT, &away);
    *depth = 2 * (double)away - 1;
    return renderer_check(err);
}

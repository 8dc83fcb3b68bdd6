/// A map of depths as the sun sees them, [Williams 1978, Casting curved shadows on curved surfaces], and the rows of it that are
/// worth a look: on a CPU, looks at the map cost more than all else in a picture.
#include "render/draw/shadows.h"

#include "render/draw/framebuffers.h"
#include "render/draw/programs.h"
#include "render/draw/shaders.h"
#include "render/draw/vectors.h"

#include <glad/gl.h>
#include <string.h>

bool shadows_create(shadows *s, ctn_error *err)
{
    static const double sun[3] = {0.35, -0.45, 0.82};
    memcpy(s->to_sun, sun, sizeof sun);
    vector_normalise(s->to_sun);
    return (s->program = program_link(shadow_vertex, shadow_fragment, "shadow", err));
}

static void free_map(shadows *s)
{
    glDeleteFramebuffers(1, &s->frame), glDeleteTextures(1, &s->map);
    s->frame = s->map = 0;
}

void shadows_free(shadows *s)
{
    glDeleteProgram(s->program);
    free_map(s);
}

bool shadows_fit(shadows *s, int width, int height, ctn_error *err)
{
    const int size = width > 1024 || height > 1024 ? 2048 : 1024;
    if (size == s->size) return true;
    free_map(s);
    s->size = size;
    s->frame = framebuffer_create();
    glGenTextures(1, &s->map);
    glBindTexture(GL_TEXTURE_2D, s->map);
    // 16 bits tell 64 depths a texel of 1024 apart, and are cleared sooner
    glTexImage2D(GL_TEXTURE_2D, 0, GL_DEPTH_COMPONENT16, size, size, 0, GL_DEPTH_COMPONENT, GL_UNSIGNED_SHORT, NULL);
    static const GLint settings[][2] = {{GL_TEXTURE_MIN_FILTER, GL_LINEAR},
                                        {GL_TEXTURE_MAG_FILTER, GL_LINEAR},
                                        {GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE},
                                        {GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE},
                                        {GL_TEXTURE_COMPARE_MODE, GL_COMPARE_REF_TO_TEXTURE},
                                        {GL_TEXTURE_COMPARE_FUNC, GL_LEQUAL}};
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++)
        glTexParameteri(GL_TEXTURE_2D, (GLenum)settings[k][0], settings[k][1]);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, s->map, 0);
    glDrawBuffer(GL_NONE);
    glReadBuffer(GL_NONE);
    return framebuffer_complete("shadows", err);
}

// ---- where shadows are

/// Of a ball about the center with the bodies and, in the direction in which light falls, their shadows in it.
static double shadow_radius(const scenery *around, const double *to_sun)
{
    const double drop =
        isfinite(around->floor) ? fmax(around->center[2] - around->floor, 0) / to_sun[2] : 0;  // m, along the light
    return fmax(1.05 * around->radius, fmin(drop + around->radius, 8 * around->radius));
}

/// The rectangle of the map, in its clip coordinates, that has a body and the blur of its shadow in it.
static void rectangle(const shadows *s, const render_instance *b, float from[2], float to[2])
{
    const float around = 6.0f / (float)s->size;  // as far as shadows are blurred
    const float thick = sqrtf(b->scale[0] * b->scale[0] + b->scale[1] * b->scale[1] + b->scale[2] * b->scale[2]);
    for (int i = 0; i < 2; i++) {
        float at = s->light.m[12 + i], along = 0;
        for (int k = 0; k < 3; k++) {
            at += s->light.m[4 * k + i] * b->position[k];
            along += s->light.m[4 * k + i] * b->rotation[3 * k + 2] * b->half;
        }
        const float reach = fabsf(along) + thick / (float)s->radius;
        from[i] = fmaxf(at - reach - around, -1), to[i] = fminf(at + reach + around, 1);
    }
}

static int row_at(const shadows *s, float y)
{
    const int row = (int)((y - s->span[0]) / s->span[1]);
    return row < 0 ? 0 : row < SHADOW_ROWS ? row : SHADOW_ROWS - 1;
}

void shadows_aim(shadows *s, const instance_list *bodies, const scenery *around)
{
    const double falls[3] = {-s->to_sun[0], -s->to_sun[1], -s->to_sun[2]};
    float from[2], to[2], low = 1, high = -1;
    s->radius = shadow_radius(around, s->to_sun);
    s->light = light_matrix(falls, around->center, s->radius);
    for (int k = 0; k < SHADOW_ROWS; k++) s->rows[k][0] = 1, s->rows[k][1] = -1;
    for (int pass = 0; pass < 2; pass++) {  // how high the rows are comes first
        for (int kind = 0; kind < bodies->kinds; kind++)
            for (size_t n = 0; n < bodies->count[kind]; n++) {
                rectangle(s, &bodies->of[kind][n], from, to);
                if (!(from[0] < to[0] && from[1] < to[1])) continue;
                low = fminf(low, from[1]), high = fmaxf(high, to[1]);
                for (int k = pass ? row_at(s, from[1]) : SHADOW_ROWS; k < SHADOW_ROWS && k <= row_at(s, to[1]); k++)
                    s->rows[k][0] = fminf(s->rows[k][0], from[0]), s->rows[k][1] = fmaxf(s->rows[k][1], to[0]);
            }
        s->span[0] = low, s->span[1] = fmaxf(high - low, 1e-6f) / SHADOW_ROWS;
    }
    for (int k = 0; k < SHADOW_ROWS; k++)
        if (s->rows[k][0] > s->rows[k][1]) s->rows[k][0] = s->rows[k][1] = 0;  // nothing is drawn
}

void shadows_draw(const shadows *s, const body_store *bodies)
{
    glBindFramebuffer(GL_FRAMEBUFFER, s->frame);
    glViewport(0, 0, s->size, s->size);
    glClear(GL_DEPTH_BUFFER_BIT);
    glUseProgram(s->program);
    program_matrix(s->program, "to_clip", &s->light), program_number(s->program, "pixel", s->radius / s->size);
    bodies_draw(bodies);
    glActiveTexture(GL_TEXTURE0);
    glBindTexture(GL_TEXTURE_2D, s->map);
}

void shadows_give(const shadows *s, unsigned program)
{
    glUseProgram(program);
    program_matrix(program, "to_light", &s->light), program_vector(program, "sun", s->to_sun);
    program_number(program, "texel", 1.0 / s->size);
    glUniform2fv(glGetUniformLocation(program, "rows"), SHADOW_ROWS, s->rows[0]);
    glUniform2fv(glGetUniformLocation(program, "span"), 1, s->span);
    glUniform1i(glGetUniformLocation(program, "shadow"), 0);
}

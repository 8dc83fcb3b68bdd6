/// What pictures and shadows are drawn into.
#ifndef CATENA_RENDER_FRAMEBUFFERS_H
#define CATENA_RENDER_FRAMEBUFFERS_H

#include <catena/status.h>
#include <glad/gl.h>
#include <stdbool.h>

/// A framebuffer, bound: glDeleteFramebuffers is due.
GLuint framebuffer_create(void);

/// A buffer of the framebuffer that is bound, at `attach`: glDeleteRenderbuffers is due. 0 samples: one, without more.
GLuint framebuffer_buffer(int samples, GLenum format, int width, int height, GLenum attach);

/// Whether the one that is bound can be drawn into; `what` is for messages. False: CTN_UNAVAILABLE.
bool framebuffer_complete(const char *what, ctn_error *err);

#endif

/// What OpenGL has to say about the calls of a test: KHR_debug, where the context has it.
#ifndef CATENA_TESTS_GL_DEBUG_H
#define CATENA_TESTS_GL_DEBUG_H

#include <glad/gl.h>
#include <stdio.h>

static long gl_errors;  // reported so far

static inline void gl_note_error(GLenum origin, GLenum type, GLuint id, GLenum severity, GLsizei length, const GLchar *message,
                                 const void *context)
{
    (void)origin, (void)id, (void)severity, (void)length, (void)context;
    if (type != GL_DEBUG_TYPE_ERROR) return;
    gl_errors++;
    fprintf(stderr, "OpenGL: %s\n", message);
}

/// Counts errors in gl_errors from now on, with the context that is current.
static inline void gl_watch(void)
{
    if (!GLAD_GL_KHR_debug) return;
    glEnable(GL_DEBUG_OUTPUT), glEnable(GL_DEBUG_OUTPUT_SYNCHRONOUS);
    glDebugMessageCallback(gl_note_error, NULL);
}

#endif

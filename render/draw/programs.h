/// Programs of two shaders, their uniforms and inputs.
#ifndef CATENA_RENDER_PROGRAMS_H
#define CATENA_RENDER_PROGRAMS_H

#include "render/draw/camera.h"

#include <catena/status.h>
#include <glad/gl.h>
#include <stddef.h>

/// A program, to be deleted by glDeleteProgram; `name` is for messages. 0: CTN_UNAVAILABLE, with what OpenGL refuses.
GLuint program_link(const char *vertex, const char *fragment, const char *name, ctn_error *err);

/// Uniforms of the program in use: a matrix, three numbers, one.
void program_matrix(GLuint program, const char *name, const matrix4 *m);
void program_vector(GLuint program, const char *name, const double *x);
void program_number(GLuint program, const char *name, double x);

/// Of the vertex array that is bound: input `place`, `size` floats, from the buffer that is bound. Divisor 1: one for each
/// instance.
void program_input(GLuint place, int size, size_t stride, size_t offset, GLuint divisor);

#endif

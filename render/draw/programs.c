/// Shaders, compiled and linked, with what OpenGL says when it refuses one.
#include "render/draw/programs.h"

#include "sim/base/status.h"

static GLuint compile(GLenum kind, const char *text, const char *name, ctn_error *err)
{
    const GLuint shader = glCreateShader(kind);
    GLint good = 0;
    glShaderSource(shader, 1, &text, NULL);
    glCompileShader(shader);
    glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
    if (good) return shader;
    char log[300] = "";
    glGetShaderInfoLog(shader, sizeof log, NULL, log);
    glDeleteShader(shader);
    fail(err, CTN_UNAVAILABLE, "OpenGL refuses the shader '%s': %s", name, log);
    return 0;
}

GLuint program_link(const char *vertex, const char *fragment, const char *name, ctn_error *err)
{
    const GLuint v = compile(GL_VERTEX_SHADER, vertex, name, err), f = v ? compile(GL_FRAGMENT_SHADER, fragment, name, err) : 0;
    GLuint program = 0;
    GLint good = 0;
    if (v && f) {
        program = glCreateProgram();
        glAttachShader(program, v), glAttachShader(program, f);
        glLinkProgram(program);
        glGetProgramiv(program, GL_LINK_STATUS, &good);
        if (!good) {
            char log[300] = "";
            glGetProgramInfoLog(program, sizeof log, NULL, log);
            glDeleteProgram(program);
            program = 0;
            fail(err, CTN_UNAVAILABLE, "OpenGL cannot link the shader '%s': %s", name, log);
        }
    }
    glDeleteShader(v), glDeleteShader(f);
    return program;
}

void program_matrix(GLuint program, const char *name, const matrix4 *m)
{
    glUniformMatrix4fv(glGetUniformLocation(program, name), 1, GL_FALSE, m->m);
}

void program_vector(GLuint program, const char *name, const double *x)
{
    glUniform3f(glGetUniformLocation(program, name), (float)x[0], (float)x[1], (float)x[2]);
}

void program_number(GLuint program, const char *name, double x) { glUniform1f(glGetUniformLocation(program, name), (float)x); }

void program_input(GLuint place, int size, size_t stride, size_t offset, GLuint divisor)
{
    glEnableVertexAttribArray(place);
    glVertexAttribPointer(place, size, GL_FLOAT, GL_FALSE, (GLsizei)stride, (const void *)offset);
    glVertexAttribDivisor(place, divisor);
}

/// Framebuffers and their buffers.
#include "render/draw/framebuffers.h"

#include "sim/base/status.h"

GLuint framebuffer_create(void)
{
    GLuint frame;
    glGenFramebuffers(1, &frame);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    return frame;
}

GLuint framebuffer_buffer(int samples, GLenum format, int width, int height, GLenum attach)
{
    GLuint buffer;
    glGenRenderbuffers(1, &buffer);
    glBindRenderbuffer(GL_RENDERBUFFER, buffer);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, format, width, height);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, attach, GL_RENDERBUFFER, buffer);
    return buffer;
}

bool framebuffer_complete(const char *what, ctn_error *err)
{
    const GLenum status = glCheckFramebufferStatus(GL_FRAMEBUFFER);
    if (status == GL_FRAMEBUFFER_COMPLETE) return true;
    fail(err, CTN_UNAVAILABLE, "OpenGL refuses the framebuffer for %s (0x%x)", what, status);
    return false;
}

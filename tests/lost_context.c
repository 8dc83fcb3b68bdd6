/// A driver that is reset while it draws: preloaded (LD_PRELOAD), this stands before the libraries of OpenGL, and answers
/// glGetGraphicsResetStatus itself: once with a reset, at the question number CTN_RESET_AFTER, or when there is a file
/// CTN_RESET_FILE. [OpenGL 4.6, 2.3.2]
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void function(void);
typedef function *loader(const char *name);

static unsigned reset_status(void)
{
    enum { NO_ERROR = 0, UNKNOWN_CONTEXT_RESET = 0x8255 };
    static int asked;
    static bool told;
    const char *const after = getenv("CTN_RESET_AFTER"), *const file = getenv("CTN_RESET_FILE");
    const bool lost = (after && asked++ >= atoi(after)) || (file && !access(file, F_OK));
    if (!lost || told) return NO_ERROR;
    told = true;
    return UNKNOWN_CONTEXT_RESET;
}

static function *find(const char *name, const char *by)
{
    if (!strncmp(name, "glGetGraphicsResetStatus", 24)) return (function *)reset_status;
    loader *const next = (loader *)dlsym(RTLD_NEXT, by);
    return next ? next(name) : NULL;
}

function *eglGetProcAddress(const char *name);
function *eglGetProcAddress(const char *name) { return find(name, "eglGetProcAddress"); }
function *glXGetProcAddress(const unsigned char *name);
function *glXGetProcAddress(const unsigned char *name) { return find((const char *)name, "glXGetProcAddress"); }
function *glXGetProcAddressARB(const unsigned char *name);
function *glXGetProcAddressARB(const unsigned char *name) { return find((const char *)name, "glXGetProcAddressARB"); }

/// Who opens one of those libraries gets this one, which needs them: all that is not here is found there.
void *dlopen(const char *name, int flags)
{
    static const char *const ours[] = {"libEGL.so.1", "libGLX.so.0", "libGL.so.1"};
    void *(*const next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    Dl_info me;
    for (int k = 0; k < 3; k++)
        if (name && !strcmp(name, ours[k]) && dladdr((void *)reset_status, &me)) return next(me.dli_fname, flags);
    return next(name, flags);
}

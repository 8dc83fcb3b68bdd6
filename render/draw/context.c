/// Contexts of EGL and OSMesa, from libraries that need not be there.
#include "render/draw/context.h"

#include "sim/base/status.h"

#include <dlfcn.h>
#include <glad/egl.h>
#include <glad/gl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct render_context {
    void *library;
    EGLDisplay display;
    EGLContext egl;
    void *osmesa;
    void (*osmesa_destroy)(void *context);
    unsigned char pixel[4];  // the buffer that OSMesa wants; pictures are drawn into framebuffers
    char name[200];
};

/// Why a way does not work, in words.
typedef char reason[160];

// ---- EGL

static void *egl_library;

/// Extensions are found by eglGetProcAddress alone, the rest by every version of EGL only in the library.
static GLADapiproc egl_symbol(const char *name)
{
    GLADloadfunc load = (GLADloadfunc)dlsym(egl_library, "eglGetProcAddress");
    GLADapiproc symbol = (GLADapiproc)dlsym(egl_library, name);
    return symbol || !load ? symbol : load(name);
}

/// The display of the first device that gives one: Mesa's surfaceless platform, then what the drivers list.
static EGLDisplay open_display(reason why)
{
    snprintf(why, sizeof(reason), "no display (it has neither MESA_platform_surfaceless nor EXT_platform_device)");
    if (!EGL_EXT_platform_base) return EGL_NO_DISPLAY;
    if (EGL_MESA_platform_surfaceless) {
        EGLDisplay d = eglGetPlatformDisplayEXT(EGL_PLATFORM_SURFACELESS_MESA, (void *)EGL_DEFAULT_DISPLAY, NULL);
        if (d != EGL_NO_DISPLAY && eglInitialize(d, NULL, NULL)) return d;
        snprintf(why, sizeof(reason), "its surfaceless platform gives no display (error 0x%x)", eglGetError());
    }
    if (!EGL_EXT_platform_device || !eglQueryDevicesEXT) return EGL_NO_DISPLAY;
    EGLDeviceEXT devices[16];
    EGLint count = 0;
    if (!eglQueryDevicesEXT(16, devices, &count)) count = 0;
    for (EGLint k = 0; k < count; k++) {
        EGLDisplay d = eglGetPlatformDisplayEXT(EGL_PLATFORM_DEVICE_EXT, devices[k], NULL);
        if (d != EGL_NO_DISPLAY && eglInitialize(d, NULL, NULL)) return d;
    }
    snprintf(why, sizeof(reason), "none of its %d devices gives a display", count);
    return EGL_NO_DISPLAY;
}

static bool open_egl(render_context *c, reason why)
{
    static const EGLint config_wish[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE};
    EGLint context_wish[] = {
        EGL_CONTEXT_MAJOR_VERSION,           3,        EGL_CONTEXT_MINOR_VERSION, 3,       EGL_CONTEXT_OPENGL_PROFILE_MASK,
        EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT, EGL_NONE, EGL_LOSE_CONTEXT_ON_RESET, EGL_NONE};
    EGLint *const reset_wish = &context_wish[6];
    EGLConfig config;
    EGLint count = 0;
    c->library = egl_library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!c->library) return snprintf(why, sizeof(reason), "there is no libEGL.so.1"), false;
    if (!gladLoadEGL(EGL_NO_DISPLAY, egl_symbol)) return snprintf(why, sizeof(reason), "libEGL.so.1 is no EGL"), false;
    if ((c->display = open_display(why)) == EGL_NO_DISPLAY) return false;
    if (!gladLoadEGL(c->display, egl_symbol) || !eglBindAPI(EGL_OPENGL_API))
        return snprintf(why, sizeof(reason), "its display knows no OpenGL"), false;
    if (!eglChooseConfig(c->display, config_wish, &config, 1, &count) || !count)
        return snprintf(why, sizeof(reason), "its display has no configuration for OpenGL"), false;
    *reset_wish = EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY;  // renderer_check asks; where the driver cannot say, it is none
    c->egl = eglCreateContext(c->display, config, EGL_NO_CONTEXT, context_wish);
    *reset_wish = EGL_NONE;
    if (c->egl == EGL_NO_CONTEXT) c->egl = eglCreateContext(c->display, config, EGL_NO_CONTEXT, context_wish);
    if (c->egl == EGL_NO_CONTEXT)
        return snprintf(why, sizeof(reason), "no OpenGL 3.3 core context (error 0x%x)", eglGetError()), false;
    if (!eglMakeCurrent(c->display, EGL_NO_SURFACE, EGL_NO_SURFACE, c->egl))
        return snprintf(why, sizeof(reason), "its context cannot be used without a surface (error 0x%x)", eglGetError()), false;
    if (!gladLoadGL((GLADloadfunc)eglGetProcAddress)) return snprintf(why, sizeof(reason), "OpenGL 3.3 is incomplete"), false;
    return true;
}

static void close_egl(render_context *c)
{
    if (c->display != EGL_NO_DISPLAY) {
        eglMakeCurrent(c->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
        if (c->egl != EGL_NO_CONTEXT) eglDestroyContext(c->display, c->egl);  // the display is the process's: others may use it
    }
    c->display = EGL_NO_DISPLAY, c->egl = EGL_NO_CONTEXT;
}

// ---- OSMesa (GL/osmesa.h, whose constants these are)

enum {
    OSMESA_FORMAT = 0x22,
    OSMESA_RGBA = 0x1908,
    OSMESA_DEPTH_BITS = 0x30,
    OSMESA_PROFILE = 0x33,
    OSMESA_CORE_PROFILE = 0x34,
    OSMESA_CONTEXT_MAJOR_VERSION = 0x36,
    OSMESA_CONTEXT_MINOR_VERSION = 0x37,
};

static bool open_osmesa(render_context *c, reason why)
{
    static const int wish[] = {OSMESA_FORMAT,
                               OSMESA_RGBA,
                               OSMESA_PROFILE,
                               OSMESA_CORE_PROFILE,
                               OSMESA_CONTEXT_MAJOR_VERSION,
                               3,
                               OSMESA_CONTEXT_MINOR_VERSION,
                               3,
                               0};
    c->library = dlopen("libOSMesa.so.8", RTLD_NOW | RTLD_LOCAL);
    if (!c->library) return snprintf(why, sizeof(reason), "there is no libOSMesa.so.8"), false;
    void *(*create)(const int *, void *) = (void *(*)(const int *, void *))dlsym(c->library, "OSMesaCreateContextAttribs");
    GLboolean (*make_current)(void *, void *, GLenum, int, int) =
        (GLboolean(*)(void *, void *, GLenum, int, int))dlsym(c->library, "OSMesaMakeCurrent");
    GLADloadfunc load = (GLADloadfunc)dlsym(c->library, "OSMesaGetProcAddress");
    c->osmesa_destroy = (void (*)(void *))dlsym(c->library, "OSMesaDestroyContext");
    if (!create || !make_current || !load || !c->osmesa_destroy)
        return snprintf(why, sizeof(reason), "libOSMesa.so.8 is too old"), false;
    c->osmesa = create(wish, NULL);
    if (!c->osmesa) return snprintf(why, sizeof(reason), "no OpenGL 3.3 core context"), false;
    if (!make_current(c->osmesa, c->pixel, GL_UNSIGNED_BYTE, 1, 1))
        return snprintf(why, sizeof(reason), "its context cannot be used"), false;
    if (!gladLoadGL(load)) return snprintf(why, sizeof(reason), "OpenGL 3.3 is incomplete"), false;
    return true;
}

static void close_osmesa(render_context *c)
{
    if (c->osmesa) c->osmesa_destroy(c->osmesa);
    c->osmesa = NULL;
}

// ---- either

static const struct {
    const char *name, *says;
    bool (*open)(render_context *c, reason why);
    void (*close)(render_context *c);
} ways[] = {{"egl", "EGL", open_egl, close_egl}, {"osmesa", "OSMesa", open_osmesa, close_osmesa}};
enum { WAYS = sizeof ways / sizeof *ways };

render_context *context_create(ctn_error *err)
{
    const char *const only = getenv("CTN_GL");
    reason why[WAYS];
    bool known = !only || !*only;
    for (int k = 0; k < WAYS && !known; k++) known = !strcmp(only, ways[k].name);
    if (!known) return fail(err, CTN_UNAVAILABLE, "CTN_GL: expected egl or osmesa, found '%s'", only), NULL;
    render_context *const c = calloc(1, sizeof *c);
    if (!c) return fail(err, CTN_NO_MEMORY, "not enough memory for an OpenGL context"), NULL;
    for (int k = 0; k < WAYS; k++) {
        snprintf(why[k], sizeof why[k], "left out by CTN_GL");
        if (only && *only && strcmp(only, ways[k].name) != 0) continue;
        if (ways[k].open(c, why[k])) {
            snprintf(c->name, sizeof c->name, "%s, %s", ways[k].says, (const char *)glGetString(GL_RENDERER));
            return c;
        }
        ways[k].close(c);
        if (c->library) dlclose(c->library);
        c->library = NULL;
    }
    free(c);
    fail(err, CTN_UNAVAILABLE,
         "no OpenGL 3.3 without a window. EGL: %s. OSMesa: %s. On Debian: apt install libegl1 libgl1-mesa-dri, or libosmesa6",
         why[0], why[1]);
    return NULL;
}

void context_free(render_context *c)
{
    if (!c) return;
    close_egl(c);
    close_osmesa(c);
    free(c);  // the library stays: drivers leave threads and handlers behind
}

const char *context_name(const render_context *c) { return c->name; }

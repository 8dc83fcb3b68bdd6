/// OpenGL without a window: EGL without a surface (a GPU or Mesa's llvmpipe), else OSMesa. Both are looked for at run time.
#ifndef CATENA_RENDER_CONTEXT_H
#define CATENA_RENDER_CONTEXT_H

#include <catena/status.h>

typedef struct render_context render_context;

/// Makes an OpenGL 3.3 core context, and makes it current in the calling thread, where it stays until it is freed. NULL with
/// CTN_UNAVAILABLE and what each way lacks. The environment variable CTN_GL, "egl" or "osmesa", leaves only that one.
render_context *context_create(ctn_error *err);
void context_free(render_context *c);  // NULL is allowed

/// How it was made and what renders, "EGL, llvmpipe (LLVM 15.0.6, 256 bits)".
const char *context_name(const render_context *c);

#endif

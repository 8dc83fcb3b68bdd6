/// Finding a device's code at run time: builds and machines without one need nothing of it.
#define _GNU_SOURCE  // dladdr
#include "sim/device.h"

#include "sim/status.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLUGIN "libcatena-cuda.so"

bool device_asked(const char *name)
{
    if (!name || !strcmp(name, "auto")) name = getenv("CTN_ENGINE");
    return name && !strcmp(name, "cuda");
}

/// What has been opened, once for the process.
static struct {
    const ctn_device *device;
    char why[512];  // there is none, in words; else empty
} opened;

static const ctn_device *table_of(void *library)
{
    const ctn_device *const device = dlsym(library, "catena_device");
    if (!device) snprintf(opened.why, sizeof opened.why, PLUGIN " has no engine in it");
    else if (device->layout != DEVICE_LAYOUT)
        snprintf(opened.why, sizeof opened.why, PLUGIN " belongs to another version of catena");
    else {
        ctn_error found;
        if (device->find(&found) == CTN_OK) return device;
        snprintf(opened.why, sizeof opened.why, "%.500s", found.message);
    }
    dlclose(library);
    return NULL;
}

/// Opens the file beside the one that this code is in, in the library folder of its installation, or wherever the system looks.
static void open_plugin(void)
{
    const char *const asked = getenv("CTN_CUDA_LIBRARY");
    if (asked && *asked) {
        void *const library = dlopen(asked, RTLD_NOW | RTLD_LOCAL);
        if (library) opened.device = table_of(library);
        else snprintf(opened.why, sizeof opened.why, "CTN_CUDA_LIBRARY: %s", dlerror());
        return;
    }
    Dl_info here;
    void *library = NULL;
    if (dladdr(&opened, &here) && here.dli_fname) {
        static const char *const folders[] = {"", "../" CATENA_LIBDIR "/"};
        const char *const slash = strrchr(here.dli_fname, '/');
        const int length = slash ? (int)(slash - here.dli_fname) + 1 : 0;
        for (size_t k = 0; k < sizeof folders / sizeof *folders && !library; k++) {
            char path[4096];
            const int used = snprintf(path, sizeof path, "%.*s%s" PLUGIN, length, here.dli_fname, folders[k]);
            if (length && used < (int)sizeof path) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    }
    if (!library) library = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library) opened.device = table_of(library);
    else snprintf(opened.why, sizeof opened.why, "needs " PLUGIN " beside the library: it is built where CMake finds nvcc");
}

const char *device_missing(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_plugin);
    return opened.device ? NULL : opened.why;
}

const ctn_device *device_find(ctn_error *err)
{
    const char *const why = device_missing();
    if (why) fail(err, CTN_UNAVAILABLE, "engine: 'cuda' %s; take 'auto'", why);
    return opened.device;
}

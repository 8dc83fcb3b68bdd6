/// Finding a device's code at run time: builds and machines without one need nothing of it.
#define _GNU_SOURCE  // dladdr
#include "sim/engine/device.h"

#include "sim/base/status.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// What there may be, and what has been opened, once for the process.
enum { CUDA, CUDA_FLOAT, DEVICES };
const char *const device_names[] = {[CUDA] = "cuda", [CUDA_FLOAT] = "cuda-float", [DEVICES] = NULL};
static struct {
    const char *const file, *const variable, *const built;
    bool tried;
    const ctn_device *device;
    char why[512];  // there is none, in words; else empty
} opened[] = {
    [CUDA] = {.file = "libcatena-cuda.so", .variable = "CTN_CUDA_LIBRARY", .built = "where CMake finds nvcc"},
    [CUDA_FLOAT] = {.file = "libcatena-cuda-float.so",
                    .variable = "CTN_CUDA_FLOAT_LIBRARY",
                    .built = "by -DCATENA_CUDA_FLOAT=ON where CMake finds nvcc"},
};

const char *device_asked(const char *name)
{
    if (!name || !strcmp(name, "auto")) name = getenv("CTN_ENGINE");
    for (int k = 0; k < DEVICES && name; k++)
        if (!strcmp(name, device_names[k])) return device_names[k];
    return NULL;
}

static const ctn_device *table_of(int k, void *library)
{
    char *const why = opened[k].why;
    const ctn_device *const device = dlsym(library, "catena_device");
    if (!device) snprintf(why, sizeof opened->why, "has no engine in %s", opened[k].file);
    else if (device->layout != DEVICE_LAYOUT || strcmp(device->name, device_names[k]) != 0)
        snprintf(why, sizeof opened->why, "does not fit: %s belongs to another version of catena", opened[k].file);
    else {
        ctn_error found;
        if (device->find(&found) == CTN_OK) return device;
        snprintf(why, sizeof opened->why, "%.500s", found.message);
    }
    dlclose(library);
    return NULL;
}

/// Opens the file beside the one that this code is in, in the library folder of its installation, or wherever the system looks.
static void open_plugin(int k)
{
    const char *const file = opened[k].file, *const asked = getenv(opened[k].variable);
    if (asked && *asked) {
        void *const library = dlopen(asked, RTLD_NOW | RTLD_LOCAL);
        if (library) opened[k].device = table_of(k, library);
        else snprintf(opened[k].why, sizeof opened->why, "cannot be opened: %s: %s", opened[k].variable, dlerror());
        return;
    }
    Dl_info here;
    void *library = NULL;
    if (dladdr(opened, &here) && here.dli_fname) {
        static const char *const folders[] = {"", "../" CATENA_LIBDIR "/"};
        char program[4096] = "";  // it calls itself as it was called, which need not be a path
        const char *const from =
            strchr(here.dli_fname, '/') || readlink("/proc/self/exe", program, sizeof program - 1) < 0 ? here.dli_fname : program;
        const char *const slash = strrchr(from, '/');
        const int length = slash ? (int)(slash - from) + 1 : 0;
        for (size_t f = 0; f < sizeof folders / sizeof *folders && !library; f++) {
            char path[4096];
            const int used = snprintf(path, sizeof path, "%.*s%s%s", length, from, folders[f], file);
            if (!length || used >= (int)sizeof path || access(path, F_OK)) continue;
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (!library) snprintf(opened[k].why, sizeof opened->why, "cannot be opened: %s", dlerror());
        }
    }
    if (!library) library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library) opened[k].why[0] = 0, opened[k].device = table_of(k, library);
    else if (!opened[k].why[0]) snprintf(opened[k].why, sizeof opened->why, "needs %s beside the library: it is built %s", file, opened[k].built);
}

/// Where `name` stands in `opened`, which tells then what there is.
static int look_up(const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int k = 0;
    while (strcmp(device_names[k], name) != 0) k++;
    pthread_mutex_lock(&lock);
    if (!opened[k].tried) open_plugin(k);
    opened[k].tried = true;
    pthread_mutex_unlock(&lock);
    return k;
}

const char *device_missing(const char *name)
{
    const int k = look_up(name);
    return opened[k].device ? NULL : opened[k].why;
}

const ctn_device *device_find(const char *name, ctn_error *err)
{
    const char *const why = device_missing(name);
    if (why) fail(err, CTN_UNAVAILABLE, "engine: '%s' %s; take 'auto'", name, why);
    return opened[look_up(name)].device;
}

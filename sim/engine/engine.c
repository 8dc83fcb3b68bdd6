/// Which engines there are, and which one to take.
#include "sim/engine/engine.h"

#include "sim/engine/device.h"
#include "sim/base/status.h"

#include <stdlib.h>
#include <string.h>

const ctn_engine *const *engines_available(void)
{
#ifdef CATENA_X86
    static const ctn_engine *const with_avx512[] = {&engine_scalar_fma, &engine_avx2, &engine_avx512, NULL};
    static const ctn_engine *const with_avx2[] = {&engine_scalar_fma, &engine_avx2, NULL};
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? with_avx512 : with_avx2;
#endif
    static const ctn_engine *const plain[] = {&engine_scalar, NULL};
    return plain;
}

const ctn_engine *engine_find(const char *name, int count, ctn_error *err)
{
    if (!name || !strcmp(name, "auto")) name = getenv("CTN_ENGINE");
    const ctn_engine *const *list = engines_available();
    if (!name || !*name || !strcmp(name, "auto")) {
        const ctn_engine *best = list[0];  // one state: the scalar engine is as fast as a lane block, and starts sooner
        if (count > 1)
            for (; *list; list++) best = *list;
        return best;
    }
    if (device_asked(name)) return device_find(name, err) ? *list : NULL;
    for (; *list; list++)
        if (!strcmp((*list)->name, name)) return *list;
    static const char *const known[] = {"avx2", "avx512"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i], name)) {
            fail(err, CTN_UNAVAILABLE, "engine: '%s' needs instructions that this CPU does not have; take 'auto' or 'scalar'",
                 name);
            return NULL;
        }
    fail(err, CTN_BAD_CONFIG, "engine: unknown '%s'; allowed are auto, scalar, avx2, avx512, cuda, cuda-float", name);
    return NULL;
}

const char *engine_beside(const char *name)
{
    const ctn_engine *const *list = engines_available();
    if (!device_asked(name)) return name;
    while (list[1]) list++;
    return (*list)->name;
}

lane_model *engine_model(const ctn_engine *engine, const ctn_model *m, double dt)
{
    const ctn_model *of[MOST_LANES];
    double steps[MOST_LANES];
    lane_model *const to = aligned_alloc(64, engine->model_size(m));
    for (int l = 0; l < engine->lanes; l++) of[l] = m, steps[l] = dt;
    if (to) engine->model_load(of, steps, to);
    return to;
}

const char *engine_reason(const char *name, int count, bool along)
{
    if (name && strcmp(name, "auto")) return "asked for";
    const char *const environment = getenv("CTN_ENGINE");
    if (environment && *environment && strcmp(environment, "auto")) return "asked for by CTN_ENGINE";
    if (along) return "the widest that this CPU has, for pieces of a world";
    return count > 1 ? "the widest that this CPU has, for several worlds"
                     : "for one world as fast as a wide one, and starts sooner";
}

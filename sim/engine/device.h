/// Devices: a machine beside the CPU that keeps all worlds of a batch in its own memory and steps them together, each to its
/// horizon, in one launch. The code for one is a library of its own (sim/engine/device_cuda.cu), opened when it is asked for.
#ifndef CATENA_SIM_DEVICE_H
#define CATENA_SIM_DEVICE_H

#include "dynamics/model.h"

#include <catena/batch.h>
#include <catena/dynamics.h>
#include <stdbool.h>
#include <stdint.h>

/// The worlds of one batch on a device.
typedef struct device_worlds device_worlds;

/// Whose memory the arrays of a call are in.
typedef enum device_place { ON_HOST, ON_DEVICE } device_place;

/// Copies of a world that follow a plan at once, all from states of their own in its blocks of time, each with a length alpha =
/// 1, 1/2, 1/4, ... of its feedforward: u = U + alpha kappa + K (x - X), within bounds. x = (q, v), and, `carried`, what was told
/// last; changes of it are in tangent coordinates. Arrays are in the device's memory.
typedef struct device_follow {
    int knots, hold, blocks, alphas;  // `hold` steps in each of the knots; blocks of time of as many knots each, or one more
    int nx, n, m, carried;            // numbers of a state, of a change of it, of what motors are told
    bool anew;                        // each knot begins at (q, v) alone
    const double *X, *U;              // [knots + 1][nx], [knots][m]
    const double *K, *kappa;          // [knots][m][n], [knots][m]
    const double *lower, *upper;      // [m]; NULL: there are none
    double *own_X, *own_U;            // out: [alphas][knots + 1][nx], [alphas][knots][m]
    // [alphas][blocks][n]. In: what starts of blocks differ from X by, but for the first; out: what ends differ from the next
    // ones' starts by, but for the last
    double *defect;
    double *ends;  // room: [alphas][blocks][nx]
    int *lost;     // out: [alphas][blocks]: 1: frozen on its way, where numbers mean nothing
} device_follow;

/// A device's table of functions. Arrays have a row for each world. After CTN_UNAVAILABLE by a call on worlds these are lost.
typedef struct ctn_device {
    uint64_t layout;                     // DEVICE_LAYOUT of the sources that it was built from
    const char *name;                    // of the engine
    double least_tolerance;              // of a solve: below it there is only rounding
    double least_error;                  // tolerance of adaptive steps, likewise
    ctn_status (*find)(ctn_error *err);  // CTN_UNAVAILABLE: there is none to run on
    // worlds of a checked configuration, without a state; NULL on error. `own`: constants differ from world to world
    device_worlds *(*open)(const ctn_model *m, const ctn_batch_config *cfg, bool own, ctn_error *err);
    void (*close)(device_worlds *d);
    size_t (*bytes)(const device_worlds *d);
    void (*stream)(device_worlds *d, void *stream);  // on which all further work is done; NULL: the default one
    // the constants of one world, of the model and step size (s) that it has; for all of them, before their first state
    void (*constants)(device_worlds *d, int world, const ctn_model *m, double dt);
    ctn_status (*send_constants)(device_worlds *d, ctn_error *err);
    ctn_status (*set)(device_worlds *d, const double *q, const double *v, device_place place, ctn_error *err);
    ctn_status (*get)(device_worlds *d, double *q, double *v, device_place place, ctn_error *err);  // either may be NULL
    ctn_status (*force)(device_worlds *d, const double *tau, device_place place, ctn_error *err);   // NULL: none
    // run->force: instead of those forces; no control. stats: in: frozen; out: as ctn_engine's `step`, of which without `all`
    // only steps, fallbacks, frozen and frozen_time
    ctn_status (*step)(device_worlds *d, const ctn_run *run, bool all, ctn_step_stats *stats, ctn_error *err);
    ctn_status (*totals)(device_worlds *d, ctn_totals *totals, ctn_error *err);
    // of worlds that have constants of their own, which stay what they are, as do their states
    ctn_status (*follow)(device_worlds *d, const device_follow *plan, ctn_error *err);
    // the states of worlds first .. first + count - 1, as ctn_engine's: flat [count][flat_size]
    ctn_status (*flatten)(device_worlds *d, int first, int count, bool load, double *flat, ctn_error *err);
    // memory of the caller's on the device
    void *(*allocate)(device_worlds *d, size_t bytes, ctn_error *err);
    void (*release)(device_worlds *d, void *memory);
    ctn_status (*copy)(device_worlds *d, void *to, const void *from, size_t bytes, device_place place,
                       ctn_error *err);  // place: of `to`
    const struct along_device *along;    // one world along its links (sim/along/along_device.h); NULL: it has none
    const struct forms_device *forms;    // the papers' forms (sim/forms/forms_device.h); NULL: likewise
    const struct ilqr_device *plans;     // passes of iterative LQR (control/ilqr_device.h); NULL: likewise
} ctn_device;

/// What the library and a device's code must have in common.
#define DEVICE_LAYOUT                                                                                                            \
    (7 + 1000 * ((uint64_t)sizeof(ctn_batch_config) +                                                                            \
                 1000 * (sizeof(ctn_step_stats) + 1000 * (sizeof(ctn_body) + 1000 * sizeof(ctn_run)))))

/// The engines of devices, in a NULL-terminated list.
extern const char *const device_names[];

/// The name in that list which `name` (NULL or "auto": CTN_ENGINE) asks for, or NULL.
const char *device_asked(const char *name);

/// Why there is no device of this name, in words that go on after it: "needs ..."; NULL: there is one.
const char *device_missing(const char *name);

/// The device called cuda: what the file CTN_CUDA_LIBRARY, or libcatena-cuda.so beside the library, says that there is; likewise
/// cuda-float, CTN_CUDA_FLOAT_LIBRARY, libcatena-cuda-float.so. NULL with CTN_UNAVAILABLE in `err`.
const ctn_device *device_find(const char *name, ctn_error *err);

#endif

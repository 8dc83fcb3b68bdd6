/// What Python has as catena.Batch.
#ifndef CATENA_PYTHON_BATCH_H
#define CATENA_PYTHON_BATCH_H

#include "config.h"

#include <functional>

namespace binding
{

struct batch_object {
    std::shared_ptr<compiled> model;
    ctn_batch *batch = nullptr;
    size_t worlds = 0;
    volatile int stop = 0;  // what steps look at: Ctrl-C, and callbacks that raise
    bool busy = false;      // a call is using it, maybe without the GIL
    bool frozen_raises = true;
    std::vector<double> values;  // [worlds][parameters], as told last
    size_t parameters = 0;       // of the caller's list; targets of motors come after them, where these were asked for
    bool targets = false;

    batch_object(const model_object &model, nb::kwargs keys);
    batch_object(const batch_object &) = delete;
    ~batch_object() { ctn_batch_free(batch); }
};

/// The dtype of statistics, and their fields as C has them.
nb::object statistics_dtype();

/// Makes steps or what `call` does, without the GIL; what it returns is raised, CTN_FROZEN if the batch says so. Returns
/// statistics [worlds], or None.
nb::object stepping(batch_object &b, bool statistics, const std::function<ctn_status(ctn_step_stats *, ctn_error *)> &call);

/// An input [width], for all worlds, or [worlds][width].
doubles for_worlds(const batch_object &b, nb::handle from, const char *name, size_t width);

void bind_run(nb::class_<batch_object> &batch);
void bind_told(nb::class_<batch_object> &batch);
void bind_felt(nb::class_<batch_object> &batch);

}  // namespace binding

#endif

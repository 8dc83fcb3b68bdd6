/// A scene and the model that is compiled from it: what everything else is made of, and keeps alive.
#ifndef CATENA_PYTHON_MODEL_H
#define CATENA_PYTHON_MODEL_H

#include "arrays.h"
#include "errors.h"

#include <catena/catena.h>

#include <memory>

namespace binding
{

/// Immutable but for the work spaces, which calls of dynamics take out and put back with the GIL held.
struct compiled {
    ctn_scene *scene = nullptr;
    ctn_model *model = nullptr;
    std::vector<ctn_dynamics *> idle;
    size_t nq = 0, nv = 0, nlink = 0, ntarget = 0;

    compiled() = default;
    compiled(const compiled &) = delete;
    ~compiled();
};

/// What Python has as catena.Model. Shared with all that is made of it, so that it may be collected in any order.
struct model_object {
    std::shared_ptr<compiled> at;
    const compiled *operator->() const { return at.get(); }
};

/// A link by its name or number: an exception if there is none.
int link_of(const compiled &model, nb::handle link);

void bind_model(nb::module_ &m);
/// The dtype of ctn_totals.
nb::object totals_dtype();

void bind_dynamics(nb::class_<model_object> &model);
void bind_batch(nb::module_ &m);
void bind_tapes(nb::module_ &m);
void bind_plans(nb::module_ &m);
void bind_environments(nb::module_ &m);
void bind_recorder(nb::module_ &m);
void bind_search(nb::module_ &m);
void bind_cma(nb::module_ &m);
void bind_rollout(nb::module_ &m);
void bind_tape(nb::module_ &m);

}  // namespace binding

#endif

/// The module catena._core: include/catena for Python. catena/__init__.py makes the package of it.
#include "model.h"

NB_MODULE(_core, m)
{
    m.doc() = "The library of catena, as the package catena has it.";
    m.def("version", ctn_version, "The version of the library.");
    m.attr("totals_dtype") = binding::totals_dtype();
    binding::bind_model(m);
    binding::bind_batch(m);
    binding::bind_tapes(m);
    binding::bind_plans(m);
    binding::bind_environments(m);
    binding::bind_recorder(m);
    binding::bind_search(m);
    binding::bind_cma(m);
    binding::bind_rollout(m);
    binding::bind_tape(m);
}

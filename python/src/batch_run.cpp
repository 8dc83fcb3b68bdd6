/// catena.Batch: runs with forces of their own, states that are saved, and what lies within a step.
#include "batch.h"
#include "held.h"

#include <cstring>

namespace binding
{

/// A function of Python that is asked for joint forces, by the threads of a batch.
struct asked {
    batch_object &b;
    nb::handle control;
    size_t numbers;             // of all sensors; asked without them: 0
    std::exception_ptr thrown;  // the first one: the call ends early, and the worlds are where they were
};

static void ask(asked &a, int first, int count, const double *time, const double *sensors, const double *q, const double *v,
                double *tau)
{
    const nb::gil_scoped_acquire held;
    const size_t n = static_cast<size_t>(count), nv = a.b.model->nv;
    std::fill_n(tau, n * nv, 0.0);
    if (a.thrown) return;
    try {
        // copies, which a program may keep
        const nb::object t = copy(time, {n}), at_q = copy(q, {n, a.b.model->nq}), at_v = copy(v, {n, nv});
        const nb::object told =
            sensors ? a.control(first, t, at_q, at_v, copy(sensors, {n, a.numbers})) : a.control(first, t, at_q, at_v);
        const doubles forces = read_exactly(told, "control's forces", {n, nv}, true);
        if (forces.data()) std::copy(forces.data(), forces.data() + n * nv, tau);
    } catch (...) {
        a.thrown = std::current_exception();
        a.b.stop = 1;
    }
}

static void ask_blind(void *context, int first, int count, const double *time, const double *q, const double *v, double *tau)
{
    ask(*static_cast<asked *>(context), first, count, time, nullptr, q, v, tau);
}

static void ask_sensed(void *context, int first, int count, const double *time, const double *sensors, const double *q,
                       const double *v, double *tau)
{
    ask(*static_cast<asked *>(context), first, count, time, sensors, q, v, tau);
}

static nb::object run(batch_object &b, int steps, nb::handle control, nb::handle force, nb::handle horizon, bool sensed,
                      bool statistics)
{
    if (steps < 0) throw nb::value_error("steps: expected 0 or more");
    ctn_run r = {};
    r.steps = steps;
    const doubles table = read_exactly(force, "force", {b.worlds, static_cast<size_t>(steps), b.model->nv}, true);
    r.force = table.data();
    std::vector<int> horizons;
    if (!horizon.is_none()) {
        const doubles h = read_exactly(horizon, "horizon", {b.worlds});
        for (size_t w = 0; w < b.worlds; w++) {
            const double n = h.data()[w];
            if (!(n >= 0 && n <= steps && n == static_cast<int>(n)))
                throw nb::value_error("horizon: expected whole numbers, 0 to steps");
            horizons.push_back(static_cast<int>(n));
        }
        r.horizon = horizons.data();
    }
    asked a = {b, control, static_cast<size_t>(ctn_model_sensor_numbers(b.model->model)), nullptr};
    if (!control.is_none()) {
        if (!PyCallable_Check(control.ptr())) throw nb::type_error("control: expected something that can be called");
        if (!ctn_batch_configuration(b.batch)->interrupt) throw nb::value_error("control: needs a batch that is interruptible");
        r.context = &a;
        if (sensed) r.sensed = ask_sensed;
        else r.control = ask_blind;
    } else if (sensed) throw nb::value_error("sensed: is of a control");
    try {
        return stepping(b, statistics,
                        [&](ctn_step_stats *stats, ctn_error *err) { return ctn_batch_run(b.batch, &r, stats, err); });
    } catch (...) {
        if (a.thrown) std::rethrow_exception(a.thrown);
        throw;
    }
}

static nb::tuple dense(batch_object &b, double fraction)
{
    use alone(b.busy, "batch");
    const doubles q = write(nb::none(), "q", {b.worlds, b.model->nq}), v = write(nb::none(), "v", {b.worlds, b.model->nv});
    const doubles time = write(nb::none(), "time", {b.worlds});
    auto err = new_error();
    ctn_status status;
    {
        nb::gil_scoped_release released;
        status = ctn_batch_dense(b.batch, fraction, q.data(), v.data(), time.data(), err.get());
    }
    check(status, *err);
    return nb::make_tuple(q.object(), v.object(), time.object());
}

/// The library's block, then the parameters that worlds were told last: they are a part of it that is not given back.
static nb::bytes save(batch_object &b)
{
    use alone(b.busy, "batch");
    const size_t size = ctn_batch_saved_size(b.batch), own = b.values.size() * sizeof(double);
    std::string block(size + own, '\0');
    {
        nb::gil_scoped_release released;
        ctn_batch_save(b.batch, block.data());
        if (own) memcpy(block.data() + size, b.values.data(), own);
    }
    return nb::bytes(block.data(), block.size());
}

static void restore(batch_object &b, nb::bytes block)
{
    use alone(b.busy, "batch");
    const size_t own = b.values.size() * sizeof(double);
    if (block.size() < own) throw nb::value_error("block: is too short for this batch");
    auto err = new_error();
    check(ctn_batch_restore(b.batch, block.c_str(), block.size() - own, err.get()), *err);
    if (own) memcpy(b.values.data(), block.c_str() + block.size() - own, own);
}

static nb::object hashes(batch_object &b)
{
    use alone(b.busy, "batch");
    void *to;
    const nb::object all = records({b.worlds}, nb::str("u8"), &to);
    ctn_batch_hashes(b.batch, static_cast<uint64_t *>(to));
    return all;
}

void bind_run(nb::class_<batch_object> &batch)
{
    batch
        .def("run", run, nb::arg("steps"), nb::arg("control") = nb::none(), nb::arg("force") = nb::none(),
             nb::arg("horizon") = nb::none(), nb::arg("sensed") = false, nb::arg("statistics") = false,
             nb::sig("def run(self, steps: int, control: collections.abc.Callable[..., " LIKE
                     " | None] | None = None, force: " LIKE " | None = None, horizon: " LIKE
                     " | None = None, sensed: bool = False, statistics: bool = False) -> " RECORDS " | None"),
             "Steps with joint forces of their own (N m, N): of a table `force` [worlds, steps, nv], or of\n"
             "`control(first, time, q, v)`, asked before every step of some worlds at a time, from number `first` on: time "
             "[count] (s),\n"
             "q [count, nq], v [count, nv], copies; it gives forces [count, nv], or None for none. `sensed`: it hears what "
             "sensors say,\n"
             "too, [count, numbers]. Threads of the batch ask at the same time, as far as Python's lock lets them. If it raises, "
             "the\n"
             "worlds are where they were before the call. `horizon` [worlds]: steps of each world instead of `steps`.")
        .def("dense", dense, nb::arg("fraction"),
             nb::sig("def dense(self, fraction: float) -> tuple[" ARRAY ", " ARRAY ", " ARRAY "]"),
             "q [worlds, nq], v [worlds, nv] and time [worlds] within the last part of a step, 0 its start, 1 its end. The batch "
             "was\n"
             "made with dense=True.")
        .def("save", save, "All that the future depends on besides model, configuration, forces and wrenches.")
        .def("restore", restore, nb::arg("block"), "Goes on from what save() of such a batch gave, with the same bits.")
        .def("hashes", hashes, nb::sig("def hashes(self) -> numpy.typing.NDArray[numpy.uint64]"),
             "A hash of each world's state [worlds]: equal where all bits are.")
        .def_prop_ro(
            "fallbacks", [](const batch_object &b) { return ctn_batch_fallbacks(b.batch); },
            "Steps that needed fewer stages or had to be halved, since the batch was made.")
        .def_prop_ro(
            "occupancy", [](const batch_object &b) { return ctn_batch_occupancy(b.batch); },
            "How much of the work of the last call was of use, 0 to 1; NaN: not measured.")
        .def_prop_ro(
            "bytes", [](const batch_object &b) { return ctn_batch_bytes(b.batch); }, "Memory of the worlds.");
}

}  // namespace binding

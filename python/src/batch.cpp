/// catena.Batch: worlds, their states, and steps.
#include "batch.h"
#include "records.h"

namespace binding
{

batch_object::batch_object(const model_object &m, nb::kwargs keys) : model(m.at)
{
    frozen_raises = truth_of(keys, "frozen_raises", true);
    targets = truth_of(keys, "motor_targets", false);
    const bool interruptible = truth_of(keys, "interruptible", true);
    config cfg;
    configure(cfg, *model, keys);
    nothing_else(keys);
    parameters = cfg.parameters.size();
    if (targets) {
        cfg.parameters.resize(parameters + model->ntarget);
        ctn_model_target_parameters(model->model, cfg.parameters.data() + parameters);
        cfg.c.parameters = cfg.parameters.data(), cfg.c.parameter_count = static_cast<int>(cfg.parameters.size());
    }
    cfg.c.interrupt = interruptible ? &stop : nullptr;
    auto err = new_error();
    {
        nb::gil_scoped_release released;
        batch = ctn_batch_create(model->model, &cfg.c, err.get());
    }
    if (!batch) raise(*err);
    worlds = static_cast<size_t>(cfg.c.worlds);

    // the model's own, until others are told
    std::vector<double> row;
    for (const ctn_parameter &p : cfg.parameters) {
        double value = cfg.c.dt;
        if (p.kind != CTN_TIME_STEP) ctn_model_parameter(model->model, p, &value, nullptr);
        row.push_back(value);
    }
    for (size_t w = 0; w < worlds; w++) values.insert(values.end(), row.begin(), row.end());
}

nb::object statistics_dtype()
{
    using s = ctn_step_stats;
    fields f(sizeof(s));
    FIELD(f, s, steps), FIELD(f, s, iterations), FIELD(f, s, iterations_max), FIELD(f, s, evaluations);
    FIELD(f, s, line_search), FIELD(f, s, curvature), FIELD(f, s, fallbacks), FIELD(f, s, fewer_stages);
    FIELD(f, s, substeps), FIELD(f, s, rejected), FIELD(f, s, residual);
    FIELD(f, s, energy_before), FIELD(f, s, energy_after), FIELD(f, s, energy_min), FIELD(f, s, energy_max);
    FIELD(f, s, kinetic_before), FIELD(f, s, kinetic_after), FIELD(f, s, potential_before), FIELD(f, s, potential_after);
    FIELD(f, s, spring_before), FIELD(f, s, spring_after), FIELD(f, s, work), FIELD(f, s, dissipated), FIELD(f, s, created);
    FIELD(f, s, frozen), FIELD(f, s, frozen_time), FIELD(f, s, frozen_dof), FIELD(f, s, frozen_position);
    FIELD(f, s, frozen_velocity), FIELD(f, s, frozen_residual), FIELD(f, s, corrections);
    FIELD(f, s, touching), FIELD(f, s, sticking), FIELD(f, s, sliding), FIELD(f, s, depth);
    FIELD(f, s, joined), FIELD(f, s, near), FIELD(f, s, meeting), FIELD(f, s, places), FIELD(f, s, islands), FIELD(f, s, island),
        FIELD(f, s, curved);
    return f.dtype();
}

nb::object stepping(batch_object &b, bool statistics, const std::function<ctn_status(ctn_step_stats *, ctn_error *)> &call)
{
    use alone(b.busy, "batch");
    auto err = new_error();
    nb::object stats = nb::none();
    void *to = nullptr;
    if (statistics) stats = records({b.worlds}, nb::module_::import_("catena._core").attr("statistics_dtype"), &to);
    ctn_status status;
    {
        stop_at_sigint sigint(b.stop);
        nb::gil_scoped_release released;
        status = call(static_cast<ctn_step_stats *>(to), err.get());
    }
    if (status == CTN_OK || (status == CTN_FROZEN && !b.frozen_raises)) return stats;
    err->status = status;
    try {
        raise(*err);
    } catch (nb::python_error &e) {
        if (status == CTN_FROZEN) nb::setattr(e.value(), "statistics", stats);
        throw;
    }
}

static nb::object step(batch_object &b, int steps, bool statistics)
{
    return stepping(b, statistics,
                    [&](ctn_step_stats *stats, ctn_error *err) { return ctn_batch_step(b.batch, steps, stats, err); });
}

static nb::tuple state(batch_object &b, nb::handle q, nb::handle v)
{
    use alone(b.busy, "batch");
    const doubles to_q = write(q, "q", {b.worlds, b.model->nq}), to_v = write(v, "v", {b.worlds, b.model->nv}, {&to_q});
    {
        nb::gil_scoped_release released;
        ctn_batch_state(b.batch, to_q.data(), to_v.data());
    }
    return nb::make_tuple(to_q.object(), to_v.object());
}

static nb::object q_of(batch_object &b)
{
    use alone(b.busy, "batch");
    const doubles q = write(nb::none(), "q", {b.worlds, b.model->nq});
    {
        nb::gil_scoped_release released;
        ctn_batch_state(b.batch, q.data(), nullptr);
    }
    return q.object();
}

static nb::object v_of(batch_object &b)
{
    use alone(b.busy, "batch");
    const doubles v = write(nb::none(), "v", {b.worlds, b.model->nv});
    {
        nb::gil_scoped_release released;
        ctn_batch_state(b.batch, nullptr, v.data());
    }
    return v.object();
}

static nb::object time_of(batch_object &b)
{
    use alone(b.busy, "batch");
    const doubles t = write(nb::none(), "time", {b.worlds});
    for (size_t w = 0; w < b.worlds; w++) t.data()[w] = ctn_batch_time(b.batch, static_cast<int>(w));
    return t.object();
}

doubles for_worlds(const batch_object &b, nb::handle from, const char *name, size_t width)
{
    const doubles a = doubles::like(from, name);
    if (a.sizes() == shape{width}) return doubles::like(numpy("broadcast_to")(a.object(), tuple_of({b.worlds, width})), name);
    return read_exactly(a.object(), name, {b.worlds, width});
}

static void set_state(batch_object &b, nb::handle q, nb::handle v, double time)
{
    use alone(b.busy, "batch");
    const doubles from_q = for_worlds(b, q, "q", b.model->nq);
    const doubles from_v = for_worlds(b, v.is_none() ? numpy("zeros")(b.model->nv) : nb::borrow(v), "v", b.model->nv);
    auto err = new_error();
    ctn_status status;
    {
        nb::gil_scoped_release released;
        status = ctn_batch_set_state(b.batch, from_q.data(), from_v.data(), time, err.get());
    }
    check(status, *err);
}

void bind_batch(nb::module_ &m)
{
    m.attr("statistics_dtype") = statistics_dtype();
    nb::class_<batch_object> batch(
        m, "Batch",
        "Worlds of one model, stepped side by side by one method. They begin at the scene's initial state, at time 0.\n\n"
        "Keys are the members of ctn_batch_config, with the words of scenes; what is not given is as `integrator:` of the scene "
        "says.\n"
        "`parameters`: what worlds have of their own, pairs of a kind and an index or link, [(\"mass_scale\", \"arm\"), ...].\n"
        "`motor_targets`: worlds are told targets of their own, by set_targets. `frozen_raises`: a world that cannot go on "
        "raises\n"
        "FrozenError, after all others have made their steps; without, only statistics tell. `interruptible`: Ctrl-C ends a "
        "call,\n"
        "for which states are kept twice. Calls let other threads of Python run; a batch takes one call at a time.");
    batch
        .def(nb::init<const model_object &, nb::kwargs>(), nb::arg("model"), nb::arg("keys"),
             nb::sig("def __init__(self, model: Model, *, " CONFIG_KEYS ", dense: bool = False, motor_targets: bool = False, "
                     "frozen_raises: bool = True, interruptible: bool = True) -> None"))
        .def_prop_ro(
            "model", [](const batch_object &b) { return model_object{b.model}; }, "The model that it was made of.")
        .def_prop_ro(
            "worlds", [](const batch_object &b) { return b.worlds; }, "How many worlds there are.")
        .def_prop_ro(
            "config", [](const batch_object &b) { return chosen(*ctn_batch_configuration(b.batch)); },
            "The configuration in use: engine, parallel and lanes as chosen.")
        .def_prop_ro("q", q_of, nb::sig("def q(self) -> " ARRAY),
                     "Coordinates [worlds, nq] now (rad, m; balls: quaternion w x y z): a copy, as lanes keep them otherwise.")
        .def_prop_ro("v", v_of, nb::sig("def v(self) -> " ARRAY), "Velocities [worlds, nv] now (rad/s, m/s): a copy.")
        .def_prop_ro("time", time_of, nb::sig("def time(self) -> " ARRAY), "Times [worlds] (s).")
        .def("state", state, nb::arg("q") = nb::none(), nb::arg("v") = nb::none(),
             nb::sig("def state(self, q: " ARRAY " | None = None, v: " ARRAY " | None = None) -> tuple[" ARRAY ", " ARRAY "]"),
             "Coordinates [worlds, nq] and velocities [worlds, nv] now, into arrays of the caller's where these are given.")
        .def("set_state", set_state, nb::arg("q"), nb::arg("v") = nb::none(), nb::arg("time") = 0.0,
             nb::sig("def set_state(self, q: " LIKE ", v: " LIKE " | None = None, time: float = 0.0) -> None"),
             "Starts all worlds anew from q [worlds, nq] or [nq], v likewise (None: at rest), at `time` (s). Frozen ones run "
             "again.")
        .def(
            "step", step, nb::arg("steps") = 1, nb::arg("statistics") = false,
            nb::sig("def step(self, steps: int = 1, statistics: bool = False) -> " RECORDS " | None"),
            "Advances every world by `steps` steps of dt. With `statistics`: what happened, [worlds] of statistics_dtype, whose\n"
            "fields are those of ctn_step_stats.")
        .def("__repr__", [](const batch_object &b) {
            const ctn_batch_config &c = *ctn_batch_configuration(b.batch);
            return "<catena.Batch of " + std::to_string(b.worlds) + " x '" + ctn_model_name(b.model->model) +
                   "': " + ctn_method_name(c.method) + ", " + c.engine + ">";
        });
    bind_run(batch);
    bind_told(batch);
    bind_felt(batch);
}

}  // namespace binding

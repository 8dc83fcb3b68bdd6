/// catena.Tape: a run of one world that is recorded, and its derivatives, those by friction and of single steps, too.
#include "held.h"

namespace binding
{

struct tape_object : held {
    ctn_tape *tape = nullptr;
    size_t steps, state = 0;

    tape_object(const model_object &m, int n, nb::kwargs keys) : held(m), steps(static_cast<size_t>(n > 0 ? n : 0))
    {
        config cfg;
        configured(cfg, keys);
        auto err = new_error();
        tape = ctn_tape_create(model->model, &cfg.c, n, err.get());
        if (!tape) raise(*err);
        state = static_cast<size_t>(ctn_tape_state_size(tape));
    }
    ~tape_object() { ctn_tape_free(tape); }

    /// Gradients by the states, dq and dv.
    doubles by_states(nb::handle from, const char *name) const { return read_exactly(from, name, {steps + 1, model->nv}, true); }
};

static void run(tape_object &t, nb::handle q, nb::handle v, nb::handle u, nb::handle tau)
{
    const nb::tuple start = nb::cast<nb::tuple>(nb::cast(model_object{t.model}).attr("initial_state")());
    const doubles from = read_exactly(q.is_none() ? nb::object(start[0]) : nb::borrow(q), "q", {t.model->nq}),
                  rates = read_exactly(v.is_none() ? nb::object(start[1]) : nb::borrow(v), "v", {t.model->nv});
    const doubles told = read_exactly(u, "u", {t.steps, t.model->ntarget}, true),
                  forces = read_exactly(tau, "tau", {t.steps, t.model->nv}, true);
    t.call("Tape", [&](ctn_error *err) {
        const ctn_status status = ctn_tape_set_targets(t.tape, told.data(), err);
        return status == CTN_OK ? ctn_tape_run(t.tape, from.data(), rates.data(), forces.data(), err) : status;
    });
}

static nb::tuple state(tape_object &t, int step)
{
    const doubles q = write(nb::none(), "", {t.model->nq}), v = write(nb::none(), "", {t.model->nv});
    t.call("Tape", [&](ctn_error *err) { return ctn_tape_state(t.tape, step, q.data(), v.data(), err); });
    return nb::make_tuple(q.object(), v.object());
}

static nb::tuple gradient(tape_object &t, nb::handle dq, nb::handle dv)
{
    const size_t nv = t.model->nv;
    const doubles by_dq = t.by_states(dq, "dq"), by_dv = t.by_states(dv, "dv");
    const doubles q = write(nb::none(), "", {nv}), v = write(nb::none(), "", {nv});
    const doubles u = write(nb::none(), "", {t.steps, t.model->ntarget}), tau = write(nb::none(), "", {t.steps, nv});
    t.call("Tape", [&](ctn_error *err) {
        return ctn_tape_target_gradient(t.tape, by_dq.data(), by_dv.data(), q.data(), v.data(), tau.data(), u.data(), err);
    });
    return nb::make_tuple(q.object(), v.object(), u.object(), tau.object());
}

static nb::object parameter_gradient(tape_object &t, nb::handle parameters, nb::handle dq, nb::handle dv)
{
    const std::vector<ctn_parameter> list = parameters_of(*t.model, parameters);
    const doubles by_dq = t.by_states(dq, "dq"), by_dv = t.by_states(dv, "dv"), by = write(nb::none(), "", {list.size()});
    t.call("Tape", [&](ctn_error *err) {
        return ctn_tape_parameter_gradient(t.tape, by_dq.data(), by_dv.data(), list.data(), static_cast<int>(list.size()),
                                           by.data(), err);
    });
    return by.object();
}

static nb::tuple step_jacobian(tape_object &t, int step)
{
    const doubles A = write(nb::none(), "", {t.state, t.state}), B = write(nb::none(), "", {t.state, t.model->nv});
    const doubles U = write(nb::none(), "", {t.state, t.model->ntarget});
    t.call("Tape", [&](ctn_error *err) { return ctn_step_target_jacobian(t.tape, step, A.data(), B.data(), U.data(), err); });
    return nb::make_tuple(A.object(), B.object(), U.object());
}

static nb::object start_jacobian(tape_object &t)
{
    const doubles S = write(nb::none(), "", {t.state, 2 * t.model->nv});
    t.call("Tape", [&](ctn_error *err) { return ctn_start_jacobian(t.tape, S.data(), err); });
    return S.object();
}

static nb::object output_jacobian(tape_object &t, int step)
{
    const doubles C = write(nb::none(), "", {2 * t.model->nv, t.state});
    t.call("Tape", [&](ctn_error *err) { return ctn_output_jacobian(t.tape, step, C.data(), err); });
    return C.object();
}

static long contact_changes(tape_object &t)
{
    long changes = 0;
    t.call("Tape", [&](ctn_error *err) { return ctn_tape_contact_changes(t.tape, &changes, err); });
    return changes;
}

#define BY_STATES "dq: " LIKE " | None = None, dv: " LIKE " | None = None"

void bind_tape(nb::module_ &m)
{
    const auto dq = nb::arg("dq") = nb::none(), dv = nb::arg("dv") = nb::none();
    nb::class_<tape_object>(
        m, "Tape",
        "A run of one world over `steps` steps, recorded, and its derivatives: as Tapes, and by friction, and of single steps.\n"
        "Keys as of Batch. Gradients by q are in tangent coordinates, laid out as v. What a method carries from step to step, "
        "its\n"
        "state, has state_size coordinates (derivatives.h).")
        .def(nb::init<const model_object &, int, nb::kwargs>(), nb::arg("model"), nb::arg("steps"), nb::arg("keys"),
             nb::sig("def __init__(self, model: Model, steps: int, *, " CONFIG_KEYS ") -> None"))
        .def("run", run, nb::arg("q") = nb::none(), nb::arg("v") = nb::none(), nb::arg("u") = nb::none(),
             nb::arg("tau") = nb::none(),
             nb::sig("def run(self, q: " LIKE " | None = None, v: " LIKE " | None = None, u: " LIKE " | None = None, tau: " LIKE
                     " | None = None) -> None"),
             "Runs and records all steps from q [nq], v [nv] (None: as the scene begins). Motors are told u [steps, ntarget] "
             "(None: "
             "what\n"
             "the scene says), joints bear tau [steps, nv] (N m, N).")
        .def("state", state, nb::arg("step"), nb::sig("def state(self, step: int) -> tuple[" ARRAY ", " ARRAY "]"),
             "q [nq], v [nv] after `step` steps, 0 to steps.")
        .def("gradient", gradient, dq, dv,
             nb::sig("def gradient(self, " BY_STATES ") -> tuple[" ARRAY ", " ARRAY ", " ARRAY ", " ARRAY "]"),
             "Gradients of a scalar that has dq, dv [steps + 1, nv] by the states of the run: by the q and v of the start [nv], "
             "by "
             "u\n"
             "[steps, ntarget] and by tau [steps, nv].")
        .def("parameter_gradient", parameter_gradient, nb::arg("parameters"), dq, dv,
             nb::sig("def parameter_gradient(self, parameters: collections.abc.Sequence[tuple[str, int | str]], " BY_STATES
                     ") -> " ARRAY),
             "The same by parameters of the model, a list as of Batch: \"ground_friction\", \"contact_friction\", "
             "\"ground_depth\",\n"
             "\"pair_friction_scale\", \"pair_depth_scale\". UnavailableError for other kinds.")
        .def(
            "step_jacobian", step_jacobian, nb::arg("step"),
            nb::sig("def step_jacobian(self, step: int) -> tuple[" ARRAY ", " ARRAY ", " ARRAY "]"),
            "A [state_size, state_size], B [.., nv], U [.., ntarget] of step `step`: state after = A state before + B tau + U u.")
        .def("start_jacobian", start_jacobian, nb::sig("def start_jacobian(self) -> " ARRAY),
             "The state at the start by (q, v): S [state_size, 2 nv].")
        .def("output_jacobian", output_jacobian, nb::arg("step"), nb::sig("def output_jacobian(self, step: int) -> " ARRAY),
             "(q, v) by the state after `step` steps: C [2 nv, state_size].")
        .def_prop_ro(
            "steps", [](const tape_object &t) { return t.steps; }, "How many steps a run has.")
        .def_prop_ro(
            "state_size", [](const tape_object &t) { return t.state; }, "How many coordinates the state has.")
        .def_prop_ro(
            "fallbacks",
            [](tape_object &t) {
                use alone(t.busy, "Tape");
                return ctn_tape_fallbacks(t.tape);
            },
            "Steps of the run that needed fewer stages or had to be halved.")
        .def_prop_ro(
            "contact_changes", contact_changes,
            "How often a contact point began or ended to touch, to stick or to slide: gradients hold where none of these "
            "moves.");
}

}  // namespace binding

/// catena.Tapes: runs of many worlds that are recorded, and their gradients.
#include "held.h"

#include <nanobind/ndarray.h>

namespace binding
{

std::unique_ptr<bool[]> chosen_worlds(nb::handle which, const char *name, size_t worlds)
{
    if (which.is_none()) return nullptr;
    const nb::object array = numpy("asarray")(which);
    if (nb::cast<std::string>(array.attr("dtype").attr("kind")) != "b" || !array.attr("shape").equal(tuple_of({worlds})))
        throw nb::value_error((std::string(name) + ": expected booleans of shape " + text_of({worlds})).c_str());
    auto chosen = std::make_unique<bool[]>(worlds);
    for (size_t w = 0; w < worlds; w++) chosen[w] = nb::cast<bool>(nb::bool_(nb::object(array[w])));
    return chosen;
}

struct tapes_object : held {
    ctn_tapes *tapes = nullptr;
    size_t worlds = 0, most = 0, parameters = 0;

    tapes_object(const model_object &m, int steps, bool gradients, nb::kwargs keys) : held(m)
    {
        config cfg;
        configured(cfg, keys);
        auto err = new_error();
        tapes = ctn_tapes_create(model->model, &cfg.c, steps, gradients, err.get());
        if (!tapes) raise(*err);
        worlds = static_cast<size_t>(cfg.c.worlds), most = static_cast<size_t>(steps), parameters = cfg.parameters.size();
    }
    ~tapes_object() { ctn_tapes_free(tapes); }

    /// Steps of the run that is recorded. What a call that is refused leaves of the one before, the library knows.
    size_t made()
    {
        use alone(busy, "Tapes");
        int n = 0;
        while (ctn_tapes_q(tapes, n + 1)) n++;
        return static_cast<size_t>(n);
    }
};

/// Where a run and its gradient go: functions of Python, or tables [steps][worlds][..]; both may be NULL.
struct hooks {
    tapes_object &t;
    nb::handle tell, back;
    const double *u, *tau, *dq, *dv;
    double *by_u, *by_tau;
};

static void set(nb::handle from, const char *name, const shape &sizes, double *to)
{
    const doubles a = read_exactly(from, name, sizes, true);
    if (a.data()) std::copy(a.data(), a.data() + a.size(), to);
}

static void on_tell(void *context, int step, const double *q, const double *v, double *u, double *tau)
{
    hooks &h = *static_cast<hooks *>(context);
    const size_t w = h.t.worlds, nu = h.t.model->ntarget, nv = h.t.model->nv, k = static_cast<size_t>(step);
    if (h.u) std::copy(h.u + k * w * nu, h.u + (k + 1) * w * nu, u);
    if (h.tau) std::copy(h.tau + k * w * nv, h.tau + (k + 1) * w * nv, tau);
    if (!h.tell.is_none())
        h.t.ask([&] {
            const nb::object told = h.tell(step, copy(q, {w, h.t.model->nq}), copy(v, {w, nv}));
            if (told.is_none()) return;
            if (!nb::isinstance<nb::tuple>(told) || nb::len(told) != 2) throw nb::type_error("tell: expected (u, tau), or None");
            set(told[0], "what tell gives, u", {w, nu}, u);
            set(told[1], "what tell gives, tau", {w, nv}, tau);
        });
}

static void on_back(void *context, int step, const double *q, const double *v, const double *by_u, const double *by_tau,
                    double *by_q, double *by_v)
{
    hooks &h = *static_cast<hooks *>(context);
    const size_t w = h.t.worlds, nu = h.t.model->ntarget, nv = h.t.model->nv, k = static_cast<size_t>(step);
    for (size_t i = 0; i < w * nv && h.dq; i++) by_q[i] += h.dq[k * w * nv + i];
    for (size_t i = 0; i < w * nv && h.dv; i++) by_v[i] += h.dv[k * w * nv + i];
    if (by_u) std::copy(by_u, by_u + w * nu, h.by_u + k * w * nu);
    if (by_tau) std::copy(by_tau, by_tau + w * nv, h.by_tau + k * w * nv);
    if (!h.back.is_none())
        h.t.ask([&] {
            const nb::object u = by_u ? copy(by_u, {w, nu}) : nb::none(), tau = by_tau ? copy(by_tau, {w, nv}) : nb::none();
            const nb::object told = h.back(step, copy(q, {w, h.t.model->nq}), copy(v, {w, nv}), u, tau);
            if (told.is_none()) return;
            if (!nb::isinstance<nb::tuple>(told) || nb::len(told) != 2) throw nb::type_error("back: expected (dq, dv), or None");
            add_to(told[0], "what back gives, dq", {w, nv}, by_q);
            add_to(told[1], "what back gives, dv", {w, nv}, by_v);
        });
}

static void run(tapes_object &t, int steps, nb::handle q, nb::handle v, nb::handle u, nb::handle tau, nb::handle tell,
                nb::handle begin)
{
    if (steps < 1 || static_cast<size_t>(steps) > t.most)
        throw nb::value_error(("steps: expected 1 to " + std::to_string(t.most)).c_str());
    const size_t n = static_cast<size_t>(steps);
    if (!tell.is_none() && !PyCallable_Check(tell.ptr())) throw nb::type_error("tell: expected something that can be called");
    const nb::tuple start = nb::cast<nb::tuple>(nb::cast(model_object{t.model}).attr("initial_state")());
    const auto rows = [&](nb::handle from, const char *name, size_t own, size_t width) {
        return read_exactly(
            numpy("broadcast_to")(from.is_none() ? nb::object(start[own]) : nb::borrow(from), tuple_of({t.worlds, width})), name,
            {t.worlds, width});
    };
    const doubles at_q = rows(q, "q", 0, t.model->nq), at_v = rows(v, "v", 1, t.model->nv);
    const doubles told = read_exactly(u, "u", {n, t.worlds, t.model->ntarget}, true);
    const doubles forces = read_exactly(tau, "tau", {n, t.worlds, t.model->nv}, true);
    const auto begins = chosen_worlds(begin, "begin", t.worlds);
    hooks h = {t, tell, nb::none(), told.data(), forces.data(), nullptr, nullptr, nullptr, nullptr};
    const ctn_tapes_hooks c = {on_tell, on_back, &h};
    t.call("Tapes",
           [&](ctn_error *err) { return ctn_tapes_run(t.tapes, steps, at_q.data(), at_v.data(), begins.get(), &c, err); });
}

static nb::tuple gradient(tapes_object &t, nb::handle dq, nb::handle dv, nb::handle back)
{
    const size_t n = t.made(), w = t.worlds, nu = t.model->ntarget, nv = t.model->nv;
    if (!back.is_none() && !PyCallable_Check(back.ptr())) throw nb::type_error("back: expected something that can be called");
    const doubles by_dq = read_exactly(dq, "dq", {n + 1, w, nv}, true), by_dv = read_exactly(dv, "dv", {n + 1, w, nv}, true);
    const doubles by_q = write(nb::none(), "", {w, nv}), by_v = write(nb::none(), "", {w, nv});
    const doubles by_u = write(nb::none(), "", {n, w, nu}), by_tau = write(nb::none(), "", {n, w, nv});
    std::fill_n(by_u.data(), by_u.size(), 0.0), std::fill_n(by_tau.data(), by_tau.size(), 0.0);
    if (t.made() != n) throw std::runtime_error("Tapes: another run was made while dq and dv were read");
    hooks h = {t, nb::none(), back, nullptr, nullptr, by_dq.data(), by_dv.data(), by_u.data(), by_tau.data()};
    const ctn_tapes_hooks c = {on_tell, on_back, &h};
    t.call("Tapes", [&](ctn_error *err) { return ctn_tapes_gradient(t.tapes, &c, by_q.data(), by_v.data(), err); });
    return nb::make_tuple(by_q.object(), by_v.object(), by_u.object(), by_tau.object());
}

static nb::tuple jacobian(tapes_object &t)
{
    const size_t w = t.worlds, nv = t.model->nv;
    const doubles A = write(nb::none(), "", {w, 2 * nv, 2 * nv}), B = write(nb::none(), "", {w, 2 * nv, t.model->ntarget});
    const doubles F = write(nb::none(), "", {w, 2 * nv, nv});
    t.call("Tapes", [&](ctn_error *err) { return ctn_tapes_jacobian(t.tapes, A.data(), B.data(), F.data(), err); });
    return nb::make_tuple(A.object(), B.object(), F.object());
}

static nb::tuple step_inverse(tapes_object &t, nb::handle q, nb::handle v, nb::handle to, nb::handle tau)
{
    const size_t w = t.worlds;
    const doubles at_q = read_exactly(q, "q", {w, t.model->nq}), at_v = read_exactly(v, "v", {w, t.model->nv});
    const doubles towards = read_exactly(to, "to", {w, t.model->nq}), guess = read_exactly(tau, "tau", {w, t.model->nv}, true);
    const doubles force = write(nb::none(), "", {w, t.model->nv}), distance = write(nb::none(), "", {w});
    if (guess.data()) std::copy(guess.data(), guess.data() + guess.size(), force.data());
    else std::fill_n(force.data(), force.size(), 0.0);
    t.call("Tapes", [&](ctn_error *err) {
        return ctn_step_inverse(t.tapes, at_q.data(), at_v.data(), nullptr, towards.data(), force.data(), distance.data(), err);
    });
    return nb::make_tuple(force.object(), distance.object());
}

/// What the library keeps itself, to be read: the view keeps the tapes.
static nb::object view(nb::handle self, const double *at, size_t width)
{
    if (!at) throw nb::index_error("step: is not recorded");
    const tapes_object &t = nb::cast<const tapes_object &>(self);
    return nb::cast(nb::ndarray<nb::numpy, const double>(at, {t.worlds, width}, self));
}

static nb::object q_at(nb::handle self, int step)
{
    tapes_object &t = nb::cast<tapes_object &>(self);
    use alone(t.busy, "Tapes");
    return view(self, ctn_tapes_q(t.tapes, step), t.model->nq);
}

static nb::object v_at(nb::handle self, int step)
{
    tapes_object &t = nb::cast<tapes_object &>(self);
    use alone(t.busy, "Tapes");
    return view(self, ctn_tapes_v(t.tapes, step), t.model->nv);
}

static nb::object lost(tapes_object &t)
{
    use alone(t.busy, "Tapes");
    nb::list steps;
    for (size_t w = 0; w < t.worlds; w++) steps.append(ctn_tapes_lost(t.tapes, static_cast<int>(w)));
    return numpy("array")(steps, nb::arg("dtype") = "int32");
}

static void set_parameters(tapes_object &t, nb::handle values)
{
    const doubles from = read_exactly(values, "values", {t.worlds, t.parameters});
    t.call("Tapes", [&](ctn_error *err) { return ctn_tapes_set_parameters(t.tapes, from.data(), err); });
}

static void begin_at(tapes_object &t, nb::handle time)
{
    const doubles from = read_exactly(time, "time", {t.worlds});
    t.call("Tapes", [&](ctn_error *err) { return ctn_tapes_begin_at(t.tapes, from.data(), err); });
}

void bind_tapes(nb::module_ &m)
{
    nb::class_<tapes_object>(
        m, "Tapes",
        "Runs of up to `steps` steps of many worlds, recorded side by side, and their gradients. Keys as of Batch. Gradients\n"
        "by q are in tangent coordinates, laid out as v. `gradients=False`: runs alone, by every method.")
        .def(nb::init<const model_object &, int, bool, nb::kwargs>(), nb::arg("model"), nb::arg("steps"),
             nb::arg("gradients") = true, nb::arg("keys"),
             nb::sig("def __init__(self, model: Model, steps: int, gradients: bool = True, *, " CONFIG_KEYS ") -> None"))
        .def_prop_ro(
            "worlds", [](const tapes_object &t) { return t.worlds; }, "How many worlds there are.")
        .def("run", run, nb::arg("steps"), nb::arg("q") = nb::none(), nb::arg("v") = nb::none(), nb::arg("u") = nb::none(),
             nb::arg("tau") = nb::none(), nb::arg("tell") = nb::none(), nb::arg("begin") = nb::none(),
             nb::sig("def run(self, steps: int, q: " LIKE " | None = None, v: " LIKE " | None = None, u: " LIKE
                     " | None = None, tau: " LIKE " | None = None, tell: collections.abc.Callable[[int, " ARRAY ", " ARRAY
                     "], tuple[" LIKE " | None, " LIKE " | None] | None] | None = None, begin: " LIKE " | None = None) -> None"),
             "Runs and records `steps` steps of worlds that begin at q [worlds, nq], v [worlds, nv] (None: as the scene does); "
             "those\n"
             "for which `begin` [worlds] is False go on from where the last run ended. Motors are told u [steps, worlds, "
             "ntarget] and\n"
             "joints bear tau [steps, worlds, nv] (N m, N), or what tell(step, q, v) gives: (u, tau) [worlds, ..], None for what "
             "stays\n"
             "as in the step before.")
        .def("gradient", gradient, nb::arg("dq") = nb::none(), nb::arg("dv") = nb::none(), nb::arg("back") = nb::none(),
             nb::sig("def gradient(self, dq: " LIKE " | None = None, dv: " LIKE
                     " | None = None, back: collections.abc.Callable[[int, " ARRAY ", " ARRAY ", " ARRAY " | None, " ARRAY
                     " | None], tuple[" LIKE " | None, " LIKE " | None] | None] | None = None) -> tuple[" ARRAY ", " ARRAY
                     ", " ARRAY ", " ARRAY "]"),
             "Gradients of a scalar that has dq, dv [steps + 1, worlds, nv] by the states of the run: by the q and v of the "
             "start\n"
             "[worlds, nv], by u [steps, worlds, ntarget] and by tau [steps, worlds, nv] of each step. back(step, q, v, by_u, "
             "by_tau),\n"
             "from the last state to the first, may add (dq, dv) [worlds, nv] there; None: nothing.")
        .def("jacobian", jacobian, nb::sig("def jacobian(self) -> tuple[" ARRAY ", " ARRAY ", " ARRAY "]"),
             "(q, v) at the end of the run by (q, v) at its start [worlds, 2 nv, 2 nv], by targets [.., ntarget] and by joint "
             "forces\n"
             "[.., nv] that are the same in all of its steps.")
        .def(
            "step_inverse", step_inverse, nb::arg("q"), nb::arg("v"), nb::arg("to"), nb::arg("tau") = nb::none(),
            nb::sig("def step_inverse(self, q: " LIKE ", v: " LIKE ", to: " LIKE ", tau: " LIKE " | None = None) -> tuple[" ARRAY
                    ", " ARRAY "]"),
            "Joint forces [worlds, nv] that lead in one step from q, v to coordinates `to` [worlds, nq], and how far from there\n"
            "[worlds] worlds stay (rad, m; NaN: lost). tau: a guess.")
        .def("q", q_at, nb::arg("step"), nb::sig("def q(self, step: int) -> " ARRAY),
             "Coordinates [worlds, nq] after `step` steps of the run: a view of the library's own memory, to be read. The next "
             "run\n"
             "overwrites it.")
        .def("v", v_at, nb::arg("step"), nb::sig("def v(self, step: int) -> " ARRAY), "Velocities [worlds, nv] likewise.")
        .def_prop_ro("lost", lost, nb::sig("def lost(self) -> numpy.typing.NDArray[numpy.int32]"),
                     "In which step each world was lost, [worlds]; -1: it was not.")
        .def("set_parameters", set_parameters, nb::arg("values"), nb::sig("def set_parameters(self, values: " LIKE ") -> None"),
             "Parameters of each world, [worlds, parameters], from the next run on.")
        .def("begin_at", begin_at, nb::arg("time"), nb::sig("def begin_at(self, time: " LIKE ") -> None"),
             "Times [worlds] (s) at which worlds begin in the runs that follow.");
}

}  // namespace binding

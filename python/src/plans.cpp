/// catena.Optimize, Trajectories and MPC: motions that cost least, found and followed.
#include "held.h"

#include <cmath>

namespace binding
{

static nb::object state_of(const char *type, const nb::dict &members)
{
    return nb::module_::import_("catena._types").attr(type)(**members);
}

static nb::object optimize_state(const ctn_optimize_state &s)
{
    static const char *const stops[] = {"runs", "optimal", "stuck"};
    nb::dict d;
    d["iteration"] = s.iteration, d["cost"] = s.cost, d["gradient"] = s.gradient, d["violation"] = s.violation;
    d["penalty"] = s.penalty, d["stop"] = stops[s.stop];
    return state_of("OptimizeState", d);
}

/// x, u, K and gains by what was told before, of a trajectory of so many knots. None for what there is not.
struct arrays_of_plan {
    const double *x, *u, *K, *told;
};

static nb::object part(const compiled &m, const arrays_of_plan &a, const char *which, size_t knots)
{
    const size_t nx = m.nq + m.nv, nu = m.ntarget;
    const std::string name = which;
    if (name == "x") return copy(a.x, {knots + 1, nx});
    if (name == "u") return copy(a.u, {knots, nu});
    if (name == "gains") return copy(a.K, {knots, nu, 2 * m.nv});
    return a.told ? copy(a.told, {knots, nu, nu}) : nb::none();
}

struct optimize_object : held {
    ctn_optimize *optimize = nullptr;
    size_t parameters = 0;

    optimize_object(const model_object &m, double duration, nb::object cost, nb::object derivatives, nb::kwargs keys) : held(m)
    {
        check_callable(cost, "cost"), check_callable(derivatives, "derivatives");
        if (cost.is_none() != derivatives.is_none()) throw nb::value_error("cost, derivatives: give both, or none");
        functions = {cost, derivatives};
        config cfg;
        configured(cfg, keys);
        parameters = cfg.parameters.size();
        const ctn_optimize_cost own = {add_cost, add_derivatives, this};
        call("Optimize", [&](ctn_error *err) {
            optimize =
                ctn_optimize_create(model->scene, model->model, &cfg.c, duration, functions[0].is_none() ? nullptr : &own, err);
            return optimize ? CTN_OK : err->status;
        });
    }
    ~optimize_object() { ctn_optimize_free(optimize); }

    /// What a function of Python says of points: it is told where they are.
    nb::object told_of(const nb::object &function, int count, const int *knot, const double *x, const double *u) const
    {
        const size_t n = static_cast<size_t>(count);
        void *knots;
        const nb::object at = records({n}, numpy("dtype")("i4"), &knots);
        std::copy(knot, knot + n, static_cast<int *>(knots));
        return function(at, copy(x, {n, model->nq + model->nv}), copy(u, {n, model->ntarget}));
    }

    static void add_cost(void *context, int count, const int *knot, const double *x, const double *u, double *cost)
    {
        optimize_object &o = *static_cast<optimize_object *>(context);
        const size_t n = static_cast<size_t>(count);
        o.ask([&] { add_to(o.told_of(o.functions[0], count, knot, x, u), "what cost gives", {n}, cost); });
        if (o.thrown) std::fill_n(cost, n, NAN);  // so that nothing is taken for better
    }

    static void add_derivatives(void *context, int count, const int *knot, const double *x, const double *u,
                                const ctn_cost_derivatives *to)
    {
        optimize_object &o = *static_cast<optimize_object *>(context);
        const size_t n = static_cast<size_t>(count), nx = 2 * o.model->nv, nu = o.model->ntarget;
        o.ask([&] {
            const nb::object told = o.told_of(o.functions[1], count, knot, x, u);
            if (!nb::isinstance<nb::tuple>(told) || nb::len(told) != 5)
                throw nb::type_error("derivatives: expected (x, u, xx, uu, ux), each None for 0");
            add_to(told[0], "derivatives by x", {n, nx}, to->x), add_to(told[1], "derivatives by u", {n, nu}, to->u);
            add_to(told[2], "derivatives by xx", {n, nx, nx}, to->xx), add_to(told[3], "derivatives by uu", {n, nu, nu}, to->uu);
            add_to(told[4], "derivatives by ux", {n, nu, nx}, to->ux);
        });
    }

    nb::object part(const char *which)
    {
        use alone(busy, "Optimize");
        const ctn_optimize *const o = optimize;
        const arrays_of_plan a = {ctn_optimize_states(o), ctn_optimize_controls(o), ctn_optimize_gains(o),
                                  ctn_optimize_told_gains(o)};
        return binding::part(*model, a, which, static_cast<size_t>(ctn_optimize_knots(o)));
    }
};

static nb::object iterate(optimize_object &o, int iterations)
{
    o.call("Optimize", [&](ctn_error *err) {
        ctn_status status = CTN_OK;
        for (int i = 0; i < iterations && status == CTN_OK && !ctn_optimize_get_state(o.optimize).stop; i++)
            status = ctn_optimize_step(o.optimize, err);
        return status;
    });
    return optimize_state(ctn_optimize_get_state(o.optimize));
}

struct trajectories_object : held {
    ctn_trajectories *all = nullptr;
    size_t worlds = 0, parameters = 0;

    trajectories_object(const model_object &m, double duration, nb::handle x0, nb::kwargs keys) : held(m)
    {
        config cfg;
        configured(cfg, keys);
        worlds = cfg.c.worlds > 0 ? static_cast<size_t>(cfg.c.worlds) : 0, parameters = cfg.parameters.size();
        const doubles from = read_exactly(x0, "x0", {worlds, model->nq + model->nv});
        call("Trajectories", [&](ctn_error *err) {
            all = ctn_trajectories_create(model->scene, model->model, &cfg.c, duration, from.data(), err);
            return all ? CTN_OK : err->status;
        });
    }
    ~trajectories_object() { ctn_trajectories_free(all); }

    int world(int w) const
    {
        if (w < 0 || static_cast<size_t>(w) >= worlds) throw nb::index_error("world: there is none with this number");
        return w;
    }
    nb::object part(const char *which, int w)
    {
        use alone(busy, "Trajectories");
        world(w);
        const arrays_of_plan a = {ctn_trajectories_states(all, w), ctn_trajectories_controls(all, w),
                                  ctn_trajectories_gains(all, w), ctn_trajectories_told_gains(all, w)};
        return a.x ? binding::part(*model, a, which, static_cast<size_t>(ctn_trajectories_knots(all))) : nb::none();
    }
};

static bool iterate_all(trajectories_object &t, int iterations)
{
    t.call("Trajectories", [&](ctn_error *err) { return ctn_trajectories_step(t.all, iterations, err); });
    return ctn_trajectories_run(t.all);
}

static nb::object lost(trajectories_object &t, int world)
{
    use alone(t.busy, "Trajectories");
    const char *message = nullptr;
    if (ctn_trajectories_lost(t.all, t.world(world), &message) == CTN_OK) return nb::none();
    return nb::str(message ? message : "");
}

struct mpc_object : held {
    ctn_mpc *mpc = nullptr;
    size_t worlds = 0, parameters = 0;

    mpc_object(const model_object &m, nb::handle x0, uint64_t seed, nb::kwargs keys) : held(m)
    {
        config cfg;
        configured(cfg, keys);
        worlds = cfg.c.worlds > 0 ? static_cast<size_t>(cfg.c.worlds) : 0, parameters = cfg.parameters.size();
        const doubles from = read_exactly(x0, "x0", {worlds, model->nq + model->nv}, true);
        call("MPC", [&](ctn_error *err) {
            mpc = ctn_mpc_create(model->scene, model->model, &cfg.c, seed, from.data(), err);
            return mpc ? CTN_OK : err->status;
        });
    }
    ~mpc_object() { ctn_mpc_free(mpc); }
};

static void begin(mpc_object &m, nb::handle x, double time, nb::handle which)
{
    const doubles from = read_exactly(x, "x", {m.worlds, m.model->nq + m.model->nv});
    const auto chosen = chosen_worlds(which, "which", m.worlds);
    m.call("MPC", [&](ctn_error *err) { return ctn_mpc_begin(m.mpc, chosen.get(), from.data(), time, err); });
}

static nb::object told(mpc_object &m, nb::handle x, nb::handle out)
{
    const doubles from = read_exactly(x, "x", {m.worlds, m.model->nq + m.model->nv});
    const doubles u = write(out, "out", {m.worlds, m.model->ntarget}, {&from});
    m.call("MPC", [&](ctn_error *err) { return ctn_mpc_step(m.mpc, from.data(), u.data(), err); });
    return u.object();
}

static nb::object mpc_state(mpc_object &m, int world)
{
    use alone(m.busy, "MPC");
    if (world < 0 || static_cast<size_t>(world) >= m.worlds) throw nb::index_error("world: there is none with this number");
    const ctn_mpc_state s = ctn_mpc_get_state(m.mpc, world);
    nb::dict d;
    d["knot"] = s.knot, d["time"] = s.time, d["cost"] = s.cost, d["planned"] = s.planned, d["violation"] = s.violation;
    d["iterations"] = s.iterations, d["started"] = s.started, d["lost"] = s.lost;
    return state_of("MPCState", d);
}

#define COST "collections.abc.Callable[[numpy.typing.NDArray[numpy.int32], " ARRAY ", " ARRAY "], "
#define PARAMETERS "def set_parameters(self, values: " LIKE ") -> None"

void bind_plans(nb::module_ &m)
{
    const auto model = nb::arg("model"), keys = nb::arg("keys"), duration = nb::arg("duration"), world = nb::arg("world");
    nb::class_<optimize_object> optimize(
        m, "Optimize",
        "A trajectory over `duration` s of a scene with `optimize:` and motors, by iterative "
        "LQR, in steps of the keys (as of Batch).\n"
        "It begins with the scene's guess, or the plan that it plays.\n\n"
        "A cost of your own, besides the scene's: cost(knot, x, u) gives what points cost [count], at\n"
        "knots `knot` [count], states x [count, nq + nv], told u [count, ntarget], and\n"
        "derivatives(knot, x, u) its derivatives (x, u, xx, uu, ux) [count, ..] by changes of x in\n"
        "tangent coordinates [2 nv] and by u, each None for 0. At knot `knots`, the end, u counts for\n"
        "nothing.",
        nb::type_slots(with_functions<optimize_object>()));
    optimize
        .def(nb::init<const model_object &, double, nb::object, nb::object, nb::kwargs>(), model, duration,
             nb::arg("cost") = nb::none(), nb::arg("derivatives") = nb::none(), keys,
             nb::sig("def __init__(self, model: Model, duration: float, cost: " COST LIKE "] | None = None, derivatives: " COST
                     "tuple[" LIKE " | None, " LIKE " | None, " LIKE " | None, " LIKE " | None, " LIKE
                     " | None]] | None = None, *, " CONFIG_KEYS ") -> None"))
        .def("step", iterate, nb::arg("iterations") = 1,
             nb::sig("def step(self, iterations: int = 1) -> catena._types.OptimizeState"),
             "Up to so many iterations; fewer where it is over. Where it is then.")
        .def_prop_ro(
            "state",
            [](optimize_object &o) {
                use alone(o.busy, "Optimize");
                return optimize_state(ctn_optimize_get_state(o.optimize));
            },
            nb::sig("def state(self) -> catena._types.OptimizeState"), "Where it is.")
        .def_prop_ro(
            "knots", [](optimize_object &o) { return ctn_optimize_knots(o.optimize); },
            "How many knots: motors are told the same in each.")
        .def_prop_ro(
            "knot_length", [](optimize_object &o) { return ctn_optimize_knot_length(o.optimize); }, "s.")
        .def_prop_ro(
            "x", [](optimize_object &o) { return o.part("x"); }, nb::sig("def x(self) -> " ARRAY),
            "States (q, v) [knots + 1, nq + nv]: a copy.")
        .def_prop_ro(
            "u", [](optimize_object &o) { return o.part("u"); }, nb::sig("def u(self) -> " ARRAY),
            "What motors are told [knots, ntarget]: a copy.")
        .def_prop_ro(
            "gains", [](optimize_object &o) { return o.part("gains"); }, nb::sig("def gains(self) -> " ARRAY),
            "K [knots, ntarget, 2 nv]: u + K (x' - x) brings a motion x' back, in tangent coordinates. A copy.")
        .def_prop_ro(
            "told_gains", [](optimize_object &o) { return o.part("told"); }, nb::sig("def told_gains(self) -> " ARRAY " | None"),
            "Gains by what was told in the knot before [knots, ntarget, ntarget], where changes of it cost; else None.")
        .def(
            "set_parameters",
            [](optimize_object &o, nb::handle values) {
                const doubles from = read_exactly(values, "values", {o.parameters});
                o.call("Optimize", [&](ctn_error *err) { return ctn_optimize_set_parameters(o.optimize, from.data(), err); });
            },
            nb::arg("values"), nb::sig(PARAMETERS),
            "Parameters [parameters] of what is steered; iterations begin again from what was found.");

    nb::class_<trajectories_object>(
        m, "Trajectories",
        "Many trajectories of one scene, each from a state of its own, x0 [worlds, nq + nv], side by side; as Optimize else.")
        .def(nb::init<const model_object &, double, nb::handle, nb::kwargs>(), model, duration, nb::arg("x0"), keys,
             nb::sig("def __init__(self, model: Model, duration: float, x0: " LIKE ", *, " CONFIG_KEYS ") -> None"))
        .def("step", iterate_all, nb::arg("iterations") = 1,
             "Up to so many iterations of each that is not over; whether any goes on.")
        .def(
            "state",
            [](trajectories_object &t, int w) {
                use alone(t.busy, "Trajectories");
                return optimize_state(ctn_trajectories_get_state(t.all, t.world(w)));
            },
            world, nb::sig("def state(self, world: int) -> catena._types.OptimizeState"), "Where a world is.")
        .def("lost", lost, world, nb::sig("def lost(self, world: int) -> str | None"),
             "Why a world has no trajectory that goes on; None: it has.")
        .def_prop_ro(
            "knots", [](trajectories_object &t) { return ctn_trajectories_knots(t.all); }, "How many knots each has.")
        .def(
            "x", [](trajectories_object &t, int w) { return t.part("x", w); }, world,
            nb::sig("def x(self, world: int) -> " ARRAY), "As Optimize.x.")
        .def(
            "u", [](trajectories_object &t, int w) { return t.part("u", w); }, world,
            nb::sig("def u(self, world: int) -> " ARRAY), "As Optimize.u.")
        .def(
            "gains", [](trajectories_object &t, int w) { return t.part("gains", w); }, world,
            nb::sig("def gains(self, world: int) -> " ARRAY), "As Optimize.gains.")
        .def(
            "set_parameters",
            [](trajectories_object &t, nb::handle values) {
                const doubles from = read_exactly(values, "values", {t.worlds, t.parameters});
                t.call("Trajectories", [&](ctn_error *err) { return ctn_trajectories_set_parameters(t.all, from.data(), err); });
            },
            nb::arg("values"), nb::sig(PARAMETERS), "Parameters [worlds, parameters] of what is steered.");

    nb::class_<mpc_object>(
        m, "MPC",
        "Plans over a horizon that are made anew in every knot, of many worlds: settings are those of `optimize:` and its "
        "`mpc:`\n"
        "in the scene. First plans are from x0 [worlds, nq + nv] (None: as the scene begins). `seed`: of samples. Keys as of\n"
        "Batch. Who calls it steps the plants.")
        .def(nb::init<const model_object &, nb::handle, uint64_t, nb::kwargs>(), model, nb::arg("x0") = nb::none(),
             nb::arg("seed") = 0, keys,
             nb::sig("def __init__(self, model: Model, x0: " LIKE " | None = None, seed: int = 0, *, " CONFIG_KEYS ") -> None"))
        .def("begin", begin, nb::arg("x"), nb::arg("time") = 0.0, nb::arg("which") = nb::none(),
             nb::sig("def begin(self, x: " LIKE ", time: float = 0.0, which: " LIKE " | None = None) -> None"),
             "First plans anew from x [worlds, nq + nv] at `time` (s), of the worlds that `which` [worlds] names.")
        .def("step", told, nb::arg("x"), nb::arg("out") = nb::none(), nb::sig("def step(self, x: " LIKE OUT),
             "Plants are at x [worlds, nq + nv] where a knot begins: what motors are told in it [worlds, ntarget]. Makes the "
             "next plans.")
        .def("state", mpc_state, world, nb::sig("def state(self, world: int) -> catena._types.MPCState"), "Of a world.")
        .def_prop_ro(
            "worlds", [](mpc_object &o) { return o.worlds; }, "How many worlds there are.")
        .def_prop_ro(
            "knot_length", [](mpc_object &o) { return ctn_mpc_knot_length(o.mpc); }, "s.")
        .def(
            "set_parameters",
            [](mpc_object &o, nb::handle values) {
                const doubles from = read_exactly(values, "values", {o.worlds, o.parameters});
                o.call("MPC", [&](ctn_error *err) { return ctn_mpc_set_parameters(o.mpc, from.data(), err); });
            },
            nb::arg("values"), nb::sig(PARAMETERS), "Parameters [worlds, parameters] of the models by which plans are made.");
}

}  // namespace binding

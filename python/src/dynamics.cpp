/// Kinematics and dynamics, methods of catena.Model: over any number of states at once, without the GIL.
#include "model.h"
#include "records.h"

#include <functional>

namespace binding
{

/// A work space of the model, taken out for one call.
class workspace
{
  public:
    explicit workspace(const model_object &m, double time = 0) : home(*m.at)
    {
        if (home.idle.empty()) {
            auto err = new_error();
            if (!(dyn = ctn_dynamics_create(home.model, nullptr, err.get()))) raise(*err);
        } else {
            dyn = home.idle.back();
            home.idle.pop_back();
        }
        ctn_dynamics_set_time(dyn, time);
    }
    ~workspace() { home.idle.push_back(dyn); }
    workspace(const workspace &) = delete;
    operator ctn_dynamics *() const { return dyn; }

  private:
    compiled &home;
    ctn_dynamics *dyn;
};

static shape operator+(shape a, const shape &b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

/// States that a call is about: inputs with the same leading sizes, whatever these are.
class states
{
  public:
    explicit states(const model_object &model) : m(model) {}

    const double *in(nb::handle from, const char *name, const shape &tail, bool optional = false)
    {
        inputs.push_back(std::make_unique<doubles>(read(from, name, tail, optional)));
        const doubles &a = *inputs.back();
        if (!a.data() && optional) return nullptr;
        const shape sizes = leading(a, tail);
        if (!known) lead = sizes, known = true;
        else if (sizes != lead)
            throw nb::value_error(
                (std::string(name) + ": expected shape " + text_of(lead + tail) + ", found " + text_of(a.sizes())).c_str());
        return a.data();
    }
    const double *q(nb::handle from) { return in(from, "q", {m->nq}); }
    const double *v(nb::handle from, const char *name = "v", bool optional = false) { return in(from, name, {m->nv}, optional); }

    doubles out(nb::handle to, const char *name, const shape &tail) const
    {
        doubles a = write(to, name, lead + tail);
        for (const auto &i : inputs) write(a.object(), name, lead + tail, {i.get()});
        return a;
    }
    int count() const { return count_of(lead); }
    const shape &sizes() const { return lead; }

  private:
    const model_object &m;
    std::vector<std::unique_ptr<doubles>> inputs;
    shape lead;
    bool known = false;
};

/// Makes a call of the library without the GIL.
static void call(const model_object &m, double time, const std::function<void(ctn_dynamics *)> &f)
{
    workspace dyn(m, time);
    nb::gil_scoped_release released;
    f(dyn);
}

#define OBJ nb::handle

static nb::object rnea(const model_object &m, OBJ q, OBJ v, OBJ a, OBJ out)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v), *at_a = s.v(a, "a");
    const doubles to = s.out(out, "out", {m->nv});
    call(m, 0, [&](ctn_dynamics *d) { ctn_rnea(d, s.count(), at_q, at_v, at_a, to.data()); });
    return to.object();
}

static nb::object aba(const model_object &m, OBJ q, OBJ v, OBJ tau, double time, OBJ out)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v), *under = s.v(tau, "tau", true);
    const doubles to = s.out(out, "out", {m->nv});
    call(m, time, [&](ctn_dynamics *d) { ctn_aba(d, s.count(), at_q, at_v, under, to.data()); });
    return to.object();
}

static nb::object bias(const model_object &m, OBJ q, OBJ v, OBJ out)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v);
    const doubles to = s.out(out, "out", {m->nv});
    call(m, 0, [&](ctn_dynamics *d) { ctn_bias(d, s.count(), at_q, at_v, to.data()); });
    return to.object();
}

static nb::object passive(const model_object &m, OBJ q, OBJ v, double time, OBJ out)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v);
    const doubles to = s.out(out, "out", {m->nv});
    call(m, time, [&](ctn_dynamics *d) { ctn_passive(d, s.count(), at_q, at_v, to.data()); });
    return to.object();
}

static nb::object crba(const model_object &m, OBJ q, OBJ out)
{
    states s(m);
    const double *at_q = s.q(q);
    const doubles to = s.out(out, "out", {m->nv, m->nv});
    call(m, 0, [&](ctn_dynamics *d) { ctn_crba(d, s.count(), at_q, to.data()); });
    return to.object();
}

static nb::tuple rnea_derivatives(const model_object &m, OBJ q, OBJ v, OBJ a)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v), *at_a = s.v(a, "a");
    const shape square = {m->nv, m->nv};
    const doubles by_q = s.out(nb::none(), "", square), by_v = s.out(nb::none(), "", square),
                  by_a = s.out(nb::none(), "", square);
    call(m, 0,
         [&](ctn_dynamics *d) { ctn_rnea_derivatives(d, s.count(), at_q, at_v, at_a, by_q.data(), by_v.data(), by_a.data()); });
    return nb::make_tuple(by_q.object(), by_v.object(), by_a.object());
}

static nb::tuple aba_derivatives(const model_object &m, OBJ q, OBJ v, OBJ tau, double time)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v), *under = s.v(tau, "tau", true);
    const shape square = {m->nv, m->nv};
    const doubles by_q = s.out(nb::none(), "", square), by_v = s.out(nb::none(), "", square),
                  by_tau = s.out(nb::none(), "", square);
    call(m, time,
         [&](ctn_dynamics *d) { ctn_aba_derivatives(d, s.count(), at_q, at_v, under, by_q.data(), by_v.data(), by_tau.data()); });
    return nb::make_tuple(by_q.object(), by_v.object(), by_tau.object());
}

static nb::tuple kinematics(const model_object &m, OBJ q)
{
    states s(m);
    const double *at_q = s.q(q);
    const doubles R = s.out(nb::none(), "", {m->nlink, 3, 3}), p = s.out(nb::none(), "", {m->nlink, 3});
    call(m, 0, [&](ctn_dynamics *d) { ctn_forward_kinematics(d, s.count(), at_q, R.data(), p.data()); });
    return nb::make_tuple(R.object(), p.object());
}

static nb::object link_twists(const model_object &m, OBJ q, OBJ v, OBJ out)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v);
    const doubles to = s.out(out, "out", {m->nlink, 6});
    call(m, 0, [&](ctn_dynamics *d) { ctn_link_twists(d, s.count(), at_q, at_v, to.data()); });
    return to.object();
}

static nb::object link_accelerations(const model_object &m, OBJ q, OBJ v, OBJ a, OBJ out)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v), *at_a = s.v(a, "a");
    const doubles to = s.out(out, "out", {m->nlink, 6});
    call(m, 0, [&](ctn_dynamics *d) { ctn_link_accelerations(d, s.count(), at_q, at_v, at_a, to.data()); });
    return to.object();
}

/// Of a link, or of `point` of it; with v the rate of it.
static nb::object jacobian(const model_object &m, OBJ q, OBJ link, OBJ point, OBJ v, OBJ out)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v, "v", true);
    const int l = link_of(*m.at, link);
    const doubles at = read_exactly(point, "point", {3}, true);
    const doubles to = s.out(out, "out", {at.data() ? 3u : 6u, m->nv});
    call(m, 0, [&](ctn_dynamics *d) {
        if (at.data() && at_v) ctn_point_jacobian_rate(d, s.count(), at_q, at_v, l, at.data(), to.data());
        else if (at.data()) ctn_point_jacobian(d, s.count(), at_q, l, at.data(), to.data());
        else if (at_v) ctn_jacobian_rate(d, s.count(), at_q, at_v, l, to.data());
        else ctn_jacobian(d, s.count(), at_q, l, to.data());
    });
    return to.object();
}

static nb::object jacobian_of(const model_object &m, OBJ q, OBJ link, OBJ point, OBJ out)
{
    return jacobian(m, q, link, point, nb::none(), out);
}

static nb::object jacobian_rate(const model_object &m, OBJ q, OBJ v, OBJ link, OBJ point, OBJ out)
{
    if (v.is_none()) throw nb::type_error("v: expected velocities");
    return jacobian(m, q, link, point, v, out);
}

static nb::object centroidal_matrix(const model_object &m, OBJ q, OBJ out)
{
    states s(m);
    const double *at_q = s.q(q);
    const doubles to = s.out(out, "out", {6, m->nv});
    call(m, 0, [&](ctn_dynamics *d) { ctn_centroidal_matrix(d, s.count(), at_q, to.data()); });
    return to.object();
}

static nb::object momentum_rate(const model_object &m, OBJ q, OBJ v, OBJ a, OBJ out)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v), *at_a = s.v(a, "a");
    const doubles to = s.out(out, "out", {6});
    call(m, 0, [&](ctn_dynamics *d) { ctn_momentum_rate(d, s.count(), at_q, at_v, at_a, to.data()); });
    return to.object();
}

static nb::object com_jacobian(const model_object &m, OBJ q, OBJ out)
{
    states s(m);
    const double *at_q = s.q(q);
    const doubles to = s.out(out, "out", {3, m->nv});
    call(m, 0, [&](ctn_dynamics *d) { ctn_com_jacobian(d, s.count(), at_q, to.data()); });
    return to.object();
}

static nb::object com_jacobian_rate(const model_object &m, OBJ q, OBJ v, OBJ out)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v);
    const doubles to = s.out(out, "out", {3, m->nv});
    call(m, 0, [&](ctn_dynamics *d) { ctn_com_jacobian_rate(d, s.count(), at_q, at_v, to.data()); });
    return to.object();
}

static nb::object motor_forces(const model_object &m, OBJ q, OBJ v, OBJ u, double time, OBJ out)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v), *told = s.in(u, "u", {m->ntarget}, true);
    const doubles to = s.out(out, "out", {m->nv});
    call(m, time, [&](ctn_dynamics *d) { ctn_motor_map(d, s.count(), at_q, at_v, told, to.data()); });
    return to.object();
}

static nb::tuple motor_derivatives(const model_object &m, OBJ q, OBJ v, OBJ u, double time)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v), *told = s.in(u, "u", {m->ntarget}, true);
    const doubles by_q = s.out(nb::none(), "", {m->nv, m->nv}), by_v = s.out(nb::none(), "", {m->nv, m->nv});
    const doubles by_u = s.out(nb::none(), "", {m->nv, m->ntarget});
    call(m, time, [&](ctn_dynamics *d) {
        ctn_motor_map_derivatives(d, s.count(), at_q, at_v, told, by_q.data(), by_v.data(), by_u.data());
    });
    return nb::make_tuple(by_q.object(), by_v.object(), by_u.object());
}

static nb::object sensors(const model_object &m, OBJ q, OBJ v, OBJ tau, double time, OBJ out)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v), *under = s.v(tau, "tau", true);
    const doubles to = s.out(out, "out", {static_cast<size_t>(ctn_model_sensor_numbers(m->model))});
    call(m, time, [&](ctn_dynamics *d) { ctn_sensors(d, s.count(), at_q, at_v, under, to.data()); });
    return to.object();
}

static nb::object energy_momentum(const model_object &m, OBJ q, OBJ v)
{
    states s(m);
    const double *at_q = s.q(q), *at_v = s.v(v);
    void *to;
    const nb::object totals = records(s.sizes(), nb::module_::import_("catena._core").attr("totals_dtype"), &to);
    call(m, 0, [&](ctn_dynamics *d) { ctn_energy_momentum(d, s.count(), at_q, at_v, static_cast<ctn_totals *>(to)); });
    return totals;
}

nb::object totals_dtype()
{
    using t = ctn_totals;
    fields f(sizeof(t));
    FIELD(f, t, kinetic), FIELD(f, t, potential), FIELD(f, t, spring), FIELD(f, t, momentum_linear),
        FIELD(f, t, momentum_angular);
    FIELD(f, t, com), FIELD(f, t, mass);
    return f.dtype();
}

#define QV "q: " LIKE ", v: " LIKE

void bind_dynamics(nb::class_<model_object> &model)
{
    const auto q = nb::arg("q"), v = nb::arg("v"), a = nb::arg("a"), link = nb::arg("link");  // of each call
    const auto tau = nb::arg("tau") = nb::none();
    const auto out = nb::arg("out") = nb::none();
    const auto point = nb::arg("point") = nb::none();
    const auto u = nb::arg("u") = nb::none();
    const auto time = nb::arg("time") = 0.0;
    model
        .def("rnea", rnea, q, v, a, out, nb::sig("def rnea(self, " QV ", a: " LIKE OUT),
             "Inverse dynamics [..., nv] (N m, N): H(q) a + c(q, v), armature in H, without passive forces. v, a [..., nv].")
        .def("aba", aba, q, v, tau, time, out,
             nb::sig("def aba(self, " QV ", tau: " LIKE " | None = None, time: float = 0.0" OUT),
             "Forward dynamics [..., nv] (rad/s^2, m/s^2): solves H a = tau + passive - c. `time` (s): of targets that move.")
        .def("bias", bias, q, v, out, nb::sig("def bias(self, " QV OUT),
             "c(q, v) [..., nv]: Coriolis, centrifugal and gravity terms.")
        .def("passive", passive, q, v, time, out, nb::sig("def passive(self, " QV ", time: float = 0.0" OUT),
             "Passive forces [..., nv] (N m, N): dampers, springs, limits, motors, and the scene's springs and forces on links.")
        .def("crba", crba, q, out, nb::sig("def crba(self, q: " LIKE OUT),
             "Joint-space inertia H(q) [..., nv, nv], armature included.")
        .def("rnea_derivatives", rnea_derivatives, q, v, a,
             nb::sig("def rnea_derivatives(self, " QV ", a: " LIKE ") -> tuple[" ARRAY ", " ARRAY ", " ARRAY "]"),
             "Of rnea by q (tangent coordinates, as v), v and a: three [..., nv, nv], row i that of force i.")
        .def("aba_derivatives", aba_derivatives, q, v, tau, time,
             nb::sig("def aba_derivatives(self, " QV ", tau: " LIKE " | None = None, time: float = 0.0) -> tuple[" ARRAY
                     ", " ARRAY ", " ARRAY "]"),
             "Of aba by q (tangent coordinates, as v), v and tau: three [..., nv, nv], row i that of acceleration i.")
        .def("kinematics", kinematics, q, nb::sig("def kinematics(self, q: " LIKE ") -> tuple[" ARRAY ", " ARRAY "]"),
             "Frames of all links in the world: rotations [..., nlink, 3, 3] and origins [..., nlink, 3] (m).")
        .def("link_twists", link_twists, q, v, out, nb::sig("def link_twists(self, " QV OUT),
             "Of all links [..., nlink, 6]: angular velocity (rad/s), velocity of the link origin (m/s), world axes.")
        .def("link_accelerations", link_accelerations, q, v, a, out, nb::sig("def link_accelerations(self, " QV ", a: " LIKE OUT),
             "Of all links [..., nlink, 6]: angular acceleration (rad/s^2), acceleration of the link origin (m/s^2), world axes.")
        .def("jacobian", jacobian_of, q, link, point, out,
             nb::sig("def jacobian(self, q: " LIKE ", link: int | str, point: " LIKE " | None = None" OUT),
             "J [..., 6, nv] of a link: its twist is J v. With `point` [3] (m, link frame) J [..., 3, nv] of that point.")
        .def("jacobian_rate", jacobian_rate, q, v, link, point, out,
             nb::sig("def jacobian_rate(self, " QV ", link: int | str, point: " LIKE " | None = None" OUT),
             "dJ/dt of what jacobian gives, while joints move with v: accelerations are J a + dJ/dt v.")
        .def("centroidal_matrix", centroidal_matrix, q, out, nb::sig("def centroidal_matrix(self, q: " LIKE OUT),
             "A [..., 6, nv]: A v is the angular momentum about the centre of mass (kg m^2/s), then the linear one (kg m/s).")
        .def("momentum_rate", momentum_rate, q, v, a, out, nb::sig("def momentum_rate(self, " QV ", a: " LIKE OUT),
             "The rate [..., 6] of the centroidal momentum while joints accelerate by a: N m, N.")
        .def("com_jacobian", com_jacobian, q, out, nb::sig("def com_jacobian(self, q: " LIKE OUT),
             "J [..., 3, nv] of the centre of mass of all links: its velocity (m/s) is J v.")
        .def("com_jacobian_rate", com_jacobian_rate, q, v, out, nb::sig("def com_jacobian_rate(self, " QV OUT),
             "dJ/dt [..., 3, nv] of it.")
        .def("motor_forces", motor_forces, q, v, u, time, out,
             nb::sig("def motor_forces(self, " QV ", u: " LIKE " | None = None, time: float = 0.0" OUT),
             "What motors that are told u [..., ntarget] (None: the scene's) give along the joints, [..., nv] (N m, N).")
        .def("motor_derivatives", motor_derivatives, q, v, u, time,
             nb::sig("def motor_derivatives(self, " QV ", u: " LIKE " | None = None, time: float = 0.0) -> tuple[" ARRAY
                     ", " ARRAY ", " ARRAY "]"),
             "Of motor_forces by q (tangent coordinates), v, both [..., nv, nv], and u, [..., nv, ntarget].")
        .def("sensors", sensors, q, v, tau, time, out,
             nb::sig("def sensors(self, " QV ", tau: " LIKE " | None = None, time: float = 0.0" OUT),
             "What the scene's sensors measure at these states, [..., numbers], in its order, without noise and delay.")
        .def("energy_momentum", energy_momentum, q, v, nb::sig("def energy_momentum(self, " QV ") -> " RECORDS),
             "Sums over the model, [...] of totals_dtype: kinetic, potential, spring (J), momentum_linear, momentum_angular "
             "(about\n"
             "the world's origin), com (m), mass (kg).");
}

}  // namespace binding

/// catena.Batch: what worlds are told: parameters, targets of motors, forces, wrenches, parameters of controllers.
#include "batch.h"

namespace binding
{

/// Tells the library all values; the ones before come back where it refuses them.
static void tell(batch_object &b, std::vector<double> &values)
{
    auto err = new_error();
    ctn_status status;
    {
        nb::gil_scoped_release released;
        status = ctn_batch_set_parameters(b.batch, values.data(), err.get());
    }
    check(status, *err);
    b.values.swap(values);
}

static void set_columns(batch_object &b, const doubles &from, size_t first, size_t count)
{
    std::vector<double> values = b.values;
    const size_t row = b.worlds ? values.size() / b.worlds : 0;
    for (size_t w = 0; w < b.worlds; w++)
        for (size_t k = 0; k < count; k++) values[w * row + first + k] = from.data()[w * count + k];
    tell(b, values);
}

static nb::object columns(batch_object &b, size_t first, size_t count)
{
    const doubles to = write(nb::none(), "values", {b.worlds, count});
    const size_t row = b.worlds ? b.values.size() / b.worlds : 0;
    for (size_t w = 0; w < b.worlds; w++)
        for (size_t k = 0; k < count; k++) to.data()[w * count + k] = b.values[w * row + first + k];
    return to.object();
}

static void set_parameters(batch_object &b, nb::handle values)
{
    use alone(b.busy, "batch");
    const doubles from = read_exactly(values, "values", {b.worlds, b.parameters});
    if (!b.parameters)
        throw nb::value_error("this batch has no parameters: name them where it is made, parameters=[(kind, link), ...]");
    set_columns(b, from, 0, b.parameters);
}

static nb::object parameters(batch_object &b)
{
    use alone(b.busy, "batch");
    return columns(b, 0, b.parameters);
}

static void set_targets(batch_object &b, nb::handle u)
{
    use alone(b.busy, "batch");
    if (!b.targets) throw nb::value_error("this batch takes no targets: make it with motor_targets=True");
    set_columns(b, for_worlds(b, u, "u", b.model->ntarget), b.parameters, b.model->ntarget);
}

static nb::object targets(batch_object &b)
{
    use alone(b.busy, "batch");
    if (b.targets) return columns(b, b.parameters, b.model->ntarget);
    const doubles u = write(nb::none(), "u", {b.worlds, b.model->ntarget});
    ctn_batch_targets(b.batch, u.data());
    return u.object();
}

static void set_force(batch_object &b, nb::handle tau)
{
    use alone(b.busy, "batch");
    if (tau.is_none()) ctn_batch_set_force(b.batch, nullptr);
    else {
        const doubles from = for_worlds(b, tau, "tau", b.model->nv);
        for (size_t i = 0; i < from.size(); i++)
            if (!(from.data()[i] - from.data()[i] == 0)) throw nb::value_error("tau: is not finite");
        ctn_batch_set_force(b.batch, from.data());
    }
}

static void read3(nb::handle from, const char *name, double *to)
{
    const doubles a = read_exactly(from, name, {3}, true);
    if (a.data()) std::copy(a.data(), a.data() + 3, to);
}

static void set_wrench(batch_object &b, nb::handle link, nb::handle force, nb::handle torque, nb::handle point, bool link_axes,
                       int world)
{
    use alone(b.busy, "batch");
    ctn_wrench w = {};
    read3(force, "force", w.force), read3(torque, "torque", w.torque), read3(point, "point", w.point);
    w.link_axes = link_axes;
    const bool none = force.is_none() && torque.is_none();
    auto err = new_error();
    check(ctn_batch_set_wrench(b.batch, world, link_of(*b.model, link), none ? nullptr : &w, err.get()), *err);
}

static void set_controller(batch_object &b, nb::handle parameters)
{
    use alone(b.busy, "batch");
    const size_t count = static_cast<size_t>(ctn_model_controller_parameters(b.model->model));
    const doubles from = for_worlds(b, parameters, "parameters", count);
    auto err = new_error();
    check(ctn_batch_set_controller(b.batch, from.data(), err.get()), *err);
}

static void number_worlds(batch_object &b, uint64_t seed, int64_t first)
{
    use alone(b.busy, "batch");
    ctn_batch_number_worlds(b.batch, seed, first);
}

void bind_told(nb::class_<batch_object> &batch)
{
    batch
        .def_prop_ro(
            "parameters", parameters, nb::sig("def parameters(self) -> " ARRAY),
            "What worlds have of their own [worlds, parameters], in the order of the list; at first the model's. A copy.")
        .def("set_parameters", set_parameters, nb::arg("values"), nb::sig("def set_parameters(self, values: " LIKE ") -> None"),
             "Parameters of each world from now on, [worlds, parameters].")
        .def_prop_ro("targets", targets, nb::sig("def targets(self) -> " ARRAY),
                     "What motors are told now [worlds, ntarget], by set_targets, a controller or the scene. A copy.")
        .def("set_targets", set_targets, nb::arg("u"), nb::sig("def set_targets(self, u: " LIKE ") -> None"),
             "What motors are told from now on, u [worlds, ntarget] or [ntarget], in the order of Model.targets. The batch was "
             "made\n"
             "with motor_targets=True.")
        .def("set_force", set_force, nb::arg("tau").none(), nb::sig("def set_force(self, tau: " LIKE " | None) -> None"),
             "Joint forces [worlds, nv] or [nv] (N m, N) from now on; None: none.")
        .def("set_wrench", set_wrench, nb::arg("link"), nb::arg("force") = nb::none(), nb::arg("torque") = nb::none(),
             nb::arg("point") = nb::none(), nb::arg("link_axes") = false, nb::arg("world") = -1,
             nb::sig("def set_wrench(self, link: int | str, force: " LIKE " | None = None, torque: " LIKE
                     " | None = None, point: " LIKE " | None = None, link_axes: bool = False, world: int = -1) -> None"),
             "What acts on a link of a world (-1: of all) from now on, instead of what did: force [3] (N) at point [3] (m, link "
             "axes)\n"
             "and torque [3] (N m), in world axes, or in those of the link. Neither: nothing.")
        .def("set_controller", set_controller, nb::arg("parameters"),
             nb::sig("def set_controller(self, parameters: " LIKE ") -> None"),
             "Parameters [worlds, count] or [count] of the scene's controller.")
        .def("number_worlds", number_worlds, nb::arg("seed"), nb::arg("first") = 0,
             "What noise of sensors is drawn by: a seed, and the number of the first world.");
}

}  // namespace binding

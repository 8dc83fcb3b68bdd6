/// catena.Batch: what is felt and measured: sensors, contacts, forces of loops, energies.
#include "batch.h"
#include "records.h"

namespace binding
{

static nb::object sensors(batch_object &b, nb::handle out)
{
    use alone(b.busy, "batch");
    const doubles to = write(out, "out", {b.worlds, static_cast<size_t>(ctn_model_sensor_numbers(b.model->model))});
    if (!to.size()) return to.object();
    auto err = new_error();
    check(ctn_batch_sensors(b.batch, to.data(), err.get()), *err);
    return to.object();
}

/// One contact point, as the numbers of ctn_batch_contacts are.
struct felt {
    double position[3], force[3], depth, touch, torque[3];
};
static_assert(sizeof(felt) == CTN_CONTACT_NUMBERS * sizeof(double), "a contact has other numbers");

static nb::object contacts(batch_object &b)
{
    use alone(b.busy, "batch");
    fields f(sizeof(felt));
    FIELD(f, felt, position), FIELD(f, felt, force), FIELD(f, felt, depth), FIELD(f, felt, touch), FIELD(f, felt, torque);
    void *to;
    const nb::object all = records({b.worlds, static_cast<size_t>(ctn_model_ncontact(b.model->model))}, f.dtype(), &to);
    auto err = new_error();
    check(ctn_batch_contacts(b.batch, static_cast<double *>(to), err.get()), *err);
    return all;
}

static nb::object touches(batch_object &b, int world)
{
    use alone(b.busy, "batch");
    using t = ctn_link_touch;
    fields f(sizeof(t));
    FIELD(f, t, pair), FIELD(f, t, element), FIELD(f, t, link_a), FIELD(f, t, link_b), FIELD(f, t, point), FIELD(f, t, normal);
    FIELD(f, t, force), FIELD(f, t, depth);
    f.add<int>("touch", offsetof(t, touch));
    auto err = new_error();
    int count = 0;
    check(ctn_batch_touches(b.batch, world, nullptr, 0, &count, err.get()), *err);
    void *to;
    const nb::object all = records({static_cast<size_t>(count)}, f.dtype(), &to);
    if (count) check(ctn_batch_touches(b.batch, world, static_cast<t *>(to), count, &count, err.get()), *err);
    return all;
}

static nb::object equation_forces(batch_object &b)
{
    use alone(b.busy, "batch");
    const doubles to = write(nb::none(), "forces", {b.worlds, static_cast<size_t>(ctn_model_nequation(b.model->model))});
    auto err = new_error();
    if (to.size()) check(ctn_batch_equation_forces(b.batch, to.data(), err.get()), *err);
    return to.object();
}

static nb::object totals(batch_object &b)
{
    use alone(b.busy, "batch");
    void *to;
    const nb::object all = records({b.worlds}, nb::module_::import_("catena._core").attr("totals_dtype"), &to);
    ctn_batch_totals(b.batch, static_cast<ctn_totals *>(to));
    return all;
}

void bind_felt(nb::class_<batch_object> &batch)
{
    batch
        .def("sensors", sensors, nb::arg("out") = nb::none(), nb::sig("def sensors(self" OUT),
             "What the scene's sensors say now, with noise and delay: [worlds, numbers], in the order of Model.sensor_names.")
        .def("contacts", contacts, nb::sig("def contacts(self) -> " RECORDS),
             "What contact points feel at the end of the last step, [worlds, contacts]: position (m), force (N), depth (m; below "
             "0: how\n"
             "far off), touch (0 apart, 1 sticks, 2 slides), torque (N m); world axes.")
        .def("touches", touches, nb::arg("world") = 0, nb::sig("def touches(self, world: int = 0) -> " RECORDS),
             "Where links of a world touch each other: [places] with the fields of ctn_link_touch.")
        .def("equation_forces", equation_forces, nb::sig("def equation_forces(self) -> " ARRAY),
             "Forces of loops and couplings in the last step, [worlds, equations] (N, N m).")
        .def("totals", totals, nb::sig("def totals(self) -> " RECORDS),
             "Energies, momenta and masses now, [worlds] of totals_dtype (Model.energy_momentum).");
}

}  // namespace binding

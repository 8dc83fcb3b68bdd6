/// catena.load and catena.Model.
#include "model.h"

namespace binding
{

compiled::~compiled()
{
    for (ctn_dynamics *space : idle) ctn_dynamics_free(space);
    ctn_model_free(model);
    ctn_scene_free(scene);
}

static model_object compile(ctn_scene *scene, ctn_error &err)
{
    auto c = std::make_shared<compiled>();
    c->scene = scene;
    if (!scene || !(c->model = ctn_model_create(scene, &err))) raise(err);
    c->nq = static_cast<size_t>(ctn_model_nq(c->model));
    c->nv = static_cast<size_t>(ctn_model_nv(c->model));
    c->nlink = static_cast<size_t>(ctn_model_nlink(c->model));
    c->ntarget = static_cast<size_t>(ctn_model_ntarget(c->model));
    return model_object{c};
}

static model_object load_file(const char *path)
{
    auto err = new_error();
    return compile(ctn_scene_load(path, err.get()), *err);
}

static model_object load_text(nb::str text, const char *name)
{
    auto err = new_error();
    Py_ssize_t length;
    const char *bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &length);
    if (!bytes) throw nb::python_error();
    return compile(ctn_scene_parse(bytes, static_cast<size_t>(length), name, err.get()), *err);
}

int link_of(const compiled &model, nb::handle link)
{
    int i = -1;
    if (nb::isinstance<nb::str>(link)) {
        const std::string name = nb::cast<std::string>(link);
        if ((i = ctn_model_find(model.model, name.c_str())) < 0) throw nb::key_error(("there is no link '" + name + "'").c_str());
    } else if (!nb::try_cast(link, i)) {
        throw nb::type_error("link: expected a name or a number");
    } else if (i < 0 || static_cast<size_t>(i) >= model.nlink) {
        throw nb::index_error(
            ("link: expected 0 to " + std::to_string(model.nlink - 1) + ", found " + std::to_string(i)).c_str());
    }
    return i;
}

static const char *joint_name(ctn_joint_type joint)
{
    static const char *const names[] = {"fixed", "revolute", "prismatic", "helical", "universal", "ball", "planar", "free"};
    return names[joint];
}

static nb::object numbers(const double *from, size_t n)
{
    const doubles a = write(nb::none(), "numbers", {n});
    std::copy(from, from + n, a.data());
    return a.object();
}

static nb::list links(const model_object &m)
{
    const nb::object link = nb::module_::import_("catena._types").attr("Link");
    nb::list all;
    for (size_t i = 0; i < m->nlink; i++) {
        const ctn_link *l = ctn_model_link(m->model, static_cast<int>(i));
        all.append(link(l->name, l->parent, joint_name(l->joint), nb::slice(l->qadr, l->qadr + l->nq, 1),
                        nb::slice(l->vadr, l->vadr + l->nv, 1), l->mass, numbers(l->com, 3), numbers(l->inertia, 6)));
    }
    return all;
}

static nb::list warnings(const model_object &m)
{
    const nb::object type = nb::module_::import_("catena._errors").attr("Finding");
    auto f = std::make_unique<ctn_finding>();
    nb::list all;
    for (int i = 0; i < ctn_scene_warning_count(m->scene); i++)
        if (ctn_scene_warning(m->scene, i, f.get()) == CTN_OK) all.append(type(f->file, f->line, f->column, f->key, f->text));
    return all;
}

static nb::tuple initial_state(const model_object &m)
{
    const doubles q = write(nb::none(), "q", {m->nq}), v = write(nb::none(), "v", {m->nv});
    ctn_model_initial_state(m->model, q.data(), v.data());
    return nb::make_tuple(q.object(), v.object());
}

static nb::object gravity(const model_object &m)
{
    double g[3];
    ctn_model_gravity(m->model, g);
    return numbers(g, 3);
}

static nb::object targets(const model_object &m)
{
    const doubles u = write(nb::none(), "u", {m->ntarget});
    ctn_model_targets(m->model, u.data());
    return u.object();
}

static nb::list sensor_names(const model_object &m)
{
    nb::list all;
    char name[512];
    for (int i = 0; i < ctn_model_sensor_numbers(m->model); i++) {
        const char *unit = ctn_sensor_number(m->model, i, name, sizeof name);
        all.append(nb::make_tuple(name, unit ? unit : ""));
    }
    return all;
}

static nb::list contact_points(const model_object &m)
{
    const nb::object type = nb::module_::import_("catena._types").attr("ContactPoint");
    nb::list all;
    ctn_contact_point p;
    for (int i = 0; ctn_model_contact(m->model, i, &p); i++) {
        const char *surface = p.surface == CTN_SURFACE_LINKS ? "links" : ctn_model_surface(m->model, p.surface);
        all.append(type(ctn_model_link(m->model, p.link)->name, numbers(p.point, 3), p.radius, p.friction, p.stiffness,
                        surface ? surface : ""));
    }
    return all;
}

/// What `sample:` of the scene draws for the worlds first .. first + worlds - 1 of `of`.
static nb::object sample(const model_object &m, int worlds, nb::handle seed, int64_t first, nb::handle of)
{
    if (worlds < 0 || first < 0) throw nb::value_error("worlds, first: expected 0 or more");
    const int64_t all = of.is_none() ? first + worlds : nb::cast<int64_t>(of);
    if (all < first + worlds) throw nb::value_error("of: expected at least first + worlds");
    const uint64_t by = seed.is_none() ? ctn_scene_seed(m->scene) : nb::cast<uint64_t>(seed);
    std::vector<ctn_parameter> list(static_cast<size_t>(ctn_scene_parameters(m->scene, m->model, nullptr)));
    ctn_scene_parameters(m->scene, m->model, list.data());
    nb::list parameters;
    for (const ctn_parameter &p : list) parameters.append(nb::make_tuple(ctn_parameter_name(p.kind), p.index));
    const size_t n = static_cast<size_t>(worlds);
    const doubles q = write(nb::none(), "", {n, m->nq}), v = write(nb::none(), "", {n, m->nv}),
                  tau = write(nb::none(), "", {n, m->nv});
    const doubles values = write(nb::none(), "", {n, list.size()});
    std::fill_n(tau.data(), tau.size(), 0.0);
    {
        nb::gil_scoped_release released;
        ctn_sample_worlds(m->scene, m->model, by, first, worlds, all, q.data(), v.data(), tau.data(),
                          list.empty() ? nullptr : values.data());
    }
    return nb::module_::import_("catena._types")
        .attr("Sample")(q.object(), v.object(), tau.object(), parameters, values.object());
}

static shape with(shape lead, size_t last)
{
    lead.push_back(last);
    return lead;
}

static void same_states(const shape &a, const shape &b, const char *name)
{
    if (a == b) return;
    throw nb::value_error((std::string(name) + ": is of other states, " + text_of(b) + " of them, not " + text_of(a)).c_str());
}

static nb::object integrate(const model_object &m, nb::handle q, nb::handle v, double h, nb::handle out)
{
    const doubles from = read(q, "q", {m->nq}), rate = read(v, "v", {m->nv});
    const shape lead = leading(from, {m->nq});
    same_states(lead, leading(rate, {m->nv}), "v");
    const doubles to = write(out, "out", with(lead, m->nq), {&rate});  // it may be q
    ctn_model_integrate(m->model, count_of(lead), from.data(), rate.data(), h, to.data());
    return to.object();
}

static nb::object difference(const model_object &m, nb::handle from, nb::handle to, nb::handle out)
{
    const doubles a = read(from, "start", {m->nq}), b = read(to, "end", {m->nq});
    const shape lead = leading(a, {m->nq});
    same_states(lead, leading(b, {m->nq}), "end");
    const doubles v = write(out, "out", with(lead, m->nv), {&a, &b});
    ctn_model_difference(m->model, count_of(lead), a.data(), b.data(), v.data());
    return v.object();
}

void bind_model(nb::module_ &m)
{
    m.def("load_file", load_file, nb::arg("path"));
    m.def("load_text", load_text, nb::arg("text"), nb::arg("name"));

    nb::class_<model_object> model(m, "Model",
                                   "A scene, compiled. Immutable; threads and batches share it. Made by catena.load().");
    model
        .def_prop_ro(
            "name", [](const model_object &o) { return ctn_model_name(o->model); }, "The scene's name.")
        .def_prop_ro(
            "nq", [](const model_object &o) { return o->nq; }, "Length of q: coordinates.")
        .def_prop_ro(
            "nv", [](const model_object &o) { return o->nv; }, "Length of v: degrees of freedom.")
        .def_prop_ro(
            "nlink", [](const model_object &o) { return o->nlink; }, "Links of the file, fixed ones too.")
        .def_prop_ro(
            "ntarget", [](const model_object &o) { return o->ntarget; }, "Targets of all motors; three of one on a ball.")
        .def_prop_ro(
            "text", [](const model_object &o) { return ctn_scene_text(o->scene); }, "The file, without its includes.")
        .def_prop_ro(
            "duration", [](const model_object &o) { return ctn_scene_duration(o->scene); },
            "`duration:` of the scene (s); negative: it gives none.")
        .def_prop_ro("gravity", gravity, nb::sig("def gravity(self) -> " ARRAY), "Gravity [3] (m/s^2), world axes.")
        .def_prop_ro(
            "targets", targets, nb::sig("def targets(self) -> " ARRAY),
            "What the scene tells the motors, u [ntarget], in its order: rad or m, rad/s or m/s, N m or N, by their types.")
        .def_prop_ro("links", links, nb::sig("def links(self) -> list[catena._types.Link]"),
                     "The links, in the order of the file.")
        .def_prop_ro("sensor_names", sensor_names, nb::sig("def sensor_names(self) -> list[tuple[str, str]]"),
                     "What recordings call the numbers of the scene's sensors, in their order, and their units.")
        .def_prop_ro("contact_points", contact_points, nb::sig("def contact_points(self) -> list[catena._types.ContactPoint]"),
                     "Where links may touch what is fixed, and, of each link, others: in the order of Batch.contacts.")
        .def("sample", sample, nb::arg("worlds"), nb::arg("seed") = nb::none(), nb::arg("first") = 0, nb::arg("of") = nb::none(),
             nb::sig("def sample(self, worlds: int, seed: int | None = None, first: int = 0, of: int | None = None) -> "
                     "catena._types.Sample"),
             "What `sample:` of the scene draws for the worlds from number `first` on, of `of` worlds in all (None: to the last "
             "one of\n"
             "these): starts, joint forces, parameters. Without that section the scene's own. `seed`: None: that of the scene.")
        .def_prop_ro("warnings", warnings, nb::sig("def warnings(self) -> list[catena._errors.Finding]"),
                     "What the file has that is allowed but probably not meant.")
        .def(
            "find", [](const model_object &o, const char *name) { return link_of(*o.at, nb::str(name)); }, nb::arg("name"),
            "The number of the link called `name`; KeyError: there is none.")
        .def("initial_state", initial_state, nb::sig("def initial_state(self) -> tuple[" ARRAY ", " ARRAY "]"),
             "The scene's initial state: q [nq] (rad, m; balls: quaternion w x y z), v [nv] (rad/s, m/s).")
        .def("integrate", integrate, nb::arg("q"), nb::arg("v"), nb::arg("h") = 1.0, nb::arg("out") = nb::none(),
             nb::sig("def integrate(self, q: " LIKE ", v: " LIKE ", h: float = 1.0, out: " ARRAY " | None = None) -> " ARRAY),
             "Where q [..., nq] comes to with velocities v [..., nv] in the time h (s): [..., nq]. `out` may be q.")
        .def("difference", difference, nb::arg("start"), nb::arg("end"), nb::arg("out") = nb::none(),
             nb::sig("def difference(self, start: " LIKE ", end: " LIKE ", out: " ARRAY " | None = None) -> " ARRAY),
             "The velocities [..., nv] that take `start` to `end`, both [..., nq], in one second: what integrate takes back.")
        .def("__repr__", [](const model_object &o) {
            return "<catena.Model '" + std::string(ctn_model_name(o->model)) + "': " + std::to_string(o->nlink) + " links, nq " +
                   std::to_string(o->nq) + ", nv " + std::to_string(o->nv) + ">";
        });
    bind_dynamics(model);
}

}  // namespace binding

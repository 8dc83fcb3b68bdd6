#include "config.h"

namespace binding
{

nb::object take(nb::kwargs &keys, const char *key)
{
    if (!keys.contains(key)) return nb::object();
    nb::object value = keys[key];
    nb::del(keys[key]);
    return value.is_none() ? nb::object() : value;
}

template <class T>
static void word(nb::kwargs &keys, const char *key, T &to, ctn_status (*from_name)(const char *, T *, ctn_error *))
{
    std::string name;
    set(keys, key, name, "a name");
    if (name.empty()) return;
    auto err = new_error();
    check(from_name(name.c_str(), &to, err.get()), *err);
}

static ctn_parameter parameter_of(const compiled &model, nb::handle entry)
{
    nb::object kind, index;
    std::string name;
    if (nb::isinstance<nb::sequence>(entry) && !nb::isinstance<nb::str>(entry) && nb::len(entry) == 2)
        kind = entry[0], index = entry[1];
    if (!kind.is_valid() || !nb::try_cast(kind, name))
        throw nb::type_error("parameters: expected pairs of a kind and an index or a link");
    std::string known;
    for (int k = 0; const char *n = ctn_parameter_name(static_cast<ctn_parameter_kind>(k)); k++) {
        known += (k ? ", " : "") + std::string(n);
        if (name != n) continue;
        int i;
        if (nb::isinstance<nb::str>(index)) i = link_of(model, index);
        else if (!nb::try_cast(index, i)) throw nb::type_error("parameters: expected an index or the name of a link");
        return ctn_parameter{static_cast<ctn_parameter_kind>(k), i};
    }
    throw nb::value_error(("parameters: unknown '" + name + "'; there are " + known).c_str());
}

std::vector<ctn_parameter> parameters_of(const compiled &model, nb::handle list)
{
    std::vector<ctn_parameter> all;
    for (nb::handle entry : list) all.push_back(parameter_of(model, entry));
    return all;
}

void configure(config &to, const compiled &model, nb::kwargs &keys)
{
    ctn_batch_config &c = to.c = ctn_scene_config(model.scene);
    const char *integer = "an integer", *real = "a number", *truth = "True or False";
    set(keys, "worlds", c.worlds, integer);
    set(keys, "dt", c.dt, real);
    set(keys, "adaptive", c.adaptive, truth);
    set(keys, "error_tolerance", c.error_tolerance, real);
    word(keys, "method", c.method, ctn_method_from_name);
    set(keys, "order", c.order, integer);
    set(keys, "stages", c.stages, integer);
    set(keys, "rho", c.rho, real);
    word(keys, "solver", c.solver, ctn_solver_from_name);
    set(keys, "tolerance", c.tolerance, real);
    set(keys, "max_iterations", c.max_iterations, integer);
    set(keys, "max_halvings", c.max_halvings, integer);
    set(keys, "dense", c.dense, truth);
    set(keys, "threads", c.threads, integer);
    word(keys, "schedule", c.schedule, ctn_schedule_from_name);
    word(keys, "parallel", c.parallel, ctn_parallel_from_name);
    set(keys, "lanes", c.lanes, integer);
    set(keys, "engine", to.engine, "a name");
    if (!to.engine.empty()) c.engine = to.engine.c_str();
    if (const nb::object list = take(keys, "parameters"); list.is_valid()) to.parameters = parameters_of(model, list);
    c.parameters = to.parameters.data(), c.parameter_count = static_cast<int>(to.parameters.size());
}

bool truth_of(nb::kwargs &keys, const char *key, bool otherwise)
{
    set(keys, key, otherwise, "True or False");
    return otherwise;
}

void nothing_else(const nb::kwargs &keys)
{
    for (auto [key, value] : keys)
        throw nb::type_error(("unknown keyword argument '" + nb::cast<std::string>(key) + "'").c_str());
}

nb::dict chosen(const ctn_batch_config &c)
{
    nb::dict d;
    d["worlds"] = c.worlds, d["dt"] = c.dt, d["adaptive"] = c.adaptive, d["error_tolerance"] = c.error_tolerance;
    d["method"] = ctn_method_name(c.method), d["order"] = c.order, d["stages"] = c.stages, d["rho"] = c.rho;
    d["solver"] = ctn_solver_name(c.solver), d["tolerance"] = c.tolerance, d["max_iterations"] = c.max_iterations;
    d["max_halvings"] = c.max_halvings, d["dense"] = c.dense, d["threads"] = c.threads;
    d["schedule"] = ctn_schedule_name(c.schedule), d["parallel"] = ctn_parallel_name(c.parallel), d["lanes"] = c.lanes;
    d["engine"] = c.engine;
    nb::list parameters;
    for (int i = 0; i < c.parameter_count; i++)
        parameters.append(nb::make_tuple(ctn_parameter_name(c.parameters[i].kind), c.parameters[i].index));
    d["parameters"] = parameters;
    return d;
}

}  // namespace binding

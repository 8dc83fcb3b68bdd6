/// catena.Search: the parameters of a scene's controller, found by CMA-ES or a policy gradient.
#include "held.h"

namespace binding
{

static nb::object state_object(const ctn_search_state &s)
{
    nb::dict d;
    d["learns"] = s.learns, d["generation"] = s.generation, d["evaluations"] = s.evaluations, d["steps"] = s.steps;
    d["best"] = s.best, d["mean"] = s.mean, d["worst"] = s.worst, d["lost"] = s.lost, d["sigma"] = s.sigma;
    d["ratio"] = s.ratio, d["gradient"] = s.gradient, d["judges"] = s.judges, d["over"] = s.over;
    return nb::module_::import_("catena._types").attr("SearchState")(**d);
}

struct search_object : held {
    ctn_search *search = nullptr;
    size_t count = 0, sensors = 0;
    long generations = 0;
    nb::handle progress;  // of the call in hand

    search_object(const model_object &m, nb::handle duration, nb::handle seed, nb::object reward, const std::string &name,
                  nb::kwargs keys)
        : held(m), sensors(static_cast<size_t>(ctn_model_sensor_numbers(m->model)))
    {
        for (const char *key : {"worlds", "parameters"})
            if (keys.contains(key)) throw nb::type_error((std::string(key) + ": are those of `search:` in the scene").c_str());
        check_callable(reward, "reward");
        functions.push_back(reward);
        config cfg;
        configured(cfg, keys);
        ctn_search_config asked = ctn_search_config_default(model->scene);
        asked.batch = cfg.c;
        if (!duration.is_none()) asked.duration = nb::cast<double>(duration);
        if (!seed.is_none()) asked.seed = nb::cast<int>(seed);
        if (!reward.is_none()) asked.earn = earn, asked.reward = name.c_str();
        asked.progress = tell, asked.context = this;
        generations = asked.generations;
        call("Search", [&](ctn_error *err) {
            search = ctn_search_create(model->scene, &asked, err);
            return search ? CTN_OK : err->status;
        });
        count = static_cast<size_t>(ctn_search_parameters(search));
    }
    ~search_object() { ctn_search_free(search); }

    /// What Python is shown of a moment, in arrays of its own.
    nb::object moment(const ctn_search_moment &now) const
    {
        const size_t w = static_cast<size_t>(now.worlds);
        nb::dict d;
        const nb::object over = numpy("zeros")(w, "bool");
        for (size_t k = 0; k < w; k++) over[k] = now.over[k];
        d["time"] = copy(now.time, {w}), d["q"] = copy(now.q, {w, model->nq}), d["v"] = copy(now.v, {w, model->nv});
        d["u"] = copy(now.u, {w, model->ntarget});
        d["sensors"] = now.sensors ? copy(now.sensors, {w, sensors}) : write(nb::none(), "", {w, 0}).object();
        d["over"] = over, d["dt"] = now.dt, d["last"] = now.last;
        return nb::module_::import_("catena._types").attr("SearchMoment")(**d);
    }

    static ctn_status earn(void *context, const ctn_search_moment *now, double *earned, ctn_error *err)
    {
        search_object &s = *static_cast<search_object *>(context);
        s.ask([&] {
            const nb::object told = s.functions[0](s.moment(*now));
            if (!(now->dt > 0)) return;  // where episodes begin nothing is earned
            const doubles from = read_exactly(told, "what reward gives", {static_cast<size_t>(now->worlds)});
            std::copy(from.data(), from.data() + from.size(), earned);
        });
        if (!s.thrown) return CTN_OK;
        err->status = CTN_INTERRUPTED, err->message[0] = '\0', err->placed = 0;
        return CTN_INTERRUPTED;
    }

    static void tell(void *context, const ctn_search_state *state)
    {
        search_object &s = *static_cast<search_object *>(context);
        if (s.progress.is_valid() && !s.progress.is_none()) s.ask([&] { s.progress(state_object(*state)); });
    }

    doubles parameters(nb::handle from) const { return read_exactly(from, "parameters", {count}, true); }
};

static nb::object state(search_object &s)
{
    use alone(s.busy, "Search");
    return state_object(ctn_search_get_state(s.search));
}

static nb::object step(search_object &s)
{
    s.call("Search", [&](ctn_error *err) { return ctn_search_step(s.search, err); });
    return state(s);
}

static nb::object finish(search_object &s)
{
    s.call("Search", [&](ctn_error *err) { return ctn_search_finish(s.search, err); });
    return state(s);
}

static nb::object run(search_object &s, nb::handle generations, nb::handle checkpoint, nb::handle progress)
{
    const long asked = generations.is_none() ? s.generations : nb::cast<long>(generations);
    std::string path;
    if (!checkpoint.is_none()) path = path_of(checkpoint);
    check_callable(progress, "progress");
    s.call("Search", [&](ctn_error *err) {
        s.progress = progress;
        const ctn_status status = ctn_search_run(s.search, asked, path.empty() ? nullptr : path.c_str(), err);
        s.progress = nb::handle();
        return status;
    });
    return state(s);
}

static nb::object best(search_object &s)
{
    const doubles found = write(nb::none(), "", {s.count});
    s.call("Search", [&](ctn_error *err) { return ctn_search_best(s.search, found.data(), err); });
    return found.object();
}

static double value(search_object &s, nb::handle parameters, int parts)
{
    const nb::object asked = parameters.is_none() ? best(s) : nb::borrow(parameters);
    const doubles from = s.parameters(asked);
    double earned = 0;
    s.call("Search", [&](ctn_error *err) { return ctn_search_value(s.search, from.data(), parts, &earned, err); });
    return earned;
}

static nb::str scene(search_object &s, nb::handle parameters, const std::string &about)
{
    const doubles from = s.parameters(parameters);
    char *text = nullptr;
    if (about.find('\n') != std::string::npos) throw nb::value_error("about: expected one line");
    s.call("Search", [&](ctn_error *err) {
        text = ctn_search_scene(s.search, from.data(), about.c_str(), err);
        return text ? CTN_OK : err->status;
    });
    const std::unique_ptr<char, void (*)(void *)> freed(text, free);
    return nb::str(text);
}

static void save(search_object &s, nb::handle path)
{
    const std::string to = path_of(path);
    s.call("Search", [&](ctn_error *err) { return ctn_search_save(s.search, to.c_str(), err); });
}

static void restore(search_object &s, nb::handle path)
{
    const std::string from = path_of(path);
    s.call("Search", [&](ctn_error *err) { return ctn_search_restore(s.search, from.c_str(), err); });
}

#define PATH "str | os.PathLike[str]"

void bind_search(nb::module_ &m)
{
    nb::class_<search_object>(
        m, "Search",
        "A search for the parameters of a scene's `controller:`, by which its `reward:` is largest, as `catena search` makes "
        "it,\n"
        "with the same bits: by CMA-ES or a policy gradient, as `search:` of the scene says. `duration`: of an episode, s, "
        "`seed`:\n"
        "None: the scene's. Keys as of Batch, but for worlds and parameters.\n\n"
        "`reward`: a function of your own, which is asked for each SearchMoment, at the beginning and after each interval, and\n"
        "gives what worlds earned in it [worlds]: it is added to what the scene's reward says. NaN makes a candidate the last.\n"
        "CMA-ES alone. `name`: by which checkpoints know it.",
        nb::type_slots(with_functions<search_object>()))
        .def(nb::init<const model_object &, nb::handle, nb::handle, nb::object, const std::string &, nb::kwargs>(),
             nb::arg("model"), nb::arg("duration") = nb::none(), nb::arg("seed") = nb::none(), nb::arg("reward") = nb::none(),
             nb::arg("name") = "reward", nb::arg("keys"),
             nb::sig("def __init__(self, model: Model, duration: float | None = None, seed: int | None = None, reward: "
                     "collections.abc.Callable[[catena._types.SearchMoment], " LIKE
                     "] | None = None, name: str = 'reward', *, " CONFIG_KEYS ") -> None"))
        .def("step", step, nb::sig("def step(self) -> catena._types.SearchState"),
             "Makes a generation; where the search is then. Ctrl-C leaves CMA-ES as it was, and a policy to be restored.")
        .def("run", run, nb::arg("generations") = nb::none(), nb::arg("checkpoint") = nb::none(),
             nb::arg("progress") = nb::none(),
             nb::sig("def run(self, generations: int | None = None, checkpoint: " PATH
                     " | None = None, progress: collections.abc.Callable[[catena._types.SearchState], object] | None = None) -> "
                     "catena._types.SearchState"),
             "Makes generations until there are so many in all (None: those of the scene), and judges what was found. Each one "
             "is\n"
             "saved in the file `checkpoint`, and told to `progress`.")
        .def("finish", finish, nb::sig("def finish(self) -> catena._types.SearchState"),
             "Judges what was found, in worlds that no generation had, where they differ: what run does at its end.")
        .def_prop_ro("state", state, nb::sig("def state(self) -> catena._types.SearchState"), "Where it is.")
        .def_prop_ro("best", best, nb::sig("def best(self) -> " ARRAY), "The best parameters so far [parameters].")
        .def("value", value, nb::arg("parameters") = nb::none(), nb::arg("parts") = 1,
             nb::sig("def value(self, parameters: " LIKE " | None = None, parts: int = 1) -> float"),
             "What parameters [parameters] (None: the best) earn in worlds that nothing before had, in steps `parts` times as\n"
             "small; NaN if a world is frozen.")
        .def("scene", scene, nb::arg("parameters") = nb::none(), nb::arg("about") = "Found by catena.Search.",
             nb::sig("def scene(self, parameters: " LIKE " | None = None, about: str = 'Found by catena.Search.') -> str"),
             "The scene's text with parameters [parameters] (None: the best) in its controller, after a line of comment.")
        .def("save", save, nb::arg("path"), nb::sig("def save(self, path: " PATH ") -> None"),
             "All that its future depends on, into a file, as `catena search` leaves it.")
        .def("restore", restore, nb::arg("path"), nb::sig("def restore(self, path: " PATH ") -> None"),
             "Goes on from such a file: of the same scene, method, step, duration, reward and seed.")
        .def_prop_ro(
            "parameters", [](const search_object &s) { return s.count; }, "How many parameters the controller has.")
        .def_prop_ro(
            "worlds", [](const search_object &s) { return ctn_search_worlds(s.search); }, "How many worlds a generation has.")
        .def_prop_ro(
            "generations", [](const search_object &s) { return s.generations; }, "How many generations the scene asks for.");
}

}  // namespace binding

/// catena.CMA: the x at which a function is smallest, asked and told.
#include "held.h"

namespace binding
{

static const char *const covariances[] = {"auto", "full", "decoded", "separable"};
static const char *const restarts[] = {"none", "ipop", "bipop"};

/// One of `words`, taken out of `keys`; ValueError for another.
template <class T, size_t N> static void word(nb::kwargs &keys, const char *key, const char *const (&words)[N], T &to)
{
    std::string name, known;
    set(keys, key, name, "a name");
    if (name.empty()) return;
    for (size_t k = 0; k < N; k++) {
        if (name == words[k]) {
            to = static_cast<T>(k);
            return;
        }
        known += (k ? ", " : "") + std::string(words[k]);
    }
    throw nb::value_error((std::string(key) + ": unknown '" + name + "'; there are " + known).c_str());
}

struct cma_object {
    ctn_cma *cma = nullptr;
    size_t n = 0, constraints = 0;
    bool busy = false;

    cma_object(nb::handle mean, double sigma, nb::kwargs keys)
    {
        const bool counted = PyLong_Check(mean.ptr());
        const doubles start = counted ? doubles() : doubles::like(mean, "mean");
        const long long asked = counted ? nb::cast<long long>(mean) : static_cast<long long>(start.size());
        if (asked < 1 || asked > 1 << 30 || (!counted && start.sizes().size() != 1))
            throw nb::value_error("mean: expected shape (n,) with n >= 1, or the number n");
        n = static_cast<size_t>(asked);
        ctn_cma_config c = ctn_cma_default_config(static_cast<int>(n));
        c.mean = start.data(), c.sigma = sigma;
        const char *integer = "an integer", *real = "a number", *truth = "True or False";
        set(keys, "population", c.population, integer), set(keys, "seed", c.seed, integer);
        word(keys, "covariance", covariances, c.covariance), word(keys, "restarts", restarts, c.restarts);
        set(keys, "active", c.active, truth), set(keys, "adapt_rates", c.adapt_rates, truth);
        set(keys, "constraints", c.constraints, integer), set(keys, "max_restarts", c.max_restarts, integer);
        set(keys, "target", c.target, real), set(keys, "max_evaluations", c.max_evaluations, integer);
        set(keys, "stop_at_tolerances", c.stop_at_tolerances, truth), set(keys, "tolfun", c.tolfun, real);
        set(keys, "tolfunhist", c.tolfunhist, real), set(keys, "tolx", c.tolx, real);
        set(keys, "tolcondition", c.tolcondition, real), set(keys, "max_generations", c.max_generations, integer);
        const auto box = [&](const char *key) {
            const nb::object value = take(keys, key);
            return value.is_valid() ? read_exactly(numpy("broadcast_to")(value, n), key, {n}) : doubles();
        };
        const doubles lower = box("lower"), upper = box("upper"), from = box("start_lower"), to = box("start_upper");
        c.lower = lower.data(), c.upper = upper.data(), c.start_lower = from.data(), c.start_upper = to.data();
        nothing_else(keys);
        auto err = new_error();
        {
            nb::gil_scoped_release released;
            cma = ctn_cma_create(&c, err.get());
        }
        if (!cma) raise(*err);
        constraints = static_cast<size_t>(c.constraints);
    }
    cma_object(const cma_object &) = delete;
    ~cma_object() { ctn_cma_free(cma); }

    size_t population() const { return static_cast<size_t>(ctn_cma_population(cma)); }

    template <class F> void call(F f)
    {
        use alone(busy, "CMA");
        auto err = new_error();
        ctn_status status;
        {
            nb::gil_scoped_release released;
            status = f(err.get());
        }
        check(status, *err);
    }
};

static nb::object ask(cma_object &c)
{
    const doubles x = write(nb::none(), "", {c.population(), c.n});
    c.call([&](ctn_error *err) { return ctn_cma_ask(c.cma, x.data(), err); });
    return x.object();
}

static void tell(cma_object &c, nb::handle f, nb::handle g)
{
    const doubles values = read_exactly(f, "f", {c.population()});
    const doubles of_constraints = read_exactly(g, "g", {c.population(), c.constraints}, true);
    if (values.size() != c.population()) throw std::runtime_error("CMA: it was told others while f and g were read");
    c.call([&](ctn_error *err) { return ctn_cma_tell(c.cma, values.data(), of_constraints.data(), err); });
}

static nb::object best(cma_object &c)
{
    const doubles x = write(nb::none(), "", {c.n});
    c.call([&](ctn_error *err) { return ctn_cma_best(c.cma, x.data(), err); });
    return x.object();
}

/// Numbers that are always there.
template <void (*F)(const ctn_cma *, double *)> static nb::object numbers_of(cma_object &c, size_t n)
{
    use alone(c.busy, "CMA");
    const doubles x = write(nb::none(), "", {n});
    F(c.cma, x.data());
    return x.object();
}

static nb::object state(cma_object &c)
{
    use alone(c.busy, "CMA");
    const ctn_cma_state s = ctn_cma_get_state(c.cma);
    nb::dict d;
    d["evaluations"] = s.evaluations, d["generations"] = s.generations, d["generation"] = s.generation;
    d["not_numbers"] = s.not_numbers, d["eigen"] = s.eigen, d["run"] = s.run, d["small_runs"] = s.small_runs;
    d["population"] = s.population, d["covariance"] = covariances[s.covariance];
    d["last"] = ctn_cma_stop_name(s.last), d["stop"] = ctn_cma_stop_name(s.stop), d["sigma"] = s.sigma;
    d["condition"] = s.condition, d["best"] = s.best, d["median"] = s.median, d["rate_mean"] = s.rate_mean;
    d["rate_covariance"] = s.rate_covariance;
    return nb::module_::import_("catena._types").attr("CMAState")(**d);
}

static nb::bytes save(cma_object &c)
{
    std::string block(ctn_cma_saved_bytes(c.cma), '\0');
    c.call([&](ctn_error *err) { return ctn_cma_save(c.cma, block.data(), block.size(), err); });
    return nb::bytes(block.data(), block.size());
}

static void restore(cma_object &c, nb::bytes block)
{
    c.call([&](ctn_error *err) { return ctn_cma_restore(c.cma, block.c_str(), block.size(), err); });
}

void bind_cma(nb::module_ &m)
{
    nb::class_<cma_object>(
        m, "CMA",
        "A search by CMA-ES for the x [n] at which a function is smallest, which is asked for candidates and told their "
        "values:\n\n"
        "    cma = catena.CMA([3, 3], 0.5)\n"
        "    while not cma.stop:\n"
        "        cma.tell([f(x) for x in cma.ask()])\n"
        "    cma.best\n\n"
        "`mean` [n]: where it begins; a number: so many, and starts are drawn from start_lower .. start_upper, or the bounds. "
        "`sigma`:\n"
        "deviation of the first steps, about a third of how far the optimum may be. The keys are those of ctn_cma_config in "
        "cma.h; `lower`,\n"
        "`upper` and the box of starts are [n], or a number for all.")
        .def(nb::init<nb::handle, double, nb::kwargs>(), nb::arg("mean"), nb::arg("sigma"), nb::arg("keys"),
             nb::sig("def __init__(self, mean: " LIKE " | int, sigma: float, *, population: int = 0, seed: int = 1, "
                     "covariance: str = 'auto', active: bool = True, adapt_rates: bool = False, lower: " LIKE
                     " | None = None, upper: " LIKE " | None = None, constraints: int = 0, restarts: str = 'none', "
                     "max_restarts: int = 9, start_lower: " LIKE " | None = None, start_upper: " LIKE
                     " | None = None, target: float = ..., max_evaluations: int = ..., stop_at_tolerances: bool = True, tolfun: "
                     "float = 1e-11, tolfunhist: float = 1e-12, tolx: float = 1e-11, tolcondition: float = 1e14, "
                     "max_generations: int = 0) -> None"))
        .def("ask", ask, nb::sig("def ask(self) -> " ARRAY),
             "All candidates of this generation [population, n], within the bounds; the same as often as it is asked.")
        .def("tell", tell, nb::arg("f"), nb::arg("g") = nb::none(),
             nb::sig("def tell(self, f: " LIKE ", g: " LIKE " | None = None) -> None"),
             "Values of all candidates, f [population], and of the constraints g(x) <= 0, g [population, constraints]. NaN is "
             "worse than all.")
        .def_prop_ro(
            "stop",
            [](cma_object &c) {
                use alone(c.busy, "CMA");
                const ctn_cma_stop stop = ctn_cma_stopped(c.cma);
                return stop == CTN_CMA_RUNS ? nb::none() : nb::object(nb::str(ctn_cma_stop_name(stop)));
            },
            nb::sig("def stop(self) -> str | None"), "Why it is over, as \"tolfun\"; None: it is not.")
        .def_prop_ro("state", state, nb::sig("def state(self) -> catena._types.CMAState"), "Where it is.")
        .def_prop_ro("best", best, nb::sig("def best(self) -> " ARRAY),
                     "The best candidate so far that satisfies all constraints [n]. ArgumentError: there is none.")
        .def_prop_ro(
            "mean", [](cma_object &c) { return numbers_of<ctn_cma_mean>(c, c.n); }, nb::sig("def mean(self) -> " ARRAY),
            "The mean of this generation's candidates [n]: where there is noise, the better guess.")
        .def_prop_ro(
            "deviations", [](cma_object &c) { return numbers_of<ctn_cma_deviations>(c, c.n); },
            nb::sig("def deviations(self) -> " ARRAY), "Standard deviations of this generation's candidates [n].")
        .def_prop_ro(
            "multipliers", [](cma_object &c) { return numbers_of<ctn_cma_multipliers>(c, c.constraints); },
            nb::sig("def multipliers(self) -> " ARRAY), "Lagrange multipliers of the constraints [constraints].")
        .def_prop_ro(
            "population", [](cma_object &c) { return c.population(); }, "Candidates of this generation.")
        .def("save", save, "All that the future depends on.")
        .def("restore", restore, nb::arg("block"),
             "Goes on from what save() gave, of a CMA with the same arguments, with its bits.");
}

}  // namespace binding

/// catena.Environments: worlds with rewards, as reinforcement learning has them.
#include "batch.h"
#include "held.h"

namespace binding
{

struct environments_object : held {
    ctn_environments *all = nullptr;
    size_t worlds = 0, actions = 0, observations = 0, rewards = 0;

    environments_object(const model_object &m, int hold, int limit, nb::kwargs keys) : held(m)
    {
        config cfg;
        configured(cfg, keys);
        call("Environments", [&](ctn_error *err) {
            all = ctn_environments_create(model->scene, model->model, &cfg.c, hold, limit, err);
            return all ? CTN_OK : err->status;
        });
        worlds = static_cast<size_t>(cfg.c.worlds), actions = static_cast<size_t>(ctn_environments_actions(all));
        observations = static_cast<size_t>(ctn_environments_observations(all));
        rewards = static_cast<size_t>(ctn_environments_rewards(all));
    }
    ~environments_object() { ctn_environments_free(all); }
};

/// A new array of booleans [worlds], and where they are.
static nb::object marks(const environments_object &e, bool **to)
{
    void *data;
    const nb::object array = records({e.worlds}, nb::str("bool"), &data);
    *to = static_cast<bool *>(data);
    return array;
}

/// Seeds [worlds] out of whole numbers, each within 64 bits.
static std::vector<uint64_t> seeds_of(nb::handle from, size_t worlds)
{
    std::vector<uint64_t> seeds;
    for (const nb::handle one : from) seeds.push_back(nb::cast<uint64_t>(one));
    if (seeds.size() != worlds)
        throw nb::value_error(
            ("seeds: expected " + std::to_string(worlds) + ", one a world, found " + std::to_string(seeds.size())).c_str());
    return seeds;
}

static nb::object reset(environments_object &e, nb::handle seeds, nb::handle which, nb::handle q, nb::handle v)
{
    const auto chosen = chosen_worlds(which, "which", e.worlds);
    const std::vector<uint64_t> own = seeds.is_none() ? std::vector<uint64_t>() : seeds_of(seeds, e.worlds);
    const doubles from_q = read_exactly(q, "q", {e.worlds, e.model->nq}, true);
    const doubles from_v = read_exactly(v, "v", {e.worlds, e.model->nv}, true);
    const doubles observation = write(nb::none(), "", {e.worlds, e.observations});
    e.call("Environments", [&](ctn_error *err) {
        return ctn_environments_reset(e.all, chosen.get(), own.empty() ? nullptr : own.data(), from_q.data(), from_v.data(),
                                      observation.data(), err);
    });
    return observation.object();
}

static nb::tuple step(environments_object &e, nb::handle action)
{
    const doubles told = read_exactly(action, "action", {e.worlds, e.actions});
    const doubles observation = write(nb::none(), "", {e.worlds, e.observations}), reward = write(nb::none(), "", {e.worlds});
    const doubles terms = write(nb::none(), "", {e.worlds, e.rewards});
    ctn_environments_result to = {observation.data(), reward.data(), terms.data(), nullptr, nullptr, nullptr, nullptr};
    const nb::object terminated = marks(e, &to.terminated), truncated = marks(e, &to.truncated), lost = marks(e, &to.lost);
    void *stats;
    const nb::object statistics = records({e.worlds}, nb::module_::import_("catena._core").attr("statistics_dtype"), &stats);
    to.stats = static_cast<ctn_step_stats *>(stats);
    e.call("Environments", [&](ctn_error *err) { return ctn_environments_step(e.all, told.data(), &to, err); });
    nb::dict members;
    members["observation"] = observation.object(), members["reward"] = reward.object(), members["terms"] = terms.object();
    members["terminated"] = terminated, members["truncated"] = truncated, members["lost"] = lost;
    members["statistics"] = statistics;
    return nb::cast<nb::tuple>(nb::module_::import_("catena._types").attr("Step")(**members));
}

static nb::tuple state(environments_object &e)
{
    use alone(e.busy, "Environments");
    const doubles q = write(nb::none(), "", {e.worlds, e.model->nq}), v = write(nb::none(), "", {e.worlds, e.model->nv});
    const doubles time = write(nb::none(), "", {e.worlds});
    ctn_environments_state(e.all, q.data(), v.data(), time.data());
    return nb::make_tuple(q.object(), v.object(), time.object());
}

static nb::object bounds(const environments_object &e, bool of_actions)
{
    const size_t n = of_actions ? e.actions : e.observations;
    const doubles to = write(nb::none(), "", {n, 2});
    auto *const rows = reinterpret_cast<double(*)[2]>(to.data());
    ctn_environments_bounds(e.all, of_actions ? rows : nullptr, of_actions ? nullptr : rows);
    return to.object();
}

static nb::list names(const environments_object &e, size_t n, const char *(*name)(const ctn_environments *, int))
{
    nb::list all;
    for (size_t k = 0; k < n; k++) all.append(name(e.all, static_cast<int>(k)));
    return all;
}

void bind_environments(nb::module_ &m)
{
    using e = environments_object;
    m.def(
        "freeze_text", [](int reason) { return ctn_freeze_text(static_cast<ctn_freeze>(reason)); }, nb::arg("reason"),
        "A sentence about why a world is frozen, `frozen` of its statistics.");
    nb::class_<environments_object>(
        m, "Environments",
        "Worlds of a scene with a `reward:`, which are told actions, and say what they observe and earn.\n\n"
        "`hold`: steps of an action (0: as `every` of the controller says), `limit`: actions of an episode (0: as `duration` "
        "says;\n"
        "below 0: it has no end). Keys as of Batch, but for `parameters`, which `sample:` of the scene draws. catena.gym makes\n"
        "environments of Gymnasium of it. catena/environments.h says what actions, observations and rewards are.")
        .def(nb::init<const model_object &, int, int, nb::kwargs>(), nb::arg("model"), nb::arg("hold") = 0, nb::arg("limit") = 0,
             nb::arg("keys"),
             nb::sig("def __init__(self, model: Model, hold: int = 0, limit: int = 0, *, " CONFIG_KEYS ") -> None"))
        .def_prop_ro(
            "model", [](const e &o) { return model_object{o.model}; }, "The model that they were made of.")
        .def_prop_ro(
            "worlds", [](const e &o) { return o.worlds; }, "How many worlds there are.")
        .def_prop_ro(
            "every", [](const e &o) { return ctn_environments_every(o.all); }, "How long an action lasts, s.")
        .def_prop_ro(
            "limit", [](const e &o) { return ctn_environments_limit(o.all); }, "Actions of an episode; 0: it has no end.")
        .def_prop_ro(
            "action_bounds", [](const e &o) { return bounds(o, true); }, nb::sig("def action_bounds(self) -> " ARRAY),
            "[actions, 2], from where to where, in the units of targets; infinite where nothing bounds them.")
        .def_prop_ro(
            "observation_bounds", [](const e &o) { return bounds(o, false); }, nb::sig("def observation_bounds(self) -> " ARRAY),
            "[observations, 2], likewise.")
        .def_prop_ro(
            "action_names", [](const e &o) { return names(o, o.actions, ctn_environments_action_name); },
            nb::sig("def action_names(self) -> list[str]"), "Of the numbers of an action: joints, or links that are pushed.")
        .def_prop_ro(
            "observation_names", [](const e &o) { return names(o, o.observations, ctn_environments_observation_name); },
            nb::sig("def observation_names(self) -> list[str]"),
            "Of the numbers of an observation: those of sensors, or of q and v.")
        .def_prop_ro(
            "reward_names", [](const e &o) { return names(o, o.rewards, ctn_environments_reward_name); },
            nb::sig("def reward_names(self) -> list[str]"), "Of the terms of the reward, as the scene calls them.")
        .def_prop_ro(
            "config", [](const e &o) { return chosen(*ctn_environments_configuration(o.all)); },
            nb::sig("def config(self) -> dict"), "The configuration in use: engine and threads as chosen.")
        .def("reset", reset, nb::arg("seeds") = nb::none(), nb::arg("which") = nb::none(), nb::arg("q") = nb::none(),
             nb::arg("v") = nb::none(),
             nb::sig("def reset(self, seeds: collections.abc.Sequence[int] | None = None, which: " LIKE " | None = None, q: " LIKE
                     " | None = None, v: " LIKE " | None = None) -> " ARRAY),
             "Begins an episode in the worlds that `which` [worlds] names (None: in all), at states that the scene draws, or at "
             "q\n"
             "[worlds, nq] and v [worlds, nv]. With `seeds` [worlds] it is the first one of a new seed, without the next one of "
             "that\n"
             "which the world has. What all worlds observe [worlds, observations].")
        .def("step", step, nb::arg("action"), nb::sig("def step(self, action: " LIKE ") -> catena._types.Step"),
             "Tells actions [worlds, actions], in the units of targets, and steps. A world whose episode is over rests until it "
             "is\n"
             "reset.")
        .def("state", state, nb::sig("def state(self) -> tuple[" ARRAY ", " ARRAY ", " ARRAY "]"),
             "Coordinates [worlds, nq], velocities [worlds, nv] and times [worlds] (s) now: copies.");
}

}  // namespace binding

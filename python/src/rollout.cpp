/// catena.rollout: many worlds from beginning to end, into a file.
#include "held.h"

#include <cmath>

namespace binding
{

/// A rollout in the works, and what hears of it.
struct rollout_call : held {
    nb::handle progress;
    nb::list warnings;

    rollout_call(const model_object &m, nb::handle heard) : held(m), progress(heard) {}

    static void warn(void *context, const char *text)
    {
        rollout_call &r = *static_cast<rollout_call *>(context);
        r.ask([&] { r.warnings.append(text); });
    }

    static void tell(void *context, long done, long all)
    {
        rollout_call &r = *static_cast<rollout_call *>(context);
        r.ask([&] {
            if (!r.progress.is_none()) r.progress(done, all);
        });
    }
};

static nb::object report_of(const ctn_rollout_report &r, const nb::list &warnings)
{
    nb::dict d;
    d["worlds"] = r.worlds, d["done"] = r.done, d["before"] = r.before, d["frozen"] = r.frozen;
    d["with_fallbacks"] = r.with_fallbacks, d["states"] = r.states, d["block"] = r.block, d["threads"] = r.threads;
    d["engine"] = r.engine, d["parallel"] = ctn_parallel_name(r.parallel), d["lanes"] = r.lanes, d["wall"] = r.wall;
    d["occupancy"] = r.occupancy, d["warnings"] = nb::tuple(warnings);
    return nb::module_::import_("catena._types").attr("RolloutReport")(**d);
}

static std::string optional_path(nb::handle path) { return path.is_none() ? std::string() : path_of(path); }

static nb::object rollout(const model_object &model, nb::handle path, long worlds, nb::handle steps, long stride, nb::handle seed,
                          nb::handle starts, nb::handle controls, const std::string &keep, bool hashes, bool resume,
                          nb::handle save_freeze, const std::string &command, nb::handle progress, nb::kwargs keys)
{
    check_callable(progress, "progress");
    if (keys.contains("parameters")) throw nb::type_error("parameters: are those that `sample:` of the scene draws");
    rollout_call r(model, progress);
    config cfg;
    r.configured(cfg, keys);
    ctn_rollout_config c = ctn_rollout_config_default(model->scene);
    const std::string to = path_of(path), from = optional_path(starts), forces = optional_path(controls),
                      folder = optional_path(save_freeze);
    c.batch = cfg.c, c.worlds = worlds, c.stride = stride, c.hashes = hashes, c.resume = resume;
    if (!seed.is_none()) c.seed = nb::cast<uint64_t>(seed);
    const double duration = ctn_scene_duration(model->scene);
    if (steps.is_none() && !(duration >= 0)) throw nb::value_error("steps: the scene has no duration; say how many are made");
    c.steps = steps.is_none() ? lround(duration / cfg.c.dt) : nb::cast<long>(steps);
    c.starts = from.empty() ? nullptr : from.c_str(), c.controls = forces.empty() ? nullptr : forces.c_str();
    c.keep = keep.empty() ? nullptr : keep.c_str(), c.save_freeze = folder.empty() ? nullptr : folder.c_str();
    c.command = command.empty() ? nullptr : command.c_str();
    c.warn = rollout_call::warn, c.progress = rollout_call::tell, c.context = &r;
    ctn_rollout_report report = {};
    USE_HDF5;
    r.call("rollout", [&](ctn_error *err) {
        const ctn_status status = ctn_rollout(to.c_str(), r.model->scene, r.model->model, &c, &report, err);
        return status == CTN_FROZEN ? CTN_OK : status;  // the report counts them
    });
    return report_of(report, r.warnings);
}

#define PATH "str | os.PathLike[str]"

void bind_rollout(nb::module_ &m)
{
    m.def(
        "rollout", rollout, nb::arg("model"), nb::arg("path"), nb::arg("worlds") = 0, nb::arg("steps") = nb::none(),
        nb::arg("stride") = 1, nb::arg("seed") = nb::none(), nb::arg("starts") = nb::none(), nb::arg("controls") = nb::none(),
        nb::arg("keep") = "", nb::arg("hashes") = false, nb::arg("resume") = false, nb::arg("save_freeze") = nb::none(),
        nb::arg("command") = "", nb::arg("progress") = nb::none(), nb::arg("keys"),
        nb::sig("def rollout(model: Model, path: " PATH ", worlds: int = 0, steps: int | None = None, stride: int = 1, "
                "seed: int | None = None, starts: " PATH " | None = None, controls: " PATH " | None = None, keep: str = '', "
                "hashes: bool = False, resume: bool = False, save_freeze: " PATH " | None = None, command: str = '', "
                "progress: collections.abc.Callable[[int, int], object] | None = None, **keys: object) -> "
                "catena._types.RolloutReport"),
        "Steps many worlds of a scene, which begin as its `sample:` draws them, from beginning to end, and keeps their states in "
        "the\n"
        "file `path`, .h5 or .hdf5: what `catena rollout` does, with the same bits. read_recording reads it. Returns what "
        "happened.\n\n"
        "`worlds`: 0: as many as starts or controls have, else 1. `steps` of each (None: as long as the scene lasts), a state "
        "is\n"
        "kept every `stride`. `seed` of what is drawn. `starts`, `controls`: files of initial states and joint forces. `keep`: "
        "what\n"
        "is kept of a state, some of q, v, energy, pose, sensors, contacts, with commas (\"\": q,v). `hashes`: of every world "
        "after\n"
        "every step. `resume`: goes on with the file of a call that ended early. `save_freeze`: a folder for the last steps of "
        "worlds\n"
        "that freeze. progress(done, all) hears of worlds that are done. Keys as of Batch. Ctrl-C ends it: what is done stays in "
        "the\n"
        "file. Worlds that freeze do not raise: the report counts them.");
}

}  // namespace binding

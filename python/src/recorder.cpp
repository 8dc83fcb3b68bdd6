/// catena.Recorder: what worlds do, in a file.
#include "batch.h"
#include "held.h"

#include <cstring>

namespace binding
{

/// HDF5 is not safe for threads: calls keep the GIL, and refuse where a rollout has let go of it.
struct recorder_object {
    nb::object owner;  // the batch, which has to stand until the file is closed
    batch_object &b;
    ctn_recorder *recorder = nullptr;

    recorder_object(nb::object batch, nb::handle path, int every, const std::string &command, bool hashes, double flush_interval)
        : owner(batch), b(nb::cast<batch_object &>(batch))
    {
        use alone(b.busy, "batch");
        USE_HDF5;
        ctn_record_config cfg = ctn_record_config_default();
        cfg.every = every, cfg.hashes = hashes, cfg.flush_interval = flush_interval;
        cfg.command = command.empty() ? nullptr : command.c_str();
        auto err = new_error();
        recorder = ctn_recorder_create(path_of(path).c_str(), b.model->scene, b.model->model, b.batch, &cfg, err.get());
        if (!recorder) raise(*err);
    }
    recorder_object(const recorder_object &) = delete;
    ~recorder_object()
    {
        if (!hdf5_taken) ctn_recorder_close(recorder, nullptr);  // else its file is left as a program that was killed leaves it
    }

    ctn_recorder *open() const
    {
        if (!recorder) throw nb::value_error("the recording is closed");
        return recorder;
    }
};

static void add(recorder_object &r, nb::handle statistics)
{
    use alone(r.b.busy, "batch");
    USE_HDF5;
    ctn_recorder *const recorder = r.open();
    auto err = new_error();
    std::vector<ctn_step_stats> own(r.b.worlds);
    if (statistics.is_none()) {
        const ctn_status status = ctn_batch_step(r.b.batch, 0, own.data(), err.get());
        if (status != CTN_FROZEN) check(status, *err);
    } else {
        Py_buffer view;
        const nb::object dtype = nb::module_::import_("catena._core").attr("statistics_dtype");
        if (!nb::hasattr(statistics, "dtype") || !statistics.attr("dtype").equal(dtype) ||
            PyObject_GetBuffer(statistics.ptr(), &view, PyBUF_C_CONTIGUOUS))
            throw nb::type_error("statistics: expected what step(statistics=True) gives");
        const bool fits = static_cast<size_t>(view.len) == own.size() * sizeof own[0];
        if (fits) memcpy(own.data(), view.buf, static_cast<size_t>(view.len));
        PyBuffer_Release(&view);
        if (!fits) throw nb::value_error("statistics: are of another number of worlds");
    }
    check(ctn_recorder_add(recorder, own.data(), err.get()), *err);
}

static void hash(recorder_object &r)
{
    use alone(r.b.busy, "batch");
    USE_HDF5;
    auto err = new_error();
    check(ctn_recorder_hash(r.open(), err.get()), *err);
}

static void flush(recorder_object &r)
{
    USE_HDF5;
    auto err = new_error();
    check(ctn_recorder_flush(r.open(), err.get()), *err);
}

static void close(recorder_object &r)
{
    USE_HDF5;
    auto err = new_error();
    check(ctn_recorder_close(std::exchange(r.recorder, nullptr), err.get()), *err);
}

void bind_recorder(nb::module_ &m)
{
    nb::class_<recorder_object>(
        m, "Recorder",
        "A recording of a batch into a file that ends in .csv, .h5 or .hdf5, as `catena run --out` makes it; closed at the end "
        "of\n"
        "a `with`. `every`: steps from one record to the next, noted in the file. Recorders of .h5 files belong to one thread.")
        .def(nb::init<nb::object, nb::handle, int, const std::string &, bool, double>(), nb::arg("batch"), nb::arg("path"),
             nb::arg("every") = 1, nb::arg("command") = "", nb::arg("hashes") = false, nb::arg("flush_interval") = 0.5,
             nb::sig("def __init__(self, batch: Batch, path: str | os.PathLike[str], every: int = 1, command: str = '', hashes: "
                     "bool = False, "
                     "flush_interval: float "
                     "= 0.5) -> None"))
        .def("add", add, nb::arg("statistics") = nb::none(),
             nb::sig("def add(self, statistics: " RECORDS " | None = None) -> None"),
             "Adds a record of the batch as it is now, and statistics [worlds] of the steps since the one before (None: of no "
             "step).")
        .def("hash", hash, "Adds a hash of every world as it is now; of a recorder with hashes=True.")
        .def("flush", flush, "Hands all records to the operating system.")
        .def("close", close, "Finishes the file. A second time does nothing.")
        .def_prop_ro(
            "count", [](const recorder_object &r) { return ctn_recorder_count(r.open()); }, "Records added so far.")
        .def(
            "__enter__", [](nb::object self) { return self; }, nb::sig("def __enter__(self) -> Recorder"))
        .def(
            "__exit__", [](recorder_object &r, nb::args) { close(r); },
            nb::sig("def __exit__(self, *exception: object) -> None"));
}

}  // namespace binding

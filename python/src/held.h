/// What tapes, trajectories and plans have in common: a model that they keep, and calls without the GIL that can be stopped.
#ifndef CATENA_PYTHON_HELD_H
#define CATENA_PYTHON_HELD_H

#include "config.h"

#include <exception>

namespace binding
{

struct held {
    std::shared_ptr<compiled> model;
    volatile int stop = 0;
    bool busy = false;
    std::exception_ptr thrown;  // by a callback: the call ends early
    std::vector<nb::object> functions;  // of Python, that are asked in calls

    explicit held(const model_object &m) : model(m.at) {}
    held(const held &) = delete;

    /// The configuration of keyword arguments, whose calls look at `stop`.
    void configured(config &to, nb::kwargs &keys)
    {
        configure(to, *model, keys);
        nothing_else(keys);
        to.c.interrupt = &stop;
    }

    /// f(ctn_error *) without the GIL; raises what it refuses, or what a callback has thrown. `what` it is: for messages.
    template <class F> void call(const char *what, F f)
    {
        use alone(busy, what);
        auto err = new_error();
        thrown = nullptr;
        ctn_status status;
        {
            stop_at_sigint sigint(stop);
            nb::gil_scoped_release released;
            status = f(err.get());
        }
        if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
        check(status, *err);
    }

    /// Asks Python within `call`; what it throws ends the call, and is thrown there.
    template <class F> void ask(F f)
    {
        const nb::gil_scoped_acquire held;
        if (thrown) return;
        try {
            f();
        } catch (...) {
            thrown = std::current_exception();
            stop = 1;
        }
    }
};

/// For nb::type_slots: lets the collector see the functions of a `held`, which may know of the object in turn.
template <class T> PyType_Slot *with_functions()
{
    const traverseproc traverse = [](PyObject *self, visitproc visit, void *arg) {
        Py_VISIT(Py_TYPE(self));
        if (nb::inst_ready(self))
            for (const nb::object &f : nb::inst_ptr<T>(self)->functions) Py_VISIT(f.ptr());
        return 0;
    };
    const inquiry clear = [](PyObject *self) {
        for (nb::object &f : nb::inst_ptr<T>(self)->functions) f = nb::none();
        return 0;
    };
    static PyType_Slot slots[] = {
        {Py_tp_traverse, reinterpret_cast<void *>(traverse)}, {Py_tp_clear, reinterpret_cast<void *>(clear)}, {0, nullptr}};
    return slots;
}

/// TypeError unless it is None or can be called.
inline void check_callable(nb::handle function, const char *name)
{
    if (!function.is_none() && !PyCallable_Check(function.ptr()))
        throw nb::type_error((std::string(name) + ": expected something that can be called").c_str());
}

/// HDF5 is not safe for threads: a call that uses it without the GIL takes this, and others look at it.
inline bool hdf5_taken = false;
#define USE_HDF5 const use hdf5_alone(hdf5_taken, "library's HDF5")

/// A new array with what stands at `from`.
inline nb::object copy(const double *from, const shape &sizes)
{
    const doubles to = write(nb::none(), "copy", sizes);
    std::copy(from, from + to.size(), to.data());
    return to.object();
}

/// bool [worlds], for all: NULL where `which` is None.
std::unique_ptr<bool[]> chosen_worlds(nb::handle which, const char *name, size_t worlds);

}  // namespace binding

#endif

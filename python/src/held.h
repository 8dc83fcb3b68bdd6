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

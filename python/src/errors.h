/// What the library refuses, as exceptions.
#ifndef CATENA_PYTHON_ERRORS_H
#define CATENA_PYTHON_ERRORS_H

#include <catena/status.h>

#include <nanobind/nanobind.h>

#include <memory>

namespace binding
{

/// Throws the exception of catena/_errors.py that belongs to the status, with the places that `err` has.
/// CTN_INTERRUPTED: KeyboardInterrupt, or what a handler of signals or a callback has raised.
[[noreturn]] void raise(const ctn_error &err);

/// Room for an error, which whoever fails fills: 8 kB that are not written before.
inline std::unique_ptr<ctn_error> new_error() { return std::unique_ptr<ctn_error>(new ctn_error); }

inline void check(ctn_status status, ctn_error &err)
{
    if (status == CTN_OK) return;
    err.status = status;
    raise(err);
}

/// An object may be used by one call at a time: the GIL is not held while steps are made. A second call is refused.
class use
{
  public:
    use(bool &taken, const char *what) : flag(taken)
    {
        if (flag) {
            PyErr_Format(PyExc_RuntimeError, "this %s is in use by another call, in a thread or around this one", what);
            throw nanobind::python_error();
        }
        flag = true;
    }
    ~use() { flag = false; }
    use(const use &) = delete;

  private:
    bool &flag;
};

/// While this stands, Ctrl-C sets `flag` to 1, in the main thread, besides what Python makes of it.
class stop_at_sigint
{
  public:
    explicit stop_at_sigint(volatile int &flag);
    ~stop_at_sigint();
    stop_at_sigint(const stop_at_sigint &) = delete;

  private:
    bool installed = false;
};

}  // namespace binding

#endif

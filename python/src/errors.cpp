#include "errors.h"

#include <csignal>
#include <unistd.h>

namespace nb = nanobind;

namespace binding
{

void raise(const ctn_error &err)
{
    if (PyErr_Occurred()) throw nb::python_error();
    if (err.status == CTN_INTERRUPTED && PyErr_CheckSignals()) throw nb::python_error();
    const nb::module_ errors = nb::module_::import_("catena._errors");
    nb::list findings;
    auto finding = std::make_unique<ctn_finding>();
    for (int i = 0; i < err.placed; i++)
        if (ctn_error_finding(&err, i, finding.get()) == CTN_OK)
            findings.append(errors.attr("Finding")(finding->file, finding->line, finding->column, finding->key, finding->text));
    const char *status = ctn_status_name(err.status);
    const nb::object exception = errors.attr("error_of")(status, nb::str(err.message), findings);
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception.ptr())), exception.ptr());
    throw nb::python_error();
}

static volatile int *stops;  // the flag of the call that the main thread is in
static struct sigaction python;

static void on_sigint(int signal)
{
    if (stops) *stops = 1;
    python.sa_handler(signal);
}

stop_at_sigint::stop_at_sigint(volatile int &flag)
{
    flag = 0;
    if (getpid() != gettid() || stops) return;  // handlers of Python run in the main thread
    if (sigaction(SIGINT, nullptr, &python)) return;
    if ((python.sa_flags & SA_SIGINFO) || python.sa_handler == SIG_DFL || python.sa_handler == SIG_IGN) return;
    struct sigaction ours = python;
    ours.sa_handler = on_sigint;
    stops = &flag;
    installed = !sigaction(SIGINT, &ours, nullptr);
    if (!installed) stops = nullptr;
}

stop_at_sigint::~stop_at_sigint()
{
    if (!installed) return;
    sigaction(SIGINT, &python, nullptr);
    stops = nullptr;
}

}  // namespace binding

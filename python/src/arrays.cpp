#include "arrays.h"

#include <climits>
#include <cstdint>
#include <cstring>

namespace binding
{

std::string text_of(const shape &s, bool leading)
{
    std::string text = leading ? "(..." : "(";
    for (size_t i = 0; i < s.size(); i++) text += (i || leading ? ", " : "") + std::to_string(s[i]);
    return text + (s.size() == 1 && !leading ? ",)" : ")");
}

size_t product(const shape &s)
{
    size_t p = 1;
    for (size_t n : s) p *= n;
    return p;
}

std::string path_of(nb::handle path) { return nb::cast<std::string>(nb::str(nb::module_::import_("os").attr("fspath")(path))); }

nb::object numpy(const char *name) { return nb::module_::import_("numpy").attr(name); }

nb::tuple tuple_of(const shape &s)
{
    nb::list sizes;
    for (size_t n : s) sizes.append(n);
    return nb::tuple(sizes);
}

doubles::doubles(doubles &&other) noexcept : view(other.view), taken(other.taken), owner(std::move(other.owner))
{
    other.taken = false;
}

doubles::~doubles()
{
    if (taken) PyBuffer_Release(&view);
}

shape doubles::sizes() const
{
    shape s;
    for (int i = 0; taken && i < view.ndim; i++) s.push_back(static_cast<size_t>(view.shape[i]));
    return s;
}

bool doubles::take(nb::handle from, int flags)
{
    if (!PyObject_CheckBuffer(from.ptr())) return false;
    if (PyObject_GetBuffer(from.ptr(), &view, PyBUF_ND | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | flags)) {
        PyErr_Clear();
        return false;
    }
    taken = view.format && !strcmp(view.format, "d") && reinterpret_cast<uintptr_t>(view.buf) % alignof(double) == 0;
    if (taken) owner = nb::borrow(from);
    else PyBuffer_Release(&view);
    return taken;
}

doubles doubles::like(nb::handle from, const char *name)
{
    doubles a;
    if (a.take(from, 0)) return a;
    const nb::object array = numpy("asarray")(from);
    const std::string kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
    if (kind != "f" && kind != "i" && kind != "u") {
        const std::string dtype = nb::cast<std::string>(array.attr("dtype").attr("name"));
        throw nb::type_error((std::string(name) + ": expected real numbers, found " + dtype).c_str());
    }
    // a copy, as what could not be taken may lie where doubles cannot
    if (!a.take(numpy("array")(array, nb::arg("dtype") = "float64", nb::arg("order") = "C"), 0))
        throw nb::type_error((std::string(name) + ": could not be made an array of float64").c_str());
    return a;
}

doubles doubles::writable(nb::handle to, const char *name)
{
    doubles a;
    if (!a.take(to, PyBUF_WRITABLE))
        throw nb::type_error((std::string(name) + ": expected a C-contiguous, writable array of float64").c_str());
    return a;
}

static bool ends_with(const shape &s, const shape &tail)
{
    return s.size() >= tail.size() && std::equal(tail.begin(), tail.end(), s.end() - static_cast<long>(tail.size()));
}

[[noreturn]] static void wrong_shape(const char *name, const std::string &expected, const shape &found)
{
    throw nb::value_error((std::string(name) + ": expected shape " + expected + ", found " + text_of(found)).c_str());
}

doubles read(nb::handle from, const char *name, const shape &tail, bool optional)
{
    if (optional && from.is_none()) return doubles();
    doubles a = doubles::like(from, name);
    if (!ends_with(a.sizes(), tail)) wrong_shape(name, text_of(tail, true), a.sizes());
    return a;
}

doubles read_exactly(nb::handle from, const char *name, const shape &sizes, bool optional)
{
    if (optional && from.is_none()) return doubles();
    doubles a = doubles::like(from, name);
    if (a.sizes() != sizes) wrong_shape(name, text_of(sizes), a.sizes());
    return a;
}

void add_to(nb::handle from, const char *name, const shape &sizes, double *to)
{
    const doubles a = read_exactly(from, name, sizes, true);
    for (size_t i = 0; i < a.size(); i++) to[i] += a.data()[i];
}

shape leading(const doubles &a, const shape &tail)
{
    shape s = a.sizes();
    s.resize(s.size() - tail.size());
    return s;
}

doubles write(nb::handle out, const char *name, const shape &sizes, std::initializer_list<const doubles *> inputs)
{
    if (out.is_none()) return doubles::writable(numpy("empty")(tuple_of(sizes)), name);
    doubles a = doubles::writable(out, name);
    if (a.sizes() != sizes) wrong_shape(name, text_of(sizes), a.sizes());
    for (const doubles *in : inputs)
        if (in->data() && a.data() < in->data() + in->size() && in->data() < a.data() + a.size())
            throw nb::value_error((std::string(name) + ": overlaps an input").c_str());
    return a;
}

nb::object records(const shape &sizes, nb::handle dtype, void **data)
{
    nb::object array = numpy("zeros")(tuple_of(sizes), dtype);
    Py_buffer view;
    if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE)) throw nb::python_error();
    *data = view.buf;
    PyBuffer_Release(&view);  // an array of its own keeps its place while it stands
    return array;
}

int count_of(const shape &lead)
{
    const size_t count = product(lead);
    if (count > INT_MAX) throw nb::value_error("more states at once than 2147483647");
    return static_cast<int>(count);
}

}  // namespace binding

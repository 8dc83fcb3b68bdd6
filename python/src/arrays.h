/// Arrays between numpy and the library: what is read is converted where it has to be, what is written must fit as it is.
#ifndef CATENA_PYTHON_ARRAYS_H
#define CATENA_PYTHON_ARRAYS_H

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

namespace binding
{

namespace nb = nanobind;

/// Types in signatures and stubs.
#define ARRAY "numpy.typing.NDArray[numpy.float64]"
#define LIKE "numpy.typing.ArrayLike"
#define RECORDS "numpy.typing.NDArray[numpy.void]"
#define OUT ", out: " ARRAY " | None = None) -> " ARRAY

using shape = std::vector<size_t>;

/// "(4, 3)"; with `leading`, "(..., 4, 3)".
std::string text_of(const shape &s, bool leading = false);
size_t product(const shape &s);

/// C-contiguous doubles of an object of Python that stand while this does. Made and destroyed with the GIL.
class doubles
{
  public:
    doubles() = default;  // none: data() is NULL
    doubles(const doubles &) = delete;
    doubles &operator=(const doubles &) = delete;
    doubles(doubles &&other) noexcept;
    ~doubles();

    double *data() const { return taken ? static_cast<double *>(view.buf) : nullptr; }
    size_t size() const { return taken ? static_cast<size_t>(view.len) / sizeof(double) : 0; }
    shape sizes() const;
    nb::object object() const { return owner; }

    /// Real numbers like an array, of any strides and kind, copied where they are no C-contiguous doubles.
    static doubles like(nb::handle from, const char *name);

    /// An array that is written as it is: TypeError unless it is C-contiguous, writable float64.
    static doubles writable(nb::handle to, const char *name);

  private:
    bool take(nb::handle from, int flags);
    Py_buffer view = {};
    bool taken = false;
    nb::object owner;
};

/// An input [..., tail]: ValueError for another shape. None where `optional`: no data.
doubles read(nb::handle from, const char *name, const shape &tail, bool optional = false);

/// An input of exactly this shape.
doubles read_exactly(nb::handle from, const char *name, const shape &sizes, bool optional = false);

/// Adds an input of this shape to what is there; None adds nothing.
void add_to(nb::handle from, const char *name, const shape &sizes, double *to);

/// What stands before `tail` in its shape.
shape leading(const doubles &a, const shape &tail);

/// Where results go: `out`, or a new array where that is None. ValueError for another shape, and where it overlaps an input.
doubles write(nb::handle out, const char *name, const shape &sizes, std::initializer_list<const doubles *> inputs = {});

/// A new array of another dtype, and where its bytes are.
nb::object records(const shape &sizes, nb::handle dtype, void **data);

/// A number of states as the library counts them: ValueError beyond.
int count_of(const shape &lead);

/// A path: a str, or what has one (os.PathLike). TypeError for others.
std::string path_of(nb::handle path);

nb::object numpy(const char *name);
nb::tuple tuple_of(const shape &s);

}  // namespace binding

#endif

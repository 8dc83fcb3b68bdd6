/// Structs of the library as dtypes of numpy: fields by their names, at their places.
#ifndef CATENA_PYTHON_RECORDS_H
#define CATENA_PYTHON_RECORDS_H

#include "arrays.h"

#include <cstddef>
#include <type_traits>

namespace binding
{

/// Collects the fields of a struct of `size` bytes.
class fields
{
  public:
    explicit fields(size_t size) : bytes(size) {}

    template <class T> void add(const char *name, size_t offset)
    {
        using one = std::remove_extent_t<T>;
        const char *format = std::is_same_v<one, bool>       ? "?"
                             : std::is_floating_point_v<one> ? "f8"
                             : sizeof(one) == 8              ? "i8"
                                                             : "i4";
        static_assert(!std::is_floating_point_v<one> || sizeof(one) == 8, "doubles only");
        names.append(name);
        if constexpr (std::is_array_v<T>) formats.append(nb::make_tuple(format, nb::make_tuple(std::extent_v<T>)));
        else formats.append(format);
        offsets.append(offset);
    }

    nb::object dtype() const
    {
        nb::dict d;
        d["names"] = names, d["formats"] = formats, d["offsets"] = offsets, d["itemsize"] = bytes;
        return numpy("dtype")(d);
    }

  private:
    size_t bytes;
    nb::list names, formats, offsets;
};

#define FIELD(collected, type, name) (collected).add<decltype(type::name)>(#name, offsetof(type, name))

}  // namespace binding

#endif

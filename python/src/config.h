/// Configurations of batches and tapes out of keyword arguments.
#ifndef CATENA_PYTHON_CONFIG_H
#define CATENA_PYTHON_CONFIG_H

#include "model.h"

namespace binding
{

/// A configuration, with what it points to. It must stay where it is while an object is made of it.
struct config {
    ctn_batch_config c;
    std::vector<ctn_parameter> parameters;
    std::string engine;
};

/// The scene's `integrator:` with `keys` over it: the names of ctn_batch_config, words as in scenes, and `parameters`, a list of
/// (kind, index or link). TypeError for another key or type, catena.ArgumentError for another word. `keys` loses what is its own.
void configure(config &to, const compiled &model, nb::kwargs &keys);

/// Takes `key` out of `keys`; an invalid object: it is not there, or None.
nb::object take(nb::kwargs &keys, const char *key);

/// The same into `to`, which stays as it is where there is none; TypeError for another type.
template <class T> void set(nb::kwargs &keys, const char *key, T &to, const char *expected)
{
    const nb::object value = take(keys, key);
    if (!value.is_valid() || nb::try_cast(value, to)) return;
    throw nb::type_error((std::string(key) + ": expected " + expected).c_str());
}

/// A list of (kind, index or link).
std::vector<ctn_parameter> parameters_of(const compiled &model, nb::handle list);

/// TypeError if a key is left.
void nothing_else(const nb::kwargs &keys);

/// A key of its own, taken out of `keys`; `otherwise` where there is none.
bool truth_of(nb::kwargs &keys, const char *key, bool otherwise);

/// What was chosen, as a dict with the same keys.
nb::dict chosen(const ctn_batch_config &c);

/// Keys of `configure` in signatures.
#define CONFIG_KEYS                                                                                                              \
    "worlds: int = 1, dt: float = ..., method: str = ..., order: int = ..., stages: int = ..., rho: float = ..., "               \
    "solver: str = ..., tolerance: float = ..., max_iterations: int = ..., max_halvings: int = ..., adaptive: bool = ..., "      \
    "error_tolerance: float = ..., threads: int = ..., schedule: str = ..., parallel: str = ..., lanes: int = ..., "             \
    "engine: str = ..., parameters: collections.abc.Sequence[tuple[str, int | str]] = ()"

}  // namespace binding

#endif

/// Configurations: the one table of methods, solvers and ranges behind scene files, the command line and C.
#ifndef CATENA_SIM_CONFIG_H
#define CATENA_SIM_CONFIG_H

#include <catena/batch.h>
#include <stdbool.h>

/// Sets the number called `field` ("dt", "order", "tolerance", "max_iterations", "max_halvings", "worlds") if `value` is in its
/// range. Otherwise changes nothing and returns CTN_BAD_CONFIG, or CTN_UNAVAILABLE for a value of a later version; the message says
/// what is allowed and leaves the name of the field to the caller.
ctn_status config_set(ctn_batch_config *cfg, const char *field, double value, ctn_error *err);

/// The methods that solve equations for each step, in words: they have `order`, `solver`, `tolerance`, `max_iterations`, `max_halvings`.
#define CONFIG_SOLVING_METHODS "the methods collocation and variational"
bool config_solves(ctn_method method);

/// Checks a configuration before use: made by ctn_batch_config_default, every field in its range. `engine` is left to those who
/// know the machine.
ctn_status config_check(const ctn_batch_config *cfg, ctn_error *err);

#endif

/// Configurations: the one table of methods, solvers, schedules and ranges behind scene files, the command line and C.
#ifndef CATENA_SIM_CONFIG_H
#define CATENA_SIM_CONFIG_H

#include <catena/batch.h>
#include <stdbool.h>

/// Sets the number called `field` ("dt", "error_tolerance", "order", "tolerance", "max_iterations", "max_halvings", "worlds",
/// "lanes") if `value` is in its range. Otherwise changes nothing and returns CTN_BAD_CONFIG; the message says what is allowed
/// and leaves the name of the field to the caller.
ctn_status config_set(ctn_batch_config *cfg, const char *field, double value, ctn_error *err);

/// CTN_BAD_CONFIG if steps are adaptive and the method does not estimate its error; the message goes after the name of the field.
ctn_status config_check_adaptive(const ctn_batch_config *cfg, ctn_error *err);

/// The longest text of config_describe with its end.
enum { CONFIG_WORDS = 100 };

/// What the configuration is, in a few words: its method with order or stages, and its time step.
void config_describe(const ctn_batch_config *cfg, char text[CONFIG_WORDS]);

/// Where the configuration's method is not stable, in words; NULL: nothing to say. (docs/integrators.md)
const char *method_limit(const ctn_batch_config *cfg);
/// CTN_BAD_CONFIG if the method has no such solver; the message goes after the name of the field.
ctn_status config_check_solver(const ctn_batch_config *cfg, ctn_error *err);

/// CTN_BAD_CONFIG if `parallel` is links or both, and the method or its steps are not for them; the message goes after the name
/// of the field.
ctn_status config_check_parallel(const ctn_batch_config *cfg, ctn_error *err);

/// For messages: the methods of ctn_method_is_implicit(), and those that have an `order`.
#define IMPLICIT_METHODS "the methods collocation, radau, variational and alpha"
#define METHODS_WITH_ORDER "the methods collocation and variational"

/// Checks a configuration before use: made by ctn_batch_config_default, every field in its range. `engine` is left to those who
/// know the machine.
ctn_status config_check(const ctn_batch_config *cfg, ctn_error *err);

/// CTN_BAD_CONFIG if the configuration, which has been checked, is not for this model: dampers where the method takes none.
ctn_status config_check_model(const ctn_batch_config *cfg, const ctn_model *m, ctn_error *err);

/// What acts between links of a model, in words, the first of it; NULL: nothing.
const char *config_between(const ctn_model *m);

/// The number that belongs to the configuration's method, by its name in scene files ("order", "stages", "rho"), with its value;
/// NULL: none.
const char *method_number(const ctn_batch_config *cfg, double *value);

#endif

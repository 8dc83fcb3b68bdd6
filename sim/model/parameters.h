/// Models of worlds with parameters of their own: copies of a model with other constants.
#ifndef CATENA_SIM_PARAMETERS_H
#define CATENA_SIM_PARAMETERS_H

#include "dynamics/model.h"

#include <catena/parameters.h>

typedef struct parameters parameters;

/// Parameters `list` [count] of `m`, which must outlive them. NULL with CTN_BAD_CONFIG or CTN_NO_MEMORY in `err`.
parameters *parameters_create(const ctn_model *m, const ctn_parameter *list, int count, ctn_error *err);
void parameters_free(parameters *p);  // NULL is allowed

/// Whether a parameter of that kind is one of them. `p` may be NULL.
bool parameters_have(const parameters *p, ctn_parameter_kind kind);

/// Whether bodies may have other constants in other worlds. `p` may be NULL.
bool parameters_change_bodies(const parameters *p);

int parameters_count(const parameters *p);
const ctn_parameter *parameters_list(const parameters *p);

/// The model's own values [count]; dt (s) for time_step.
void parameters_of_model(const parameters *p, double dt, double *values);

/// CTN_BAD_ARGUMENT if a world cannot have these values [count]; the message names world and parameter.
ctn_status parameters_check(const parameters *p, const double *values, int world, ctn_error *err);

/// A copy of the model, for parameters_apply. NULL: no memory. Free with free().
ctn_model *parameters_variant(const parameters *p);

/// Gives a variant the values [count]. *dt: written if time_step is one of them.
void parameters_apply(const parameters *p, const double *values, ctn_model *variant, double *dt);

#endif

/// The kinds of parameters: which link has which, and what they may be. Scenes that draw them and batches that take them ask
/// here.
#ifndef CATENA_SIM_PARAMETER_KINDS_H
#define CATENA_SIM_PARAMETER_KINDS_H

#include "dynamics/model.h"

#include <catena/parameters.h>
#include <stdbool.h>

/// What values may be.
typedef struct parameter_range {
    double least, most;
    bool above;           // and not `least` itself
    double unlimited;     // besides: the infinity that stands for no limit; NAN: none does
    const char *allowed;  // in words, without that: "a positive number"
} parameter_range;

/// Of a kind that is one of links, for a link with this joint, which has soft limits or not: why it has none, to go after "the
/// joint" ("is fixed: ..."). NULL: it has one.
const char *parameter_objection(ctn_parameter_kind kind, ctn_joint_type joint, bool limited);

/// The joint matters to kinds that are one of links.
parameter_range parameter_values(ctn_parameter_kind kind, ctn_joint_type joint);

/// Whether a motor of this type has a parameter of a kind that is one of motors.
bool motor_has(motor_type type, ctn_parameter_kind kind);

bool parameter_allows(const parameter_range *range, double x);

#endif

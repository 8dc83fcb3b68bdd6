/// The kinds of parameters: which link has which, and what they may be. Scenes that draw them and batches that take them ask
/// here.
#ifndef CATENA_SIM_PARAMETER_KINDS_H
#define CATENA_SIM_PARAMETER_KINDS_H

#include "dynamics/model.h"

#include <catena/parameters.h>
#include <stdbool.h>

enum { PARAMETER_KINDS = CTN_PAIR_DEPTH_SCALE + 1 };

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

/// Whether a kind is one of the ground as a whole.
bool parameter_of_ground(ctn_parameter_kind kind);
bool parameter_of_pairs(ctn_parameter_kind kind);    // or of all pairs of links
bool parameter_of_contact(ctn_parameter_kind kind);  // of the ground, and of contact points of a link

/// Whether a kind is one of motors, and of how many components: 1, or 3 of what balls have.
bool parameter_of_motor(ctn_parameter_kind kind);
int parameter_components(ctn_parameter_kind kind);

/// What a motor has: it is told 1 number, or 3 on a ball; an integral term; a limit of its speed.
typedef struct motor_traits {
    motor_type type;
    int told;
    bool winds, fast;
} motor_traits;

/// Whether a motor has a parameter of such a kind.
bool motor_has(motor_traits of, ctn_parameter_kind kind);

motor_traits traits_of_motor(const ctn_model *model, const joint_motor *motor);

bool parameter_allows(const parameter_range *range, double x);

#endif

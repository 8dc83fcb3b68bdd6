/// What steers a scene in the window: plans that are made anew in every knot (control/mpc.h), on the thread that steps.
#ifndef CATENA_CLI_VIEW_MPC_H
#define CATENA_CLI_VIEW_MPC_H

#include "render/view/exhibit.h"

/// Its context is the command line, arguments.
extern const exhibit_guide guide_of_plans;

#endif

/// `catena mpc`, of one world and of many: what the command line asks for, and tables.
#ifndef CATENA_CLI_MPC_ASKED_H
#define CATENA_CLI_MPC_ASKED_H

#include "cli/base/setup.h"
#include "control/mpc.h"

#include <stdio.h>

typedef struct {
    setup s, plant;  // plant.scene NULL: the same
    const char *out;
    char *table;  // out itself, or beside the recording
    scene_mpc how;
    uint64_t seed;
    double duration;
    bool quiet;
    int worlds;  // 0: one, where the scene begins
} mpc_asked;

/// What is really moved, and its steps of a knot; 0 with an error printed.
const setup *mpc_plant(const mpc_asked *a, double knot, int *hold);

/// How many knots there are; 0 with an error printed.
int mpc_knots(const mpc_asked *a, double knot);

/// Columns of a table, each with a comma before it.
void mpc_names(FILE *to, const char *prefix, int count);
void mpc_numbers(FILE *to, const double *x, int count);

const char *mpc_planner_of(const mpc_asked *a);  // its name
const char *mpc_unit(cost_term term);  // of how far its target is
void mpc_print_limit(const scene_limit *limit, double missed);
void mpc_warn_of_limits(const scene_optimize *o, double violation);  // of first plans
int mpc_compare(const void *a, const void *b);                       // of numbers, for qsort

/// The command with worlds: an exit status.
int mpc_follow_worlds(const arguments *args, const mpc_asked *a);

#endif

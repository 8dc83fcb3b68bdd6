/// Golden problems of iterative LQR as scenes (tests/golden/control/ddp), for suites that go through them.
#ifndef CATENA_TESTS_GOLDEN_PLANS_H
#define CATENA_TESTS_GOLDEN_PLANS_H

#include "control/ilqr.h"
#include "control/scene_plant.h"

#include <cjson/cJSON.h>

typedef struct {
    const char *name, *links, *motors;  // links NULL: those of `scene`, a file; motors NULL: likewise
    const char *scene;
    int order[7];      // golden coordinates in the scene's
    double tolerance;  // of the optimum
} golden_case;

enum { CASES = 6 };
extern const golden_case cases[CASES];

typedef struct {
    const golden_case *of;
    cJSON *file;
    ctn_scene *scene;
    ctn_model *model;
    scene_plant *plant;
    int N, nv, nu;
    double *x0, *U;  // in the scene's order; the guess
} problem;

int golden_knots(const golden_case *of);

/// bound: of controls; INFINITY: none. Ends the test where that fails.
problem open_problem(const golden_case *of, const char *engine, int threads, double bound);
void close_problem(problem *p);

/// A solver at the guess; the settings that the golden iterations have; one iteration.
ilqr *begin_problem(const problem *p, const ilqr_config *cfg);
ilqr_config config_of(const problem *p);
void iterate(ilqr *s);

#endif

/// The scene and the batch that tests of recordings record.
#include "tests/recorded.h"
#include "tests/command.h"

#include <check.h>
#include <stdlib.h>

/// A fixed link, a free one, a ball, a universal, a planar joint: names with a comma and a quotation mark.
const char scene_text[] =
    "catena: 1\n"
    "name: recorded\n"
    "include: [part.yaml]\n"
    "links:\n"
    "  - {name: 'base, \"fixed\"', joint: fixed, mass: 1, com: [0, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n"
    "  - {name: body, joint: {type: free, v0: [1, 2, 3, 3, -2, 1]}, mass: 2, com: [0.1, 0.2, 0], inertia: [1, 1.5, 1.2, 0.1, 0, "
    "0]}\n"
    "  - {name: head, parent: body, position: [0, 0, 1], joint: {type: ball, stiffness: 3}, mass: 1, com: [0, 0.1, 0.2],"
    " inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "  - {name: arm, parent: body, position: [1, 0, 0], joint: universal, mass: 1, com: [0.2, 0, 0], inertia: [0.1, 0.12, 0.13, "
    "0, 0, 0]}\n"
    "  - {name: slab, joint: planar, mass: 1, com: [0.2, 0, 0], inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "integrator: {method: collocation, dt: 0.02}";  // no line end
const char part_text[] =
    "catena: 1\nlinks:\n  - {name: part, joint: revolute, mass: 1, com: [1, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n";

ctn_scene *scene;
ctn_model *model;
ctn_batch *batch;
int nq, nv, nlink;

const char *const members[MEMBERS] = {
    "energy/kinetic",      "energy/potential",       "energy/spring",         "energy/energy",        "stats/steps",
    "stats/iterations",    "stats/iterations_max",   "stats/evaluations",     "stats/line_search",    "stats/curvature",
    "stats/fallbacks",     "stats/fewer_stages",     "stats/substeps",        "stats/rejected",       "stats/residual",
    "stats/energy_before", "stats/energy_after",     "stats/energy_min",      "stats/energy_max",     "stats/kinetic_before",
    "stats/kinetic_after", "stats/potential_before", "stats/potential_after", "stats/spring_before",  "stats/spring_after",
    "stats/work",          "stats/dissipated",       "stats/created",         "stats/frozen",         "stats/frozen_time",
    "stats/frozen_dof",    "stats/frozen_position",  "stats/frozen_velocity", "stats/frozen_residual"};

void open_recorded(void)
{
    ctn_error err;
    enter_scratch();
    spit("scene.yaml", scene_text), spit("part.yaml", part_text);
    scene = ctn_scene_load("scene.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    model = ctn_model_create(scene, &err);
    ck_assert_msg(model != NULL, "%s", err.message);
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.worlds = WORLDS;
    batch = ctn_batch_create(model, &cfg, &err);
    nq = ctn_model_nq(model), nv = ctn_model_nv(model), nlink = ctn_model_nlink(model);
    ck_assert_int_eq(nq, 1 + 7 + 4 + 2 + 3);
    ck_assert_int_eq(nv, 1 + 6 + 3 + 2 + 3);
    // the worlds differ
    double *const v0 = calloc(WORLDS * (size_t)nv, sizeof *v0), *const q0 = calloc(WORLDS * (size_t)nq, sizeof *q0);
    ctn_batch_state(batch, q0, v0);
    for (int k = 0; k < WORLDS * nv; k++) v0[k] += 0.1 * k;
    ck_assert_int_eq(ctn_batch_set_state(batch, q0, v0, 0.5, &err), CTN_OK);
    free(v0), free(q0);
}

void close_recorded(void)
{
    ctn_batch_free(batch), ctn_model_free(model), ctn_scene_free(scene);
    leave_scratch();
}

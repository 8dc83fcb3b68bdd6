/// What environments (catena/environments.h) are told and what they say, as a scene and its model have it.
#ifndef CATENA_CONTROL_ENVIRONMENT_SPACES_H
#define CATENA_CONTROL_ENVIRONMENT_SPACES_H

#include "sim/model/controller.h"
#include "sim/scene/scene.h"

#include <catena/model.h>

enum { SPACE_NAME = 80 };  // bytes of a name; longer ones are cut

typedef struct environment_spaces {
    int actions, observations;
    int *target;                 // [actions], which of all targets
    double (*action_bounds)[2];  // [actions]
    char (*action_names)[SPACE_NAME];
    bool sensed;                    // observations are of sensors; else q, then v
    int *number;                    // [observations - clock], which of all numbers of sensors, or of q and v
    double *scale;                  // likewise, that it is divided by
    const model_controller *clock;  // whose clock the last observations are; NULL: none
    double (*observation_bounds)[2];
    char (*observation_names)[SPACE_NAME];
} environment_spaces;

/// CTN_BAD_SCENE where there is nothing to be told, CTN_NO_MEMORY. environment_spaces_close is due in any case; `m` must outlive
/// it.
ctn_status environment_spaces_open(environment_spaces *s, const ctn_scene *scene, const ctn_model *m, ctn_error *err);
void environment_spaces_close(environment_spaces *s);

/// Writes an observation of what sensors say [numbers], or of q and v, at `time` s of an episode.
void environment_observe(const environment_spaces *s, const ctn_model *m, const double *sensed, const double *q, const double *v,
                         double time, double *observation);

#endif

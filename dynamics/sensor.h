/// Sensors as kernels read them: built by sim/model/sensors.c, evaluated by forces/sensors.h.
#ifndef CATENA_DYNAMICS_SENSOR_H
#define CATENA_DYNAMICS_SENSOR_H

#include <catena/sensors.h>

/// What must be known before a sensor can be read.
enum sensor_need {
    SENSOR_FORCES = 1,         // forces along joints
    SENSOR_ACCELERATIONS = 2,  // accelerations of joints and bodies, and so forces
    SENSOR_SPRINGS = 4,        // energy of springs
    SENSOR_CONTACTS = 8,       // what contact points feel
    SENSOR_REACTIONS = 16,     // what acts on bodies, and their accelerations
    SENSOR_BONDS = 32,         // of a loop, a coupling or a tendon: its forces in the step made last, its length
};

typedef struct model_sensor {
    ctn_sensor about;
    unsigned needs;
    int qadr, nq, vadr, nv;    // of its joint: what it reads of q, and of v
    int motor;                 // -1: none
    int bond;                  // of the model's; of an effort on a tendon, too; -1: none
    int body, to_body;         // -1: the world
    double R[9], p[3];         // its frame in that of its body, row-major
    double to_p[3];            // the other point, in the frame of to_body
    int first_body, end_body;  // of a tree; of all links it has those that are fixed to the world, too
    bool whole;
    // of a reaction: what the joint carries, these bodies and the loads on these links; of a link that is fixed also a part of its
    // body
    const bool *carries_body, *carries_link;  // [nbody], [nlink]; NULL: of another type
    double part_mass, part_h[3], part_I[6];   // kg, kg m, kg m^2: about the origin of the body, in its frame
} model_sensor;

#endif

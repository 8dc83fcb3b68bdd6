/// What the files of cables share: a cable as it is read, and its far end.
#ifndef CATENA_SIM_CABLE_END_H
#define CATENA_SIM_CABLE_END_H

#include "sim/scene/scene_reader.h"

/// How an end is held. The far one is free where nothing says otherwise.
typedef enum cable_hold { HOLD_CLAMPED, HOLD_HINGED, HOLD_FREE, CABLE_HOLDS } cable_hold;
extern const char *const cable_hold_names[CABLE_HOLDS];

/// The far end: where it is held, in the frame in which the cable starts (as it is read: in that of the cable's parent, where it is
/// `placed` or `turned` at all), and how stiffly, N/m.
typedef struct cable_end {
    cable_hold hold;
    bool placed, turned;
    double position[3], rotation[4], stiffness;
    scene_place at;
} cable_end;

struct held_end {
    cable_end end;
    int first, last;                      // links; the first is where the cable starts
    double length, bend, twist, damping;  // of a link, m; N m/rad, of a clamp; s
    int file;
};

typedef struct cable {
    int links;
    double length, radius, density;
    double young, shear;  // Pa; shear NAN: it does not twist
    double damping;       // s, dampers over stiffness: so fast a bend would straighten without mass
    cable_hold start;
    cable_end end;
    double color[3];
    scene_place at[STIFF_KEYS];  // of what makes its joints stiff
} cable;

bool read_cable_hold(source *s, const node *n, cable_hold *hold);

/// Reads `end` of a cable whose numbers are known.
bool read_cable_end(source *s, const node *n, cable *c);

/// The place of the start is known, in the frame of the parent: the end is from there on.
void place_cable_end(cable *c, const double position[3], const double rotation[4]);

/// Whether the joints of the cable that bend are balls; else they are universal, about y and then z. And whether it twists.
bool bends_by_balls(const cable *c);
bool cable_twists(const cable *c);

/// Coordinates of a link's joints: a quaternion, or two angles; and of the hinge behind it.
typedef struct cable_joint {
    double bend[4], twist;
} cable_joint;

/// How the links of a cable lie at first, so that it leads to its end in the direction of the clamps; without clamps in an arc that
/// sags. cable_shape.c. n: what says where the end is; rotation: of the start. joint [links]. False: an error, or no memory.
bool shape_cable(source *s, const node *n, const cable *c, const double rotation[4], cable_joint *joint);

/// Turns q as such joints do.
void turn_cable(const cable *c, const cable_joint *joint, double q[4]);

/// Notes that the cable of these links has an end that is to be held: hold_cable_ends(), when all links of the scene are known.
bool note_cable_end(source *s, const cable *c, const cable_joint *first_joint, int first, int last);

#endif

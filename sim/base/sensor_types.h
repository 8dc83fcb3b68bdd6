/// The types of sensors (catena/sensors.h): their names, what they are of, and what their numbers are.
#ifndef CATENA_SIM_SENSOR_TYPES_H
#define CATENA_SIM_SENSOR_TYPES_H

#include "dynamics/sensor.h"

typedef enum sensor_of {
    SENSOR_OF_JOINT,  // as many numbers as the joint has
    SENSOR_OF_MOTOR,  // of a degree of freedom, or of a ball
    SENSOR_OF_FRAME,
    SENSOR_OF_POINT,  // of a frame, whose axes do not matter
    SENSOR_OF_AXES,   // of a frame, whose point does not matter
    SENSOR_OF_BODY,   // of a link: neither matters
    SENSOR_OF_PAIR,   // of two points; the axes do not matter
    SENSOR_OF_PAIR_IN_AXES,
    SENSOR_OF_CONTACT,  // of contact points of a link, near a point
    SENSOR_OF_TREE,
    SENSOR_OF_ALL,
    SENSOR_OF_LOOP,
    SENSOR_OF_COUPLING,
    SENSOR_OF_TENDON,
} sensor_of;

typedef struct sensor_type {
    const char *name;
    sensor_of of;
    int count;                       // of numbers; 0: by the joint
    const char *parts;               // their names, with spaces between; "": one number
    const char *unit, *second_unit;  // of the first ones, and of those from `second` on
    int second;
    unsigned needs;  // sensor_need
} sensor_type;

enum { SENSOR_TYPES = CTN_SENSE_TENDON_FORCE + 1 };
extern const sensor_type sensor_types[SENSOR_TYPES];

/// Where among the numbers of a type a quaternion begins; -1: it has none. Of joints: sim/model/sensors.c.
int sensor_type_quaternion(ctn_sensor_type type);

#endif

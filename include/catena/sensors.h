/// Sensors: what a scene's `sensors` measure on each world of a batch, and at given states. (docs/scene.md, Sensors)
#ifndef CATENA_SENSORS_H
#define CATENA_SENSORS_H

#include <catena/batch.h>
#include <catena/dynamics.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a sensor measures. Unless it says otherwise, in world axes. "Of the point": of `point` on its link, in its own axes where
/// it says so.
typedef enum ctn_sensor_type {
    // of the joint of its link: of all its coordinates or degrees of freedom, or of one
    CTN_SENSE_JOINT_POSITION,      // rad, m, quaternion of a ball: as q
    CTN_SENSE_JOINT_VELOCITY,      // rad/s, m/s: as v
    CTN_SENSE_JOINT_ACCELERATION,  // rad/s^2, m/s^2
    CTN_SENSE_JOINT_FORCE,         // N m, N: joint force, motor, spring, damper and limits together
    CTN_SENSE_MOTOR_EFFORT,        // N m, N: of its motor, on the motor's side of the gear; or of a thruster on a link
    // of a frame on its link
    CTN_SENSE_POSITION,              // m, of the point
    CTN_SENSE_ORIENTATION,           // unit quaternion w x y z, w >= 0
    CTN_SENSE_POSE,                  // both
    CTN_SENSE_VELOCITY,              // m/s, of the point
    CTN_SENSE_ANGULAR_VELOCITY,      // rad/s
    CTN_SENSE_TWIST,                 // angular velocity, velocity of the point
    CTN_SENSE_ACCELERATION,          // m/s^2, of the point; gravity is not taken off
    CTN_SENSE_ANGULAR_ACCELERATION,  // rad/s^2
    CTN_SENSE_ACCELEROMETER,         // m/s^2, acceleration of the point less gravity, own axes
    CTN_SENSE_GYRO,                  // rad/s, angular velocity, own axes
    CTN_SENSE_IMU,                   // accelerometer, then gyro
    CTN_SENSE_VELOCIMETER,           // m/s, velocity of the point, own axes
    // of two points
    CTN_SENSE_DISTANCE,           // m
    CTN_SENSE_RELATIVE_POSITION,  // m, from the point to the other one, own axes
    // of all links, or of its link and all that hangs on it
    CTN_SENSE_COM,               // m, centre of mass
    CTN_SENSE_COM_VELOCITY,      // m/s
    CTN_SENSE_COM_ACCELERATION,  // m/s^2
    CTN_SENSE_LINEAR_MOMENTUM,   // kg m/s
    CTN_SENSE_ANGULAR_MOMENTUM,  // kg m^2/s, about the centre of mass
    CTN_SENSE_MOMENTUM,          // both, the angular one first: centroidal momentum
    CTN_SENSE_KINETIC_ENERGY,    // J, rotors included
    CTN_SENSE_POTENTIAL_ENERGY,  // J, of gravity, zero at the world origin
    CTN_SENSE_ENERGY,            // J, kinetic + potential + springs; of all links only
    // of the contact points of its link: of all, or of those whose places are within `radius` of the point
    CTN_SENSE_TOUCH,          // N, their normal forces together
    CTN_SENSE_CONTACT_FORCE,  // N, the force of the ground, normal and friction
    // of what holds its link, a joint or what the link is fixed to: all that goes through it, own axes
    CTN_SENSE_REACTION_FORCE,   // N, on the link
    CTN_SENSE_REACTION_TORQUE,  // N m, likewise, about the point
    CTN_SENSE_REACTION,         // both, the torque first
    // of a loop: what it puts on its link `a`, as of the step made last; 0 before the first one
    CTN_SENSE_LOOP_FORCE,   // N, at its point on `a`
    CTN_SENSE_LOOP_TORQUE,  // N m, about that point
    CTN_SENSE_LOOP_WRENCH,  // both, the torque first
    // of a coupling, likewise
    CTN_SENSE_COUPLING_FORCE,  // N m, N: on the joint that follows
    // of a tendon
    CTN_SENSE_TENDON_LENGTH,    // m
    CTN_SENSE_TENDON_VELOCITY,  // m/s, of its length
    CTN_SENSE_TENDON_FORCE,     // N: spring, damper, stops and motor together; below 0 it pulls
} ctn_sensor_type;

enum { CTN_SENSOR_NUMBERS = 7 };  // of one sensor, at most

/// A sensor of a model.
typedef struct ctn_sensor {
    const char *name;  // owned by the model
    ctn_sensor_type type;
    int link;                          // -1: of all links
    int dof;                           // of a joint: which of its degrees of freedom, -1: all; of a thruster: which of the link's
    double point[3];                   // m, link frame
    double axes[4];                    // its own axes in those of the link, unit quaternion w x y z
    int to_link;                       // of two points: where the other one is, -1: the world
    double to_point[3];                // m, in the frame of that link
    double radius;                     // m, of sensors of contact: how far from the point; 0: all contact points of the link
    double noise[CTN_SENSOR_NUMBERS];  // standard deviation of each number; of a quaternion three, of turns about own axes (rad)
    double delay;                      // s
    const char *bond;                  // the name of its loop, coupling or tendon, owned by the model; NULL: of another type
    int first, count;                  // its numbers among those of all sensors
} ctn_sensor;

/// Names as in scene files ("accelerometer"); NULL for a type out of range.
CTN_API const char *ctn_sensor_type_name(ctn_sensor_type type);

CTN_API int ctn_model_nsensor(const ctn_model *model);         // sensors of the scene
CTN_API int ctn_model_sensor_numbers(const ctn_model *model);  // of all sensors together

/// Sensor `sensor` in 0 .. nsensor-1, or NULL outside. Valid as long as the model.
CTN_API const ctn_sensor *ctn_model_sensor(const ctn_model *model, int sensor);

/// The sensor called `name`, or -1.
CTN_API int ctn_model_find_sensor(const ctn_model *model, const char *name);

/// What all sensors of the model measure at given states, without noise and delay: values [count][numbers], in the order of the
/// scene. q, v, tau as for ctn_aba: accelerations and joint forces are those under tau [count][nv] (NULL: none) and all that acts
/// by itself, but for dry friction and contact, which go by what a world remembers; sensors of contact say what depth and its
/// rate alone ask for, and loops and couplings have no force. Nothing is written for a `count` below 1, or without sensors.
CTN_API void ctn_sensors(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *tau, double *values);

/// Gradients of a scalar, given its gradients by what ctn_sensors measures: from by_values [count][numbers] into by_q, by_v
/// [count][nv], by q in tangent coordinates (catena/derivatives.h); each may be NULL. By the types joint_position,
/// joint_velocity, position, orientation, pose, velocity, angular_velocity, twist, gyro, velocimeter, distance,
/// relative_position, com, com_velocity, tendon_length and tendon_velocity; what by_values has for sensors of other types is not
/// looked at (ctn_sensors_have_gradients). Analytic, without noise and delay. A distance of 0 has the gradient 0. O(links) a leaf
/// of the tree, for leaves whose numbers are used: sensors with by_values 0 cost nothing. Every engine and every `count` gives the
/// same bits; nothing is written for a `count` below 1. [docs/derivatives.md, Sensors]
CTN_API void ctn_sensors_gradient(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *by_values,
                                  double *by_q, double *by_v);

/// Whether ctn_sensors_gradient knows the sensors that have these numbers, `used` [count], each in 0 .. numbers-1 of all sensors
/// together; NULL: of all sensors. CTN_UNAVAILABLE names the first sensor that it does not know, and its type; CTN_BAD_ARGUMENT
/// for a number outside.
CTN_API ctn_status ctn_sensors_have_gradients(const ctn_model *model, const int *used, int count, ctn_error *err);

/// What the sensors of all worlds of a batch say now, with noise and delay: values [worlds][numbers]. Accelerations and joint
/// forces are those under the joint forces of the step made last; before the first one, under those of ctn_batch_set_force.
/// Wrenches and parameters of worlds count. Noise depends on the seed, the world's number, the sensor and the time alone
/// (ctn_batch_number_worlds), so that what is read twice is the same. Returns CTN_BAD_ARGUMENT for a NULL.
CTN_API ctn_status ctn_batch_sensors(ctn_batch *batch, double *values, ctn_error *err);

/// What noise is drawn by from now on: a seed, and the number of the batch's first world, with the others in a row. Worlds of the
/// same number and seed have the same noise in every batch. Before the first call both are 0. A part of saved states, which
/// ctn_batch_set_state leaves as it is.
CTN_API void ctn_batch_number_worlds(ctn_batch *batch, uint64_t seed, int64_t first);

#ifdef __cplusplus
}
#endif
#endif

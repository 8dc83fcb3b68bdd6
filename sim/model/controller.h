/// A scene's `controller`: what it tells the motors of a model, as a function of its parameters, time, and what sensors say.
///
/// With n numbers that are told, each in the middle m of its range and half of that, r, to both sides, and the parameters p:
///
/// | sinusoids | u = a + ramp b sin(2 pi (f t + c));    p: f, then a, b, c of each number: a centre, an amplitude, cycles |
/// | spline    | u = m + ramp (B(t) - m), a uniform cubic B-spline through time, periodic, or played once from rest at the first
/// |           | control point to rest at the last one, which is held;    p: `knots` control points each |
/// | gait      | u = a + ramp (b stride(r) + c lift(r)), r what is left of f t + phase of its leg, the waves those of `gaits`; p: f, the
/// |           | duty, phases of all legs but the first one where they are not given, then a, b, c of each joint of a leg |
/// | linear    | u = m + r (b + W y),    y what sensors say, over their scales, then the clock;    p: b and a row of W each |
/// | tanh      | u = m + r tanh(b + W x), x = tanh of likewise of the layer before it, or y;    p: of the first layer on, likewise |
///
/// Targets stay until they are told anew, `every` so many seconds of the world's time.
#ifndef CATENA_SIM_CONTROLLER_H
#define CATENA_SIM_CONTROLLER_H

#include "dynamics/model.h"
#include "sim/model/network.h"
#include "sim/scene/scene.h"

typedef struct model_controller {
    controller_type type;
    int outputs, inputs, count;  // numbers that are told, that it goes by, and of its parameters
    int sensors;                 // of the inputs, the first ones; then come those of the clock
    int *target;                 // [outputs], which of all targets
    double (*range)[2];          // [outputs]
    int *sensed;                 // [sensors], which number of all sensors
    double *scale;               // [sensors]
    double clock;                // Hz; 0: there is none
    network net;                 // of inputs and outputs
    int legs, *leg, *joint;      // of a gait: [outputs], which of the legs, and which of a leg's numbers
    double *sign, *phases;       // [outputs] -1: mirrored; [legs], NULL: they are looked for
    int knots;
    bool once;                   // of a spline: `period` is how long it lasts, and then it is held
    double period, ramp, every;  // s; every 0: before each step
    int plan_rows, plan_width;   // of a plan: rows of s, targets, and where it feeds back q, v and gains [outputs][gains]
    bool feeds;
    int gains;            // numbers of q and v that a target goes by, and then of what was told last
    double *plan;         // [plan_rows][plan_width]
    double *start;        // [count], its parameters
    double (*bounds)[2];  // [count], within which they are looked for; infinite: anywhere
    double *sigma;        // [count], how far from the start they are looked for at first
} model_controller;

/// Compiles the scene's, when motors and sensors are known. m->controller: NULL, there is none. false: no memory.
bool compile_controller(ctn_model *m, const ctn_scene *scene);
void free_controller_of(ctn_model *m);

enum { CLOCK_NUMBERS = 2 };  // that a clock says: sine and cosine of its turns

#endif

/// A scene to search for a controller of, and parts of it.
#ifndef CATENA_TESTS_SLIDER_H
#define CATENA_TESTS_SLIDER_H

/// A slider on a servo, that is to be at 0.3 m in the end, and to have gone there with little effort.
#define SLIDER                                                                                                                   \
    "catena: 1\ngravity: [0, 0, 0]\nlinks:\n"                                                                                    \
    "  - {name: a, joint: {type: prismatic, axis: [1, 0, 0], damping: 1}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"               \
    "motors: [{joint: a, type: position, kp: 50, kd: 10}]\n"                                                                     \
    "integrator: {method: radau, dt: 0.02}\nduration: 1\n"
#define SPLINE "controller: {type: spline, knots: 3, period: 4, range: [-1, 1], every: 0.04}\n"
#define REACH "reward: [{term: reach, link: a, target: [0.3, 0, 0], weight: -1}]\n"
#define SAMPLED "sample: {v: {a: {normal: [0, 0.3]}}, parameters: {mass_scale: {a: {uniform: [0.8, 1.2]}}}}\n"

#endif

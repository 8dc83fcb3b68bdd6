/// Random scenes for property tests: forests of every joint type, written as YAML, so that the reader is tested along the way.
#ifndef CATENA_TESTS_RANDOM_SCENE_H
#define CATENA_TESTS_RANDOM_SCENE_H

#include <catena/catena.h>
#include <stdbool.h>
#include <stdint.h>

/// splitmix64: the same numbers everywhere for a seed.
typedef struct {
    uint64_t state;
} rng;

uint64_t rng_next(rng *r);
double rng_uniform(rng *r, double lo, double hi);
int rng_below(rng *r, int n);
void rng_quaternion(rng *r, double *q);

typedef struct {
    int links;      // number of links
    bool floating;  // every tree starts with a free joint, and no other link hangs on the world
    bool passive;   // dampers, springs, armature, limits
    bool free_armature;  // that of passive, of free joints, too
    bool chain;     // every link hangs on the one before
    bool no_gravity;
    bool conservative;  // no dampers even if passive
    bool smooth;        // no limits even if passive
    bool plain_limits;  // limits do not say how stiff and how damped they are
    int springs;        // to points of the world; with more than one there is a force on a point, too
    bool plain_springs;  // without dampers
    int wrenches;        // forces and torques on points, every other one in the axes of its link
    int motors;          // of all types, on as many degrees of freedom; with plain_springs or conservative none has kd
    bool moving;         // what they are told moves with time, in every way that there is
    bool winding;        // servos among them have integral terms, but where none has kd
    bool speeds;         // those that have an effort have a limit of their speed, on joints of one degree of freedom
    bool fluid;          // a current that floats and brakes links, along and across the axes of capsules; one link by its surface
    bool stream;  // with `fluid`: the current varies with the height, drag goes by the square in every other scene, and some
                  // of the fluid goes along with links
    bool friction;       // dry, of every other joint that can have it
    bool ground;         // a slope that cuts through them all, with a capsule or a ball on every link to touch it
    unsigned joints;    // bit set of ctn_joint_type to draw from; 0: all
    double shift[3];    // the world is moved: by this ...
    double turn[4];     // ... after this rotation (unit quaternion w x y z; all zero: none)
    bool reverse;       // siblings in another order, links renamed
} random_options;

/// Forests for orders and errors: four links with all that acts and nothing that hits, with other loads from seed to seed.
static inline random_options loaded_forest(uint64_t seed)
{
    return (random_options){.links = 4, .passive = true, .smooth = true, .free_armature = seed % 2, .springs = (int)(seed % 3), .wrenches = (int)(seed % 4)};
}

/// A scene text of `seed`; the caller frees it.
char *random_scene(uint64_t seed, const random_options *options);

/// The model of random_scene; aborts the test with the seed and the message if it cannot be made.
ctn_model *random_model(uint64_t seed, const random_options *options);

/// A random state of a model: angles within 2.5 rad, metres within 0.5, unit quaternions.
void random_state(const ctn_model *m, rng *r, double *q, double *v);

/// Seeds of a test that counts what it meets: CTN_SEED alone if set, else `count` from 1 on.
#define FOR_ALL_SEEDS(seed, count)                                                                                               \
    for (uint64_t seed = getenv("CTN_SEED") ? strtoull(getenv("CTN_SEED"), NULL, 10) : 1,                                        \
                  last_##seed = getenv("CTN_SEED") ? seed : (uint64_t)(count);                                                   \
         seed <= last_##seed; seed++)

/// Seeds of a property test, of which sanitizers try a sixth, of few a third: what is wrong with memory shows in these, too.
#define FOR_SEEDS(seed, count) FOR_ALL_SEEDS(seed, SEEDS_TRIED(count))
#ifdef __SANITIZE_ADDRESS__
#define SEEDS_TRIED(count) ((count) > 12 ? ((count) + 5) / 6 : ((count) + 2) / 3)
#else
#define SEEDS_TRIED(count) (count)
#endif

#endif

/// Quantities of the worlds of a batch that recordings and rollouts keep, under the names that their files give them.
#ifndef CATENA_SIM_QUANTITIES_H
#define CATENA_SIM_QUANTITIES_H

#include <catena/batch.h>
#include <catena/contact.h>
#include <catena/dynamics.h>
#include <catena/sensors.h>

/// What to keep, a sum of these. KEEP_ENERGY: of q and v, by kind. KEEP_SENSORS, KEEP_CONTACTS: nothing for models
/// without.
enum { KEEP_Q = 1, KEEP_V = 2, KEEP_ENERGY = 4, KEEP_POSE = 8, KEEP_SENSORS = 16, KEEP_CONTACTS = 32, KEEP_ALL = 63 };

#define CONTACTS_UNIT "m, N, m, 1, N m"
#define CONTACTS_ABOUT "contact points: place x y z, force of the ground x y z, depth, 0 apart 1 sticks 2 slides, torque x y z"

enum {
    POSE_NUMBERS = 7,  // position x y z (m), quaternion w x y z, w >= 0; as q of a free joint
    QUANTITIES = 9,    // at most
    QUANTITY_RANK = 2,
};

/// One of them: `width` numbers a world, in `rank` dimensions.
typedef struct quantity {
    const char *name, *unit, *about;  // name: "q", "energy/kinetic"
    int rank, dims[QUANTITY_RANK];
    size_t width;
    double *now;  // [worlds][width]
} quantity;

typedef struct quantities {
    quantity list[QUANTITIES];
    int count;
    ctn_batch *batch;
    int worlds, nlink;
    ctn_dynamics *dyn;
    double *q, *v;         // [worlds][nq], [worlds][nv]
    double *R, *p, *pose;  // [worlds][nlink][9], [3], [POSE_NUMBERS]; NULL: not kept
    ctn_totals *totals;    // [worlds]; NULL: energies are not kept
    double *sensors;       // [worlds][numbers]; NULL: not kept, or there are none
    double *contacts;      // [worlds][ncontact][CTN_CONTACT_NUMBERS], likewise
    double *energy;        // [4][worlds], in the order of `list`: kinetic, potential, spring, and their sum; J
} quantities;

/// Allocates all that is needed for those in `keep` of all worlds of a batch, which must outlive it. quantities_close is due in
/// any case. CTN_NO_MEMORY.
ctn_status quantities_open(quantities *x, ctn_batch *batch, unsigned keep, ctn_error *err);
void quantities_close(quantities *x);

/// Numbers of one world in all of those in `keep` together.
size_t quantities_width(const ctn_model *model, unsigned keep);

/// Computes them for the states of the batch as they are now.
void quantities_update(quantities *x);

/// Reads a list like "q,v,energy". CTN_BAD_ARGUMENT with what is allowed.
ctn_status keep_from_text(const char *text, unsigned *keep, ctn_error *err);

/// The same list in the order of the constants, into `text`.
enum { KEEP_TEXT = 48 };
void keep_to_text(unsigned keep, char text[KEEP_TEXT]);

#endif

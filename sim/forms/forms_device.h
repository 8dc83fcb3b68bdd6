/// A tree on a device, and the forms that are computed there: scan RNEA, CRBA and JSIIA by sums in one common frame. States and
/// results go there and back with each call. (docs/scans.md)
#ifndef CATENA_SIM_FORMS_FORMS_DEVICE_H
#define CATENA_SIM_FORMS_FORMS_DEVICE_H

#include "sim/forms/pieces.h"

#include <stdint.h>

typedef struct forms_there forms_there;

/// A device's functions for forms. Arrays are the caller's, in the CPU's memory, as the public calls of these names have them.
/// CTN_NO_MEMORY: the device has not so much; CTN_UNAVAILABLE: it has failed, and the tree on it is lost.
typedef struct forms_device {
    uint64_t layout;  // FORMS_LAYOUT of the sources that it was built from
    // both must outlive it
    forms_there *(*open)(const ctn_tree *tree, const pieces *cut, ctn_error *err);
    void (*close)(forms_there *there);
    size_t (*bytes)(const forms_there *there);  // of the device's memory
    ctn_status (*rootfix)(forms_there *there, const double *x, double *y, ctn_error *err);
    ctn_status (*leaffix)(forms_there *there, const double *x, double *y, ctn_error *err);
    ctn_status (*twists)(forms_there *there, ctn_origin origin, const double *q, const double *v, double *twist, ctn_error *err);
    ctn_status (*rnea)(forms_there *there, ctn_origin origin, int count, const double *q, const double *v, const double *a,
                       double *tau, ctn_error *err);
    // composites of a state, then rows of its inertia [rows][n] as often as wanted
    ctn_status (*crba_begin)(forms_there *there, ctn_origin origin, const double *q, ctn_error *err);
    ctn_status (*crba_rows)(forms_there *there, int first, int rows, double *H, ctn_error *err);
    // *row: 0, or from 1 the first row of the inertia of the first state that is not positive; qdd is then not set
    ctn_status (*jsiia)(forms_there *there, ctn_origin origin, int count, const double *q, const double *v, const double *tau,
                        double *qdd, int *row, ctn_error *err);
    // fault [count]: whether the state is left to the recursion, as a product would lose digits, or a joint has no inertia
    ctn_status (*star)(forms_there *there, int count, const double *q, const double *v, const double *tau, double *qdd,
                       int *fault, ctn_error *err);
} forms_device;

#define FORMS_LAYOUT                                                                                                             \
    ((uint64_t)sizeof(tree_link) + 1000 * (sizeof(ctn_tree) + 1000 * (sizeof(pieces) + 1000 * sizeof(forms_device))))

/// Links in a piece of a path there. A product of pieces costs as much as some 3 links, but every piece has a thread.
enum { PIECE_THERE = 16 };

/// Forward dynamics of `count` states there, by a form that it has.
ctn_status forms_forward_there(ctn_forms *f, ctn_forward form, int count, const double *q, const double *v, const double *tau,
                               double *qdd, ctn_error *err);

/// Whether the forms are on a device which has not what `call` was asked for; `err` then says so. `there`: it has.
bool forms_refused(const ctn_forms *f, const char *call, bool there, ctn_error *err);

#endif

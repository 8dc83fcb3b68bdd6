/// States to evaluate, read from JSON.
#ifndef CATENA_CLI_STATES_H
#define CATENA_CLI_STATES_H

#include <catena/model.h>

/// Flat arrays, one row a state. Quaternions in q have unit length; given [count][nq] is q as it was written.
typedef struct states {
    int count;
    double *given, *q;    // [count][nq]
    double *v, *a, *tau;  // [count][nv], zero where not given
} states;

/// Reads `path` ("-": standard input): an object with a list `states`, or the list alone, of objects with q and, if not zero,
/// v, a and tau_ext. Returns an exit status, with all errors printed, up to a limit.
int states_read(const char *path, const ctn_model *model, states *s);
void states_free(states *s);

/// The fields that `catena eval` writes for a state, ending with NULL. In its input they are passed over.
extern const char *const state_outputs[];

#endif

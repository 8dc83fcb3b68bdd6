/// Worlds as the `sample` section of a scene draws them, put into a batch.
#ifndef CATENA_CLI_SAMPLED_H
#define CATENA_CLI_SAMPLED_H

#include "cli/setup.h"
#include "cli/starts.h"

typedef struct sampled {
    ctn_parameter *parameters;     // that worlds have of their own
    double *q, *v, *tau, *values;  // of the worlds drawn last: [n][nq], [n][nv], joint forces [n][nv], [n][parameters]
} sampled;

/// Room for `worlds` worlds; `s->cfg` names the parameters that they have of their own, until sampled_close. Returns an exit status;
/// sampled_close is due in any case.
int sampled_open(sampled *x, setup *s, int worlds);
void sampled_close(sampled *x);

/// Puts worlds first .. first + count - 1 of `all`, drawn with `seed`, at the beginning of `batch`, which has `count`; from `starts`, if it is not
/// NULL, their q and v. Returns an exit status.
int sampled_start(sampled *x, const setup *s, uint64_t seed, int64_t all, int64_t first, int count, starts *from,
                  ctn_batch *batch);

#endif

/// Which bodies position-based methods see from frames that turn with them.
#ifndef CATENA_SIM_SPINNING_H
#define CATENA_SIM_SPINNING_H

#include "dynamics/model.h"

/// Whether a mass with the first moment h and the second moment S (xx yy zz xy xz yz) lies alike about this axis, to nine digits.
bool lies_alike(double mass, const double h[3], const double S[6], const double axis[3]);

/// Finds them (integrators/turning_frame.h), after all that the bodies of `m` are made of and what acts on them; anew, if it is asked again. False: no memory.
bool find_spinning(ctn_model *m);

#endif

/// Errors of the HDF5 library: noted for our messages, and not printed.
#ifndef CATENA_SIM_HDF5_ERRORS_H
#define CATENA_SIM_HDF5_ERRORS_H

#include <hdf5.h>

/// Between hdf5_quiet() and hdf5_loud() the first failure is noted in `reason`; the program's own handler stands aside.
typedef struct hdf5_errors {
    char reason[200];  // "": none
    H5E_auto2_t before;
    void *before_data;
} hdf5_errors;

void hdf5_quiet(hdf5_errors *e);
void hdf5_loud(const hdf5_errors *e);

#endif

/// Errors of the HDF5 library: noted for our messages, and not printed.
#ifndef CATENA_SIM_HDF5_ERRORS_H
#define CATENA_SIM_HDF5_ERRORS_H

#include <catena/status.h>
#include <hdf5.h>

/// Between hdf5_quiet() and hdf5_loud() the first failure is noted in `reason`; the program's own handler stands aside.
typedef struct hdf5_errors {
    char reason[200];  // "": none
    H5E_auto2_t before;
    void *before_data;
} hdf5_errors;

void hdf5_quiet(hdf5_errors *e);
void hdf5_loud(const hdf5_errors *e);

/// Before all else that has to do with HDF5, in a program that closes all its files: at its end HDF5 leaves alone what it could
/// not close of damaged ones; else it says so, at length.
void hdf5_end_quietly(void);

/// What to do about a file that is damaged, in its message.
#define HDF5_REMEDY "take another copy of it, or make it again"

/// CTN_IO: dataset `name` of a file is damaged, as `e` says, with the remedy.
ctn_status hdf5_damaged(const hdf5_errors *e, const char *path, const char *name, ctn_error *err);

#endif

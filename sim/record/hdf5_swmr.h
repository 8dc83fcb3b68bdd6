/// An HDF5 file that is written while others read it, and that survives its writer.
///
/// It is written in HDF5's SWMR mode (single writer, multiple readers), in which the order of writes keeps it sound at any time:
/// a program that is killed leaves a file that opens, with all that was there at the last flush. New objects and attributes are
/// not allowed in this mode, so all are made between swmr_create and swmr_start. sim/record/hdf5_superblock.c opens the file to
/// ordinary readers too.
///
/// Room on the disk is reserved before HDF5 is given anything to write. A full disk is so an error at a moment when the file is
/// whole and can be closed; HDF5 itself, once it holds what it cannot write, never gets rid of it.
#ifndef CATENA_SIM_HDF5_SWMR_H
#define CATENA_SIM_HDF5_SWMR_H

#include "sim/record/hdf5_errors.h"

#include <catena/status.h>
#include <stdbool.h>

typedef struct swmr_file {
    char *name, *path;  // as it is to be called, and is in messages; where it is now
    hid_t id;           // -1: none
    int fd;             // the same file, for its superblock, its lock and its room; -1: none
    haddr_t end;        // of the file after the last flush
    size_t unflushed;   // bytes given to HDF5 since then: counted by those who write them
    hdf5_errors errors;
} swmr_file;

/// A file called `path`, not opened yet; swmr_free is due. False: no memory.
bool swmr_prepare(swmr_file *f, const char *path);

/// One that is to be called so, and is made beside that place (sim/base/new_file.h) until swmr_place; without that swmr_free
/// removes it.
bool swmr_prepare_new(swmr_file *f, const char *path);
void swmr_free(swmr_file *f);

/// Around calls of the functions below and into HDF5, whose first failure is noted meanwhile. swmr_end_call returns CTN_IO with
/// the file's name unless they were `ok`.
void swmr_call(swmr_file *f);
ctn_status swmr_end_call(swmr_file *f, bool ok, ctn_error *err);

/// Makes the file anew, or empties it, with room for the `head` bytes that come before swmr_start. Another program that has it,
/// or the one that it is to replace, open for writing, or reads it under a lock, is an error.
bool swmr_create(swmr_file *f, size_t head);

/// Opens a file that was written like this, whether its writer closed it or was killed; it is started then.
bool swmr_reopen(swmr_file *f);

/// From here on all objects are there, others may read, and the file survives us.
bool swmr_start(swmr_file *f);

/// Makes room for `more` bytes beyond those given to HDF5 already, and for the unused parts of chunks of `chunks` bytes, or says
/// why there is none. What is not used goes back with the next flush.
bool swmr_reserve(swmr_file *f, size_t more, size_t chunks);

/// Hands all to the operating system, in such a way that readers find the file sound whenever the program is killed.
bool swmr_flush(swmr_file *f);

/// Closes it, after all objects in it; false if that lost something. Not open: true.
bool swmr_close(swmr_file *f);

/// Puts a file of swmr_prepare_new into its place, after swmr_start or swmr_close; from then on it stays there. A file there is
/// replaced, unless another program has it open, which is an error. It is in its place: true.
bool swmr_place(swmr_file *f);

#endif

/// The one way in which HDF5 files are written here.
#include "sim/record/hdf5_swmr.h"

#include "sim/record/hdf5_open.h"
#include "sim/record/hdf5_superblock.h"
#include "sim/base/new_file.h"
#include "sim/base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/// False, with nothing to free: no memory.
static bool prepare(swmr_file *f, const char *name, char *made)
{
    *f = (swmr_file){.name = strdup(name), .path = made, .id = -1, .fd = -1};
    if (f->name && f->path) return true;
    free(f->name), free(f->path);
    return false;
}

bool swmr_prepare(swmr_file *f, const char *path) { return prepare(f, path, strdup(path)); }

bool swmr_prepare_new(swmr_file *f, const char *path) { return prepare(f, path, new_file_name(path)); }

static bool is_placed(const swmr_file *f) { return !strcmp(f->name, f->path); }

void swmr_free(swmr_file *f)
{
    if (f->fd >= 0 && !is_placed(f)) remove(f->path);  // without fd it is another program's
    if (f->fd >= 0) close(f->fd);
    free(f->name), free(f->path);
}

void swmr_call(swmr_file *f) { hdf5_quiet(&f->errors); }

ctn_status swmr_end_call(swmr_file *f, bool ok, ctn_error *err)
{
    hdf5_loud(&f->errors);
    if (ok) return CTN_OK;
    return fail(err, CTN_IO, "%s: cannot be written: %s", f->name,
                *f->errors.reason ? f->errors.reason : "unknown error of HDF5");
}

static bool failed(swmr_file *f, const char *reason)
{
    snprintf(f->errors.reason, sizeof f->errors.reason, "%s", reason);
    return false;
}

/// Whether f->fd is still the file of that name: who had it before may have renamed it.
static bool is_at_path(const swmr_file *f)
{
    struct stat here, there;
    return !fstat(f->fd, &here) && !stat(f->path, &there) && here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/// Opens the file at f->fd, -1 on failure, and locks it for us alone. Who reads it now may be about to let go: readers that wait
/// for the file look again and again.
static bool open_locked(swmr_file *f, int flags)
{
    const struct timespec pause = {0, 10000000};
    const char *reason = NULL;
    for (int tries = 100; !reason; tries--) {
        f->fd = open(f->path, O_RDWR | O_CLOEXEC | flags, 0666);
        if (f->fd < 0) return failed(f, strerror(errno));
        const bool locked =
            !flock(f->fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK;  // or there are no locks on this file system
        if (locked && is_at_path(f)) return true;
        close(f->fd);
        f->fd = -1;
        if (tries <= 1 || nanosleep(&pause, NULL)) reason = "another program has it open";
    }
    return failed(f, reason);
}

static hid_t access_list(void)
{
    const hid_t access = access_to_read();
    H5Pset_file_locking(access, 0, 1);                               // the lock is ours
    H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);  // the first format with SWMR, read by all since 1.10
    return access;
}

/// Whether the file may replace the one that is in its place, if there is one, as another program writes it or reads it under a
/// lock.
static bool may_replace(swmr_file *f)
{
    struct stat there;
    swmr_file old;
    if (is_placed(f) || stat(f->name, &there)) return true;
    if (!S_ISREG(there.st_mode)) return failed(f, S_ISDIR(there.st_mode) ? strerror(EISDIR) : "it is no regular file");
    if (!swmr_prepare(&old, f->name)) return failed(f, strerror(ENOMEM));
    const bool ok = open_locked(&old, 0) || failed(f, old.errors.reason);
    swmr_free(&old);
    return ok;
}

bool swmr_create(swmr_file *f, size_t head)
{
    struct stat before;
    if (!may_replace(f) || !open_locked(f, O_CREAT)) return false;
    if (ftruncate(f->fd, 0)) return failed(f, strerror(errno));
    if (!is_placed(f) && !stat(f->name, &before)) fchmod(f->fd, before.st_mode & 0777);
    int reason = make_room(f->fd, 0, head);  // HDF5 would find out too late
    if (reason) return failed(f, strerror(reason));
    const hid_t access = access_list();
    f->id = H5Fcreate(f->path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    if (f->id < 0) return false;
    reason = make_room(f->fd, 0, head);  // H5Fcreate gave it back
    return reason ? failed(f, strerror(reason)) : true;
}

/// Others may read, but not write: HDF5 has given up its lock.
static bool share(swmr_file *f)
{
    flock(f->fd, LOCK_SH | LOCK_NB);
    return swmr_flush(f);
}

bool swmr_start(swmr_file *f) { return H5Fstart_swmr_write(f->id) >= 0 && share(f); }

bool swmr_reopen(swmr_file *f)
{
    if (!open_locked(f, 0)) return false;
    // a killed writer may have left its mark, things beyond the end that it last told, and room behind them; in SWMR mode HDF5 writes
    // what it refers to before it does, so that nothing is missing of what lies beyond
    superblock_open_to_readers(f->fd, written_end(f->fd));
    const hid_t access = access_list();
    f->id = H5Fopen(f->path, H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE, access);
    H5Pclose(access);
    return f->id >= 0 && share(f);
}

bool swmr_reserve(swmr_file *f, size_t more, size_t chunks)
{
    // chunks are allocated whole; what else HDF5 writes, indices above all, is far less than the data
    const uint64_t data = f->unflushed + more, room = data + data / 4 + chunks + (1 << 20);
    const int reason = make_room(f->fd, f->end, room);
    if (reason) return failed(f, strerror(reason));
    superblock_open_to_readers(f->fd, 0);  // HDF5 may write before it is told to flush
    return true;
}

/// Before the flush starts, the superblock tells of all the room that was reserved for it, and of the right size afterwards.
bool swmr_flush(swmr_file *f)
{
    superblock_open_to_readers(f->fd, 0);
    if (H5Fflush(f->id, H5F_SCOPE_GLOBAL) < 0 || H5Fget_eoa(f->id, &f->end) < 0) return false;
    superblock_open_to_readers(f->fd, f->end);
    f->unflushed = 0;
    return true;
}

bool swmr_close(swmr_file *f)
{
    const bool ok = f->id < 0 || H5Fclose(f->id) >= 0;
    f->id = -1;
    return ok;
}

bool swmr_place(swmr_file *f)
{
    if (is_placed(f)) return true;
    char *const path = strdup(f->name);
    if (!path) return failed(f, strerror(ENOMEM));
    if (!may_replace(f) || (rename(f->path, path) && !failed(f, strerror(errno)))) {
        free(path);
        return false;
    }
    free(f->path);
    f->path = path;
    return true;
}

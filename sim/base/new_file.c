/// Files that replace others when they are whole.
#define _GNU_SOURCE  // asprintf
#include "sim/base/new_file.h"

#include "sim/base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static ctn_status cannot_write(const new_file *f, ctn_error *err)
{
    const char *const why = errno == ETXTBSY ? "another program is writing it" : strerror(errno ? errno : EIO);
    return fail(err, CTN_IO, "%s: cannot be written: %s", f->path, why);
}

char *new_file_name(const char *path)
{
    char *name;
    return asprintf(&name, "%s.new", path) < 0 ? NULL : name;
}

static void forget(new_file *f)
{
    free(f->path), free(f->made);
    *f = (new_file){0};
}

/// Whether the descriptor is still the file of that name: who had it before may have renamed it.
static bool is_at(int fd, const char *path)
{
    struct stat here, there;
    return !fstat(fd, &here) && !lstat(path, &there) && here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/// Opens the file that is made, for us alone: a lock keeps out others that make it, too. -1 and errno on failure.
static int open_made(const char *made)
{
    for (int tries = 10; tries; tries--) {
        const int fd = open(made, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd < 0) return -1;
        const bool locked = !flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK;  // or there are no locks on this file system
        if (locked && is_at(fd, made)) return fd;
        close(fd);
        errno = ETXTBSY;
        if (!locked) return -1;
    }
    return -1;
}

/// Whether the file in its place may be replaced; errno says why not. Who writes it has its lock.
static bool may_replace(const char *path)
{
    if (access(path, W_OK)) return false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool busy = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    if (fd >= 0) close(fd);
    if (busy) errno = ETXTBSY;
    return !busy;
}

ctn_status new_file_open(new_file *f, const char *path, ctn_error *err)
{
    struct stat before;
    const bool there = !stat(path, &before), regular = !there || S_ISREG(before.st_mode);
    *f = (new_file){.path = strdup(path), .made = regular ? new_file_name(path) : NULL};
    if (!f->path || (regular && !f->made)) return forget(f), fail(err, CTN_NO_MEMORY, "%s: not enough memory", path);
    int fd = -1;
    errno = 0;
    if (!regular) fd = open(path, O_WRONLY | O_CLOEXEC);
    else if (!there || may_replace(path)) fd = open_made(f->made);
    bool ok = fd >= 0 && (!regular || !ftruncate(fd, 0)) && (!regular || !there || !fchmod(fd, before.st_mode & 0777));
    ok = ok && (f->stream = fdopen(fd, "w"));
    if (ok) return CTN_OK;
    const ctn_status status = cannot_write(f, err);
    if (fd >= 0) close(fd);
    if (fd >= 0 && regular) remove(f->made);
    forget(f);
    return status;
}

ctn_status new_file_place(new_file *f, ctn_error *err)
{
    errno = 0;
    if (ferror(f->stream)) write(fileno(f->stream), "", 1);  // why something failed before, is only known by trying again
    if (fflush(f->stream) || ferror(f->stream) || (f->made && rename(f->made, f->path))) return cannot_write(f, err);
    free(f->made);
    f->made = NULL;
    return CTN_OK;
}

void new_file_leave(new_file *f)
{
    fclose(f->stream);
    forget(f);
}

ctn_status new_file_close(new_file *f, bool keep, ctn_error *err)
{
    if (!f->stream) return CTN_OK;
    ctn_status status = keep ? new_file_place(f, err) : CTN_OK;
    errno = 0;
    if (fclose(f->stream) && status == CTN_OK && keep) status = cannot_write(f, err);
    if (f->made) remove(f->made);
    forget(f);
    return status;
}

/// What every file goes through before anything in it is believed.
#define _GNU_SOURCE  // pipe2
#include "sim/record/hdf5_open.h"

#include "sim/base/clock.h"
#include "sim/record/hdf5_superblock.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// ---- opening

/// A reader of a file that is being written may come between two writes: HDF5 then finds a wrong checksum and reads again, by
/// itself 100 times, with a pause of 1 ns that doubles each time: on a damaged file, for ever. 20 times take 1 ms.
hid_t access_to_read(void)
{
    enum { READ_ATTEMPTS = 20 };
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_metadata_read_attempts(access, READ_ATTEMPTS);
    return access;
}

static hid_t try_to_read(const char *path, unsigned flags)
{
    const hid_t access = access_to_read(), file = H5Fopen(path, H5F_ACC_RDONLY | flags, access);
    H5Pclose(access);
    return file;
}

/// Whether its writer holds a lock (sim/record/hdf5_swmr.c), or has just made it and will. File systems that cannot tell, as NFS
/// does of files that are open for reading, count as if it did.
static bool is_being_written(const char *path)
{
    struct stat of;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool written = fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) || (!fstat(fd, &of) && !of.st_size));
    if (fd >= 0) close(fd);
    return written;
}

/// HDF5 looks how long the file is before it reads in the superblock how long it should be. A writer that flushes changes both:
/// where it has nothing else to do, every third opening fails, and succeeds when it is tried again.
static hid_t open_or_wait(const char *path)
{
    const struct timespec pause = {0, 5000000};
    const double end = clock_now() + 2;
    bool again = true;
    hid_t file = try_to_read(path, H5F_ACC_SWMR_READ);
    while (file < 0 && again) {
        again = clock_now() < end && is_being_written(path);
        if (again) nanosleep(&pause, NULL);
        file = try_to_read(path, H5F_ACC_SWMR_READ);  // the writer may just have closed it
    }
    return file >= 0 ? file : try_to_read(path, 0);  // of another kind than ours, or it says what is wrong
}

// ---- looking at it first

enum { MOST_OBJECTS = 10000, MOST_DEPTH = 8, MOST_VALUE = 1 << 20 };

/// A walk over a file; what HDF5 says about it does not matter, only whether it comes to an end.
typedef struct walk {
    int objects, depth;
} walk;

static herr_t look_at_attribute(hid_t at, const char *name, const H5A_info_t *info, void *context)
{
    (void)info, (void)context;
    const hid_t id = H5Aopen(at, name, H5P_DEFAULT), type = H5Aget_type(id), space = H5Aget_space(id);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    const size_t size = H5Tget_size(type);
    if (count > 0 && size > 0 && (size_t)count <= MOST_VALUE / size) {
        void *const value = calloc((size_t)count, size);
        if (value && H5Aread(id, type, value) >= 0 && H5Tis_variable_str(type) > 0)
            H5Dvlen_reclaim(type, space, H5P_DEFAULT, value);
        free(value);
    }
    H5Sclose(space), H5Tclose(type), H5Aclose(id);
    return 0;
}

static void look_at_dataset(hid_t set)
{
    const hid_t space = H5Dget_space(set), type = H5Dget_type(set), list = H5Dget_create_plist(set);
    hsize_t chunks;
    size_t sources;
    if (H5Pget_layout(list) == H5D_CHUNKED) H5Dget_num_chunks(set, H5S_ALL, &chunks);
    if (H5Pget_layout(list) == H5D_VIRTUAL) H5Pget_virtual_count(list, &sources);
    H5Pclose(list), H5Tclose(type), H5Sclose(space);
}

static herr_t look_at_link(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    walk *const w = context;
    if (info->type != H5L_TYPE_HARD) return 0;
    if (w->objects++ == MOST_OBJECTS) return 1;
    const hid_t id = H5Oopen(group, name, H5P_DEFAULT);
    const H5I_type_t kind = H5Iget_type(id);
    if (id < 0) return 0;
    H5Aiterate2(id, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, look_at_attribute, NULL);
    if (kind == H5I_DATASET) look_at_dataset(id);
    if (kind == H5I_GROUP && w->depth < MOST_DEPTH) {
        w->depth++;
        H5Literate(id, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, look_at_link, w);
        w->depth--;
    }
    H5Oclose(id);
    return 0;
}

static void look_at_file(const char *path)
{
    walk w = {0, 0};
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    const hid_t file = open_or_wait(path);
    if (file < 0) return;
    H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, look_at_attribute, NULL);
    H5Literate(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, look_at_link, &w);
    H5Fclose(file);
}

/// In the child: a crash is quick and quiet, and its time on a CPU ends.
static void restrain(double seconds)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPROF};
    const struct itimerval time = {.it_value = {(time_t)seconds, (suseconds_t)(fmod(seconds, 1) * 1e6)}};
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++) signal(signals[k], SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setitimer(ITIMER_PROF, &time, NULL);
    const int null = open("/dev/null", O_RDWR);
    for (int fd = 0; null >= 0 && fd < 3; fd++) dup2(null, fd);
}

/// Whether something arrives before `seconds` have passed.
static bool arrives(int fd, double seconds)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    const double end = clock_now() + seconds;
    int ready = -1;
    char sign;
    for (double left = seconds; left > 0 && ready < 0; left = end - clock_now()) {
        ready = poll(&wait, 1, (int)(left * 1000) + 1);
        if (ready < 0 && errno != EINTR) break;
    }
    return ready > 0 && read(fd, &sign, 1) == 1;
}

/// How a look at a file ended. A child that could not be made counts as one that came back.
typedef enum look { CAME_BACK, CRASHED, TOOK_LONG } look;

static look look_for(const char *path, double seconds)
{
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC)) return CAME_BACK;
    const pid_t child = fork();
    if (!child) {
        restrain(seconds);
        look_at_file(path);
        _exit(write(ends[1], "", 1) != 1);
    }
    close(ends[1]);
    const bool back = child < 0 || arrives(ends[0], 20 * seconds);
    close(ends[0]);
    if (child < 0) return CAME_BACK;
    if (!back) kill(child, SIGKILL);  // one that has crashed has its status already
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    const int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return back ? CAME_BACK : by == SIGPROF || by == SIGKILL ? TOOK_LONG : CRASHED;
}

/// Whether HDF5 reads all that the file says about itself, and comes back. Clocks may run on while a machine stands still, so
/// that what took long gets much more time once more.
static bool is_safe(const char *path, off_t length)
{
    const double seconds = 0.25 + (double)length / (1 << 27);  // indices of larger files are longer
    look end = look_for(path, seconds);
    if (end == TOOK_LONG) end = look_for(path, 8 * seconds);
    return end == CAME_BACK;
}

// ---- all

static hid_t refuse(hdf5_errors *e, const char *reason)
{
    snprintf(e->reason, sizeof e->reason, "%s", reason);
    return -1;
}

/// Why a file could not be opened, in words for people where we have them; HDF5's are in `e`.
static void explain(int fd, hdf5_errors *e)
{
    char why[120];
    unsigned char found[SUPERBLOCK_BYTES] = {0};
    struct stat of;
    const ssize_t bytes = pread(fd, found, sizeof found, 0);
    uint64_t end;
    if (bytes < 8 || memcmp(found, SUPERBLOCK_SIGNATURE, 8)) {
        refuse(e, "it is no HDF5 file");
        return;
    }
    if (superblock_tells_end(found, &end) && !fstat(fd, &of) && (uint64_t)of.st_size < end)
        snprintf(why, sizeof why, "it ends after %lld of %llu bytes", (long long)of.st_size, (unsigned long long)end);
    else snprintf(why, sizeof why, "%.100s", *e->reason ? e->reason : "unknown error of HDF5");
    snprintf(e->reason, sizeof e->reason, "it is damaged (%s); " HDF5_REMEDY, why);
}

hid_t open_to_read(const char *path, hdf5_errors *e)
{
    struct stat of;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // of a pipe nobody need write to
    if (fd < 0) return refuse(e, strerror(errno));
    const bool is_file = !fstat(fd, &of) && S_ISREG(of.st_mode);
    hid_t file = -1;
    if (!is_file) refuse(e, "it is no file");
    else if (!is_safe(path, of.st_size)) refuse(e, "it is damaged (HDF5 comes to no end with it); " HDF5_REMEDY);
    else {
        *e->reason = 0;
        file = open_or_wait(path);
        if (file < 0) explain(fd, e);
        else *e->reason = 0;  // of an earlier try
    }
    close(fd);
    return file;
}

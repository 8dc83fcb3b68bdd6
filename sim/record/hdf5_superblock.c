/// While a file is written in SWMR mode, its superblock carries a mark that turns away all readers that do not ask for SWMR,
/// among them h5dump, MATLAB and a plain h5py.File(). The mark outlives a killed writer, although the file behind it is sound:
/// SWMR orders all writes so that it always is. So the mark goes. A lock (flock) takes over what is useful about it: while the
/// writer lives, no second one gets in.
///
/// Superblock version 3 (HDF5 File Format Specification 3.0, II.A), little endian:
///   0 signature[8], 8 version, 9 size of addresses, 10 size of lengths, 11 flags, 12 base, 20 extension, 28 end of file,
///   36 root group, 44 checksum of all before
#define _GNU_SOURCE  // fallocate, SEEK_DATA
#include "sim/record/hdf5_superblock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 8, ADDRESS_SIZE = 9, FLAGS = 11, END = 28, CHECKSUM = 44, SIZE = SUPERBLOCK_BYTES };

static uint32_t little32(const unsigned char *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void put_little(unsigned char *b, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) b[i] = (unsigned char)(x >> 8 * i);
}

static uint32_t turn(uint32_t x, int bits) { return x << bits | x >> (32 - bits); }

/// Bob Jenkins' hash lookup3 (hashlittle, 2006, public domain) of CHECKSUM = 44 bytes, start value 0.
static uint32_t checksum(const unsigned char *b)
{
    uint32_t x = 0xdeadbeefu + CHECKSUM, y = x, z = x;
    int left = CHECKSUM;
    for (; left > 12; left -= 12, b += 12) {
        x += little32(b), y += little32(b + 4), z += little32(b + 8);
        x -= z, x ^= turn(z, 4), z += y;
        y -= x, y ^= turn(x, 6), x += z;
        z -= y, z ^= turn(y, 8), y += x;
        x -= z, x ^= turn(z, 16), z += y;
        y -= x, y ^= turn(x, 19), x += z;
        z -= y, z ^= turn(y, 4), y += x;
    }
    x += little32(b), y += little32(b + 4);  // the last 8 bytes
    z ^= y, z -= turn(y, 14);
    x ^= z, x -= turn(z, 11);
    y ^= x, y -= turn(x, 25);
    z ^= y, z -= turn(y, 16);
    x ^= z, x -= turn(z, 4);
    y ^= x, y -= turn(x, 14);
    z ^= y, z -= turn(y, 24);
    return z;
}

bool superblock_tells_end(const unsigned char b[SUPERBLOCK_BYTES], uint64_t *end)
{
    *end = (uint64_t)little32(b + END) | (uint64_t)little32(b + END + 4) << 32;
    return !memcmp(b, SUPERBLOCK_SIGNATURE, 8) && b[VERSION] == 3 && b[ADDRESS_SIZE] == 8 &&
           checksum(b) == little32(b + CHECKSUM);
}

bool superblock_open_to_readers(int fd, uint64_t end)
{
    unsigned char b[SIZE];
    struct stat info;
    uint64_t told;
    if (pread(fd, b, SIZE, 0) != SIZE || fstat(fd, &info) || !superblock_tells_end(b, &told)) return false;
    const uint64_t length = (uint64_t)info.st_size;
    b[FLAGS] = 0;
    put_little(b + END, end && end < length ? end : length, 8);  // readers refuse a file shorter than its superblock says
    put_little(b + CHECKSUM, checksum(b), 4);
    if (pwrite(fd, b, SIZE, 0) != SIZE) return false;
    return !end || length <= end || !ftruncate(fd, (off_t)end);
}

int make_room(int fd, uint64_t start, uint64_t bytes)
{
    struct rlimit limit;
    struct stat info;
    // beyond the limit the calls below would send a signal that ends the program
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY && start + bytes > limit.rlim_cur) return EFBIG;
    int failed;
    do failed = fallocate(fd, 0, (off_t)start, (off_t)bytes) ? errno : 0;
    while (failed == EINTR);  // a signal came in between
    if (failed != EOPNOTSUPP && failed != ENOSYS) return failed;
    if (fstat(fd, &info)) return errno;
    if ((uint64_t)info.st_size >= start + bytes) return 0;
    do failed = ftruncate(fd, (off_t)(start + bytes)) ? errno : 0;
    while (failed == EINTR);
    return failed;
}

uint64_t written_end(int fd)
{
    const off_t length = lseek(fd, 0, SEEK_END);
    off_t end = 0;
    for (off_t data; (data = lseek(fd, end, SEEK_DATA)) >= 0;)
        if ((end = lseek(fd, data, SEEK_HOLE)) < 0) return (uint64_t)length;
    return (uint64_t)(errno == ENXIO ? end : length);
}

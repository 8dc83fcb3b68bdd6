/// The first block of an HDF5 file, seen from outside the HDF5 library; and room for what comes.
#ifndef CATENA_SIM_HDF5_SUPERBLOCK_H
#define CATENA_SIM_HDF5_SUPERBLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define SUPERBLOCK_SIGNATURE "\211HDF\r\n\032\n"
enum { SUPERBLOCK_BYTES = 48 };

/// Whether the first bytes of a file are a sound block that says where the file ends.
bool superblock_tells_end(const unsigned char bytes[SUPERBLOCK_BYTES], uint64_t *end);

/// Makes the file open at `fd`, which the HDF5 library writes in SWMR mode, readable by those who do not ask for SWMR: takes the
/// mark "open for writing" away and sets the end of its space. Call it before the library flushes, with `end` 0: all of the file
/// as it is, with the room that was made; and after it has flushed everything, with the end of what it wrote: the room left over
/// is given back. Returns false, with the mark left where it is, if the block is not of the known kind.
bool superblock_open_to_readers(int fd, uint64_t end);

/// Makes the file at least `start` + `bytes` long, with space on the disk from `start` on where the file system can promise it.
/// Returns 0, or an errno.
int make_room(int fd, uint64_t start, uint64_t bytes);

/// The end of what has been written to a file, before room that was made and never used; its length where the file system does not
/// know.
uint64_t written_end(int fd);

#endif

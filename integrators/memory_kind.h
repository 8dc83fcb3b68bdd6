/// What of a state that a step has led to is told by where bodies are (integrators/memory_adjoint.h).
#ifndef CATENA_MEMORY_KIND_H
#define CATENA_MEMORY_KIND_H

typedef enum {
    MEMORY_HELD,      // no more than its q and v tell
    MEMORY_FRICTION,  // friction
    MEMORY_PLACES,    // and, with where they were a step ago, velocities
} memory_kind;

#endif

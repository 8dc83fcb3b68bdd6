/// The lane over which the kernels are compiled: `real` and its operations. The file that is compiled includes one before any
/// kernel, as sim/engine/engine_*.c do; the names are those of lane_scalar.h.
#ifndef LANES
#error "choose a lane before the kernels: #include dynamics/lane_scalar.h, dynamics/lane_avx2.h or dynamics/lane_avx512.h"
#endif

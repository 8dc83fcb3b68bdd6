/// Sines and cosines of many angles (dynamics/trig.h), by two builds with the same bits: where the CPU has fused multiply-adds,
/// and where the C library does them, which takes ten times as long.
#ifndef CATENA_SIM_FORMS_ANGLES_H
#define CATENA_SIM_FORMS_ANGLES_H

void angles_plain(int n, const double *angle, double *sine, double *cosine);
void angles_fma(int n, const double *angle, double *sine, double *cosine);

/// By the one that is for this CPU.
void angles_of(int n, const double *angle, double *sine, double *cosine);

#endif

/// Forward dynamics of one state, by each form. tau and qdd may not be the same.
#ifndef CATENA_SIM_FORMS_FORWARD_H
#define CATENA_SIM_FORMS_FORWARD_H

#include "sim/forms/work.h"

/// After lapack_find(). `limit`: bytes of the matrix.
ctn_status jsiia(work *w, size_t limit, const double *q, const double *v, const double *tau, double *qdd, ctn_error *err);

/// The error of a factorization that ends at a row, from 1.
ctn_status jsiia_not_positive(int row, ctn_error *err);

ctn_status hybrid_abia(work *w, const double *q, const double *v, const double *tau, double *qdd, ctn_error *err);

/// `whole`: heavy paths are not cut, so that all is the serial algorithm.
ctn_status star_aba(work *w, bool whole, const double *q, const double *v, const double *tau, double *qdd, ctn_error *err);

/// Inverse dynamics by sums along heavy paths, the rest by `scan`.
ctn_status path_rnea(work *w, const pieces *cut, ctn_scan scan, const double *q, const double *v, const double *a, double *tau,
                     ctn_error *err);

#endif

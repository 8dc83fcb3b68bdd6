/// The Fortran names of LAPACK, which all its libraries have.
#include "sim/base/lapack.h"
#include "sim/base/status.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef void (*factor_call)(const char *uplo, const int *n, double *A, const int *lda, int *info, size_t length);
typedef void (*solve_call)(const char *uplo, const int *n, const int *sides, const double *A, const int *lda, double *b,
                           const int *ldb, int *info, size_t length);
typedef void (*eigen_call)(const char *job, const char *uplo, const int *n, double *A, const int *lda, double *d, double *work,
                           const int *lwork, int *iwork, const int *liwork, int *info, size_t length1, size_t length2);

static const char *const libraries[] = {"libopenblas.so.0", "libopenblas.so", "liblapack.so.3", "liblapack.so"};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static factor_call factor;
static solve_call solve;
static eigen_call eigen;
static int (*get_threads)(void);  // of OpenBLAS; NULL: another library
static void (*set_threads)(int threads);
static const char *named;  // by the environment

static bool open_library(const char *name)
{
    void *const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    void *const f = dlsym(library, "dpotrf_"), *const s = dlsym(library, "dpotrs_"), *const e = dlsym(library, "dsyevd_");
    if (!f || !s || !e) {
        dlclose(library);
        return false;
    }
    memcpy(&factor, &f, sizeof f), memcpy(&solve, &s, sizeof s), memcpy(&eigen, &e, sizeof e);
    void *const get = dlsym(library, "openblas_get_num_threads"), *const set = dlsym(library, "openblas_set_num_threads");
    if (get && set) memcpy(&get_threads, &get, sizeof get), memcpy(&set_threads, &set, sizeof set);
    return true;
}

static void find(void)
{
    named = getenv("CTN_LAPACK_LIBRARY");
    if (named && *named) {
        open_library(named);
        return;
    }
    named = NULL;
    for (int k = 0; k < LIBRARIES && !factor; k++) open_library(libraries[k]);
}

ctn_status lapack_find(const char *who, ctn_error *err)
{
    pthread_once(&once, find);
    if (factor) return CTN_OK;
    if (named)
        return fail(err, CTN_UNAVAILABLE,
                    "%s needs LAPACK, and CTN_LAPACK_LIBRARY, %s, cannot be opened or lacks dpotrf or dsyevd", who, named);
    return fail(err, CTN_UNAVAILABLE,
                "%s needs LAPACK, and neither libopenblas nor liblapack was found (Debian: libopenblas0, liblapack3); "
                "CTN_LAPACK_LIBRARY names another one",
                who);
}

int lapack_begin(void)
{
    if (!set_threads) return 0;
    const int had = get_threads();
    set_threads(1);
    return had;
}

void lapack_end(int had)
{
    if (had) set_threads(had);
}

int lapack_solve(int n, double *A, double *b)
{
    const int one = 1;
    int info;
    factor("L", &n, A, &n, &info, 1);
    if (!info) solve("L", &n, &one, A, &n, b, &n, &info, 1);
    return info < 0 ? -info : info;
}

/// Of dsyevd with vectors: 1 + 6 n + 2 n^2 doubles and 3 + 5 n integers.
static int eigen_doubles(int n) { return 1 + 6 * n + 2 * n * n; }
static int eigen_integers(int n) { return 3 + 5 * n; }

size_t lapack_eigen_room(int n)
{
    return (1 + 6 * (size_t)n + 2 * (size_t)n * (size_t)n) * sizeof(double) + (size_t)eigen_integers(n) * sizeof(int);
}

int lapack_eigen(int n, double *A, double *d, void *room)
{
    const int doubles = eigen_doubles(n), integers = eigen_integers(n);
    double *const work = room;
    int info;
    for (size_t k = 0; k < (size_t)n * (size_t)n; k++)
        if (!(A[k] - A[k] == 0)) return 1;  // LAPACK need not come back from these
    eigen("V", "L", &n, A, &n, d, work, &doubles, (int *)(void *)(work + doubles), &integers, &info, 1, 1);
    return info;
}

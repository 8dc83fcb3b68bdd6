/// Cholesky on NVIDIA GPUs: cuSOLVER, opened when JSIIA is first asked for, so that nothing else needs it. For forms_cuda.cu.
///
/// Small matrices are factored side by side (potrfBatched), larger ones one after another. cuSOLVER gives the same bits in each
/// run unless it is told that it need not (cusolverDnSetDeterministicMode).
#ifndef CATENA_SIM_FORMS_FORMS_CUSOLVER_H
#define CATENA_SIM_FORMS_FORMS_CUSOLVER_H

#include <cusolverDn.h>
#include <dlfcn.h>

#define CUSOLVER_CALLS(call)                                                                                                     \
    call(cusolverDnCreate) call(cusolverDnDestroy) call(cusolverDnDpotrf_bufferSize) call(cusolverDnDpotrf)                      \
        call(cusolverDnDpotrs) call(cusolverDnDpotrfBatched) call(cusolverDnDpotrsBatched)
struct cusolver_calls {
#define DECLARE(name) decltype(&::name) name;
    CUSOLVER_CALLS(DECLARE)
#undef DECLARE
};

static bool cusolver_open(const char *file, cusolver_calls *calls)
{
    void *const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
#define FIND(name) calls->name = (decltype(&::name))dlsym(library, #name);
    CUSOLVER_CALLS(FIND)
#undef FIND
#define FOUND(name) &&calls->name
    if (true CUSOLVER_CALLS(FOUND)) return true;
#undef FOUND
    dlclose(library);
    return false;
}

/// The library, looked for once; NULL: there is none.
static const cusolver_calls *cusolver()
{
#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)
    static cusolver_calls calls;
    static const bool found = [] {
        const char *const named = getenv("CTN_CUSOLVER_LIBRARY");
        if (named && *named) return cusolver_open(named, &calls);
        return cusolver_open("libcusolver.so." TEXT_OF(CUSOLVER_VER_MAJOR), &calls) || cusolver_open("libcusolver.so", &calls) ||
               cusolver_open("/usr/local/cuda/lib64/libcusolver.so." TEXT_OF(CUSOLVER_VER_MAJOR), &calls);
    }();
    return found ? &calls : NULL;
}

enum { SMALL_MATRIX = 64 };  // rows

struct machine_solver {
    cusolverDnHandle_t handle;
    double *work;
    double **rows;  // [2][count] where matrices and right-hand sides begin
    int *info;      // [count + 1]
    size_t work_size, count;
};

static size_t solver_bytes(const machine_solver *s)
{
    return s->work_size * sizeof *s->work + (s->count ? 2 * s->count * sizeof *s->rows + (s->count + 1) * sizeof *s->info : 0);
}

static void solver_close(machine_solver *s)
{
    cusolver()->cusolverDnDestroy(s->handle);
    machine_free(s->work), machine_free(s->rows), machine_free(s->info);
    free(s);
}

static machine_solver *solver_open(ctn_error *err)
{
    if (!cusolver()) {
        fail(err, CTN_UNAVAILABLE,
             "jsiia on a GPU needs cuSOLVER for Cholesky, and libcusolver.so." TEXT_OF(
                 CUSOLVER_VER_MAJOR) " was not found; CTN_CUSOLVER_LIBRARY says where it is");
        return NULL;
    }
    machine_solver *const s = (machine_solver *)calloc(1, sizeof(machine_solver));
    const cusolverStatus_t status = s ? cusolver()->cusolverDnCreate(&s->handle) : CUSOLVER_STATUS_ALLOC_FAILED;
    if (status == CUSOLVER_STATUS_SUCCESS) return s;
    fail(err, CTN_UNAVAILABLE, "device: cuSOLVER cannot begin: status %d", (int)status);
    free(s);
    return NULL;
}

/// Where matrix k and its right-hand side begin.
struct matrix_rows {
    double *A, *b, **rows;
    int n, count;
    FN void run(const matrix_rows &job, int, int k)
    {
        job.rows[k] = job.A + (size_t)k * (size_t)job.n * (size_t)job.n;
        job.rows[job.count + k] = job.b + (size_t)k * (size_t)job.n;
    }
};

static bool solver_room(machine_solver *s, size_t count, size_t work)
{
    if (count > s->count) {
        machine_free(s->rows), machine_free(s->info);
        s->rows = (double **)machine_allocate(2 * count * sizeof *s->rows);
        s->info = (int *)machine_allocate((count + 1) * sizeof *s->info);
        s->count = s->rows && s->info ? count : 0;
    }
    if (work > s->work_size) {
        machine_free(s->work);
        s->work = (double *)machine_allocate(work * sizeof *s->work);
        s->work_size = s->work ? work : 0;
    }
    return s->count >= count && s->work_size >= work;
}

/// What potrf left of each matrix: the first row that is not positive in the first that is not. false: the device has failed.
static bool first_row(const machine_solver *s, int count, int *row)
{
    int *const info = (int *)malloc((size_t)count * sizeof *info);
    const bool ok = info && machine_copy(info, s->info, (size_t)count * sizeof *info, FROM_DEVICE, NULL);
    for (int k = 0; ok && k < count && !*row; k++) *row = info[k] < 0 ? -info[k] : info[k];
    free(info);
    return ok;
}

static ctn_status solver_solve(machine_solver *s, int n, int count, double *A, double *b, int *row, ctn_error *err)
{
    const cusolver_calls *const call = cusolver();
    const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
    const size_t N = (size_t)n;
    int work = 0;
    cusolverStatus_t status = CUSOLVER_STATUS_SUCCESS;
    if (n > SMALL_MATRIX) status = call->cusolverDnDpotrf_bufferSize(s->handle, lower, n, A, n, &work);
    if (status == CUSOLVER_STATUS_SUCCESS && !solver_room(s, (size_t)count, (size_t)work))
        return fail(err, CTN_NO_MEMORY, "device: it has not %.3g GB left for Cholesky of %d links", (double)work * 8e-9, n);
    if (n <= SMALL_MATRIX) {
        const matrix_rows job = {A, b, s->rows, n, count};
        if (!machine_each(job, count, 1)) return lost_there(err);
        status = call->cusolverDnDpotrfBatched(s->handle, lower, n, s->rows, n, s->info, count);
        if (status == CUSOLVER_STATUS_SUCCESS)
            status =
                call->cusolverDnDpotrsBatched(s->handle, lower, n, 1, s->rows, n, s->rows + count, n, s->info + count, count);
    } else {
        for (int k = 0; k < count && status == CUSOLVER_STATUS_SUCCESS; k++) {
            double *const matrix = A + (size_t)k * N * N;
            status = call->cusolverDnDpotrf(s->handle, lower, n, matrix, n, s->work, work, s->info + k);
            if (status == CUSOLVER_STATUS_SUCCESS)
                status = call->cusolverDnDpotrs(s->handle, lower, n, 1, matrix, n, b + (size_t)k * N, n, s->info + count);
        }
    }
    if (status != CUSOLVER_STATUS_SUCCESS)
        return fail(err, CTN_UNAVAILABLE, "device: cuSOLVER failed: status %d; make the forms anew", (int)status);
    return first_row(s, count, row) ? CTN_OK : lost_there(err);
}

#endif

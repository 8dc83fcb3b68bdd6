// What a GPU does for forms, on the CPU: jobs and threads compiled as C++17, a launch as loops from the last to the first.
// Tiles are scanned in the order of cub::BLOCK_SCAN_WARP_SCANS.
#include "tests/twin_machine.h"

static bool machine_zero(void *to, size_t size)
{
    memset(to, 0, size);
    return true;
}

#include "sim/forms/forms_there.h"

template <class Job> static bool machine_each(const Job &job, int count, int states)
{
    if (!may_launch()) return false;
    launch_kernel([job, count, states] {
        for (int state = states - 1; state >= 0; state--)
            for (int k = count - 1; k >= 0; k--) Job::run(job, state, k);
    });
    return true;
}

/// The scan of a block: in warps, each lane with the one 1, 2, 4, 8, 16 before it; then the warps one after another. before [1]
/// to [THREADS - 1]; returns all.
template <class Operator, class Element> static Element block_scan(const Element *own, Element *before)
{
    enum { WARP = 32 };
    Element all = Operator::one();
    for (int warp = 0; warp < THREADS / WARP; warp++) {
        Element lane[WARP], from[WARP];
        memcpy((void *)lane, own + warp * WARP, sizeof lane);
        for (int step = 1; step < WARP; step *= 2) {
            memcpy((void *)from, lane, sizeof from);
            for (int k = step; k < WARP; k++) lane[k] = Operator::times(from[k - step], from[k]);
        }
        for (int k = 0; k < WARP; k++) {
            Element *const to = before + warp * WARP + k;
            if (!warp && k) *to = lane[k - 1];
            else if (warp) *to = k ? Operator::times(all, lane[k - 1]) : all;
        }
        all = warp ? Operator::times(all, lane[WARP - 1]) : lane[WARP - 1];
    }
    return all;
}

/// What is before the threads of a tile, and its product.
template <class Scan> static typename Scan::element fold_tile(const Scan &s, int state, int tile, typename Scan::element *before)
{
    typename Scan::element own[THREADS];
    for (int k = THREADS - 1; k >= 0; k--) own[k] = thread_product(s, state, tile, k);
    return block_scan<typename Scan::product>(own, before);
}

/// And its work from `first` on.
template <class Scan>
static typename Scan::element spread_tile(const Scan &s, int state, int tile, const typename Scan::element &first)
{
    typename Scan::element before[THREADS];
    const typename Scan::element all = fold_tile(s, state, tile, before);
    for (int k = THREADS - 1; k >= 0; k--)
        thread_spread(s, state, tile, k, k ? Scan::product::times(first, before[k]) : first);
    return all;
}

template <class Scan> static bool machine_fold(const Scan &s, int states)
{
    if (!may_launch()) return false;
    launch_kernel([s, states] {
        typename Scan::element before[THREADS];
        for (int state = states - 1; state >= 0; state--)
            for (int tile = s.tiles - 1; tile >= 0; tile--)
                s.part[(size_t)state * ((size_t)s.tiles + 1) + (size_t)tile] = fold_tile(s, state, tile, before);
    });
    return true;
}

template <class Scan> static bool machine_join(const Scan &scan, int states)
{
    const parts_of<Scan> s = parts(scan);
    if (!may_launch()) return false;
    launch_kernel([s, states] {
        for (int state = states - 1; state >= 0; state--) {
            typename Scan::element carried = Scan::product::one();
            for (int tile = 0; tile < s.tiles; tile++)
                carried = Scan::product::times(carried, spread_tile(s, state, tile, carried));
        }
    });
    return true;
}

template <class Scan> static bool machine_spread(const Scan &s, int states)
{
    if (!may_launch()) return false;
    launch_kernel([s, states] {
        for (int state = states - 1; state >= 0; state--)
            for (int tile = s.tiles - 1; tile >= 0; tile--)
                spread_tile(s, state, tile,
                            s.tiles > 1 ? s.part[(size_t)state * ((size_t)s.tiles + 1) + (size_t)tile] : Scan::product::one());
    });
    return true;
}

/// Cholesky's factorization as it is written in books.
struct machine_solver {
    size_t bytes;
};
static machine_solver *solver_open(ctn_error *) { return (machine_solver *)calloc(1, sizeof(machine_solver)); }
static void solver_close(machine_solver *s) { free(s); }
static size_t solver_bytes(const machine_solver *s) { return s->bytes; }

static ctn_status solver_solve(machine_solver *, int n, int count, double *A, double *b, int *row, ctn_error *err)
{
    if (!may_launch()) return lost_there(err);
    const size_t N = (size_t)n;
    for (int k = 0; k < count && !*row; k++, A += N * N, b += N)
        for (size_t j = 0; j < N && !*row; j++) {  // the lower triangle of columns: L_ij at A[j N + i]
            double D = A[j * N + j], x = b[j];
            for (size_t i = 0; i < j; i++) D -= A[i * N + j] * A[i * N + j], x -= A[i * N + j] * b[i];
            if (!(D > 0)) *row = (int)j + 1;
            A[j * N + j] = D = sqrt(D), b[j] = x / D;
            for (size_t i = j + 1; i < N; i++) {
                double sum = A[j * N + i];
                for (size_t m = 0; m < j; m++) sum -= A[m * N + i] * A[m * N + j];
                A[j * N + i] = sum / D;
            }
        }
    if (*row) return CTN_OK;
    for (int k = 0; k < count; k++) {
        A -= N * N, b -= N;
        for (size_t j = N; j-- > 0;) {
            for (size_t i = j + 1; i < N; i++) b[j] -= A[j * N + i] * b[i];
            b[j] /= A[j * N + j];
        }
    }
    return CTN_OK;
}

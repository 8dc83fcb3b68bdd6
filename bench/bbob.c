/// What bench/bbob.py asks of the library: a search by CMA-ES with BIPOP restarts, of a function that is called with a whole
/// generation. A library of its own, so that Python need not know how a configuration is laid out.
#include <catena/cma.h>

#include <stdio.h>
#include <stdlib.h>

/// Writes the values f [count] of x [count][n]; true: the search is to end.
typedef int values_of(const double *x, int count, double *f);

/// Starts at x0 [n], all further runs in [-4, 4]. Returns how many restarts there were, -1 on error, which is printed.
int bbob_search(int n, const double *x0, double sigma, uint64_t seed, values_of *values)
{
    ctn_error err = {0};
    ctn_cma_config cfg = ctn_cma_default_config(n);
    double *const box = malloc(2 * (size_t)n * sizeof *box), *x = NULL, *f = NULL;
    for (int i = 0; box && i < n; i++) box[i] = -4, box[n + i] = 4;
    cfg.mean = x0, cfg.sigma = sigma, cfg.seed = seed, cfg.restarts = CTN_CMA_BIPOP;
    cfg.start_lower = box, cfg.start_upper = box + n;
    ctn_cma *const cma = ctn_cma_create(&cfg, &err);
    bool failed = !cma, over = false;
    while (!failed && !over && !ctn_cma_stopped(cma)) {
        const size_t lambda = (size_t)ctn_cma_population(cma);
        x = realloc(x, lambda * (size_t)n * sizeof *x), f = realloc(f, lambda * sizeof *f);
        failed = !x || !f || ctn_cma_ask(cma, x, &err);
        over = !failed && values(x, (int)lambda, f);
        failed = failed || (!over && ctn_cma_tell(cma, f, NULL, &err));
    }
    if (failed) fprintf(stderr, "bbob: %s\n", err.message);
    const int runs = failed ? -1 : ctn_cma_get_state(cma).run;
    free(box), free(x), free(f), ctn_cma_free(cma);
    return runs;
}

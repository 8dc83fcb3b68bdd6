#include "control/plant.h"

typedef struct {
    const plant *plant;
    const double *u;
    double *next;
    bool *good;
} single_step;

static void tell(void *whose, int first, int count, int apart, int step, const double *x, const bool *good, double *u)
{
    const single_step *const s = whose;
    const int m = s->plant->m, nx = s->plant->nx;
    for (int l = 0; l < count; l++) {
        const int at = first + l;
        for (int i = 0; i < m && !step; i++) u[i * apart + l] = s->u[at * m + i];
        for (int i = 0; i < nx && step; i++) s->next[at * nx + i] = x[i * apart + l];
        s->good[at] = good[l];
    }
}

ctn_status plant_steps(const plant *p, int count, const double *x, const double *u, double *next, bool *good, ctn_error *err)
{
    return p->play(p->context, count, x, 1, tell, &(single_step){p, u, next, good}, err);
}

ctn_status plant_step(const plant *p, const double *x, const double *u, double *next, bool *good, ctn_error *err)
{
    return plant_steps(p, 1, x, u, next, good, err);
}

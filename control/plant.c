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
    (void)first, (void)count;
    for (int i = 0; i < s->plant->m && !step; i++) u[i * apart] = s->u[i];
    for (int i = 0; i < s->plant->nx && step; i++) s->next[i] = x[i * apart];
    *s->good = good[0];
}

ctn_status plant_step(const plant *p, const double *x, const double *u, double *next, bool *good, ctn_error *err)
{
    return p->play(p->context, 1, x, 1, tell, &(single_step){p, u, next, good}, err);
}

/// Questions about a model.
#include "dynamics/model.h"

#include <stdlib.h>
#include <string.h>

void ctn_model_free(ctn_model *m)
{
    if (!m) return;
    free(m->bodies), free(m->frames), free(m->links), free(m->dof_adr), free(m->q0), free(m->v0), free(m->name), free(m->names);
    free(m);
}

const char *ctn_model_name(const ctn_model *m) { return m->name; }
int ctn_model_nq(const ctn_model *m) { return m->nq; }
int ctn_model_nv(const ctn_model *m) { return m->nv; }
int ctn_model_nlink(const ctn_model *m) { return m->nlink; }
const ctn_link *ctn_model_link(const ctn_model *m, int link) { return link >= 0 && link < m->nlink ? &m->links[link] : NULL; }

int ctn_model_find(const ctn_model *m, const char *name)
{
    for (int l = 0; l < m->nlink; l++)
        if (!strcmp(m->links[l].name, name)) return l;
    return -1;
}

void ctn_model_initial_state(const ctn_model *m, double *q, double *v)
{
    if (q) memcpy(q, m->q0, (size_t)m->nq * sizeof *q);
    if (v) memcpy(v, m->v0, (size_t)m->nv * sizeof *v);
}

void ctn_model_gravity(const ctn_model *m, double *gravity) { memcpy(gravity, m->gravity, sizeof m->gravity); }

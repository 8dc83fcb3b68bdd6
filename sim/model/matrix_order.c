/// In which order the matrix of a step with loops is eliminated: bodies from the last to the first, and among them the equations of
/// bonds, each bond as soon as it can be.
///
/// The pivot of an equation is -J H^-1 J' of what has been eliminated before it. It is far from zero once the part of its row J
/// among those columns is not small, nor made of such parts of the equations before it. That is looked at as things are at the
/// start of the scene, by Gram and Schmidt, on rows in m: what turns counts by the size of what it turns. Where it turns out too small
/// later in a motion, matrix_factor() keeps it from zero. Bonds that are never ready come after all bodies.
#include "sim/model/between.h"

#include "sim/model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define READY 0.1      // of the length of a row: how much of it is to be new
#define MANY_TREES 6
#define MOST_WORK 3e8  // operations; bonds that are looked at later come last

typedef struct {
    const ctn_model *m;
    double *rows, *length;  // [nrow][nv] in m, and how long each is
    double *basis;          // [nrow][nv] new parts of the rows of bonds that have a place
    int count;
    int *after;  // [nbond] the body that a bond comes after; -1: all
    double work;
} ordering;

/// By what a body's columns are multiplied.
static double column_size(const ctn_body *b)
{
    const bool turns = b->kind == JOINT_REVOLUTE || b->kind == JOINT_BALL || b->kind == JOINT_HELICAL;
    return turns && b->extent > 0 ? 1 / b->extent : 1;
}

static void scale_rows(ordering *o, const double *rows)
{
    const ctn_model *const m = o->m;
    const size_t nv = (size_t)m->nv;
    for (int e = 0; e < m->nrow; e++) {
        double *const to = o->rows + (size_t)e * nv;
        double square = 0;
        for (int i = 0; i < m->nbody; i++) {
            const ctn_body *const b = &m->bodies[i];
            for (int k = b->vadr; k < b->vadr + b->nv; k++)
                to[k] = column_size(b) * rows[(size_t)e * (nv + 1) + (size_t)k], square += to[k] * to[k];
        }
        o->length[e] = sqrt(square);
    }
}

static bool has_body(const ordering *o, const model_bond *bond, const ctn_body *b)
{
    for (int e = bond->row; e < bond->row + bond->rows; e++)
        for (int k = b->vadr; k < b->vadr + b->nv; k++)
            if (fabs(o->rows[(size_t)e * (size_t)o->m->nv + (size_t)k]) > 1e-9 * o->length[e]) return true;
    return false;
}

/// Whether a bond may come after the bodies from the first one on; if so its rows are in the basis.
static bool is_ready(ordering *o, const model_bond *bond, int first)
{
    const ctn_model *const m = o->m;
    const size_t nv = (size_t)m->nv;
    const int before = o->count;
    for (int e = bond->row; e < bond->row + bond->rows; e++) {
        double square = 0, *const part = o->basis + (size_t)o->count * nv;
        memset(part, 0, nv * sizeof *part);
        for (int i = first; i < m->nbody; i++) {
            const ctn_body *const b = &m->bodies[i];
            memcpy(part + b->vadr, o->rows + (size_t)e * nv + b->vadr, (size_t)b->nv * sizeof *part);
        }
        for (int k = 0; k < o->count; k++) {
            const double *const other = o->basis + (size_t)k * nv;
            double share = 0;
            for (size_t j = 0; j < nv; j++) share += part[j] * other[j];
            for (size_t j = 0; j < nv; j++) part[j] -= share * other[j];
        }
        for (size_t j = 0; j < nv; j++) square += part[j] * part[j];
        o->work += 4.0 * (double)nv * (o->count + 1);
        if (!(sqrt(square) > READY * o->length[e])) {
            o->count = before;
            return false;
        }
        for (size_t j = 0; j < nv; j++) part[j] /= sqrt(square);
        o->count++;
    }
    return true;
}

/// Finds after which body each bond comes.
static void find_places(ordering *o)
{
    const ctn_model *const m = o->m;
    for (int i = m->nbody - 1; i >= 0; i--)
        for (int k = 0; k < m->nbond && o->work < MOST_WORK; k++) {
            const model_bond *const bond = &m->bonds[k];
            if (bond->rows && o->after[k] < 0 && has_body(o, bond, &m->bodies[i]) && is_ready(o, bond, i)) o->after[k] = i;
        }
}

/// Whether any bond has the body in its rows.
static bool is_in_bonds(const ordering *o, const ctn_body *b)
{
    for (int k = 0; o->rows && k < o->m->nbond; k++)
        if (o->m->bonds[k].rows && has_body(o, &o->m->bonds[k], b)) return true;
    return false;
}

/// Whether nothing but the parent's columns are joined to those of a body by bonds, as of a ball that rods hold by its middle.
/// They go last, as they fill in nothing, and what bonds join is not interrupted by them.
static bool is_aside(const ordering *o, int i)
{
    const ctn_model *const m = o->m;
    const ctn_body *const b = &m->bodies[i];
    if ((b->flags & BODY_ROOT) || (i + 1 < m->nbody && !(m->bodies[i + 1].flags & BODY_ROOT) && m->bodies[i + 1].parent == i))
        return false;
    return !is_in_bonds(o, b) && is_in_bonds(o, &m->bodies[b->parent]);
}

/// Nodes in this order, from the last to the first.
static void number_nodes(const ordering *o, ctn_model *m)
{
    const int *const after = o->after;
    m->nmatrix_node = m->nbody;
    for (int k = 0; k < m->nbond; k++) m->nmatrix_node += m->bonds[k].rows > 0;
    int node = m->nmatrix_node;
    for (int i = m->nbody - 1; i >= 0; i--)
        if (is_aside(o, i)) m->matrix_nodes[m->body_nodes[i] = --node] = (matrix_node){.width = m->bodies[i].nv};
    for (int i = m->nbody - 1; i >= -1; i--) {
        if (i >= 0 && !is_aside(o, i)) m->matrix_nodes[m->body_nodes[i] = --node] = (matrix_node){.width = m->bodies[i].nv};
        for (int k = m->nbond - 1; k >= 0; k--)
            if (m->bonds[k].rows && after[k] == i)
                m->matrix_nodes[m->bond_nodes[k] = --node] = (matrix_node){.width = m->bonds[k].rows, .equations = true};
    }
    for (int start = 0; node < m->nmatrix_node; start += m->matrix_nodes[node++].width) m->matrix_nodes[node].start = start;
    for (int i = 0; i < m->nbody; i++) m->body_columns[i] = m->matrix_nodes[m->body_nodes[i]].start;
}

/// Whether something acts on body i that does not act on all that hang on it.
static bool is_end(const ctn_model *m, int i)
{
    for (int k = 0; k < m->ntouch_shape; k++)
        if (m->touch_shapes[k].body == i) return true;
    for (int k = 0; k < m->nbond_joint; k++)
        if (m->bond_joints[k].body == i) return true;
    for (int k = 0; k < m->nbond_point; k++)
        if (m->bond_points[k].body == i) return true;
    return false;
}

/// Whether body i has the columns after those of its parent, which nothing else hangs on.
static bool follows_alone(const ctn_model *m, int i)
{
    const ctn_body *const b = &m->bodies[i];
    if ((b->flags & BODY_ROOT) || m->body_columns[i] != m->body_columns[b->parent] + m->bodies[b->parent].nv) return false;
    for (int k = 0; k < m->nbody; k++)
        if (k != i && !(m->bodies[k].flags & BODY_ROOT) && m->bodies[k].parent == b->parent) return false;
    return !is_end(m, b->parent);
}

/// Groups of columns for worlds that eliminate in orders of their own: where many trees may touch each other, in pairs that nobody
/// knows beforehand. Equations have their place in the order of all worlds. False without memory.
static bool group_columns(ctn_model *m)
{
    int trees = 0;
    for (int i = 0; i < m->nbody; i++) trees += (m->bodies[i].flags & BODY_ROOT) != 0;
    if (m->nrow || trees < MANY_TREES) return true;
    m->matrix_groups = calloc((size_t)m->nbody, sizeof *m->matrix_groups);
    m->body_groups = calloc((size_t)m->nbody, sizeof *m->body_groups);
    if (!m->matrix_groups || !m->body_groups) return false;
    for (int i = 0; i < m->nbody; i++) {
        const int nv = m->bodies[i].nv;
        if (follows_alone(m, i) && m->matrix_groups[m->body_groups[m->bodies[i].parent]].width + nv <= MATRIX_GROUP) {
            m->matrix_groups[m->body_groups[m->bodies[i].parent]].width += nv, m->body_groups[i] = m->body_groups[m->bodies[i].parent];
            continue;
        }
        m->body_groups[i] = m->nmatrix_group;
        m->matrix_groups[m->nmatrix_group++] = (matrix_group){m->body_columns[i], nv};
    }
    return true;
}

bool order_matrix(ctn_model *m, const double *rows)
{
    const size_t numbers = (size_t)m->nrow * (size_t)m->nv, bodies = (size_t)m->nbody, bonds = (size_t)m->nbond;
    ordering o = {.m = m, .after = malloc((bonds + 1) * sizeof *o.after)};
    m->matrix_nodes = calloc(bodies + bonds + 1, sizeof *m->matrix_nodes);
    m->body_nodes = calloc(bodies + 1, sizeof *m->body_nodes), m->body_columns = calloc(bodies + 1, sizeof *m->body_columns);
    m->bond_nodes = calloc(bonds + 1, sizeof *m->bond_nodes);
    bool ok = o.after && m->matrix_nodes && m->body_nodes && m->body_columns && m->bond_nodes;
    for (int k = 0; k < m->nbond && ok; k++) o.after[k] = -1;
    if (ok && rows && m->nrow) {
        o.rows = calloc(2 * numbers + (size_t)m->nrow + 1, sizeof *o.rows);
        ok = o.rows;
        if (ok) o.basis = o.rows + numbers, o.length = o.basis + numbers, scale_rows(&o, rows), find_places(&o);
    }
    if (ok) number_nodes(&o, m), ok = group_columns(m);
    free(o.after), free(o.rows);
    return ok;
}

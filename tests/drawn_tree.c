#include "tests/drawn_tree.h"

#include "tests/text_model.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static drawn_tree room(int n)
{
    return (drawn_tree){n, malloc((size_t)n * sizeof(int)), calloc((size_t)n, sizeof(ctn_tree_link)), {0, 0, -9.81}};
}

void drawn_free(drawn_tree *t) { free(t->parent), free(t->links); }

static void rotation_of(const double *q, double *R)
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double m[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                         2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    memcpy(R, m, sizeof m);
}

static int featherstone_parent(int i, double b) { return (int)floor((i + 1 - 2 + ceil(b)) / b) - 1; }  // his i counts from 1

drawn_tree draw_tree(uint64_t seed, int n, double branching)
{
    drawn_tree t = room(n);
    rng r = {seed * 0x9e3779b97f4a7c15u + 99};
    for (int k = 0; k < 3; k++) t.gravity[k] = rng_uniform(&r, -8, 8);
    for (int i = 0; i < n; i++) {
        ctn_tree_link *l = &t.links[i];
        if (i == 0 || (branching == FOREST && rng_below(&r, 5) == 0)) t.parent[i] = -1;
        else t.parent[i] = branching < 1 ? rng_below(&r, i) : featherstone_parent(i, branching);
        l->joint = rng_below(&r, 4) ? CTN_REVOLUTE : CTN_PRISMATIC;
        double q[4], d[3], s[3], Q[9];
        rng_quaternion(&r, q);
        rotation_of(q, l->R);
        for (int k = 0; k < 3; k++) {
            l->p[k] = rng_uniform(&r, -0.3, 0.3), l->com[k] = rng_uniform(&r, -0.1, 0.1), l->axis[k] = rng_uniform(&r, -1, 1);
            s[k] = rng_uniform(&r, 0.05, 0.2);
        }
        if (rng_below(&r, 4) == 0) l->axis[0] = l->axis[1] = 0, l->axis[2] = 2;
        l->mass = rng_uniform(&r, 0.5, 2);
        for (int k = 0; k < 3; k++) d[k] = l->mass * (s[(k + 1) % 3] * s[(k + 1) % 3] + s[(k + 2) % 3] * s[(k + 2) % 3]) / 3;
        rng_quaternion(&r, q);
        rotation_of(q, Q);
        static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
        for (int k = 0; k < 6; k++)
            for (int e = 0; e < 3; e++) l->inertia[k] += d[e] * Q[3 * row[k] + e] * Q[3 * col[k] + e];
        l->armature = rng_below(&r, 2) ? rng_uniform(&r, 0, 0.1) : 0;
    }
    return t;
}

drawn_tree draw_cylinders(int n, double branching, uint64_t seed)
{
    drawn_tree t = room(n);
    rng r = {seed};  // the library's generator is splitmix64, too
    t.parent[0] = -1;
    for (int i = 1; i < n; i++)
        t.parent[i] = branching == 0 ? (int)(rng_next(&r) % (uint64_t)i) : featherstone_parent(i, branching);
    for (int i = 0; i < n; i++) {
        const double angle = seed ? rng_uniform(&r, 0, 6.283185307179586) : 0, c = cos(angle), s = sin(angle);
        t.links[i] = (ctn_tree_link){.joint = CTN_REVOLUTE,
                                     .R = {1, 0, 0, 0, c, -s, 0, s, c},
                                     .p = {i > 0},
                                     .axis = {0, 0, 1},
                                     .mass = 1,
                                     .com = {0.5, 0, 0},
                                     .inertia = {0.0025, 1.015 / 12, 1.015 / 12}};
    }
    return t;
}

ctn_tree *drawn_forms(const drawn_tree *t, int threads)
{
    ctn_error err = {0};
    ctn_tree *tree = ctn_tree_create(t->n, t->parent, t->n, t->links, t->gravity, threads, &err);
    ck_assert_msg(tree != NULL, "%s", err.message);
    return tree;
}

/// The unit quaternion of a rotation.
static void quaternion_of(const double *R, double *q)
{
    int big = 0;
    const double four[4] = {1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8], 1 - R[0] + R[4] - R[8], 1 - R[0] - R[4] + R[8]};
    for (int k = 1; k < 4; k++)
        if (four[k] > four[big]) big = k;
    const double x = R[7] - R[5], y = R[2] - R[6], z = R[3] - R[1], xy = R[1] + R[3], xz = R[2] + R[6], yz = R[5] + R[7];
    const double rows[4][4] = {{four[0], x, y, z}, {x, four[1], xy, xz}, {y, xy, four[2], yz}, {z, xz, yz, four[3]}};
    for (int k = 0; k < 4; k++) q[k] = rows[big][k] / (2 * sqrt(four[big]));
}

ctn_model *drawn_model(const drawn_tree *t)
{
    size_t size = 0;
    char *text = NULL;
    FILE *f = open_memstream(&text, &size);
    fprintf(f, "catena: 1\ngravity: [%.17g, %.17g, %.17g]\nlinks:\n", t->gravity[0], t->gravity[1], t->gravity[2]);
    for (int i = 0; i < t->n; i++) {
        const ctn_tree_link *l = &t->links[i];
        double q[4];
        quaternion_of(l->R, q);
        fprintf(f, "  - name: l%d\n", i);
        if (t->parent[i] >= 0) fprintf(f, "    parent: l%d\n", t->parent[i]);
        fprintf(f, "    position: [%.17g, %.17g, %.17g]\n", l->p[0], l->p[1], l->p[2]);
        fprintf(f, "    rotation: [%.17g, %.17g, %.17g, %.17g]\n", q[0], q[1], q[2], q[3]);
        fprintf(f, "    joint: {type: %s, axis: [%.17g, %.17g, %.17g], armature: %.17g}\n",
                l->joint == CTN_REVOLUTE ? "revolute" : "prismatic", l->axis[0], l->axis[1], l->axis[2], l->armature);
        fprintf(f, "    mass: %.17g\n    com: [%.17g, %.17g, %.17g]\n    inertia: [", l->mass, l->com[0], l->com[1], l->com[2]);
        for (int k = 0; k < 6; k++) fprintf(f, "%s%.17g", k ? ", " : "", l->inertia[k]);
        fprintf(f, "]\n");
    }
    fclose(f);
    ctn_model *m = model_of(text);
    free(text);
    return m;
}

void draw_state(const drawn_tree *t, rng *r, double *q, double *v, double *a)
{
    for (int i = 0; i < t->n; i++) {
        q[i] = t->links[i].joint == CTN_REVOLUTE ? rng_uniform(r, -3, 3) : rng_uniform(r, -0.5, 0.5);
        v[i] = rng_uniform(r, -1, 1);
        a[i] = rng_uniform(r, -1, 1);
    }
}

typedef long double ld;
typedef struct {
    ld R[9], p[3], z[3], w[3], dw[3], u[3], f[3], n[3];  // axes, origin, joint axis; rates; acceleration of the origin; wrench
} moving;

static void turn(const ld *R, const double *a, ld *b)
{
    for (int i = 0; i < 3; i++) b[i] = R[3 * i] * a[0] + R[3 * i + 1] * a[1] + R[3 * i + 2] * a[2];
}
static void cross(const ld *a, const ld *b, ld *c)
{
    const ld r[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    memcpy(c, r, sizeof r);
}
/// The acceleration of a point at r of a body, beyond that of its origin.
static void centripetal(const moving *b, const ld *r, ld *a)
{
    ld x[3], y[3];
    cross(b->dw, r, a);
    cross(b->w, r, x), cross(b->w, x, y);
    for (int k = 0; k < 3; k++) a[k] += y[k];
}

void long_rnea(const drawn_tree *t, const double *q, const double *v, const double *a, double *tau)
{
    moving *b = calloc((size_t)t->n, sizeof *b);
    moving world = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    for (int k = 0; k < 3; k++) world.u[k] = -t->gravity[k];
    for (int i = 0; i < t->n; i++) {
        const ctn_tree_link *l = &t->links[i];
        const moving *P = t->parent[i] < 0 ? &world : &b[t->parent[i]];
        moving *B = &b[i];
        ld frame[9], r[3], axis[3], x[3];
        for (int c = 0; c < 3; c++) {  // the joint's frame in world axes
            const double column[3] = {l->R[c], l->R[3 + c], l->R[6 + c]};
            ld turned[3];
            turn(P->R, column, turned);
            for (int k = 0; k < 3; k++) frame[3 * k + c] = turned[k];
        }
        const ld length = sqrtl((ld)l->axis[0] * l->axis[0] + (ld)l->axis[1] * l->axis[1] + (ld)l->axis[2] * l->axis[2]);
        for (int k = 0; k < 3; k++) axis[k] = l->axis[k] / length;
        turn(P->R, l->p, r);
        for (int k = 0; k < 3; k++) B->z[k] = frame[3 * k] * axis[0] + frame[3 * k + 1] * axis[1] + frame[3 * k + 2] * axis[2];
        if (l->joint == CTN_REVOLUTE) {  // Rodrigues: R = frame (1 + s [k] + (1 - c) [k]^2)
            const ld s = sinl(q[i]), c = 1 - cosl(q[i]), *k = axis;
            const ld M[9] = {
                1 - c * (k[1] * k[1] + k[2] * k[2]), c * k[0] * k[1] - s * k[2],          c * k[0] * k[2] + s * k[1],
                c * k[0] * k[1] + s * k[2],          1 - c * (k[0] * k[0] + k[2] * k[2]), c * k[1] * k[2] - s * k[0],
                c * k[0] * k[2] - s * k[1],          c * k[1] * k[2] + s * k[0],          1 - c * (k[0] * k[0] + k[1] * k[1])};
            for (int i0 = 0; i0 < 3; i0++)
                for (int j = 0; j < 3; j++)
                    B->R[3 * i0 + j] = frame[3 * i0] * M[j] + frame[3 * i0 + 1] * M[3 + j] + frame[3 * i0 + 2] * M[6 + j];
        } else {
            memcpy(B->R, frame, sizeof frame);
            for (int k = 0; k < 3; k++) r[k] += B->z[k] * q[i];
        }
        centripetal(P, r, x);
        for (int k = 0; k < 3; k++) B->p[k] = P->p[k] + r[k], B->u[k] = P->u[k] + x[k], B->w[k] = P->w[k], B->dw[k] = P->dw[k];
        cross(P->w, B->z, x);
        for (int k = 0; k < 3; k++) {
            if (l->joint == CTN_REVOLUTE) B->w[k] += B->z[k] * v[i], B->dw[k] += B->z[k] * a[i] + x[k] * v[i];
            else B->u[k] += B->z[k] * a[i] + 2 * x[k] * v[i];
        }
        // Newton and Euler about the centre of mass, then about the origin
        ld com[3], Iw[3], Idw[3], acceleration[3];
        turn(B->R, l->com, com);
        centripetal(B, com, acceleration);
        const double I[9] = {l->inertia[0], l->inertia[3], l->inertia[4], l->inertia[3], l->inertia[1],
                             l->inertia[5], l->inertia[4], l->inertia[5], l->inertia[2]};
        ld own_w[3], own_dw[3];
        for (int k = 0; k < 3; k++) {
            own_w[k] = B->R[k] * B->w[0] + B->R[3 + k] * B->w[1] + B->R[6 + k] * B->w[2];
            own_dw[k] = B->R[k] * B->dw[0] + B->R[3 + k] * B->dw[1] + B->R[6 + k] * B->dw[2];
        }
        for (int k = 0; k < 3; k++) {
            Iw[k] = I[3 * k] * own_w[0] + I[3 * k + 1] * own_w[1] + I[3 * k + 2] * own_w[2];
            Idw[k] = I[3 * k] * own_dw[0] + I[3 * k + 1] * own_dw[1] + I[3 * k + 2] * own_dw[2];
        }
        ld gyro[3], moment[3];
        cross(own_w, Iw, gyro);
        for (int k = 0; k < 3; k++) Idw[k] += gyro[k];
        for (int k = 0; k < 3; k++) moment[k] = B->R[3 * k] * Idw[0] + B->R[3 * k + 1] * Idw[1] + B->R[3 * k + 2] * Idw[2];
        for (int k = 0; k < 3; k++) B->f[k] = l->mass * (B->u[k] + acceleration[k]);
        cross(com, B->f, B->n);
        for (int k = 0; k < 3; k++) B->n[k] += moment[k];
    }
    for (int i = t->n - 1; i >= 0; i--) {
        moving *B = &b[i];
        const ld *f = t->links[i].joint == CTN_REVOLUTE ? B->n : B->f;
        tau[i] = (double)(B->z[0] * f[0] + B->z[1] * f[1] + B->z[2] * f[2] + (ld)t->links[i].armature * a[i]);
        if (t->parent[i] < 0) continue;
        moving *P = &b[t->parent[i]];
        ld r[3], x[3];
        for (int k = 0; k < 3; k++) r[k] = B->p[k] - P->p[k];
        cross(r, B->f, x);
        for (int k = 0; k < 3; k++) P->f[k] += B->f[k], P->n[k] += B->n[k] + x[k];
    }
    free(b);
}

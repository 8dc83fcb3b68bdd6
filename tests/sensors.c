/// Sensors (catena/sensors.h): what they measure against differences along motions, sums and closed forms; the same bits in every
/// batch; delays and noise; what is refused.
#include "sim/engine/engine.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- every type of sensor on every model

/// A random scene with all types of sensors on its links.
static char *sensed_scene(uint64_t seed, const random_options *options)
{
    char *const text = random_scene(seed, options), *all = NULL;
    ctn_model *const m = model_of(text);
    size_t size;
    rng r = {seed * 31};
    FILE *const out = open_memstream(&all, &size);
    fprintf(out, "%s\nsensors:\n", text);
    for (int l = 0; l < ctn_model_nlink(m); l++) {
        const ctn_link *const k = ctn_model_link(m, l), *const other = ctn_model_link(m, rng_below(&r, ctn_model_nlink(m)));
        const double p[3] = {rng_uniform(&r, -1, 1), rng_uniform(&r, -1, 1), rng_uniform(&r, -1, 1)};
        for (int t = CTN_SENSE_JOINT_POSITION; t <= CTN_SENSE_JOINT_FORCE && k->nv; t++)
            fprintf(out, "  - {name: %s-%s, type: %s, joint: %s}\n", ctn_sensor_type_name(t), k->name, ctn_sensor_type_name(t),
                    k->name);
        for (int t = CTN_SENSE_POSITION; t <= CTN_SENSE_RELATIVE_POSITION; t++) {
            const bool turned = t == CTN_SENSE_ORIENTATION || t == CTN_SENSE_POSE || t == CTN_SENSE_ACCELEROMETER ||
                                t == CTN_SENSE_GYRO || t == CTN_SENSE_IMU || t == CTN_SENSE_VELOCIMETER ||
                                t == CTN_SENSE_RELATIVE_POSITION;
            const bool pointed = t != CTN_SENSE_ORIENTATION && t != CTN_SENSE_GYRO && t != CTN_SENSE_ANGULAR_VELOCITY &&
                                 t != CTN_SENSE_ANGULAR_ACCELERATION;
            fprintf(out, "  - {name: %s-%s, type: %s, link: %s", ctn_sensor_type_name(t), k->name, ctn_sensor_type_name(t),
                    k->name);
            if (pointed) fprintf(out, ", point: [%.17g, %.17g, %.17g]", p[0], p[1], p[2]);
            if (turned) fprintf(out, ", euler: [0.3, -0.2, %.17g]", p[0]);
            if (t >= CTN_SENSE_DISTANCE) fprintf(out, ", to_link: %s, to_point: [%.17g, 0.1, -0.2]", other->name, p[1]);
            fprintf(out, "}\n");
        }
        for (int t = CTN_SENSE_REACTION_FORCE; t <= CTN_SENSE_REACTION; t++) {
            fprintf(out, "  - {name: %s-%s, type: %s, link: %s, euler: [0.3, -0.2, %.17g]", ctn_sensor_type_name(t), k->name,
                    ctn_sensor_type_name(t), k->name, p[0]);
            if (t != CTN_SENSE_REACTION_FORCE) fprintf(out, ", point: [%.17g, %.17g, %.17g]", p[0], p[1], p[2]);
            fprintf(out, "}\n");
        }
        for (int t = CTN_SENSE_COM; t <= CTN_SENSE_POTENTIAL_ENERGY && k->nv; t++)
            fprintf(out, "  - {name: %s-%s, type: %s, link: %s}\n", ctn_sensor_type_name(t), k->name, ctn_sensor_type_name(t),
                    k->name);
    }
    for (int t = CTN_SENSE_COM; t <= CTN_SENSE_ENERGY; t++)
        fprintf(out, "  - {name: %s, type: %s}\n", ctn_sensor_type_name(t), ctn_sensor_type_name(t));
    fclose(out);
    ctn_model_free(m), free(text);
    return all;
}

/// A model, its sensors, a state under forces and what they are there.
typedef struct {
    ctn_model *m;
    ctn_dynamics *dyn;
    int nq, nv, numbers;
    double *q, *v, *tau, *a, *now;
} place;

static place place_of(uint64_t seed, const random_options *options)
{
    char *const text = sensed_scene(seed, options);
    place x = {.m = model_of(text)};
    rng r = {seed};
    x.dyn = ctn_dynamics_create(x.m, NULL, NULL);
    x.nq = ctn_model_nq(x.m), x.nv = ctn_model_nv(x.m), x.numbers = ctn_model_sensor_numbers(x.m);
    x.q = calloc((size_t)x.nq, sizeof *x.q), x.v = calloc((size_t)x.nv, sizeof *x.v), x.a = calloc((size_t)x.nv, sizeof *x.a);
    x.tau = calloc((size_t)x.nv, sizeof *x.tau), x.now = calloc((size_t)x.numbers, sizeof *x.now);
    random_state(x.m, &r, x.q, x.v);
    for (int k = 0; k < x.nv; k++) x.tau[k] = rng_uniform(&r, -3, 3);
    ctn_aba(x.dyn, 1, x.q, x.v, x.tau, x.a);
    ctn_sensors(x.dyn, 1, x.q, x.v, x.tau, x.now);
    free(text);
    return x;
}

static void leave(place *x)
{
    ctn_dynamics_free(x->dyn), ctn_model_free(x->m);
    free(x->q), free(x->v), free(x->a), free(x->tau), free(x->now);
}

/// What the sensors are a time h later, up to the third order in it.
static double *later(const place *x, double h)
{
    double *const q = calloc((size_t)(x->nq + 2 * x->nv + x->numbers), sizeof *q), *const v = q + x->nq, *const mean = v + x->nv,
                  *const values = calloc((size_t)x->numbers, sizeof *values);
    for (int k = 0; k < x->nv; k++) v[k] = x->v[k] + h * x->a[k], mean[k] = x->v[k] + h / 2 * x->a[k];
    ctn_model_integrate(x->m, 1, x->q, mean, h, q);
    ctn_sensors(x->dyn, 1, q, v, NULL, values);
    free(q);
    return values;
}

static const ctn_sensor *sensor_at(const place *x, ctn_sensor_type type, const char *link)
{
    char name[400];
    snprintf(name, sizeof name, "%s%s%s", ctn_sensor_type_name(type), link ? "-" : "", link ? link : "");
    const ctn_sensor *const s = ctn_model_sensor(x->m, ctn_model_find_sensor(x->m, name));
    ck_assert_msg(s && s->type == type, "%s", name);
    return s;
}

/// Numbers of the sensor of a type on a link, NULL: of all links.
static const double *of(const place *x, const double *values, ctn_sensor_type type, const char *link)
{
    return values + sensor_at(x, type, link)->first;
}

/// Largest difference of `of` [n] from the rate of what is measured before and after.
static double off_rate(const double *before, const double *after, double h, const double *rate, int n)
{
    double error = 0;
    for (int k = 0; k < n; k++) error = worse(error, fabs((after[k] - before[k]) / (2 * h) - rate[k]) / (1 + fabs(rate[k])));
    return error;
}

/// The angular velocity, world axes, that takes one orientation to another in 2 h.
static void turn_rate(const double *a, const double *b, double h, double rate[3])
{
    const double w = b[0] * a[0] + b[1] * a[1] + b[2] * a[2] + b[3] * a[3], sign = w < 0 ? -1 : 1;  // b a*, world axes
    const double x = -b[0] * a[1] + b[1] * a[0] - b[2] * a[3] + b[3] * a[2],
                 y = -b[0] * a[2] + b[1] * a[3] + b[2] * a[0] - b[3] * a[1],
                 z = -b[0] * a[3] - b[1] * a[2] + b[2] * a[1] + b[3] * a[0];
    const double s = sqrt(x * x + y * y + z * z), angle = 2 * atan2(s, sign * w), scale = s > 0 ? sign * angle / s / (2 * h) : 0;
    rate[0] = scale * x, rate[1] = scale * y, rate[2] = scale * z;
}

/// R' x of a unit quaternion.
static void into_axes(const double q[4], const double x[3], double y[3])
{
    const double w = q[0], a = -q[1], b = -q[2], c = -q[3];
    const double t[3] = {2 * (b * x[2] - c * x[1]), 2 * (c * x[0] - a * x[2]), 2 * (a * x[1] - b * x[0])};
    y[0] = x[0] + w * t[0] + b * t[2] - c * t[1], y[1] = x[1] + w * t[1] + c * t[0] - a * t[2];
    y[2] = x[2] + w * t[2] + a * t[1] - b * t[0];
}

static double off(const double *x, const double *y, int n)
{
    double error = 0;
    for (int k = 0; k < n; k++) error = worse(error, fabs(x[k] - y[k]) / (1 + fabs(y[k])));
    return error;
}

enum { KINDS = 4 };
static const random_options kinds[KINDS] = {
    {.links = 7, .passive = true, .smooth = true},
    {.links = 6, .floating = true, .passive = true, .smooth = true, .free_armature = true, .springs = 2},
    {.links = 6, .passive = true, .smooth = true, .wrenches = 2, .motors = 3},
    {.links = 8, .chain = true, .fluid = true},
};

/// Velocities are the rates of positions along the motion, accelerations those of velocities.
START_TEST(rates)
{
    const double h = 2e-6;
    FOR_SEEDS(seed, 60)
    {
        place x = place_of(seed, &kinds[seed % KINDS]);
        double *const before = later(&x, -h), *const after = later(&x, h), error = 0, g[3];
        ctn_model_gravity(x.m, g);
        for (int l = 0; l < ctn_model_nlink(x.m); l++) {
            const ctn_link *const k = ctn_model_link(x.m, l);
#define RATE(position, velocity, n)                                                                                              \
    error = worse(error, off_rate(of(&x, before, position, k->name), of(&x, after, position, k->name), h,                        \
                                  of(&x, x.now, velocity, k->name), n))
            RATE(CTN_SENSE_POSITION, CTN_SENSE_VELOCITY, 3);
            RATE(CTN_SENSE_VELOCITY, CTN_SENSE_ACCELERATION, 3);
            RATE(CTN_SENSE_ANGULAR_VELOCITY, CTN_SENSE_ANGULAR_ACCELERATION, 3);
            if (k->nv) {
                RATE(CTN_SENSE_JOINT_VELOCITY, CTN_SENSE_JOINT_ACCELERATION, k->nv);
                RATE(CTN_SENSE_COM, CTN_SENSE_COM_VELOCITY, 3);
                RATE(CTN_SENSE_COM_VELOCITY, CTN_SENSE_COM_ACCELERATION, 3);
            }
            double turn[3], own[3], proper[3];
            const double *const q = of(&x, x.now, CTN_SENSE_ORIENTATION, k->name), *const a = of(&x, x.now,
                                                                                                 CTN_SENSE_ACCELERATION, k->name);
            turn_rate(of(&x, before, CTN_SENSE_ORIENTATION, k->name), of(&x, after, CTN_SENSE_ORIENTATION, k->name), h, turn);
            error = worse(error, off(turn, of(&x, x.now, CTN_SENSE_ANGULAR_VELOCITY, k->name), 3));
            // the same in own axes, and in pairs
            into_axes(q, of(&x, x.now, CTN_SENSE_ANGULAR_VELOCITY, k->name), own);
            error = worse(error, off(of(&x, x.now, CTN_SENSE_GYRO, k->name), own, 3));
            error = worse(error, off(of(&x, x.now, CTN_SENSE_IMU, k->name) + 3, own, 3));
            for (int i = 0; i < 3; i++) proper[i] = a[i] - g[i];
            into_axes(q, proper, own);
            error = worse(error, off(of(&x, x.now, CTN_SENSE_ACCELEROMETER, k->name), own, 3));
            error = worse(error, off(of(&x, x.now, CTN_SENSE_IMU, k->name), own, 3));
            into_axes(q, of(&x, x.now, CTN_SENSE_VELOCITY, k->name), own);
            error = worse(error, off(of(&x, x.now, CTN_SENSE_VELOCIMETER, k->name), own, 3));
            error =
                worse(error, off(of(&x, x.now, CTN_SENSE_TWIST, k->name), of(&x, x.now, CTN_SENSE_ANGULAR_VELOCITY, k->name), 3));
            error = worse(error, off(of(&x, x.now, CTN_SENSE_TWIST, k->name) + 3, of(&x, x.now, CTN_SENSE_VELOCITY, k->name), 3));
            error = worse(error, off(of(&x, x.now, CTN_SENSE_POSE, k->name), of(&x, x.now, CTN_SENSE_POSITION, k->name), 3));
            error = worse(error, off(of(&x, x.now, CTN_SENSE_POSE, k->name) + 3, q, 4));
        }
        ck_assert_msg(error < 2e-6, "seed %llu: %g", (unsigned long long)seed, error);
        free(before), free(after), leave(&x);
    }
}
END_TEST

/// Sums are those of ctn_energy_momentum; where the point of a link is, and joint forces, by other calls.
START_TEST(sums)
{
    FOR_SEEDS(seed, 60)
    {
        place x = place_of(seed, &kinds[seed % KINDS]);
        ctn_totals t;
        double error = 0, own[3];
        ctn_energy_momentum(x.dyn, 1, x.q, x.v, &t);
        const double *const c = t.com, *const l = t.momentum_linear, energy = t.kinetic + t.potential + t.spring;
        const double h[6] = {t.momentum_angular[0] - c[1] * l[2] + c[2] * l[1],
                             t.momentum_angular[1] - c[2] * l[0] + c[0] * l[2],
                             t.momentum_angular[2] - c[0] * l[1] + c[1] * l[0],
                             l[0],
                             l[1],
                             l[2]};
        const double velocity[3] = {l[0] / t.mass, l[1] / t.mass, l[2] / t.mass};
        ck_assert(*of(&x, x.now, CTN_SENSE_ENERGY, NULL) == energy);
        ck_assert(*of(&x, x.now, CTN_SENSE_KINETIC_ENERGY, NULL) == t.kinetic);
        ck_assert(*of(&x, x.now, CTN_SENSE_POTENTIAL_ENERGY, NULL) == t.potential);
        ck_assert(!memcmp(of(&x, x.now, CTN_SENSE_COM, NULL), c, sizeof t.com));
        error = worse(error, off(of(&x, x.now, CTN_SENSE_COM_VELOCITY, NULL), velocity, 3));
        error = worse(error, off(of(&x, x.now, CTN_SENSE_LINEAR_MOMENTUM, NULL), l, 3));
        error = worse(error, off(of(&x, x.now, CTN_SENSE_ANGULAR_MOMENTUM, NULL), h, 3));
        error = worse(error, off(of(&x, x.now, CTN_SENSE_MOMENTUM, NULL), h, 6));
        double *const A = calloc(6 * (size_t)x.nv, sizeof *A), momentum[6] = {0};
        ctn_centroidal_matrix(x.dyn, 1, x.q, A);
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < x.nv; k++) momentum[i] += A[i * x.nv + k] * x.v[k];
        error = worse(error, off(of(&x, x.now, CTN_SENSE_MOMENTUM, NULL), momentum, 6));
        free(A);
        const int nlink = ctn_model_nlink(x.m);
        double *const R = calloc(12 * (size_t)nlink, sizeof *R), *const p = R + 9 * nlink;
        ctn_forward_kinematics(x.dyn, 1, x.q, R, p);
        for (int i = 0; i < nlink; i++) {
            const char *const name = ctn_model_link(x.m, i)->name;
            const ctn_sensor *const s = sensor_at(&x, CTN_SENSE_POSITION, name), *const d =
                                                                                     sensor_at(&x, CTN_SENSE_DISTANCE, name);
            double at[3], other[3], gap[3];
            for (int k = 0; k < 3; k++) {
                at[k] = p[3 * i + k], other[k] = p[3 * d->to_link + k];
                for (int j = 0; j < 3; j++)
                    at[k] += R[9 * i + 3 * k + j] * s->point[j], other[k] += R[9 * d->to_link + 3 * k + j] * d->to_point[j];
                gap[k] = other[k] - at[k];
            }
            error = worse(error, off(x.now + s->first, at, 3));
            error = worse(error, fabs(x.now[d->first] - sqrt(gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2])));
            into_axes(of(&x, x.now, CTN_SENSE_ORIENTATION, name), gap, own);
            error = worse(error, off(of(&x, x.now, CTN_SENSE_RELATIVE_POSITION, name), own, 3));
        }
        free(R);
        for (int i = 0; i < nlink; i++) {
            const ctn_link *const k = ctn_model_link(x.m, i);
            if (!k->nv) continue;
            ck_assert(!memcmp(of(&x, x.now, CTN_SENSE_JOINT_POSITION, k->name), x.q + k->qadr, (size_t)k->nq * sizeof *x.q));
            ck_assert(!memcmp(of(&x, x.now, CTN_SENSE_JOINT_VELOCITY, k->name), x.v + k->vadr, (size_t)k->nv * sizeof *x.v));
            ck_assert(!memcmp(of(&x, x.now, CTN_SENSE_JOINT_ACCELERATION, k->name), x.a + k->vadr, (size_t)k->nv * sizeof *x.a));
        }
        ck_assert_msg(error < 1e-11, "seed %llu: %g", (unsigned long long)seed, error);
        leave(&x);
    }
}
END_TEST

/// Without loads on bodies, what acts along the joints is what inverse dynamics says.
START_TEST(joint_forces)
{
    FOR_SEEDS(seed, 40)
    {
        const random_options options = {.links = 6, .passive = true, .smooth = true, .motors = 3};
        place x = place_of(seed, &options);
        double *const force = calloc((size_t)x.nv, sizeof *force), error = 0;
        ctn_rnea(x.dyn, 1, x.q, x.v, x.a, force);
        for (int i = 0; i < ctn_model_nlink(x.m); i++) {
            const ctn_link *const k = ctn_model_link(x.m, i);
            if (k->nv) error = worse(error, off(of(&x, x.now, CTN_SENSE_JOINT_FORCE, k->name), force + k->vadr, k->nv));
        }
        ck_assert_msg(error < 1e-8, "seed %llu: %g", (unsigned long long)seed, error);
        free(force), leave(&x);
    }
}
END_TEST

/// Adds sign times a reaction to w: torque and force, world axes, torques about the world's origin.
static void add_reaction(const place *x, const char *link, double sign, double w[6])
{
    const double *const q = of(x, x->now, CTN_SENSE_ORIENTATION, link), *const own = of(x, x->now, CTN_SENSE_REACTION, link);
    const double back[4] = {q[0], -q[1], -q[2], -q[3]}, *const p = of(x, x->now, CTN_SENSE_POSITION, link);
    double n[3], f[3];
    into_axes(back, own, n), into_axes(back, own + 3, f);
    for (int k = 0; k < 3; k++) {
        w[k] += sign * (n[k] + p[(k + 1) % 3] * f[(k + 2) % 3] - p[(k + 2) % 3] * f[(k + 1) % 3]);
        w[3 + k] += sign * f[k];
    }
}

static void cross_add(const double a[3], const double b[3], double sign, double x[3])
{
    for (int k = 0; k < 3; k++) x[k] += sign * (a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3]);
}

/// y += M x, or M' x; M row-major.
static void mul_add(const double M[9], bool transposed, const double x[3], double y[3])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) y[i] += M[transposed ? 3 * k + i : 3 * i + k] * x[k];
}

/// The wrench that moves link l as it does, its weight taken off, about the world's origin.
static void moving_wrench(const place *x, int l, const double *R, const double *p, const double *twist,
                          const double *acceleration, double w[6])
{
    const ctn_link *const k = ctn_model_link(x->m, l);
    const double *const I = k->inertia, full[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
    double c[3] = {0}, u[3] = {0}, own[3] = {0}, al[3] = {0}, L[3] = {0}, N[3] = {0}, f[3], g[3];
    ctn_model_gravity(x->m, g);
    mul_add(R, false, k->com, c), cross_add(twist, c, 1, u);
    for (int i = 0; i < 3; i++) f[i] = acceleration[3 + i] - g[i];
    cross_add(acceleration, c, 1, f), cross_add(twist, u, 1, f);
    for (int i = 0; i < 3; i++) f[i] *= k->mass, c[i] += p[i];
    mul_add(R, true, twist, own), mul_add(R, true, acceleration, al);  // I al + w x I w, link axes
    mul_add(full, false, own, L), mul_add(full, false, al, N), cross_add(own, L, 1, N);
    mul_add(R, false, N, w), cross_add(c, f, 1, w);
    for (int i = 0; i < 3; i++) w[3 + i] += f[i];
}

/// A reaction does along its joint what the joint force does, but for what turns the rotor. What holds a link, less what it holds
/// of others, moves it: where no loads act on links.
START_TEST(reactions)
{
    static const random_options unloaded = {.links = 8, .passive = true, .smooth = true, .motors = 3};
    FOR_SEEDS(seed, 60)
    {
        const bool loaded = seed % 2;
        place x = place_of(seed, loaded ? &kinds[seed / 2 % KINDS] : &unloaded);
        const int nlink = ctn_model_nlink(x.m), nv = x.nv;
        double *const J = calloc(6 * (size_t)nv + 30 * (size_t)nlink, sizeof *J), *const R = J + 6 * nv, *const p = R + 9 * nlink,
                      *const twist = p + 3 * nlink, *const a = twist + 6 * nlink, *const w = a + 6 * nlink, error = 0;
        ctn_forward_kinematics(x.dyn, 1, x.q, R, p);
        ctn_link_twists(x.dyn, 1, x.q, x.v, twist), ctn_link_accelerations(x.dyn, 1, x.q, x.v, x.a, a);
        for (int l = 0; l < nlink; l++) {
            const ctn_link *const k = ctn_model_link(x.m, l);
            const double *const both = of(&x, x.now, CTN_SENSE_REACTION, k->name);
            ck_assert(!memcmp(both, of(&x, x.now, CTN_SENSE_REACTION_TORQUE, k->name), 3 * sizeof *both));
            ck_assert(!memcmp(both + 3, of(&x, x.now, CTN_SENSE_REACTION_FORCE, k->name), 3 * sizeof *both));
            add_reaction(&x, k->name, 1, w + 6 * l);
            if (k->parent >= 0) add_reaction(&x, k->name, -1, w + 6 * k->parent);
            double about[6] = {0};  // the link's origin
            add_reaction(&x, k->name, 1, about), cross_add(p + 3 * l, about + 3, -1, about);
            ctn_jacobian(x.dyn, 1, x.q, l, J);
            for (int d = k->vadr; d < k->vadr + k->nv; d++) {
                double power = 0, armature = 0;
                for (int i = 0; i < 6; i++) power += J[i * nv + d] * about[i];
                for (int i = 0; i < x.m->nbody; i++) {
                    const ctn_body *const b = &x.m->bodies[i];
                    if (d >= b->vadr && d < b->vadr + b->nv) armature = b->armature;
                }
                const double force = of(&x, x.now, CTN_SENSE_JOINT_FORCE, k->name)[d - k->vadr] - armature * x.a[d];
                error = worse(error, fabs(power - force) / (1 + fabs(force)));
            }
        }
        ck_assert_msg(error < 1e-8, "seed %llu: along joints %g", (unsigned long long)seed, error);
        for (int l = 0; l < nlink && !loaded; l++) {
            double moves[6] = {0};
            moving_wrench(&x, l, R + 9 * l, p + 3 * l, twist + 6 * l, a + 6 * l, moves);
            error = worse(error, off(w + 6 * l, moves, 6));
        }
        ck_assert_msg(error < 1e-8, "seed %llu: %g", (unsigned long long)seed, error);
        free(J), leave(&x);
    }
}
END_TEST

/// A link that is fixed to a leg stands on the ground: the leg presses it with its own weight, and the ground holds both.
START_TEST(reaction_of_a_foot)
{
    ctn_model *const m =
        model_of("catena: 1\nground: true\nlinks:\n"
                 "  - {name: leg, joint: {type: prismatic, axis: [0, 0, 1], q0: 0.1}, mass: 3, inertia: [1, 1, 1, 0, 0, 0]}\n"
                 "  - {name: foot, parent: leg, position: [0.5, 0, 0], mass: 1, com: [0.1, 0, 0], inertia: [1, 1, 1, 0, 0, 0],\n"
                 "     shapes: [{type: sphere, radius: 0.1}]}\n"
                 "sensors:\n  - {name: cell, type: reaction, link: foot, euler: [180 deg, 0, 0]}\n"
                 "  - {name: rail, type: reaction, link: leg}\n");
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_RADAU, cfg.dt = 0.01;
    ctn_batch *const b = ctn_batch_create(m, &cfg, NULL);
    const double g = 9.81, expected[12] = {0, 0.1 * g, 0, 0, 0, 3 * g, 0, 1.4 * g};
    double x[12];
    ctn_batch_step(b, 1000, NULL, NULL), ctn_batch_sensors(b, x, NULL);
    for (int k = 0; k < 12; k++)
        ck_assert_msg(fabs(x[k] - expected[k]) < 1e-6, "number %d: %.9g, not %.9g", k, x[k], expected[k]);
    ctn_batch_free(b);
    const ctn_parameter heavier = {.kind = CTN_MASS_SCALE, .index = 1};
    ctn_error err;
    cfg.parameters = &heavier, cfg.parameter_count = 1;
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_msg(strstr(err.message, "sensor 'cell': measures what holds a link that is fixed to another one") != 0, "%s",
                  err.message);
    ctn_model_free(m);
}
END_TEST

/// The accelerations of links are the rates of their twists.
START_TEST(link_accelerations)
{
    const double h = 1e-5;
    FOR_SEEDS(seed, 60)
    {
        ctn_model *const m = random_model(seed, &kinds[seed % KINDS]);
        ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m), n = 6 * (size_t)ctn_model_nlink(m);
        double *const q = calloc(3 * (nq + nv) + nv + 2 * n + n, sizeof *q), *const v = q + 3 * nq, *const a = v + 3 * nv,
                      *const t = a + nv, *const acceleration = t + 2 * n, error = 0;
        rng r = {seed};
        random_state(m, &r, q, v);
        for (size_t k = 0; k < nv; k++) a[k] = rng_uniform(&r, -5, 5);
        for (size_t side = 1; side < 3; side++) {
            const double e = side == 1 ? -h : h;
            double mean[200];
            for (size_t k = 0; k < nv; k++) mean[k] = v[k] + e / 2 * a[k], v[side * nv + k] = v[k] + e * a[k];
            ctn_model_integrate(m, 1, q, mean, e, q + side * nq);
        }
        ctn_link_twists(dyn, 2, q + nq, v + nv, t);
        ctn_link_accelerations(dyn, 1, q, v, a, acceleration);
        error = off_rate(t, t + n, h, acceleration, (int)n);
        ck_assert_msg(error < 1e-6, "seed %llu: %g", (unsigned long long)seed, error);
        free(q), ctn_dynamics_free(dyn), ctn_model_free(m);
    }
}
END_TEST

/// dJ/dt of links, points and the centre of mass are the differences of Jacobians along the motion, column by column; the rate of
/// the momentum is that of A v.
START_TEST(rates_of_jacobians)
{
    const double h = 1e-5, point[3] = {0.3, -0.4, 0.2};
    FOR_SEEDS(seed, 60)
    {
        ctn_model *const m = random_model(seed, &kinds[seed % KINDS]);
        ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
        const int nq = ctn_model_nq(m), nv = ctn_model_nv(m), nlink = ctn_model_nlink(m);
        double *const q = calloc((size_t)(3 * (nq + nv) + nv + 24 * nv), sizeof *q), *const v = q + 3 * nq, *const a = v + 3 * nv,
                      *const J = a + nv, *const rate = J + 18 * nv, error = 0, momentum[12] = {0}, force[6];
        rng r = {seed};
        random_state(m, &r, q, v);
        for (int k = 0; k < nv; k++) a[k] = rng_uniform(&r, -5, 5);
        for (int side = 1; side < 3; side++) {
            const double e = side == 1 ? -h : h;
            double mean[200];
            for (int k = 0; k < nv; k++) mean[k] = v[k] + e / 2 * a[k], v[side * nv + k] = v[k] + e * a[k];
            ctn_model_integrate(m, 1, q, mean, e, q + side * nq);
        }
        for (int l = 0; l < nlink; l++) {
            ctn_jacobian(dyn, 2, q + nq, l, J);
            ctn_jacobian_rate(dyn, 1, q, v, l, rate);
            error = worse(error, off_rate(J, J + 6 * nv, h, rate, 6 * nv));
            ctn_point_jacobian(dyn, 2, q + nq, l, point, J);
            ctn_point_jacobian_rate(dyn, 1, q, v, l, point, rate);
            error = worse(error, off_rate(J, J + 3 * nv, h, rate, 3 * nv));
        }
        ctn_com_jacobian(dyn, 2, q + nq, J);
        ctn_com_jacobian_rate(dyn, 1, q, v, rate);
        error = worse(error, off_rate(J, J + 3 * nv, h, rate, 3 * nv));
        ctn_centroidal_matrix(dyn, 2, q + nq, J);
        for (int i = 0; i < 12; i++)
            for (int k = 0; k < nv; k++) momentum[i] += J[i * nv + k] * v[(1 + i / 6) * nv + k];
        ctn_momentum_rate(dyn, 1, q, v, a, force);
        error = worse(error, off_rate(momentum, momentum + 6, h, force, 6));
        ck_assert_msg(error < 1e-6, "seed %llu: %g", (unsigned long long)seed, error);
        ctn_jacobian_rate(dyn, 1, q, v, nlink, rate);
        ck_assert(isnan(rate[0]));
        ctn_point_jacobian_rate(dyn, 1, q, v, -1, point, rate);
        ck_assert(isnan(rate[0]));
        free(q), ctn_dynamics_free(dyn), ctn_model_free(m);
    }
}
END_TEST

/// Numbers have names and units, those of joints by their degrees of freedom.
START_TEST(names)
{
    static const char *const expected[][2] = {{"sensor.slide", "m/s"},     {"sensor.plane.x", "m"},
                                              {"sensor.plane.y", "m"},     {"sensor.plane.angle", "rad"},
                                              {"sensor.push.vx", "N"},     {"sensor.push.vy", "N"},
                                              {"sensor.push.wz", "N m"},   {"sensor.one", "rad/s^2"},
                                              {"sensor.pose.x", "m"},      {"sensor.pose.y", "m"},
                                              {"sensor.pose.z", "m"},      {"sensor.pose.qw", "1"},
                                              {"sensor.pose.qx", "1"},     {"sensor.pose.qy", "1"},
                                              {"sensor.pose.qz", "1"},     {"sensor.h.hx", "kg m^2/s"},
                                              {"sensor.h.hy", "kg m^2/s"}, {"sensor.h.hz", "kg m^2/s"},
                                              {"sensor.h.lx", "kg m/s"},   {"sensor.h.ly", "kg m/s"},
                                              {"sensor.h.lz", "kg m/s"},   {"sensor.e", "J"}};
    ctn_model *const m = model_of("catena: 1\nlinks:\n"
                                  "  - {name: a, joint: {type: planar}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
                                  "  - {name: b, parent: a, joint: {type: prismatic}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
                                  "sensors:\n"
                                  "  - {name: slide, type: joint_velocity, joint: b}\n"
                                  "  - {name: plane, type: joint_position, joint: a}\n"
                                  "  - {name: push, type: joint_force, joint: a}\n"
                                  "  - {name: one, type: joint_acceleration, joint: a, dof: 2}\n"
                                  "  - {name: pose, type: pose, link: a}\n"
                                  "  - {name: h, type: momentum, link: b}\n"
                                  "  - {name: e, type: energy}\n");
    const int count = (int)(sizeof expected / sizeof *expected);
    ck_assert_int_eq(ctn_model_sensor_numbers(m), count);
    for (int k = 0; k < count; k++) {
        char name[100];
        const char *const unit = ctn_sensor_number(m, k, name, sizeof name);
        ck_assert_msg(unit && !strcmp(unit, expected[k][1]) && !strcmp(name, expected[k][0]), "%d: %s (%s)", k, name, unit);
    }
    char name[10] = "none";
    ck_assert(!ctn_sensor_number(m, count, name, sizeof name) && !ctn_sensor_number(m, -1, name, sizeof name));
    ck_assert_str_eq(name, "none");
    ck_assert_int_eq(ctn_model_find_sensor(m, "h"), 5);
    ck_assert_int_eq(ctn_model_find_sensor(m, "x"), -1);
    ctn_model_free(m);
}
END_TEST

// ---- closed forms

/// A body in free fall feels nothing but its turn, one at rest the ground.
START_TEST(falls_and_rests)
{
    ctn_model *const m = model_of(
        "catena: 1\nlinks:\n  - {name: a, joint: {type: free, v0: [1, 2, 3, 0, 0, 0]}, mass: 2, inertia: [1, 1, 1, 0, 0, 0]}\n"
        "  - {name: b, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
        "sensors:\n"
        "  - {name: falls, type: accelerometer, link: a, point: [0.1, 0.2, 0.3], euler: [90deg, 0, 0]}\n"
        "  - {name: rests, type: accelerometer, link: b, point: [0.1, 0.2, 0.3], euler: [90deg, 0, 0]}\n"
        "  - {name: turns, type: gyro, link: a}\n");
    const ctn_batch_config cfg = ctn_batch_config_default();
    ctn_batch *const batch = batch_with(m, &cfg);
    double x[9];
    for (int step = 0; step < 3; step++) {
        ck_assert_int_eq(ctn_batch_sensors(batch, x, NULL), CTN_OK);
        for (int k = 0; k < 3; k++) ck_assert_msg(fabs(x[k]) < 1e-13 && fabs(x[6 + k]) < 1e-13, "%g %g", x[k], x[6 + k]);
        // turned about x, the sensor's y is up
        ck_assert_msg(fabs(x[3]) < 1e-15 && fabs(x[4] - 9.81) < 1e-14 && fabs(x[5]) < 1e-14, "%g %g %g", x[3], x[4], x[5]);
        ctn_batch_step(batch, 1, NULL, NULL);
    }
    ctn_batch_free(batch), ctn_model_free(m);
}
END_TEST

/// On a wheel that turns at w, an accelerometer off the axis feels the centripetal acceleration, and w' r across it.
START_TEST(centripetal)
{
    ctn_model *const m = model_of("catena: 1\ngravity: [0, 0, 0]\nlinks: [{name: a, joint: {type: revolute, axis: [0, 0, 1], v0: "
                                  "3}, mass: 1, inertia: [1, 1, 2, 0, 0, 0]}]\n"
                                  "motors: [{joint: a, type: torque, target: 0.5, effort: 9, gear: 2}]\n"
                                  "sensors:\n"
                                  "  - {name: s, type: accelerometer, link: a, point: [0.4, 0, 0]}\n"
                                  "  - {name: motor, type: motor_effort, joint: a}\n"
                                  "  - {name: force, type: joint_force, joint: a, dof: 0}\n");
    const ctn_batch_config cfg = ctn_batch_config_default();
    ctn_batch *const batch = batch_with(m, &cfg);
    double x[5];
    const double tau[1] = {4};
    ctn_batch_set_force(batch, tau);
    ck_assert_int_eq(ctn_batch_sensors(batch, x, NULL), CTN_OK);
    const double rate = (4 + 2 * 0.5) / 2;
    ck_assert_msg(fabs(x[0] + 0.4 * 9) < 1e-14 && fabs(x[1] - 0.4 * rate) < 1e-14 && x[2] == 0, "%.17g %.17g %g", x[0], x[1],
                  x[2]);
    ck_assert_msg(x[3] == 0.5 && fabs(x[4] - 5) < 1e-15, "%.17g %.17g", x[3], x[4]);
    ctn_batch_free(batch), ctn_model_free(m);
}
END_TEST

// ---- batches

#define PENDULUM_WITH(friction, shapes)                                                                                          \
    "catena: 1\n"                                                                                                                \
    "links:\n"                                                                                                                   \
    "  - {name: a, joint: {type: universal, axis: [1, 0, 0], axis2: [0, 1, 0], q0: [0.4, 0.2], v0: [1, 2]" friction              \
    "}, mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.02, 0, 0, 0]}\n"                                                       \
    "  - {name: b, parent: a, position: [0, 0, -1], joint: {type: ball, v0: [1, 0, 2]}, mass: 0.5, com: [0, 0, -0.3], "          \
    "inertia: [0.05, 0.05, 0.02, 0, 0, 0]" shapes "}\n"
#define PENDULUM PENDULUM_WITH("", "")
/// The same where it rubs, in its joint and on the ground.
#define RUBBING                                                                                                                  \
    PENDULUM_WITH(", friction: 0.5", ", shapes: [{type: sphere, center: [0, 0, -0.6], radius: 0.1}]")                            \
    "ground: {height: -1.5}\n"
#define SENSORS(more)                                                                                                            \
    "sensors:\n"                                                                                                                 \
    "  - {name: imu, type: imu, link: b, point: [0, 0, -0.6]" more "}\n"                                                         \
    "  - {name: pose, type: pose, link: b" more "}\n"                                                                            \
    "  - {name: angles, type: joint_position, joint: b" more "}\n"                                                               \
    "  - {name: drive, type: joint_force, joint: a" more "}\n"                                                                   \
    "  - {name: com, type: com_acceleration}\n"                                                                                  \
    "  - {name: late, type: joint_position, joint: a, dof: 1, delay: 0.03}\n"

enum { NV = 5, STEPS = 24 };

typedef struct {
    ctn_batch_config cfg;
    const double *force;   // [worlds][STEPS][NV]
    const double *q, *v;   // [worlds]
    const double *values;  // [worlds][parameters]
    int first, numbers;    // world; of sensors
    const char *then;      // the engine that goes on from the middle; NULL: the same batch does
} trial;

typedef enum { TABLE, CONTROL, SENSED, SET, WAYS_TO_FORCE } way_to_force;

static void ask(void *context, int first, int count, const double *time, const double *q, const double *v, double *tau)
{
    const trial *const t = context;
    (void)q, (void)v;
    for (int w = 0; w < count; w++) {
        const int step = (int)lround(time[w] / t->cfg.dt);
        memcpy(tau + w * NV, t->force + ((size_t)(t->first + first + w) * STEPS + (size_t)(step < STEPS ? step : STEPS - 1)) * NV,
               NV * sizeof *tau);
    }
}

/// A batch on another engine with the worlds of this one, which is freed.
static ctn_batch *go_on(ctn_batch *batch, const char *engine)
{
    const size_t size = ctn_batch_saved_size(batch);
    void *const saved = malloc(size);
    ctn_batch_config cfg = *ctn_batch_configuration(batch);
    cfg.engine = engine;
    ctn_batch *const next = batch_with(ctn_batch_model(batch), &cfg);
    ctn_batch_save(batch, saved);
    ck_assert_int_eq(ctn_batch_restore(next, saved, size, NULL), CTN_OK);
    ctn_batch_free(batch), free(saved);
    return next;
}

/// The same, with what the first and the last sensor say.
static void ask_told(void *context, int first, int count, const double *time, const double *sensors, const double *q,
                     const double *v, double *tau)
{
    const trial *const t = context;
    const int n = t->numbers;
    ask(context, first, count, time, q, v, tau);
    for (int w = 0; w < count; w++) tau[w * NV] += 0.1 * sensors[w * n] - 0.1 * sensors[(w + 1) * n - 1];
}

/// What the sensors of worlds first .. say after every `every` steps, [records][worlds][numbers].
static double *recorded(const ctn_model *m, const trial *t, int every, way_to_force way)
{
    const size_t worlds = (size_t)t->cfg.worlds, n = (size_t)ctn_model_sensor_numbers(m);
    double *const values = calloc((STEPS / (size_t)every + 1) * worlds * n, sizeof *values), *at = values;
    ctn_batch *batch = batch_with(m, &t->cfg);
    const size_t nq = (size_t)ctn_model_nq(m);
    if (t->values) {
        const double *const own = t->values + t->first * t->cfg.parameter_count;
        ck_assert_int_eq(ctn_batch_set_parameters(batch, own, NULL), CTN_OK);
    }
    ck_assert_int_eq(ctn_batch_set_state(batch, t->q + (size_t)t->first * nq, t->v + (size_t)t->first * NV, 0, NULL), CTN_OK);
    ctn_batch_number_worlds(batch, 5, t->first);
    ctn_batch_sensors(batch, at, NULL);
    double *const table = calloc(worlds * (size_t)every * NV, sizeof *table);
    for (int k = 0; k < STEPS; k += every) {
        for (size_t w = 0; w < worlds; w++)
            memcpy(table + w * (size_t)every * NV, t->force + (((size_t)t->first + w) * STEPS + (size_t)k) * NV,
                   (size_t)every * NV * sizeof *table);
        const ctn_run run = {.steps = every,
                             .force = way == TABLE ? table : NULL,
                             .control = way == CONTROL ? ask : NULL,
                             .sensed = way == SENSED ? ask_told : NULL,
                             .context = (void *)(uintptr_t)t};
        if (way == SET) ctn_batch_set_force(batch, k % 2 ? table : NULL);  // every is 1
        ck_assert_int_eq(ctn_batch_run(batch, &run, NULL, NULL), CTN_OK);
        ck_assert_int_eq(ctn_batch_sensors(batch, at += worlds * n, NULL), CTN_OK);
        if (t->then && k + every == STEPS / 2) batch = go_on(batch, t->then);
    }
    free(table), ctn_batch_free(batch);
    return values;
}

/// On every engine, in every batch, with any number of threads, however the steps are asked for.
START_TEST(same_bits)
{
    static const struct {
        ctn_method method;
        ctn_schedule schedule;
        bool rubs;
    } ways[] = {{CTN_RK4, CTN_SCHEDULE_AUTO, false},  {CTN_RADAU, CTN_BY_ITERATION, false},
                {CTN_ALPHA, CTN_BY_STEP, false},      {CTN_VARIATIONAL, CTN_SCHEDULE_AUTO, false},
                {CTN_COLLOCATION, CTN_BY_STEP, true}, {CTN_RADAU, CTN_BY_ITERATION, true}};
    enum { WORLDS = 13 };
    const bool late = _i % 2;  // else steps are not made one by one
#define EACH SENSORS(", noise: 0.1, delay: 0.02") "  - {name: energy, type: energy}\n"
#define SOME                                                                                                                     \
    "sensors:\n  - {name: imu, type: imu, link: b, point: [0, 0, -0.6], noise: 0.1}\n  - {name: drive, type: joint_force, "      \
    "joint: a}\n"
    ctn_model *const m = model_of(ways[_i / 2].rubs ? late ? RUBBING EACH : RUBBING SOME : late ? PENDULUM EACH : PENDULUM SOME);
    const size_t n = (size_t)ctn_model_sensor_numbers(m), nq = (size_t)ctn_model_nq(m);
    double q[WORLDS * 6], v[WORLDS * NV], *const force = calloc(WORLDS * STEPS * NV, sizeof *force);
    rng r = {9};
    for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, q + w * nq, v + w * NV);
    for (int k = 0; k < WORLDS * STEPS * NV; k++) force[k] = rng_uniform(&r, -2, 2);
    trial t = {.cfg = ctn_batch_config_default(), .force = force, .q = q, .v = v};
    t.cfg.worlds = WORLDS, t.cfg.dt = 0.01, t.cfg.engine = "scalar", t.cfg.parallel = CTN_PARALLEL_WORLDS;
    t.cfg.method = ways[_i / 2].method, t.cfg.schedule = ways[_i / 2].schedule;
    double *const expected = recorded(m, &t, 1, TABLE);
    for (const ctn_engine *const *e = engines_available(); *e; e++)
        for (int kind = 0; kind < 4; kind++) {
            static const int firsts[] = {0, 3, 12, 5}, counts[] = {WORLDS, 7, 1, 8}, every[] = {3, 1, 8, 4};
            t.cfg.engine = (*e)->name, t.cfg.threads = 1 + kind % 2, t.cfg.worlds = counts[kind], t.first = firsts[kind];
            double *const found = recorded(m, &t, every[kind], kind == 1 ? CONTROL : TABLE);
            for (int k = 0; k <= STEPS / every[kind]; k++) {
                const double *const a = expected + ((size_t)(k * every[kind]) * WORLDS + (size_t)t.first) * n,
                                    *const b = found + (size_t)k * (size_t)t.cfg.worlds * n;
                for (size_t i = 0; i < (size_t)t.cfg.worlds * n; i++)
                    ck_assert_msg(!memcmp(&a[i], &b[i], sizeof *a),
                                  "%s, batch %d, record %d, number %zu of world %d: %.17g, not %.17g", (*e)->name, kind, k, i % n,
                                  t.first + (int)(i / n), b[i], a[i]);
            }
            free(found);
        }
    free(expected), free(force), ctn_model_free(m);
}
END_TEST

/// Worlds on a device say what those on a CPU say, side by side, one along its links, or all along theirs; with constants of their
/// own; saved states go on on the other machine.
START_TEST(on_a_device)
{
    static const struct {
        ctn_method method;
        ctn_parallel parallel;
        bool rubs, own;
    } ways[] = {{CTN_RK4, CTN_PARALLEL_WORLDS, false, true},        {CTN_COLLOCATION, CTN_PARALLEL_WORLDS, true, false},
                {CTN_RADAU, CTN_PARALLEL_WORLDS, true, true},       {CTN_ALPHA, CTN_PARALLEL_LINKS, false, false},
                {CTN_COLLOCATION, CTN_PARALLEL_BOTH, false, false}, {CTN_RADAU, CTN_PARALLEL_BOTH, false, false}};
    enum { WORLDS = 4, OWN = 3 };
    const bool late = _i % 2;
    const int way = _i / 2;
    ctn_model *const m = model_of(ways[way].rubs ? late ? RUBBING EACH : RUBBING SOME : late ? PENDULUM EACH : PENDULUM SOME);
    const size_t nq = (size_t)ctn_model_nq(m), n = (size_t)ctn_model_sensor_numbers(m);
    const ctn_parameter list[OWN] = {{.kind = CTN_GRAVITY, .index = 2},
                                     {.kind = CTN_MASS_SCALE, .index = 1},
                                     {.kind = CTN_STIFFNESS, .index = 0}};  // of a spring that the model has not
    double q[WORLDS * 6], v[WORLDS * NV], force[WORLDS * STEPS * NV], values[WORLDS * OWN];
    rng r = {19};
    for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, q + w * nq, v + w * NV);
    for (int k = 0; k < WORLDS * STEPS * NV; k++) force[k] = rng_uniform(&r, -2, 2);
    for (int k = 0; k < WORLDS * OWN; k++) values[k] = k % OWN ? rng_uniform(&r, 0.5, 2) : rng_uniform(&r, -12, -2);
    trial t = {.cfg = ctn_batch_config_default(), .force = force, .q = q, .v = v, .numbers = (int)n};
    t.cfg.worlds = WORLDS, t.cfg.dt = 0.01, t.cfg.method = ways[way].method, t.cfg.parallel = ways[way].parallel;
    if (t.cfg.parallel != CTN_PARALLEL_WORLDS) t.cfg.lanes = 8;
    if (ways[way].own) t.cfg.parameters = list, t.cfg.parameter_count = OWN, t.values = values;
    for (int how = 0; how < WAYS_TO_FORCE; how++)
        for (int every = 1; every <= (how == SET ? 1 : 4); every += 3) {
            t.cfg.engine = "scalar", t.then = NULL;
            double *const expected = recorded(m, &t, every, how);
            for (int trip = 0; trip < 2; trip++) {
                t.cfg.engine = trip ? "scalar" : "cuda", t.then = trip ? "cuda" : NULL;
                if (trip && every == 4) t.cfg.engine = "cuda", t.then = "scalar";
                double *const found = recorded(m, &t, every, how);
                for (size_t k = 0; k < (size_t)(STEPS / every + 1) * WORLDS * n; k++)
                    ck_assert_msg(!memcmp(&expected[k], &found[k], sizeof *found),
                                  "forces %d, every %d, trip %d, record %zu, world %zu, number %zu: %.17g, not %.17g", how, every,
                                  trip, k / n / WORLDS, k / n % WORLDS, k % n, found[k], expected[k]);
                free(found);
            }
            free(expected);
        }
    ctn_model_free(m);
}
END_TEST

/// Accelerations and joint forces are those under the force of the last step, and as ctn_sensors has them.
START_TEST(forces_of_the_last_step)
{
    ctn_model *const m = model_of(PENDULUM SENSORS(""));
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_RK4;
    ctn_batch *const batch = batch_with(m, &cfg);
    double q[6], v[NV], is[40], expected[40], table[3 * NV];
    const int n = ctn_model_sensor_numbers(m), late = ctn_model_sensor(m, ctn_model_find_sensor(m, "late"))->first;
    for (int k = 0; k < 3 * NV; k++) table[k] = 0.1 * k - 0.7;
    for (int k = 0; k < 4; k++) {
        const double *const tau = k == 0 ? NULL : k == 1 ? table : k == 2 ? table + 2 * NV : NULL;
        if (k == 1) ctn_batch_set_force(batch, table);  // before the first step: it acts
        if (k == 2) ck_assert_int_eq(ctn_batch_run(batch, &(ctn_run){.steps = 3, .force = table}, NULL, NULL), CTN_OK);
        if (k == 3) ctn_batch_set_force(batch, NULL), ctn_batch_step(batch, 1, NULL, NULL);
        ctn_batch_state(batch, q, v);
        ctn_batch_sensors(batch, is, NULL);
        ctn_sensors(dyn, 1, q, v, tau, expected);
        for (int i = 0; i < n; i++)
            ck_assert_msg(i == late || is[i] == expected[i], "%d: number %d: %.17g, not %.17g", k, i, is[i], expected[i]);
    }
    ctn_batch_free(batch), ctn_dynamics_free(dyn), ctn_model_free(m);
}
END_TEST

// ---- beside friction and a ground

static const struct {
    ctn_method method;
    int order;
} beside[] = {{CTN_COLLOCATION, 2}, {CTN_RADAU, 2}, {CTN_ALPHA, 2}, {CTN_RK4, 2}};
enum { BESIDE = sizeof beside / sizeof *beside, ON_GROUND = 3 };  // the last one would need smaller steps on a ground

static ctn_batch *batch_beside(const ctn_model *m, int way, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = beside[way].method, cfg.order = beside[way].order, cfg.dt = dt, cfg.tolerance = 1e-13;
    return batch_with(m, &cfg);
}

/// A joint that sticks and then slides under a force that grows: what the joint feels and how it accelerates, friction as it was
/// at the end of the step.
START_TEST(joint_friction)
{
    ctn_model *const m = model_of(
        "catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - {name: a, joint: {type: revolute, friction: 0.5, damping: 0.1}, mass: 1,\n"
        "     inertia: [1, 1, 2, 0, 0, 0]}\nsensors:\n  - {name: force, type: joint_force, joint: a}\n"
        "  - {name: acceleration, type: joint_acceleration, joint: a}\n  - {name: energy, type: energy}\n");
    ctn_batch *const batch = batch_beside(m, _i, 0.001);
    for (int k = 0; k < 2000; k++) {
        double x[3], q, v;
        ctn_totals t;
        const double tau = 0.0005 * k;
        ctn_batch_set_force(batch, &tau);
        ck_assert_int_eq(ctn_batch_step(batch, 1, NULL, NULL), CTN_OK);
        ctn_batch_sensors(batch, x, NULL), ctn_batch_state(batch, &q, &v), ctn_batch_totals(batch, &t);
        ck_assert_msg(fabs(x[1] - x[0] / 2) < 1e-12, "%g N m make %g rad/s2", x[0], x[1]);
        ck_assert_msg(fabs(x[2] - t.kinetic - t.potential - t.spring) < 1e-14, "%g J, and %g by the totals", x[2],
                      t.kinetic + t.potential + t.spring);
        if (k < 900)  // on bristles, which follow the force
            ck_assert_msg(q < 0.001 && fabs(x[0]) < 0.07, "step %d: sticks with %g N m at %g", k, x[0], q);
        if (k > 1300)
            ck_assert_msg(fabs(x[0] - (tau - 0.5 - 0.1 * v)) < 1e-12, "step %d: slides with %g N m, not %g", k, x[0],
                          tau - 0.5 - 0.1 * v);
    }
    ctn_batch_free(batch), ctn_model_free(m);
}
END_TEST

/// A block on a slope, which stays or slides: an accelerometer feels the ground as the block does.
START_TEST(on_the_ground)
{
    for (int slides = 0; slides < 2; slides++) {
        char text[1200];
        const double angle = 0.35, friction = slides ? 0.2 : 0.5, g = 9.81;
        snprintf(text, sizeof text,
                 "catena: 1\nground: {normal: [%.17g, 0, %.17g]}\ncontact: {friction: %.17g, depth: 0.001}\nlinks:\n"
                 "  - {name: block, euler: [0, %.17g, 0], joint: free, mass: 2, inertia: [0.01, 0.01, 0.01, 0, 0, 0],\n"
                 "     shapes: [{type: box, size: [0.3, 0.3, 0.1], center: [0, 0, 0.05]}]}\n"
                 "sensors:\n  - {name: felt, type: accelerometer, link: block}\n  - {name: com, type: com_acceleration}\n"
                 "  - {name: turns, type: angular_acceleration, link: block}\n  - {name: energy, type: energy}\n",
                 sin(angle), cos(angle), friction, angle);
        ctn_model *const m = model_of(text);
        ctn_batch *const batch = batch_beside(m, _i, 0.01);
        double x[10];
        ctn_totals t;
        ctn_batch_sensors(batch, x, NULL);
        ck_assert_msg(fabs(x[5] + g) < 1e-12, "falls at first, as nothing is remembered: %g m/s2", x[5]);
        ctn_batch_step(batch, 400, NULL, NULL), ctn_batch_sensors(batch, x, NULL), ctn_batch_totals(batch, &t);
        const double along = slides ? g * (sin(angle) - friction * cos(angle)) : 0;
        // less gravity, in the axes of the block: x down the slope
        const double felt[3] = {along - g * sin(angle), 0, g * cos(angle)}, com[3] = {along * cos(angle), 0, -along * sin(angle)};
        for (int k = 0; k < 3; k++) {
            ck_assert_msg(fabs(x[k] - felt[k]) < 1e-8, "feels [%d] %.12g, not %.12g", k, x[k], felt[k]);
            ck_assert_msg(fabs(x[3 + k] - com[k]) < 1e-8, "goes [%d] with %.12g, not %.12g", k, x[3 + k], com[k]);
            ck_assert_msg(fabs(x[6 + k]) < 1e-6, "turns [%d] with %.12g", k, x[6 + k]);
        }
        const double E = t.kinetic + t.potential + t.spring;
        ck_assert_msg(fabs(x[9] - E) < 1e-13 * fabs(E) && t.spring > 0, "%.17g J, and %.17g by the totals", x[9], E);
        ctn_batch_free(batch), ctn_model_free(m);
    }
}
END_TEST

/// A saved state goes on with what it remembers.
START_TEST(saved_beside)
{
    ctn_model *const m = model_of(RUBBING SENSORS(""));
    ctn_batch *const a = batch_beside(m, 0, 0.01), *const b = batch_beside(m, 0, 0.01);
    double x[2][40];
    ctn_batch_step(a, 100, NULL, NULL);
    const size_t size = ctn_batch_saved_size(a);
    void *const block = malloc(size);
    ctn_batch_save(a, block);
    ck_assert_int_eq(ctn_batch_restore(b, block, size, NULL), CTN_OK);
    ctn_batch_sensors(a, x[0], NULL), ctn_batch_sensors(b, x[1], NULL);
    ck_assert(!memcmp(x[0], x[1], (size_t)ctn_model_sensor_numbers(m) * sizeof *x[0]));
    double q[6], v[NV];
    ctn_batch_state(a, q, v), ctn_batch_set_state(b, q, v, 0, NULL), ctn_batch_sensors(b, x[1], NULL);
    ck_assert_msg(memcmp(x[0], x[1], 3 * sizeof *x[0]), "set anew, nothing is remembered");
    free(block), ctn_batch_free(a), ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

static void stops_not(void *context, int first, int count, const double *time, const double *q, const double *v, double *tau)
{
    (void)context, (void)first, (void)count, (void)time, (void)q, (void)v, (void)tau;
}

typedef struct {
    double said[100][40];  // at each step
    int numbers;
} listener;

static void listen(void *context, int first, int count, const double *time, const double *sensors, const double *q,
                   const double *v, double *tau)
{
    listener *const to = context;
    (void)q, (void)v;
    ck_assert(first == 0 && count == 1);
    memcpy(to->said[(int)lround(time[0] / 0.01)], sensors, (size_t)to->numbers * sizeof *sensors);
    tau[0] = -sensors[0], tau[1] = 0.1 * sensors[1];
}

/// A control that asks for sensors is told what ctn_batch_sensors would say, with noise and delay.
START_TEST(sensed_control)
{
    ctn_model *const m = model_of(PENDULUM SENSORS(", noise: 0.1, delay: 0.02"));
    static listener all, one;
    all.numbers = one.numbers = ctn_model_sensor_numbers(m);
    ctn_batch_config cfg = ctn_batch_config_default();
    ctn_batch *const a = batch_with(m, &cfg), *const b = batch_with(m, &cfg);
    const ctn_run run = {.steps = 12, .sensed = listen, .context = &all}, step = {.steps = 1, .sensed = listen, .context = &one};
    ck_assert_int_eq(ctn_batch_run(a, &run, NULL, NULL), CTN_OK);
    for (int k = 0; k < 12; k++) {
        double is[40];
        ctn_batch_sensors(b, is, NULL);
        ck_assert_int_eq(ctn_batch_run(b, &step, NULL, NULL), CTN_OK);
        ck_assert_msg(!memcmp(is, one.said[k], (size_t)all.numbers * sizeof *is), "step %d", k);
    }
    ck_assert(!memcmp(all.said, one.said, sizeof all.said));
    ctn_error err;
    const ctn_run both = {.steps = 1, .sensed = listen, .control = stops_not, .context = &all};
    ck_assert(ctn_batch_run(a, &both, NULL, &err) == CTN_BAD_ARGUMENT && strstr(err.message, "not both"));
    ctn_batch_free(a), ctn_batch_free(b), ctn_model_free(m);
    ctn_model *const none = model_of(PENDULUM);
    ctn_batch *const c = batch_with(none, &cfg);
    ck_assert(ctn_batch_run(c, &run, NULL, &err) == CTN_BAD_ARGUMENT && strstr(err.message, "the model has no sensors"));
    ctn_batch_free(c), ctn_model_free(none);
}
END_TEST

/// Wrenches and parameters of worlds count, along the links, too.
START_TEST(what_worlds_have)
{
    ctn_model *const m = model_of("catena: 1\nlinks: [{name: a, joint: free, mass: 2, inertia: [1, 1, 1, 0, 0, 0]}]\n"
                                  "sensors:\n  - {name: s, type: accelerometer, link: a}\n  - {name: c, type: com_acceleration}\n"
                                  "  - {name: l, type: linear_momentum}\n");
    const ctn_parameter list[2] = {{.kind = CTN_GRAVITY, .index = 2}, {.kind = CTN_MASS_SCALE, .index = 0}};
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.worlds = 3, cfg.parameters = list, cfg.parameter_count = 2, cfg.method = CTN_RK4;
    for (int along = 0; along < 2; along++) {
        cfg.parallel = along ? CTN_PARALLEL_LINKS : CTN_PARALLEL_WORLDS, cfg.parameter_count = along ? 0 : 2;
        ctn_batch *const batch = batch_with(m, &cfg);
        const double values[6] = {-9.81, 1, -1, 1, -2, 2};  // gravity, and what the mass is multiplied by
        if (!along) ck_assert_int_eq(ctn_batch_set_parameters(batch, values, NULL), CTN_OK);
        ck_assert_int_eq(ctn_batch_set_wrench(batch, 1, 0, &(ctn_wrench){.force = {6, 0, 0}}, NULL), CTN_OK);
        ctn_batch_step(batch, 10, NULL, NULL);
        double x[3][9];
        ctn_batch_sensors(batch, x[0], NULL);
        for (int w = 0; w < 3; w++) {
            const double g = along ? -9.81 : values[2 * w], mass = along ? 2 : 2 * values[2 * w + 1], a = w == 1 ? 6 / mass : 0;
            const double expected[9] = {a, 0, 0, a, 0, g, 0.1 * mass * a, 0, 0.1 * mass * g};
            for (int k = 0; k < 9; k++)
                ck_assert_msg(fabs(x[w][k] - expected[k]) < 1e-12, "%d: world %d, number %d: %.17g, not %g", along, w, k, x[w][k],
                              expected[k]);
        }
        ctn_batch_free(batch);
    }
    ctn_model_free(m);
}
END_TEST

// ---- delay

static volatile int stop;
static void stops(void *context, int first, int count, const double *time, const double *q, const double *v, double *tau)
{
    (void)context, (void)first, (void)count, (void)q, (void)v, (void)tau;
    if (time[0] > 0.065) stop = 1;
}

/// What is said is what was measured at least so long ago; before that, the start. Saved states go on with it, and interrupted
/// calls do not change it.
START_TEST(delays)
{
    ctn_model *const now = model_of(PENDULUM "sensors:\n  - {name: s, type: joint_position, joint: a, dof: 1}\n"),
                     *const late = model_of(PENDULUM "sensors:\n"
                                                     "  - {name: s, type: joint_position, joint: a, dof: 1, delay: 0.025}\n"
                                                     "  - {name: t, type: joint_position, joint: a, dof: 1}\n"
                                                     "  - {name: u, type: joint_position, joint: a, dof: 1, delay: 0.01}\n");
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_RK4, cfg.dt = 0.01;
    enum { TIMES = 20 };
    double is[TIMES], x[3];
    ctn_batch *const a = batch_with(now, &cfg);
    cfg.interrupt = &stop, stop = 0;
    ctn_batch *b = batch_with(late, &cfg);
    for (int k = 0; k < TIMES; k++) {
        ctn_batch_sensors(a, &is[k], NULL), ctn_batch_sensors(b, x, NULL);
        const double expected[3] = {is[k < 3 ? 0 : k - 3], is[k], is[k < 1 ? 0 : k - 1]};
        for (int i = 0; i < 3; i++)
            ck_assert_msg(x[i] == expected[i], "step %d, sensor %d: %.17g, not %.17g", k, i, x[i], expected[i]);
        if (k == 5) {  // into another batch
            const size_t size = ctn_batch_saved_size(b);
            void *const block = malloc(size);
            ctn_batch_save(b, block);
            ctn_batch_free(b), b = batch_with(late, &cfg);
            ck_assert_int_eq(ctn_batch_restore(b, block, size, NULL), CTN_OK);
            free(block);
        }
        if (k == 6) {
            const ctn_run run = {.steps = 4, .control = stops};
            ck_assert_int_eq(ctn_batch_run(b, &run, NULL, NULL), CTN_INTERRUPTED);
            stop = 0;
        }
        ctn_batch_step(a, 1, NULL, NULL), ctn_batch_step(b, 1, NULL, NULL);
    }
    double q[6], v[NV], first;
    ctn_batch_state(b, q, v);
    ctn_batch_set_state(b, q, v, 0, NULL), ctn_batch_step(b, 2, NULL, NULL), ctn_batch_sensors(b, x, NULL);
    first = x[0];
    ctn_batch_set_state(b, q, v, 0, NULL), ctn_batch_sensors(b, x, NULL);
    ck_assert_msg(first == x[1], "set anew, it begins anew: %.17g, not %.17g", first, x[1]);
    ctn_batch_free(a), ctn_batch_free(b), ctn_model_free(now), ctn_model_free(late);
}
END_TEST

// ---- noise

/// Mean, deviation and neighbours of noise are those of independent normal numbers; it goes by world, seed and time alone.
START_TEST(noise)
{
    ctn_model *const m = model_of("catena: 1\nlinks: [{name: a, joint: revolute, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}]\n"
                                  "sensors:\n  - {name: p, type: joint_position, joint: a, noise: 0.5}\n"
                                  "  - {name: r, type: position, link: a, noise: [0, 2, 0.25]}\n"
                                  "  - {name: o, type: orientation, link: a, noise: [0, 0, 0.01]}\n");
    ctn_batch_config cfg = ctn_batch_config_default();
    enum { WORLDS = 50, TIMES = 400, N = WORLDS * TIMES, NUMBERS = 8 };
    cfg.worlds = WORLDS, cfg.method = CTN_EULER;
    ctn_batch *const batch = batch_with(m, &cfg);
    static double x[TIMES][WORLDS][NUMBERS];
    for (int k = 0; k < TIMES; k++) ctn_batch_sensors(batch, x[k][0], NULL), ctn_batch_step(batch, 1, NULL, NULL);
    static const struct {
        int number;
        double deviation;
    } of[] = {{0, 0.5}, {2, 2}, {3, 0.25}, {7, 0.005}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        double sum = 0, squares = 0, next = 0, beside = 0, other = 0;
        const int j = of[i].number, k2 = of[(i + 1) % 4].number;
        for (int k = 0; k < TIMES; k++)
            for (int w = 0; w < WORLDS; w++) {
                const double d = x[k][w][j] / of[i].deviation;
                sum += d, squares += d * d;
                if (k) next += d * x[k - 1][w][j] / of[i].deviation;
                if (w) beside += d * x[k][w - 1][j] / of[i].deviation;
                other += d * x[k][w][k2] / of[(i + 1) % 4].deviation;
            }
        const double four = 4 / sqrt(N);  // standard errors
        ck_assert_msg(fabs(sum / N) < four && fabs(squares / N - 1) < sqrt(2) * four, "%zu: mean %g, variance %g", i, sum / N,
                      squares / N);
        ck_assert_msg(fabs(next / N) < four && fabs(beside / N) < four && fabs(other / N) < four, "%zu: %g %g %g", i, next / N,
                      beside / N, other / N);
    }
    for (int w = 0; w < WORLDS; w++) ck_assert(x[3][w][1] == 0 && x[3][w][5] == 0 && x[3][w][6] == 0);
    // another batch, of some of these worlds, at a time of its own
    double q[2] = {0}, v[2] = {0}, again[2][NUMBERS], seeded[2][NUMBERS];
    cfg.worlds = 2;
    ctn_batch *const two = batch_with(m, &cfg);
    ctn_batch_set_state(two, q, v, 0, NULL), ctn_batch_number_worlds(two, 0, 7), ctn_batch_step(two, 9, NULL, NULL);
    ctn_batch_sensors(two, again[0], NULL);
    ck_assert(!memcmp(again, x[9][7], sizeof again));
    ctn_batch_number_worlds(two, 1, 7), ctn_batch_sensors(two, seeded[0], NULL);
    ck_assert(seeded[0][0] != again[0][0] && seeded[1][0] != again[1][0]);
    ctn_batch_free(batch), ctn_batch_free(two), ctn_model_free(m);
}
END_TEST

// ---- what is refused

static void refused(const char *text, ctn_batch_config cfg, ctn_status status, const char *why)
{
    ctn_error err;
    ctn_model *const m = model_of(text);
    ck_assert_msg(!ctn_batch_create(m, &cfg, &err) && err.status == status && strstr(err.message, why), "%s", err.message);
    ctn_model_free(m);
}

START_TEST(refusals)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    const ctn_parameter step = {.kind = CTN_TIME_STEP};
    cfg.parameters = &step, cfg.parameter_count = 1;
    refused(PENDULUM SENSORS(""), cfg, CTN_BAD_CONFIG, "sensor 'late': has a `delay`, which goes with steps of one size");
    cfg = ctn_batch_config_default(), cfg.dt = 1e-9;
    refused(PENDULUM SENSORS(""), cfg, CTN_BAD_CONFIG, "sensor 'late': its `delay` of 0.03 s is 30000000 steps");
}
END_TEST

static Suite *suite(void)
{
    Suite *const s = suite_create("sensors");
    const bool device = getenv("CTN_CUDA_LIBRARY");  // without a C++ compiler it has no twin
    TCase *const t = tcase_create("sensors");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, rates);
    tcase_add_test(t, sums);
    tcase_add_test(t, joint_forces);
    tcase_add_test(t, reactions);
    tcase_add_test(t, reaction_of_a_foot);
    tcase_add_test(t, link_accelerations);
    tcase_add_test(t, rates_of_jacobians);
    tcase_add_test(t, names);
    tcase_add_test(t, falls_and_rests);
    tcase_add_test(t, centripetal);
    tcase_add_loop_test(t, same_bits, 0, 12);
    if (device) tcase_add_loop_test(t, on_a_device, 0, 12);
    tcase_add_test(t, forces_of_the_last_step);
    tcase_add_loop_test(t, joint_friction, 0, BESIDE);
    tcase_add_loop_test(t, on_the_ground, 0, ON_GROUND);
    tcase_add_test(t, saved_beside);
    tcase_add_test(t, what_worlds_have);
    tcase_add_test(t, sensed_control);
    tcase_add_test(t, delays);
    tcase_add_test(t, noise);
    tcase_add_test(t, refusals);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return run_suite(suite()); }

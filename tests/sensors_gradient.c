/// Gradients by what sensors measure (catena/sensors.h) against differences, for every type that has them, on random trees of all
/// joints; the same bits by every engine and count; what is refused.
#include "sim/engine/engine.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/tangent.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <catena/catena.h>
#include <math.h>
#include <stdlib.h>

static const ctn_sensor_type known[] = {
    CTN_SENSE_JOINT_POSITION, CTN_SENSE_JOINT_VELOCITY,    CTN_SENSE_POSITION, CTN_SENSE_ORIENTATION,  CTN_SENSE_POSE,
    CTN_SENSE_VELOCITY,       CTN_SENSE_ANGULAR_VELOCITY,  CTN_SENSE_TWIST,    CTN_SENSE_GYRO,         CTN_SENSE_VELOCIMETER,
    CTN_SENSE_DISTANCE,       CTN_SENSE_RELATIVE_POSITION, CTN_SENSE_COM,      CTN_SENSE_COM_VELOCITY, CTN_SENSE_TENDON_LENGTH,
    CTN_SENSE_TENDON_VELOCITY};
enum { KNOWN = sizeof known / sizeof *known, OF_LINKS = KNOWN - 2, TYPES = CTN_SENSE_TENDON_FORCE + 1 };

static bool is_known(ctn_sensor_type type)
{
    for (int k = 0; k < KNOWN; k++)
        if (known[k] == type) return true;
    return false;
}

/// Tendons along paths that begin in the world, with a pulley, to every link that moves; and one over joints.
static void add_tendons(FILE *out, const ctn_model *m, rng *r)
{
    const int n = ctn_model_nlink(m);
    int single = -1;
    fprintf(out, "tendons:\n");
    for (int l = 0; l < n; l++) {
        const ctn_link *const k = ctn_model_link(m, l);
        if (!k->nv) continue;
        if (k->joint != CTN_BALL && k->joint != CTN_FREE && k->nv == 1) single = l;
        fprintf(out, "  - {name: t%d, path: [{link: world, at: [0.3, 2, -1.2]}", l);
        for (int i = 0; i < 4; i++)
            fprintf(out, ", %s{link: %s, at: [%.17g, %.17g, %.17g]}", i == 2 ? "{pulley: 3}, " : "",
                    ctn_model_link(m, i ? rng_below(r, n) : l)->name, rng_uniform(r, -1, 1), rng_uniform(r, -1, 1),
                    rng_uniform(r, -1, 1));
        fprintf(out, "]}\n");
    }
    if (single >= 0) fprintf(out, "  - {name: belt, joints: {%s: 0.3}}\n", ctn_model_link(m, single)->name);
    fprintf(out, "sensors:\n");
    for (int l = 0; l < n; l++)
        for (int rate = 0; rate < 2 && ctn_model_link(m, l)->nv; rate++)
            fprintf(out, "  - {name: t%d-%d, type: tendon_%s, tendon: t%d}\n", l, rate, rate ? "velocity" : "length", l);
    for (int rate = 0; rate < 2 && single >= 0; rate++)
        fprintf(out, "  - {name: belt-%d, type: tendon_%s, tendon: belt}\n", rate, rate ? "velocity" : "length");
}

/// Every type that has gradients on every link, with points and axes of its own; some of others between them.
static char *sensed_scene(uint64_t seed, const random_options *options)
{
    char *const text = random_scene(seed, options), *all = NULL;
    ctn_model *const m = model_of(text);
    size_t size;
    rng r = {seed * 31};
    FILE *const out = open_memstream(&all, &size);
    fprintf(out, "%s\n", text);
    add_tendons(out, m, &r);
    for (int l = 0; l < ctn_model_nlink(m); l++) {
        const ctn_link *const k = ctn_model_link(m, l), *const other = ctn_model_link(m, rng_below(&r, ctn_model_nlink(m)));
        for (int i = 0; i < OF_LINKS; i++) {
            const ctn_sensor_type t = known[i];
            const bool joint = t <= CTN_SENSE_JOINT_VELOCITY, tree = t >= CTN_SENSE_COM,
                       pair = t == CTN_SENSE_DISTANCE || t == CTN_SENSE_RELATIVE_POSITION;
            const bool turned = t == CTN_SENSE_ORIENTATION || t == CTN_SENSE_POSE || t == CTN_SENSE_GYRO ||
                                t == CTN_SENSE_VELOCIMETER || t == CTN_SENSE_RELATIVE_POSITION;
            const bool pointed = t != CTN_SENSE_ORIENTATION && t != CTN_SENSE_GYRO && t != CTN_SENSE_ANGULAR_VELOCITY;
            double p[9];
            for (int c = 0; c < 9; c++) p[c] = rng_uniform(&r, -1, 1);
            if ((joint || tree) && !k->nv) continue;
            fprintf(out, "  - {name: %s-%s, type: %s, %s: %s", ctn_sensor_type_name(t), k->name, ctn_sensor_type_name(t),
                    joint ? "joint" : "link", k->name);
            if (!joint && !tree && pointed) fprintf(out, ", point: [%.17g, %.17g, %.17g]", p[0], p[1], p[2]);
            if (turned) fprintf(out, ", euler: [%.17g, %.17g, %.17g]", 3 * p[3], p[4], 3 * p[5]);
            if (pair && rng_below(&r, 3)) fprintf(out, ", to_link: %s", other->name);
            if (pair) fprintf(out, ", to_point: [%.17g, %.17g, %.17g]", p[6], p[7], p[8]);
            fprintf(out, "}\n");
        }
        if (k->nv && k->joint != CTN_BALL && k->joint != CTN_FREE)
            for (int t = CTN_SENSE_JOINT_POSITION; t <= CTN_SENSE_JOINT_VELOCITY; t++)
                fprintf(out, "  - {name: one-%d-%s, type: %s, joint: %s, dof: %d}\n", t, k->name,
                        ctn_sensor_type_name((ctn_sensor_type)t), k->name, k->nv - 1);
        fprintf(out, "  - {name: felt-%s, type: accelerometer, link: %s}\n", k->name, k->name);
    }
    fprintf(out, "  - {name: com, type: com}\n  - {name: com-velocity, type: com_velocity}\n  - {name: all, type: energy}\n");
    fclose(out);
    ctn_model_free(m), free(text);
    return all;
}

static const random_options kinds[] = {
    {.links = 7, .passive = true},
    {.links = 6, .floating = true, .free_armature = true, .passive = true},
    {.links = 8, .chain = true},
    {.links = 5, .chain = true, .floating = true, .joints = 1u << CTN_BALL | 1u << CTN_FREE | 1u << CTN_UNIVERSAL},
    {.links = 9, .joints = 1u << CTN_REVOLUTE | 1u << CTN_PRISMATIC | 1u << CTN_UNIVERSAL | 1u << CTN_BALL | 1u << CTN_FIXED},
    {.links = 6, .fluid = true, .stream = true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/// A model and some of its states.
typedef struct {
    ctn_model *m;
    ctn_dynamics *dyn;
    size_t nq, nv, numbers;
    double *q, *v;  // [count]
} place;

static place place_of(uint64_t seed, int count)
{
    char *const text = sensed_scene(seed, &kinds[seed % KINDS]);
    place x = {.m = model_of(text)};
    rng r = {seed};
    x.dyn = ctn_dynamics_create(x.m, "scalar", NULL);
    x.nq = (size_t)ctn_model_nq(x.m), x.nv = (size_t)ctn_model_nv(x.m), x.numbers = (size_t)ctn_model_sensor_numbers(x.m);
    x.q = calloc((size_t)count * x.nq + 1, sizeof *x.q), x.v = calloc((size_t)count * x.nv + 1, sizeof *x.v);
    for (int k = 0; k < count; k++) random_state(x.m, &r, x.q + (size_t)k * x.nq, x.v + (size_t)k * x.nv);
    free(text);
    return x;
}

static void leave(place *x) { ctn_dynamics_free(x->dyn), ctn_model_free(x->m), free(x->q), free(x->v); }

/// Turns quaternions to the side of those at the state itself: where w passes 0, they jump.
static void same_side(const place *x, const double *there, double *values)
{
    for (int k = 0; k < ctn_model_nsensor(x->m); k++) {
        const ctn_sensor *const s = ctn_model_sensor(x->m, k);
        const int at = s->type == CTN_SENSE_ORIENTATION ? s->first : s->type == CTN_SENSE_POSE ? s->first + 3 : -1;
        double along = 0;
        for (int i = 0; at >= 0 && i < 4; i++) along += values[at + i] * there[at + i];
        for (int i = 0; along < 0 && i < 4; i++) values[at + i] *= -1;
    }
}

/// Differences of the fourth order, of all that is measured, along degree of freedom j of q or of v: slope [numbers].
static void slope(const place *x, const double *there, size_t j, bool by_v, double *slope)
{
    const double h = 1e-3, factor[] = {8, -8, -1, 1}, step[] = {h, -h, 2 * h, -2 * h};
    double *const q = calloc(x->nq + 2 * x->nv + x->numbers, sizeof *q), *const v = q + x->nq, *const unit = v + x->nv,
                  *const values = unit + x->nv;
    unit[j] = 1;
    memset(slope, 0, x->numbers * sizeof *slope);
    for (int k = 0; k < 4; k++) {
        memcpy(q, x->q, x->nq * sizeof *q), memcpy(v, x->v, x->nv * sizeof *v);
        if (by_v) v[j] += step[k];
        else tangent_move(x->m, x->q, unit, step[k], q);
        ctn_sensors(x->dyn, 1, q, v, NULL, values);
        same_side(x, there, values);
        for (size_t i = 0; i < x->numbers; i++) slope[i] += factor[k] * values[i] / (12 * h);
    }
    free(q);
}

/// Every number of every sensor by every coordinate and velocity.
START_TEST(differences)
{
    double worst = 0;
    bool met[TYPES] = {false};
    FOR_SEEDS(seed, 60)
    {
        place x = place_of(seed, 1);
        double *const expected = calloc(2 * x.nv * x.numbers + x.numbers, sizeof *expected), *const there =
                                                                                                 expected + 2 * x.nv * x.numbers;
        double *const by = calloc(x.numbers + 2 * x.nv, sizeof *by), *const by_q = by + x.numbers, *const by_v = by_q + x.nv;
        ctn_sensors(x.dyn, 1, x.q, x.v, NULL, there);
        for (size_t j = 0; j < 2 * x.nv; j++) slope(&x, there, j % x.nv, j >= x.nv, expected + j * x.numbers);
        for (int k = 0; k < ctn_model_nsensor(x.m); k++) {
            const ctn_sensor *const s = ctn_model_sensor(x.m, k);
            if (!is_known(s->type)) continue;
            met[s->type] = true;
            for (int i = s->first; i < s->first + s->count; i++) {
                by[i] = 1;
                for (size_t j = 0; j < x.nv; j++) by_q[j] = by_v[j] = NAN;
                ctn_sensors_gradient(x.dyn, 1, x.q, x.v, by, by_q, by_v);
                by[i] = 0;
                for (size_t j = 0; j < 2 * x.nv; j++) {
                    const double right = expected[j * x.numbers + (size_t)i], off = fabs(by_q[j] - right) / (1 + fabs(right));
                    worst = worse(worst, off);
                    ck_assert_msg(off < 1e-8, "seed %llu: number %d of %s by %s[%zu]: expected %.12g, got %.12g",
                                  (unsigned long long)seed, i - s->first, s->name, j < x.nv ? "q" : "v", j % x.nv, right,
                                  by_q[j]);
                }
            }
        }
        free(expected), free(by), leave(&x);
    }
    for (int k = 0; k < KNOWN && !getenv("CTN_SEED"); k++) ck_assert_msg(met[known[k]], "%s", ctn_sensor_type_name(known[k]));
    printf("largest difference: %.1e\n", worst);
}
END_TEST

/// Gradients by several numbers add up; those by types that have none are not looked at; each output may be left out; the same
/// bits by every engine, one by one and many at once.
START_TEST(together)
{
    enum { COUNT = 7 };
    FOR_SEEDS(seed, 24)
    {
        place x = place_of(seed, COUNT);
        rng r = {seed * 7};
        const size_t n = x.numbers, nv = x.nv, all = COUNT * nv;
        double *const by = calloc(COUNT * n + n + 8 * all, sizeof *by), *const one = by + COUNT * n, *const sum = one + n,
                      *const first = sum + 2 * all, *const other = first + 2 * all, *const part = other + 2 * all;
        for (size_t k = 0; k < COUNT * n; k++) by[k] = rng_uniform(&r, -1, 1);
        for (int k = 0; k < ctn_model_nsensor(x.m); k++) {
            const ctn_sensor *const s = ctn_model_sensor(x.m, k);
            for (int w = 0; w < COUNT; w++)
                for (int i = s->first; i < s->first + s->count && !is_known(s->type); i++) by[(size_t)w * n + (size_t)i] = NAN;
        }
        for (int w = 0; w < COUNT; w++) {
            const double *const q = x.q + (size_t)w * x.nq, *const v = x.v + (size_t)w * nv;
            for (size_t i = 0; i < n; i++) {
                one[i] = by[(size_t)w * n + i];
                ctn_sensors_gradient(x.dyn, 1, q, v, one, part, part + nv);
                one[i] = 0;
                for (size_t j = 0; j < nv; j++) sum[(size_t)w * nv + j] += part[j], sum[all + (size_t)w * nv + j] += part[nv + j];
            }
            ctn_sensors_gradient(x.dyn, 1, q, v, by + (size_t)w * n, first + (size_t)w * nv, first + all + (size_t)w * nv);
        }
        for (size_t k = 0; k < 2 * all; k++)
            ck_assert_msg(fabs(first[k] - sum[k]) <= 1e-12 * (1 + fabs(sum[k])) * (double)n, "seed %llu: %.17g, sum %.17g",
                          (unsigned long long)seed, first[k], sum[k]);
        for (const ctn_engine *const *e = engines_available(); *e; e++) {
            ctn_dynamics *const dyn = ctn_dynamics_create(x.m, (*e)->name, NULL);
            ctn_sensors_gradient(dyn, COUNT, x.q, x.v, by, other, other + all);
            ck_assert_msg(!memcmp(first, other, 2 * all * sizeof *first), "seed %llu: %s", (unsigned long long)seed, (*e)->name);
            for (size_t k = 0; k < 2 * all; k++) other[k] = NAN;
            ctn_sensors_gradient(dyn, COUNT, x.q, x.v, by, other, NULL);
            ctn_sensors_gradient(dyn, COUNT, x.q, x.v, by, NULL, other + all);
            ck_assert_msg(!memcmp(first, other, 2 * all * sizeof *first), "seed %llu: %s", (unsigned long long)seed, (*e)->name);
            ctn_dynamics_free(dyn);
        }
        ctn_sensors_gradient(x.dyn, 0, x.q, x.v, by, other, other + all);  // no state: nothing is written
        ck_assert(!memcmp(first, other, 2 * all * sizeof *first));
        memset(by, 0, COUNT * n * sizeof *by), memset(sum, 0, 2 * all * sizeof *sum);
        ctn_sensors_gradient(x.dyn, COUNT, x.q, x.v, by, other, other + all);
        ck_assert(!memcmp(sum, other, 2 * all * sizeof *sum));
        free(by), leave(&x);
    }
}
END_TEST

/// A distance of 0 has no direction.
START_TEST(no_distance)
{
    ctn_model *const m = model_of("catena: 1\nlinks:\n  - {name: a, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: "
                                  "[1, 1, 1, 0, 0, 0]}\nsensors: [{name: d, type: distance, link: a, to_point: [0, 0, 0]}]\n");
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    double q = 0, v = 1, by = 1, by_q, by_v;
    ctn_sensors_gradient(dyn, 1, &q, &v, &by, &by_q, &by_v);
    ck_assert(by_q == 0 && by_v == 0);
    q = -2;
    ctn_sensors_gradient(dyn, 1, &q, &v, &by, &by_q, &by_v);
    ck_assert(by_q == -1 && by_v == 0);
    ctn_dynamics_free(dyn), ctn_model_free(m);
}
END_TEST

START_TEST(refused)
{
    ctn_model *const m = model_of("catena: 1\nlinks:\n  - {name: a, joint: revolute, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
                                  "sensors:\n  - {name: tip, type: position, link: a}\n  - {name: felt, type: imu, link: a}\n"
                                  "  - {name: turn, type: joint_velocity, joint: a}\n");
    ctn_error err = {0};
    ck_assert_int_eq(ctn_model_sensor_numbers(m), 10);
    ck_assert_int_eq(ctn_sensors_have_gradients(m, (int[]){0, 2, 9}, 3, &err), CTN_OK);
    ck_assert_int_eq(ctn_sensors_have_gradients(m, (int[]){0}, 0, &err), CTN_OK);
    ck_assert_int_eq(ctn_sensors_have_gradients(m, (int[]){9, 8}, 2, &err), CTN_UNAVAILABLE);
    ck_assert_str_eq(err.message, "sensor 'felt': the type imu has no gradient; types that have one are those of positions and "
                                  "velocities of joints, of frames on links, of centres of mass and of lengths of tendons");
    ck_assert_int_eq(ctn_sensors_have_gradients(m, NULL, 0, &err), CTN_UNAVAILABLE);
    ck_assert_int_eq(ctn_sensors_have_gradients(m, (int[]){10}, 1, &err), CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "ctn_sensors_have_gradients: expected numbers of sensors, 0 to 9, found 10");
    ck_assert_int_eq(ctn_sensors_have_gradients(m, (int[]){-1}, 1, NULL), CTN_BAD_ARGUMENT);
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("sensors_gradient");
    TCase *const tests = tcase_create("gradients");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, differences);
    tcase_add_test(tests, together);
    tcase_add_test(tests, no_distance);
    tcase_add_test(tests, refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}

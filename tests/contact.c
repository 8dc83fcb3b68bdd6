/// Contact with the ground (contact/law.h): golden forces and steps, what sticks and slides, depth, the same bits everywhere,
/// keys of scenes, and what takes no ground. What falls: tests/contact_energy.c.
#include "tests/kernels.h"

#include <lapacke.h>

#include "sim/model/contact_points.h"
#include "sim/model/model.h"
#include "sim/model/spinning.h"
#include "tests/golden.h"
#include "tests/ground_checks.h"
#include "tests/ground_scenes.h"
#include "tests/random_scene.h"
#include "tests/scene_check.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/worse.h"

static const struct {
    ctn_method method;
    int stages;
} methods[] = {{CTN_COLLOCATION, 1}, {CTN_RADAU, 1}, {CTN_RADAU, 2}, {CTN_RADAU, 3}, {CTN_ALPHA, 1}};
enum { METHODS = sizeof methods / sizeof *methods };

static ctn_batch_config config_of(int k, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = methods[k].method, cfg.dt = dt;
    if (cfg.method == CTN_RADAU) cfg.stages = methods[k].stages;
    if (cfg.method == CTN_COLLOCATION) cfg.order = 2;
    return cfg;
}

// ---- golden data

static double number_of(const cJSON *of, const char *key)
{
    const cJSON *const x = cJSON_GetObjectItem(of, key);
    ck_assert_msg(cJSON_IsNumber(x), "no number %s", key);
    return x->valuedouble;
}

static void numbers_of(const cJSON *of, const char *key, int n, double *to)
{
    double *const x = golden_numbers(of, key, n);
    memcpy(to, x, (size_t)n * sizeof *x);
    free(x);
}

static mat3 axes_of(const cJSON *of, const char *key)
{
    double q[4];
    numbers_of(of, key, 4, q);
    return quat_rotation(quat_normalised(quat_load(q)));
}

/// Points of a shape in its link's frame, as the golden data have them. Returns how many.
static int points_of(const cJSON *shape, double at[8][3], double *radius)
{
    const char *const type = cJSON_GetObjectItem(shape, "type")->valuestring;
    *radius = strcmp(type, "box") ? number_of(shape, "radius") : 0;
    if (!strcmp(type, "sphere")) {
        numbers_of(shape, "center", 3, at[0]);
        return 1;
    }
    if (!strcmp(type, "capsule")) {
        numbers_of(shape, "from", 3, at[0]), numbers_of(shape, "to", 3, at[1]);
        return 2;
    }
    double size[3], center[3] = {0, 0, 0};
    numbers_of(shape, "size", 3, size);
    if (cJSON_GetObjectItem(shape, "center")) numbers_of(shape, "center", 3, center);
    const cJSON *const turn = cJSON_GetObjectItem(shape, "rotation");
    const mat3 R = turn ? axes_of(shape, "rotation") : quat_rotation((quat){1, 0, 0, 0});
    for (int k = 0; k < 8; k++) {
        const vec3 c =
            mul(R, vec((k & 1 ? 0.5 : -0.5) * size[0], (k & 2 ? 0.5 : -0.5) * size[1], (k & 4 ? 0.5 : -0.5) * size[2]));
        at[k][0] = center[0] + c.x, at[k][1] = center[1] + c.y, at[k][2] = center[2] + c.z;
    }
    return 8;
}

/// The block of a load as a 6 x 6 matrix, angular before linear.
static void dense_block(const inertia6 *P, double H[36])
{
    for (int k = 0; k < 6; k++) {
        twist t;
        t.w = vec(k == 0, k == 1, k == 2), t.v = vec(k == 3, k == 4, k == 5);
        const wrench w = inertia_times(P, t);
        const double column[6] = {w.n.x, w.n.y, w.n.z, w.f.x, w.f.y, w.f.z};
        for (int i = 0; i < 6; i++) H[6 * i + k] = column[i];
    }
}

/// Energy, gradient, second derivatives, forces and memory of single points: shapes against planes.
START_TEST(golden_forces)
{
    cJSON *const file = golden_json("contact", "forces.json");
    const cJSON *c;
    int compared = 0, rubbed = 0;
    cJSON_ArrayForEach(c, cJSON_GetObjectItem(file, "plane"))
    {
        const cJSON *const law = cJSON_GetObjectItem(c, "law"), *const plane = cJSON_GetObjectItem(c, "plane");
        if (strcmp(cJSON_GetObjectItem(law, "normal_model")->valuestring, "penalty")) continue;
        double at[8][3], radius, p[3], before[3], lag[8] = {0}, z[24] = {0}, E = 0, H[36] = {0}, g[6] = {0}, block[36], want[36];
        const int points = points_of(cJSON_GetObjectItem(c, "shape"), at, &radius);
        const double friction = number_of(law, "friction"), tangent = number_of(law, "tangent_stiffness");
        lane_model m = {.relaxation = 0};
        numbers_of(plane, "normal", 3, m.ground);
        const double length = sqrt(m.ground[0] * m.ground[0] + m.ground[1] * m.ground[1] + m.ground[2] * m.ground[2]);
        for (int k = 0; k < 3; k++) m.ground[k] /= length;
        m.ground[3] = number_of(plane, "height");
        const mat3 R = axes_of(c, "rotation"), R_k = axes_of(c, "rotation_before");
        numbers_of(c, "position", 3, p), numbers_of(c, "position_before", 3, before);
        if (friction > 0) numbers_of(c, "lagged_normal_force", points, lag), numbers_of(c, "memory_before", 3 * points, z);
        double gap[8], force[8], pulls[24], kept[24];
        numbers_of(c, "gap", points, gap), numbers_of(c, "normal_force", points, force);
        if (friction > 0) numbers_of(c, "friction_force", 3 * points, pulls), numbers_of(c, "memory_after", 3 * points, kept);
        for (int k = 0; k < points; k++) {
            lane_point_load s = {.flags = LOAD_TOUCHES, .radius = radius, .grip = number_of(law, "stiffness")};
            memcpy(s.point, at[k], sizeof s.point);
            load_state held = {.arm = mul(R_k, load3(at[k])), .gap = add(load3(before), mul(R_k, load3(at[k])))};
            const vec3 u = sub(add(load3(p), mul(R, load3(at[k]))), held.gap), memory = load3(z + 3 * k);
            const touch t = touch_at(&m, &s, &held, R_k, R, u, memory, NULL);
            const normal_law N = press_on(&m, &s, &t, t.gap, 100);
            ck_assert_msg(fabs(t.gap - gap[k]) < 1e-12 && fabs(N.force - force[k]) < 1e-9, "gap %g, force %g", t.gap, N.force);
            // the normal force alone, then friction alone, as the two have a stiffness each
            body_load L = no_load(true), safe = no_load(false);
            E += add_contact(&L, &m, &s, &t, 100, 0), add_contact(&safe, &m, &s, &t, 100, 0);
            s.grip = tangent, s.friction = friction;
            lane_model far = m;
            far.ground[3] = -1e3;
            const touch above = touch_at(&far, &s, &held, R_k, R, u, memory, NULL);
            if (friction > 0) {
                E += add_contact(&L, &far, &s, &above, 100, lag[k]), add_contact(&safe, &far, &s, &above, 100, lag[k]);
                const friction_law F = rub_on(ground_normal(&m), t.s, tangent, friction * lag[k]);
                const vec3 after = kept_slip(&s, t.s, N.force, N.force);
                const double got[6] = {-F.g.x, -F.g.y, -F.g.z, after.x, after.y, after.z};
                for (int i = 0; i < 3; i++)
                    ck_assert_msg(fabs(got[i] - pulls[3 * k + i]) < 1e-9 && fabs(got[3 + i] - kept[3 * k + i]) < 1e-12,
                                  "friction %g, not %g; memory %g, not %g", got[i], pulls[3 * k + i], got[3 + i],
                                  kept[3 * k + i]);
                rubbed++;
            }
            dense_block(&L.P, block);
            const double w[6] = {L.w.n.x, L.w.n.y, L.w.n.z, L.w.f.x, L.w.f.y, L.w.f.z};
            for (int i = 0; i < 36; i++) H[i] += block[i];
            for (int i = 0; i < 6; i++) g[i] += w[i];
            // what is left when curvature is dropped is never negative
            double least[6];
            dense_block(&safe.P, block);
            ck_assert_int_eq(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', 6, block, 6, least), 0);
            ck_assert_msg(least[0] > -1e-9 * (1 + least[5]), "eigenvalue %g", least[0]);
        }
        const double energy = number_of(c, "energy");
        ck_assert_msg(fabs(E - energy) < 1e-10 * (1 + fabs(energy)), "energy %.12g, not %.12g", E, energy);
        numbers_of(c, "gradient", 6, want);
        ck_assert_msg(relative_error(g, want, 6) < 1e-10, "gradient off by %g", relative_error(g, want, 6));
        numbers_of(c, "hessian", 36, want);
        ck_assert_msg(relative_error(H, want, 36) < 1e-9, "second derivatives off by %g", relative_error(H, want, 36));
        compared++;
    }
    ck_assert_msg(compared >= 8 && rubbed >= 8, "%d cases, %d with friction", compared, rubbed);
    cJSON_Delete(file);
}
END_TEST

/// Gives a model the contact points of a golden file and the law of one of its runs.
static void plant_contacts(ctn_model *m, const cJSON *file, const cJSON *run)
{
    const cJSON *const points = cJSON_GetObjectItem(file, "points"), *p;
    m->ncontact = 0;
    m->loads = realloc(m->loads, ((size_t)m->nload + (size_t)cJSON_GetArraySize(points)) * sizeof *m->loads);
    numbers_of(file, "normal", 3, m->ground);
    const double length = sqrt(m->ground[0] * m->ground[0] + m->ground[1] * m->ground[1] + m->ground[2] * m->ground[2]);
    for (int k = 0; k < 3; k++) m->ground[k] /= length;
    m->ground[3] = number_of(file, "height"), m->relaxation = 0;
    cJSON_ArrayForEach(p, points)
    {
        int link = 0;
        while (strcmp(ctn_model_link(m, link)->name, cJSON_GetObjectItem(p, "link")->valuestring)) link++;
        point_load *const o = &m->loads[m->nload];
        *o = (point_load){.body = m->frames[link].body, .number = m->nload, .link = link, .flags = LOAD_TOUCHES, .first = 1};
        o->contact = m->ncontact++, m->nload++;
        o->radius = number_of(p, "radius"), o->grip = number_of(run, "stiffness"), o->friction = number_of(run, "friction");
        ck_assert(number_of(run, "tangent_stiffness") == o->grip);
        double at[3];
        numbers_of(p, "position", 3, at);
        body_point(m, link, at, o->point);
    }
    m->nbent = m->ncontact;
    model_sort_loads(m);
    ck_assert(find_spinning(m));
}

/// Steps of order 2 on the ground, friction with one more pass: coordinates, velocities, normal forces and memory. The golden
/// memory is cut by the normal force of the end alone; ours, by the force that has bent it, too. Each step begins with the golden
/// one.
START_TEST(golden_steps)
{
    static const char *const models[] = {"box-slope-stick", "box-tumble", "chain3-friction"};
    cJSON *const file = golden_json(models[_i], "contact_law_steps.json");
    const cJSON *run;
    int compared = 0, cut = 0;
    cJSON_ArrayForEach(run, cJSON_GetObjectItem(file, "runs"))
    {
        if (strcmp(cJSON_GetObjectItem(run, "normal_model")->valuestring, "penalty") || number_of(run, "passes") != 1) continue;
        ctn_model *const model = golden_model(models[_i]);
        plant_contacts(model, file, run);
        lane_model *const m = scalar_lanes(model);
        const int nq = m->nq, nv = m->nv, n = m->ncontact;
        ctn_batch_config cfg = config_of(0, number_of(run, "dt"));
        cfg.tolerance = 1e-13;
        m->dt = cfg.dt;
        void *const state = aligned_alloc(64, state_size(m, &cfg) + 64), *const work = aligned_alloc(64, work_size(m, &cfg) + 64);
        memset(work, 0, work_size(m, &cfg));
        block_state S = open_state(m, &cfg, state);
        block_work W = open_work(m, &cfg, work);
        const cJSON *const steps = cJSON_GetObjectItem(run, "steps");
        const cJSON *step = cJSON_GetArrayItem(steps, 0);
        double *q = golden_numbers(step, "q", nq), *v = golden_numbers(step, "v", nv);
        block_set(m, &cfg, &S, &W, q, v);
        if (cJSON_GetObjectItem(step, "normal_force")) numbers_of(step, "normal_force", n, S.press);
        for (step = step->next; step; step = step->next) {
            block_counts counts = {0};
            free(q), free(v);
            block_step(m, &cfg, &S, &W, 1, 1, true, &counts);
            ck_assert(counts.frozen == 0);
            q = golden_numbers(step, "q", nq), v = golden_numbers(step, "v", nv);
            const double *const now = block_velocity(m, &cfg, &S, &W);
            double *const force = golden_numbers(step, "normal_force", n), *const memory = golden_numbers(step, "memory", 3 * n),
                          *const rubs = golden_numbers(step, "friction_force", 3 * n);
            double most = 0, worst = coordinate_distance(model, S.q, q), off = 0;
            for (int k = 0; k < nv; k++) worst = worse(worst, fabs(now[k] - v[k]));
            for (int k = 0; k < n; k++) {
                most = fmax(most, force[k]), off = worse(off, fabs(S.press[k] - force[k]));
                const vec3 golden = load3(memory + 3 * k), pull = load3(rubs + 3 * k);
                const double kept = sqrt(dot(golden, golden)), held = sqrt(dot(pull, pull)) / number_of(run, "stiffness");
                const vec3 miss = sub_scaled(S.slip[k], golden, kept > held ? held / kept : 1);
                worst = worse(worst, sqrt(dot(miss, miss)));
                cut += kept > held * (1 + 1e-9), S.slip[k] = golden;
            }
            ck_assert_msg(worst < 1e-8 && off <= 1e-7 * fmax(most, 1), "%s, dt %g, step %d: off by %g, forces by %g of %g N",
                          models[_i], cfg.dt, compared, worst, off, most);
            ck_assert(counts.flow.dissipated > -1e-9);
            free(force), free(memory), free(rubs), compared++;
        }
        free(q), free(v), free(state), free(work), free(m), ctn_model_free(model);
    }
    ck_assert_msg(compared >= 20 && (cut || _i == 0), "%d steps, %d memories cut", compared, cut);
    cJSON_Delete(file);
}
END_TEST

/// Steps of order 2 by the law as published, alone and with the drag as published: points are balls that have hardly a radius.
START_TEST(published)
{
    cJSON *const file = golden_json("contact-chain3", "contact_steps.json");
    const cJSON *run, *step;
    static const char *const joints[] = {"joint: free",
                                         "parent: a, position: [0.3, 0, 0], joint: {type: revolute, axis: [0, 1, 0]}",
                                         "parent: b, position: [0.3, 0, 0], joint: {type: revolute, axis: [0, 0.6, 0.8]}"};
    static const char *const points[] = {"0, 0.3", "0.3", "0.15, 0.3"};
    int compared = 0, touched = 0;
    cJSON_ArrayForEach(run, cJSON_GetObjectItem(file, "runs"))
    {
        char text[2000];
        if (number_of(run, "D1") == 0) continue;
        int n =
            snprintf(text, sizeof text, "catena: 1\nground: true\ncontact: {law: as-published, D1: %.17g, D2: %.17g}\nlinks:\n",
                     number_of(run, "D1"), number_of(run, "D2"));
        for (int k = 0; k < 3; k++) {
            n += snprintf(
                text + n, sizeof text - (size_t)n,
                "  - {name: %c, %s, mass: 0.6729, com: [0.15, 0, 0], inertia: [0.0002957, 0.006664, 0.006664, 0, 0, 0],\n"
                "     shapes: [",
                'a' + k, joints[k]);
            double x[2];
            const int count = sscanf(points[k], "%lf, %lf", &x[0], &x[1]);
            for (int i = 0; i < count; i++)
                n += snprintf(text + n, sizeof text - (size_t)n, "{type: sphere, radius: 1e-12, center: [%.17g, 0, 0]}, ", x[i]);
            n += snprintf(text + n, sizeof text - (size_t)n, "]}\n");
        }
        if (number_of(run, "drag") > 0)
            snprintf(text + n, sizeof text - (size_t)n, "fluid: {drag: {law: as-published, coefficient: %.17g}}\n",
                     number_of(run, "drag"));
        ctn_model *const m = model_of(text);
        ck_assert_int_eq(ctn_model_ncontact(m), 5);
        ctn_batch_config cfg = config_of(0, number_of(run, "dt"));
        cfg.tolerance = 1e-13;
        ctn_batch *const b = batch_with(m, &cfg);
        cJSON_ArrayForEach(step, cJSON_GetObjectItem(run, "steps"))
        {
            double *const q = golden_numbers(step, "q", 9), *const v = golden_numbers(step, "v", 8), x[9], w[8];
            if (step == cJSON_GetObjectItem(run, "steps")->child) ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
            else {
                ctn_step_stats s;
                ctn_batch_step(b, 1, &s, NULL), touched += s.touching > 0;
                ck_assert_int_le(s.iterations_max, 12);
            }
            ctn_batch_state(b, x, w);
            ck_assert_msg(coordinate_distance(m, x, q) < 1e-10 && relative_error(w, v, 8) < 1e-8,
                          "dt %g, step %d: off by %.3g, %.3g", number_of(run, "dt"), compared % 21, coordinate_distance(m, x, q),
                          relative_error(w, v, 8));
            free(q), free(v), compared++;
        }
        ctn_batch_free(b), ctn_model_free(m);
    }
    ck_assert_msg(compared == 84 && touched > 40, "%d steps, %d touch", compared, touched);
    cJSON_Delete(file);
}
END_TEST

// ---- closed forms

#define BLOCK                                                                                                                    \
    "catena: 1\nground: {normal: [%.17g, 0, %.17g]}\ncontact: {friction: %.17g, depth: %.17g}\nlinks:\n"                         \
    "  - {name: block, position: [0, 0, 0], euler: [0, %.17g, 0], joint: free, mass: 2, inertia: [0.01, 0.01, 0.01, 0, 0, 0],\n" \
    "     shapes: [{type: box, size: [0.3, 0.3, 0.1], center: [0, 0, 0.05]}]}\n"

/// A block on a slope of `angle`, standing on it.
static ctn_model *block_on_slope(double angle, double friction, double depth)
{
    char text[1000];
    snprintf(text, sizeof text, BLOCK, sin(angle), cos(angle), friction, depth, angle);
    return model_of(text);
}

/// Below the angle of friction a block comes to rest and stays, at any step: nothing creeps.
START_TEST(block_sticks)
{
    static const double steps[] = {1 / 240., 1 / 60., 0.05, 0.1};
    ctn_model *const m = block_on_slope(0.35, 0.5, 0.001);  // tan 0.35 = 0.365
    for (int h = 0; h < 4; h++) {
        const ctn_batch_config cfg = config_of(_i, steps[h]);
        ctn_batch *const b = batch_with(m, &cfg);
        double q[7], v[6], later[7];
        ctn_batch_step(b, (int)(10 / steps[h]), NULL, NULL), ctn_batch_state(b, q, v);
        ctn_batch_step(b, (int)(10 / steps[h]), NULL, NULL), ctn_batch_state(b, later, v);
        for (int k = 0; k < 6; k++) ck_assert_msg(fabs(v[k]) < 1e-12, "dt %g: v[%d] %g m/s", steps[h], k, v[k]);
        for (int k = 0; k < 3; k++)
            ck_assert_msg(fabs(later[k] - q[k]) < 1e-10, "dt %g: goes on by %g", steps[h], later[k] - q[k]);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

/// Above it, it slides with g (sin a - f cos a).
START_TEST(block_slides)
{
    static const double steps[] = {1 / 240., 1 / 60., 0.05};
    const double angle = 0.6, friction = 0.3, want = 9.81 * (sin(angle) - friction * cos(angle));
    ctn_model *const m = block_on_slope(angle, friction, 0.001);
    for (int h = 0; h < 3; h++) {
        ctn_batch_config cfg = config_of(_i, steps[h]);
        cfg.tolerance = 1e-12;
        ctn_batch *const b = batch_with(m, &cfg);
        double q[7], v[6], later[6];
        const int n = (int)(4 / steps[h]);
        ctn_batch_step(b, (int)(4 / steps[h]), NULL, NULL), ctn_batch_state(b, q, v);
        ctn_batch_step(b, n, NULL, NULL), ctn_batch_state(b, q, later);
        const double along = (later[0] - v[0]) * cos(angle) - (later[2] - v[2]) * sin(angle);
        ck_assert_msg(fabs(along / (n * steps[h]) - want) < 1e-9, "dt %g: %.12g m/s2, not %.12g", steps[h],
                      along / (n * steps[h]), want);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

/// A ball sinks by the depth of the scene, where it carries all the weight; without one by 0.5 % of the extent of its tree.
START_TEST(depth)
{
    for (int given = 0; given < 2; given++) {
        char text[500];
        snprintf(
            text, sizeof text,
            "catena: 1\nground: {height: -1}\n%slinks:\n  - {name: a, joint: free, mass: 3, inertia: [0.01, 0.01, 0.01, 0, 0, "
            "0], shapes: [{type: sphere, radius: 0.2}]}\n",
            given ? "contact: {depth: 0.01}\n" : "");
        ctn_model *const m = model_of(text);
        const ctn_batch_config cfg = config_of(_i, 1 / 60.);
        ctn_batch *const b = batch_with(m, &cfg);
        double q[7], v[6];
        ctn_step_stats s;
        ctn_batch_step(b, 900, &s, NULL), ctn_batch_state(b, q, v);
        const double want = given ? 0.01 : 0.005 * m->bodies[0].extent;
        ck_assert_msg(fabs(q[2] - (-1 + 0.2 - want)) < 1e-9 && fabs(v[2]) < 1e-9, "at %.12g, not %.12g, %g m/s", q[2],
                      -0.8 - want, v[2]);
        ck_assert_msg(s.spring_after > 0 && fabs(s.spring_after - 0.5 * 3 * 9.81 * want) < 1e-9, "stores %g J", s.spring_after);
        ctn_totals t;
        ctn_batch_totals(b, &t);
        ck_assert_msg(fabs(t.spring - s.spring_after) < 1e-12, "stores %g J, and %g by the totals", s.spring_after, t.spring);
        ck_assert(s.frozen == 0);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

// ---- bits

static const struct {
    ctn_method method;
    int stages, steps;
    double dt;
    bool adaptive;
} ways[] = {{CTN_COLLOCATION, 1, 80, 0.02, false}, {CTN_RADAU, 1, 80, 0.02, false},
            {CTN_RADAU, 2, 80, 0.02, false},       {CTN_RADAU, 3, 80, 0.02, false},
            {CTN_ALPHA, 1, 80, 0.02, false},       {CTN_SEMI_IMPLICIT, 1, 800, 1e-3, false},
            {CTN_RK4, 1, 800, 1e-3, false},        {CTN_VARIATIONAL, 1, 800, 1e-3, false},
            {CTN_DOP853, 1, 40, 0.02, true},       {CTN_RADAU, 2, 40, 0.02, true}};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config config_of_way(int way)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = ways[way].dt, cfg.adaptive = ways[way].adaptive;
    if (cfg.method == CTN_RADAU) cfg.stages = ways[way].stages;
    return cfg;
}

/// What the points of a block on a slope tell, sticking and sliding: together they carry what rests; friction is below f l, or f l
/// itself, up the slope; what is deep is pressed.
START_TEST(told)
{
    for (int slides = 0; slides < 2; slides++) {
        const double angle = slides ? 0.6 : 0.35, friction = slides ? 0.3 : 0.5;
        const double n[3] = {sin(angle), 0, cos(angle)}, down[3] = {cos(angle), 0, -sin(angle)};
        ctn_model *const m = block_on_slope(angle, friction, 0.05);
        const ctn_batch_config cfg = config_of_way(_i);
        ctn_batch *const b = batch_with(m, &cfg);
        double x[8][CTN_CONTACT_NUMBERS], sum[3] = {0, 0, 0};
        ck_assert_int_eq(ctn_model_ncontact(m), 8);
        ck_assert_int_eq(ctn_batch_contacts(b, x[0], NULL), CTN_OK);
        for (int k = 0; k < 8; k++) ck_assert(fabs(x[k][5]) < 1e-9);  // not pressed yet
        ck_assert_int_eq(ctn_batch_step(b, (int)(6 / cfg.dt), NULL, NULL), CTN_OK);
        ck_assert_int_eq(ctn_batch_contacts(b, x[0], NULL), CTN_OK);
        for (int k = 0; k < 8; k++) {
            ctn_contact_point p;
            ck_assert(ctn_model_contact(m, k, &p) && p.link == 0 && p.radius == 0 && p.friction == friction);
            ck_assert_double_eq_tol(p.stiffness, 2 * 9.81 / 0.05, 1e-9);
            ck_assert_double_eq_tol(fabs(p.point[0]), 0.15, 1e-15);
            const bool low = p.point[2] < 0.05;
            double l = 0, f = 0, at = 0, across = fabs(x[k][4]);
            for (int i = 0; i < 3; i++)
                l += n[i] * x[k][3 + i], f -= down[i] * x[k][3 + i], at += n[i] * x[k][i], sum[i] += x[k][3 + i];
            ck_assert_msg(x[k][7] == (low ? slides ? CTN_SLIDES : CTN_STICKS : CTN_APART), "point %d: %g", k, x[k][7]);
            ck_assert_double_eq_tol(x[k][6], -at, 1e-12);
            ck_assert_msg(low ? x[k][6] > 0 && l > 0.1 : x[k][6] < -0.05 && l == 0, "point %d: %g N at %g m", k, l, x[k][6]);
            ck_assert_msg(across < 1e-6 && f <= friction * l * (1 + 1e-12), "point %d: %g of %g N", k, f, l);
            if (slides) ck_assert_msg(fabs(f - friction * l) < 1e-9 * 20, "point %d: %g of %g N", k, f, l);
            else if (low) ck_assert_msg(fabs(l - p.stiffness * x[k][6]) < 1e-6, "point %d: %g N at %g m", k, l, x[k][6]);
        }
        const double weight = 2 * 9.81, force = slides ? weight * cos(angle) : weight;
        for (int i = 0; i < 3; i++) {
            const double want = slides ? force * (n[i] - friction * down[i]) : i == 2 ? weight : 0;
            ck_assert_msg(fabs(sum[i] - want) < 1e-5 * weight, "slides %d: %g N, not %g", slides, sum[i], want);
        }
        ck_assert(!ctn_model_contact(m, 8, &(ctn_contact_point){0}) && !ctn_model_contact(m, -1, &(ctn_contact_point){0}));
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

/// On every engine, in batches of any size, and after a state was saved.
START_TEST(same_bits)
{
    for (uint64_t seed = 1; seed < 3; seed++) {
        double q[GROUND_MOST], v[GROUND_MOST];
        ctn_model *const m = ground_model(GROUND_TREE, seed, 0.05, q, v);
        check_bits_of_contact(m, config_of_way(_i), q, v, 0.6, ways[_i].steps / 2, ways[_i].steps);
        ctn_model_free(m);
    }
}
END_TEST

START_TEST(published_bits)
{
    double q[8] = {0, 0, 0, 0.96, 0, 0.28, 0, 0.5}, v[7] = {0.8, 0.2, -0.5, 0.3, 0.5, 0.2, 1};
    ctn_model *const m = model_of(
        "catena: 1\nground: true\ncontact: {law: as-published, D1: 800, D2: 60}\nlinks:\n"
        "  - {name: a, joint: free, " MASS ", shapes: [{type: capsule, from: [-0.2, 0, 0], to: [0.2, 0, 0], radius: 0.05}]}\n"
        "  - {name: b, parent: a, position: [0.2, 0, 0], joint: {type: revolute, axis: [0, 1, 0]}, " MASS
        ", shapes: [{type: box, size: [0.4, 0.1, 0.1], center: [0.2, 0, 0]}]}\n");
    check_bits_of_contact(m, config_of(0, 0.02), q, v, 0.1, 20, 100);
    ctn_model_free(m);
}
END_TEST

// ---- scenes; what takes no ground

#define BALL(contact) LINKS "  - {name: a, joint: free, " MASS ", shapes: [{type: sphere, radius: 1" contact "}]}\n"

START_TEST(keys)
{
    ctn_scene *const scene =
        parse("catena: 1\nground: {height: 2, normal: [0, 0, 3]}\ncontact: {friction: 0.4, depth: 0.01, "
              "relaxation: 0.3}\nlinks:\n"
              "  - {name: a, joint: free, " MASS ", shapes: [{type: sphere, radius: 1, contact: {friction: 2}}, "
              "{type: cylinder, from: [0, 0, 0], to: [0, 0, 1], radius: 1, contact: false}]}\n"
              "  - {name: b, parent: a, joint: fixed, position: [0, 0, 5], " MASS
              ", shapes: [{type: capsule, from: [0, 0, 0], to: [1, 0, 0], radius: 0.5}]}\n"
              "  - {name: c, joint: fixed, shapes: [{type: box, size: [1, 1, 1]}]}\n");
    ctn_error err = {0};
    ctn_model *const m = ctn_model_create(scene, &err);
    ck_assert_msg(m, "%s", err.message);
    ck_assert(m->ncontact == 3 && m->ground[2] == 1 && m->ground[3] == 2 && m->relaxation == 0.3);
    ck_assert(m->loads[0].friction == 2 && m->loads[1].friction == 0.4 && m->loads[1].point[2] == 5 && m->loads[2].point[0] == 1);
    ck_assert(m->loads[0].radius == 1 && m->loads[1].radius == 0.5);
    ck_assert_double_eq_tol(m->loads[0].grip, 2 * 9.81 / 0.01, 1e-9);
    ctn_model_free(m), ctn_scene_free(scene);
    ctn_scene *const unused = parse("catena: 1\ncontact: {friction: 0.4}\nlinks:\n" A);
    ck_assert_msg(strstr(ctn_scene_warnings(unused), "contact: not used: the scene has no `ground`"), "%s",
                  ctn_scene_warnings(unused));
    ctn_scene_free(unused);
    static const char *const bad[][2] = {
        {"ground: 3\n", "ground: expected"},
        {"ground: {normal: [0, 0, 0]}\n", "ground.normal: "},
        {"ground: true\ncontact: {friction: -1}\n", "contact.friction: expected a number >= 0"},
        {"ground: true\ncontact: {depth: 0}\n", "contact.depth: expected a positive number"},
        {"ground: true\ncontact: {frictoin: 1}\n", "contact.frictoin: unknown key; did you mean"},
        {"ground: true\ncontact: {law: coulomb}\n", "contact.law: expected bristles or as-published"},
        {"ground: true\ncontact: {law: as-published}\n", "contact: law: as-published has no D1"},
        {"ground: true\ncontact: {law: as-published, D1: 0}\n", "contact.D1: expected a positive number"},
        {"ground: true\ncontact: {law: as-published, D1: 1, D2: -1}\n", "contact.D2: expected a number >= 0"},
        {"ground: true\ncontact: {law: as-published, D1: 1, depth: 1}\n", "contact.depth: law: as-published has D1 and D2"},
        {"ground: true\ncontact: {D1: 1}\n", "contact.D1: D1 and D2 are of `law: as-published`"},
        {"ground: true\ncontact: {law: as-published, D1: 1}\nobstacles: [{type: sphere, radius: 1}]\n",
         "knows a `ground` alone"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        char text[300];
        snprintf(text, sizeof text, "catena: 1\n%slinks:\n" A, bad[k][0]);
        ck_assert_ptr_null(ctn_scene_parse(text, strlen(text), "t.yaml", &err));
        ck_assert_msg(strstr(err.message, bad[k][1]), "%s", err.message);
    }
}
END_TEST

/// Without a ground, or with `contact: false`, nothing touches.
/// A start deeper than ten depths at rest is warned of, with the link that is the deepest for its tree.
START_TEST(deep_starts)
{
    static const struct {
        const char *links, *says;
    } starts[] = {
        {"{name: a, position: [0, 0, 0.951], joint: free, " MASS ", shapes: [{type: sphere, radius: 1}]}", NULL},
        {"{name: a, position: [0, 0, 0.949], joint: free, " MASS ", shapes: [{type: sphere, radius: 1}]}",
         "t.yaml:5:5: position: 'a' starts 0.051 m deep in the ground, where it rests at 0.005 m: it is thrown out; raise it, or "
         "give `contact` a larger depth"},
        // turned by 90 deg about y, x is down
        {"{name: a, position: [0, 0, 3], euler: [0, 1.5707963267948966, 0], joint: free, " MASS "}\n"
         "  - {name: b, parent: a, joint: {type: revolute, q0: 0.1}, position: [2, 0, 0], " MASS
         ", shapes: [{type: sphere, center: [1, 0, 0], radius: 0.2}]}\n"
         "  - {name: c, parent: b, joint: fixed, position: [1, 0, 0], " MASS
         ", shapes: [{type: capsule, from: [0, 0, 0], to: [0.5, 0, 0], radius: 0.1}]}",
         "t.yaml:7:5: position: 'c' starts 0.593 m deep in the ground, the deepest of 2 links, where it rests at 0.005 m"},
        // links that pass through each other
        {"{name: a, position: [0, 0, 1], joint: free, " MASS ", shapes: [{type: sphere, radius: 1}]}\n"
         "  - {name: b, position: [0, 0, 4], joint: free, " MASS ", shapes: [{type: sphere, radius: 1}]}",
         "t.yaml:6:5: shapes: links do not touch each other, but what is fixed: 'a' and 'b' pass through each other; write "
         "`contact: {between: all}` for links that do"},
        {"{name: a, position: [0, 0, 2], joint: free, " MASS ", shapes: [{type: sphere, radius: 1}]}\n"
         "  - chain: {name: c, count: 9, parent: a, step: [1, 0, 0], joint: ball, " MASS
         ", shapes: [{type: sphere, radius: 0.1}]}",
         "the chain to 'c.8' passes through itself where it folds up"},
        {"{name: a, position: [0, 0, 2], joint: free, " MASS ", shapes: [{type: sphere, radius: 1}]}\n"
         "  - chain: {name: c, count: 8, parent: a, step: [1, 0, 0], joint: ball, " MASS
         ", shapes: [{type: sphere, radius: 0.1}]}",
         NULL}};
    for (size_t k = 0; k < sizeof starts / sizeof *starts; k++) {
        char text[1200];
        snprintf(text, sizeof text, "catena: 1\nground: true\ncontact: {depth: 0.005}\nlinks:\n  - %s\n", starts[k].links);
        ctn_error err;
        ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
        ck_assert_msg(scene, "%s", err.message);
        ctn_model *const m = ctn_model_create(scene, &err);
        ck_assert_msg(m && warn_of_depth(scene, m), "%s", err.message);
        const char *const said = ctn_scene_warnings(scene);
        ck_assert_msg(starts[k].says ? strstr(said, starts[k].says) != NULL : !*said, "start %zu: %s", k, said);
        ctn_model_free(m), ctn_scene_free(scene);
    }
}
END_TEST

START_TEST(no_ground)
{
    ctn_model *const m = model_of(BALL("")), *const n = model_of("catena: 1\nground: true\n"
                                                                 "links:\n  - {name: a, joint: free, " MASS
                                                                 ", shapes: [{type: sphere, radius: 1, contact: false}]}\n");
    ck_assert(m->ncontact == 0 && m->nload == 0 && n->ncontact == 0);
    ctn_model_free(m), ctn_model_free(n);
}
END_TEST

START_TEST(refused)
{
    static const struct {
        ctn_method method;
        int order;
        ctn_solver solver;
        ctn_parallel parallel;
        const char *says;
    } no[] = {{CTN_VARIATIONAL, 4, CTN_NEWTON, CTN_PARALLEL_WORLDS, "order: variational takes a `ground` at order 2 alone"},
              {CTN_COLLOCATION, 4, CTN_NEWTON, CTN_PARALLEL_WORLDS, "order: collocation takes a `ground` at order 2 alone"},
              {CTN_COLLOCATION, 2, CTN_LM, CTN_PARALLEL_WORLDS, "solver: lm takes no `ground`"},
              {CTN_RK4, 2, CTN_NEWTON, CTN_PARALLEL_LINKS, "parallel: links takes no `ground` by rk4"}};
    ctn_model *const m = model_of("catena: 1\nground: true\n"
                                  "links:\n  - {name: a, joint: free, " MASS ", shapes: [{type: sphere, radius: 1}]}\n");
    ctn_error err = {0};
    for (size_t k = 0; k < sizeof no / sizeof *no; k++) {
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = no[k].method, cfg.order = no[k].order, cfg.solver = no[k].solver, cfg.parallel = no[k].parallel;
        ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
        ck_assert_msg(strstr(err.message, no[k].says), "%s", err.message);
    }
    ctn_model *const published = model_of("catena: 1\nground: true\ncontact: {law: as-published, D1: 100, D2: 3}\n"
                                          "links:\n  - {name: a, joint: free, " MASS ", shapes: [{type: sphere, radius: 1}]}\n");
    ctn_batch_config cfg = config_of(0, 0.01);
    cfg.method = CTN_ALPHA;
    ck_assert_ptr_null(ctn_batch_create(published, &cfg, &err));
    ck_assert_msg(strstr(err.message, "method: alpha takes no `contact` of `law: as-published`"), "%s", err.message);
    cfg.method = CTN_COLLOCATION, cfg.parallel = CTN_PARALLEL_LINKS;
    ck_assert_ptr_null(ctn_batch_create(published, &cfg, &err));
    ck_assert_msg(strstr(err.message, "parallel: links takes no `contact` of `law: as-published`"), "%s", err.message);
    cfg.parallel = CTN_PARALLEL_AUTO;
    const ctn_parameter friction = {CTN_GROUND_FRICTION, 0};
    cfg.parameters = &friction, cfg.parameter_count = 1;
    ck_assert_ptr_null(ctn_batch_create(published, &cfg, &err));
    ck_assert_msg(strstr(err.message, "ground_friction: `contact` of `law: as-published` has none"), "%s", err.message);
    ctn_model_free(published);
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("contact");
    TCase *const t = tcase_create("contact");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, golden_forces);
    tcase_add_loop_test(t, golden_steps, 0, 3);
    tcase_add_test(t, published);
    tcase_add_loop_test(t, block_sticks, 0, METHODS);
    tcase_add_loop_test(t, block_slides, 0, METHODS);
    tcase_add_loop_test(t, depth, 0, METHODS);
    tcase_add_loop_test(t, told, 0, WAYS);
    tcase_add_loop_test(t, same_bits, 0, WAYS);
    tcase_add_test(t, published_bits);
    tcase_add_test(t, keys);
    tcase_add_test(t, deep_starts);
    tcase_add_test(t, no_ground);
    tcase_add_test(t, refused);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

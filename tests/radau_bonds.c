/// Radau of several stages with loops and couplings: the order of places and velocities, what loops open by, the energy of a linkage,
/// what is left to order 2, and the same bits by every engine.
#include "tests/linkages.h"

static ctn_batch_config radau(int stages, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_RADAU, cfg.stages = stages, cfg.dt = dt, cfg.tolerance = 1e-14;
    return cfg;
}

// ---- models

/// Linkages, and a platform.
enum { CASES = LINKAGES + 1, COARSE = 40 };  // COARSE: steps of the coarser of two runs
static const bond_case platform = {"Stewart platform", NULL, 0.5};
static const bond_case *case_of(int i) { return i < LINKAGES ? &linkages[i] : &platform; }

/// Of a platform the servos are softer than the scene's: what is stiff lowers the order of stages (docs/integrators.md).
static ctn_model *model_of_case(const bond_case *c)
{
    static char text[20000];
    if (c->text) return model_of(c->text);
    FILE *const file = fopen(CATENA_SOURCE_DIR "/scenes/stewart-platform.yaml", "r");
    ck_assert(file != NULL);
    const size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file), text[n] = 0;
    for (char *at = text; (at = strstr(at, "kp: 2e5, kd: 2e4")) != NULL;) memcpy(at, "kp: 2e3, kd: 1e2", 16);
    return model_of(text);
}

// ---- order

/// Of places and velocities 2 s - 1, of s = 2 and 3, against 4 stages, which agree with what steps of order 2 come to.
START_TEST(order)
{
    const bond_case *const c = case_of(_i);
    ctn_model *const m = model_of_case(c);
    ended best, other, end;
    ck_assert(m->nq < MOST && m->nrow < MOST);
    run(m, radau(4, c->duration / 80), c->duration, &best);
    reference(m, c->duration, &other);
    const double off = coordinate_distance(m, best.q, other.q), off_v = farthest(best.v, other.v, m->nv);
    ck_assert_msg(off < 1e-6 && off_v < 3e-5, "%s: 4 stages are off by %g and %g", c->name, off, off_v);
    for (int stages = 2; stages < 4; stages++) {
        double error[2][2];
        for (int k = 0; k < 2; k++) {
            const ctn_step_stats s = run(m, radau(stages, c->duration / (COARSE << k)), c->duration, &end);
            error[0][k] = coordinate_distance(m, end.q, best.q), error[1][k] = farthest(end.v, best.v, m->nv);
            ck_assert_msg(!s.fewer_stages && s.substeps == s.steps, "%s: %ld steps of order 2", c->name, s.fewer_stages);
        }
        for (int i = 0; i < 2; i++) {
            const double found = log2(error[i][0] / error[i][1]), want = 2 * stages - 1;
            printf("%s, %d stages: order %.2f of %s, error %.2g\n", c->name, stages, found, i ? "v" : "q", error[i][1]);
            ck_assert_msg(error[i][1] < 1e-11 || (found > want - 0.5 && found < want + 0.7), "%s, %d stages: order %.2f of %s",
                          c->name, stages, found, i ? "v" : "q");
        }
    }
    ctn_model_free(m);
}
END_TEST

/// Velocities that are read keep to the loops: the energy that they have is that of the state.
START_TEST(velocities_keep_to_loops)
{
    ctn_model *const m = model_of(linkages[1].text);
    ctn_batch_config cfg = radau(2, 0.01);
    ctn_batch *const b = batch_with(m, &cfg);
    double q[2][3], v[3];
    for (int k = 0; k < 20; k++) {
        const double e = 1e-6;
        ctn_batch_step(b, 1, NULL, NULL), ctn_batch_state(b, q[0], v);
        double gap[2][2];
        for (int side = 0; side < 2; side++) {
            for (int j = 0; j < 3; j++) q[1][j] = q[0][j] + (side ? e : -e) * v[j];
            // crank + rod against ground + rocker; axes are [0, -1, 0]
            gap[side][0] = 0.2 * cos(q[1][0]) + 0.5 * cos(q[1][0] + q[1][1]) - 0.5 - 0.35 * cos(q[1][2]);
            gap[side][1] = 0.2 * sin(q[1][0]) + 0.5 * sin(q[1][0] + q[1][1]) - 0.35 * sin(q[1][2]);
        }
        for (int j = 0; j < 2; j++)
            ck_assert_msg(fabs(gap[1][j] - gap[0][j]) < 2 * e * 1e-7, "step %d: the loop opens by %g m/s", k,
                          (gap[1][j] - gap[0][j]) / (2 * e));
    }
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

// ---- what loops open by

START_TEST(loops_stay_closed) { check_stays_closed(_i, radau(2, 0.05)); }
END_TEST

// ---- energy

/// 3.09 J from the height of the start down to rest, of which order 2 takes 3.05.
START_TEST(a_linkage_keeps_its_energy)
{
    ctn_model *const m = model_of(linkages[0].text);
    const double two = lost(m, radau(2, 1. / 240)), three = lost(m, radau(3, 1. / 240));
    printf("lost: %g J by 2 stages, %g J by 3\n", two, three);
    ck_assert_msg(two > 0 && two < 5e-3 && three < 1e-5 && three > -1e-6, "lost: %g J by 2 stages, %g J by 3", two, three);
    ctn_model_free(m);
}
END_TEST

/// Large steps of closed linkages go on, and gain nothing.
START_TEST(large_steps)
{
    static const double dt[] = {0.02, 0.05, 0.1};
    for (size_t k = 0; k < sizeof dt / sizeof *dt; k++) {
        ctn_model *const m = model_of_case(case_of(_i));
        ended end;
        const ctn_step_stats s = run(m, radau(2, dt[k]), 100 * dt[k], &end);
        printf("%s, %g s: %ld of %ld parts by order 2\n", case_of(_i)->name, dt[k], s.fewer_stages, s.substeps);
        if (!m->nmotor)
            ck_assert_msg(s.energy_max < s.energy_before + 0.02 * fabs(s.energy_before) + 0.02, "%s: from %g up to %g J",
                          case_of(_i)->name, s.energy_before, s.energy_max);
        ctn_model_free(m);
    }
}
END_TEST

/// Springs and tendons, ground below, and more than the border holds: all of order 2.
START_TEST(others_are_left_to_order_2)
{
    static const char *const texts[] = {HINGES "tendons: [{joints: {a: 0.1, b: -0.05, d: 0.2}, stiffness: 500}]\n"
                                               "couplings: [{joint: b, follows: a, ratio: 2}]\n",
                                        "catena: 1\nground: {height: -5}\nlinks:\n" CHAIN(
                                            "joint: ball") "  - {name: e, position: [3, 0, 1], joint: free, density: 1000, "
                                                           "shapes: [{type: sphere, radius: 0.1}]}\n"
                                                           "loops: [{type: point, a: d, b: world, at: [0.3, 0.02, 0]}]\n"};
    ctn_model *const m = model_of(texts[_i]);
    ended end;
    const ctn_step_stats s = run(m, radau(2, 0.01), 0.1, &end);
    ck_assert_msg(s.fewer_stages == 10, "%ld steps of order 2", s.fewer_stages);
    ctn_model_free(m);
}
END_TEST

// ---- bits

START_TEST(same_bits)
{
    ctn_model *const m = model_of_case(case_of(_i));
    check_same_bits(m, case_of(_i)->name, radau(2 + _i % 2, 0.01));
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("radau_bonds");
    TCase *const t = tcase_create("radau_bonds");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, order, 0, CASES);
    tcase_add_test(t, velocities_keep_to_loops);
    tcase_add_loop_test(t, loops_stay_closed, 0, 3);
    tcase_add_test(t, a_linkage_keeps_its_energy);
    tcase_add_loop_test(t, large_steps, 0, CASES);
    tcase_add_loop_test(t, others_are_left_to_order_2, 0, 2);
    tcase_add_loop_test(t, same_bits, 0, CASES);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

/// Generalised-alpha with loops, couplings, tendons and springs between links: its order against another method, what loops open
/// by, the energy of a linkage, stops, and the same bits by every engine.
#include "tests/linkages.h"

static ctn_batch_config alpha(double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_ALPHA, cfg.dt = dt, cfg.tolerance = 1e-12;
    return cfg;
}

/// What has lengths, beside linkages.
static const bond_case lengths[] = {
    {"tendons", HINGES "tendons: [{joints: {a: 0.1, b: -0.05, d: 0.2}, stiffness: 500, damping: 20, rest: 0.01}]\n", 0.3},
    {"paths",
     BALLS LOOSE("f",
                 "0.9") "tendons: [{name: t, path: [{link: world, at: [0, 0.1, 1.1]}, {link: b, at: [0.1, 0.05, 0.1]}, {link: "
                        "b, at: [0.2, 0.1, 0]}, {link: d, at: [0.3, 0, 0.1]}, {link: f}], stiffness: 500, damping: 20, rest: "
                        "1.5},\n  {name: w, path: [{link: world}, {link: f, at: [0.1, 0, 0]}]}]\n"
                        "motors: [{tendon: t, type: position, kp: 300, kd: 30, target: 3.1, gear: 2}, {tendon: w, type: "
                        "velocity, kd: 50, target: 0.3}]\n",
     0.3},
    {"springs",
     BALLS LOOSE("f",
                 "0.9") "springs: [{link: d, b: f, point: [0.3, 0.1, 0], b_point: [0.3, 0, 0.2], stiffness: 300, damping: 30},"
                        "\n  {link: a, b: d, point: [0.1, 0.1, 0], stiffness: 30, damping: 10}]\n",
     0.3}};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static const bond_case *case_of(int i) { return i < LINKAGES ? &linkages[i] : &lengths[i - LINKAGES]; }

// ---- order

/// Of coordinates, velocities and the forces of equations.
START_TEST(order)
{
    const bond_case *const c = case_of(_i);
    ctn_model *const m = model_of(c->text);
    ended want, end;
    double error[3][2];
    ck_assert(m->nq < MOST && m->nrow < MOST);
    reference(m, c->duration, &want);
    for (int k = 0; k < 2; k++) {
        const ctn_step_stats s = run(m, alpha(c->duration / (320 << k)), c->duration, &end);
        error[0][k] = coordinate_distance(m, end.q, want.q), error[1][k] = farthest(end.v, want.v, m->nv);
        error[2][k] = farthest(end.f, want.f, m->nrow);
        ck_assert_msg(s.fewer_stages == 1 && s.substeps == s.steps, "%s: %ld steps of order 2", c->name, s.fewer_stages);
    }
    for (int i = 0; i < (m->nrow ? 3 : 2); i++) {
        static const char *const of[] = {"q", "v", "forces"};
        const double found = log2(error[i][0] / error[i][1]);
        ck_assert_msg(found > 1.75 && found < 2.6, "%s: order %.2f of %s, errors %g and %g", c->name, found, of[i], error[i][0],
                      error[i][1]);
    }
    ctn_model_free(m);
}
END_TEST

/// A body that runs round on a rod at 2 m/s has no energy about its own centre of mass: what it has is its scale, and no step of it is
/// left to order 2 but the first one. What the rod bears rings no longer than 10 steps.
START_TEST(runs_round)
{
    ctn_model *const m =
        model_of("catena: 1\ngravity: [0, 0, 0]\nlinks: [{name: a, joint: free, mass: 1, inertia: [0.01, 0.01, 0.01, 0, 0, 0]}]\n"
                 "loops: [{type: distance, a: a, b: world, at_a: [0, 0, 0], at_b: [1, 0, 0]}]\nstate: {v: [0, 2, 0, 0, 0, 0]}\n");
    const ctn_batch_config cfg = alpha(0.01);
    ctn_batch *const b = batch_with(m, &cfg);
    for (int k = 0; k < 20; k++) {
        double f;
        ctn_step_stats s;
        ck_assert(ctn_batch_step(b, 1, &s, NULL) == CTN_OK && ctn_batch_equation_forces(b, &f, NULL) == CTN_OK);
        ck_assert_msg(s.fewer_stages == !k && (k < 10 || fabs(fabs(f) - 4) < 0.04), "step %d, of order 2 %ld: %g N", k,
                      s.fewer_stages, f);
    }
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

// ---- what loops open by

START_TEST(loops_stay_closed) { check_stays_closed(_i, alpha(0.05)); }
END_TEST

// ---- energy

/// 3.09 J from the height of the start down to rest.
START_TEST(a_linkage_keeps_its_energy)
{
    ctn_model *const m = model_of(linkages[0].text);
    ctn_batch_config cfg = alpha(1. / 240), plain = cfg;
    plain.method = CTN_COLLOCATION, plain.order = 2;
    const double braked = lost(m, plain), by_alpha = lost(m, cfg);
    cfg.rho = 0.3;
    const double by_more = lost(m, cfg);
    ck_assert_msg(braked > 2.9 && by_alpha > 0 && by_alpha < 0.09 && by_more < 0.05,
                  "lost: %g J by order 2, %g and %g J by alpha", braked, by_alpha, by_more);
    ctn_model_free(m);
}
END_TEST

/// A damped spring between links that fly apart and turn: what it takes is what is missing, to the second order.
START_TEST(dampers_are_in_the_books)
{
    ctn_model *const m = model_of(lengths[_i].text);
    double missing[2];
    ended end;
    for (int k = 0; k < 2; k++) {
        const ctn_step_stats s = run(m, alpha(0.3 / (300 << k)), 0.3, &end);
        missing[k] = s.created;
    }
    ck_assert_msg(missing[0] / missing[1] > 3, "%s: %g and %g J are missing", lengths[_i].name, missing[0], missing[1]);
    ctn_model_free(m);
}
END_TEST

/// A weight falls into a cord, which has a stop, and is thrown up again: steps in which it comes to it or leaves it are those of
/// order 2, as the next one.
START_TEST(stops_are_left_to_order_2)
{
    ctn_model *const m = model_of("catena: 1\nlinks: [{name: a, position: [0, 0, -1], joint: {type: prismatic, axis: [0, 0, 1]}, "
                                  "mass: 2, inertia: [0, 0, 0, 0, 0, 0]}]\n"
                                  "tendons: [{path: [{link: world}, {link: a}], range: [0, 1.2]}]\n");
    ended end;
    const ctn_step_stats s = run(m, alpha(0.005), 10, &end);
    ck_assert_msg(s.fewer_stages > 20 && s.fewer_stages < 60, "%ld steps of order 2", s.fewer_stages);
    ck_assert_msg(s.energy_max < s.energy_before + 1e-9, "from %g up to %g J", s.energy_before, s.energy_max);
    ctn_model_free(m);
}
END_TEST

// ---- bits

START_TEST(same_bits)
{
    ctn_model *const m = model_of(case_of(_i)->text);
    check_same_bits(m, case_of(_i)->name, alpha(0.01));
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("alpha_bonds");
    TCase *const t = tcase_create("alpha_bonds");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, order, 0, LINKAGES + LENGTHS);
    tcase_add_test(t, runs_round);
    tcase_add_loop_test(t, loops_stay_closed, 0, 3);
    tcase_add_test(t, a_linkage_keeps_its_energy);
    tcase_add_loop_test(t, dampers_are_in_the_books, 0, LENGTHS);
    tcase_add_test(t, stops_are_left_to_order_2);
    tcase_add_loop_test(t, same_bits, 0, LINKAGES + LENGTHS);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

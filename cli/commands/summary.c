/// The summary of a run, for people and for programs.
#include "cli/base/json.h"
#include "cli/base/message.h"
#include "cli/commands/run.h"
#include "sim/base/config.h"
#include "sim/base/status.h"
#include "sim/model/model.h"

#include <catena/between.h>
#include <catena/contact.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/// Over all worlds.
static ctn_step_stats all_worlds(const run *r)
{
    ctn_step_stats sum = r->total[0];
    for (int w = 1; w < r->s.cfg.worlds; w++) {
        const ctn_step_stats *const next = &r->total[w];
        const int touching = sum.touching + next->touching, sticking = sum.sticking + next->sticking,
                  sliding = sum.sliding + next->sliding;
        const int near = sum.near + next->near, meeting = sum.meeting + next->meeting, places = sum.places + next->places,
                  islands = sum.islands + next->islands, island = sum.island > next->island ? sum.island : next->island;
        ctn_step_stats_add(&sum, next);
        sum.touching = touching, sum.sticking = sticking, sum.sliding = sliding;  // of each at its end
        sum.near = near, sum.meeting = meeting, sum.places = places, sum.islands = islands, sum.island = island;
    }
    return sum;
}

static int contact_points(const run *r) { return r->s.cfg.worlds * r->s.model->ncontact; }

static bool solves(const run *r) { return ctn_method_is_implicit(r->s.cfg.method); }

static double mean_iterations(const ctn_step_stats *t) { return t->steps ? (double)t->iterations / (double)t->steps : 0; }

static double simulated(const run *r) { return (double)r->done * r->s.cfg.dt; }

/// Where links of world 0 touch each other.
typedef struct {
    int places, stick, pairs;
    double depth;  // m
} link_touches;

static link_touches touches_now(const run *r)
{
    link_touches sum = {0};
    int count = 0, last = -1;
    if (ctn_batch_touches(r->batch, 0, NULL, 0, &count, NULL) != CTN_OK || !count) return sum;
    ctn_link_touch *const list = malloc((size_t)count * sizeof *list);
    if (!list || ctn_batch_touches(r->batch, 0, list, count, &sum.places, NULL) != CTN_OK) sum.places = 0;
    for (int k = 0; k < sum.places; k++) {
        sum.stick += list[k].touch == CTN_STICKS, sum.pairs += list[k].pair != last, last = list[k].pair;
        sum.depth = fmax(sum.depth, list[k].depth);
    }
    free(list);
    return sum;
}

/// What acts between links, over all worlds.
static void print_between(const run *r, const ctn_step_stats *sum)
{
    const ctn_model *const m = r->s.model;
    int lengths = 0;
    if (!m->npair && !m->nbond) return;
    for (int k = 0; k < m->nbond; k++) lengths += !m->bonds[k].rows;
    printf("between       %d pair%s near, %d press%s at %d place%s; %d island%s, the largest of %d degree%s of freedom\n",
           sum->near, plural(sum->near), sum->meeting, sum->meeting == 1 ? "es" : "", sum->places, plural(sum->places),
           sum->islands, plural(sum->islands), sum->island, plural(sum->island));
    printf(
        "algebra       %ld of %ld iteration%s in joint space, others sweep; %d equation%s, %d length%s of springs and tendons\n",
        sum->joined, sum->iterations, plural(sum->iterations), m->nrow, plural(m->nrow), lengths, plural(lengths));
}

static void print_touches(const run *r)
{
    if (!ctn_model_npair(r->s.model)) return;
    const link_touches t = touches_now(r);
    printf("touches       %d pair%s of shapes touch each other at %d place%s, %d stick%s", t.pairs, plural(t.pairs), t.places, plural(t.places),
           t.stick, t.stick == 1 ? "s" : "");
    if (t.places) printf(", %.3g m deep at most", t.depth);
    printf("%s\n", r->s.cfg.worlds > 1 ? " (world 0)" : "");
}

/// A vector on one line, its middle left out when it is long.
static void print_vector(const char *name, const double *x, int count)
{
    enum { ENDS = 5, MOST = 2 * ENDS + 2 };
    printf("  %-12s[", name);
    for (int k = 0; k < count; k++) {
        if (count > MOST && k == ENDS) {
            printf(", ... %d more ...", count - 2 * ENDS);
            k = count - ENDS;
        }
        printf("%s%.6g", k ? ", " : "", x[k]);
    }
    printf("]\n");
}

void print_summary(const run *r)
{
    const ctn_batch_config *const cfg = ctn_batch_configuration(r->batch);
    const ctn_step_stats sum = all_worlds(r), *const first = &r->total[0];
    printf("scene         %s (%s)\n", ctn_scene_name(r->s.scene), clean(r->s.path).text);
    char words[CONFIG_WORDS];
    config_describe(cfg, words);
    printf("method        %s", words);
    if (solves(r)) printf(", %s", ctn_solver_name(cfg->solver));
    if (solves(r)) printf(cfg->adaptive ? " to %g" : ", tolerance %g", cfg->tolerance);
    printf("\nengine        %s, %d world%s", cfg->engine, cfg->worlds, plural(cfg->worlds));
    if (cfg->worlds > 1 || cfg->lanes) printf(", %d thread%s", cfg->threads, plural(cfg->threads));
    printf("\n");
    if (cfg->lanes) {
        const long serial = ctn_batch_serial_steps(r->batch);
        printf("parallel      %s, %d lanes", ctn_parallel_name(cfg->parallel), cfg->lanes);
        if (serial) printf("; %ld step%s made serially", serial, plural(serial));
        printf("\n");
    }
    printf("steps         %ld, %.6g s simulated in %.3g s", r->done, simulated(r), r->wall);
    if (r->wall > 0 && r->done) printf(", %.3g times real time", simulated(r) / r->wall);
    printf("\n");
    if (solves(r)) {
        printf("iterations    mean %.3g, max %d a step; %ld shortened, %ld with curvature dropped\n", mean_iterations(&sum),
               sum.iterations_max, sum.line_search, sum.curvature);
        printf("residual      %.3g at most\n", sum.residual);
        printf("fallbacks     %ld step%s; %ld part%s with fewer stages, %ld substep%s in all\n", sum.fallbacks,
               plural(sum.fallbacks), sum.fewer_stages, plural(sum.fewer_stages), sum.substeps, plural(sum.substeps));
    }
    if (cfg->adaptive) printf("parts         %ld, and %ld rejected and repeated smaller\n", sum.substeps, sum.rejected);
    printf("energy        %.9g J at the start, %.9g J at the end, between %.9g and %.9g J%s\n", first->energy_before,
           first->energy_after, first->energy_min, first->energy_max, cfg->worlds > 1 ? " (world 0)" : "");
    printf("drift         %.3g J\n", first->energy_after - first->energy_before);
    printf("balance       work %.3g J, dissipated %.3g J, %s %.3g J\n", first->work, first->dissipated,
           first->created < 0 ? "lost to the method" : "created by the method", fabs(first->created));
    if (contact_points(r)) {
        printf("contacts      %d of %d point%s touch the ground, %d stick%s and %d slide%s\n", sum.touching, contact_points(r),
               plural(contact_points(r)), sum.sticking, sum.sticking == 1 ? "s" : "", sum.sliding, sum.sliding == 1 ? "s" : "");
        if (sum.depth < 0) printf("depth         none: the nearest point came to %.3g m above the ground", -sum.depth);
        else printf("depth         %.3g m at most", sum.depth);
        if (solves(r)) printf("; %ld correction%s of friction", sum.corrections, plural(sum.corrections));
        printf("\n");
    }
    print_touches(r);
    print_between(r, &sum);
    printf("final state   t = %.9g s%s\n", ctn_batch_time(r->batch, 0), cfg->worlds > 1 ? " (world 0)" : "");
    print_vector("q", r->q, ctn_model_nq(r->s.model));
    print_vector("v", r->v, ctn_model_nv(r->s.model));
    if (r->out)
        printf("recording     %s, %ld record%s%s\n", clean(r->out).text, r->records, plural(r->records),
               r->lost ? ", not all of them written" : "");
    if (r->drawn) printf("plot          %s\n", clean(r->plot.path).text);
}

static void add_state(cJSON *to, const run *r, int world)
{
    const size_t nq = (size_t)ctn_model_nq(r->s.model), nv = (size_t)ctn_model_nv(r->s.model);
    cJSON *const final = json_object(to, "final");
    json_number(final, "time", ctn_batch_time(r->batch, world));
    json_numbers(final, "q", r->q + (size_t)world * nq, nq);
    json_numbers(final, "v", r->v + (size_t)world * nv, nv);
}

static void add_statistics(cJSON *to, const ctn_step_stats *t)
{
    cJSON *const iterations = json_object(to, "iterations");
    json_number(iterations, "mean", mean_iterations(t));
    json_number(iterations, "max", t->iterations_max);
    json_number(iterations, "total", (double)t->iterations);
    json_number(to, "line_search", (double)t->line_search);
    json_number(to, "curvature", (double)t->curvature);
    json_number(to, "evaluations", (double)t->evaluations);
    json_number(to, "residual", t->residual);
    json_number(to, "fallbacks", (double)t->fallbacks);
    json_number(to, "fewer_stages", (double)t->fewer_stages);
    json_number(to, "substeps", (double)t->substeps);
    json_number(to, "rejected", (double)t->rejected);
}

/// Of so many contact points; of none: nothing.
static void add_contacts(cJSON *to, const ctn_step_stats *t, int points)
{
    if (!points) return;
    cJSON *const contacts = json_object(to, "contacts");
    json_number(contacts, "points", points);
    json_number(contacts, "touching", t->touching);
    json_number(contacts, "sticking", t->sticking);
    json_number(contacts, "sliding", t->sliding);
    json_number(contacts, "depth", t->depth);
    json_number(contacts, "corrections", (double)t->corrections);
}

/// Of what acts between links of the model; of none: nothing.
static void add_between(cJSON *to, const ctn_step_stats *t, const ctn_model *m)
{
    if (!m->npair && !m->nbond) return;
    cJSON *const between = json_object(to, "between");
    json_number(between, "pairs", m->npair);
    json_number(between, "equations", m->nrow);
    json_number(between, "near", t->near);
    json_number(between, "meeting", t->meeting);
    json_number(between, "places", t->places);
    json_number(between, "islands", t->islands);
    json_number(between, "island", t->island);
    json_number(between, "joined", (double)t->joined);
    json_number(between, "curved", t->curved);
}

static void add_range(cJSON *to, const char *key, double initial, double final)
{
    cJSON *const range = json_object(to, key);
    json_number(range, "initial", initial);
    json_number(range, "final", final);
}

static void add_energy(cJSON *to, const ctn_step_stats *t)
{
    cJSON *const energy = json_object(to, "energy");
    json_number(energy, "initial", t->energy_before);
    json_number(energy, "final", t->energy_after);
    json_number(energy, "min", t->energy_min);
    json_number(energy, "max", t->energy_max);
    json_number(energy, "drift", t->energy_after - t->energy_before);
    json_number(energy, "work", t->work);
    json_number(energy, "dissipated", t->dissipated);
    json_number(energy, "created", t->created);
    add_range(energy, "kinetic", t->kinetic_before, t->kinetic_after);
    add_range(energy, "potential", t->potential_before, t->potential_after);
    add_range(energy, "spring", t->spring_before, t->spring_after);
}

int print_json_summary(const run *r)
{
    const ctn_batch_config *const cfg = ctn_batch_configuration(r->batch);
    const ctn_step_stats sum = all_worlds(r);
    cJSON *const root = json_object(NULL, NULL);
    json_text(root, "catena", ctn_version());
    json_text(root, "scene", ctn_scene_name(r->s.scene));
    json_text(root, "file", r->s.path);
    json_configuration(root, cfg);
    json_text(root, "engine", cfg->engine);
    json_number(root, "worlds", cfg->worlds);
    json_number(root, "threads", cfg->threads);
    if (cfg->lanes) json_number(root, "serial_steps", (double)ctn_batch_serial_steps(r->batch));
    json_number(root, "steps", (double)r->done);
    json_number(root, "steps_asked", (double)r->steps);
    cJSON_AddBoolToObject(root, "interrupted", r->interrupted);
    json_number(root, "simulated_seconds", simulated(r));
    json_number(root, "wall_seconds", r->wall);
    json_number(root, "real_time_factor", r->wall > 0 ? simulated(r) / r->wall : NAN);
    add_state(root, r, 0);
    add_energy(root, &r->total[0]);
    add_statistics(root, &sum);
    add_contacts(root, &sum, contact_points(r));
    add_between(root, &sum, r->s.model);
    cJSON *const frozen = json_array(root, "frozen");
    for (int w = 0; w < cfg->worlds; w++) {
        if (!r->total[w].frozen) continue;
        cJSON *const one = json_object(frozen, NULL);
        json_number(one, "world", w);
        json_number(one, "time", r->total[w].frozen_time);
        char why[512];
        json_text(one, "reason", ctn_freeze_report(r->s.model, &r->s.cfg, &r->total[w], why, sizeof why));
        char path[4200];
        if (r->freezes) freezes_path(r->save_freeze, w, path, sizeof path), json_text(one, "last_steps", path);
    }
    if (cfg->worlds > 1) {
        cJSON *const each = json_array(root, "each_world");
        for (int w = 0; w < cfg->worlds; w++) {
            cJSON *const one = json_object(each, NULL);
            json_number(one, "steps", (double)r->total[w].steps);
            add_state(one, r, w);
            add_energy(one, &r->total[w]);
            add_statistics(one, &r->total[w]);
            add_contacts(one, &r->total[w], r->s.model->ncontact);
            add_between(one, &r->total[w], r->s.model);
        }
    }
    json_lines(root, "warnings", ctn_scene_warnings(r->s.scene));
    if (*r->braked) json_text(cJSON_GetObjectItem(root, "warnings"), NULL, r->braked);
    if (r->out) {
        cJSON *const recording = json_object(root, "recording");
        json_text(recording, "file", r->out);
        json_number(recording, "records", (double)r->records);
        cJSON_AddBoolToObject(recording, "complete", !r->lost);
    }
    if (r->drawn) json_text(root, "plot", r->plot.path);
    return json_print(root);
}

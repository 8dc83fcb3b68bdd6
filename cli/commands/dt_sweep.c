/// `catena check SCENE --dt-sweep`: the largest time step of each method that meets an error.
#include "cli/commands/dt_sweep.h"

#include "cli/base/message.h"
#include "cli/commands/run.h"
#include "sim/base/clock.h"
#include "sim/base/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double first_dt = 0.5;                     // s: the sweep begins here
static const double growth = 1.5;                       // of the number of steps from one run to the next
static const double margin = 0.01;                      // how much finer than the error the reference is
static const double most_steps = 3e5, most_work = 2e7;  // of a run in the sweep: steps, and steps times links
static const long most_reference = 1 << 20;
enum { STREAK = 3, REFINEMENTS = 4 };  // runs in a row that must meet the error; bisections of the step that does

/// The parameters that make several methods of one; those that this version refuses are passed over.
static const struct {
    const char *method, *key;
    int least, most;
} families[] = {{"collocation", "order", 2, 6}, {"radau", "stages", 1, 4}, {"variational", "order", 2, 4}};

/// Four points of each link in the state d->q, p [nlink][4][3]: its origin, which says nothing of a link that turns about it, and
/// three at its radius of gyration from its centre of mass.
static void points_of(dt_sweep *d, double *p)
{
    const int n = ctn_model_nlink(d->s.model);
    ctn_forward_kinematics(d->dyn, 1, d->q, d->R, d->p);
    for (int l = 0; l < n; l++) {
        const ctn_link *const link = ctn_model_link(d->s.model, l);
        const double trace = link->inertia[0] + link->inertia[1] + link->inertia[2],
                     gyration = link->mass > 0 ? sqrt(trace / (2 * link->mass)) : 0;
        const double *const R = d->R + 9 * l;
        for (int k = 0; k < 4; k++) {
            const double *const c = link->com,
                                at[3] = {c[0] + (k == 1) * gyration, c[1] + (k == 2) * gyration, c[2] + (k == 3) * gyration};
            for (int i = 0; i < 3; i++)
                p[12 * l + 3 * k + i] =
                    d->p[3 * l + i] + (k ? R[3 * i] * at[0] + R[3 * i + 1] * at[1] + R[3 * i + 2] * at[2] : 0);
        }
    }
}

/// Runs `steps` equal steps over the whole duration; the points of the links at its end into `p` [nlink][4][3], NaN if the world
/// froze. *fallbacks: steps that needed halves or fewer stages. Returns an exit status.
static int run_over(dt_sweep *d, const ctn_batch_config *method, long steps, double *p, long *fallbacks)
{
    ctn_error err;
    ctn_step_stats stats = {0};
    ctn_batch_config cfg = *method;
    cfg.dt = d->duration / (double)steps;
    ctn_batch *const batch = ctn_batch_create(d->s.model, &cfg, &err);
    if (!batch) return status_error(&err, "");
    int outcome = EXIT_OK;
    *fallbacks = 0;
    for (long done = 0; done < steps && !stats.frozen && outcome == EXIT_OK; done += stats.steps, *fallbacks += stats.fallbacks)
        outcome = step_outcome(ctn_batch_step(batch, (int)(steps - done < 1000 ? steps - done : 1000), &stats, &err), &err);
    ctn_batch_state(batch, d->q, NULL);
    if (outcome == EXIT_OK) outcome = step_outcome(ctn_batch_step(batch, 0, NULL, &err), &err);  // was the state read?
    ctn_batch_free(batch);
    if (outcome != EXIT_OK) return outcome;
    points_of(d, p);
    for (int i = 0; i < 12 * ctn_model_nlink(d->s.model) && stats.frozen; i++) p[i] = NAN;
    return EXIT_OK;
}

/// The largest distance between the points a and b; infinite if one is not finite.
static double largest_distance(const dt_sweep *d, const double *a, const double *b)
{
    double most = 0;
    for (int i = 0; i < 4 * ctn_model_nlink(d->s.model); i++, a += 3, b += 3) {
        const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2], distance = sqrt(x * x + y * y + z * z);
        if (!isfinite(distance)) return INFINITY;
        most = fmax(most, distance);
    }
    return most;
}

/// Doubles the steps of the most accurate explicit method until two doublings in a row change nothing that matters.
static int find_reference(dt_sweep *d)
{
    ctn_batch_config *const cfg = &d->reference_cfg;
    const double enough = margin * d->error;
    double before = INFINITY;
    *cfg = ctn_batch_config_default();
    if (ctn_method_from_name("dop853", &cfg->method, NULL) != CTN_OK) cfg->method = CTN_RK4;
    long steps = (long)fmax(8, ceil(d->duration / 0.01)), fallbacks;
    int status = run_over(d, cfg, steps, d->reference, &fallbacks);
    while (status == EXIT_OK) {
        double *const finer = d->coarser;
        d->coarser = d->reference, d->reference = finer;
        status = run_over(d, cfg, steps *= 2, finer, &fallbacks);
        d->change = largest_distance(d, d->reference, d->coarser), d->reference_steps = steps;
        d->ratio = before / d->change;
        if (d->change <= enough && before <= enough) return status;
        if (steps > most_reference / 2)
            return run_error("no reference: with %ld steps of %s, half as many end %.3g m away; shorten --duration or allow a "
                             "larger --error than %g",
                             steps, ctn_method_name(cfg->method), d->change, d->error);
        before = d->change;
    }
    return status;
}

static int measure(dt_sweep *d, const sweep_method *m, long steps, sweep_point *point)
{
    const double start = clock_now();
    long fallbacks;
    const int status = run_over(d, &m->cfg, steps, d->points, &fallbacks);
    *point = (sweep_point){steps, d->duration / (double)steps, largest_distance(d, d->points, d->reference), clock_now() - start,
                           fallbacks};
    return status;
}

bool sweep_counts(const sweep_point *p) { return 2 * p->fallbacks <= p->steps; }

static bool is_good(const dt_sweep *d, const sweep_point *p) { return sweep_counts(p) && p->error <= d->error; }

/// Puts a point where it belongs among those of fewer and more steps; returns its index.
static int insert(sweep_method *m, const sweep_point *point)
{
    int at = m->npoint;
    while (at > 0 && m->points[at - 1].steps > point->steps) at--;
    memmove(&m->points[at + 1], &m->points[at], (size_t)(m->npoint - at) * sizeof *point);
    m->points[at] = *point;
    m->npoint++;
    return at;
}

/// Bisects between the largest step that meets the error and the one above it, which does not.
static int refine(dt_sweep *d, sweep_method *m)
{
    for (int k = 0; k < REFINEMENTS && m->found > 0; k++) {
        const long few = m->points[m->found - 1].steps, many = m->points[m->found].steps,
                   between = lround(sqrt((double)few * (double)many));
        sweep_point point;
        if (between <= few || between >= many) return EXIT_OK;
        const int status = measure(d, m, between, &point);
        if (status != EXIT_OK) return status;
        const int at = insert(m, &point);
        m->found = is_good(d, &point) ? at : at + 1;
    }
    return EXIT_OK;
}

/// Larger steps first. A step may be good by chance: a few smaller ones must be, too.
static int sweep(dt_sweep *d, sweep_method *m)
{
    const long most = (long)fmin(most_steps, most_work / ctn_model_nlink(d->s.model));
    int streak = 0;
    long steps = (long)ceil(d->duration / first_dt);
    for (; steps <= most && streak < STREAK; steps = (long)ceil((double)steps * growth)) {
        const int status = measure(d, m, steps, &m->points[m->npoint]);
        if (status != EXIT_OK) return status;
        streak = is_good(d, &m->points[m->npoint++]) ? streak + 1 : 0;
    }
    m->found = streak == STREAK ? m->npoint - STREAK : -1;
    return refine(d, m);
}

/// A method, with a parameter or none; kept if this version has it and it takes this model.
static void add_method(dt_sweep *d, ctn_method method, const char *key, int number)
{
    sweep_method m = {.key = key, .number = number, .cfg = ctn_batch_config_default(), .found = -1};
    m.cfg.method = method;
    if (d->nmethod == SWEEP_METHODS || (key && config_set(&m.cfg, key, number, NULL) != CTN_OK)) return;
    ctn_batch *const batch = ctn_batch_create(d->s.model, &m.cfg, NULL);
    if (!batch) return;
    ctn_batch_free(batch);
    if (key) snprintf(m.label, sizeof m.label, "%s %d", ctn_method_name(method), number);
    else snprintf(m.label, sizeof m.label, "%s", ctn_method_name(method));
    d->methods[d->nmethod++] = m;
}

static void add_methods(dt_sweep *d)
{
    const char *name;
    for (int method = 0; (name = ctn_method_name((ctn_method)method)); method++) {
        size_t family = 0;
        while (family < sizeof families / sizeof *families && strcmp(families[family].method, name)) family++;
        if (family == sizeof families / sizeof *families) {
            add_method(d, (ctn_method)method, NULL, 0);
            continue;
        }
        for (int k = families[family].least; k <= families[family].most; k++)
            add_method(d, (ctn_method)method, families[family].key, k);
    }
}

static int open_sweep(const arguments *args, dt_sweep *d)
{
    ctn_error err;
    if (args->nfile > 1) return usage_error("--dt-sweep takes one scene, found %d", args->nfile);
    int status = setup_open(args, &d->s);
    if (status != EXIT_OK) return status;
    d->duration = ctn_scene_duration(d->s.scene), d->error = 1e-3, d->plot = plot_option(args);
    if (!number_option(args, OPT_DURATION, &d->duration) || !number_option(args, OPT_ERROR, &d->error)) return EXIT_USAGE;
    if (args->value[OPT_DURATION] && !(d->duration > 0 && isfinite(d->duration)))
        return usage_error("--duration: expected a positive time (s), found %s", args->value[OPT_DURATION]);
    if (!(d->duration > 0)) return usage_error("how long? give --duration, or write 'duration:' into %s", d->s.path);
    if (!(d->error > 0 && isfinite(d->error)))
        return usage_error("--error: expected a positive distance (m), found %s", args->value[OPT_ERROR]);
    const double longest = first_dt * 1e-3 * fmin(most_steps, most_work / ctn_model_nlink(d->s.model));
    if (d->duration > longest)
        return usage_error("--dt-sweep: %g s are too long for %d link%s: there is time for %g s; give --duration", d->duration,
                           ctn_model_nlink(d->s.model), plural(ctn_model_nlink(d->s.model)), longest);
    if (d->plot.path && (status = check_plot(&d->plot, d->s.scene)) != EXIT_OK) return status;
    const size_t n = (size_t)ctn_model_nlink(d->s.model);
    d->q = calloc((size_t)ctn_model_nq(d->s.model) + 1, sizeof *d->q);
    d->R = calloc(9 * n, sizeof *d->R), d->p = calloc(3 * n, sizeof *d->p);
    d->reference = calloc(12 * n, sizeof *d->p), d->coarser = calloc(12 * n, sizeof *d->p);
    d->points = calloc(12 * n, sizeof *d->p);
    if (!d->q || !d->R || !d->p || !d->points || !d->reference || !d->coarser) return run_error("not enough memory");
    d->dyn = ctn_dynamics_create(d->s.model, "scalar", &err);
    return d->dyn ? EXIT_OK : status_error(&err, "");
}

int dt_sweep_main(const arguments *args)
{
    dt_sweep *const d = calloc(1, sizeof *d);
    if (!d) return run_error("not enough memory");
    const bool json = args->value[OPT_JSON], quiet = args->value[OPT_QUIET];
    int status = open_sweep(args, d);
    if (status == EXIT_OK) status = find_reference(d);
    if (status == EXIT_OK) add_methods(d);
    if (status == EXIT_OK && !json && !quiet) print_sweep_head(d);
    for (int k = 0; k < d->nmethod && status == EXIT_OK; k++) {
        status = sweep(d, &d->methods[k]);
        if (status == EXIT_OK && !json && !quiet) print_sweep_row(&d->methods[k]);
    }
    if (status == EXIT_OK && d->plot.path) status = draw_sweep(d);
    if (json && d->nmethod) status = print_json_sweep(d) == EXIT_OK ? status : EXIT_RUN;
    ctn_dynamics_free(d->dyn);
    setup_close(&d->s);
    free(d->q), free(d->R), free(d->p), free(d->points), free(d->reference), free(d->coarser);
    free(d);
    return status;
}

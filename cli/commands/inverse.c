/// `catena inverse`: the joint forces under which a scene's steps go through a given motion (ctn_step_inverse).
#include "cli/commands/commands.h"
#include "cli/base/inputs.h"
#include "cli/base/message.h"
#include "cli/base/setup.h"
#include "cli/base/stop.h"
#include "sim/base/new_file.h"
#include "sim/record/record.h"
#include "sim/runs/tables.h"

#include <catena/tapes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// What there is, and what comes of it.
typedef struct {
    setup s;
    csv_table *motion;
    ctn_tapes *tapes;
    int64_t states;
    int nq, nv;
    double *q, *v, *to, *tau, *row;  // row [nq + nv + 1] of the file
    double farthest, largest;        // rad or m; N m or N
    int absent;                      // coordinates that the file does not have
    long away;                       // steps that do not lead there
} inverting;

static const double NEAR = 1e-8;   // rad or m: it is led there
static const double APART = 1e-3;  // of a step: times may differ by their rounding

/// Whether states are a step apart, where the file says when they are.
static int check_times(const inverting *x, const char *path)
{
    ctn_error err;
    double before = 0, *const now = x->row + x->nq + x->nv;
    for (int64_t k = 0; k < x->states && csv_table_has(x->motion, x->nq + x->nv); k++, before = *now) {
        if (csv_table_read(x->motion, k, 1, x->row, &err) != CTN_OK) return status_error(&err, "--motion: ");
        if (k && !(fabs(*now - before - x->s.cfg.dt) <= APART * x->s.cfg.dt))
            return usage_error(
                "--motion: %s: state %lld is %g s after the one before it, and a step is %g s; record the motion at "
                "every step of the same size, or say --dt",
                path, (long long)k + 1, *now - before, x->s.cfg.dt);
    }
    return EXIT_OK;
}

static int open_motion(const arguments *args, inverting *x)
{
    ctn_error err;
    int status = setup_open_to_step(args, &x->s);
    if (status != EXIT_OK) return status;
    if (!args->value[OPT_MOTION]) return usage_error("--motion is missing: the file of the states to go through, .csv");
    if (!args->value[OPT_OUT]) return usage_error("--out is missing: the file of the joint forces, .csv");
    status = keep_scene(OPT_OUT, args->value[OPT_OUT], x->s.scene);
    if (status == EXIT_OK) status = keep_input(OPT_OUT, args->value[OPT_OUT], args->value[OPT_MOTION], "the motion");
    if (status != EXIT_OK) return status;
    x->motion = table_open_csv(args->value[OPT_MOTION], x->s.model, MOTION_COLUMNS, &err);
    if (!x->motion) return status_error(&err, "--motion: ");
    x->states = csv_table_rows(x->motion);
    if (x->states < 2)
        return usage_error("--motion: expected two states at least, a step apart, found %lld in %s", (long long)x->states,
                           args->value[OPT_MOTION]);
    bool any = false;
    for (int k = 0; k < ctn_model_nq(x->s.model); k++) {
        any = any || csv_table_has(x->motion, k);
        x->absent += !csv_table_has(x->motion, k);
    }
    if (!any) return usage_error("--motion: %s has none of the scene's coordinates, as q.NAME", args->value[OPT_MOTION]);
    if (x->absent)
        warning("--motion: %d of %d coordinates have no column and stay where the scene has them", x->absent,
                ctn_model_nq(x->s.model));
    x->nq = ctn_model_nq(x->s.model), x->nv = ctn_model_nv(x->s.model);
    const size_t nq = (size_t)x->nq, nv = (size_t)x->nv;
    x->q = calloc(3 * nq + 3 * nv + 2, sizeof *x->q);
    if (!x->q) return run_error("not enough memory");
    x->to = x->q + nq, x->v = x->to + nq, x->tau = x->v + nv, x->row = x->tau + nv;
    status = check_times(x, args->value[OPT_MOTION]);
    if (status != EXIT_OK) return status;
    x->s.cfg.worlds = 1, x->s.cfg.threads = 1;
    if (!args->value[OPT_TOLERANCE]) x->s.cfg.tolerance = fmin(x->s.cfg.tolerance, 1e-12);  // what steps leave, forces bear
    catch_signals();
    x->s.cfg.interrupt = stop_flag();
    x->tapes = ctn_tapes_create(x->s.model, &x->s.cfg, 1, true, &err);
    return x->tapes ? EXIT_OK : status_error(&err, "");
}

/// Coordinates of a row, over q [nq], which keeps what the file does not have; its velocities are in x->row + nq, NaN: not there.
static ctn_status read_state(inverting *x, int64_t k, double *q, ctn_error *err)
{
    for (int i = 0; i < x->nq + x->nv; i++) x->row[i] = i < x->nq ? q[i] : NAN;
    const ctn_status status = csv_table_read(x->motion, k, 1, x->row, err);
    memcpy(q, x->row, (size_t)x->nq * sizeof *q);
    return status;
}

/// The first state; velocities that the file does not have are those of the first step.
static ctn_status read_start(inverting *x, ctn_error *err)
{
    ctn_model_initial_state(x->s.model, x->q, x->v);
    memcpy(x->to, x->q, (size_t)x->nq * sizeof *x->q);
    ctn_status status = read_state(x, 0, x->q, err);
    memcpy(x->v, x->row + x->nq, (size_t)x->nv * sizeof *x->v);
    if (status == CTN_OK) status = read_state(x, 1, x->to, err);
    if (status != CTN_OK) return status;
    ctn_model_difference(x->s.model, 1, x->q, x->to, x->tau);
    for (int i = 0; i < x->nv; i++) {
        if (isnan(x->v[i])) x->v[i] = x->tau[i] / x->s.cfg.dt;
        x->tau[i] = 0;
    }
    return CTN_OK;
}

static void put_names(FILE *to, const ctn_model *m)
{
    char name[280];
    bool first = true;
    for (int l = 0; l < ctn_model_nlink(m); l++)
        for (int i = 0; i < ctn_model_link(m, l)->nv; i++, first = false) {
            velocity_name(ctn_model_link(m, l), i, name, sizeof name);
            fprintf(to, strchr(name, ',') ? "%s\"tau%s\"" : "%stau%s", first ? "" : ",", name + 1);
        }
    fputc('\n', to);
}

static int go_through(inverting *x, FILE *to)
{
    ctn_error err;
    ctn_status status = read_start(x, &err);
    put_names(to, x->s.model);
    for (int64_t k = 1; k < x->states && status == CTN_OK; k++) {
        const bool begin = k == 1;
        double far = 0;
        status = read_state(x, k, x->to, &err);
        if (status == CTN_OK) status = ctn_step_inverse(x->tapes, x->q, x->v, &begin, x->to, x->tau, &far, &err);
        if (status == CTN_OK && *stop_flag()) return run_error("interrupted at step %lld", (long long)k);
        if (status == CTN_OK && isnan(far))
            return run_error("step %lld of %lld: the world froze, or its step had to be halved; take a smaller --dt",
                             (long long)k, (long long)x->states - 1);
        for (int i = 0; i < x->nv && status == CTN_OK; i++) {
            fprintf(to, i ? ",%.17g" : "%.17g", x->tau[i]);
            x->largest = fmax(x->largest, fabs(x->tau[i]));
        }
        fputc('\n', to);
        x->away += !(far <= NEAR), x->farthest = fmax(x->farthest, far);
    }
    return status == CTN_OK ? EXIT_OK : status == CTN_INTERRUPTED ? run_error("interrupted") : engine_error(&err);
}

static int inverse_main(const arguments *args)
{
    inverting x = {0};
    ctn_error err;
    new_file f = {0};
    int status = open_motion(args, &x);
    if (status == EXIT_OK && new_file_open(&f, args->value[OPT_OUT], &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
    if (status == EXIT_OK) {
        status = go_through(&x, f.stream);
        if (new_file_close(&f, status == EXIT_OK, &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
    }
    if (status == EXIT_OK && !args->value[OPT_QUIET])
        printf("forces        %s, %lld steps of %g s, at most %.6g N m or N\ndistance      %.3g rad or m at most\n",
               clean(args->value[OPT_OUT]).text, (long long)x.states - 1, x.s.cfg.dt, x.largest, x.farthest);
    if (status == EXIT_OK && x.away)
        warning("%ld of %lld steps do not lead to where the motion is, by up to %.3g rad or m: no force does, as through what is "
                "fixed, or none was found",
                x.away, (long long)x.states - 1, x.farthest);
    ctn_tapes_free(x.tapes), csv_table_close(x.motion);
    if (x.s.scene) setup_close(&x.s);
    free(x.q);
    return end_output(status);
}

const command command_inverse = {
    .name = "inverse",
    .files = "SCENE",
    .least = 1,
    .most = 1,
    .scenes = true,
    .does = "Finds the joint forces under which a scene goes through a given motion.",
    .about = "--motion FILE.csv has the states to go through, a line each, a step (--dt, or the scene's) apart, with columns\n"
             "as recordings have them (q.arm, v.arm), and `time`, which has to fit; others are passed over. A recording of\n"
             "`catena run --out FILE.csv` is one. The first state is where the motion begins; velocities of the others are not\n"
             "needed. The forces are those of the steps themselves, contact, motors and springs included: played back, they\n"
             "lead through the same coordinates to the last digits.\n"
             "--out FILE.csv has a line a step, as `catena rollout --controls FILE.csv` takes them.\n"
             "Exit status: 0 success; 1 interrupted, frozen, or the file could not be written; 2 bad usage or a bad scene.\n",
    .takes = (TAKES_METHOD & ~TAKES(OPT_WORLDS)) | TAKES(OPT_MOTION) | TAKES(OPT_OUT) | TAKES(OPT_QUIET),
    .out = "the file of the joint forces: .csv",
    .examples = "  catena inverse scenes/iiwa14.yaml --motion motion.csv --out forces.csv\n"
                "  catena rollout scenes/iiwa14.yaml --worlds 1 --controls forces.csv --out again.h5\n",
    .main = inverse_main,
};

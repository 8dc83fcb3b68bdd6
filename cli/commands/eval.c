/// `catena eval`: kinematics and dynamics at given states, JSON in and out.
#include "cli/commands/commands.h"
#include "cli/base/inputs.h"
#include "cli/base/json.h"
#include "cli/base/message.h"
#include "cli/base/setup.h"
#include "cli/commands/states.h"
#include "sim/base/new_file.h"

#include <stdlib.h>
#include <string.h>

/// States computed in one go: enough to fill the lanes, few enough that the matrices of a large model fit.
enum { BLOCK = 64 };

/// A field of the output: an array [dims ...] a state; rank 0: a number.
typedef struct field {
    const char *name;
    int rank;
    size_t dims[3], size;  // size: all numbers
    double *values;        // [states in one go][size]
} field;

enum {
    FIELD_R,
    FIELD_P,
    FIELD_COM,
    FIELD_TWIST,
    FIELD_M,
    FIELD_BIAS,
    FIELD_PASSIVE,
    FIELD_ID,
    FIELD_FD,
    FIELD_KINETIC,
    FIELD_POTENTIAL,
    FIELD_LINEAR,
    FIELD_ANGULAR,
    FIELD_TREE,
    FIELD_J,
    FIELDS
};

/// For as many states as are computed in one go: BLOCK, or `count` if that is less.
static bool allocate(const ctn_model *model, int count, field f[FIELDS])
{
    const size_t states = count < BLOCK ? (size_t)count : (size_t)BLOCK;
    const size_t n = (size_t)ctn_model_nlink(model), nv = (size_t)ctn_model_nv(model);
    const field shapes[FIELDS] = {
        [FIELD_R] = {.rank = 3, .dims = {n, 3, 3}},  [FIELD_P] = {.rank = 2, .dims = {n, 3}},
        [FIELD_COM] = {.rank = 2, .dims = {n, 3}},   [FIELD_TWIST] = {.rank = 2, .dims = {n, 6}},
        [FIELD_M] = {.rank = 2, .dims = {nv, nv}},   [FIELD_BIAS] = {.rank = 1, .dims = {nv}},
        [FIELD_PASSIVE] = {.rank = 1, .dims = {nv}}, [FIELD_ID] = {.rank = 1, .dims = {nv}},
        [FIELD_FD] = {.rank = 1, .dims = {nv}},      [FIELD_LINEAR] = {.rank = 1, .dims = {3}},
        [FIELD_ANGULAR] = {.rank = 1, .dims = {3}},  [FIELD_TREE] = {.rank = 1, .dims = {3}},
        [FIELD_J] = {.rank = 2, .dims = {6, nv}},
    };
    bool ok = true;
    for (int i = 0; i < FIELDS; i++) {
        f[i] = shapes[i], f[i].name = state_outputs[i], f[i].size = 1;
        for (int d = 0; d < f[i].rank; d++) f[i].size *= f[i].dims[d];
        f[i].values = malloc(states * f[i].size * sizeof(double) + 1);
        ok = ok && f[i].values;
    }
    return ok;
}

/// World positions of the links' centres of mass.
static void link_centres(const ctn_model *model, const double *R, const double *p, double *com)
{
    for (int l = 0; l < ctn_model_nlink(model); l++) {
        const double *const c = ctn_model_link(model, l)->com;
        for (int k = 0; k < 3; k++)
            com[3 * l + k] = p[3 * l + k] + R[9 * l + 3 * k] * c[0] + R[9 * l + 3 * k + 1] * c[1] + R[9 * l + 3 * k + 2] * c[2];
    }
}

/// All fields at `count` states from s->...[first] on.
static void evaluate(const ctn_model *model, ctn_dynamics *dyn, const states *s, size_t first, int count, field f[FIELDS])
{
    const size_t nq = (size_t)ctn_model_nq(model), nv = (size_t)ctn_model_nv(model);
    const double *const q = s->q + first * nq, *const v = s->v + first * nv, *const a = s->a + first * nv,
                        *const tau = s->tau + first * nv;
    ctn_totals totals[BLOCK];
    ctn_forward_kinematics(dyn, count, q, f[FIELD_R].values, f[FIELD_P].values);
    ctn_link_twists(dyn, count, q, v, f[FIELD_TWIST].values);
    ctn_crba(dyn, count, q, f[FIELD_M].values);
    ctn_bias(dyn, count, q, v, f[FIELD_BIAS].values);
    ctn_passive(dyn, count, q, v, f[FIELD_PASSIVE].values);
    ctn_rnea(dyn, count, q, v, a, f[FIELD_ID].values);
    ctn_aba(dyn, count, q, v, tau, f[FIELD_FD].values);
    ctn_jacobian(dyn, count, q, ctn_model_nlink(model) - 1, f[FIELD_J].values);
    ctn_energy_momentum(dyn, count, q, v, totals);
    for (int i = 0; i < count; i++) {
        link_centres(model, f[FIELD_R].values + (size_t)i * f[FIELD_R].size, f[FIELD_P].values + (size_t)i * f[FIELD_P].size,
                     f[FIELD_COM].values + (size_t)i * f[FIELD_COM].size);
        f[FIELD_KINETIC].values[i] = totals[i].kinetic, f[FIELD_POTENTIAL].values[i] = totals[i].potential;
        memcpy(f[FIELD_LINEAR].values + 3 * i, totals[i].momentum_linear, sizeof totals[i].momentum_linear);
        memcpy(f[FIELD_ANGULAR].values + 3 * i, totals[i].momentum_angular, sizeof totals[i].momentum_angular);
        memcpy(f[FIELD_TREE].values + 3 * i, totals[i].com, sizeof totals[i].com);
    }
}

static void write_numbers(FILE *out, const double *x, size_t count)
{
    char text[JSON_NUMBER];
    putc('[', out);
    for (size_t k = 0; k < count; k++) {
        json_format(x[k], text);
        fprintf(out, k ? ",%s" : "%s", text);
    }
    putc(']', out);
}

/// An array [dims ...] as lists in lists.
static void write_array(FILE *out, const double *x, int rank, const size_t *dims)
{
    char text[JSON_NUMBER];
    size_t entry = 1;
    for (int d = 1; d < rank; d++) entry *= dims[d];
    if (rank == 0) json_format(*x, text), fputs(text, out);
    else if (rank == 1) write_numbers(out, x, *dims);
    else {
        putc('[', out);
        for (size_t k = 0; k < *dims; k++) {
            if (k) putc(',', out);
            write_array(out, x + k * entry, rank - 1, dims + 1);
        }
        putc(']', out);
    }
}

static void write_state(FILE *out, const ctn_model *model, const states *s, size_t state, const field f[FIELDS], size_t row)
{
    const size_t nq = (size_t)ctn_model_nq(model), nv = (size_t)ctn_model_nv(model);
    fprintf(out, "%s\n  {\n   \"q\": ", state ? "," : "");
    write_numbers(out, s->given + state * nq, nq);
    fputs(",\n   \"v\": ", out), write_numbers(out, s->v + state * nv, nv);
    fputs(",\n   \"a\": ", out), write_numbers(out, s->a + state * nv, nv);
    fputs(",\n   \"tau_ext\": ", out), write_numbers(out, s->tau + state * nv, nv);
    for (int i = 0; i < FIELDS; i++) {
        fprintf(out, ",\n   \"%s\": ", f[i].name);
        write_array(out, f[i].values + row * f[i].size, f[i].rank, f[i].dims);
    }
    putc('}', out);
}

/// The part of the output before the states, as in the golden files.
static void write_head(FILE *out, const setup *s)
{
    double gravity[3];
    ctn_model_gravity(s->model, gravity);
    cJSON *const head = json_object(NULL, NULL);
    json_text(head, "format", "catena dynamics 1");
    json_text(head, "model", ctn_scene_name(s->scene));
    json_numbers(head, "gravity", gravity, 3);
    json_number(head, "nlinks", ctn_model_nlink(s->model));
    json_number(head, "nq", ctn_model_nq(s->model));
    json_number(head, "nv", ctn_model_nv(s->model));
    cJSON *const links = json_array(head, "links");
    for (int l = 0; l < ctn_model_nlink(s->model); l++) json_text(links, NULL, ctn_model_link(s->model, l)->name);
    fputs("{\n", out);
    for (const cJSON *item = head->child; item; item = item->next) {
        char *const text = cJSON_PrintUnformatted(item);
        fprintf(out, " \"%s\": ", item->string);
        json_put(out, text ? text : "null");
        fputs(",\n", out);
        cJSON_free(text);
    }
    fputs(" \"states\": [", out);
    cJSON_Delete(head);
}

static int write_all(const setup *s, ctn_dynamics *dyn, const states *in, field f[FIELDS], const char *path)
{
    const bool to_file = strcmp(path, "-") != 0;
    new_file file = {.stream = stdout};
    ctn_error err;
    if (to_file && new_file_open(&file, path, &err) != CTN_OK) return run_error("%s", err.message);
    FILE *const out = file.stream;
    write_head(out, s);
    for (int first = 0; first < in->count; first += BLOCK) {
        const int count = in->count - first < BLOCK ? in->count - first : BLOCK;
        evaluate(s->model, dyn, in, (size_t)first, count, f);
        for (int i = 0; i < count; i++) write_state(out, s->model, in, (size_t)(first + i), f, (size_t)i);
    }
    fputs("]}\n", out);
    if (!to_file || new_file_close(&file, true, &err) == CTN_OK) return EXIT_OK;
    return run_error("%s", err.message);
}

static int eval_main(const arguments *args)
{
    setup s;
    states in = {0};
    field f[FIELDS] = {{0}};
    ctn_error err;
    const char *const from = args->value[OPT_IN] ? args->value[OPT_IN] : "-", *const to = args->value[OPT_OUT]
                                                                                              ? args->value[OPT_OUT]
                                                                                              : "-";
    int status = setup_open(args, &s);
    if (status != EXIT_OK) return status;
    ctn_dynamics *const dyn = ctn_dynamics_create(s.model, args->value[OPT_ENGINE], &err);
    status = keep_scene(OPT_OUT, args->value[OPT_OUT], s.scene);
    if (status == EXIT_OK) status = keep_input(OPT_OUT, args->value[OPT_OUT], args->value[OPT_IN], "the file of --in");
    if (!dyn) status = status_error(&err, "");
    if (status == EXIT_OK) status = states_read(from, s.model, &in);
    if (status == EXIT_OK && !allocate(s.model, in.count, f)) status = run_error("not enough memory");
    if (status == EXIT_OK) status = write_all(&s, dyn, &in, f, to);
    for (int i = 0; i < FIELDS; i++) free(f[i].values);
    states_free(&in);
    ctn_dynamics_free(dyn);
    setup_close(&s);
    return status;
}

const command command_eval = {
    .name = "eval",
    .files = "SCENE",
    .least = 1,
    .most = 1,
    .scenes = true,
    .does = "Computes kinematics and dynamics of a scene at given states, JSON in and out.",
    .about = "The input is an object with a list 'states', or the list alone. A state is an object with q and, if not\n"
             "zero, v, a and tau_ext. The output holds for each state R, p, link_com, twist, M, bias, passive, tau_id\n"
             "(inverse dynamics of a), qdd_fd (forward dynamics of tau_ext), kinetic, potential, momentum_linear,\n"
             "momentum_angular, tree_com and J_last; docs/cli.md says what they are. It can be read in again.\n",
    .takes = TAKES(OPT_IN) | TAKES(OPT_OUT) | TAKES(OPT_ENGINE) | TAKES(OPT_QUIET),
    .out = "write to FILE; -, the default, is standard output",
    .examples = "  catena eval scenes/double-pendulum.yaml --in states.json --out out.json\n"
                "  echo '[{\"q\": [0.3, 0.2]}]' | catena eval scenes/double-pendulum.yaml\n",
    .main = eval_main,
};

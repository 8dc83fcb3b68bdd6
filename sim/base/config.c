/// Names of methods, solvers, schedules and what is parallel, ranges and defaults of a batch's configuration.
#include "sim/base/config.h"

#include "dynamics/model.h"
#include "dynamics/sensor.h"

#include "sim/base/sensor_types.h"
#include "sim/base/status.h"
#include "sim/base/suggest.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COOKIE 0xca7e4a01u
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

typedef struct choice {
    const char *name;
    int value;
} choice;

static const choice methods[] = {
    {"semi-implicit", CTN_SEMI_IMPLICIT},
    {"euler", CTN_EULER},
    {"rk2", CTN_RK2},
    {"rk3", CTN_RK3},
    {"rk4", CTN_RK4},
    {"dop853", CTN_DOP853},
    {"collocation", CTN_COLLOCATION},
    {"radau", CTN_RADAU},
    {"variational", CTN_VARIATIONAL},
    {"alpha", CTN_ALPHA},
};

static const choice solvers[] = {
    {"newton", CTN_NEWTON},
    {"lm", CTN_LM},
    {"lbfgs", CTN_LBFGS},
};

static const choice schedules[] = {
    {"auto", CTN_SCHEDULE_AUTO},
    {"iteration", CTN_BY_ITERATION},
    {"step", CTN_BY_STEP},
};

static const choice parallels[] = {
    {"auto", CTN_PARALLEL_AUTO},
    {"worlds", CTN_PARALLEL_WORLDS},
    {"links", CTN_PARALLEL_LINKS},
    {"both", CTN_PARALLEL_BOTH},
};

typedef struct field {
    const char *name;
    size_t offset;
    int grid;  // 0: any number; else a whole one, from `least` on every so many
    double least, most;
    const char *allowed;
} field;

static const field fields[] = {
    {"worlds", offsetof(ctn_batch_config, worlds), 1, 1, INT_MAX, "a whole number from 1 to 2147483647"},
    {"lanes", offsetof(ctn_batch_config, lanes), 8, 0, 8192, "a multiple of 8 from 0 to 8192"},
    {"threads", offsetof(ctn_batch_config, threads), 1, 0, 1024, "a whole number from 0 to 1024"},
    {"dt", offsetof(ctn_batch_config, dt), 0, DBL_TRUE_MIN, DBL_MAX, "a positive time (s)"},
    // below, rounding would be taken for errors, and parts made ever smaller
    {"error_tolerance", offsetof(ctn_batch_config, error_tolerance), 0, 1e-15, DBL_MAX, "a number, 1e-15 or more"},
    {"order", offsetof(ctn_batch_config, order), 1, 2, 6, "2, 3, 4, 5 or 6"},
    {"stages", offsetof(ctn_batch_config, stages), 1, 1, 4, "1, 2, 3 or 4"},
    {"rho", offsetof(ctn_batch_config, rho), 0, 0, 0.3, "a number from 0 to 0.3"},
    {"tolerance", offsetof(ctn_batch_config, tolerance), 0, DBL_TRUE_MIN, DBL_MAX, "a positive number"},
    {"max_iterations", offsetof(ctn_batch_config, max_iterations), 1, 1, 1000000, "a whole number from 1 to 1000000"},
    {"max_halvings", offsetof(ctn_batch_config, max_halvings), 1, 0, 30, "a whole number from 0 to 30"},
};

static const field variational_order = {"order", offsetof(ctn_batch_config, order), 2, 2, 4, "2 or 4"};

/// The row of a field; orders depend on the method.
static const field *row_for(const field *f, const ctn_batch_config *cfg)
{
    return f->offset == offsetof(ctn_batch_config, order) && cfg->method == CTN_VARIATIONAL ? &variational_order : f;
}

ctn_batch_config ctn_batch_config_default(void)
{
    return (ctn_batch_config){
        .cookie = COOKIE,
        .worlds = 1,
        .threads = 1,
        .dt = 0.01,
        .method = CTN_RADAU,
        .order = 2,
        .stages = 2,
        .rho = 0.2,
        .solver = CTN_NEWTON,
        .error_tolerance = 1e-6,
        .tolerance = 1e-9,
        .max_iterations = 60,
        .max_halvings = 10,
    };
}

static const char *choice_name(const choice *choices, int n, int value)
{
    for (int i = 0; i < n; i++)
        if (choices[i].value == value) return choices[i].name;
    return 0;
}

/// Finds `name` among choices [n]; the message of a failure lists them all.
static ctn_status choose(const char *what, const choice *choices, int n, const char *name, int *value, ctn_error *err)
{
    enum { MOST = COUNT(methods) };
    const char *names[MOST];
    char allowed[200] = "";
    for (int i = 0; i < n; i++) {
        names[i] = choices[i].name;
        const size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", used ? ", " : "", choices[i].name);
    }
    if (!name) return fail(err, CTN_BAD_ARGUMENT, "the %s is NULL; allowed: %s", what, allowed);
    if (!value) return fail(err, CTN_BAD_ARGUMENT, "there is no place for the %s: NULL", what);
    for (int i = 0; i < n; i++) {
        if (strcmp(name, choices[i].name)) continue;
        *value = choices[i].value;
        return CTN_OK;
    }
    const char *meant = nearest_name(name, names, n);
    return fail(err, CTN_BAD_CONFIG, "unknown %s '%.40s'%s%s%s allowed: %s", what, name, meant ? "; did you mean '" : ";",
                meant ? meant : "", meant ? "'?" : "", allowed);
}

const char *ctn_method_name(ctn_method method) { return choice_name(methods, COUNT(methods), (int)method); }

const char *method_number(const ctn_batch_config *cfg, double *value)
{
    switch (cfg->method) {
    case CTN_COLLOCATION:
    case CTN_VARIATIONAL: *value = cfg->order; return "order";
    case CTN_RADAU: *value = cfg->stages; return "stages";
    case CTN_ALPHA: *value = cfg->rho; return "rho";
    default: return NULL;
    }
}

void config_describe(const ctn_batch_config *cfg, char text[CONFIG_WORDS])
{
    double value;
    int n = snprintf(text, CONFIG_WORDS, "%s", ctn_method_name(cfg->method));
    const char *const number = method_number(cfg, &value);
    if (number) n += snprintf(text + n, CONFIG_WORDS - (size_t)n, ", %s %g", number, value);
    if (!cfg->adaptive) snprintf(text + n, CONFIG_WORDS - (size_t)n, ", dt %g s", cfg->dt);
    else snprintf(text + n, CONFIG_WORDS - (size_t)n, ", dt auto, interval %g s, tolerance %g", cfg->dt, cfg->error_tolerance);
}

const char *method_limit(const ctn_batch_config *cfg)
{
    static const char *const limits[] = {
        [3] = "damps vibrations at every step, but large swings need fallbacks: radau is stabler",
        [4] = "vibrations of w rad/s grow where w dt is within 0.03..3.2 or 6.0..6.9, up to 1.28 times a step",
        [5] = "vibrations of w rad/s grow where w dt is within 0.17..6.8 or 9.9..12.5, up to 2.3 times a step",
        [6] = "vibrations of w rad/s grow where w dt is within 3.1..11.1 or 14.9..20.1, up to 5.4 times a step"};
    return cfg->method == CTN_COLLOCATION ? limits[cfg->order] : NULL;
}

bool ctn_method_is_implicit(ctn_method method)
{
    return method == CTN_COLLOCATION || method == CTN_RADAU || method == CTN_VARIATIONAL || method == CTN_ALPHA;
}

const char *ctn_solver_name(ctn_solver solver) { return choice_name(solvers, COUNT(solvers), (int)solver); }

const char *ctn_schedule_name(ctn_schedule schedule) { return choice_name(schedules, COUNT(schedules), (int)schedule); }

const char *ctn_parallel_name(ctn_parallel parallel) { return choice_name(parallels, COUNT(parallels), (int)parallel); }

ctn_status ctn_method_from_name(const char *name, ctn_method *method, ctn_error *err)
{
    int value;
    const ctn_status status = choose("method", methods, COUNT(methods), name, method ? &value : NULL, err);
    if (status == CTN_OK) *method = (ctn_method)value;
    return status;
}

ctn_status ctn_solver_from_name(const char *name, ctn_solver *solver, ctn_error *err)
{
    int value;
    const ctn_status status = choose("solver", solvers, COUNT(solvers), name, solver ? &value : NULL, err);
    if (status == CTN_OK) *solver = (ctn_solver)value;
    return status;
}

ctn_status ctn_schedule_from_name(const char *name, ctn_schedule *schedule, ctn_error *err)
{
    int value;
    const ctn_status status = choose("schedule", schedules, COUNT(schedules), name, schedule ? &value : NULL, err);
    if (status == CTN_OK) *schedule = (ctn_schedule)value;
    return status;
}

ctn_status ctn_parallel_from_name(const char *name, ctn_parallel *parallel, ctn_error *err)
{
    int value;
    const ctn_status status = choose("parallel", parallels, COUNT(parallels), name, parallel ? &value : NULL, err);
    if (status == CTN_OK) *parallel = (ctn_parallel)value;
    return status;
}

static bool estimates_error(ctn_method method) { return method == CTN_DOP853 || method == CTN_RADAU || method == CTN_ALPHA; }

ctn_status config_check_adaptive(const ctn_batch_config *cfg, ctn_error *err)
{
    char names[200] = "";
    if (!cfg->adaptive || estimates_error(cfg->method)) return CTN_OK;
    for (int i = 0; i < COUNT(methods); i++) {
        const size_t used = strlen(names);
        if (estimates_error((ctn_method)methods[i].value))
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", methods[i].name);
    }
    return fail(err, CTN_BAD_CONFIG, "auto needs a method that estimates its error; %s does not; these do: %s",
                ctn_method_name(cfg->method), names);
}

ctn_status config_check_solver(const ctn_batch_config *cfg, ctn_error *err)
{
    if ((cfg->method != CTN_VARIATIONAL && cfg->method != CTN_ALPHA) || cfg->solver == CTN_NEWTON) return CTN_OK;
    return fail(err, CTN_BAD_CONFIG, "%s is for the methods collocation and radau; %s has newton alone",
                ctn_solver_name(cfg->solver), ctn_method_name(cfg->method));
}

ctn_status config_check_parallel(const ctn_batch_config *cfg, ctn_error *err)
{
    const char *const name = ctn_parallel_name(cfg->parallel);
    if (cfg->parallel != CTN_PARALLEL_LINKS && cfg->parallel != CTN_PARALLEL_BOTH) return CTN_OK;
    if (cfg->method == CTN_COLLOCATION && cfg->order != 2)
        return fail(err, CTN_BAD_CONFIG, "%s takes collocation of order 2, not %d; take that, the method alpha, or worlds", name,
                    cfg->order);
    if (ctn_method_is_implicit(cfg->method) && cfg->solver != CTN_NEWTON)
        return fail(err, CTN_BAD_CONFIG, "%s takes the solver newton alone, not %s; take that, or worlds", name,
                    ctn_solver_name(cfg->solver));
    if (cfg->adaptive)
        return fail(err, CTN_BAD_CONFIG, "%s takes no `dt: auto` in this version; give dt in seconds, or take worlds", name);
    return CTN_OK;
}

static bool in_range(const field *f, double value)
{
    return value >= f->least && value <= f->most && (!f->grid || fmod(value - f->least, f->grid) == 0);
}

static double field_value(const ctn_batch_config *cfg, const field *f)
{
    const char *at = (const char *)cfg + f->offset;
    return f->grid ? *(const int *)at : *(const double *)at;
}

/// Whole numbers with all their digits.
static const char *write_number(double value, char words[32])
{
    snprintf(words, 32, value == floor(value) && fabs(value) < 1e15 ? "%.0f" : "%g", value);
    return words;
}

ctn_status config_set(ctn_batch_config *cfg, const char *name, double value, ctn_error *err)
{
    const field *f = fields, *end = fields + COUNT(fields);
    while (f < end && strcmp(f->name, name)) f++;
    if (f == end) return fail(err, CTN_BAD_ARGUMENT, "a configuration has no number '%.40s'", name);
    f = row_for(f, cfg);
    char words[32];
    if (!in_range(f, value)) return fail(err, CTN_BAD_CONFIG, "expected %s, found %s", f->allowed, write_number(value, words));
    char *at = (char *)cfg + f->offset;
    if (f->grid) *(int *)at = (int)value;
    else *(double *)at = value;
    return CTN_OK;
}

ctn_status config_check(const ctn_batch_config *cfg, ctn_error *err)
{
    if (!cfg) return fail(err, CTN_BAD_ARGUMENT, "the configuration is NULL");
    if (cfg->cookie != COOKIE)
        return fail(err, CTN_BAD_CONFIG, "the configuration was not initialised; start from ctn_batch_config_default()");
    if (!ctn_method_name(cfg->method)) return fail(err, CTN_BAD_CONFIG, "method: unknown value %d", (int)cfg->method);
    if (!ctn_solver_name(cfg->solver)) return fail(err, CTN_BAD_CONFIG, "solver: unknown value %d", (int)cfg->solver);
    if (!ctn_schedule_name(cfg->schedule)) return fail(err, CTN_BAD_CONFIG, "schedule: unknown value %d", (int)cfg->schedule);
    if (!ctn_parallel_name(cfg->parallel)) return fail(err, CTN_BAD_CONFIG, "parallel: unknown value %d", (int)cfg->parallel);
    if (cfg->parameter_count < 0 || (cfg->parameter_count && !cfg->parameters))
        return fail(err, CTN_BAD_CONFIG, "parameters: expected a list, found %d of none", cfg->parameter_count);
    for (int i = 0; i < COUNT(fields); i++) {
        const field *f = row_for(&fields[i], cfg);
        double number;
        const char *const own = method_number(cfg, &number);
        if (f->offset == offsetof(ctn_batch_config, order) && (!own || strcmp(own, "order"))) continue;
        if (f->offset == offsetof(ctn_batch_config, stages) && (!own || strcmp(own, "stages"))) continue;
        if (f->offset == offsetof(ctn_batch_config, rho) && (!own || strcmp(own, "rho"))) continue;
        const double value = field_value(cfg, f);
        char words[32];
        if (!in_range(f, value))
            return fail(err, CTN_BAD_CONFIG, "%s: expected %s, found %s", f->name, f->allowed, write_number(value, words));
    }
    ctn_error reason;
    if (config_check_adaptive(cfg, &reason) != CTN_OK) return fail(err, CTN_BAD_CONFIG, "dt: %s", reason.message);
    if (config_check_solver(cfg, &reason) != CTN_OK) return fail(err, CTN_BAD_CONFIG, "solver: %s", reason.message);
    if (cfg->dense && cfg->method == CTN_VARIATIONAL)
        return fail(err, CTN_UNAVAILABLE, "dense: output between the steps is not available for %s in this version",
                    ctn_method_name(cfg->method));
    return CTN_OK;
}

/// The variational method of order 4 steps back in time on its way, where a damper would drive.
static ctn_status check_undamped(const ctn_model *m, const ctn_batch_config *cfg, ctn_error *err)
{
    for (int k = 0; k < cfg->parameter_count; k++)
        if (cfg->parameters[k].kind == CTN_DAMPING || cfg->parameters[k].kind == CTN_LIMIT_DAMPING)
            return fail(
                err, CTN_BAD_CONFIG,
                "order: the method variational takes no dampers at order 4, but %s is one of the parameters; take order 2",
                ctn_parameter_name(cfg->parameters[k].kind));
    for (int i = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        const bool damped = b->damping[0] > 0 || b->damping[1] > 0 || b->damping[2] > 0;
        if (!damped && b->limit_b <= 0) continue;
        const ctn_link *k = m->links;
        while (b->vadr < k->vadr || b->vadr >= k->vadr + k->nv) k++;
        return fail(
            err, CTN_BAD_CONFIG,
            "order: the method variational takes no dampers at order 4, but the joint of link '%s' has %s; take order 2%s",
            k->name, damped ? "damping" : "limit_damping", damped ? "" : ", or write limit_damping: 0 (limits brake by default)");
    }
    return CTN_OK;
}

/// Who takes loads on points: all but what is fenced off from new forces, and dampers all but the variational method.
static ctn_status check_loads(const ctn_model *m, const ctn_batch_config *cfg, ctn_error *err)
{
    if (!m->nload) return CTN_OK;
    if (cfg->method == CTN_COLLOCATION && cfg->order > 2)
        return fail(err, CTN_BAD_CONFIG,
                    "order: collocation takes `springs`, `forces`, thrusters, a `fluid` and wrenches at order 2 alone; take that, or radau");
    if ((cfg->method == CTN_COLLOCATION || cfg->method == CTN_RADAU) && cfg->solver != CTN_NEWTON)
        return fail(err, CTN_BAD_CONFIG, "solver: %s takes no `springs`, `forces`, thrusters, `fluid` or wrenches; take newton",
                    ctn_solver_name(cfg->solver));
    for (int k = 0; k < m->nload; k++)
        if (m->loads[k].flags & LOAD_PUBLISHED && (cfg->method != CTN_COLLOCATION || cfg->order != 2))
            return fail(
                err, CTN_BAD_CONFIG,
                "method: %s takes no `drag` of `law: as-published`, which goes by the step size; take collocation of order 2, "
                "or another law",
                ctn_method_name(cfg->method));
    for (int k = 0; k < cfg->parameter_count && cfg->method == CTN_VARIATIONAL; k++)
        if (cfg->parameters[k].kind == CTN_SPRING_DAMPING)
            return fail(err, CTN_BAD_CONFIG,
                        "method: variational takes no spring_damping, which is one of the parameters; take radau");
    for (int k = 0; k < m->nload && cfg->method == CTN_VARIATIONAL; k++)
        if (m->loads[k].damping > 0 || m->loads[k].axial > 0)
            return fail(err, CTN_BAD_CONFIG, "method: variational takes %s; take radau",
                        m->loads[k].number < m->nspring ? "`springs` without damping alone" : "a `fluid` without drag alone");
    return CTN_OK;
}

/// Targets and currents that move: the variational method takes forces at states whose time it does not know, worlds that a device
/// steps side by side have no clock yet.
static ctn_status check_signals(const ctn_model *m, const ctn_batch_config *cfg, ctn_error *err)
{
    const char *const what = m->stream.moves ? "`current` that changes" : "targets of `motors` that move";
    if (!m->nsignal) return CTN_OK;
    if (cfg->method == CTN_VARIATIONAL)
        return fail(err, CTN_BAD_CONFIG, "method: variational takes no %s with time in this version; take radau or alpha", what);
    if (cfg->engine && !strncmp(cfg->engine, "cuda", 4) && cfg->parallel != CTN_PARALLEL_LINKS &&
        cfg->parallel != CTN_PARALLEL_BOTH)
        return fail(err, CTN_BAD_CONFIG, "engine: '%s' takes no %s with time in this version%s; take an engine of the CPU",
                    cfg->engine, what, m->stream.moves ? "" : ", but along links");
    return CTN_OK;
}

/// A motor's brake is not a drag that a step can take as it is at its start: the effort bounds it together with the rest.
static ctn_status check_motors(const ctn_model *m, const ctn_batch_config *cfg, ctn_error *err)
{
    for (int k = 0; k < cfg->parameter_count && cfg->method == CTN_VARIATIONAL; k++)
        if (cfg->parameters[k].kind == CTN_MOTOR_KD)
            return fail(err, CTN_BAD_CONFIG, "method: variational takes no motor_kd, which is one of the parameters; take radau");
    for (int k = 0; k < m->nmotor && cfg->method == CTN_VARIATIONAL; k++)
        if (m->motors[k].kd > 0 || m->motors[k].wound >= 0 || m->motors[k].fast)
            return fail(err, CTN_BAD_CONFIG, "method: variational takes `motors` without kd, ki and `speed` alone; take radau");
    return CTN_OK;
}

/// Whether joints have dry friction, or worlds may give them some.
static bool has_friction(const ctn_model *m, const ctn_batch_config *cfg)
{
    for (int k = 0; k < cfg->parameter_count; k++)
        if (cfg->parameters[k].kind == CTN_FRICTION) return true;
    return m->rubs;
}

/// Dry friction stands in one step after another: a method that looks back has none to look back to.
static ctn_status check_friction(const ctn_model *m, const ctn_batch_config *cfg, ctn_error *err)
{
    if (!has_friction(m, cfg)) return CTN_OK;
    if (cfg->method == CTN_VARIATIONAL)
        return fail(err, CTN_BAD_CONFIG, "method: variational takes no dry `friction` of joints; take alpha, or radau");
    if (cfg->method == CTN_COLLOCATION && cfg->order > 2)
        return fail(err, CTN_BAD_CONFIG,
                    "order: collocation takes dry `friction` of joints at order 2 alone; take that, or radau");
    return CTN_OK;
}

/// Who takes contact with the ground.
static ctn_status check_contact(const ctn_model *m, const ctn_batch_config *cfg, ctn_error *err)
{
    if (!m->ncontact) return CTN_OK;
    if (m->published && (cfg->method != CTN_COLLOCATION || cfg->order != 2))
        return fail(err, CTN_BAD_CONFIG,
                    "method: %s takes no `contact` of `law: as-published`, which goes by the step size; take collocation of order 2, "
                    "or the law bristles",
                    ctn_method_name(cfg->method));
    if (cfg->method == CTN_VARIATIONAL && cfg->order == 4)
        return fail(
            err, CTN_BAD_CONFIG,
            "order: variational takes a `ground` at order 2 alone: a step of order 4 goes back in time; take that, or radau");
    if (cfg->method == CTN_COLLOCATION && cfg->order > 2)
        return fail(err, CTN_BAD_CONFIG,
                    "order: collocation takes a `ground` at order 2 alone: beyond it has no law of energy, and landings gain it; "
                    "take order 2, alpha or radau");
    if (cfg->solver != CTN_NEWTON)
        return fail(err, CTN_BAD_CONFIG, "solver: %s takes no `ground`; take newton", ctn_solver_name(cfg->solver));
    return CTN_OK;
}

const char *config_between(const ctn_model *m)
{
    static const char *const words[] = {[BOND_POINT] = "`loops`",
                                        [BOND_HINGE] = "`loops`",
                                        [BOND_WELD] = "`loops`",
                                        [BOND_SLIDER] = "`loops`",
                                        [BOND_DISTANCE] = "`loops`",
                                        [BOND_COUPLING] = "`couplings`",
                                        [BOND_SPRING] = "`springs` between links",
                                        [BOND_TENDON] = "`tendons`",
                                        [BOND_PATH] = "`tendons`"};
    return m->npair ? "links that touch each other" : m->nbond ? words[m->bonds[0].kind] : NULL;
}

/// Who takes what acts between links: methods whose steps solve for it.
static ctn_status check_between(const ctn_model *m, const ctn_batch_config *cfg, ctn_error *err)
{
    const char *const what = config_between(m);
    if (!what) return CTN_OK;
    if (cfg->method != CTN_COLLOCATION && cfg->method != CTN_RADAU && cfg->method != CTN_ALPHA)
        return fail(err, CTN_BAD_CONFIG, "method: %s takes no %s; take collocation of order 2, alpha or radau",
                    ctn_method_name(cfg->method), what);
    if (cfg->method == CTN_COLLOCATION && cfg->order > 2)
        return fail(err, CTN_BAD_CONFIG, "order: collocation takes %s at order 2 alone; take that, alpha or radau", what);
    if (cfg->solver != CTN_NEWTON)
        return fail(err, CTN_BAD_CONFIG, "solver: %s takes no %s; take newton", ctn_solver_name(cfg->solver), what);
    if (cfg->adaptive) return fail(err, CTN_BAD_CONFIG, "dt: auto takes no %s; say how large steps are", what);
    for (const model_sensor *s = m->sensors; s < m->sensors + m->nsensor; s++) {
        const char *const word = sensor_types[s->about.type].name;
        if (s->needs & (SENSOR_ACCELERATIONS | SENSOR_REACTIONS))
            return fail(err, CTN_BAD_CONFIG, "sensors: %s goes by forward dynamics, which know nothing of %s; take it out", word,
                        what);
    }
    return CTN_OK;
}

ctn_status config_check_model(const ctn_batch_config *cfg, const ctn_model *m, ctn_error *err)
{
    const ctn_status contact = check_contact(m, cfg, err);
    if (contact != CTN_OK) return contact;
    const ctn_status between = check_between(m, cfg, err);
    if (between != CTN_OK) return between;
    const ctn_status friction = check_friction(m, cfg, err);
    if (friction != CTN_OK) return friction;
    const ctn_status loads = check_loads(m, cfg, err);
    if (loads != CTN_OK) return loads;
    const ctn_status motors = check_motors(m, cfg, err);
    if (motors != CTN_OK) return motors;
    const ctn_status signals = check_signals(m, cfg, err);
    if (signals != CTN_OK) return signals;
    return cfg->method == CTN_VARIATIONAL && cfg->order == 4 ? check_undamped(m, cfg, err) : CTN_OK;
}

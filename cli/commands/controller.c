/// A controller in a process of its own, in lockstep: lines of JSON over two pipes (docs/cli.md).
#include "cli/commands/controller.h"

#include "cli/base/json.h"
#include "cli/base/lockstep.h"
#include "cli/base/message.h"
#include "cli/base/stop.h"
#include "dynamics/model.h"
#include "sim/base/parameter_kinds.h"
#include "sim/batch/batch.h"
#include "sim/scene/scene.h"

#include <catena/sensors.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct controller {
    const ctn_model *model;
    lockstep beside;
    ctn_parameter *parameters;
    double *values;  // [count], of the parameters
    int count;
    double *q, *v, *tau, *sensed;  // [nq], [nv], [nv]; what sensors say
};

// ---- the process

/// Its pipe is closed: it has ended, or ends soon. Without complaint that is the end of the run.
static control_answer gone(controller *c, long step)
{
    const int status = lockstep_gone(&c->beside);
    if (!status) return CONTROL_ENDS;
    c->beside.failed = true;
    if (lockstep_signal(&c->beside))
        run_error("--control: the process was ended by signal %d before step %ld", lockstep_signal(&c->beside), step);
    else run_error("--control: the process ended with status %d before step %ld", status, step);
    return CONTROL_FAILS;
}

static control_answer wrong(controller *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static control_answer wrong(controller *c, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->beside.failed = true;
    run_error("--control: %s", text);
    return CONTROL_FAILS;
}

// ---- what it is told

cJSON *controller_greeting(const setup *s)
{
    const ctn_model *const m = s->model;
    cJSON *const root = cJSON_CreateObject();
    json_text(root, "scene", ctn_scene_name(s->scene));
    json_number(root, "dt", s->cfg.dt);
    cJSON *const links = json_array(root, "links");
    for (int i = 0; i < m->nlink; i++) {
        const ctn_link *const l = ctn_model_link(m, i);
        if (!l->nq) continue;
        cJSON *const one = json_object(links, NULL);
        json_text(one, "name", l->name);
        json_number(one, "q", l->qadr), json_number(one, "nq", l->nq), json_number(one, "v", l->vadr),
            json_number(one, "nv", l->nv);
    }
    cJSON *const motors = json_array(root, "motors");
    for (int i = 0; i < s->scene->nmotor; i++) {
        const scene_motor *const a = &s->scene->motors[i];
        cJSON *const one = json_object(motors, NULL);
        const bool thrusts = a->type >= MOTOR_THRUST;
        if (a->tendon) json_text(one, "tendon", s->scene->bonds[a->tendon - 1].name);
        else json_text(one, thrusts ? "link" : "joint", ctn_model_link(m, a->link)->name);
        if (thrusts) json_numbers(one, "limits", (const double[]){a->least, a->effort}, 2);
        else if (a->told == 1 && !a->tendon) json_number(one, "dof", a->dof);
        else if (a->told > 1) json_text(one, "on", "ball");
        json_text(one, "type", motor_type_name(a->type));
    }
    cJSON *const sensors = json_array(root, "sensors");
    for (int i = 0; i < ctn_model_nsensor(m); i++) {
        const ctn_sensor *const a = ctn_model_sensor(m, i);
        cJSON *const one = json_object(sensors, NULL);
        json_text(one, "name", a->name);
        json_text(one, "type", ctn_sensor_type_name(a->type));
        json_number(one, "first", a->first), json_number(one, "count", a->count);
    }
    return root;
}

/// What motors can be told, by the names in answers.
static const char *const told[] = {"target", "velocity_target", "feedforward", "kp", "kd", "effort", "ki", "speed"};
enum { TOLD = sizeof told / sizeof *told, MOST_TOLD = 14 };  // names, and numbers of a motor

/// The kind of parameters that this is to a motor.
static ctn_parameter_kind told_kind(const ctn_model *m, const joint_motor *a, int name)
{
    static const ctn_parameter_kind kinds[TOLD] = {CTN_MOTOR_TARGET, CTN_MOTOR_VELOCITY, CTN_MOTOR_FEEDFORWARD, CTN_MOTOR_KP,
                                                   CTN_MOTOR_KD,     CTN_MOTOR_EFFORT,   CTN_MOTOR_KI,          CTN_MOTOR_SPEED};
    static const ctn_parameter_kind targets[] = {
        [MOTOR_POSITION] = CTN_MOTOR_ROTATION, [MOTOR_VELOCITY] = CTN_MOTOR_SPIN, [MOTOR_TORQUE] = CTN_MOTOR_TORQUE};
    if (traits_of_motor(m, a).told == 1) return kinds[name];
    return name == 0 ? targets[a->type] : name == 1 ? CTN_MOTOR_SPIN : name == 2 ? CTN_MOTOR_TORQUE : kinds[name];
}

/// Whether a motor has that name; of a ball the target of a velocity servo, or of a torque, goes by `target` alone.
static bool has_told(const ctn_model *m, const joint_motor *a, int name, const ctn_batch_config *cfg)
{
    const bool ball = traits_of_motor(m, a).told > 1;
    const ctn_parameter_kind kind = told_kind(m, a, name);
    if (ball && ((name == 1 && a->type != MOTOR_POSITION) || (name == 2 && a->type == MOTOR_TORQUE))) return false;
    return motor_has(traits_of_motor(m, a), kind) && (kind != CTN_MOTOR_KD || cfg->method != CTN_VARIATIONAL);
}

/// Lists what its motors can be told.
static bool list_parameters(controller *c, ctn_batch_config *cfg)
{
    const ctn_model *const m = c->model;
    c->parameters = calloc((size_t)m->nmotor * MOST_TOLD + 1, sizeof *c->parameters);
    c->values = calloc((size_t)m->nmotor * MOST_TOLD + 1, sizeof *c->values);
    if (!c->parameters || !c->values) return false;
    for (int i = 0; i < m->nmotor; i++)
        for (int k = 0; k < TOLD; k++) {
            const ctn_parameter_kind kind = told_kind(m, &m->motors[i], k);
            const int each = parameter_components(kind);
            for (int e = 0; e < each && has_told(m, &m->motors[i], k, cfg); e++)
                c->parameters[c->count++] = (ctn_parameter){kind, each * i + e};
        }
    cfg->parameters = c->parameters, cfg->parameter_count = c->count;
    return true;
}

controller *controller_open(const char *command, const setup *s, ctn_batch_config *cfg)
{
    controller *const c = calloc(1, sizeof *c);
    const size_t nq = (size_t)ctn_model_nq(s->model), nv = (size_t)ctn_model_nv(s->model);
    if (c) *c = (controller){.model = s->model};
    if (c) c->q = calloc(nq + 2 * nv + (size_t)ctn_model_sensor_numbers(s->model) + 1, sizeof *c->q);
    if (!c || !c->q || !list_parameters(c, cfg)) {
        if (c) free(c->q), free(c->parameters), free(c->values);
        free(c);
        run_error("not enough memory");
        return NULL;
    }
    c->v = c->q + nq, c->tau = c->v + nv, c->sensed = c->tau + nv;
    if (lockstep_open(&c->beside, command)) {
        lockstep_send(&c->beside, controller_greeting(s));  // where it cannot be sent, the first question cannot either
        return c;
    }
    run_error("--control: the process could not be started: %s", strerror(errno));
    controller_close(c, EXIT_RUN);
    return NULL;
}

// ---- what it answers

/// The numbers of one name for the motors: by motor, null leaves what is.
static bool take_told(controller *c, const cJSON *list, int name)
{
    const ctn_model *const m = c->model;
    const cJSON *entry = list->child;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != m->nmotor)
        return wrong(c, "\"%s\": expected a list of %d, a number or null for each motor", told[name], m->nmotor), false;
    for (int i = 0; i < m->nmotor; i++, entry = entry->next) {
        const ctn_parameter_kind kind = told_kind(m, &m->motors[i], name);
        const int each = parameter_components(kind);
        int k = 0;
        if (cJSON_IsNull(entry)) continue;
        while (k < c->count && (c->parameters[k].kind != kind || c->parameters[k].index != each * i)) k++;
        if (k == c->count) return wrong(c, "\"%s\": motor %d has none; say null", told[name], i), false;
        if (each > 1 && (!cJSON_IsArray(entry) || cJSON_GetArraySize(entry) != each))
            return wrong(c, "\"%s\": motor %d is on a ball: expected a list of 3 numbers, or null", told[name], i), false;
        const cJSON *x = each > 1 ? entry->child : entry;
        for (int e = 0; e < each; e++, x = x->next) {
            if (!cJSON_IsNumber(x) || !isfinite(x->valuedouble))
                return wrong(c, "\"%s\": motor %d: expected a finite number or null", told[name], i), false;
            c->values[k + e] = x->valuedouble;
        }
    }
    return true;
}

static bool take_force(controller *c, const cJSON *list)
{
    const int nv = ctn_model_nv(c->model);
    const cJSON *entry = list->child;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != nv)
        return wrong(c, "\"force\": expected a list of %d numbers, one for each degree of freedom", nv), false;
    for (int i = 0; i < nv; i++, entry = entry->next) {
        if (!cJSON_IsNumber(entry) || !isfinite(entry->valuedouble))
            return wrong(c, "\"force\": entry %d: expected a finite number", i), false;
        c->tau[i] = entry->valuedouble;
    }
    return true;
}

static control_answer carry_out(controller *c, ctn_batch *batch, const cJSON *answer)
{
    ctn_error err;
    bool sets = false;
    if (!cJSON_IsObject(answer)) return wrong(c, "expected an object of JSON in a line, as {\"target\": [0.1]} or {}");
    for (const cJSON *member = answer->child; member; member = member->next) {
        int k = 0;
        while (k < TOLD && strcmp(member->string, told[k])) k++;
        if (k < TOLD) {
            if (!take_told(c, member, k)) return CONTROL_FAILS;
            sets = true;
        } else if (!strcmp(member->string, "force")) {
            if (!take_force(c, member)) return CONTROL_FAILS;
            ctn_batch_set_force(batch, c->tau);
        } else if (!strcmp(member->string, "stop")) {
            if (cJSON_IsTrue(member)) return CONTROL_ENDS;
        } else
            return wrong(
                c,
                "\"%.40s\": unknown; an answer has target, velocity_target, feedforward, kp, kd, effort, ki, speed, force, stop",
                clean(member->string).text);
    }
    if (sets && c->count && ctn_batch_set_parameters(batch, c->values, &err) != CTN_OK) return wrong(c, "%s", err.message);
    return CONTROL_GOES_ON;
}

control_answer controller_ask(controller *c, ctn_batch *batch, long step)
{
    cJSON *const question = cJSON_CreateObject();
    if (!step && c->count) memcpy(c->values, batch->values, (size_t)c->count * sizeof *c->values);
    ctn_batch_state(batch, c->q, c->v);
    json_number(question, "step", (double)step);
    json_number(question, "time", ctn_batch_time(batch, 0));
    json_numbers(question, "q", c->q, (size_t)ctn_model_nq(c->model));
    json_numbers(question, "v", c->v, (size_t)ctn_model_nv(c->model));
    if (ctn_model_nsensor(c->model)) {
        ctn_batch_sensors(batch, c->sensed, NULL);
        json_numbers(question, "sensors", c->sensed, (size_t)ctn_model_sensor_numbers(c->model));
    }
    char *const line = lockstep_send(&c->beside, question) ? lockstep_receive(&c->beside) : NULL;
    if (!line && stop_asked()) return CONTROL_FAILS;
    if (!line && lockstep_is_too_long(&c->beside)) return wrong(c, "an answer of more than %zu bytes", c->beside.room);
    if (!line) return gone(c, step);
    cJSON *const answer = cJSON_Parse(line);
    const control_answer what = carry_out(c, batch, answer);
    cJSON_Delete(answer);
    return what;
}

int controller_close(controller *c, int status)
{
    if (!c) return status;
    status = lockstep_close(&c->beside, status);
    free(c->parameters), free(c->values), free(c->q);
    free(c);
    return status;
}

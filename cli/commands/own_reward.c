/// Rewards of a process of its own, in lockstep: lines of JSON over two pipes (docs/cli.md).
#include "cli/commands/own_reward.h"

#include "cli/base/json.h"
#include "cli/base/lockstep.h"
#include "cli/base/message.h"
#include "cli/base/stop.h"
#include "cli/commands/controller.h"
#include "sim/base/status.h"

#include <catena/motors.h>
#include <catena/sensors.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROTOCOL = 1 };

struct own_reward {
    lockstep beside;
    const char *command;
    size_t nq, nv, nu, sensed;
};

own_reward *own_reward_open(const char *command, const setup *s, double duration, const ranks *r)
{
    own_reward *const p = calloc(1, sizeof *p);
    if (!p) return run_error("not enough memory"), NULL;
    *p = (own_reward){.command = command,
                      .nq = (size_t)ctn_model_nq(s->model),
                      .nv = (size_t)ctn_model_nv(s->model),
                      .nu = (size_t)ctn_model_ntarget(s->model),
                      .sensed = (size_t)ctn_model_sensor_numbers(s->model)};
    if (lockstep_open(&p->beside, command)) {
        cJSON *const hello = controller_greeting(s);
        json_number(hello, "protocol", PROTOCOL);
        json_number(hello, "duration", duration);
        json_number(hello, "nq", (double)p->nq), json_number(hello, "nv", (double)p->nv), json_number(hello, "nu", (double)p->nu);
        json_number(hello, "process", r->rank), json_number(hello, "processes", r->count);
        lockstep_send(&p->beside, hello);  // where it cannot be sent, what comes next cannot either
        return p;
    }
    run_error("--reward: the process could not be started: %s", strerror(errno));
    own_reward_close(p, EXIT_RUN);
    return NULL;
}

/// Adds a list of lists, one a world.
static void add_rows(cJSON *to, const char *key, const double *x, int worlds, size_t width)
{
    cJSON *const rows = json_array(to, key);
    for (int w = 0; w < worlds; w++) json_numbers(rows, NULL, x + (size_t)w * width, width);
}

static cJSON *line_of(const own_reward *p, const ctn_search_moment *now)
{
    cJSON *const line = cJSON_CreateObject();
    double time = 0;
    for (int w = 0; w < now->worlds; w++) time = fmax(time, now->time[w]);  // of worlds that go on
    if (!(now->dt > 0)) cJSON_AddBoolToObject(line, "begin", true);
    json_number(line, "worlds", now->worlds);
    json_number(line, "time", time), json_number(line, "dt", now->dt);
    add_rows(line, "q", now->q, now->worlds, p->nq), add_rows(line, "v", now->v, now->worlds, p->nv);
    add_rows(line, "u", now->u, now->worlds, p->nu);
    if (now->sensors) add_rows(line, "sensors", now->sensors, now->worlds, p->sensed);
    cJSON *const over = json_array(line, "over");
    for (int w = 0; w < now->worlds; w++) cJSON_AddItemToArray(over, cJSON_CreateBool(now->over[w]));
    cJSON_AddBoolToObject(line, "last", now->last);
    return line;
}

static ctn_status take(const cJSON *answer, int worlds, double *earned, ctn_error *err)
{
    const cJSON *const list = cJSON_IsObject(answer) ? cJSON_GetObjectItemCaseSensitive(answer, "reward") : NULL;
    if (!cJSON_IsArray(list))
        return fail(err, CTN_UNAVAILABLE, "--reward: expected an object of JSON in a line, as {\"reward\": [0.1, 0.2]}");
    if (cJSON_GetArraySize(list) != worlds)
        return fail(err, CTN_UNAVAILABLE,
                    "--reward: \"reward\": expected a list of %d, a number or null for each world, found %d", worlds,
                    cJSON_GetArraySize(list));
    const cJSON *entry = list->child;
    for (int w = 0; w < worlds; w++, entry = entry->next) {
        if (!cJSON_IsNumber(entry) && !cJSON_IsNull(entry))
            return fail(err, CTN_UNAVAILABLE, "--reward: \"reward\": world %d: expected a number or null", w);
        earned[w] = cJSON_IsNumber(entry) ? entry->valuedouble : NAN;
    }
    return CTN_OK;
}

/// It is gone, or a signal has come.
static ctn_status gone(own_reward *p, const ctn_search_moment *now, ctn_error *err)
{
    if (stop_asked()) return fail(err, CTN_INTERRUPTED, "interrupted");
    p->beside.failed = true;
    if (lockstep_is_too_long(&p->beside))
        return fail(err, CTN_UNAVAILABLE, "--reward: an answer of more than %zu bytes", p->beside.room);
    const int status = lockstep_gone(&p->beside), signal = lockstep_signal(&p->beside);
    const double time = now->time[0];
    if (signal)
        return fail(err, CTN_UNAVAILABLE, "--reward: the process was ended by signal %d at %g s of an episode", signal, time);
    return fail(err, CTN_UNAVAILABLE,
                "--reward: the process ended with status %d at %g s of an episode; it has to answer until its input ends", status,
                time);
}

static ctn_status earn(void *with, const ctn_search_moment *now, double *earned, ctn_error *err)
{
    own_reward *const p = with;
    if (!lockstep_send(&p->beside, line_of(p, now))) return gone(p, now, err);
    if (!(now->dt > 0)) return CTN_OK;
    const char *const line = lockstep_receive(&p->beside);
    if (!line) return gone(p, now, err);
    cJSON *const answer = cJSON_Parse(line);
    const ctn_status status = take(answer, now->worlds, earned, err);
    cJSON_Delete(answer);
    if (status != CTN_OK) p->beside.failed = true;
    return status;
}

search_reward own_reward_of(own_reward *r) { return (search_reward){.earn = earn, .with = r, .name = r->command}; }

int own_reward_close(own_reward *r, int status)
{
    if (!r) return status;
    status = lockstep_close(&r->beside, status);
    free(r);
    return status;
}

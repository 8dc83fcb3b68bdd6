/// The summary of a rollout, for people and for programs.
#include "cli/json.h"
#include "cli/message.h"
#include "cli/rollout.h"
#include "sim/status.h"

#include <math.h>
#include <stdio.h>

/// Worlds made now, not before the rollout was resumed.
static double made(const rollout *r) { return (double)(r->sum.done - r->sum.before); }

static double worlds_a_second(const rollout *r) { return made(r) / fmax(r->wall, 1e-9); }

/// What is kept of a world, bytes.
static double kept(const rollout *r) { return (double)r->times * (double)quantities_width(r->s.model, r->keep) * sizeof(double); }

void print_rollout(const rollout *r)
{
    const tally *const t = &r->sum;
    printf("scene         %s (%s)\n", ctn_scene_name(r->s.scene), clean(r->s.path).text);
    printf("worlds        %ld of %ld, seed %llu, %d at a time on %d thread%s, engine %s\n", t->done, r->all,
           (unsigned long long)r->seed, r->block, r->threads, plural(r->threads), r->engine);
    if (r->ranks.count > 1) printf("processes     %d, of which the first wrote %s\n", r->ranks.count, clean(r->path).text);
    if (t->before) printf("resumed       after %ld world%s\n", t->before, plural(t->before));
    printf("memory        %.3g kB a world to step it, %.3g kB for what is kept\n", r->bytes / 1000, kept(r) / 1000);
    printf("steps         %ld of %g s each, %d state%s kept\n", r->steps, r->s.cfg.dt, r->times, plural(r->times));
    printf("time          %.3g s: %.4g worlds/s, %.4g steps/s\n", r->wall, worlds_a_second(r),
           worlds_a_second(r) * (double)r->steps);
    if (t->calls) printf("lanes         %.0f %% of their iterations were of use\n", 100 * t->occupancy / (double)t->calls);
    printf("of these      %ld with fallbacks, %ld frozen\n", t->fallen, t->frozen);
    printf("file          %s\n", clean(r->out).text);
}

int print_json_rollout(const rollout *r)
{
    const tally *const t = &r->sum;
    cJSON *const root = json_object(NULL, NULL);
    json_text(root, "catena", ctn_version());
    json_text(root, "scene", ctn_scene_name(r->s.scene));
    json_text(root, "file", r->s.path);
    json_configuration(root, &r->s.cfg);
    json_text(root, "engine", r->engine);
    json_number(root, "worlds", (double)r->all);
    json_number(root, "threads", r->threads);
    json_number(root, "processes", r->ranks.count);
    json_number(root, "at_a_time", r->block);
    json_number(root, "seed", (double)r->seed);
    json_number(root, "steps", (double)r->steps);
    json_number(root, "stride", (double)r->stride);
    json_number(root, "states", r->times);
    json_number(root, "done", (double)t->done);
    json_number(root, "done_before", (double)t->before);
    cJSON_AddBoolToObject(root, "interrupted", t->interrupted);
    json_number(root, "wall_seconds", r->wall);
    json_number(root, "worlds_per_second", worlds_a_second(r));
    json_number(root, "steps_per_second", worlds_a_second(r) * (double)r->steps);
    json_number(root, "occupancy", t->calls ? t->occupancy / (double)t->calls : (double)NAN);
    cJSON *const bytes = json_object(root, "bytes_a_world");
    json_number(bytes, "stepped", r->bytes);
    json_number(bytes, "kept", kept(r));
    json_number(root, "with_fallbacks", (double)t->fallen);
    json_number(root, "frozen", (double)t->frozen);
    json_lines(root, "warnings", ctn_scene_warnings(r->s.scene));
    cJSON *const recording = json_object(root, "recording");
    json_text(recording, "file", r->out);
    json_number(recording, "worlds", (double)t->done);
    cJSON_AddBoolToObject(recording, "complete", t->done == r->all);
    return json_print(root);
}

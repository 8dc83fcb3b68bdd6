/// The summary of a rollout, for people and for programs.
#include "cli/base/json.h"
#include "cli/base/message.h"
#include "cli/commands/rollout.h"
#include "sim/base/status.h"
#include "sim/record/trajectories.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/// Of worlds made now, not before the rollout was resumed.
static double worlds_a_second(const ctn_rollout_report *r) { return (double)(r->done - r->before) / fmax(r->wall, 1e-9); }

void print_rollout(const setup *s, const char *out, const ctn_rollout_config *cfg, const ctn_rollout_report *r)
{
    printf("scene         %s (%s)\n", ctn_scene_name(s->scene), clean(s->path).text);
    printf("worlds        %ld of %ld, seed %llu, %d at a time on %d thread%s, engine %s\n", r->done, r->worlds,
           (unsigned long long)cfg->seed, r->block, r->threads, plural(r->threads), r->engine);
    if (r->lanes) printf("parallel      %s, %d lanes\n", ctn_parallel_name(r->parallel), r->lanes);
    if (r->processes > 1) {
        char *const first = trajectories_path(out, 0);
        printf("processes     %d, of which the first wrote %s\n", r->processes, first ? clean(first).text : "its own file");
        free(first);
    }
    if (r->before) printf("resumed       after %ld world%s\n", r->before, plural(r->before));
    printf("memory        %.3g kB a world to step it, %.3g kB for what is kept\n", r->step_bytes / 1000, r->kept_bytes / 1000);
    printf("steps         %ld of %g s each, %d state%s kept\n", cfg->steps, s->cfg.dt, r->states, plural(r->states));
    printf("time          %.3g s: %.4g worlds/s, %.4g steps/s\n", r->wall, worlds_a_second(r),
           worlds_a_second(r) * (double)cfg->steps);
    if (!isnan(r->occupancy)) printf("lanes         %.0f %% of their iterations were of use\n", 100 * r->occupancy);
    printf("of these      %ld with fallbacks, %ld frozen\n", r->with_fallbacks, r->frozen);
    printf("file          %s\n", clean(out).text);
}

int print_json_rollout(const setup *s, const char *out, const ctn_rollout_config *cfg, const ctn_rollout_report *r)
{
    cJSON *const root = json_object(NULL, NULL);
    json_text(root, "catena", ctn_version());
    json_text(root, "scene", ctn_scene_name(s->scene));
    json_text(root, "file", s->path);
    ctn_batch_config used = s->cfg;
    used.parallel = r->parallel, used.lanes = r->lanes;
    json_configuration(root, &used);
    json_text(root, "engine", r->engine);
    json_number(root, "worlds", (double)r->worlds);
    json_number(root, "threads", r->threads);
    json_number(root, "processes", r->processes);
    json_number(root, "at_a_time", r->block);
    json_number(root, "seed", (double)cfg->seed);
    json_number(root, "steps", (double)cfg->steps);
    json_number(root, "stride", (double)cfg->stride);
    json_number(root, "states", r->states);
    json_number(root, "done", (double)r->done);
    json_number(root, "done_before", (double)r->before);
    cJSON_AddBoolToObject(root, "interrupted", r->interrupted);
    json_number(root, "wall_seconds", r->wall);
    json_number(root, "worlds_per_second", worlds_a_second(r));
    json_number(root, "steps_per_second", worlds_a_second(r) * (double)cfg->steps);
    json_number(root, "occupancy", r->occupancy);
    cJSON *const bytes = json_object(root, "bytes_a_world");
    json_number(bytes, "stepped", r->step_bytes);
    json_number(bytes, "kept", r->kept_bytes);
    json_number(root, "with_fallbacks", (double)r->with_fallbacks);
    json_number(root, "frozen", (double)r->frozen);
    if (cfg->save_freeze) json_text(root, "last_steps", cfg->save_freeze);
    json_lines(root, "warnings", ctn_scene_warnings(s->scene));
    cJSON *const recording = json_object(root, "recording");
    json_text(recording, "file", out);
    json_number(recording, "worlds", (double)r->done);
    cJSON_AddBoolToObject(recording, "complete", r->done == r->worlds);
    return json_print(root);
}

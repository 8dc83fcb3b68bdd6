/// What the files of `catena rollout` share.
#ifndef CATENA_CLI_ROLLOUT_H
#define CATENA_CLI_ROLLOUT_H

#include "cli/base/setup.h"
#include "sim/runs/rollout.h"

/// What was made, by all processes: for people, and as one JSON object, which returns an exit status.
void print_rollout(const setup *s, const char *out, const ctn_rollout_config *cfg, const ctn_rollout_report *report);
int print_json_rollout(const setup *s, const char *out, const ctn_rollout_config *cfg, const ctn_rollout_report *report);

#endif

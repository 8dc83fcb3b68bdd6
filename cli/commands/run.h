/// What the files of `catena run` share.
#ifndef CATENA_CLI_RUN_H
#define CATENA_CLI_RUN_H

#include "cli/plots/gnuplot.h"
#include "cli/base/progress.h"
#include "cli/base/setup.h"
#include "cli/commands/controller.h"
#include "sim/runs/braking.h"
#include "sim/runs/freezes.h"

/// Energies of world 0 at one time, for the plot. J
typedef struct energy_sample {
    double time, kinetic, potential, spring, method;
} energy_sample;

typedef struct run {
    setup s;
    ctn_batch *batch;
    long steps, done;  // asked for, made
    double wall;       // s, of the loop
    bool interrupted;
    bool failed;            // the engine did, in the middle: states and statistics are not known any more
    ctn_step_stats *total;  // [worlds], of all steps

    struct controller *control;  // NULL: none

    // recording
    const char *out;  // NULL: none
    ctn_recorder *recorder;
    long every, records;
    bool hashes;            // of every step
    ctn_step_stats *since;  // [worlds], since the last record
    bool lost;              // the recording failed, or a world that froze could not be saved

    // worlds that freeze
    const char *save_freeze;  // the folder for their last steps; NULL: none
    char *command;            // the command line, of these files
    freezes *freezes;

    // what the method takes from the motion
    braking *braking;           // of world 0: all are alike
    char braked[BRAKING_TEXT];  // the warning; empty: none

    // plot
    plot_file plot;  // path NULL: none
    bool drawn;
    ctn_dynamics *dyn;
    double *q, *v;  // [worlds][nq], [worlds][nv]
    energy_sample *samples;
    int nsample;
    long stride;  // steps from one sample to the next
} run;

/// Prints the summary as text, or as one JSON object. The latter returns an exit status.
void print_summary(const run *r);
int print_json_summary(const run *r);

/// Draws the samples into the file r->plot. If that fails, gnuplot's script with the data stays beside it; returns an exit
/// status.
int draw_energies(run *r);

#endif

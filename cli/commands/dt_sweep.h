/// What the files of `catena check --dt-sweep` share.
#ifndef CATENA_CLI_DT_SWEEP_H
#define CATENA_CLI_DT_SWEEP_H

#include "cli/plots/gnuplot.h"
#include "cli/base/setup.h"

/// One run over the whole duration. `error`: the largest distance of a point of a link from the reference at the end, m; infinite
/// if the world froze. `seconds`: what computing it took, wall time. `fallbacks`: steps that needed halves or fewer stages.
typedef struct sweep_point {
    long steps;
    double dt, error, seconds;
    long fallbacks;
} sweep_point;

/// Whether the run says something of its time step: most of its steps were made as asked for.
bool sweep_counts(const sweep_point *p);

enum { SWEEP_POINTS = 64, SWEEP_METHODS = 40 };

/// One method with its runs, from large steps to small ones.
typedef struct sweep_method {
    char label[40];   // "rk4", "collocation 3"
    const char *key;  // "order", "stages": what `number` is; NULL: the method has neither
    int number;
    ctn_batch_config cfg;
    sweep_point points[SWEEP_POINTS];
    int npoint;
    int found;  // the point with the largest step that meets the error, as all smaller ones do; -1: none
} sweep_method;

typedef struct dt_sweep {
    setup s;
    double duration, error;  // s, m
    ctn_dynamics *dyn;
    double *q, *R, *p, *points;  // work space: [nq], [nlink][9], [nlink][3], [nlink][4][3]

    // the reference: points of links at the end, of a method and step size that are finer than any question
    double *reference, *coarser;  // [nlink][4][3], with as many and half as many steps
    ctn_batch_config reference_cfg;
    long reference_steps;
    double change, ratio;  // largest distance of a point between the two, m; how many times larger it was one doubling before

    sweep_method methods[SWEEP_METHODS];
    int nmethod;
    plot_file plot;  // path NULL: none
    bool drawn;
} dt_sweep;

/// `catena check SCENE --dt-sweep`. Returns an exit status.
int dt_sweep_main(const arguments *args);

/// The table: what stands above it, and one row when a method is done. Or one JSON object, which returns an exit status.
void print_sweep_head(const dt_sweep *d);
void print_sweep_row(const sweep_method *m);
int print_json_sweep(const dt_sweep *d);

/// Errors over step sizes, all methods; returns an exit status.
int draw_sweep(dt_sweep *d);

#endif

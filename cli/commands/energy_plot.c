/// The picture of `catena run --plot`: energies over time, and how the total changes.
#include "cli/plots/gnuplot.h"
#include "cli/commands/run.h"

static void put_energies(FILE *out, const void *what)
{
    const run *const r = (const run *)what;
    const ctn_batch_config *const cfg = ctn_batch_configuration(r->batch);
    const bool carried = ctn_method_is_implicit(cfg->method);
    bool spring = false;
    for (int i = 0; i < r->nsample; i++) spring = spring || r->samples[i].spring != 0;
    fprintf(out, "$energy << EOD\n");
    for (int i = 0; i < r->nsample; i++) {
        const energy_sample *const e = &r->samples[i];
        fprintf(out, "%.17g %.17g %.17g %.17g %.17g %.17g\n", e->time, e->kinetic, e->potential, e->spring,
                e->kinetic + e->potential + e->spring, e->method);
    }
    fprintf(out, "EOD\nset title ");
    char title[300];
    snprintf(title, sizeof title, "%s: %s, dt %g s", ctn_scene_name(r->s.scene), ctn_method_name(cfg->method), cfg->dt);
    put_quoted(out, title);
    fprintf(
        out,
        " noenhanced\n"
        "set multiplot layout 2,1\nset grid\nset key outside right top Left reverse\nset ylabel 'energy (J)'\nset format x ''\n"
        "set lmargin 14\nset rmargin 24\n"
        "plot $energy using 1:2 with lines lw 2 title 'kinetic', '' using 1:3 with lines lw 2 title 'potential'");
    if (spring) fprintf(out, ", '' using 1:4 with lines lw 2 title 'springs'");
    fprintf(out, ", '' using 1:5 with lines lw 2 lc rgb 'black' title 'total'");
    if (carried) fprintf(out, ", '' using 1:6 with lines lw 2 dt 2 title 'as the method has it'");
    const double start = r->nsample ? r->samples[0].method : 0;
    fprintf(out,
            "\nunset title\nset format x\nset xlabel 'time (s)'\nset ylabel 'drift of the energy (J)'\n"
            "plot $energy using 1:($6 - (%.17g)) with lines lw 2 lc rgb 'black' title '%s'\nunset multiplot\n",
            start, carried ? "as the method has it" : "total");
}

int draw_energies(run *r) { return draw_plot(&r->plot, put_energies, r, &r->drawn); }

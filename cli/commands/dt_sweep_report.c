/// What a sweep of time steps found: as a table, as JSON, as a picture.
#include "cli/commands/dt_sweep.h"
#include "cli/base/json.h"
#include "cli/plots/gnuplot.h"
#include "cli/base/message.h"

#include <math.h>
#include <stdio.h>

static double reference_dt(const dt_sweep *d) { return d->duration / (double)d->reference_steps; }

/// Order of convergence between the last two runs; NaN without them.
static double order(const sweep_method *m)
{
    if (m->npoint < 2) return NAN;
    const sweep_point *const a = &m->points[m->npoint - 2], *const b = a + 1;
    return log(a->error / b->error) / log(a->dt / b->dt);
}

void print_sweep_head(const dt_sweep *d)
{
    printf("scene         %s (%s)\n", ctn_scene_name(d->s.scene), clean(d->s.path).text);
    printf("error         %g m at most, of any link after %g s\n", d->error, d->duration);
    printf("reference     %s, dt %.3g s; half as many steps end %.2g m away", ctn_method_name(d->reference_cfg.method),
           reference_dt(d), d->change);
    if (isfinite(d->ratio)) printf(", a quarter %.3g times as far", d->ratio);
    printf("\n");
    printf("order         how the error fell between the two runs with the smallest steps; 1.0: like the time step\n\n");
    printf("%-16s%12s%10s%12s%8s%12s\n", "method", "largest dt", "steps", "error (m)", "order", "computed in");
    fflush(stdout);
}

void print_sweep_row(const sweep_method *m)
{
    const sweep_point *const p = &m->points[m->found >= 0 ? m->found : m->npoint - 1];
    char order_text[16] = "-";
    if (isfinite(order(m))) snprintf(order_text, sizeof order_text, "%.1f", order(m));
    if (m->found >= 0) printf("%-16s%12.4g%10ld%12.2g%8s%10.3g s\n", m->label, p->dt, p->steps, p->error, order_text, p->seconds);
    else
        printf("%-16s%12s%10ld%12.2g%8s   at the smallest dt, %.3g s\n", m->label, "none", p->steps, p->error, order_text, p->dt);
    fflush(stdout);
}

static void add_point(cJSON *to, const sweep_point *p)
{
    json_number(to, "dt", p->dt);
    json_number(to, "steps", (double)p->steps);
    json_number(to, "error", p->error);
    json_number(to, "seconds", p->seconds);
    json_number(to, "fallbacks", (double)p->fallbacks);
}

int print_json_sweep(const dt_sweep *d)
{
    cJSON *const root = json_object(NULL, NULL);
    json_text(root, "scene", ctn_scene_name(d->s.scene));
    json_text(root, "file", d->s.path);
    json_number(root, "duration", d->duration);
    json_number(root, "error", d->error);
    cJSON *const reference = json_object(root, "reference");
    json_text(reference, "method", ctn_method_name(d->reference_cfg.method));
    json_number(reference, "dt", reference_dt(d));
    json_number(reference, "change", d->change);
    json_number(reference, "ratio", d->ratio);
    cJSON *const methods = json_array(root, "methods");
    for (int k = 0; k < d->nmethod; k++) {
        const sweep_method *const m = &d->methods[k];
        cJSON *const one = json_object(methods, NULL);
        json_text(one, "method", ctn_method_name(m->cfg.method));
        if (m->key) json_number(one, m->key, m->number);
        if (m->found >= 0) add_point(json_object(one, "largest"), &m->points[m->found]);
        else cJSON_AddNullToObject(one, "largest");
        json_number(one, "convergence", order(m));
        cJSON *const runs = json_array(one, "runs");
        for (int i = 0; i < m->npoint; i++) add_point(json_object(runs, NULL), &m->points[i]);
    }
    if (d->drawn) json_text(root, "plot", d->plot.path);
    return json_print(root);
}

/// The axes are logarithmic.
static bool is_drawn(const sweep_point *p) { return sweep_counts(p) && isfinite(p->error) && p->error > 0; }

static bool has_points(const sweep_method *m)
{
    bool any = false;
    for (int i = 0; i < m->npoint; i++) any = any || is_drawn(&m->points[i]);
    return any;
}

static void put_errors(FILE *out, const void *what)
{
    const dt_sweep *const d = (const dt_sweep *)what;
    char title[300];
    for (int k = 0; k < d->nmethod; k++) {
        const sweep_method *const m = &d->methods[k];
        fprintf(out, "$method%d << EOD\n", k);
        for (int i = 0; i < m->npoint; i++)
            if (is_drawn(&m->points[i])) fprintf(out, "%.17g %.17g\n", m->points[i].dt, m->points[i].error);
        fprintf(out, "EOD\n");
    }
    snprintf(title, sizeof title, "%s: largest error of a link after %g s", ctn_scene_name(d->s.scene), d->duration);
    fprintf(out, "set title ");
    put_quoted(out, title);
    fprintf(out,
            " noenhanced\nset logscale xy\nset grid\nset key outside right top Left reverse\nset format '%%.0e'\n"
            "set xlabel 'time step (s)'\nset ylabel 'error (m)'\nplot %.17g with lines lw 1 dt 2 lc rgb 'black' notitle",
            d->error);
    for (int k = 0; k < d->nmethod; k++)
        if (has_points(&d->methods[k]))
            fprintf(out, ", $method%d using 1:2 with linespoints lw 2 pt 7 ps 0.6 title '%s'", k, d->methods[k].label);
    fprintf(out, "\n");
}

int draw_sweep(dt_sweep *d)
{
    bool any = false;
    for (int k = 0; k < d->nmethod; k++) any = any || has_points(&d->methods[k]);
    if (!any) return run_error("--plot: there is nothing to draw: no run of any method has an error above 0");
    return draw_plot(&d->plot, put_errors, d, &d->drawn);
}

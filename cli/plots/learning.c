/// Learning curves by gnuplot: rewards in one panel and, where it is asked for, the step size in one below.
#include "cli/plots/learning.h"

#include "cli/base/inputs.h"
#include "cli/base/message.h"
#include "cli/plots/search_table.h"
#include "cli/plots/gnuplot.h"
#include "cli/plots/plot.h"
#include "sim/base/csv_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TABLES = 24 };

/// What can be drawn, and how lines of one colour are told apart.
static const struct {
    const char *name, *line;
    int column;
} numbers[] = {{"best", "lw 2", TABLE_BEST},
               {"mean", "lw 1 dt 2", TABLE_MEAN},
               {"worst", "lw 1 dt 3", TABLE_WORST},
               {"sigma", "lw 2", TABLE_SIGMA}};
enum { NUMBERS = sizeof numbers / sizeof *numbers, SIGMA = NUMBERS - 1 };

typedef struct {
    const char *name;
    int rows;
    double *x;  // [rows][TABLE_COLUMNS]
} table;

typedef struct {
    plot_file out;
    table *tables;
    int count;
    bool drawn[NUMBERS];
} learning;

bool is_learning_table(const char *path)
{
    char line[200] = "", expected[100];
    FILE *const f = fopen(path, "r");
    if (!f) return false;
    const bool some = fgets(line, sizeof line, f);
    fclose(f);
    snprintf(expected, sizeof expected, "%s,%s,", search_table_columns[0], search_table_columns[1]);
    return some && !strncmp(line, expected, strlen(expected));
}

static int read_table(const char *path, table *t)
{
    ctn_error err;
    csv_table *const csv = csv_table_open(path, search_table_columns, TABLE_COLUMNS, &err);
    if (!csv) return status_error(&err, "");
    const int64_t rows = csv_table_rows(csv);
    int status = EXIT_OK;
    for (int k = 0; k < TABLE_DRAWN && status == EXIT_OK; k++)
        if (!csv_table_has(csv, k)) status = usage_error("%s: has no column '%s'", path, search_table_columns[k]);
    if (status == EXIT_OK && !rows) status = usage_error("%s: has no generation yet", path);
    if (status == EXIT_OK && rows > 100000000) status = usage_error("%s: has more rows than can be drawn", path);
    t->rows = (int)rows;
    if (status == EXIT_OK && !(t->x = malloc((size_t)rows * TABLE_COLUMNS * sizeof *t->x))) status = run_error("not enough memory");
    if (status == EXIT_OK && csv_table_read(csv, 0, t->rows, t->x, &err) != CTN_OK) status = status_error(&err, "");
    csv_table_close(csv);
    return status;
}

/// The files by their names from the end of the folder that all have in common on.
static void name_tables(const arguments *args, learning *l)
{
    size_t common = 0;
    for (size_t k = 0; args->files[0][k]; k++) {
        bool all = true;
        for (int f = 1; f < args->nfile; f++) all = all && args->files[f][k] == args->files[0][k];
        if (!all) break;
        if (args->files[0][k] == '/') common = k + 1;
    }
    for (int f = 0; f < args->nfile; f++) l->tables[f].name = args->files[f] + common;
}

/// The quantities of --y.
static int choose(const arguments *args, learning *l)
{
    char *const text = strdup(args->value[OPT_Y] ? args->value[OPT_Y] : "best,mean");
    int status = text ? EXIT_OK : run_error("not enough memory");
    for (char *at = text; at && status == EXIT_OK;) {
        const char *const name = csv_field(&at);
        int k = 0;
        while (k < NUMBERS && (!name || strcmp(name, numbers[k].name))) k++;
        if (k < NUMBERS) l->drawn[k] = true;
        else status = usage_error("--y: a table of a search has best, mean, worst, sigma, found '%s'", name ? name : "\"");
    }
    free(text);
    return status;
}

static void put_curves(FILE *out, const learning *l, int first, int last)
{
    bool begun = false;
    for (int f = 0; f < l->count; f++)
        for (int k = first; k <= last; k++) {
            char title[1100];
            if (!l->drawn[k]) continue;
            fprintf(out, "%s$table%d using 1:%d with %s %s lc rgb '%s' title ", begun ? ", \\\n     " : "plot ", f, k + 2,
                    l->tables[f].rows > 1 ? "lines" : "linespoints pt 7", numbers[k].line, plot_colour(f));
            if (l->count > 1) snprintf(title, sizeof title, "%.1000s: %s", l->tables[f].name, numbers[k].name);
            else snprintf(title, sizeof title, "%s", numbers[k].name);
            put_quoted(out, title);
            begun = true;
        }
    fprintf(out, "\n");
}

static void put_learning(FILE *out, const void *what)
{
    const learning *const l = what;
    bool rewards = false;
    for (int k = 0; k < SIGMA; k++) rewards = rewards || l->drawn[k];
    for (int f = 0; f < l->count; f++) {
        fprintf(out, "$table%d << EOD\n", f);
        for (int r = 0; r < l->tables[f].rows; r++) {
            const double *const x = l->tables[f].x + (size_t)r * TABLE_COLUMNS;
            fprintf(out, "%.17g", x[TABLE_EVALUATIONS]);
            for (int k = 0; k < NUMBERS; k++) fprintf(out, " %.17g", x[numbers[k].column]);
            fputc('\n', out);
        }
        fprintf(out, "EOD\n");
    }
    fprintf(out, "set encoding utf8\nset title ");
    put_quoted(out, l->count == 1 ? l->tables[0].name : "learning curves");
    fprintf(out,
            " noenhanced\nset multiplot layout %d,1\nset grid\nset key above left Left reverse noenhanced vertical maxcols %d\n",
            rewards + l->drawn[SIGMA], l->count > 4 ? 2 : 1);
    fprintf(out, "set lmargin 14\nset xlabel 'evaluations'\n");
    if (rewards) fprintf(out, "set ylabel 'reward'\n"), put_curves(out, l, 0, SIGMA - 1);
    if (rewards) fprintf(out, "unset title\n");
    if (l->drawn[SIGMA]) fprintf(out, "set ylabel 'step size'\nset logscale y\n"), put_curves(out, l, SIGMA, SIGMA);
    fprintf(out, "unset multiplot\n");
}

static int make_learning(const arguments *args, learning *l, bool *drawn)
{
    l->out = (plot_file){.option = OPT_OUT, .path = args->value[OPT_OUT], .width = 1000};
    if (!l->out.path) return usage_error("--out is missing: FILE.png, .svg or .pdf");
    for (const enum option_id *o = (const enum option_id[]){OPT_FROM, OPT_TO, OPT_WORLD, OPT_X, OPTIONS}; *o != OPTIONS; o++)
        if (args->value[*o]) return usage_error("%s: belongs to recordings; a table of a search has none", option_name(*o));
    if (args->nfile > MOST_TABLES)
        return usage_error("%d tables are too many to tell apart; give %d at most", args->nfile, MOST_TABLES);
    int status = size_option(args, &l->out.width, &l->out.height) ? check_plot(&l->out, NULL) : EXIT_USAGE;
    if (status == EXIT_OK) status = choose(args, l);
    if (!l->out.height) l->out.height = (l->drawn[SIGMA] ? 700 : 500) + 20 * args->nfile;
    l->tables = calloc((size_t)args->nfile, sizeof *l->tables);
    if (status == EXIT_OK && !l->tables) status = run_error("not enough memory");
    for (int f = 0; f < args->nfile && status == EXIT_OK; f++, l->count++) {
        status = keep_input(OPT_OUT, l->out.path, args->files[f], "the table");
        if (status == EXIT_OK && !is_learning_table(args->files[f]))
            status = usage_error("%s: is no table of catena search, as %s is; draw it by itself", args->files[f], args->files[0]);
        if (status == EXIT_OK) status = read_table(args->files[f], &l->tables[f]);
    }
    if (status == EXIT_OK) name_tables(args, l);
    return status == EXIT_OK ? draw_plot(&l->out, put_learning, l, drawn) : status;
}

int plot_learning(const arguments *args)
{
    learning l = {0};
    bool drawn = false;
    const int status = make_learning(args, &l, &drawn);
    if (drawn && !args->value[OPT_QUIET])
        printf("%s: %d table%s, %dx%d\n", clean(l.out.path).text, l.count, plural(l.count), l.out.width, l.out.height);
    for (int f = 0; f < args->nfile && l.tables; f++) free(l.tables[f].x);
    free(l.tables);
    return status;
}

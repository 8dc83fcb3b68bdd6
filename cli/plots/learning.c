/// What searches and optimizations went through, by gnuplot: rewards or costs in one panel and, where it is asked for, step sizes or
/// gradients in one below.
#include "cli/plots/learning.h"

#include "cli/base/inputs.h"
#include "cli/base/message.h"
#include "cli/plots/optimize_table.h"
#include "cli/plots/search_table.h"
#include "cli/plots/gnuplot.h"
#include "cli/plots/plot.h"
#include "sim/base/csv_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TABLES = 24, MOST_NUMBERS = 5 };

/// What can be drawn of tables of a kind: quantities above, and below, where that is logarithmic; how lines of one colour are told
/// apart; over what.
typedef struct {
    const char *of, *const *columns;
    int column_count, needed;
    const char *rows;
    struct {
        const char *name, *line;
        int column;
        bool below;
    } numbers[MOST_NUMBERS];
    struct {
        const char *name;
        int column;
    } over[2];
    const char *usual, *above, *below;  // quantities without --y; what panels are of
    bool logarithmic;                   // above, too
} table_kind;

static const table_kind kinds[] = {{.of = "search",
                                    .columns = search_table_columns,
                                    .column_count = TABLE_COLUMNS,
                                    .needed = TABLE_DRAWN,
                                    .rows = "generation",
                                    .numbers = {{"best", "lw 2", TABLE_BEST, false},
                                                {"mean", "lw 1 dt 2", TABLE_MEAN, false},
                                                {"worst", "lw 1 dt 3", TABLE_WORST, false},
                                                {"sigma", "lw 2", TABLE_SIGMA, true}},
                                    .over = {{"evaluations", TABLE_EVALUATIONS}},
                                    .usual = "best,mean",
                                    .above = "reward",
                                    .below = "step size"},
                                   {.of = "optimize",
                                    .columns = optimize_table_columns,
                                    .column_count = ROW_COLUMNS,
                                    .needed = ROW_COLUMNS,
                                    .rows = "iteration",
                                    .numbers = {{"cost", "lw 2", ROW_COST, false},
                                                {"defect", "lw 1 dt 3", ROW_DEFECT, true},
                                                {"gradient", "lw 2", ROW_GRADIENT, true},
                                                {"alpha", "lw 1 dt 2", ROW_ALPHA, true},
                                                {"violation", "lw 2 dt 4", ROW_VIOLATION, true}},
                                    .over = {{"iteration", ROW_ITERATION}, {"seconds", ROW_SECONDS}},
                                    .usual = "cost",
                                    .above = "cost",
                                    .below = "gradient, defect, alpha, violation",
                                    .logarithmic = true}};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct {
    const char *name;
    int rows;
    double *x;  // [rows][column_count]
} table;

typedef struct {
    plot_file out;
    const table_kind *kind;
    int over;  // of the kind's
    table *tables;
    int count;
    bool drawn[MOST_NUMBERS];
} learning;

/// NULL: it is none.
static const table_kind *kind_of(const char *path)
{
    char line[200] = "", expected[100];
    FILE *const f = fopen(path, "r");
    if (!f) return NULL;
    const bool some = fgets(line, sizeof line, f);
    fclose(f);
    for (int k = 0; k < KINDS && some; k++) {
        snprintf(expected, sizeof expected, "%s,%s,", kinds[k].columns[0], kinds[k].columns[1]);
        if (!strncmp(line, expected, strlen(expected))) return &kinds[k];
    }
    return NULL;
}

bool is_learning_table(const char *path) { return kind_of(path) != NULL; }

static int read_table(const char *path, const table_kind *kind, table *t)
{
    ctn_error err;
    csv_table *const csv = csv_table_open(path, kind->columns, kind->column_count, &err);
    if (!csv) return status_error(&err, "");
    const int64_t rows = csv_table_rows(csv);
    int status = EXIT_OK;
    for (int k = 0; k < kind->needed && status == EXIT_OK; k++)
        if (!csv_table_has(csv, k)) status = usage_error("%s: has no column '%s'", path, kind->columns[k]);
    if (status == EXIT_OK && !rows) status = usage_error("%s: has no %s yet", path, kind->rows);
    if (status == EXIT_OK && rows > 100000000) status = usage_error("%s: has more rows than can be drawn", path);
    t->rows = (int)rows;
    if (status == EXIT_OK && !(t->x = malloc((size_t)rows * (size_t)kind->column_count * sizeof *t->x)))
        status = run_error("not enough memory");
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

/// "best, mean, worst, sigma".
static const char *names_of(const table_kind *kind, char text[100])
{
    int at = 0;
    for (int k = 0; k < MOST_NUMBERS && kind->numbers[k].name; k++)
        at += snprintf(text + at, 100 - (size_t)at, "%s%s", k ? ", " : "", kind->numbers[k].name);
    return text;
}

/// The quantities of --y, and --x.
static int choose(const arguments *args, learning *l)
{
    const table_kind *const kind = l->kind;
    char *const text = strdup(args->value[OPT_Y] ? args->value[OPT_Y] : kind->usual), known[100];
    int status = text ? EXIT_OK : run_error("not enough memory");
    for (char *at = text; at && status == EXIT_OK;) {
        const char *const name = csv_field(&at);
        int k = 0, count = 0;
        while (count < MOST_NUMBERS && kind->numbers[count].name) count++;
        while (k < count && (!name || strcmp(name, kind->numbers[k].name))) k++;
        if (k < count) l->drawn[k] = true;
        else
            status =
                usage_error("--y: a table of catena %s has %s, found '%s'", kind->of, names_of(kind, known), name ? name : "\"");
    }
    free(text);
    const char *const over = args->value[OPT_X];
    if (status != EXIT_OK || !over) return status;
    if (!kind->over[1].name) return usage_error("--x: belongs to recordings; a table of catena %s has none", kind->of);
    for (l->over = 0; l->over < 2; l->over++)
        if (!strcmp(over, kind->over[l->over].name)) return EXIT_OK;
    return usage_error("--x: a table of catena %s goes over %s or %s, found '%s'", kind->of, kind->over[0].name,
                       kind->over[1].name, over);
}

static bool has_panel(const learning *l, bool below)
{
    for (int k = 0; k < MOST_NUMBERS; k++)
        if (l->drawn[k] && l->kind->numbers[k].below == below) return true;
    return false;
}

/// The least and the largest of the numbers of a panel; of those above `least` alone.
static void range_of(const learning *l, bool below, double least, double *low, double *high)
{
    *low = INFINITY, *high = -INFINITY;
    for (int f = 0; f < l->count; f++)
        for (int r = 0; r < l->tables[f].rows; r++)
            for (int k = 0; k < MOST_NUMBERS; k++) {
                const double *const row = l->tables[f].x + (size_t)r * (size_t)l->kind->column_count;
                const double x = row[l->kind->numbers[k].column];
                if (!l->drawn[k] || l->kind->numbers[k].below != below || !(x > least)) continue;
                *low = fmin(*low, x), *high = fmax(*high, x);
            }
}

/// What its axis is called, and how it is divided. gnuplot fails where a logarithmic one has nothing but zeros, and complains of
/// one whose numbers are all the same.
static void put_axis(FILE *out, const learning *l, bool below)
{
    double low, high;
    range_of(l, below, 0, &low, &high);
    const bool logarithmic = (below || l->kind->logarithmic) && high > 0;
    if (!logarithmic) range_of(l, below, -INFINITY, &low, &high);
    fprintf(out, "set ylabel '%s'\n%s logscale y\n", below ? l->kind->below : l->kind->above, logarithmic ? "set" : "unset");
    if (low == high) fprintf(out, "set yrange [%.17g:%.17g]\n", logarithmic ? low / 2 : low - 1, logarithmic ? low * 2 : low + 1);
    else fprintf(out, "set yrange [*:*]\n");
}

static void put_curves(FILE *out, const learning *l, bool below)
{
    bool begun = false;
    for (int f = 0; f < l->count; f++)
        for (int k = 0; k < MOST_NUMBERS; k++) {
            char title[1100];
            if (!l->drawn[k] || l->kind->numbers[k].below != below) continue;
            fprintf(out, "%s$table%d using 1:%d with %s %s lc rgb '%s' title ", begun ? ", \\\n     " : "plot ", f, k + 2,
                    l->tables[f].rows > 1 ? "lines" : "linespoints pt 7", l->kind->numbers[k].line, plot_colour(f));
            if (l->count > 1) snprintf(title, sizeof title, "%.1000s: %s", l->tables[f].name, l->kind->numbers[k].name);
            else snprintf(title, sizeof title, "%s", l->kind->numbers[k].name);
            put_quoted(out, title);
            begun = true;
        }
    fprintf(out, "\n");
}

static void put_learning(FILE *out, const void *what)
{
    const learning *const l = what;
    const bool above = has_panel(l, false), below = has_panel(l, true);
    for (int f = 0; f < l->count; f++) {
        fprintf(out, "$table%d << EOD\n", f);
        for (int r = 0; r < l->tables[f].rows; r++) {
            const double *const x = l->tables[f].x + (size_t)r * (size_t)l->kind->column_count;
            fprintf(out, "%.17g", x[l->kind->over[l->over].column]);
            for (int k = 0; k < MOST_NUMBERS; k++) fprintf(out, " %.17g", x[l->kind->numbers[k].column]);
            fputc('\n', out);
        }
        fprintf(out, "EOD\n");
    }
    fprintf(out, "set encoding utf8\nset title ");
    put_quoted(out, l->count == 1 ? l->tables[0].name : l->kind->logarithmic ? "iterations" : "learning curves");
    fprintf(out,
            " noenhanced\nset multiplot layout %d,1\nset grid\nset key above left Left reverse noenhanced vertical maxcols %d\n",
            above + below, l->count > 4 ? 2 : 1);
    fprintf(out, "set lmargin 14\nset xlabel '%s'\n", l->kind->over[l->over].name);
    if (above) put_axis(out, l, false), put_curves(out, l, false), fprintf(out, "unset title\n");
    if (below) put_axis(out, l, true), put_curves(out, l, true);
    fprintf(out, "unset multiplot\n");
}

static int make_learning(const arguments *args, learning *l, bool *drawn)
{
    l->out = (plot_file){.option = OPT_OUT, .path = args->value[OPT_OUT], .width = 1000};
    if (!l->out.path) return usage_error("--out is missing: FILE.png, .svg or .pdf");
    for (const enum option_id *o = (const enum option_id[]){OPT_FROM, OPT_TO, OPT_WORLD, OPTIONS}; *o != OPTIONS; o++)
        if (args->value[*o])
            return usage_error("%s: belongs to recordings; a table of catena %s has none", option_name(*o), l->kind->of);
    if (args->nfile > MOST_TABLES)
        return usage_error("%d tables are too many to tell apart; give %d at most", args->nfile, MOST_TABLES);
    int status = size_option(args, &l->out.width, &l->out.height) ? check_plot(&l->out, NULL) : EXIT_USAGE;
    if (status == EXIT_OK) status = choose(args, l);
    if (!l->out.height) l->out.height = (has_panel(l, true) ? 700 : 500) + 20 * args->nfile;
    l->tables = calloc((size_t)args->nfile, sizeof *l->tables);
    if (status == EXIT_OK && !l->tables) status = run_error("not enough memory");
    for (int f = 0; f < args->nfile && status == EXIT_OK; f++, l->count++) {
        status = keep_input(OPT_OUT, l->out.path, args->files[f], "the table");
        if (status == EXIT_OK && kind_of(args->files[f]) != l->kind)
            status = usage_error("%s: is no table of catena %s, as %s is; draw it by itself", args->files[f], l->kind->of,
                                 args->files[0]);
        if (status == EXIT_OK) status = read_table(args->files[f], l->kind, &l->tables[f]);
    }
    if (status == EXIT_OK) name_tables(args, l);
    return status == EXIT_OK ? draw_plot(&l->out, put_learning, l, drawn) : status;
}

int plot_learning(const arguments *args)
{
    learning l = {.kind = kind_of(args->files[0])};
    bool drawn = false;
    const int status = make_learning(args, &l, &drawn);
    if (drawn && !args->value[OPT_QUIET])
        printf("%s: %d table%s, %dx%d\n", clean(l.out.path).text, l.count, plural(l.count), l.out.width, l.out.height);
    for (int f = 0; f < args->nfile && l.tables; f++) free(l.tables[f].x);
    free(l.tables);
    return status;
}

/// What motors are told over time, in the place of a number: sinusoids, gaits, splines through keyframes, tables; and `gaits:`.
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- gaits

enum { GAIT_NAME, GAIT_FREQUENCY, GAIT_DUTY, GAIT_RAMP, GAIT_KEYS };
static const key gait_keys[GAIT_KEYS] = {[GAIT_NAME] = {.name = "name"},
                                         [GAIT_FREQUENCY] = {.name = "frequency"},
                                         [GAIT_DUTY] = {.name = "duty"},
                                         [GAIT_RAMP] = {.name = "ramp"}};

/// The gait of this file that is called `name`, NULL: none.
static const scene_gait *find_gait(const source *s, const char *name)
{
    const ctn_scene *const scene = s->r->scene;
    for (int i = 0; i < scene->ngait; i++)
        if (scene->gaits[i].file == s->file && !strcmp(scene->gaits[i].name, name)) return &scene->gaits[i];
    return NULL;
}

static bool read_gait(source *s, const node *n)
{
    ctn_scene *const scene = s->r->scene;
    const node *v[GAIT_KEYS];
    const char *name = NULL;
    scene_gait gait = {.file = s->file, .duty = 0.5};
    bool ok = true;
    if (!read_keys(s, n, "a gait", gait_keys, GAIT_KEYS, v)) return false;
    if (!v[GAIT_NAME]) ok = missing_key(s, n, "name", "missing; motors call the gait by it");
    else if (!read_text(s, v[GAIT_NAME], &name)) ok = false;
    else if (find_gait(s, name)) ok = bad_value(s, v[GAIT_NAME], "%s is the name of a gait above", found(v[GAIT_NAME]).text);
    if (!v[GAIT_FREQUENCY]) ok = missing_key(s, n, "frequency", "missing; cycles a second");
    else ok = read_number(s, v[GAIT_FREQUENCY], POSITIVE, &gait.frequency) && ok;
    if (v[GAIT_DUTY]) ok = read_number(s, v[GAIT_DUTY], POSITIVE, &gait.duty) && ok;
    if (gait.duty >= 1)
        ok = bad_value(s, v[GAIT_DUTY], "expected a share of the cycle, above 0 and below 1, found %g", gait.duty);
    if (v[GAIT_RAMP]) ok = read_number(s, v[GAIT_RAMP], NOT_NEGATIVE, &gait.ramp) && ok;
    if (!ok) return false;
    scene_gait *const gaits = realloc(scene->gaits, ((size_t)scene->ngait + 1) * sizeof *gaits);
    if (gaits) scene->gaits = gaits;
    gait.name = gaits ? reader_copy(s->r, name, strlen(name)) : NULL;
    if (!gait.name) return out_of_memory(s);
    gaits[scene->ngait++] = gait;
    return true;
}

bool read_gaits(source *s, const node *n)
{
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of gaits, found %s", found(n).text);
    bool ok = true;
    for (const node *gait = n->child; gait && !hopeless(s); gait = gait->next) ok = read_gait(s, gait) && ok;
    return ok;
}

// ---- signals

enum signal_key {
    SIGNAL_KEY_SINUSOID,
    SIGNAL_KEY_SPLINE,
    SIGNAL_KEY_TABLE,
    SIGNAL_KEY_GAIT,
    SIGNAL_FORMS,
    SIGNAL_KEY_WAVE = SIGNAL_FORMS,
    SIGNAL_KEY_PHASE,
    SIGNAL_KEY_AMPLITUDE,
    SIGNAL_KEY_MEAN,
    SIGNAL_KEY_COLUMN,
    SIGNAL_KEY_PERIOD,
    SIGNAL_KEY_HOLD,
    SIGNAL_KEY_EVERY,
    SIGNAL_KEYS
};
static const key signal_keys[SIGNAL_KEYS] = {
    [SIGNAL_KEY_SINUSOID] = {.name = "sinusoid"},   [SIGNAL_KEY_SPLINE] = {.name = "spline"},
    [SIGNAL_KEY_TABLE] = {.name = "table"},         [SIGNAL_KEY_GAIT] = {.name = "gait"},
    [SIGNAL_KEY_WAVE] = {.name = "wave"},           [SIGNAL_KEY_PHASE] = {.name = "phase"},
    [SIGNAL_KEY_AMPLITUDE] = {.name = "amplitude"}, [SIGNAL_KEY_MEAN] = {.name = "mean"},
    [SIGNAL_KEY_COLUMN] = {.name = "column"},       [SIGNAL_KEY_PERIOD] = {.name = "period"},
    [SIGNAL_KEY_HOLD] = {.name = "hold"},           [SIGNAL_KEY_EVERY] = {.name = "every"},
};

#define BIT(k) (1u << (k))
/// What goes with each form.
static const unsigned form_keys[SIGNAL_FORMS] = {
    [SIGNAL_KEY_SINUSOID] = BIT(SIGNAL_KEY_HOLD) | BIT(SIGNAL_KEY_EVERY),
    [SIGNAL_KEY_SPLINE] = BIT(SIGNAL_KEY_HOLD) | BIT(SIGNAL_KEY_EVERY),
    [SIGNAL_KEY_TABLE] = BIT(SIGNAL_KEY_COLUMN) | BIT(SIGNAL_KEY_PERIOD) | BIT(SIGNAL_KEY_HOLD),
    [SIGNAL_KEY_GAIT] = BIT(SIGNAL_KEY_WAVE) | BIT(SIGNAL_KEY_PHASE) | BIT(SIGNAL_KEY_AMPLITUDE) | BIT(SIGNAL_KEY_MEAN) |
                        BIT(SIGNAL_KEY_HOLD) | BIT(SIGNAL_KEY_EVERY),
};

enum { SINUSOID_MEAN, SINUSOID_AMPLITUDE, SINUSOID_FREQUENCY, SINUSOID_PHASE, SINUSOID_RAMP, SINUSOID_KEYS };
static const key sinusoid_keys[SINUSOID_KEYS] = {[SINUSOID_MEAN] = {.name = "mean"},
                                                 [SINUSOID_AMPLITUDE] = {.name = "amplitude"},
                                                 [SINUSOID_FREQUENCY] = {.name = "frequency"},
                                                 [SINUSOID_PHASE] = {.name = "phase"},
                                                 [SINUSOID_RAMP] = {.name = "ramp"}};

static bool read_sinusoid(source *s, const node *n, value_unit unit, double *mean, ctn_signal *wave)
{
    const node *v[SINUSOID_KEYS];
    double angle = 0;
    bool ok = true;
    if (!read_keys(s, n, "a sinusoid", sinusoid_keys, SINUSOID_KEYS, v)) return false;
    if (v[SINUSOID_MEAN]) ok = read_quantity(s, v[SINUSOID_MEAN], ANY_SIGN, unit, mean);
    if (!v[SINUSOID_AMPLITUDE]) ok = missing_key(s, n, "amplitude", "missing; how far it goes to both sides of its mean");
    else ok = read_quantity(s, v[SINUSOID_AMPLITUDE], ANY_SIGN, unit, &wave->amplitude) && ok;
    if (!v[SINUSOID_FREQUENCY]) ok = missing_key(s, n, "frequency", "missing; cycles a second");
    else ok = read_number(s, v[SINUSOID_FREQUENCY], POSITIVE, &wave->frequency) && ok;
    if (v[SINUSOID_PHASE]) ok = read_quantity(s, v[SINUSOID_PHASE], ANY_SIGN, ANGLE, &angle) && ok;
    if (v[SINUSOID_RAMP]) ok = read_number(s, v[SINUSOID_RAMP], NOT_NEGATIVE, &wave->ramp) && ok;
    wave->kind = SIGNAL_SINE, wave->phase = angle / 6.283185307179586;
    return ok;
}

static bool read_wave(source *s, const node *n, signal_kind *kind)
{
    static const char *const names[] = {[SIGNAL_SINE] = "sine", [SIGNAL_STRIDE] = "stride", [SIGNAL_LIFT] = "lift"};
    const char *text;
    if (!read_text(s, n, &text)) return false;
    for (int k = SIGNAL_SINE; k <= SIGNAL_LIFT; k++)
        if (!strcmp(text, names[k])) {
            *kind = (signal_kind)k;
            return true;
        }
    return bad_value(s, n, "unknown %s; the waves of a gait are sine, stride, lift", found(n).text);
}

static bool read_gait_signal(source *s, const node *n, const node *const v[SIGNAL_KEYS], value_unit unit, double *mean,
                             ctn_signal *wave)
{
    const char *name;
    bool ok = true;
    if (!read_text(s, v[SIGNAL_KEY_GAIT], &name)) return false;
    const scene_gait *const gait = find_gait(s, name);
    if (!gait)
        ok = bad_value(s, v[SIGNAL_KEY_GAIT], "no gait is called %s; list it in `gaits` of this file",
                       found(v[SIGNAL_KEY_GAIT]).text);
    *wave = (ctn_signal){.kind = SIGNAL_STRIDE};
    if (v[SIGNAL_KEY_WAVE]) ok = read_wave(s, v[SIGNAL_KEY_WAVE], &wave->kind) && ok;
    if (v[SIGNAL_KEY_PHASE]) ok = read_number(s, v[SIGNAL_KEY_PHASE], ANY_SIGN, &wave->phase) && ok;
    if (v[SIGNAL_KEY_MEAN]) ok = read_quantity(s, v[SIGNAL_KEY_MEAN], ANY_SIGN, unit, mean) && ok;
    if (!v[SIGNAL_KEY_AMPLITUDE]) ok = missing_key(s, n, "amplitude", "missing; how far it goes from its mean");
    else ok = read_quantity(s, v[SIGNAL_KEY_AMPLITUDE], ANY_SIGN, unit, &wave->amplitude) && ok;
    if (!ok) return false;
    wave->phase += s->phase;
    wave->frequency = gait->frequency, wave->duty = gait->duty, wave->ramp = gait->ramp;
    return true;
}

/// `count` numbers of a list, more than one, with a unit.
static bool read_list(source *s, const node *n, value_unit unit, double *x)
{
    bool ok = true;
    int k = 0;
    for (const node *entry = n->child; entry; entry = entry->next, k++) ok = read_quantity(s, entry, ANY_SIGN, unit, &x[k]) && ok;
    return ok;
}

/// Points in time: what `times` and `values` say.
static bool read_points(source *s, const node *n, const node *times, const node *values, value_unit unit, scene_signal *to)
{
    if (!times) return missing_key(s, n, "times", "missing; a list of times, s, one for each value");
    if (!values) return missing_key(s, n, "values", "missing; a list of values, one for each time");
    if (times->kind != NODE_SEQUENCE || times->size < 2) return bad_value(s, times, "expected a list of at least 2 times");
    if (values->kind != NODE_SEQUENCE || values->size != times->size)
        return bad_value(s, values, "expected a list of %d values, one for each time", times->size);
    to->count = times->size;
    to->times = reader_alloc(s->r, 2 * (size_t)to->count * sizeof *to->times);
    if (!to->times) return out_of_memory(s);
    to->values = to->times + to->count;
    bool ok = read_list(s, times, NO_UNIT, to->times);
    if (!read_list(s, values, unit, to->values) || !ok) return false;
    const node *at = times->child->next;
    for (int k = 1; k < to->count; k++, at = at->next)
        if (!(to->times[k] > to->times[k - 1]))
            return bad_value(s, at, "expected a time after %g, found %s", to->times[k - 1], found(at).text);
    return true;
}

/// The time after which points begin again lies beyond the last of them.
static bool read_period(source *s, const node *n, scene_signal *to)
{
    if (!n) return true;
    const double last = to->times[to->count - 1] - to->times[0];
    if (!read_number(s, n, POSITIVE, &to->wave.period)) return false;
    return to->wave.period > last ||
           bad_value(s, n, "expected more than the %g s from the first time to the last: after it the first value comes again",
                     last);
}

enum { POINTS_TIMES, POINTS_VALUES, POINTS_PERIOD, POINTS_KEYS };
static const key spline_keys[POINTS_KEYS] = {
    [POINTS_TIMES] = {.name = "times"}, [POINTS_VALUES] = {.name = "values"}, [POINTS_PERIOD] = {.name = "period"}};
static const key table_keys[] = {[POINTS_TIMES] = {.name = "times"}, [POINTS_VALUES] = {.name = "values"}};

static bool read_spline(source *s, const node *n, value_unit unit, scene_signal *to)
{
    const node *v[POINTS_KEYS];
    to->form = FORM_SPLINE;
    return read_keys(s, n, "a spline", spline_keys, POINTS_KEYS, v) &&
           read_points(s, n, v[POINTS_TIMES], v[POINTS_VALUES], unit, to) && read_period(s, v[POINTS_PERIOD], to);
}

/// A column of a file, beside its column `time`.
static bool read_column(source *s, const node *n, const node *const v[SIGNAL_KEYS], scene_signal *to)
{
    const node *const column = v[SIGNAL_KEY_COLUMN];
    const char *name = NULL;
    if (!column) return missing_key(s, n, "column", "missing; it names the column of the table");
    const scene_table *const table = read_table(s, v[SIGNAL_KEY_TABLE]);
    if (!table || !read_text(s, column, &name)) return false;
    const int time = table_column(table, "time"), chosen = table_column(table, name);
    if (chosen < 0) return bad_value(s, column, "the table has no column %s", found(column).text);
    const size_t rows = (size_t)table->rows;
    to->count = table->rows;
    to->times = reader_alloc(s->r, 2 * rows * sizeof *to->times);
    if (!to->times) return out_of_memory(s);
    to->values = to->times + to->count;
    memcpy(to->times, table->numbers + (size_t)time * rows, rows * sizeof *to->times);
    memcpy(to->values, table->numbers + (size_t)chosen * rows, rows * sizeof *to->values);
    return true;
}

static bool read_table_signal(source *s, const node *n, const node *const v[SIGNAL_KEYS], value_unit unit, scene_signal *to)
{
    const node *const table = v[SIGNAL_KEY_TABLE], *in[2];
    to->form = FORM_LINES;
    if (table->kind == NODE_SCALAR) {
        if (!read_column(s, n, v, to)) return false;
    } else {
        if (v[SIGNAL_KEY_COLUMN]) return bad_key(s, v[SIGNAL_KEY_COLUMN], "belongs to the table of a file");
        if (!read_keys(s, table, "a table", table_keys, 2, in) ||
            !read_points(s, table, in[POINTS_TIMES], in[POINTS_VALUES], unit, to))
            return false;
    }
    return read_period(s, v[SIGNAL_KEY_PERIOD], to);
}

/// `hold` and `every`: of a table how it goes on between its times, of others at which times it is sampled.
static bool read_hold(source *s, const node *n, const node *const v[SIGNAL_KEYS], bool table, scene_signal *to)
{
    static const char *const names[] = {[HOLD_NONE] = "none", [HOLD_ZERO] = "zero", [HOLD_FIRST] = "first"};
    const node *const hold = v[SIGNAL_KEY_HOLD], *const every = v[SIGNAL_KEY_EVERY];
    const char *text = table ? "first" : every ? "zero" : "none";
    int chosen = table;  // a table has no more than its times
    if (hold && !read_text(s, hold, &text)) return false;
    while (chosen <= HOLD_FIRST && strcmp(text, names[chosen])) chosen++;
    if (chosen > HOLD_FIRST)
        return bad_value(s, hold, "unknown %s; %szero (steps) or first (lines)", found(hold).text, table ? "" : "none, ");
    if (table) {
        to->form = chosen == HOLD_ZERO ? FORM_STEPS : FORM_LINES;
        return true;
    }
    to->wave.hold = (signal_hold)chosen;
    if (chosen == HOLD_NONE) return !every || bad_key(s, every, "belongs to `hold: zero` or first");
    if (!every) return missing_key(s, n, "every", "missing; s from one sample to the next");
    return read_number(s, every, POSITIVE, &to->wave.every);
}

static bool read_form(source *s, const node *n, value_unit unit, double *constant, scene_signal *to)
{
    const node *v[SIGNAL_KEYS];
    int form = SIGNAL_FORMS;
    bool ok = true;
    if (!read_keys(s, n, "what moves with time", signal_keys, SIGNAL_KEYS, v)) return false;
    for (int k = 0; k < SIGNAL_FORMS; k++) {
        if (!v[k]) continue;
        if (form < SIGNAL_FORMS) return bad_key(s, v[k], "stands beside `%s`: one of them", signal_keys[form].name);
        form = k;
    }
    if (form == SIGNAL_FORMS) return bad_value(s, n, "expected a number, or one of sinusoid, spline, table, gait");
    for (int k = SIGNAL_FORMS; k < SIGNAL_KEYS; k++)
        if (v[k] && !(form_keys[form] & BIT(k)))
            ok = bad_key(s, v[k], "does not go with `%s`%s", signal_keys[form].name,
                         form < SIGNAL_KEY_TABLE ? "; it may belong inside it" : "");
    if (!ok) return false;
    if (form == SIGNAL_KEY_SINUSOID) ok = read_sinusoid(s, v[form], unit, constant, &to->wave);
    else if (form == SIGNAL_KEY_SPLINE) ok = read_spline(s, v[form], unit, to);
    else if (form == SIGNAL_KEY_TABLE) ok = read_table_signal(s, n, v, unit, to);
    else ok = read_gait_signal(s, n, v, unit, constant, &to->wave), to->form = FORM_GAIT;
    if (to->form >= FORM_SPLINE) to->wave.kind = SIGNAL_PIECES;
    return ok && read_hold(s, n, v, form == SIGNAL_KEY_TABLE, to);
}

bool read_signal_into(source *s, const node *n, value_unit unit, scene_signal **list, int *count, double *constant, int *signal)
{
    if (n->kind != NODE_MAPPING) return read_quantity(s, n, ANY_SIGN, unit, constant);
    scene_signal new = {.form = FORM_SINUSOID};
    if (!read_form(s, n, unit, constant, &new)) {
        free(new.times);
        return false;
    }
    scene_signal *const signals = realloc(*list, ((size_t)*count + 1) * sizeof *signals);
    if (!signals) {
        free(new.times);
        return out_of_memory(s);
    }
    *list = signals, signals[(*count)++] = new;
    *signal = *count;
    return true;
}

bool read_signal(source *s, const node *n, value_unit unit, double *constant, int *signal)
{
    ctn_scene *const scene = s->r->scene;
    return read_signal_into(s, n, unit, &scene->signals, &scene->nsignal, constant, signal);
}

const char *signal_words(const scene_signal *signal, char text[64])
{
    static const char *const waves[] = {[SIGNAL_SINE] = "sine", [SIGNAL_STRIDE] = "stride", [SIGNAL_LIFT] = "lift"};
    static const char *const through[] = {[FORM_SPLINE] = "spline", [FORM_STEPS] = "steps", [FORM_LINES] = "lines"};
    static const char *const held[] = {[HOLD_NONE] = "", [HOLD_ZERO] = ", held", [HOLD_FIRST] = ", joined"};
    const ctn_signal *const w = &signal->wave;
    if (signal->form < FORM_SPLINE)
        snprintf(text, 64, "%s %.4g at %.4g Hz%s", waves[w->kind], w->amplitude, w->frequency, held[w->hold]);
    else
        snprintf(text, 64, "%s, %d points%s%s", through[signal->form], signal->count, w->period > 0 ? ", again and again" : "",
                 held[w->hold]);
    return text;
}

void free_signal_list(scene_signal *list, int count)
{
    for (int i = 0; i < count; i++) free(list[i].times);
    free(list);
}

void free_signals(ctn_scene *scene)
{
    free_signal_list(scene->signals, scene->nsignal);
    for (int i = 0; i < scene->ngait; i++) free(scene->gaits[i].name);
    for (int i = 0; i < scene->ntable; i++) {
        for (int k = 0; k < scene->tables[i].columns; k++) free(scene->tables[i].names[k]);
        free(scene->tables[i].names), free(scene->tables[i].numbers);
    }
    free(scene->gaits), free(scene->tables);
}

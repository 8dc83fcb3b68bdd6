/// What `catena diff` found: as text, as JSON.
#include "cli/base/json.h"
#include "cli/base/message.h"
#include "cli/commands/diff.h"
#include "sim/record/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A number that differs: what it is called, its unit, and the link that it belongs to, NULL: none.
typedef struct number_name {
    char name[300];
    const char *unit, *link;
} number_name;

static number_name name_of(const diff *d, const diff_quantity *x, const diff_place *at)
{
    number_name n = {.unit = x->unit ? x->unit : ""};
    int link;
    if (x->partner && state_number(d->model[0], x->name, at->entry, n.name, sizeof n.name, &n.unit, &link) && link >= 0)
        n.link = ctn_model_link(d->model[0], link)->name;
    else snprintf(n.name, sizeof n.name, "%s", x->name);
    if (!strcmp(n.unit, "1")) n.unit = "";
    return n;
}

static const char *effect_text(diff_effect effect)
{
    static const char *const texts[] = {[EFFECT_MOTION] = "another motion",
                                        [EFFECT_PERHAPS] = "perhaps another motion",
                                        [EFFECT_ROUNDING] = "the same up to rounding",
                                        [EFFECT_NONE] = "the same bits"};
    return texts[effect];
}

// ---- text

static void print_side(const diff *d, int side)
{
    const recorded *const r = &d->from[side];
    printf("%-14c%s: %s of %s by catena %s, %s\n", 'A' + side, clean(r->path).text, r->rollout ? "rollout" : "run",
           clean(ctn_scene_name(r->scene)).text, clean(r->version).text, clean(r->started).text);
}

/// A value as it is printed: numbers with as few digits as read back the same.
static clean_text value_text(const char *value)
{
    clean_text text = clean(value ? value : "nothing");
    char *end;
    const double x = strtod(text.text, &end);
    if (end > text.text && !*end && isfinite(x)) json_format(x, text.text);
    return text;
}

static void print_notes(const diff *d)
{
    for (int k = 0; k < d->nnote; k++) {
        const diff_note *const n = &d->notes[k];
        printf("%-14s%s: %s in A, %s in B (%s)\n", k ? "" : "set-up", clean(n->name).text, value_text(n->values[0]).text,
               value_text(n->values[1]).text, effect_text(n->effect));
    }
}

/// How much of the files was compared, and what was left out.
static void print_extent(const diff *d)
{
    printf("%ld world%s, %lld record%s from %.9g to %.9g s", d->worlds - d->missing, plural(d->worlds - d->missing),
           (long long)d->pairs, plural(d->pairs), d->span[0], d->span[1]);
    if (d->tolerance > 0) printf(", %s tolerance %g", d->relative ? "relative" : "absolute", d->tolerance);
    for (int side = 0; side < 2; side++) {
        const long long left = d->records[side] - d->pairs;
        if (left) printf("; %c has %lld record%s more", 'A' + side, left, plural(left));
    }
    if (d->missing) printf("; %ld world%s not done in both", d->missing, d->missing == 1 ? " is" : "s are");
}

static void print_number(const diff *d, const diff_quantity *x)
{
    const diff_place *const at = &x->first;
    const number_name n = name_of(d, x, at);
    const bool total = x->kind == DIFF_TOTAL;
    printf("%-14s", "first number");
    if (total) printf("at the end");
    else printf("step %lld (%.9g s)", (long long)at->step, at->time);
    printf(", world %ld", at->world);
    if (n.link) printf(", link '%s'", clean(n.link).text);
    printf(": %s is %.17g in A and %.17g in B", clean(n.name).text, at->values[0], at->values[1]);
    if (isfinite(at->difference))
        printf(", %s%.3g%s%s apart", d->relative ? "relatively " : "", at->difference, d->relative || !*n.unit ? "" : " ",
               d->relative ? "" : n.unit);
    printf("\n");
}

static void print_table(const diff *d)
{
    printf("\n%-24s%12s%24s%12s%12s%8s  %s\n", "quantity", "first step", "numbers that differ", "largest", "at step", "world",
           "number");
    for (int k = 0; k < d->count; k++) {
        const diff_quantity *const x = &d->list[k];
        char first[24] = "end", at[24] = "end", of[48], apart[24] = "-";
        if (!x->differ) continue;
        if (x->kind != DIFF_TOTAL) {
            snprintf(first, sizeof first, "%lld", (long long)x->first.step);
            snprintf(at, sizeof at, "%lld", (long long)x->largest.step);
        }
        if (x->kind != DIFF_HASH) snprintf(apart, sizeof apart, "%.3g", x->largest.difference);
        snprintf(of, sizeof of, "%lld of %lld", (long long)x->differ, (long long)x->compared);
        printf("%-24s%12s%24s%12s%12s%8ld  %s\n", x->name, first, of, apart, at, x->largest.world,
               x->partner ? clean(name_of(d, x, &x->largest).name).text : "");
    }
}

static void print_equal(const diff *d)
{
    bool any = false;
    for (int k = 0; k < d->count; k++) {
        if (d->list[k].differ) continue;
        printf("%s%s", any ? ", " : "\nequal         ", d->list[k].name);
        any = true;
    }
    if (any) printf("\n");
}

void print_diff(const diff *d)
{
    const diff_quantity *const hash = diff_first_hash(d), *const number = diff_first_number(d);
    if (!hash && !number) {
        printf("equal: ");
        print_extent(d);
        for (int k = 0; k < d->nnote; k++) printf("%s%s", k ? ", " : "; made with another ", clean(d->notes[k].name).text);
        printf("\n");
        return;
    }
    print_side(d, 0), print_side(d, 1);
    print_notes(d);
    printf("%-14s", "compared");
    print_extent(d);
    printf("\n");
    if (hash)
        printf("%-14sstep %lld (%.9g s), world %ld: its hash is %016llx in A and %016llx in B\n", "first hash",
               (long long)hash->first.step, hash->first.time, hash->first.world, (unsigned long long)hash->first.hashes[0],
               (unsigned long long)hash->first.hashes[1]);
    if (number) print_number(d, number);
    else printf("%-14snone: all numbers that both have are the same\n", "first number");
    print_table(d);
    print_equal(d);
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < d->nonly[side]; k++)
            printf("%s%s%s",
                   k      ? ", "
                   : side ? "only in B     "
                          : "only in A     ",
                   d->only[side][k], k + 1 < d->nonly[side] ? "" : "\n");
}

// ---- JSON

static void add_place(cJSON *to, const char *key, const diff *d, const diff_quantity *x, const diff_place *at)
{
    cJSON *const place = json_object(to, key);
    const number_name n = name_of(d, x, at);
    json_text(place, "quantity", x->name);
    if (x->kind != DIFF_TOTAL) {
        json_number(place, "step", (double)at->step);
        json_number(place, "time", at->time);
    }
    json_number(place, "world", (double)at->world);
    if (x->kind == DIFF_HASH) {
        char text[20];
        cJSON *const values = json_array(place, "values");
        for (int side = 0; side < 2; side++) {
            snprintf(text, sizeof text, "%016llx", (unsigned long long)at->hashes[side]);
            json_text(values, NULL, text);
        }
        return;
    }
    if (n.link) json_text(place, "link", n.link);
    json_text(place, "number", n.name);
    json_text(place, "unit", n.unit);
    json_numbers(place, "values", at->values, 2);
    json_number(place, "difference", at->difference);
}

static void add_notes(cJSON *to, const diff *d)
{
    cJSON *const notes = json_array(to, "setup");
    for (int k = 0; k < d->nnote; k++) {
        const diff_note *const n = &d->notes[k];
        cJSON *const one = json_object(notes, NULL), *const values = (json_text(one, "name", n->name), json_array(one, "values"));
        for (int side = 0; side < 2; side++)
            if (n->values[side]) json_text(values, NULL, n->values[side]);
            else cJSON_AddItemToArray(values, cJSON_CreateNull());
        json_text(one, "effect", effect_text(n->effect));
    }
}

int print_json_diff(const diff *d)
{
    const diff_quantity *const hash = diff_first_hash(d), *const number = diff_first_number(d),
                               *const first = hash ? hash : number;
    cJSON *const root = json_object(NULL, NULL), *const files = json_array(root, "files");
    for (int side = 0; side < 2; side++) {
        cJSON *const one = json_object(files, NULL);
        json_text(one, "file", d->from[side].path);
        json_text(one, "version", d->from[side].version);
        json_text(one, "started", d->from[side].started);
        json_number(one, "records", (double)d->records[side]);
        json_number(one, "worlds", d->from[side].cfg.worlds);
    }
    cJSON_AddBoolToObject(root, "equal", !first);
    add_notes(root, d);
    cJSON *const compared = json_object(root, "compared");
    json_number(compared, "worlds", (double)(d->worlds - d->missing));
    json_number(compared, "records", (double)d->pairs);
    json_number(compared, "from", d->span[0]);
    json_number(compared, "to", d->span[1]);
    json_number(compared, "tolerance", d->tolerance);
    cJSON_AddBoolToObject(compared, "relative", d->relative);
    if (first) add_place(root, "first", d, first, &first->first);
    else cJSON_AddNullToObject(root, "first");
    if (number) add_place(root, "first_number", d, number, &number->first);
    else cJSON_AddNullToObject(root, "first_number");
    cJSON *const list = json_array(root, "quantities");
    for (int k = 0; k < d->count; k++) {
        const diff_quantity *const x = &d->list[k];
        cJSON *const one = json_object(list, NULL);
        json_text(one, "quantity", x->name);
        json_number(one, "compared", (double)x->compared);
        json_number(one, "differ", (double)x->differ);
        if (!x->differ) continue;
        add_place(one, "first", d, x, &x->first);
        if (x->kind != DIFF_HASH) add_place(one, "largest", d, x, &x->largest);
    }
    return json_print(root);
}

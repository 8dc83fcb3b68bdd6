/// What two recordings say of how they were made: their scenes, models, methods and all else that a file notes of itself.
#include "cli/commands/diff.h"
#include "cli/base/message.h"
#include "sim/record/hdf5_read.h"
#include "sim/scene/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// The attributes of a file, from those that explain most; but for what follows from the scene, and for when and by which command
/// line it was made.
static const struct {
    const char *name;
    diff_effect effect;
} attributes[] = {
    {"scene_defaults", EFFECT_MOTION},
    {"method", EFFECT_MOTION},
    {"order", EFFECT_MOTION},
    {"stages", EFFECT_MOTION},
    {"rho", EFFECT_MOTION},
    {"dt", EFFECT_MOTION},
    {"error_tolerance", EFFECT_MOTION},
    {"solver", EFFECT_MOTION},
    {"tolerance", EFFECT_MOTION},
    {"max_iterations", EFFECT_MOTION},
    {"max_halvings", EFFECT_MOTION},
    {"seed", EFFECT_MOTION},
    {"starts", EFFECT_MOTION},
    {"controls", EFFECT_MOTION},
    {"parallel", EFFECT_ROUNDING},
    {"lanes", EFFECT_ROUNDING},
    {"engine", EFFECT_NONE},
    {"catena_version", EFFECT_PERHAPS},
    {"worlds", EFFECT_NONE},
    {"steps", EFFECT_NONE},
    {"every", EFFECT_NONE},
    {"stride", EFFECT_NONE},
    {"keep", EFFECT_NONE},
};

/// Adds a note; its values are a text each, or NULL: nothing. False: no memory.
static bool add_note(diff *d, const char *name, diff_effect effect, const char *a, const char *b)
{
    diff_note *const more = realloc(d->notes, ((size_t)d->nnote + 1) * sizeof *more);
    if (!more) return false;
    d->notes = more;
    diff_note *const n = &d->notes[d->nnote];
    *n = (diff_note){strdup(name), {a ? strdup(a) : NULL, b ? strdup(b) : NULL}, effect};
    d->nnote++;
    return n->name && (!a || n->values[0]) && (!b || n->values[1]);
}

static bool same_text(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

static bool compare_attributes(diff *d)
{
    bool ok = true;
    for (size_t k = 0; k < sizeof attributes / sizeof *attributes && ok; k++) {
        char *const a = recorded_note(&d->from[0], attributes[k].name), *const b = recorded_note(&d->from[1], attributes[k].name);
        diff_effect effect = attributes[k].effect;
        if (!strcmp(attributes[k].name, "engine") && a && b && engines_differ(a, b)) effect = EFFECT_ROUNDING;
        const bool other_kind = effect == EFFECT_NONE && (!a || !b);  // a rollout's, which runs do not have, or the reverse
        if (!other_kind && !same_text(a, b)) ok = add_note(d, attributes[k].name, effect, a, b);
        free(a), free(b);
    }
    return ok;
}

// ---- scenes

/// The line that begins at `text`, without what surrounds it, as a text.
static void line_at(const char *text, char *line, size_t size)
{
    text += strspn(text, " \t");
    snprintf(line, size, "%.*s", (int)strcspn(text, "\r\n"), text);
}

static const char *next_line(const char *text)
{
    text += strcspn(text, "\n");
    return text + (*text == '\n');
}

/// Notes the first line in which two texts differ.
static bool compare_lines(diff *d, const scene_file *a, const scene_file *b)
{
    enum { LINE = 120 };
    const char *s = a->text, *t = b->text;
    char name[400], lines[2][LINE];
    int number = 1;
    for (; *s && *t; number++) {
        const size_t length = strcspn(s, "\n");
        if (strcspn(t, "\n") != length || memcmp(s, t, length)) break;
        s = next_line(s), t = next_line(t);
    }
    snprintf(name, sizeof name, "scene, line %d of %s", number, a->path);
    line_at(s, lines[0], LINE), line_at(t, lines[1], LINE);
    return add_note(d, name, EFFECT_PERHAPS, *s ? lines[0] : NULL, *t ? lines[1] : NULL);
}

static bool compare_scenes(diff *d)
{
    const ctn_scene *const a = d->from[0].scene, *const b = d->from[1].scene;
    const int files = a->nfile > b->nfile ? a->nfile : b->nfile;
    bool ok = true;
    for (int k = 0; k < files && ok; k++) {
        const scene_file *const x = k < a->nfile ? &a->files[k] : NULL, *const y = k < b->nfile ? &b->files[k] : NULL;
        if (!x || !y) ok = add_note(d, "scene, files", EFFECT_PERHAPS, x ? x->path : NULL, y ? y->path : NULL);
        else if (x->length == y->length && !memcmp(x->text, y->text, x->length)) continue;
        else if (x->mesh || y->mesh) ok = add_note(d, "scene, mesh", EFFECT_PERHAPS, x->path, y->path);
        else ok = compare_lines(d, x, y);
    }
    return ok;
}

// ---- models

/// The link called `name`, or -1; mostly link `likely`.
static int find_link(const ctn_model *m, const char *name, int likely)
{
    const ctn_link *const k = ctn_model_link(m, likely);
    return k && !strcmp(k->name, name) ? likely : ctn_model_find(m, name);
}

static const char *parent_of(const ctn_model *m, const ctn_link *k)
{
    return k->parent < 0 ? "the world" : ctn_model_link(m, k->parent)->name;
}

/// Notes numbers of a link that differ.
static bool note_numbers(diff *d, const ctn_link *k, const char *what, int count, const double *a, const double *b)
{
    char name[400], values[2][200] = {"", ""};
    snprintf(name, sizeof name, "link '%s', %s", k->name, what);
    for (int i = 0; i < count; i++)
        for (int side = 0; side < 2; side++) {
            const size_t used = strlen(values[side]);
            snprintf(values[side] + used, sizeof values[side] - used, "%s%.17g", i ? ", " : "", (side ? b : a)[i]);
        }
    return add_note(d, name, EFFECT_MOTION, values[0], values[1]);
}

/// Notes what of a link that both models have is not the same.
static bool compare_link(diff *d, const ctn_link *a, const ctn_link *b)
{
    char name[400];
    const char *const parents[2] = {parent_of(d->model[0], a), parent_of(d->model[1], b)};
    bool ok = true;
    if (a->joint != b->joint) {
        snprintf(name, sizeof name, "link '%s', joint", a->name);
        ok = add_note(d, name, EFFECT_MOTION, joint_name(a->joint), joint_name(b->joint));
    }
    if (ok && strcmp(parents[0], parents[1])) {
        snprintf(name, sizeof name, "link '%s', parent", a->name);
        ok = add_note(d, name, EFFECT_MOTION, parents[0], parents[1]);
    }
    if (ok && a->mass != b->mass) ok = note_numbers(d, a, "mass (kg)", 1, &a->mass, &b->mass);
    if (ok && memcmp(a->com, b->com, sizeof a->com)) ok = note_numbers(d, a, "com (m)", 3, a->com, b->com);
    if (ok && memcmp(a->inertia, b->inertia, sizeof a->inertia))
        ok = note_numbers(d, a, "inertia (kg m^2)", 6, a->inertia, b->inertia);
    return ok;
}

/// Notes links that one of the models has alone, and the first ones that are not alike.
static bool compare_models(diff *d)
{
    enum { MOST = 5 };  // links; a scene that was scaled has all others
    const ctn_model *const a = d->model[0], *const b = d->model[1];
    const int before = d->nnote;
    bool ok = true;
    for (int side = 0; side < 2; side++)
        for (int l = 0, found = 0; l < ctn_model_nlink(d->model[side]) && ok && found < MOST; l++) {
            const char *const name = ctn_model_link(d->model[side], l)->name;
            if (find_link(d->model[!side], name, l) >= 0) continue;
            ok = add_note(d, "links", EFFECT_MOTION, side ? NULL : name, side ? name : NULL);
            found++;
        }
    for (int l = 0; l < ctn_model_nlink(a) && ok && d->nnote < before + 2 * MOST; l++) {
        const int twin = find_link(b, ctn_model_link(a, l)->name, l);
        if (twin >= 0) ok = compare_link(d, ctn_model_link(a, l), ctn_model_link(b, twin));
    }
    return ok;
}

/// The partners of the numbers of sensors: those of the sensor of that name, if it is of the same type.
static void sensor_partners(const ctn_model *a, const ctn_model *b, int *partner)
{
    for (int i = 0; i < ctn_model_nsensor(a); i++) {
        const ctn_sensor *const x = ctn_model_sensor(a, i), *const y = ctn_model_sensor(b, ctn_model_find_sensor(b, x->name));
        const bool alike = y && y->type == x->type && y->count == x->count;
        for (int k = 0; k < x->count; k++) partner[x->first + k] = alike ? y->first + k : -1;
    }
}

/// Whether a contact point is of a link, and where links touch each other of the same one of the two ways.
static bool is_twin(const ctn_contact_point *p, const ctn_contact_point *q, int link)
{
    return q->link == link && (p->surface == CTN_SURFACE_LINKS) == (q->surface == CTN_SURFACE_LINKS);
}

/// Those of contact points: the points of the link of that name, one after another.
static void contact_partners(const diff *d, int *partner)
{
    const ctn_model *const a = d->model[0], *const b = d->model[1];
    ctn_contact_point p, q;
    for (int k = 0, before = 0; ctn_model_contact(a, k, &p); k++) {
        ctn_contact_point last;
        before = k && ctn_model_contact(a, k - 1, &last) && is_twin(&p, &last, p.link) ? before + 1 : 0;
        const int found = find_link(b, ctn_model_link(a, p.link)->name, p.link);
        int twin = 0;
        while (ctn_model_contact(b, twin, &q) && !is_twin(&p, &q, found)) twin++;
        const bool alike = found >= 0 && ctn_model_contact(b, twin + before, &q) && is_twin(&p, &q, found);
        for (int i = 0; i < CTN_CONTACT_NUMBERS; i++)
            partner[k * CTN_CONTACT_NUMBERS + i] = alike ? (twin + before) * CTN_CONTACT_NUMBERS + i : -1;
    }
}

void diff_partners(const diff *d, const char *what, int *partner)
{
    const ctn_model *const a = d->model[0], *const b = d->model[1];
    if (!strcmp(what, "sensors")) {
        sensor_partners(a, b, partner);
        return;
    }
    if (!strcmp(what, "contacts")) {
        contact_partners(d, partner);
        return;
    }
    for (int l = 0; l < ctn_model_nlink(a); l++) {
        const ctn_link *const x = ctn_model_link(a, l);
        const int found = find_link(b, x->name, l);
        const ctn_link *const y = found >= 0 ? ctn_model_link(b, found) : NULL;
        const bool alike = y && y->joint == x->joint;
        if (*what == 'q')
            for (int k = 0; k < x->nq; k++) partner[x->qadr + k] = alike ? y->qadr + k : -1;
        else if (*what == 'v')
            for (int k = 0; k < x->nv; k++) partner[x->vadr + k] = alike ? y->vadr + k : -1;
        else
            for (int k = 0; k < POSE_NUMBERS; k++) partner[l * POSE_NUMBERS + k] = y ? found * POSE_NUMBERS + k : -1;
    }
}

int diff_setups(diff *d)
{
    const bool ok = compare_scenes(d) && compare_models(d) && compare_attributes(d);
    return ok ? EXIT_OK : run_error("not enough memory");
}

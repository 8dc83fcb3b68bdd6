/// Names of quantities, and what they stand for in a recording.
#include "cli/plots/series.h"

#include "cli/base/message.h"
#include "sim/base/step_stats.h"
#include "sim/model/model.h"
#include "sim/record/record.h"
#include "sim/base/suggest.h"

#include <catena/contact.h>
#include <catena/sample.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Of a record, since the one before: amounts, which can be added up, and the largest of all steps.
static const char *const amounts[] = {
#define TOTAL(member) #member,
#define BALANCE(member) #member,
#define MOST(member)
#define LEAST(member)
#define FIRST(member)
#define LAST(member)
#define STAT(member, type, adds, of, unit, about) adds(member)
    STEP_STATS(STAT)
#undef STAT
};
static const char *const peaks[] = {"iterations_max", "residual"};

/// Sums over the model: which numbers of ctn_totals. The energies come first.
#define TERM(member) (int)(offsetof(ctn_totals, member) / sizeof(double))
static const struct {
    const char *name, *unit;
    int term, terms;
    bool vector;
} totals[] = {{"kinetic", "J", TERM(kinetic), 1, false},
              {"potential", "J", TERM(potential), 1, false},
              {"spring", "J", TERM(spring), 1, false},
              {"energy", "J", TERM(kinetic), 3, false},
              {"com", "m", TERM(com), 1, true},
              {"momentum_linear", "kg m/s", TERM(momentum_linear), 1, true},
              {"momentum_angular", "kg m^2/s", TERM(momentum_angular), 1, true}};
_Static_assert(TERM(potential) == TERM(kinetic) + 1 && TERM(spring) == TERM(kinetic) + 2,
               "the energy is the sum of three in a row");

enum {
    AMOUNTS = sizeof amounts / sizeof *amounts,
    PEAKS = sizeof peaks / sizeof *peaks,
    TOTALS = sizeof totals / sizeof *totals,
    ENERGIES = 4
};

static const char axes[3][2] = {"x", "y", "z"};
static const char sum_ending[] = ".sum";

static bool is_among(const char *name, const char *const *names, int count)
{
    for (int k = 0; k < count; k++)
        if (!strcmp(name, names[k])) return true;
    return false;
}

/// The name of a member without its group. NULL: worlds are not drawn beyond where they froze, so that it would say nothing.
static const char *member_name(const record_member *m)
{
    const char *const name = strchr(m->name, '/') + 1;
    return strncmp(name, "frozen", 6) ? name : NULL;
}

static bool add(series_list *found, series one)
{
    series *const more = realloc(found->list, ((size_t)found->count + 1) * sizeof *more);
    if (more) found->list = more, more[found->count++] = one;
    return more != NULL;
}

static int added(bool ok) { return ok ? EXIT_OK : run_error("not enough memory"); }

/// Whether `name` is `stem`, or `stem` and a part after a dot, which goes to *part ("": none).
static bool begins_with(const char *name, const char *stem, const char **part)
{
    const size_t length = strlen(stem);
    *part = name + length + (strncmp(name, stem, length) == 0 && name[length] == '.');
    return !strncmp(name, stem, length) && (!name[length] || name[length] == '.');
}

static int axis_of(const char *part)
{
    for (int k = 0; k < 3; k++)
        if (!strcmp(part, axes[k])) return k;
    return -1;
}

// Each of these returns an exit status, or -1 if the name is none of its own.

static int no_contacts(const timeline *t, const char *name)
{
    return usage_error("%s: '%s': nothing touches a `ground` in its scene", t->from.path, name);
}

/// "energy", "work", "work.sum": what the file has of each world.
static int find_member(timeline *t, const char *name, series_list *found)
{
    const size_t length = strlen(name), ending = strlen(sum_ending);
    series one = {.kind = SERIES_NUMBER, .summed = length > ending && !strcmp(name + length - ending, sum_ending)};
    const record_member *m = NULL;
    char stem[SERIES_NAME];
    snprintf(stem, sizeof stem, "%.*s", (int)(length - (one.summed ? ending : 0)), name);
    for (int k = 0; k < RECORD_MEMBERS && !m; k++)
        if (member_name(&record_members[k]) && !strcmp(member_name(&record_members[k]), stem)) m = &record_members[k];
    const bool amount = is_among(stem, amounts, AMOUNTS);
    if (!m || (one.summed && !amount)) return -1;
    one.interval = amount || is_among(stem, peaks, PEAKS);
    snprintf(one.name, sizeof one.name, "%s", name);
    one.unit = m->unit, one.set = m->name, one.whole = m->type != MEMBER_REAL;
    if (timeline_has(t, m->name)) return added(add(found, one));
    const bool between = m >= record_members + RECORD_MEMBERS - BETWEEN_STATS;
    if (between && !t->model->npair && !t->model->nbond)
        return usage_error("%s: '%s': nothing acts between links in its scene", t->from.path, name);
    if (m >= record_members + RECORD_MEMBERS - BETWEEN_STATS - CONTACT_STATS) {
        if (!between && !t->model->ncontact) return no_contacts(t, name);
        if (t->from.rollout && strcmp(stem, "corrections") != 0) return -1;  // of what it keeps of contacts
    }
    if (!strncmp(m->name, "energy/", 7)) return -1;
    return usage_error("%s: has no '%s' over time, as it is of catena rollout; catena run --out records it", t->from.path, stem);
}

/// Whether what follows from states can be computed. Returns an exit status.
static int check_states(timeline *t, const char *name, bool energy)
{
    const char *const path = t->from.path;
    if (!timeline_has(t, "q") || !timeline_has(t, "v"))
        return usage_error("%s: '%s' follows from q and v, which it does not have; make it with --keep q,v%s", path, name,
                           energy ? ", or energy" : "");
    const bool drawn = t->from.rollout || t->from.first >= 0;  // worlds of `catena run` are those of the scene
    if (drawn && ctn_scene_parameters(t->from.scene, t->model, NULL))
        return usage_error("%s: '%s' cannot be computed, as its worlds have parameters of their own%s", path, name,
                           energy ? "; make it with --keep energy" : "");
    return EXIT_OK;
}

/// "energy" where the file does not have it, "com", "com.x".
static int find_total(timeline *t, const char *name, series_list *found)
{
    const char *part;
    int k = 0;
    while (k < TOTALS && !begins_with(name, totals[k].name, &part)) k++;
    if (k == TOTALS || (*part && (!totals[k].vector || axis_of(part) < 0))) return -1;
    int status = check_states(t, name, !strcmp(totals[k].unit, "J"));
    for (int axis = 0; axis < 3 && status == EXIT_OK; axis++) {
        series one = {.unit = totals[k].unit, .kind = SERIES_TOTAL, .term = totals[k].term + axis, .terms = totals[k].terms};
        if (*part && axis != axis_of(part)) continue;
        snprintf(one.name, sizeof one.name, "%s%s%s", totals[k].name, totals[k].vector ? "." : "",
                 totals[k].vector ? axes[axis] : "");
        status = added(add(found, one));
        if (!totals[k].vector) break;
    }
    return status;
}

/// Coordinate k of a link: of q, of v, or of where it is. False: there are no more.
static bool coordinate(char kind, const ctn_link *link, int index, int k, series *one)
{
    *one = (series){.kind = kind == 'p' ? SERIES_POSITION : SERIES_ENTRY};
    if (k >= (kind == 'q' ? link->nq : kind == 'v' ? link->nv : 3)) return false;
    if (kind == 'q') {
        coordinate_name(link, k, one->name, sizeof one->name);
        one->set = "q", one->unit = coordinate_unit(link, k), one->entry = link->qadr + k;
    } else if (kind == 'v') {
        velocity_name(link, k, one->name, sizeof one->name);
        one->set = "v", one->unit = velocity_unit(link, k), one->entry = link->vadr + k;
    } else {
        snprintf(one->name, sizeof one->name, "p.%s.%s", link->name, axes[k]);
        one->unit = "m", one->entry = index, one->axis = k;
    }
    return true;
}

/// "q": of all links; "q.arm": of one, all coordinates; "q.arm.1": one of them. So v, and p, where link frames are.
static int find_coordinates(timeline *t, const char *name, series_list *found)
{
    const char kind = *name, text[2] = {kind, 0}, *part;
    const int before = found->count;
    if (!kind || !strchr("qvp", kind) || !begins_with(name, text, &part)) return -1;
    const bool pose = kind == 'p' && timeline_has(t, "pose");
    if (!pose && !timeline_has(t, kind == 'v' ? "v" : "q"))
        return usage_error("%s: has no %s, which '%s' needs; make it with --keep %s", t->from.path, kind == 'v' ? "v" : "q", name,
                           kind == 'p' ? "q, or pose" : text);
    const int whole = *part ? ctn_model_find(t->model, part) : -1;
    for (int l = 0; l < ctn_model_nlink(t->model); l++) {
        series one;
        for (int k = 0; coordinate(kind, ctn_model_link(t->model, l), l, k, &one); k++) {
            if (*part && (whole >= 0 ? l != whole : strcmp(one.name, name) != 0)) continue;
            if (pose) one.set = "pose";
            if (!add(found, one)) return added(false);
        }
    }
    if (found->count > before) return EXIT_OK;
    if (whole >= 0) return usage_error("%s: '%s': the joint of this link is fixed, and has no coordinates", t->from.path, name);
    return *part ? -1 : usage_error("%s: '%s': no joint of its scene has coordinates", t->from.path, name);
}

/// "imu", "sensor.imu": all numbers of a sensor; "sensor.imu.ax", "imu.ax": one of them; "sensor": those of all.
static int find_sensors(timeline *t, const char *name, series_list *found)
{
    static const char stem[] = "sensor.";
    const size_t before = sizeof stem - 1;
    const bool all = !strcmp(name, "sensor") || !strcmp(name, "sensors");
    const char *const asked = strncmp(name, stem, before) ? name : name + before;
    const int had = found->count;
    for (int i = 0; i < ctn_model_nsensor(t->model); i++) {
        const ctn_sensor *const s = ctn_model_sensor(t->model, i);
        for (int k = 0; k < s->count; k++) {
            series one = {.kind = SERIES_ENTRY, .set = "sensors", .unit = sensor_unit(t->model, s, k), .entry = s->first + k};
            sensor_name(t->model, s, k, one.name, sizeof one.name);
            if (!all && strcmp(asked, s->name) != 0 && strcmp(asked, one.name + before) != 0) continue;
            if (!timeline_has(t, "sensors"))
                return usage_error("%s: has no sensors, which '%s' needs; make it with --keep sensors", t->from.path, name);
            if (!add(found, one)) return added(false);
        }
    }
    return found->count > had ? EXIT_OK : -1;
}

static const struct {
    const char *name, *unit;
} of_contacts[] = {[CONTACTS_NORMAL] = {"normal", "N"},
                   [CONTACTS_DEPTH] = {"depth", "m"},
                   [CONTACTS_TOUCHING] = {"touching", "1"},
                   [CONTACTS_STICKING] = {"sticking", "1"},
                   [CONTACTS_SLIDING] = {"sliding", "1"}};
enum { OF_CONTACTS = sizeof of_contacts / sizeof *of_contacts };

/// Whether the file has what is asked for of contact points. Returns an exit status.
static int check_contacts(timeline *t, const char *name)
{
    if (!ctn_model_ncontact(t->model)) return no_contacts(t, name);
    if (timeline_has(t, "contacts")) return EXIT_OK;
    return usage_error("%s: has no contacts, which '%s' needs; make it with --keep contacts", t->from.path, name);
}

/// The name of number `axis` of contact point k, "contact.foot.0.fz", in `one`; false: its link is not `link`, -1: any.
static bool contact_number(const timeline *t, int k, int axis, int link, series *one)
{
    int of;
    *one = (series){.kind = SERIES_POSITION, .set = "contacts", .entry = k, .axis = axis};
    return state_number(t->model, "contacts", (size_t)(k * CTN_CONTACT_NUMBERS + axis), one->name, sizeof one->name, &one->unit,
                        &of) &&
           (link < 0 || of == link);
}

/// "normal", "touching": of all contact points; "normal.foot": of those of a link. "contact.foot": all numbers of these,
/// "contact.foot.0" of one, "contact.foot.0.fz" one of them.
static int find_contacts(timeline *t, const char *name, series_list *found)
{
    const char *part;
    const int had = found->count;
    int status;
    for (int k = 0; k < OF_CONTACTS; k++) {
        if (!begins_with(name, of_contacts[k].name, &part)) continue;
        if (!t->model->ncontact) return no_contacts(t, name);
        series one = {.kind = SERIES_CONTACTS, .of = (contact_series)k, .entry = -1, .unit = of_contacts[k].unit};
        one.whole = k >= CONTACTS_TOUCHING;
        if (*part && (one.entry = ctn_model_find(t->model, part)) < 0) return -1;
        if ((status = check_contacts(t, name)) != EXIT_OK) return status;
        bool some = !*part;
        for (int i = 0; i < ctn_model_ncontact(t->model) && !some; i++) {
            ctn_contact_point point;
            some = ctn_model_contact(t->model, i, &point) && point.link == one.entry && point.surface != CTN_SURFACE_LINKS;
        }
        if (!some) return usage_error("%s: '%s': this link has no contact points", t->from.path, name);
        snprintf(one.name, sizeof one.name, "%s", name);
        return added(add(found, one));
    }
    if (!begins_with(name, "contact", &part) || !*part) return -1;
    const int link = ctn_model_find(t->model, part);
    const size_t length = strlen(name);
    for (int i = 0; i < ctn_model_ncontact(t->model) * CTN_CONTACT_NUMBERS; i++) {
        series one;
        if (!contact_number(t, i / CTN_CONTACT_NUMBERS, i % CTN_CONTACT_NUMBERS, link, &one)) continue;
        if (link < 0 && strcmp(one.name, name) != 0 && (strncmp(one.name, name, length) != 0 || one.name[length] != '.'))
            continue;
        if (!add(found, one)) return added(false);
    }
    return found->count == had ? -1 : check_contacts(t, name);
}

// ---- names that are none

/// All names, each ended by NUL, as one text to be freed; `plain` receives how many come before sums, coordinates and those of
/// links. NULL: no memory.
static char *all_names(timeline *t, int *plain, int *count)
{
    char *text = NULL;
    size_t size = 0;
    series one;
    int n = 0;
    FILE *const out = open_memstream(&text, &size);
    if (!out) return NULL;
    for (int k = 0; k < RECORD_MEMBERS; k++)
        if (member_name(&record_members[k]) && timeline_has(t, record_members[k].name))
            n++, fprintf(out, "%s%c", member_name(&record_members[k]), 0);
    for (int k = timeline_has(t, "energy/energy") ? ENERGIES : 0; k < TOTALS; k++) n++, fprintf(out, "%s%c", totals[k].name, 0);
    *plain = n;
    for (int k = 0; k < AMOUNTS && !t->from.rollout; k++) n++, fprintf(out, "%s%s%c", amounts[k], sum_ending, 0);
    for (const char *kind = "qvp"; *kind; kind++) {
        n++, fprintf(out, "%c%c", *kind, 0);
        for (int l = 0; l < ctn_model_nlink(t->model); l++) {
            const ctn_link *const link = ctn_model_link(t->model, l);
            n++, fprintf(out, "%c.%s%c", *kind, link->name, 0);
            for (int k = 0; coordinate(*kind, link, l, k, &one); k++) n++, fprintf(out, "%s%c", one.name, 0);
        }
    }
    for (int i = 0; i < ctn_model_nsensor(t->model) && timeline_has(t, "sensors"); i++) {
        const ctn_sensor *const s = ctn_model_sensor(t->model, i);
        n++, fprintf(out, "%s%c", s->name, 0);
        for (int k = 0; k < s->count; k++) {
            sensor_name(t->model, s, k, one.name, sizeof one.name);
            n += 2, fprintf(out, "%s%c%s%c", one.name, 0, one.name + 7, 0);
        }
    }
    for (int k = 0; k < OF_CONTACTS && timeline_has(t, "contacts"); k++) {
        n++, fprintf(out, "%s%c", of_contacts[k].name, 0);
        for (int l = 0; l < ctn_model_nlink(t->model); l++)
            n++, fprintf(out, "%s.%s%c", of_contacts[k].name, ctn_model_link(t->model, l)->name, 0);
    }
    for (int i = 0; i < ctn_model_ncontact(t->model) * CTN_CONTACT_NUMBERS && timeline_has(t, "contacts"); i++)
        if (contact_number(t, i / CTN_CONTACT_NUMBERS, i % CTN_CONTACT_NUMBERS, -1, &one)) n++, fprintf(out, "%s%c", one.name, 0);
    *count = n;
    return fclose(out) ? NULL : text;
}

/// The error that says what was meant, or what there is.
static int unknown(timeline *t, const char *name)
{
    int plain, count, n = 0;
    char *const text = all_names(t, &plain, &count), *list = NULL;
    const char **const names = text ? malloc((size_t)count * sizeof *names) : NULL;
    size_t size;
    FILE *const out = names ? open_memstream(&list, &size) : NULL;
    if (!out) {
        free(text), free(names);
        return run_error("not enough memory");
    }
    for (const char *at = text; n < count; at += strlen(at) + 1) names[n++] = at;
    for (int k = 0; k < plain; k++) fprintf(out, "%s, ", names[k]);
    fclose(out);
    const char *const meant = nearest_name(name, names, count);
    if (meant) usage_error("%s: has no '%s'; did you mean '%s'?", t->from.path, name, meant);
    else
        usage_error("%s: has no '%s'; there are %s%sand q, v, p of all links, or q.LINK, v.LINK, p.LINK of one, as 'q.%s'",
                    t->from.path, name, list, t->from.rollout ? "" : "work.sum and other sums from the start, ",
                    ctn_model_link(t->model, 0)->name);
    free(text), free(names), free(list);
    return EXIT_USAGE;
}

int series_find(timeline *t, const char *name, series_list *found)
{
    int status = find_member(t, name, found);
    if (status < 0) status = find_total(t, name, found);
    if (status < 0) status = find_coordinates(t, name, found);
    if (status < 0) status = find_sensors(t, name, found);
    if (status < 0) status = find_contacts(t, name, found);
    return status < 0 ? unknown(t, name) : status;
}

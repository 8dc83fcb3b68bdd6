/// `links:` and `defaults:`: explicit links, and what they share with generated ones.
#include "sim/scene/scene_reader.h"
#include "sim/base/suggest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINK_KEY_NAMES                                                                                                           \
    [LINK_KEY_NAME] = {.name = "name"}, [LINK_KEY_PARENT] = {.name = "parent"}, [LINK_KEY_POSITION] = {.name = "position"},      \
    [LINK_KEY_ROTATION] = {.name = "rotation"}, [LINK_KEY_EULER] = {.name = "euler"}, [LINK_KEY_JOINT] = {.name = "joint"},      \
    [LINK_KEY_MASS] = {.name = "mass"}, [LINK_KEY_COM] = {.name = "com"}, [LINK_KEY_INERTIA] = {.name = "inertia"},              \
    [LINK_KEY_DENSITY] = {.name = "density"}, [LINK_KEY_SHAPES] = {.name = "shapes"},                                            \
    [LINK_KEY_CONTACT_POINTS] = {.name = "contact_points", .later = true}

static const key link_keys[][LINK_KEYS] = {
    [EXPLICIT_LINK] = {LINK_KEY_NAMES},
    [CHAIN] = {LINK_KEY_NAMES, [LINK_KEY_COUNT] = {.name = "count"}, [LINK_KEY_STEP] = {.name = "step"},
               [LINK_KEY_AXES] = {.name = "axes"}},
    [TREE] = {LINK_KEY_NAMES, [LINK_KEY_DEPTH] = {.name = "depth"}, [LINK_KEY_BRANCHING] = {.name = "branching"},
              [LINK_KEY_STEP] = {.name = "step"}, [LINK_KEY_STEPS] = {.name = "steps"}, [LINK_KEY_AXES] = {.name = "axes"}},
};
static const char *const form_names[] = {[EXPLICIT_LINK] = "a link", [CHAIN] = "a chain", [TREE] = "a tree"};

// ---- links by name

int find_link(const source *s, const char *name)
{
    char full[2 * SCENE_MAX_NAME + 2];
    if (snprintf(full, sizeof full, "%s%s", s->prefix, name) >= (int)sizeof full) return -1;
    const int link = name_table_find(&s->r->names, full);
    return link >= s->first_link ? link : -1;
}

const char *nearest_link(const source *s, const char *name)
{
    enum { MOST = 2000 };
    const char *names[MOST];
    int count = 0;
    const size_t prefix = strlen(s->prefix);
    for (int i = s->r->scene->nlink - 1; i >= s->first_link && count < MOST; i--)
        names[count++] = s->r->scene->links[i].name + prefix;
    return nearest_name(name, names, count);
}

bool read_link_name(source *s, const node *n, int *link)
{
    const char *name;
    if (!read_name(s, n, &name)) return false;
    *link = find_link(s, name);
    if (*link >= 0 || !s->r->names_known) return *link >= 0;
    const char *const meant = nearest_link(s, name);
    if (meant) return bad_value(s, n, "unknown link %s; did you mean '%s'?", found(n).text, meant);
    return bad_value(s, n, "unknown link %s; expected one of this scene", found(n).text);
}

// ---- parents

/// Whether the entry of `links:` makes a link called `name`.
static bool makes_link(const node *entry, const char *name)
{
    if (entry->kind != NODE_MAPPING) return false;
    for (const node *value = entry->child; value; value = value->next) {
        const bool generator =
            !strcmp(value->key->text, "chain") || !strcmp(value->key->text, "tree") || !strcmp(value->key->text, "cable");
        if (generator && value->kind == NODE_MAPPING) {
            for (const node *inner = value->child; inner; inner = inner->next) {
                if (strcmp(inner->key->text, "name") || inner->kind != NODE_SCALAR) continue;
                const size_t length = strlen(inner->text);
                if (!strncmp(name, inner->text, length) && (name[length] == '.' || !name[length])) return true;
            }
        }
        if (!strcmp(value->key->text, "name") && value->kind == NODE_SCALAR && !strcmp(value->text, name)) return true;
    }
    return false;
}

static bool unknown_parent(source *s, const node *n, const node *entry)
{
    s->r->parents_known = false;
    if (!s->r->names_known || hopeless(s)) return false;
    if (makes_link(entry, n->text))
        return bad_value(s, n, "%s is this link itself; a parent is another link, or world", found(n).text);
    for (const node *below = entry->next; below; below = below->next)
        if (makes_link(below, n->text)) return bad_value(s, n, "link %s is defined below; parents come first", found(n).text);
    const char *const meant = nearest_link(s, n->text);
    if (meant) return bad_value(s, n, "unknown link %s; did you mean '%s'?", found(n).text, meant);
    return bad_value(s, n, "unknown link %s; a parent is a link defined above, or world", found(n).text);
}

static bool read_parent(source *s, const node *entry, const node *own, int *parent)
{
    *parent = -1;
    const node *const n = own ? own : s->default_link[LINK_KEY_PARENT];
    const char *name;
    if (!n) return true;
    if (!read_name(s, n, &name)) {
        s->r->parents_known = false;
        return false;
    }
    if (!strcmp(name, "world")) return true;
    *parent = find_link(s, name);
    return *parent >= 0 || !own || unknown_parent(s, n, entry);  // a default parent does not apply to itself and those above
}

// ---- plans: all but the name and the place in the tree

void free_plan(link_plan *plan)
{
    if (plan->count == 0) free(plan->link.shapes);
}

/// A free joint hangs on the world: its zero frame is the world's, and the place of the link is its first position.
static bool place_free_joint(source *s, link_plan *plan, bool has_q0)
{
    scene_link *const link = &plan->link;
    const node *const type = plan->own_joint[JOINT_KEY_TYPE];
    if (link->parent >= 0)
        return bad_value(s, type ? type : plan->mapping, "a free joint hangs on the world only; the parent here is '%s'",
                         printable(s->r->scene->links[link->parent].name).text);
    if (!has_q0) {
        memcpy(link->joint.q0, link->position, sizeof link->position);
        memcpy(link->joint.q0 + 3, link->rotation, sizeof link->rotation);
    } else if (plan->own[LINK_KEY_POSITION]) {
        warn(s, plan->own[LINK_KEY_POSITION], "not used: `q0` gives the position of a free joint");
    }
    memset(link->position, 0, sizeof link->position);
    memcpy(link->rotation, (double[4]){1, 0, 0, 0}, sizeof link->rotation);
    return true;
}

static bool read_link_shapes(source *s, link_plan *plan)
{
    const node *const own = plan->own[LINK_KEY_SHAPES], *const n = own ? own : s->default_link[LINK_KEY_SHAPES];
    return !n || read_shapes(s, n, &plan->link.shapes, &plan->link.nshape);
}

bool read_place(source *s, const node *entry, link_plan *plan)
{
    scene_link *const link = &plan->link;
    const node *const *const own = plan->own;
    const char *name;
    bool ok = true;
    if (!own[LINK_KEY_NAME]) ok = missing_key(s, plan->mapping, "name", "missing; every link has a name");
    else if (!read_name(s, own[LINK_KEY_NAME], &name)) ok = false;
    else if (!strcmp(name, "world")) ok = bad_value(s, own[LINK_KEY_NAME], "'world' is no link; give it another name");
    else link->name = (char *)name;
    ok = read_parent(s, entry, own[LINK_KEY_PARENT], &link->parent) && ok;

    const bool turned = own[LINK_KEY_ROTATION] || own[LINK_KEY_EULER];  // either one replaces a default of either kind
    const node *const position = own[LINK_KEY_POSITION] ? own[LINK_KEY_POSITION] : s->default_link[LINK_KEY_POSITION];
    if (position) ok = read_vector(s, position, 3, ANY_SIGN, link->position) && ok;
    return read_rotation(s, turned ? own[LINK_KEY_ROTATION] : s->default_link[LINK_KEY_ROTATION],
                         turned ? own[LINK_KEY_EULER] : s->default_link[LINK_KEY_EULER], link->rotation) &&
           ok;
}

void start_plan(source *s, const node *mapping, link_plan *plan)
{
    *plan = (link_plan){.mapping = mapping, .origin = {.file = s->file, .start = mapping}};
    plan->link.mass = NAN;
    plan->link.parent = -1;
    plan->link.line = mapping->line, plan->link.column = mapping->column;
    plan->link.file = s->r->scene->files[mapping->file ? mapping->file : s->file].path;
}

bool read_plan(source *s, const node *mapping, link_form form, link_plan *plan)
{
    start_plan(s, mapping, plan);
    scene_link *const link = &plan->link;
    const node **const own = plan->own;
    if (!read_keys(s, mapping, form_names[form], link_keys[form], LINK_KEYS, own)) return false;

    bool ok = read_place(s, form == EXPLICIT_LINK ? mapping : mapping->up, plan);
    bool has_q0;
    const bool joint_ok =
        read_joint(s, mapping, own[LINK_KEY_JOINT], own[LINK_KEY_AXES] != 0, &link->joint, plan->own_joint, &has_q0);
    if (joint_ok && link->joint.type == CTN_FREE) ok = place_free_joint(s, plan, has_q0) && ok;
    plan->joint_known = joint_ok;
    const node *const *const given = plan->own_joint, *const *const defaults = s->default_joint;
    plan->origin.limits = given[JOINT_KEY_LIMITS] ? given[JOINT_KEY_LIMITS] : defaults[JOINT_KEY_LIMITS];
    plan->origin.q0 = given[JOINT_KEY_Q0] ? given[JOINT_KEY_Q0] : has_q0 ? defaults[JOINT_KEY_Q0] : NULL;
    plan->origin.q0_file = s->file;
    ok = ok && joint_ok;

    const bool shapes_ok = read_link_shapes(s, plan);
    return read_mass(s, mapping, own, shapes_ok, link, &plan->origin.mass) && ok;
}

/// Room for one more link.
static bool grow_links(reader *r)
{
    ctn_scene *const scene = r->scene;
    if (scene->nlink < r->link_capacity) return true;
    const int capacity = r->link_capacity ? 2 * r->link_capacity : 16;
    scene_link *const links = realloc(scene->links, (size_t)capacity * sizeof *links);
    if (links) scene->links = links;
    link_origin *const origins = links ? realloc(r->origins, (size_t)capacity * sizeof *origins) : 0;
    if (origins) r->origins = origins, r->link_capacity = capacity;
    else r->no_memory = true;
    return origins;
}

/// Notes q0 and v0 that the first of the plan's links gives, for `state:`.
static bool note_given(source *s, const link_plan *plan)
{
    reader *const r = s->r;
    for (int k = JOINT_KEY_Q0; k <= JOINT_KEY_V0; k++) {
        if (!plan->own_joint[k] || s->of_robot) continue;  // nobody has written a robot's for this scene
        if (r->ngiven == r->given_capacity) {
            const int capacity = r->given_capacity ? 2 * r->given_capacity : 16;
            given_state *const given = realloc(r->given, (size_t)capacity * sizeof *given);
            if (!given) return out_of_memory(s);
            r->given = given, r->given_capacity = capacity;
        }
        r->given[r->ngiven++] = (given_state){s->file, plan->own_joint[k], k == JOINT_KEY_V0, r->scene->nlink};
    }
    return true;
}

bool add_link(source *s, link_plan *plan, const char *name)
{
    reader *const r = s->r;
    ctn_scene *const scene = r->scene;
    char full[3 * SCENE_MAX_NAME];
    snprintf(full, sizeof full, "%s%s", s->prefix, name);
    if (strlen(full) > SCENE_MAX_NAME)
        return bad_value(s, plan->own[LINK_KEY_NAME], "the name %s would have %d bytes; at most %d are allowed",
                         printable(full).text, (int)strlen(full), SCENE_MAX_NAME);
    if (scene->nlink >= SCENE_MAX_LINKS)
        return bad_value(s, plan->mapping, "too many links; a scene has at most %d", SCENE_MAX_LINKS);
    if (!grow_links(r)) return false;
    const int other = name_table_find(&r->names, full);
    if (other >= 0) {
        const scene_link *const taken = &scene->links[other];
        return bad_value(s, plan->own[LINK_KEY_NAME], "'%s' is already the name of the link at %s:%d:%d", printable(full).text,
                         taken->file, taken->line, taken->column);
    }
    if (plan->count == 0 && !note_given(s, plan)) return false;
    scene_link *const link = &scene->links[scene->nlink];
    *link = plan->link;
    link->name = reader_copy(r, full, strlen(full));
    if (!link->name) return false;
    if (!name_table_add(&r->names, scene->nlink)) {
        free(link->name);
        return out_of_memory(s);
    }
    plan->count++;
    r->origins[scene->nlink++] = plan->origin;
    scene->nq += joint_nq(link->joint.type);
    scene->nv += joint_nv(link->joint.type);
    return true;
}

// ---- the sections

/// The generator that the one key of an entry was meant to be, or NULL.
static const char *misspelt_generator(const node *entry)
{
    static const char *const generators[] = {"chain", "tree", "cable"};
    if (entry->size != 1 || entry->child->kind != NODE_MAPPING || !strcmp(entry->child->key->text, "joint")) return 0;
    return nearest_name(entry->child->key->text, generators, 3);
}

static bool read_entry(source *s, const node *entry)
{
    if (entry->kind != NODE_MAPPING)
        return bad_value(s, entry, "expected a link (name: ...), a chain, a tree or a cable, found %s", found(entry).text);
    for (const node *value = entry->child; value; value = value->next) {
        const bool chain = !strcmp(value->key->text, "chain"), cable = !strcmp(value->key->text, "cable");
        if (!chain && !cable && strcmp(value->key->text, "tree") != 0) continue;
        for (const node *other = entry->child; other; other = other->next)
            if (other != value) bad_key(s, other, "a %s stands alone in its entry; indent its keys below it", value->key->text);
        const bool read = cable ? read_cable(s, value) : read_generator(s, value, chain ? CHAIN : TREE);
        return read && entry->size == 1;
    }
    const char *const meant = misspelt_generator(entry);
    if (meant) {
        links_unknown(s);
        return bad_key(s, entry->child, "unknown key; did you mean '%s'?", meant);
    }
    link_plan plan;
    const bool ok = read_plan(s, entry, EXPLICIT_LINK, &plan);
    // a link with errors stays in the tree as far as it is known, so that those below it can be checked
    const bool added = plan.link.name && add_link(s, &plan, plan.link.name);
    if (!plan.link.name) links_unknown(s);
    if (!added) s->layout_known = s->r->parents_known = false;
    free_plan(&plan);
    return ok && added;
}

bool read_links(source *s, const node *n)
{
    if (n->kind != NODE_SEQUENCE) {
        links_unknown(s);
        return bad_value(s, n, "expected a list of links, found %s", found(n).text);
    }
    bool ok = true;
    for (const node *entry = n->child; entry && !hopeless(s); entry = entry->next) ok = read_entry(s, entry) && ok;
    const node *const parent = s->default_link[LINK_KEY_PARENT];
    if (ok && parent && strcmp(parent->text, "world") && find_link(s, parent->text) < 0)
        ok = bad_value(s, parent, "unknown link %s", found(parent).text);
    return ok;
}

/// Checks the defaults by reading each once; values[] keeps the good ones.
bool read_link_defaults(source *s, const node *n)
{
    static const key keys[LINK_KEYS] = {LINK_KEY_NAMES};
    const node **const values = s->default_link;
    const int errors = s->r->errors.count;
    if (!read_keys(s, n, "a set of defaults", keys, LINK_KEYS, values)) {
        s->defaults_failed = true, s->layout_known = false;
        return false;
    }
    double x[6], e[4];
    const char *name;
    scene_shape *shapes = 0;
    int nshape = 0;
    bool good[LINK_KEYS];
    for (int k = 0; k < LINK_KEYS; k++) {
        good[k] = true;
        const node *const value = values[k];
        if (!value) continue;
        switch (k) {
        case LINK_KEY_NAME: good[k] = bad_key(s, value, "every link has a name of its own"); break;
        case LINK_KEY_PARENT: good[k] = read_name(s, value, &name); break;
        case LINK_KEY_POSITION:
        case LINK_KEY_COM: good[k] = read_vector(s, value, 3, ANY_SIGN, x); break;
        case LINK_KEY_ROTATION: good[k] = read_rotation(s, value, values[LINK_KEY_EULER], e); break;
        case LINK_KEY_EULER: good[k] = read_angles(s, value, x); break;
        case LINK_KEY_JOINT: good[k] = read_joint_defaults(s, value); break;
        case LINK_KEY_MASS:
        case LINK_KEY_DENSITY: good[k] = read_number(s, value, NOT_NEGATIVE, x); break;
        case LINK_KEY_INERTIA: good[k] = read_inertia(s, value, x); break;
        case LINK_KEY_SHAPES:
            good[k] = read_shapes(s, value, &shapes, &nshape);
            free(shapes);
            s->r->nshape -= nshape;
            break;
        }
    }
    for (int k = 0; k < LINK_KEYS; k++)
        if (!good[k]) values[k] = 0;
    if (!good[LINK_KEY_ROTATION]) values[LINK_KEY_EULER] = 0;
    s->defaults_failed = s->r->errors.count > errors;
    if (s->defaults_failed) s->layout_known = false;  // joint types may be missing
    return !s->defaults_failed;
}

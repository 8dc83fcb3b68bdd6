/// What the world of a model has to touch: its ground, obstacles out of geoms of the world and of bodies that hang on it without
/// joints, and a height field as terrain. Which geoms touch what is told by layers, one for each kind of contact bits, and each body
/// that an <exclude> names.
#include "sim/scene/mjcf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- height fields

bool mjcf_read_field(mjcf *m, mjcf_geom *g)
{
    robot *const r = m->r;
    xml_element *const e = g->item.element;
    const xml_attribute *const a = mjcf_find(m, g->item, "hfield");
    mjcf_touch touch;
    mjcf_pose pose;
    if (!a) return robot_bad(r, e->at, "<geom>: missing attribute hfield=\"...\"");
    const int i = name_table_find(&m->fields.names, a->value);
    if (i < 0)
        return robot_bad(r, a->at, "hfield: unknown height field '%s'; <asset> has none of this name", printable(a->value).text);
    if (!mjcf_read_touch(m, g->item, &touch) || !mjcf_read_pose(m, g->item, &pose)) return false;
    xml_use_all(e);
    xml_element *const asset = m->fields.list[i];
    const char *const file = xml_value(asset, "file"), *const end = file ? strrchr(file, '.') : NULL;
    const bool image = end && (!strcmp(end, ".png") || !strcmp(end, ".PNG")),
               data = image || (!file && xml_find(asset, "elevation"));
    if (!data || m->field.element || !(touch.types || touch.with) || mjcf_moves(m, m->scopes[g->scope].body)) {
        mjcf_pass(&m->ground, e->at);
        return true;
    }
    pose = mjcf_at(&m->scopes[g->scope].pose, &pose);
    const mjcf_pose body = mjcf_body_in_world(m, m->scopes[g->scope].body);
    m->field = (mjcf_field){.element = e, .asset = asset, .touch = touch, .pose = mjcf_at(&body, &pose), .geom = g};
    return true;
}

/// Rows of the height field, stretched from 0 to its height as MuJoCo does; the first one has the highest y, here as there.
static bool tell_rows(mjcf *m, const mjcf_field *f, double height)
{
    enum { MOST_SIDE = 4096 };
    robot *const r = m->r;
    double counts[2];
    const xml_attribute *const a = xml_find(f->asset, "elevation");
    if (!robot_numbers(r, f->asset, "nrow", 1, NULL, &counts[0]) || !robot_numbers(r, f->asset, "ncol", 1, NULL, &counts[1]))
        return false;
    for (int k = 0; k < 2; k++)
        if (!(counts[k] >= 2 && counts[k] <= MOST_SIDE && counts[k] == floor(counts[k])))
            return robot_bad(r, f->asset->at, "<hfield>: nrow, ncol: expected whole numbers from 2 to %d", MOST_SIDE);
    const int rows = (int)counts[0], columns = (int)counts[1], n = rows * columns;
    double *const x = reader_alloc(r->s->r, (size_t)n * sizeof *x), least = INFINITY, most = -INFINITY;
    if (!x) return false;
    const bool good = robot_list(r, a, n, n, x) == n;
    for (int k = 0; k < n && good; k++) least = fmin(least, x[k]), most = fmax(most, x[k]);
    if (good) say_open(r, "heights", NODE_SEQUENCE, a->at);
    for (int j = 0; j < rows && good; j++) {
        say_open(r, NULL, NODE_SEQUENCE, a->at);
        for (int i = 0; i < columns; i++)
            say_number(r, NULL, most > least ? height * ((x[j * columns + i] - least) / (most - least)) : 0, a->at);
        say_close(r);
    }
    if (good) say_close(r);
    free(x);
    return good;
}

void mjcf_tell_layers(mjcf *m, const char *key, unsigned layers, document_place at)
{
    if (!m->layered) return;
    say_open(m->r, key, NODE_SEQUENCE, at);
    for (int k = 0; k < MOST_LAYERS; k++)
        if (layers >> k & 1) say_number(m->r, NULL, k, at);
    say_close(m->r);
}

static void tell_surface(mjcf *m, const mjcf_surface *s, document_place at)
{
    if (!isnan(s->friction)) say_number(m->r, "friction", s->friction, at);
    mjcf_tell_layers(m, "layers", 1u << s->layer, at);
}

static void tell_field(mjcf *m, const mjcf_surface *s)
{
    robot *const r = m->r;
    const mjcf_field *const f = &m->field;
    const document_place at = f->element->at;
    const char *const file = xml_value(f->asset, "file");
    double size[4];
    if (!robot_numbers(r, f->asset, "size", 4, NULL, size)) return;
    for (int k = 0; k < 3; k++)
        if (!(size[k] > 0)) {
            robot_bad(r, f->asset->at, "<hfield>: size: expected numbers > 0");
            return;
        }
    say_open(r, "terrain", NODE_MAPPING, at);
    if (file) {
        const char *const path = mjcf_asset_path(m, file);
        if (path) say_text(r, "file", path, xml_find(f->asset, "file")->at);
        say_numbers(r, "range", (double[]){0, size[2]}, 2, at);
    } else if (!tell_rows(m, f, size[2])) return;
    say_numbers(r, "size", (double[]){2 * size[0], 2 * size[1]}, 2, at);
    say_unless_zero(r, "position", f->pose.p, 3, at);
    if (f->pose.q[0] != 1) say_numbers(r, "rotation", f->pose.q, 4, at);
    tell_surface(m, s, at);
    if (f->geom->drawn) say_numbers(r, "color", f->geom->shape.color, 3, at);
    else say_word(r, "draw", "false", at);
    say_close(r);
}

// ---- what there is

/// The bodies that <exclude> names.
static bool read_excludes(mjcf *m)
{
    robot *const r = m->r;
    size_t count = 0;
    for (xml_element *c = xml_next(r->root->child, "contact"); c; c = xml_next(c->next, "contact"))
        for (xml_element *e = xml_next(c->child, "exclude"); e; e = xml_next(e->next, "exclude")) count++;
    m->excludes = reader_alloc(r->s->r, (count + 1) * sizeof *m->excludes);
    if (!m->excludes) return false;
    for (xml_element *c = xml_next(r->root->child, "contact"); c; c = xml_next(c->next, "contact")) {
        c->used = true;
        for (xml_element *e = xml_next(c->child, "exclude"); e; e = xml_next(e->next, "exclude")) {
            int found[2] = {-1, -1};
            for (int k = 0; k < 2; k++) {
                const char *const name = robot_need(r, e, k ? "body2" : "body1");
                if (!name) return false;
                for (int b = 0; b < m->nbody && found[k] < 0; b++)
                    if (!strcmp(name, b ? m->bodies[b].name : "world")) found[k] = b;
                if (found[k] < 0)
                    return robot_bad(r, e->at, "<exclude>: body%d: there is no body '%s'", k + 1, printable(name).text);
            }
            xml_use_all(e);
            memcpy(m->excludes[m->nexclude++], found, sizeof found);
        }
    }
    return true;
}

bool mjcf_meets(const mjcf *m, const mjcf_geom *g, const mjcf_surface *s)
{
    const int body = m->scopes[g->scope].body;
    if (!(g->touch.types & s->touch.with) && !(s->touch.types & g->touch.with)) return false;
    for (int k = 0; k < m->nexclude && s->body >= 0; k++) {
        const int *const e = m->excludes[k];
        if ((e[0] == body && e[1] == s->body) || (e[1] == body && e[0] == s->body)) return false;
    }
    return true;
}

/// Whether a geom is of a body that moves, and touches something.
static bool can_touch(const mjcf *m, const mjcf_geom *g)
{
    return g->touches && mjcf_moves(m, m->scopes[g->scope].body) && touches_ground(&g->shape);
}

/// Adds what some link touches, and the floor; `geom` NULL: it is that.
static void add_surface(mjcf *m, const mjcf_touch *touch, int body, const mjcf_geom *geom)
{
    mjcf_surface s = {.touch = *touch, .geom = geom, .body = -1, .friction = NAN};
    bool met = !geom;
    for (int k = 0; k < m->nexclude; k++)
        if (m->excludes[k][0] == body || m->excludes[k][1] == body) s.body = body;
    for (int i = 0; i < m->ngeom && !met; i++) met = can_touch(m, &m->geoms[i]) && mjcf_meets(m, &m->geoms[i], &s);
    if (!met) return;
    m->surfaces[m->nsurface++] = s;
}

/// Surfaces with the same bits, of bodies that are excluded alike, share a layer. With more kinds than layers the rest is left out.
/// Returns how many layers these are.
static int give_layers(mjcf *m)
{
    int n = 0, layers = 0;
    for (int k = 0; k < m->nsurface; k++) {
        mjcf_surface *const s = &m->surfaces[n];
        const mjcf_surface *other = m->surfaces;
        *s = m->surfaces[k];
        while (other < s &&
               (other->touch.types != s->touch.types || other->touch.with != s->touch.with || other->body != s->body))
            other++;
        if (other == s && layers == MOST_LAYERS) {
            mjcf_pass(&m->ground, s->geom->item.element->at);
            continue;
        }
        s->layer = other < s ? other->layer : layers++, n++;
    }
    m->nsurface = n;
    return layers;
}

unsigned mjcf_layers(const mjcf *m, const mjcf_geom *g)
{
    unsigned layers = 0;
    for (int k = 0; k < m->nsurface; k++)
        if (mjcf_meets(m, g, &m->surfaces[k])) layers |= 1u << m->surfaces[k].layer;
    return layers;
}

/// Whether all geoms that move touch each other, as their bits say.
static bool all_meet(const mjcf *m)
{
    enum { KINDS = 64 };
    const mjcf_touch *kinds[KINDS];
    int n = 0;
    for (int i = 0; i < m->ngeom; i++) {
        const mjcf_touch *const t = &m->geoms[i].touch;
        int k = 0;
        if (!can_touch(m, &m->geoms[i])) continue;
        while (k < n && (kinds[k]->types != t->types || kinds[k]->with != t->with)) k++;
        if (k < n) continue;
        if (n == KINDS) return false;
        kinds[n++] = t;
        for (k = 0; k < n; k++)
            if (!(kinds[k]->types & t->with) && !(t->types & kinds[k]->with)) return false;
    }
    return true;
}

unsigned mjcf_bit_layers(const mjcf *m, unsigned bits)
{
    unsigned layers = 0;
    for (int b = 0; b < 32 && m->meeting; b++)
        if (bits >> b & 1 && m->bit_layers[b] >= 0) layers |= 1u << m->bit_layers[b];
    return layers;
}

/// Layers, after those of surfaces, for bits of geoms that move, where these do not all touch each other or have layers anyway. A bit
/// counts that is in one's contype and in another's conaffinity.
static void give_bits(mjcf *m, int layers)
{
    unsigned types = 0, with = 0;
    bool apart = false;  // some geom touches no surface
    for (int i = 0; i < m->ngeom; i++) {
        if (!can_touch(m, &m->geoms[i])) continue;
        types |= m->geoms[i].touch.types, with |= m->geoms[i].touch.with;
        apart = apart || (m->nsurface && !mjcf_layers(m, &m->geoms[i]));
    }
    if (!m->layered && !apart && all_meet(m)) return;
    for (int b = 0; b < 32; b++) m->bit_layers[b] = types & with & 1u << b ? layers++ : -1;
    if (layers > MOST_LAYERS) {
        for (int i = 0; i < m->ngeom; i++)
            if (can_touch(m, &m->geoms[i])) mjcf_pass(&m->bits, m->geoms[i].item.element->at);
        return;
    }
    m->meeting = m->layered = true;
}

/// What a scene makes of a geom's friction and a surface's: the lesser one, or the only one; else the scene's.
static double made_of(double shape, double surface, double usual)
{
    if (isnan(surface)) return isnan(shape) ? usual : shape;
    return shape < surface ? shape : surface;
}

/// The friction that a surface is to have, so that as many geoms as can be have MuJoCo's on it: none of its own, that of geoms
/// which say nothing, or the largest that there is. Returns how many pairs have another.
static int choose_friction(mjcf *m, mjcf_surface *s)
{
    double choice[3] = {NAN, mjcf_usual_friction(&s->touch), 0};
    int best = 0, fewest = 0;
    for (int i = 0; i < m->ngeom; i++)
        if (can_touch(m, &m->geoms[i]) && mjcf_meets(m, &m->geoms[i], s))
            choice[2] = fmax(choice[2], mjcf_friction(&m->geoms[i].touch, &s->touch));
    for (int c = 0; c < 3 && (!c || fewest); c++) {
        int wrong = 0;
        for (int i = 0; i < m->ngeom; i++) {
            const mjcf_geom *const g = &m->geoms[i];
            if (can_touch(m, g) && mjcf_meets(m, g, s))
                wrong += made_of(mjcf_own_friction(m, g), choice[c], mjcf_usual_friction(&m->surfaces[0].touch)) !=
                         mjcf_friction(&g->touch, &s->touch);
        }
        if (!c || wrong < fewest) best = c, fewest = wrong;
    }
    s->friction = choice[best];
    return fewest;
}

bool mjcf_find_surfaces(mjcf *m)
{
    m->surfaces = reader_alloc(m->r->s->r, ((size_t)m->ngeom + 1) * sizeof *m->surfaces);
    if (!m->surfaces) return false;
    if (!read_excludes(m)) return false;
    if (m->floor.element) add_surface(m, &m->floor.touch, m->floor.body, NULL);
    for (int i = 0; i < m->ngeom; i++) {
        const mjcf_geom *const g = &m->geoms[i];
        const int body = m->scopes[g->scope].body;
        if (g->touches && !mjcf_moves(m, body)) add_surface(m, &g->touch, body, g);
    }
    if (m->field.element) add_surface(m, &m->field.touch, m->scopes[m->field.geom->scope].body, m->field.geom);
    const int layers = give_layers(m);
    unsigned all = 0;
    for (int k = 0; k < m->nsurface; k++) all |= 1u << m->surfaces[k].layer;
    for (int i = 0; i < m->ngeom; i++) {
        const unsigned layers = can_touch(m, &m->geoms[i]) ? mjcf_layers(m, &m->geoms[i]) : 0;
        if (layers && layers != all) m->layered = true;
    }
    give_bits(m, layers);
    for (int k = m->floor.element ? 1 : 0; k < m->nsurface; k++) {  // the ground has none of its own
        mjcf_surface *const s = &m->surfaces[k];
        if (s->touch.soft) mjcf_pass(&m->contact, s->geom->item.element->at);
        const int wrong = choose_friction(m, s);
        for (int n = 0; n < wrong; n++) mjcf_pass(&m->lesser, s->geom->item.element->at);
    }
    return true;
}

// ---- nodes

static void tell_obstacle(mjcf *m, const mjcf_surface *s)
{
    robot *const r = m->r;
    const mjcf_geom *const g = s->geom;
    const document_place at = g->item.element->at;
    const char *const name = xml_value(g->item.element, "name");
    const mjcf_pose body = mjcf_body_in_world(m, m->scopes[g->scope].body);
    scene_shape shape = g->shape;
    const mjcf_pose inner = {{g->shape.center[0], g->shape.center[1], g->shape.center[2]},
                             {g->shape.rotation[0], g->shape.rotation[1], g->shape.rotation[2], g->shape.rotation[3]}},
                    whole = mjcf_at(&body, &inner);
    memcpy(shape.center, whole.p, sizeof shape.center), memcpy(shape.rotation, whole.q, sizeof shape.rotation);
    rotate(body.q, g->shape.from, shape.from), rotate(body.q, g->shape.to, shape.to);
    for (int k = 0; k < 3; k++) shape.from[k] += body.p[k], shape.to[k] += body.p[k];
    say_open(r, NULL, NODE_MAPPING, at);
    if (name && *name) say_text(r, "name", name, at);
    mjcf_tell_form(m, &shape, g->file, at);
    if (g->file) say_word(r, "optional", "true", at);
    tell_surface(m, s, at);
    say_word(r, "draw", "false", at);  // the link that has the geom is drawn
    say_close(r);
}

void mjcf_tell_surfaces(mjcf *m)
{
    robot *const r = m->r;
    const mjcf_surface *const first = m->surfaces;
    bool any = false;
    if (!m->nsurface || m->no_contact) return;
    if (m->floor.element) {
        const document_place at = m->floor.element->at;
        say_open(r, "ground", NODE_MAPPING, at);
        say_number(r, "height", m->floor.height, at);
        say_numbers(r, "normal", m->floor.normal, 3, at);
        mjcf_tell_layers(m, "layers", 1u << first->layer, at);
        say_close(r);
    }
    for (int k = 0; k < m->nsurface; k++) {
        const mjcf_surface *const s = &m->surfaces[k];
        if (!s->geom || s->geom == m->field.geom) continue;
        if (!any) say_open(r, "obstacles", NODE_SEQUENCE, s->geom->item.element->at);
        any = true;
        tell_obstacle(m, s);
    }
    if (any) say_close(r);
    if (m->field.element && m->surfaces[m->nsurface - 1].geom == m->field.geom) tell_field(m, &m->surfaces[m->nsurface - 1]);
    const document_place at = first->geom ? first->geom->item.element->at : m->floor.element->at;
    say_open(r, "contact", NODE_MAPPING, at);
    say_number(r, "friction", mjcf_usual_friction(&first->touch), at);
    say_close(r);
}

/// Marks by kind of joint, and the rings of points that trails are kept in.
#include "render/draw/marks.h"

#include "render/draw/colors.h"
#include "render/draw/instances.h"
#include "render/draw/vectors.h"
#include "sim/scene/scene.h"

#include <catena/contact.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 512, FEWEST_POINTS = 24, ALL_POINTS = 400000 };  // of a trail; of all together, unless the fewest are more

/// What marks of a link are made of.
typedef struct {
    ctn_joint_type joint;
    int parent;
    double axis[3], axis2[3];         // link frame; of universal joints `axis` is in the zero frame
    double position[3], rotation[9];  // of the zero frame in the parent's
    double size;                      // m, of marks
} marked_link;

/// A contact point, and the weight of the tree that it is of, N.
typedef struct {
    ctn_contact_point at;
    double weight;
} marked_contact;

struct marks {
    marked_contact *contacts;
    int ncontact;
    double normal[3], reach;  // of the ground; m, as long as a weight is
    marked_link *links;
    char **names;
    int nlink, worlds;
    trail_point *trails;
    int tracks, room;  // trails and the centre of mass; points of each
    double seconds;
    int *first, *count;  // [worlds]: ring of the points that there are
    double *times;       // [worlds][room]
    float *points;       // [worlds][tracks][room][3]
};

// ---- what is marked

/// Marks of a link go half the way to the next joint, or are small where there is none.
static void find_sizes(marks *m, const ctn_scene *scene, double radius)
{
    for (int i = 0; i < m->nlink; i++) {
        const double *const c = scene->links[i].com;
        m->links[i].size = 2 * vector_length(c);
    }
    for (int i = 0; i < m->nlink; i++) {
        const scene_link *const l = &scene->links[i];
        const double *const x = l->position;
        if (l->parent >= 0) m->links[l->parent].size = fmax(m->links[l->parent].size, vector_length(x));
    }
    for (int i = 0; i < m->nlink; i++)
        m->links[i].size = m->links[i].size > 0 ? fmin(0.5 * m->links[i].size, 0.15 * radius) : 0.03 * radius;
}

/// The trails asked for, or those of the links without children.
static bool find_trails(marks *m, const ctn_scene *scene, const marks_config *cfg)
{
    const size_t most = (size_t)(cfg->trails ? cfg->trail_count : m->nlink);
    m->trails = malloc((most + 1) * sizeof *m->trails);
    if (!m->trails) return false;
    if (cfg->trails) {
        memcpy(m->trails, cfg->trails, most * sizeof *m->trails);
        m->tracks = cfg->trail_count + 1;
        return true;
    }
    bool *const carries = calloc(most + 1, sizeof *carries);
    for (int i = 0; i < m->nlink && carries; i++)
        if (m->links[i].parent >= 0) carries[m->links[i].parent] = true;
    m->tracks = 0;
    for (int i = 0; i < m->nlink && carries; i++) {
        const double *const c = scene->links[i].com;
        if (!carries[i]) m->trails[m->tracks++] = (trail_point){i, {c[0], c[1], c[2]}};
    }
    m->tracks++;
    free(carries);
    return carries != NULL;
}

/// The contact points, with the weights of their trees.
static bool find_contacts(marks *m, const ctn_scene *scene, const ctn_model *model, double radius)
{
    double g[3], *const mass = calloc((size_t)m->nlink + 1, sizeof *mass);
    m->ncontact = ctn_model_ncontact(model), m->contacts = calloc((size_t)m->ncontact + 1, sizeof *m->contacts);
    memcpy(m->normal, scene->contact.normal, sizeof m->normal), m->reach = 0.5 * radius;
    ctn_model_gravity(model, g);
    for (int i = m->nlink - 1; i >= 0 && mass; i--) {
        mass[i] += ctn_model_link(model, i)->mass;
        if (m->links[i].parent >= 0) mass[m->links[i].parent] += mass[i];
    }
    for (int k = 0; k < m->ncontact && mass && m->contacts && ctn_model_contact(model, k, &m->contacts[k].at); k++) {
        int root = m->contacts[k].at.link;
        while (m->links[root].parent >= 0) root = m->links[root].parent;
        m->contacts[k].weight = mass[root] * fmax(vector_length(g), 1);
    }
    free(mass);
    return mass && m->contacts;
}

marks *marks_create(const ctn_scene *scene, const ctn_model *model, const marks_config *cfg)
{
    marks *const m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->nlink = scene->nlink, m->worlds = cfg->worlds, m->seconds = cfg->seconds;
    m->links = calloc((size_t)m->nlink + 1, sizeof *m->links), m->names = calloc((size_t)m->nlink + 1, sizeof *m->names);
    bool ok = m->links && m->names;
    for (int i = 0; i < m->nlink && ok; i++) {
        const scene_link *const l = &scene->links[i];
        m->links[i].joint = l->joint.type, m->links[i].parent = l->parent;
        memcpy(m->links[i].axis, l->joint.axis, sizeof l->joint.axis),
            memcpy(m->links[i].axis2, l->joint.axis2, sizeof l->joint.axis2);
        memcpy(m->links[i].position, l->position, sizeof l->position);
        quaternion_matrix(l->rotation, m->links[i].rotation);
        ok = (m->names[i] = strdup(ctn_model_link(model, i)->name)) != NULL;
    }
    if (ok) find_sizes(m, scene, cfg->radius);
    ok = ok && find_trails(m, scene, cfg) && find_contacts(m, scene, model, cfg->radius);
    if (ok) {
        const size_t worlds = (size_t)m->worlds, rings = worlds * (size_t)m->tracks, share = ALL_POINTS / rings;
        m->room = (int)(share > MOST_POINTS ? MOST_POINTS : share < FEWEST_POINTS ? FEWEST_POINTS : share);
        m->first = calloc(worlds, sizeof *m->first), m->count = calloc(worlds, sizeof *m->count);
        m->times = malloc(worlds * (size_t)m->room * sizeof *m->times);
        m->points = malloc(3 * rings * (size_t)m->room * sizeof *m->points);
        ok = m->first && m->count && m->times && m->points;
    }
    if (ok) return m;
    marks_free(m);
    return NULL;
}

void marks_free(marks *m)
{
    if (!m) return;
    for (int i = 0; i < m->nlink && m->names; i++) free(m->names[i]);
    free(m->contacts), free(m->links), free(m->names), free(m->trails), free(m->first), free(m->count), free(m->times),
        free(m->points);
    free(m);
}

// ---- trails

double marks_trail_step(const marks *m) { return m->seconds / (m->room - 1); }

/// Where track k is: those of trails, then the centre of mass.
static void track_point(const marks *m, int k, const double *R, const double *p, const double *com, float *x)
{
    for (int i = 0; i < 3; i++) {
        if (k == m->tracks - 1) x[i] = (float)com[i];
        else {
            const trail_point *const t = &m->trails[k];
            const double *const row = R + 9 * (size_t)t->link + 3 * i;
            x[i] = (float)(p[3 * (size_t)t->link + i] + row[0] * t->at[0] + row[1] * t->at[1] + row[2] * t->at[2]);
        }
    }
}

void marks_note(marks *m, int world, double t, const double *R, const double *p, const double *com)
{
    const size_t w = (size_t)world, room = (size_t)m->room;
    double *const times = m->times + w * room;
    const int first = m->first[w];
    while (m->count[w] && !(times[(first + m->count[w] - 1) % m->room] < t)) m->count[w]--;
    const double last = m->count[w] ? times[(first + m->count[w] - 1) % m->room] : -INFINITY;
    if (t - last < 0.999 * marks_trail_step(m)) return;
    if (m->count[w] == m->room) m->first[w] = (first + 1) % m->room, m->count[w]--;
    const size_t at = (size_t)((m->first[w] + m->count[w]) % m->room);
    times[at] = t;
    for (int k = 0; k < m->tracks; k++)
        track_point(m, k, R, p, com, m->points + 3 * ((w * (size_t)m->tracks + (size_t)k) * room + at));
    m->count[w]++;
}

void marks_clear_trails(marks *m) { memset(m->count, 0, (size_t)m->worlds * sizeof *m->count); }

/// Older points are fainter.
static bool place_trail(const marks *m, int world, int track, double t, const float *end, const float *color, line_list *lines)
{
    line_point line[MOST_POINTS + 1];
    const size_t w = (size_t)world, room = (size_t)m->room;
    size_t n = 0;
    float rgb[3] = {1, 1, 1};
    if (color) memcpy(rgb, color, sizeof rgb);
    else if (track < m->tracks - 1) color_palette(track, rgb);
    for (int k = 0; k <= m->count[w]; k++) {
        const size_t at = (size_t)((m->first[w] + k) % m->room);
        const double age = k < m->count[w] ? t - m->times[w * room + at] : 0;
        if (age > m->seconds || age < 0) continue;
        const float fresh = (float)(1 - age / m->seconds);
        const float *const x = k < m->count[w] ? m->points + 3 * ((w * (size_t)m->tracks + (size_t)track) * room + at) : end;
        line[n++] = (line_point){{x[0], x[1], x[2]}, 1 + 1.5f * fresh, {rgb[0], rgb[1], rgb[2], 0.95f * fresh}, 0, 0.35f};
    }
    return n < 2 || line_list_add(lines, line, n);
}

// ---- marks

#define STROKE 0.13  // of the size of a mark: its lines are no thicker

/// Where marks are drawn, and how.
typedef struct {
    line_list *lines;
    bool ok;
    float color[3], width;
    double size;  // m, of the mark: what is far away gets thin lines; 0: no
} brush;

static const float turning[3] = {1.0f, 0.72f, 0.15f}, sliding[3] = {0.25f, 0.85f, 0.95f};
static const float red_green_blue[3][3] = {{0.92f, 0.22f, 0.20f}, {0.25f, 0.78f, 0.28f}, {0.28f, 0.48f, 1.0f}};

static brush brush_of(line_list *lines, const float *color, float width, double size)
{
    return (brush){lines, true, {color[0], color[1], color[2]}, width, size};
}

/// Drawn over the bodies.
static line_point point_at(const brush *b, const double *x, float width, double share)
{
    const float rgb[3] = {b->color[0], b->color[1], b->color[2]}, thickness = (float)(share * b->size);
    return (line_point){{(float)x[0], (float)x[1], (float)x[2]}, width, {rgb[0], rgb[1], rgb[2], 1}, thickness, 1};
}

static void stroke(brush *b, const line_point *points, size_t count) { b->ok = b->ok && line_list_add(b->lines, points, count); }

/// x = o + s a
static void along(const double *o, double s, const double *a, double *x)
{
    for (int k = 0; k < 3; k++) x[k] = o[k] + s * a[k];
}

static void segment(brush *b, const double *from, const double *to)
{
    const line_point points[2] = {point_at(b, from, b->width, STROKE), point_at(b, to, b->width, STROKE)};
    stroke(b, points, 2);
}

/// The point of an arrow, from its base.
static void arrow_head(brush *b, const double *base, const double *point)
{
    const line_point points[2] = {point_at(b, base, 4 * b->width, 4 * STROKE), point_at(b, point, 0.3f, 4 * STROKE)};
    stroke(b, points, 2);
}

static void arrow(brush *b, const double *from, const double *to, double head)
{
    double base[3];
    const double d[3] = {to[0] - from[0], to[1] - from[1], to[2] - from[2]};
    const double n = vector_length(d);
    if (n <= 0) return;
    along(to, -fmin(head / n, 1), d, base);
    segment(b, from, base);
    arrow_head(b, base, to);
}

static void disc(brush *b, const double *at, float width)
{
    const line_point point = point_at(b, at, width, 0);
    stroke(b, &point, 1);
}

/// Part of a screw about the axis through o, `turn` rad beginning at u, that climbs `climb` m: a circle if it does not.
static void screw(brush *b, const double *o, const double *axis, double radius, double turn, double climb, bool head)
{
    enum { PARTS = 48 };
    line_point points[PARTS + 1];
    double u[3], v[3], x[3], before[3] = {0};
    vector_frame(axis, u, v);
    const int parts = head ? PARTS - 8 : PARTS;
    for (int k = 0; k <= PARTS; k++) {
        const double a = turn * k / PARTS;
        for (int i = 0; i < 3; i++)
            x[i] = o[i] + radius * (cos(a) * u[i] + sin(a) * v[i]) + climb * ((double)k / PARTS - 0.5) * axis[i];
        if (k == parts) memcpy(before, x, sizeof x);
        points[k] = point_at(b, x, b->width, STROKE);
    }
    stroke(b, points, (size_t)parts + 1);
    if (head) arrow_head(b, before, x);
}

/// An axis with the sense of turn about it; `climb` of screws.
static void turn_about(brush *b, const double *o, const double *axis, double size, double climb)
{
    double low[3], high[3];
    along(o, -0.6 * size, axis, low), along(o, size, axis, high);
    arrow(b, low, high, 0.25 * size);
    screw(b, o, axis, 0.5 * size, climb != 0 ? 9.4 : 4.7, climb, true);
}

/// An axis with both ways along it.
static void slide_along(brush *b, const double *o, const double *axis, double size)
{
    double low[3], high[3];
    along(o, -size, axis, low), along(o, size, axis, high);
    arrow(b, o, low, 0.25 * size), arrow(b, o, high, 0.25 * size);
}

static void rotated(const double *R, const double *x, double *y)
{
    for (int i = 0; i < 3; i++) y[i] = R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2];
}

static bool place_joint(const marks *m, int i, const double *R, const double *p, line_list *lines)
{
    const marked_link *const l = &m->links[i];
    const double *const o = p + 3 * (size_t)i, *const Ri = R + 9 * (size_t)i;
    static const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0}, z[3] = {0, 0, 1};
    const double *const unit[3] = {x, y, z};
    brush turn = brush_of(lines, turning, 1.8f, l->size), slide = brush_of(lines, sliding, 1.8f, l->size);
    double a[3], b[3], zero[9];  // zero: rotation of the frame that the joint starts from
    for (int k = 0; k < 9; k++) zero[k] = l->rotation[k];
    if (l->parent >= 0)
        for (int k = 0; k < 3; k++) {
            const double column[3] = {l->rotation[k], l->rotation[3 + k], l->rotation[6 + k]};
            rotated(R + 9 * (size_t)l->parent, column, a);
            zero[k] = a[0], zero[3 + k] = a[1], zero[6 + k] = a[2];
        }
    rotated(l->joint == CTN_UNIVERSAL ? zero : Ri, l->axis, a);
    switch (l->joint) {
    case CTN_FIXED: break;
    case CTN_REVOLUTE: turn_about(&turn, o, a, l->size, 0); break;
    case CTN_HELICAL: turn_about(&turn, o, a, l->size, l->size); break;
    case CTN_PRISMATIC: slide_along(&slide, o, a, l->size); break;
    case CTN_UNIVERSAL:
        turn_about(&turn, o, a, l->size, 0);
        rotated(Ri, l->axis2, b);
        turn_about(&turn, o, b, l->size, 0);
        break;
    case CTN_BALL:
        for (int k = 0; k < 3; k++) rotated(Ri, unit[k], a), screw(&turn, o, a, 0.6 * l->size, 6.283185307179586, 0, false);
        break;
    case CTN_PLANAR:
        for (int k = 0; k < 2; k++) rotated(zero, unit[k], a), slide_along(&slide, o, a, l->size);
        rotated(zero, z, a), turn_about(&turn, o, a, l->size, 0);
        break;
    case CTN_FREE:
        for (int k = 0; k < 3; k++) slide_along(&slide, o, unit[k], l->size);
        for (int k = 0; k < 3; k++) rotated(Ri, unit[k], a), screw(&turn, o, a, 0.6 * l->size, 6.283185307179586, 0, false);
        break;
    }
    return turn.ok && slide.ok;
}

static bool place_frame(const marks *m, int i, const double *R, const double *p, line_list *lines)
{
    bool ok = true;
    for (int k = 0; k < 3; k++) {
        const double axis[3] = {R[9 * i + k], R[9 * i + 3 + k], R[9 * i + 6 + k]};
        double end[3];
        brush b = brush_of(lines, red_green_blue[k], 2.5f, m->links[i].size);
        along(p + 3 * i, 0.8 * m->links[i].size, axis, end);  // axes of joints stand out
        arrow(&b, p + 3 * i, end, 0.2 * m->links[i].size);
        ok = ok && b.ok;
    }
    return ok;
}

static bool place_com(const double *com, line_list *lines)
{
    static const float black[3] = {0.05f, 0.05f, 0.06f}, white[3] = {1, 1, 1};
    brush dark = brush_of(lines, black, 1, 0), bright = brush_of(lines, white, 1, 0);
    disc(&dark, com, 13), disc(&bright, com, 9.5f), disc(&dark, com, 4.5f);
    return dark.ok && bright.ok;
}

bool marks_contacts(const marks *m, const double *R, const double *p, const double *contacts, line_list *lines)
{
    static const float colors[][3] = {
        [CTN_APART] = {0.55f, 0.57f, 0.6f}, [CTN_STICKS] = {0.2f, 0.85f, 0.35f}, [CTN_SLIDES] = {0.98f, 0.3f, 0.2f}};
    static const float black[3] = {0.05f, 0.05f, 0.06f};
    for (int k = 0; k < m->ncontact; k++) {
        const marked_contact *const c = &m->contacts[k];
        const double *const x = contacts + (size_t)k * CTN_CONTACT_NUMBERS, *const force = x + 3;
        const ctn_touch touch = x[7] == CTN_STICKS ? CTN_STICKS : x[7] == CTN_SLIDES ? CTN_SLIDES : CTN_APART;
        brush dark = brush_of(lines, black, 1, 0), bright = brush_of(lines, colors[touch], 3, 0);
        double at[3], end[3];
        if (c->at.surface && !touch) continue;  // the point is there once already, or above nothing
        rotated(R + 9 * (size_t)c->at.link, c->at.point, at);
        if (c->at.surface == CTN_SURFACE_LINKS) memcpy(at, x, sizeof at);
        for (int i = 0; i < 3 && c->at.surface != CTN_SURFACE_LINKS; i++) {
            // of what is not the ground about where the force comes from
            const double n = c->at.surface ? force[i] / fmax(vector_length(force), 1e-300) : m->normal[i];
            at[i] += p[3 * (size_t)c->at.link + (size_t)i] - c->at.radius * n;
        }
        const double share = fmin(vector_length(force) / c->weight, 3) / fmax(vector_length(force), 1e-300);
        along(at, m->reach * share, force, end);
        if (touch) arrow(&bright, at, end, 0.12 * m->reach), disc(&dark, at, 10);
        disc(&bright, at, touch ? 7 : 4);
        if (!dark.ok || !bright.ok) return false;
    }
    return true;
}

bool marks_place(const marks *m, int world, double t, const double *R, const double *p, const double *com, unsigned show,
                 const float *trail, line_list *lines, label_list *labels)
{
    bool ok = true;
    float end[3];
    for (int k = 0; k < m->tracks && ok; k++) {
        if (!(show & (k == m->tracks - 1 ? SHOW_COM : SHOW_TRAILS))) continue;
        track_point(m, k, R, p, com, end);
        ok = place_trail(m, world, k, t, end, trail, lines);
    }
    for (int i = 0; i < m->nlink && ok && show & SHOW_AXES; i++) ok = place_joint(m, i, R, p, lines);
    for (int i = 0; i < m->nlink && ok && show & SHOW_FRAMES; i++) ok = place_frame(m, i, R, p, lines);
    for (int i = 0; i < m->nlink && ok && show & SHOW_NAMES; i++) {
        const double *const o = p + 3 * (size_t)i;
        label name = label_over(o);
        name.shift[0] = 7, name.shift[1] = -7, name.align[0] = 0;
        ok = label_list_add(labels, &name, "%s", m->names[i]);
    }
    return ok && show & SHOW_COM ? place_com(com, lines) : ok;
}

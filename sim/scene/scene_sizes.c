/// Numbers of a file are finite, and what is computed of them need not be: places of what is included, stiffnesses of cables,
/// drag of shapes. What overflows is refused here, once, when all is read.
#include "sim/scene/scene_reader.h"

#include <math.h>

static bool finite_all(const double *x, int n)
{
    bool finite = true;
    for (int i = 0; i < n; i++) finite = finite && isfinite(x[i]);
    return finite;
}

static bool link_is_finite(const scene_link *link)
{
    const scene_joint *const joint = &link->joint;
    return finite_all(link->position, 3) && finite_all(link->rotation, 4) && finite_all(&link->mass, 1) &&
           finite_all(link->com, 3) && finite_all(link->inertia, 6) && finite_all(joint->damping, 6) &&
           finite_all(joint->stiffness, 3) && finite_all(joint->q0, 7) && finite_all(joint->v0, 6);
}

static bool load_is_finite(const scene_load *l)
{
    return isfinite(l->stiffness) && isfinite(l->damping) && finite_all(l->point, 3) && finite_all(l->anchor, 3);
}

static bool drag_is_finite(const scene_drag *d)
{
    return isfinite(d->damping) && isfinite(d->axial) && isfinite(d->displaced) && finite_all(d->point, 3);
}

static bool added_is_finite(const scene_added *a)
{
    return isfinite(a->mass) && finite_all(a->center, 3) && finite_all(a->second, 6);
}

void check_sizes(reader *r)
{
    static const char why[] = "too large to compute with";
    const ctn_scene *const scene = r->scene;
    const scene_fluid *const f = &scene->fluid;
    source whole = {.r = r};
    const node *told = NULL;  // links of a generator are alike
    for (int i = 0; i < scene->nlink && !hopeless(&whole); i++) {
        const scene_link *const link = &scene->links[i];
        const link_origin *const from = &r->origins[i];
        source s = {.r = r, .file = from->file};
        if (from->start == told || (link_is_finite(link) && (!f->added || added_is_finite(&f->added[i])))) continue;
        told = from->start;
        bad_value(&s, told, "numbers of '%s' are %s", printable(link->name).text, why);
    }
    for (int i = 0; i < scene->nload && !hopeless(&whole); i++) {
        const scene_load *const l = &scene->loads[i];
        source s = {.r = r, .file = r->origins[l->link].file};
        if (load_is_finite(l)) continue;
        if (l->of_cable) bad_value(&s, r->origins[l->link].start, "what holds the end of the cable is %s", why);
        else bad_place(&whole, l->at[0].line, l->at[0].column, CTN_BAD_SCENE, why);
    }
    for (int i = 0; i < f->ndrag && !hopeless(&whole); i++)
        if (!drag_is_finite(&f->drag[i]))
            bad_place(&whole, f->drag[i].at.line, f->drag[i].at.column, CTN_BAD_SCENE,
                      "what the fluid does to a link is too large to compute with");
}

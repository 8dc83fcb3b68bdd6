/// The camera of the window where nobody moves it: all in sight, as it moves; and the cameras of the scene.
#include "render/view/viewer_state.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <math.h>
#include <string.h>

static const double TIGHT = 0.86, TO_THE_EDGE = 0.97;  // of the field of view: what a look begins with, and what must not be left
static const double GLIDE = 0.3;                       // s, in which a way is made to 63 %

static double free_width(const viewer *v)
{
    const double covered = v->panel.open ? panel_width() * v->width / window_units(v->window) : 0;
    return fmax(v->width - covered, 0.4 * v->width);
}

/// What is off the axis is wider.
static double free_aspect(const viewer *v) { return 0.93 * free_width(v) / v->height; }

/// What is in the middle of the look's picture is in the middle of what the panel leaves free.
static void place_look(viewer *v)
{
    v->orbit = v->look.orbit;
    const render_camera c = camera_on_orbit(&v->orbit);
    camera_pan(&v->orbit, 0.5 * (v->width - free_width(v)) * camera_pixel(&c, v->height), 0);
}

static camera_fit fit_of(const viewer_look *l, double share)
{
    camera_orbit o = l->orbit;
    o.field *= share;
    return camera_fit_of(&o, l->aspect);
}

/// The look that has all that was seen in sight.
static camera_orbit goal_of(const viewer_look *l)
{
    camera_orbit o = l->orbit;
    memcpy(o.target, l->from, sizeof o.target);
    camera_fit_move(&l->seen, &o);
    return o;
}

/// In the direction of v->look.orbit, all that is there now.
static void begin_look(viewer *v)
{
    viewer_look *const l = &v->look;
    l->on = true, l->glides = false, l->aspect = free_aspect(v);
    l->time = v->exhibit->view.time;
    memcpy(l->from, v->exhibit->middle, sizeof l->from), memcpy(l->middle, v->exhibit->followed, sizeof l->middle);
    l->seen = fit_of(l, TIGHT);
    exhibit_fit(v->exhibit, l->from, &l->seen);
    l->orbit = goal_of(l);
    place_look(v);
}

/// Whether something of it is about to leave what is free of the picture.
static bool is_left(const viewer *v)
{
    camera_fit now = fit_of(&v->look, TO_THE_EDGE);
    exhibit_fit(v->exhibit, v->look.orbit.target, &now);
    double most = 0;
    for (int k = 0; k < 4; k++) most = fmax(most, now.side[k / 2][k % 2]);
    return most > v->look.orbit.distance;
}

void viewer_keep_look(viewer *v)
{
    viewer_look *const l = &v->look;
    const exhibit *const s = v->exhibit;
    const double clock = glfwGetTime(), passed = clock - l->clock;
    const bool again = s->view.time < l->time && s->view.time <= 0;
    l->clock = clock, l->time = s->view.time;
    if (!l->on || v->mounted >= 0) return;
    if (again || l->aspect != free_aspect(v)) return begin_look(v);
    for (int k = 0; k < 3; k++) {
        const double way = s->followed[k] - l->middle[k];
        if (s->one.travels && fabs(way) < 1e3 * s->one.radius) l->from[k] += way, l->orbit.target[k] += way;
        if (isfinite(s->followed[k])) l->middle[k] = s->followed[k];
    }
    exhibit_fit(s, l->from, &l->seen);
    l->glides = l->glides || is_left(v);
    if (l->glides) {
        const camera_orbit goal = goal_of(l);
        const double share = 1 - exp(-passed / GLIDE);
        double left = fabs(goal.distance - l->orbit.distance);
        for (int k = 0; k < 3; k++) left += fabs(goal.target[k] - l->orbit.target[k]);
        l->glides = left > 1e-3 * goal.distance;
        l->orbit.distance += share * (goal.distance - l->orbit.distance);
        for (int k = 0; k < 3; k++) l->orbit.target[k] += share * (goal.target[k] - l->orbit.target[k]);
    }
    place_look(v);
}

void viewer_take_camera(viewer *v)
{
    if (v->look.on && v->mounted < 0 && v->exhibit->one.travels) v->follows = true;  // as it did
    v->look.on = false;
}

void viewer_look_from(viewer *v, const camera_choice *from)
{
    v->look.orbit = exhibit_camera(v->exhibit, free_width(v) / v->height);
    if (from) v->look.orbit.azimuth = from->azimuth, v->look.orbit.elevation = from->elevation;
    v->mounted = -1;
    begin_look(v);
    if (!from || isnan(from->distance)) return;
    v->look.on = false, v->look.orbit.distance = from->distance;
    memcpy(v->look.orbit.target, v->exhibit->middle, sizeof v->look.orbit.target);
    place_look(v);
}

void viewer_look_at_all(viewer *v) { viewer_look_from(v, NULL); }

/// A camera that stands on something and has no distance of its own is as near as it can be with all in sight.
static void fit_mount(viewer *v)
{
    const exhibit *const a = v->exhibit;
    if (v->mount.camera.type == CAMERA_FIRST_PERSON || !isnan(v->mount.camera.distance)) return;
    camera_mount there = v->mount;
    const render_camera c = camera_mount_at(&there, a->R, a->p, a->middle, a->view.time);
    camera_orbit tight = v->mount.orbit;
    tight.field *= TIGHT;
    camera_fit fit = camera_fit_of(&tight, (double)v->width / v->height);
    exhibit_fit(a, c.target, &fit);
    camera_fit_back(&fit, &v->mount.orbit);
}

void viewer_next_camera(viewer *v)
{
    const ctn_scene *const scene = v->exhibit->scene;
    const int next = v->mounted + 1;
    if (next >= scene->ncamera) {
        viewer_look_at_all(v);
        return viewer_notice(v, scene->ncamera ? "all of it" : "the scene has no cameras: see docs/scene.md");
    }
    const camera_orbit standard = exhibit_camera(v->exhibit, (double)v->width / v->height);
    v->mount = camera_mount_of(&scene->cameras[next], &standard, v->exhibit->one.radius), v->mounted = next;
    fit_mount(v);
    viewer_notice(v, "camera %s", scene->cameras[next].name ? scene->cameras[next].name : "of the scene");
}

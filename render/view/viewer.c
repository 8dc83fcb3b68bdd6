/// The window of `catena view`: what is shown in it, the loop that draws, and what its panel asks for.
#include "render/draw/vectors.h"
#include "render/view/viewer_state.h"
#include "render/view/words.h"
#include "sim/base/config.h"
#include "sim/scene/scene.h"
#include "sim/base/status.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void viewer_notice(viewer *v, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(v->notice, sizeof v->notice, format, arguments);
    va_end(arguments);
    v->notice_until = glfwGetTime() + 4;
}

// ---- the scene

/// The one that was asked for, else the first camera of a scene that has some.
static void first_look(viewer *v, const camera_choice *choice)
{
    viewer_look_from(v, choice && !choice->camera ? choice : NULL);
    if (choice && choice->camera) {
        v->mounted = (int)(choice->camera - v->exhibit->scene->cameras) - 1;
        return viewer_next_camera(v);
    }
    if (!choice && v->exhibit->scene->ncamera && v->exhibit->runs * v->exhibit->worlds == 1) viewer_next_camera(v);
}

/// Link and camera in the new scene that were selected in the old one, by their names.
static void find_again(viewer *v, const exhibit *old)
{
    const exhibit *const a = v->exhibit;
    const int mounted = v->mounted;
    v->mounted = -1;
    if (v->selected.link >= 0) v->selected.link = ctn_model_find(a->model, ctn_model_link(old->model, v->selected.link)->name);
    if (v->selected.run >= a->runs || v->selected.world >= a->worlds) v->selected.link = -1;
    for (int k = 0; mounted >= 0 && k < a->scene->ncamera; k++) {
        const char *const was = old->scene->cameras[mounted].name, *const is = a->scene->cameras[k].name;
        if (was && is ? strcmp(was, is) : was != is) continue;
        v->mounted = k - 1;
        return viewer_next_camera(v);
    }
    if (mounted >= 0) viewer_look_at_all(v);
}

/// Puts the scene at `path` in the place of the one that is shown, which may be none.
static bool take_scene(viewer *v, const char *path, ctn_error *err)
{
    const long world = strcmp(path, v->config->path) ? -1 : v->config->world;  // of a file that was dropped all
    exhibit *const a = exhibit_open(path, world, v->config->configure, v->config->guide, v->config->context, err), *const old = v->exhibit;
    if (!a) return false;
    a->overlaid = v->panel.overlaid, a->ghosts = v->panel.ghosts, a->show = v->panel.show,
    a->colors = (link_coloring)v->panel.colors;
    a->scale_energy = v->config->scale_energy;
    if (!isnan(v->config->floor)) a->one.floor = v->config->floor;
    if (exhibit_look(a, err) != CTN_OK) return exhibit_free(a), false;  // what cameras are to have in sight
    double *const force = calloc((size_t)a->nv + 1, sizeof *force);
    if (!force) return exhibit_free(a), fail(err, CTN_NO_MEMORY, "not enough memory for %s", path), false;
    if (v->renderer && exhibit_give_meshes(a, v->renderer, err) != CTN_OK) {
        exhibit_give_meshes(old, v->renderer, NULL);
        return free(force), exhibit_free(a), false;
    }
    free(v->panel.force);
    v->exhibit = a, v->panel.force = force, v->hand.pulls = false, v->trouble[0] = v->refused[0] = 0;
    exhibit_speed(a, v->panel.speed);
    if (v->config->warn && !a->film) v->config->warn(ctn_scene_warnings(a->scene));
    if (old) find_again(v, old);
    exhibit_free(old);
    return true;
}

/// What the file that is shown does not have. False: it has all.
static bool say_what_lacks(viewer *v)
{
    const char *const lacks = v->exhibit->film ? film_lacks(v->exhibit->film) : NULL;
    if (lacks) viewer_notice(v, "%s", lacks);
    return lacks;
}

void viewer_open(viewer *v, const char *path)
{
    ctn_error err;
    const bool same = !strcmp(path, v->path), running = v->exhibit->view.running;
    if (!take_scene(v, path, &err)) {
        snprintf(v->trouble, sizeof v->trouble, "%s", err.message);
        v->again = same;
        return;
    }
    if (!same) snprintf(v->path, sizeof v->path, "%s", path), v->selected.link = -1, first_look(v, NULL);
    if (!say_what_lacks(v))
        viewer_notice(v, "%.250s: opened%s%s", v->path, same ? " again, as the file says" : "",
                      *ctn_scene_warnings(v->exhibit->scene) ? "; the panel has warnings" : "");
    exhibit_run_on(v->exhibit, running);
}

/// A scene that was saved is opened again; one with errors once a second, as they may be in files that the last good one did not
/// include.
static void watch_files(viewer *v)
{
    const double now = glfwGetTime(), since = now - v->looked;
    if (since < 0.25) return;
    const bool changed = exhibit_changed(v->exhibit);
    if (changed || (v->trouble[0] && v->again && since > 1)) viewer_open(v, v->path);
    if (changed || !v->trouble[0] || since > 1) v->looked = now;
}

// ---- what the panel asks for

static bool value_of(void *context, ctn_parameter parameter, double *value)
{
    const viewer *const v = context;
    if (!v->exhibit->player) return false;
    *value = player_parameter(v->exhibit->player, parameter);
    return !isnan(*value);
}

static void obey_panel(viewer *v)
{
    panel_state *const a = &v->panel;
    player *const p = v->exhibit->player;
    if (a->play) exhibit_run_on(v->exhibit, !v->exhibit->view.running);
    if (a->forward) exhibit_steps(v->exhibit, 1);
    if (a->back) exhibit_steps(v->exhibit, -1);
    if (a->reset) exhibit_reset(v->exhibit);
    if (a->set_speed) exhibit_speed(v->exhibit, a->speed);
    if (a->seek) exhibit_seek(v->exhibit, a->time);
    v->exhibit->show = a->show, v->exhibit->colors = (link_coloring)a->colors, v->exhibit->ghosts = a->ghosts;
    exhibit_overlay(v->exhibit, a->overlaid);
    if (a->configure) player_configure(p, a->run, &a->cfg);
    if (a->set_parameter) player_set_parameter(p, a->parameter, a->value);
    if (a->set_force) a->force[a->dof] = a->value, player_set_force(p, a->dof, a->value);
    a->play = a->forward = a->back = a->reset = a->configure = a->set_parameter = a->set_force = a->set_speed = a->seek = false;
}

/// The motors on the joint of the selected link, and how far their targets go: as far as limits or effort, or a usual way.
static void fill_motors(panel_link *at, const ctn_scene *scene)
{
    static const char *const units[] = {"rad", "rad/s", "N m"}, *const of_ways[] = {"m", "m/s", "N"};
    static const ctn_parameter_kind turned[] = {CTN_MOTOR_ROTATION, CTN_MOTOR_SPIN, CTN_MOTOR_TORQUE};
    memset(at->motor_unit, 0, sizeof at->motor_unit);
    for (int i = 0; i < scene->nmotor; i++) {
        const scene_motor *const a = &scene->motors[i];
        if (a->link != at->link || a->tendon) continue;
        if (a->type >= MOTOR_THRUST) {  // from the last place on, behind those of the joint
            int k = (int)(sizeof at->motor / sizeof *at->motor) - 1;
            while (k >= 0 && at->motor_unit[k]) k--;
            if (k < 0) continue;
            at->motor[k] = (ctn_parameter){CTN_MOTOR_TARGET, i}, at->motor_unit[k] = a->type == MOTOR_THRUST ? "N" : "N m";
            at->motor_most[k] = isfinite(a->effort) ? a->effort : 10;
            continue;
        }
        const scene_joint *const j = &scene->links[a->link].joint;
        if (a->told > 1) {
            for (int k = 0; k < a->told; k++) {
                at->motor[k] = (ctn_parameter){turned[a->type], 3 * i + k}, at->motor_unit[k] = units[a->type];
                at->motor_most[k] = a->type == MOTOR_POSITION                        ? 3.2
                                    : a->type == MOTOR_TORQUE && isfinite(a->effort) ? a->effort
                                                                                     : 10;
            }
            continue;
        }
        const bool way = j->type == CTN_PRISMATIC || (j->type == CTN_PLANAR && a->dof < 2);
        const double *const limits = j->limits[a->dof], reach = j->limited[a->dof] ? fmax(fabs(limits[0]), fabs(limits[1]))
                                                                : way              ? 1
                                                                                   : 3.2;
        at->motor[a->dof] = (ctn_parameter){CTN_MOTOR_TARGET, i}, at->motor_unit[a->dof] = (way ? of_ways : units)[a->type];
        at->motor_most[a->dof] = a->type == MOTOR_POSITION   ? fabs(a->gear) * reach
                                 : a->type == MOTOR_VELOCITY ? fabs(a->gear) * 10
                                 : isfinite(a->effort)       ? a->effort
                                                             : 10;
    }
}

static void fill_panel(viewer *v)
{
    static char names[PLAYER_RUNS][CONFIG_WORDS];
    panel_state *const a = &v->panel;
    const exhibit *const s = v->exhibit;
    a->scene = ctn_scene_name(s->scene), a->warnings = s->film ? "" : ctn_scene_warnings(s->scene), a->trouble = v->trouble, a->notice = glfwGetTime() < v->notice_until ? v->notice : "";
    a->model = s->model, a->view = &s->view, a->runs = s->runs, a->worlds = s->worlds, a->filming = v->film.out,
    a->show = s->show, a->colors = (int)s->colors, a->overlaid = s->overlaid, a->ghosts = s->ghosts;
    a->recorded = s->film;
    if (s->film) film_range(s->film, &a->first, &a->last);
    else a->last = ctn_scene_duration(s->scene);
    if (a->run >= s->runs) a->run = 0;
    for (int k = 0; k < s->runs; k++) {
        config_describe(&s->view.run[k].cfg, names[k]);
        a->name[k] = names[k];
        a->wanted[k] = s->player ? player_configuration(s->player, k) : s->view.run[k].cfg;
    }
    a->selected.link = v->selected.link;
    if (v->selected.link < 0) return;
    const ctn_link *const l = ctn_model_link(s->model, v->selected.link);
    const size_t world = (size_t)v->selected.run * (size_t)s->worlds + (size_t)v->selected.world;
    const int number = s->film ? film_world(s->film, v->selected.world) : v->selected.world;
    int n = snprintf(a->selected.of, sizeof a->selected.of, "%s", s->runs > 1 ? names[v->selected.run] : "");
    if (s->worlds > 1) snprintf(a->selected.of + n, sizeof a->selected.of - (size_t)n, "%sworld %d", n ? ", " : "", number);
    double shift[3];
    exhibit_place(s, v->selected.run, v->selected.world, shift);
    for (int k = 0; k < 3; k++) a->selected.position[k] = s->p[3 * exhibit_pose(s, v->selected) + (size_t)k] - shift[k];
    exhibit_twist(s, v->selected, a->selected.twist);
    a->selected.q = s->view.q + world * (size_t)s->nq + l->qadr, a->selected.v = s->view.v + world * (size_t)s->nv + l->vadr;
    a->selected.mass = l->mass * s->view.mass_scale[(size_t)v->selected.world * (size_t)s->links + (size_t)v->selected.link];
    a->selected.pulled = v->hand.pulls;
    fill_motors(&a->selected, s->scene);
    quantity_words(vector_length(s->view.pull), "N", a->selected.pull);
}

// ---- a picture

/// The camera goes with the selected link, or with the centre of mass of what travels.
static void follow(viewer *v)
{
    const exhibit *const s = v->exhibit;
    const double *const at = v->selected.link >= 0 ? s->p + 3 * exhibit_pose(s, v->selected) : s->com;
    for (int k = 0; k < 3; k++) {
        const double way = at[k] - v->followed[k];
        if (v->follows && fabs(way) < 1e3 * s->one.radius) v->orbit.target[k] += way;  // what flies off is let go
        if (isfinite(at[k])) v->followed[k] = at[k];
    }
    viewer_keep_look(v);
    const bool mounted = v->mounted >= 0;
    v->camera = mounted ? camera_mount_at(&v->mount, s->R, s->p, s->middle, s->view.time) : camera_on_orbit(&v->orbit);
}

/// What the player refuses is said where everyone sees it.
static void say_refusals(viewer *v)
{
    const char *const said = v->exhibit->view.trouble;
    if (*said && strcmp(said, v->refused)) viewer_notice(v, "not changed: %.260s", said);
    snprintf(v->refused, sizeof v->refused, "%s", said);
}

static void show_title(viewer *v)
{
    char title[800];
    const player_view *const view = &v->exhibit->view;
    const double duration = ctn_scene_duration(v->exhibit->scene);
    const bool over = !v->exhibit->film && duration > 0 && view->time > duration;
    int n = snprintf(title, sizeof title, "catena: %.60s, %.3f s%s%s", ctn_scene_name(v->exhibit->scene), view->time,
                     view->running ? "" : ", paused", over ? ", after its duration" : "");
    for (int k = 0; k < v->exhibit->runs && n < (int)sizeof title - 310; k++)
        n += snprintf(title + n, sizeof title - (size_t)n, "%s %s", k ? ";" : ",", v->panel.name[k]);
    if (v->selected.link >= 0)
        n += snprintf(title + n, sizeof title - (size_t)n, ", %.40s%s%s selected",
                      ctn_model_link(v->exhibit->model, v->selected.link)->name, *v->panel.selected.of ? " of " : "",
                      v->panel.selected.of);
    if (v->trouble[0]) snprintf(title + n, sizeof title - (size_t)n, ", the file has errors");
    window_set_title(v->window, title);
}

/// An arrow from the point that is pulled to the mouse, and the force in newtons beside it.
static bool draw_pull(viewer *v)
{
    const exhibit *const s = v->exhibit;
    const size_t pose = exhibit_pose(s, v->selected);
    line_point shaft[2] = {{.width = 3, .color = {1, 0.85f, 0.2f, 1}, .hidden = 0.5f}}, head[2];
    double shift[3], hand[3];
    char text[QUANTITY_WORDS];
    if (!v->hand.pulls || v->selected.link < 0) return true;
    exhibit_place(s, v->selected.run, v->selected.world, shift);
    shaft[1] = head[0] = head[1] = shaft[0], head[0].width = 15, head[1].width = 1;
    for (int k = 0; k < 3; k++) {
        double at = s->p[3 * pose + (size_t)k];
        for (int i = 0; i < 3; i++) at += s->R[9 * pose + 3 * (size_t)k + (size_t)i] * v->hand.pull.point[i];
        hand[k] = v->hand.pull.target[k] + shift[k];
        shaft[0].position[k] = (float)at, head[1].position[k] = (float)hand[k];
        shaft[1].position[k] = head[0].position[k] = (float)(at + 0.8 * (hand[k] - at));
    }
    label force = label_over(hand);
    force.size = 18, force.color[2] = 0.4f;
    quantity_words(vector_length(s->view.pull), "N", text);
    return line_list_add(&v->exhibit->lines, shaft, 2) && line_list_add(&v->exhibit->lines, head, 2) &&
           label_list_add(&v->exhibit->labels, &force, "%s", text);
}

static ctn_status draw(viewer *v, ctn_error *err)
{
    exhibit *const s = v->exhibit;
    ctn_status status = exhibit_look(s, err);
    if (status != CTN_OK) return status;
    follow(v);
    if (v->selected.link >= 0) exhibit_mark(s, v->selected);
    if (!draw_pull(v)) return fail(err, CTN_NO_MEMORY, "not enough memory for a line");
    scenery around = {.radius = s->extent.radius, .floor = s->extent.floor};
    memcpy(around.center, s->extent.center, sizeof around.center);
    status = renderer_paint(v->renderer, &s->bodies, &v->camera, &around,
                            &(overlay){&s->lines, &s->labels, window_density(v->window)}, err);
    if (status != CTN_OK) return status;
    renderer_show(v->renderer);
    viewer_feed_film(v);
    say_refusals(v);
    fill_panel(v);
    panel_draw(&v->panel, value_of, v);
    show_title(v);
    return renderer_check(err);
}

/// The renderer's pictures have the window's size.
static ctn_status fit(viewer *v, ctn_error *err)
{
    int width, height;
    window_size(v->window, &width, &height);
    if ((width == v->width && height == v->height) || !width || !height) return CTN_OK;
    v->width = width, v->height = height;
    return renderer_resize(v->renderer, width, height, err);
}

/// The panel has the letters that suit the screen which the window is on.
static ctn_status fit_panel(viewer *v, ctn_error *err)
{
    const double scale = window_scale(v->window);
    if (scale == v->scale) return CTN_OK;
    panel_free();
    v->scale = scale;
    return panel_create(window_handle(v->window), scale)
               ? CTN_OK
               : fail(err, CTN_UNAVAILABLE, "the panel cannot be drawn with this OpenGL");
}

static ctn_status loop(viewer *v, ctn_error *err)
{
    window_events events;
    ctn_status status = CTN_OK;
    double due = glfwGetTime();  // of the next picture, where the display does not hold it up
    for (double wait = 0, drawn = due; status == CTN_OK && window_poll(v->window, wait, &events);) {
        int width, height;
        window_size(v->window, &width, &height);
        watch_files(v);
        wait = 0.1;  // there is nothing to draw while it is minimised; the scene runs on
        if ((status = fit(v, err)) != CTN_OK) break;
        viewer_input(v, &events);
        if (!width || !height) continue;
        if ((status = fit_panel(v, err)) != CTN_OK) break;
        status = draw(v, err);
        window_swap(v->window);
        obey_panel(v);
        const double now = glfwGetTime();
        v->panel.frames += 0.1 * (1 / fmax(now - drawn, 1e-6) - v->panel.frames);
        drawn = now, due = fmax(due + 1.0 / 60, now);
        wait = due - now;
    }
    return status;
}

ctn_status view(const viewer_config *config, bool *began, ctn_error *err)
{
    viewer v = {.config = config,
                .selected = {.link = -1},
                .mounted = -1,
                .panel = {.open = true,
                          .speed = config->speed,
                          .overlaid = config->overlaid,
                          .ghosts = true,
                          .show = config->show,
                          .colors = (int)config->colors}};
    snprintf(v.path, sizeof v.path, "%s", config->path);
    ctn_status status = CTN_UNAVAILABLE;
    camera_choice choice;
    *began = take_scene(&v, config->path, err) &&
             (!config->camera || camera_choose(v.exhibit->scene, config->camera, &choice, err) == CTN_OK);
    if (!*began) status = err->status;
    else if ((v.window = window_create("catena", config->width, config->height, err)) &&
             (v.renderer = renderer_create(16, 16, err)) && exhibit_give_meshes(v.exhibit, v.renderer, err) == CTN_OK) {
        if ((status = fit_panel(&v, err)) == CTN_OK && (status = fit(&v, err)) == CTN_OK) {
            first_look(&v, config->camera ? &choice : NULL);
            say_what_lacks(&v);
            exhibit_run_on(v.exhibit, !config->paused);
            status = loop(&v, err);
        }
    }
    ctn_error film;
    if (viewer_end_film(&v, &film) != CTN_OK && status == CTN_OK) status = film.status, *err = film;
    panel_free();
    renderer_free(v.renderer);
    window_free(v.window);
    exhibit_free(v.exhibit);
    free(v.panel.force), free(v.rgb);
    return status;
}

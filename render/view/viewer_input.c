/// What is done to the window: the camera, the hand that pulls, keys.
#include "render/view/viewer_state.h"
#include "sim/base/config.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <math.h>
#include <string.h>

// ---- mouse

/// Clip coordinates of a pixel.
static void clip_place(const viewer *v, double x, double y, double *at)
{
    at[0] = 2 * (x + 0.5) / v->width - 1, at[1] = 1 - 2 * (y + 0.5) / v->height;
}

static exhibit_body body_at(viewer *v, double x, double y, double *depth)
{
    uint32_t id = 0;
    const int reach = (int)(4 * window_density(v->window));  // of links that are thin
    const bool inside = x >= 0 && y >= 0 && x < v->width && y < v->height;
    if (!inside || renderer_pick(v->renderer, &v->exhibit->bodies, &v->camera, (int)x, (int)y, reach, &id, depth, NULL) != CTN_OK)
        id = 0;
    return exhibit_find(v->exhibit, id);
}

static void mouse_point(const viewer *v, double x, double y, double *point)
{
    double at[2];
    const matrix4 clip = camera_matrix(&v->camera, (double)v->width / v->height);
    clip_place(v, x, y, at);
    camera_unproject(&clip, at[0], at[1], v->hand.depth, point);
}

static void begin_pull(viewer *v, const window_events *e)
{
    const exhibit *const s = v->exhibit;
    if (s->film) return viewer_notice(v, "a recording cannot be pulled at");
    const exhibit_body body = body_at(v, e->press_x, e->press_y, &v->hand.depth);
    if (body.link < 0) return;
    const double *const R = s->R + 9 * exhibit_pose(s, body), *const p = s->p + 3 * exhibit_pose(s, body);
    double at[3];
    v->selected = body, v->hand.pulls = true, v->hand.pull.link = body.link;
    mouse_point(v, e->press_x, e->press_y, at);
    for (int i = 0; i < 3; i++) {
        v->hand.pull.point[i] = 0;
        for (int k = 0; k < 3; k++) v->hand.pull.point[i] += R[3 * k + i] * (at[k] - p[k]);
    }
}

/// The hand goes with the mouse, at the same distance from the camera.
static void move_pull(viewer *v, const window_events *e)
{
    double at[3], shift[3];
    mouse_point(v, e->x, e->y, at);
    exhibit_place(v->exhibit, v->selected.run, v->selected.world, shift);
    for (int k = 0; k < 3; k++) v->hand.pull.target[k] = at[k] - shift[k];
    player_set_pull(v->exhibit->player, v->selected.run, v->selected.world, &v->hand.pull);
}

static void end_pull(viewer *v)
{
    if (v->hand.pulls) player_set_pull(v->exhibit->player, 0, 0, NULL);
    v->hand.pulls = false;
}

static void move_camera(viewer *v, double dx, double dy)
{
    viewer_take_camera(v);
    if (v->mounted >= 0 && v->hand.pans) v->orbit = v->mount.orbit, v->mounted = -1;  // it leaves what it stood on
    camera_orbit *const c = v->mounted < 0 ? &v->orbit : &v->mount.orbit;
    if (v->hand.orbits) {
        c->azimuth = remainder(c->azimuth - 0.008 * dx, 2 * 3.14159265358979323846);
        c->elevation = fmin(fmax(c->elevation + 0.008 * dy, -1.55), 1.55);
        if (v->mounted < 0) camera_keep_above(c, v->exhibit->extent.floor);
    }
    if (v->hand.pans) camera_pan(c, dx * camera_pixel(&v->camera, v->height), -dy * camera_pixel(&v->camera, v->height));
}

static void use_mouse(viewer *v, const window_events *e)
{
    if (e->pressed[BUTTON_LEFT] || e->pressed[BUTTON_RIGHT] || e->pressed[BUTTON_MIDDLE])
        v->hand.x = e->press_x, v->hand.y = e->press_y;
    const double dx = e->x - v->hand.x, dy = e->y - v->hand.y;  // while it is held
    v->hand.x = e->x, v->hand.y = e->y;
    if (!panel_wants_mouse()) {
        if (e->scroll != 0) {
            viewer_take_camera(v), (v->mounted < 0 ? &v->orbit : &v->mount.orbit)->distance *= exp(-0.12 * e->scroll);
            if (v->mounted < 0) camera_keep_above(&v->orbit, v->exhibit->extent.floor);
        }
        if (e->pressed[BUTTON_LEFT]) {
            v->hand.moved = false;
            if (e->modifiers & WITH_CONTROL) begin_pull(v, e);
            else v->hand.pans = e->modifiers & WITH_SHIFT, v->hand.orbits = !v->hand.pans;
        }
        if (e->pressed[BUTTON_RIGHT] || e->pressed[BUTTON_MIDDLE]) v->hand.pans = true;
    }
    v->hand.moved = v->hand.moved || fabs(dx) + fabs(dy) > 2;
    if (v->hand.orbits || v->hand.pans) move_camera(v, dx, dy);
    if (v->hand.pulls) move_pull(v, e);
    if (e->released[BUTTON_LEFT] && v->hand.orbits && !v->hand.moved) {
        double depth;
        v->selected = body_at(v, e->press_x, e->press_y, &depth);
    }
    if (e->released[BUTTON_LEFT]) v->hand.orbits = v->hand.pans = false, end_pull(v);
    if (e->released[BUTTON_RIGHT] || e->released[BUTTON_MIDDLE]) v->hand.pans = false;
}

// ---- keys

static void change_speed(viewer *v, double times)
{
    v->panel.speed = fmin(fmax(v->panel.speed * times, 1.0 / 64), 16);
    exhibit_speed(v->exhibit, v->panel.speed);
    viewer_notice(v, v->panel.speed < 1 ? "1/%g of real time" : "%g times real time",
                  v->panel.speed < 1 ? 1 / v->panel.speed : v->panel.speed);
}

/// Another configuration of the run that the panel shows.
static void change_method(viewer *v, double times_dt, bool next)
{
    if (v->exhibit->film) return viewer_notice(v, "a recording is shown as it is");
    ctn_batch_config cfg = player_configuration(v->exhibit->player, v->panel.run);
    cfg.dt *= times_dt;
    for (bool fits = !next; !fits;) {  // at the latest the one that it is
        cfg.method = (ctn_method)(cfg.method + 1);
        if (!ctn_method_name(cfg.method)) cfg.method = (ctn_method)0;
        fits = config_check(&cfg, NULL) == CTN_OK && config_check_model(&cfg, v->exhibit->model, NULL) == CTN_OK;
    }
    player_configure(v->exhibit->player, v->panel.run, &cfg);
}

static void use_key(viewer *v, int key, unsigned with)
{
    exhibit *const a = v->exhibit;
    const int steps = with & WITH_SHIFT ? 10 : 1;
    switch (key) {
    case GLFW_KEY_SPACE: exhibit_run_on(a, !a->view.running); break;
    case GLFW_KEY_RIGHT: exhibit_steps(a, steps); break;
    case GLFW_KEY_LEFT: exhibit_steps(a, -steps); break;
    case GLFW_KEY_R: exhibit_reset(a); break;
    case GLFW_KEY_LEFT_BRACKET: change_speed(v, 0.5); break;
    case GLFW_KEY_RIGHT_BRACKET: change_speed(v, 2); break;
    case GLFW_KEY_COMMA: change_method(v, 0.5, false); break;
    case GLFW_KEY_PERIOD: change_method(v, 2, false); break;
    case GLFW_KEY_M: change_method(v, 1, true); break;
    case GLFW_KEY_C: viewer_look_at_all(v); break;
    case GLFW_KEY_V: viewer_next_camera(v); break;
    case GLFW_KEY_T:
        v->follows = !v->follows;
        viewer_notice(v, v->follows ? "the camera follows" : "the camera stays");
        break;
    case GLFW_KEY_O: exhibit_overlay(a, v->panel.overlaid = !a->overlaid); break;
    case GLFW_KEY_A: a->show ^= SHOW_AXES; break;
    case GLFW_KEY_F: a->show ^= SHOW_FRAMES; break;
    case GLFW_KEY_B: a->show ^= SHOW_COM; break;
    case GLFW_KEY_P:
        a->show ^= SHOW_TRAILS;
        marks_clear_trails(a->marks);
        break;
    case GLFW_KEY_N: a->show ^= SHOW_NAMES; break;
    case GLFW_KEY_G: a->show ^= SHOW_CONTACTS; break;
    case GLFW_KEY_K: a->colors = (link_coloring)((a->colors + 1) % COLORINGS); break;
    case GLFW_KEY_F1: v->panel.help = !v->panel.help; break;
    case GLFW_KEY_F2: v->panel.open = !v->panel.open; break;
    case GLFW_KEY_F5: viewer_open(v, v->path); break;
    case GLFW_KEY_F9: viewer_toggle_film(v); break;
    case GLFW_KEY_F11: window_toggle_full_screen(v->window); break;
    case GLFW_KEY_F12: viewer_take_picture(v, with & WITH_SHIFT); break;
    case GLFW_KEY_ESCAPE: v->selected.link = -1, v->panel.help = false, v->trouble[0] = 0; break;
    case GLFW_KEY_Q:
        if (with & WITH_CONTROL) window_close(v->window);
        break;
    default: break;
    }
}

void viewer_input(viewer *v, const window_events *e)
{
    use_mouse(v, e);
    for (int k = 0; k < e->keys; k++) {
        const bool quits = e->key[k] == GLFW_KEY_Q && e->key_modifiers[k] & WITH_CONTROL;
        if (quits || !panel_wants_keys()) use_key(v, e->key[k], e->key_modifiers[k]);
    }
    if (e->dropped[0]) viewer_open(v, e->dropped);
}

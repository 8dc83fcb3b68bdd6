/// World by world: poses, colours, marks.
#include "cli/stage.h"

#include "cli/message.h"
#include "render/fit.h"
#include "render/poses.h"
#include "sim/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int links_of(const stage *s) { return ctn_model_nlink(s->of->s.model); }

static const double *mass_scale(const stage *s, const frames *f, int world)
{
    return f->mass_scale ? f->mass_scale + (size_t)world * (size_t)links_of(s) : NULL;
}

/// Poses of a world of `f`, moved to its place, and its centre of mass there.
static void find_poses(stage *s, const frames *f, int world, double *com)
{
    double offset[3];
    layout_offset(s->layout, &s->one, world, f->worlds, offset);
    world_poses(s->dyn, f->s.model, mass_scale(s, f, world), f->q + (size_t)world * (size_t)ctn_model_nq(f->s.model), offset,
                s->R, s->p, com);
}

static bool has_numbers(const stage *s)
{
    return s->show.what & SHOW_TEXT && s->layout == LAYOUT_GRID && s->of->worlds > 1 && s->of->worlds <= LAYOUT_NUMBERS;
}

static void number_position(const stage *s, int world, double *at)
{
    layout_offset(s->layout, &s->one, world, s->of->worlds, at);
    layout_over(&s->one, at);
}

static void find_energies(stage *s, const frames *f, int world)
{
    const size_t w = (size_t)world;
    const double *const q = f->q + w * (size_t)ctn_model_nq(f->s.model), *const v = f->v + w * (size_t)ctn_model_nv(f->s.model);
    ctn_forward_kinematics(s->dyn, 1, q, s->R, s->p);
    ctn_link_twists(s->dyn, 1, q, v, s->twist);
    link_energies(f->s.model, mass_scale(s, f, world), s->R, s->twist, s->energy);
}

double stage_energy(stage *s, const frames *f)
{
    double most = 0;
    for (int w = 0; w < f->worlds; w++) {
        find_energies(s, f, w);
        for (int i = 0; i < links_of(s); i++) most = fmax(most, s->energy[i]);
    }
    return most;
}

void stage_middle(stage *s, const frames *f, double *middle)
{
    memcpy(middle, s->whole.center, sizeof s->whole.center);
    for (int w = 0; w < f->worlds && s->whole.travels; w++) {
        double com[3];
        find_poses(s, f, w, com);
        for (int k = 0; k < 3; k++) middle[k] += (com[k] - s->start[k]) / f->worlds;
    }
}

bool stage_fit(stage *s, const frames *f, const double *from, camera_fit *fit)
{
    instance_list_clear(&s->bodies);
    for (int w = 0; w < f->worlds; w++) {
        double com[3];
        find_poses(s, f, w, com);
        if (!scene_shapes_place(s->shapes, s->R, s->p, w, NULL, &s->bodies)) return false;
    }
    fit_bodies(&s->bodies, from, INFINITY, fit);
    for (int w = 0; w < f->worlds && has_numbers(s); w++) {
        double at[3];
        number_position(s, w, at);
        for (int k = 0; k < 3; k++) at[k] -= from[k];
        camera_fit_ball(fit, at, 0);
    }
    return true;
}

// ---- opening

/// The extent of all worlds, and where their centres of mass are on average.
static int find_extent(stage *s)
{
    const frames *const f = s->of;
    scene_extent *const of = malloc((size_t)f->worlds * sizeof *of);
    if (!of) return run_error("not enough memory for %d world%s", f->worlds, plural(f->worlds));
    const world_layout layout = s->layout;
    s->layout = LAYOUT_OVERLAY;  // places are not known yet
    for (int w = 0; w < f->worlds; w++) {
        double com[3];
        find_poses(s, f, w, com);
        of[w] = scene_shapes_extent(s->shapes, s->R, s->p);
        for (int k = 0; k < 3; k++) s->start[k] += com[k] / f->worlds;
    }
    s->layout = layout;
    s->one = layout_union(of, f->worlds), s->whole = layout_extent(layout, &s->one, f->worlds);
    free(of);
    return EXIT_OK;
}

int stage_open(const arguments *args, frames *f, stage *s)
{
    ctn_error err;
    *s = (stage){.of = f};
    const size_t n = (size_t)links_of(s) + 1;
    double floor;
    int status;
    if ((status = show_read(args, f->s.model, &s->show)) != EXIT_OK ||
        (status = colors_option(args, &s->colors, &s->most_energy)) != EXIT_OK ||
        (status = layout_option(args, &s->layout)) != EXIT_OK || (status = floor_option(args, &floor)) != EXIT_OK)
        return status;
    if (s->colors == COLORS_ENERGY && f->states.no_rates)
        return usage_error("--colors: %s has no velocities, which energies need; make it with --keep q,v", f->s.path);
    if ((double)f->worlds * (double)links_of(s) > 4294967294.0)
        return usage_error("--worlds: %d worlds of %d link%s are more bodies than can be told apart", f->worlds, links_of(s),
                           plural(links_of(s)));
    if (!(s->dyn = ctn_dynamics_create(f->s.model, "scalar", &err))) return status_error(&err, "");
    s->R = calloc(9 * n, sizeof *s->R), s->p = calloc(3 * n, sizeof *s->p), s->twist = calloc(6 * n, sizeof *s->twist);
    s->energy = calloc(n, sizeof *s->energy), s->paint = calloc(n, sizeof *s->paint);
    s->shapes = scene_shapes_create(f->s.scene, f->s.model);
    if (!s->R || !s->p || !s->twist || !s->energy || !s->paint || !s->shapes) return run_error("not enough memory");
    ctn_error first;
    if (frames_at(f, 0, &first) != CTN_OK) return status_error(&first, ""), EXIT_RUN;
    if ((status = find_extent(s)) != EXIT_OK) return status;
    if (!isnan(floor)) s->whole.floor = floor;
    s->caption = (caption){.title = s->show.title, .text = s->show.what & SHOW_TEXT, .cell = -1};
    s->caption.decimals = caption_decimals(f, s->dyn, s->one.radius);
    if (!(s->show.what & ~(unsigned)SHOW_TEXT)) return EXIT_OK;
    const marks_config cfg = {.worlds = f->worlds,
                              .radius = s->one.radius,
                              .trails = s->show.trails,
                              .trail_count = s->show.trail_count,
                              .seconds = s->show.seconds};
    s->marks = marks_create(f->s.scene, f->s.model, &cfg);
    return s->marks ? EXIT_OK : run_error("not enough memory for the marks of %d world%s", f->worlds, plural(f->worlds));
}

void stage_close(stage *s)
{
    ctn_dynamics_free(s->dyn);
    scene_shapes_free(s->shapes), marks_free(s->marks), show_close(&s->show);
    instance_list_free(&s->bodies), line_list_free(&s->lines), label_list_free(&s->labels);
    free(s->R), free(s->p), free(s->twist), free(s->energy), free(s->paint);
}

// ---- a picture

/// Trails have points at whole multiples of marks_trail_step, whichever pictures are made.
static ctn_status note_trails(stage *s, double t, ctn_error *err)
{
    if (!s->marks || !(s->show.what & (SHOW_TRAILS | SHOW_COM))) return CTN_OK;
    const double step = marks_trail_step(s->marks);
    const int64_t oldest = (int64_t)ceil((t - s->show.seconds) / step);
    for (int64_t k = s->noted > oldest ? s->noted : oldest > 0 ? oldest : 0; (double)k * step <= t; k++) {
        const ctn_status status = frames_at(s->of, (double)k * step, err);
        if (status != CTN_OK) return status;
        for (int w = 0; w < s->of->worlds; w++) {
            double com[3];
            find_poses(s, s->of, w, com);
            marks_note(s->marks, w, (double)k * step, s->R, s->p, com);
        }
        s->noted = k + 1;
    }
    return CTN_OK;
}

/// Colours of the links of a world; NULL: those of the scene.
static const float (*find_paint(stage *s, int world))[3]
{
    const link_paint how = {.by = s->colors,
                            .frozen = s->of->frozen[world] && s->of->worlds > 1,
                            .share = (double)world / s->of->worlds,
                            .most_energy = s->most_energy,
                            .energy = s->energy};
    if (how.by == COLORS_ENERGY && !how.frozen) find_energies(s, s->of, world);
    return color_links(&how, s->of->s.model, s->paint);
}

/// The number of a world.
static bool place_number(stage *s, int world)
{
    double at[3];
    number_position(s, world, at);
    const label number = label_over(at);
    return label_list_add(&s->labels, &number, "%ld", (long)(s->of->first + world));
}

static bool place_world(stage *s, int world, double t)
{
    double com[3];
    const float(*const paint)[3] = find_paint(s, world);
    const float *const trail = s->colors == COLORS_WORLD ? s->paint[0] : NULL;
    find_poses(s, s->of, world, com);
    for (int k = 0; k < 3; k++) s->now[k] += com[k] / s->of->worlds;
    if (!scene_shapes_place(s->shapes, s->R, s->p, world, paint, &s->bodies)) return false;
    if (s->marks && !marks_place(s->marks, world, t, s->R, s->p, com, s->show.what, trail, &s->lines, &s->labels)) return false;
    return !has_numbers(s) || place_number(s, world);
}

ctn_status stage_place(stage *s, double t, int width, int height, ctn_error *err)
{
    ctn_status status = note_trails(s, t, err);
    if (status == CTN_OK) status = frames_at(s->of, t, err);
    if (status != CTN_OK) return status;
    instance_list_clear(&s->bodies), line_list_clear(&s->lines), label_list_clear(&s->labels);
    s->now[0] = s->now[1] = s->now[2] = 0;
    const float size = caption_size(width, height);
    bool ok = true;
    for (int w = 0; w < s->of->worlds && ok; w++) ok = place_world(s, w, t);
    ok = ok && caption_place(&s->caption, s->of, s->dyn, t, width, size, &s->labels);
    if (s->colors == COLORS_ENERGY && s->caption.text && s->caption.cell <= 0)
        ok = ok && legend_place("kinetic energy of links, J", s->most_energy, width, height, size, &s->lines, &s->labels);
    return ok ? CTN_OK
              : fail(err, CTN_NO_MEMORY, "not enough memory for %d world%s of %d link%s", s->of->worlds, plural(s->of->worlds),
                     links_of(s), plural(links_of(s)));
}

void stage_first(stage *s, const frames *f)
{
    double com[3];
    find_poses(s, f, 0, com);
}

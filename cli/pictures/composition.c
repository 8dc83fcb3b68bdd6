/// World by world: poses, colours, marks.
#include "cli/pictures/composition.h"

#include "cli/base/message.h"
#include "render/draw/fit.h"
#include "render/draw/poses.h"
#include "sim/base/status.h"

#include <catena/contact.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int links_of(const composition *c) { return ctn_model_nlink(c->of->s.model); }

static size_t contact_numbers(const composition *c) { return (size_t)ctn_model_ncontact(c->of->s.model) * CTN_CONTACT_NUMBERS; }

static const double *mass_scale(const composition *c, const frames *f, int world)
{
    return f->mass_scale ? f->mass_scale + (size_t)world * (size_t)links_of(c) : NULL;
}

/// Poses of a world of `f`, moved to its place, and its centre of mass there.
static void find_poses(composition *c, const frames *f, int world, double *com)
{
    double offset[3];
    layout_offset(c->layout, &c->one, world, f->worlds, offset);
    world_poses(c->dyn, f->s.model, mass_scale(c, f, world), f->q + (size_t)world * (size_t)ctn_model_nq(f->s.model), offset,
                c->R, c->p, com);
}

static bool has_numbers(const composition *c)
{
    return c->extras.what & SHOW_TEXT && c->layout == LAYOUT_GRID && c->of->worlds > 1 && c->of->worlds <= LAYOUT_NUMBERS;
}

static void number_position(const composition *c, int world, double *at)
{
    layout_offset(c->layout, &c->one, world, c->of->worlds, at);
    layout_over(&c->one, at);
}

static void find_energies(composition *c, const frames *f, int world)
{
    const size_t w = (size_t)world;
    const double *const q = f->q + w * (size_t)ctn_model_nq(f->s.model), *const v = f->v + w * (size_t)ctn_model_nv(f->s.model);
    ctn_forward_kinematics(c->dyn, 1, q, c->R, c->p);
    ctn_link_twists(c->dyn, 1, q, v, c->twist);
    link_energies(f->s.model, mass_scale(c, f, world), c->R, c->twist, c->energy);
}

double composition_energy(composition *c, const frames *f)
{
    double most = 0;
    for (int w = 0; w < f->worlds; w++) {
        find_energies(c, f, w);
        for (int i = 0; i < links_of(c); i++) most = fmax(most, c->energy[i]);
    }
    return most;
}

/// Adds what the camera goes with in a world to the mean over all. `com`: its centre of mass.
static void add_followed(const composition *c, int world, int worlds, const double *com, double *mean)
{
    double offset[3], place[3];
    layout_offset(c->layout, &c->one, world, worlds, offset);
    world_followed(c->of->s.scene, c->of->s.model, c->one.radius, offset, com, place);
    for (int k = 0; k < 3; k++) mean[k] += place[k] / worlds;
}

void composition_middle(composition *c, const frames *f, double *middle)
{
    memcpy(middle, c->whole.center, sizeof c->whole.center);
    for (int k = 0; k < 3 && c->whole.travels; k++) middle[k] -= c->begin[k];
    for (int w = 0; w < f->worlds && c->whole.travels; w++) {
        double com[3];
        find_poses(c, f, w, com);
        add_followed(c, w, f->worlds, com, middle);
    }
}

bool composition_fit(composition *c, const frames *f, const double *from, camera_fit *fit)
{
    instance_list_clear(&c->bodies);
    for (int w = 0; w < f->worlds; w++) {
        double com[3], shift[3];
        find_poses(c, f, w, com);
        if (!scene_shapes_place(c->shapes, c->R, c->p, w, NULL, &c->bodies)) return false;
        layout_offset(c->layout, &c->one, w, f->worlds, shift);
        const scene_reach reach = scene_shapes_reach(c->shapes, c->R, c->p, shift);
        fit_surroundings(&c->fixed, &reach, shift, from, fit);
    }
    fit_bodies(&c->bodies, from, INFINITY, fit);
    for (int w = 0; w < f->worlds && has_numbers(c); w++) {
        double at[3];
        number_position(c, w, at);
        for (int k = 0; k < 3; k++) at[k] -= from[k];
        camera_fit_ball(fit, at, 0);
    }
    return true;
}

// ---- opening

/// The extent of all worlds, and where their centres of mass are on average.
static int find_extent(composition *c)
{
    const frames *const f = c->of;
    scene_extent *const of = malloc((size_t)f->worlds * sizeof *of);
    if (!of) return run_error("not enough memory for %d world%s", f->worlds, plural(f->worlds));
    const world_layout layout = c->layout;
    double com[3];
    c->layout = LAYOUT_OVERLAY;  // places are not known yet
    for (int w = 0; w < f->worlds; w++) {
        find_poses(c, f, w, com);
        of[w] = scene_shapes_extent(c->shapes, c->R, c->p);
        for (int k = 0; k < 3; k++) c->start[k] += com[k] / f->worlds;
    }
    c->one = layout_union(of, f->worlds), c->whole = layout_extent(layout, &c->one, f->worlds);
    for (int w = 0; w < f->worlds; w++) find_poses(c, f, w, com), add_followed(c, w, f->worlds, com, c->begin);
    c->layout = layout;
    free(of);
    return EXIT_OK;
}

/// Room for what contact points feel, which is to be known.
static int open_contacts(composition *c)
{
    frames *const f = c->of;
    if (!(c->extras.what & SHOW_CONTACTS)) return EXIT_OK;
    if (!ctn_model_ncontact(f->s.model)) return usage_error("--show: contacts: nothing touches a `ground`, nor another link, in %s", f->s.path);
    if (!frames_touch(f)) return usage_error("--show: contacts: %s has none; make it with --keep q,v,contacts", f->s.path);
    c->contacts = calloc((size_t)f->worlds * contact_numbers(c), sizeof *c->contacts);
    return c->contacts ? EXIT_OK : run_error("not enough memory");
}

int composition_open(const arguments *args, frames *f, composition *c)
{
    ctn_error err;
    *c = (composition){.of = f};
    const size_t n = (size_t)links_of(c) + 1;
    double floor;
    int status;
    if ((status = picture_extras_read(args, f->s.model, &c->extras)) != EXIT_OK ||
        (status = colors_option(args, &c->colors, &c->most_energy)) != EXIT_OK ||
        (status = layout_option(args, &c->layout)) != EXIT_OK || (status = floor_option(args, &floor)) != EXIT_OK)
        return status;
    if (c->colors == COLORS_ENERGY && f->states.no_rates)
        return usage_error("--colors: %s has no velocities, which energies need; make it with --keep q,v", f->s.path);
    if ((double)f->worlds * (double)links_of(c) > 4294967294.0)
        return usage_error("--worlds: %d worlds of %d link%s are more bodies than can be told apart", f->worlds, links_of(c),
                           plural(links_of(c)));
    if (!(c->dyn = ctn_dynamics_create(f->s.model, "scalar", &err))) return status_error(&err, "");
    c->R = calloc(9 * n, sizeof *c->R), c->p = calloc(3 * n, sizeof *c->p), c->twist = calloc(6 * n, sizeof *c->twist);
    c->energy = calloc(n, sizeof *c->energy), c->paint = calloc(n, sizeof *c->paint);
    c->shapes = scene_shapes_create(f->s.scene, f->s.model);
    if (!c->R || !c->p || !c->twist || !c->energy || !c->paint || !c->shapes) return run_error("not enough memory");
    if (!scene_shapes_place_fixed(c->shapes, (const double[3]){0}, &c->fixed)) return run_error("not enough memory");
    ctn_error first;
    if (frames_at(f, 0, &first) != CTN_OK) return status_error(&first, ""), EXIT_RUN;
    if ((status = find_extent(c)) != EXIT_OK || (status = open_contacts(c)) != EXIT_OK) return status;
    if (!isnan(floor)) c->whole.floor = floor;
    c->caption = (caption){.title = c->extras.title, .text = c->extras.what & SHOW_TEXT, .cell = -1};
    c->caption.decimals = caption_decimals(f, c->dyn, c->one.radius);
    if (!(c->extras.what & ~(unsigned)SHOW_TEXT)) return EXIT_OK;
    const marks_config cfg = {.worlds = f->worlds,
                              .radius = c->one.radius,
                              .trails = c->extras.trails,
                              .trail_count = c->extras.trail_count,
                              .seconds = c->extras.seconds};
    c->marks = marks_create(f->s.scene, f->s.model, &cfg);
    return c->marks ? EXIT_OK : run_error("not enough memory for the marks of %d world%s", f->worlds, plural(f->worlds));
}

void composition_close(composition *c)
{
    ctn_dynamics_free(c->dyn);
    scene_shapes_free(c->shapes), marks_free(c->marks), picture_extras_close(&c->extras);
    instance_list_free(&c->bodies), instance_list_free(&c->fixed), line_list_free(&c->lines), label_list_free(&c->labels);
    free(c->contacts), free(c->R), free(c->p), free(c->twist), free(c->energy), free(c->paint);
}

// ---- a picture

/// Trails have points at whole multiples of marks_trail_step, whichever pictures are made.
static ctn_status note_trails(composition *c, double t, ctn_error *err)
{
    if (!c->marks || !(c->extras.what & (SHOW_TRAILS | SHOW_COM))) return CTN_OK;
    const double step = marks_trail_step(c->marks);
    const int64_t oldest = (int64_t)ceil((t - c->extras.seconds) / step);
    for (int64_t k = c->noted > oldest ? c->noted : oldest > 0 ? oldest : 0; (double)k * step <= t; k++) {
        const ctn_status status = frames_at(c->of, (double)k * step, err);
        if (status != CTN_OK) return status;
        for (int w = 0; w < c->of->worlds; w++) {
            double com[3];
            find_poses(c, c->of, w, com);
            marks_note(c->marks, w, (double)k * step, c->R, c->p, com);
        }
        c->noted = k + 1;
    }
    return CTN_OK;
}

/// Colours of the links of a world; NULL: those of the scene.
static const float (*find_paint(composition *c, int world))[3]
{
    const link_paint how = {.by = c->colors,
                            .frozen = c->of->frozen[world] && c->of->worlds > 1,
                            .share = (double)world / c->of->worlds,
                            .most_energy = c->most_energy,
                            .energy = c->energy};
    if (how.by == COLORS_ENERGY && !how.frozen) find_energies(c, c->of, world);
    return color_links(&how, c->of->s.model, c->paint);
}

/// The number of a world.
static bool place_number(composition *c, int world)
{
    double at[3];
    number_position(c, world, at);
    const label number = label_over(at);
    return label_list_add(&c->labels, &number, "%ld", (long)(c->of->first + world));
}

/// The ground of a world, if it slopes; of worlds over each other once.
static bool place_ground(composition *c, int world)
{
    const bool grid = c->layout == LAYOUT_GRID && c->of->worlds > 1;
    double shift[3];
    layout_offset(c->layout, &c->one, world, c->of->worlds, shift);
    return (world && !grid) || scene_shapes_ground(c->shapes, &c->one, shift, grid ? 1 : GROUND_REACH, &c->bodies);
}

static bool place_world(composition *c, int world, double t)
{
    double com[3];
    const float(*const paint)[3] = find_paint(c, world);
    const float *const trail = c->colors == COLORS_WORLD ? c->paint[0] : NULL;
    find_poses(c, c->of, world, com);
    for (int k = 0; k < 3; k++) c->now[k] += com[k] / c->of->worlds;
    if (!scene_shapes_place(c->shapes, c->R, c->p, world, paint, &c->bodies)) return false;
    double offset[3];
    layout_offset(c->layout, &c->one, world, c->of->worlds, offset);
    const bool there = c->layout == LAYOUT_OVERLAY && world;
    if (!there && !scene_shapes_place_fixed(c->shapes, offset, &c->bodies)) return false;
    if (!place_ground(c, world)) return false;
    if (c->marks && !marks_place(c->marks, world, t, c->R, c->p, com, c->extras.what, trail, &c->lines, &c->labels)) return false;
    const double *const contacts = c->contacts ? c->contacts + (size_t)world * contact_numbers(c) : NULL;
    if (contacts && !marks_contacts(c->marks, c->R, c->p, contacts, &c->lines)) return false;
    return !has_numbers(c) || place_number(c, world);
}

ctn_status composition_place(composition *c, double t, int width, int height, ctn_error *err)
{
    ctn_status status = note_trails(c, t, err);
    if (status == CTN_OK) status = frames_at(c->of, t, err);
    if (status == CTN_OK && c->contacts) status = frames_contacts(c->of, c->contacts, err);
    if (status != CTN_OK) return status;
    instance_list_clear(&c->bodies), line_list_clear(&c->lines), label_list_clear(&c->labels);
    c->now[0] = c->now[1] = c->now[2] = 0;
    const float size = caption_size(width, height);
    bool ok = true;
    for (int w = 0; w < c->of->worlds && ok; w++) ok = place_world(c, w, t);
    ok = ok && caption_place(&c->caption, c->of, c->dyn, t, width, size, &c->labels);
    if (c->colors == COLORS_ENERGY && c->caption.text && c->caption.cell <= 0)
        ok = ok && legend_place("kinetic energy of links, J", c->most_energy, width, height, size, &c->lines, &c->labels);
    return ok ? CTN_OK
              : fail(err, CTN_NO_MEMORY, "not enough memory for %d world%s of %d link%s", c->of->worlds, plural(c->of->worlds),
                     links_of(c), plural(links_of(c)));
}

void composition_first(composition *c, const frames *f)
{
    double com[3];
    find_poses(c, f, 0, com);
}

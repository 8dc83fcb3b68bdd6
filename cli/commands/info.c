/// `catena info`: what a scene has become as a model, and the choices a run of it would make.
#include "cli/commands/commands.h"
#include "cli/base/json.h"
#include "cli/base/message.h"
#include "cli/base/setup.h"
#include "sim/base/config.h"
#include "sim/batch/batch.h"
#include "sim/engine/device.h"
#include "sim/engine/engine.h"
#include "sim/model/between.h"
#include "sim/model/contact_points.h"
#include "sim/record/record.h"
#include "sim/scene/scene.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40 };  // of a table before its middle is left out

typedef struct totals {
    double mass, gravity[3];
    double *q, *v;  // initial state
} totals;

static const char *parent_name(const ctn_model *m, const ctn_link *link)
{
    const ctn_link *const parent = ctn_model_link(m, link->parent);
    return parent ? parent->name : "world";
}

/// "3" or "3-5" or "-": a slice of q or v.
static void slice(char text[24], int first, int count)
{
    if (count > 1) snprintf(text, 24, "%d-%d", first, first + count - 1);
    else if (count) snprintf(text, 24, "%d", first);
    else snprintf(text, 24, "-");
}

static void print_links(const ctn_model *m, bool all)
{
    const int n = ctn_model_nlink(m);
    printf("\n%5s  %-20s %-20s %-10s %9s %9s %11s  %-33s %s\n", "link", "name", "parent", "joint", "q", "v", "mass (kg)",
           "centre of mass (m)", "inertia xx yy zz xy xz yz (kg m2)");
    for (int l = 0; l < n; l++) {
        if (!all && n > ROWS && l == ROWS / 2) {
            printf("  ... %d more links (--all prints them)\n", n - ROWS);
            l = n - ROWS / 2;
        }
        const ctn_link *const k = ctn_model_link(m, l);
        char q[24], v[24];
        slice(q, k->qadr, k->nq), slice(v, k->vadr, k->nv);
        printf("%5d  %-20s %-20s %-10s %9s %9s %11.5g  %-10.4g %-10.4g %-10.4g  %.4g %.4g %.4g %.4g %.4g %.4g\n", l, k->name,
               parent_name(m, k), joint_name(k->joint), q, v, k->mass, k->com[0], k->com[1], k->com[2], k->inertia[0],
               k->inertia[1], k->inertia[2], k->inertia[3], k->inertia[4], k->inertia[5]);
    }
}

/// What a motor is told: by its type a position, a velocity, or a force or torque.
static const double *motor_target(const scene_motor *a)
{
    return a->type == MOTOR_POSITION ? a->target : a->type == MOTOR_VELOCITY ? a->velocity : a->feedforward;
}

/// The link of its joint, or that it pushes; or its tendon.
static const char *motor_place(const ctn_scene *sc, const scene_motor *a)
{
    return a->tendon ? sc->bonds[a->tendon - 1].name : sc->links[a->link].name;
}

static void print_motors(const setup *s, bool all)
{
    const ctn_scene *const sc = s->scene;
    if (!sc->nmotor) return;
    printf("\n%5s  %-20s %3s  %-8s %11s %11s %11s %11s %11s %9s %9s\n", "motor", "joint, link, tendon", "dof", "type", "target",
           "kp", "kd", "ki", "effort", "speed", "gear");
    for (int i = 0; i < sc->nmotor; i++) {
        if (!all && sc->nmotor > ROWS && i == ROWS / 2) {
            printf("  ... %d more motors (--all prints them)\n", sc->nmotor - ROWS);
            i = sc->nmotor - ROWS / 2;
        }
        const scene_motor *const a = &sc->motors[i];
        const double *const x = motor_target(a);
        char dof[8] = "all", target[40];
        if (a->type >= MOTOR_THRUST || a->tendon) snprintf(dof, sizeof dof, "-");
        else if (a->told == 1) snprintf(dof, sizeof dof, "%d", a->dof);
        if (a->told == 1) snprintf(target, sizeof target, "%.5g", x[0]);
        else snprintf(target, sizeof target, "%.3g,%.3g,%.3g", x[0], x[1], x[2]);
        printf("%5d  %-20s %3s  %-8s %11s %11.5g %11.5g %11.5g %11.5g %9.4g %9.4g\n", i, motor_place(sc, a), dof,
               motor_type_name(a->type), target, a->kp, s->model->motors[i].kd, a->ki, a->effort, a->speed, a->gear);
    }
}

static const char *const told_names[MOTOR_TOLD] = {
    [TOLD_TARGET] = "target", [TOLD_VELOCITY] = "velocity_target", [TOLD_FEEDFORWARD] = "feedforward"};

/// The key in the scene of number k of all that may move, 3 each: of velocity servos and torques it is their target.
static const char *told_name(const scene_motor *a, int k, char name[32])
{
    const int told = k / 3;
    const motor_told target = a->type == MOTOR_POSITION   ? TOLD_TARGET
                              : a->type == MOTOR_VELOCITY ? TOLD_VELOCITY
                                                          : TOLD_FEEDFORWARD;
    snprintf(name, 32, a->told > 1 ? "%s[%d]" : "%s", told_names[told == (int)target ? TOLD_TARGET : told], k % 3);
    return name;
}

/// What motors are told over time: it is added to the numbers above.
static void print_signals(const setup *s, bool all)
{
    const ctn_scene *const sc = s->scene;
    if (!sc->nsignal) return;
    printf("\n%5s  %-20s %-16s %s\n", "motor", "joint", "what moves", "how");
    for (int i = 0, shown = 0; i < sc->nmotor; i++)
        for (int k = 0; k < 3 * MOTOR_TOLD; k++) {
            const scene_motor *const a = &sc->motors[i];
            const int moves = a->moves[k / 3][k % 3];
            char words[64], name[32];
            if (!moves || (!all && shown++ >= ROWS)) continue;
            printf("%5d  %-20s %-16s %s\n", i, motor_place(sc, a), told_name(a, k, name),
                   signal_words(&sc->signals[moves - 1], words));
        }
    if (!all && sc->nsignal > ROWS) printf("  ... %d more (--all prints them)\n", sc->nsignal - ROWS);
}

/// What a sensor is of: a link, a joint, a loop, a coupling, a tendon, or all links.
static const char *sensor_link(const ctn_model *m, const ctn_sensor *s)
{
    if (s->bond) return s->bond;
    return s->link < 0 ? "all links" : ctn_model_link(m, s->link)->name;
}

static void print_sensors(const ctn_model *m, bool all)
{
    const int count = ctn_model_nsensor(m);
    if (!count) return;
    printf("\n%6s  %-20s %-20s %-20s %7s %9s %9s\n", "sensor", "name", "type", "of", "numbers", "noise", "delay s");
    for (int i = 0; i < count; i++) {
        if (!all && count > ROWS && i == ROWS / 2) {
            printf("  ... %d more sensors (--all prints them)\n", count - ROWS);
            i = count - ROWS / 2;
        }
        const ctn_sensor *const s = ctn_model_sensor(m, i);
        double noise = 0;
        for (int k = 0; k < s->count; k++) noise = fmax(noise, s->noise[k]);
        printf("%6d  %-20s %-20s %-20s %7d %9.4g %9.4g\n", i, s->name, ctn_sensor_type_name(s->type), sensor_link(m, s), s->count,
               noise, s->delay);
    }
}

/// Of the fluid, along with all links together, kg.
static double added_mass(const ctn_scene *scene)
{
    double sum = 0;
    for (int i = 0; i < scene->nlink && scene->fluid.added; i++) sum += scene->fluid.added[i].mass;
    return sum;
}

static void print_fluid(const setup *s)
{
    const scene_fluid *const f = &s->scene->fluid;
    if (f->ndrag)
        printf("fluid      %g kg/m3, current %g %g %g m/s%s%s, on %d part%s of links, %g kg of it along with them\n", f->density,
               f->current[0], f->current[1], f->current[2], f->stream.points ? " by height" : "",
               f->stream.moves ? " and time" : "", f->ndrag, plural(f->ndrag), added_mass(s->scene));
}

static void print_contact(const setup *s)
{
    const scene_contact *const c = &s->scene->contact;
    const ctn_model *const m = s->model;
    if (!has_surfaces(c)) return;
    double least = INFINITY, most = 0;
    int points = 0;
    for (int k = 0; k < m->nload; k++)
        if (m->loads[k].first) {
            points++;
            const double d = contact_depth(m, s->scene, m->loads[k].body);
            least = fmin(least, d), most = fmax(most, d);
        }
    if (c->nobstacle) printf("obstacles  %d\n", c->nobstacle);
    if (c->terrain.columns)
        printf("terrain    %d by %d heights on %g by %g m\n", c->terrain.columns, c->terrain.rows, c->terrain.size[0],
               c->terrain.size[1]);
    if (c->ground) printf("ground     height %g m along %g %g %g, ", c->height, c->normal[0], c->normal[1], c->normal[2]);
    else printf("contact    ");
    const int surfaces = m->nsurface + c->ground;
    if (m->nsurface) printf("%d point%s of links by %d surface%s", points, plural(points), surfaces, plural(surfaces));
    else printf("%d contact point%s of links", m->ncontact, plural(m->ncontact));
    if (c->published) printf(", as published with D1 %g N/m, D2 %g kg/m^2", c->D1, c->D2);
    else if (m->ncontact && least < most) printf(", depth %.3g to %.3g m, relaxation %.3g s", least, most, m->relaxation);
    else if (m->ncontact) printf(", depth %.3g m, relaxation %.3g s", most, m->relaxation);
    printf("\n");
    int meshes;
    const int corners = count_mesh_points(s->scene, &meshes);
    if (meshes)
        printf("meshes     %d touch%s with %d corners of their hulls (`mesh_points` of `contact`: with more)\n", meshes,
               meshes == 1 ? "es" : "", corners);
}

/// What worlds remember of pairs and bonds: of which element a slot is, its bristles, its force; forces of equations.
static size_t remembered(const ctn_model *m) { return ((size_t)m->nslot * 5 + (size_t)m->nrow) * sizeof(double); }

static long count_elements(const ctn_model *m)
{
    long elements = 0;
    for (int k = 0; k < m->npair; k++) elements += m->touch_pairs[k].elements;
    return elements;
}

/// How many bonds stand in a list of the scene.
static int count_bonds(const ctn_scene *scene, const char *list)
{
    int count = 0;
    for (int k = 0; k < scene->nbond; k++) count += !strcmp(scene->bonds[k].list, list);
    return count;
}

static void print_pairs(const ctn_model *m)
{
    if (!m->npair) return;
    double least = INFINITY, most = 0;
    for (int k = 0; k < m->npair; k++) least = fmin(least, m->touch_pairs[k].grip), most = fmax(most, m->touch_pairs[k].grip);
    printf("pairs      %d of %d shapes of links, %ld elements, %d remembered: %zu bytes a world; ", m->npair, m->ntouch_shape, count_elements(m),
           m->nslot, remembered(m));
    size_t bytes;
    const int room = touch_room(m, &bytes);
    printf("room for %d place%s in a step: %zu bytes a lane; ", room, plural(room), bytes);
    if (least < most) printf("%.3g to %.3g N/m, relaxation %.3g s\n", least, most, m->relaxation);
    else printf("%.3g N/m, relaxation %.3g s\n", most, m->relaxation);
}

/// What is between links and joints, and which of its equations say something at the start.
static void print_bonds(const setup *s)
{
    static const char *const lists[] = {"loops", "couplings", "tendons", "springs"};
    static const char *const one[] = {"loop", "coupling", "tendon", "spring between links"};
    static const char *const some[] = {"loops", "couplings", "tendons", "springs between links"};
    const ctn_model *const m = s->model;
    int *const redundant = calloc((size_t)m->nbond + 1, sizeof *redundant), told = 0;
    double *const against = calloc((size_t)m->nbond + 1, sizeof *against);
    const int rank = redundant && against && m->nrow ? bond_ranks(m, s->scene, redundant, against) : -1;
    if (m->nbond) printf("bonds     ");
    for (int k = 0; k < 4; k++) {
        const int count = count_bonds(s->scene, lists[k]);
        if (count) printf("%s %d %s", told++ ? "," : "", count, count == 1 ? one[k] : some[k]);
    }
    if (m->nrow) printf(": %d equation%s", m->nrow, plural(m->nrow));
    if (rank >= 0) printf(", rank %d at the start", rank);
    if (rank >= 0 && rank < m->nrow) {
        printf("; follow from others: ");
        for (int k = 0, shown = 0; k < m->nbond && shown <= 8; k++) {
            const scene_bond *const b = &s->scene->bonds[k];
            if (!redundant[k]) continue;
            if (shown++ == 8) printf(", ...");
            else printf("%s%d of %s[%d]%s%s", shown > 1 ? ", " : "", redundant[k], b->list, b->entry, b->name ? " " : "", b->name ? b->name : "");
        }
    }
    if (m->nbond) printf("\n");
    free(redundant), free(against);
}

static void print_state(const ctn_model *m, const totals *t, bool all)
{
    const int n = ctn_model_nlink(m);
    printf("\ninitial state\n");
    for (int l = 0, shown = 0; l < n; l++) {
        const ctn_link *const k = ctn_model_link(m, l);
        if (!k->nq) continue;
        if (!all && shown++ == ROWS) {
            printf("  ... (--all prints it)\n");
            break;
        }
        printf("  %-20s q", k->name);
        for (int i = 0; i < k->nq; i++) printf(" %.6g", t->q[k->qadr + i]);
        printf("   v");
        for (int i = 0; i < k->nv; i++) printf(" %.6g", t->v[k->vadr + i]);
        printf("\n");
    }
}

static void print_info(const setup *s, const totals *t, const ctn_engine *engine, bool all)
{
    const ctn_model *const m = s->model;
    const double duration = ctn_scene_duration(s->scene);
    printf("scene      %s (%s)\n", ctn_scene_name(s->scene), clean(s->path).text);
    for (int f = 1; f < s->scene->nfile; f++)
        printf("%s   %s\n", s->scene->files[f].mesh ? "mesh    " : "includes", clean(s->scene->files[f].path).text);
    const int nlink = ctn_model_nlink(m), nq = ctn_model_nq(m), nv = ctn_model_nv(m);
    printf("model      %d link%s, %d coordinate%s, %d degree%s of freedom, %.6g kg\n", nlink, plural(nlink), nq, plural(nq), nv,
           plural(nv), t->mass);
    printf("gravity    %g %g %g m/s2\n", t->gravity[0], t->gravity[1], t->gravity[2]);
    const int springs = s->scene->nspring, forces = s->scene->nload - springs;
    if (springs || forces)
        printf("loads      %d spring%s to the world, %d force%s\n", springs, plural(springs), forces, plural(forces));
    print_fluid(s);
    print_contact(s);
    print_pairs(m), print_bonds(s);
    char words[CONFIG_WORDS];
    config_describe(&s->cfg, words);
    printf("method     %s", words);
    if (ctn_method_is_implicit(s->cfg.method))
        printf(", solver %s%s %g, max_iterations %d, max_halvings %d", ctn_solver_name(s->cfg.solver),
               s->cfg.adaptive ? " to" : ", tolerance", s->cfg.tolerance, s->cfg.max_iterations, s->cfg.max_halvings);
    const char *const limit = method_limit(&s->cfg);
    if (limit) printf("\nstability  %s", limit);
    printf("\nduration   ");
    if (duration >= 0) printf("%g s\n", duration);
    else printf("not given\n");
    for (int c = 0; c < s->scene->ncamera; c++) {
        const scene_camera *const camera = &s->scene->cameras[c];
        printf("camera     %s%s%s\n", camera->name ? camera->name : "", camera->name ? ", " : "", camera_type_name(camera->type));
    }
    printf("engines   ");
    for (const ctn_engine *const *e = engines_available(); *e; e++)
        printf(" %s (%d lane%s)", (*e)->name, (*e)->lanes, (*e)->lanes > 1 ? "s" : "");
    for (const char *const *d = device_names; *d; d++)
        if (!device_missing(*d)) printf(" %s (GPU)", *d);
    for (const char *const *d = device_names; *d; d++)
        if (device_missing(*d)) printf("\nno engine  %s %s", *d, device_missing(*d));
    const char *const device = device_asked(s->cfg.engine);
    const int lanes = batch_along_lanes(m, &s->cfg);
    printf("\nengine     %s for %d world%s: %s\n", device ? device : engine->name, s->cfg.worlds, s->cfg.worlds > 1 ? "s" : "",
           engine_reason(s->cfg.engine, s->cfg.worlds, lanes > 0));
    char why[PARALLEL_WORDS];
    batch_parallel_reason(m, &s->cfg, why);
    printf("parallel   %s", ctn_parallel_name(batch_parallel(m, &s->cfg)));
    if (lanes) printf(", %d lanes", lanes);
    printf(": %s\n", why);
    print_links(m, all);
    print_motors(s, all);
    print_signals(s, all);
    print_sensors(m, all);
    print_state(m, t, all);
}

static void add_link(cJSON *links, const ctn_model *m, int l)
{
    const ctn_link *const k = ctn_model_link(m, l);
    const double q[2] = {k->qadr, k->nq}, v[2] = {k->vadr, k->nv};
    cJSON *const one = json_object(links, NULL);
    json_text(one, "name", k->name);
    json_text(one, "parent", parent_name(m, k));
    json_text(one, "joint", joint_name(k->joint));
    json_numbers(one, "q", q, 2);
    json_numbers(one, "v", v, 2);
    json_number(one, "mass", k->mass);
    json_numbers(one, "com", k->com, 3);
    json_numbers(one, "inertia", k->inertia, 6);
}

static void add_motor(cJSON *motors, const ctn_scene *sc, const ctn_model *m, const scene_motor *a)
{
    cJSON *const one = json_object(motors, NULL);
    json_text(one, a->tendon ? "tendon" : a->type >= MOTOR_THRUST ? "link" : "joint", motor_place(sc, a));
    if (a->told == 1 && !a->tendon && a->type < MOTOR_THRUST) json_number(one, "dof", a->dof);
    json_text(one, "type", motor_type_name(a->type));
    if (a->told == 1) json_number(one, "target", motor_target(a)[0]);
    else json_numbers(one, "target", motor_target(a), 3);
    if (a->type >= MOTOR_THRUST) {
        json_numbers(one, "point", a->point, 3);
        json_numbers(one, "axis", a->axis, 3);
        json_number(one, "reaction", a->reaction);
        json_numbers(one, "limits", (const double[]){a->least, a->effort}, 2);
    } else {
        json_number(one, "kp", a->kp);
        json_number(one, "kd", m->motors[a - sc->motors].kd);
        json_number(one, "ki", a->ki);
        json_number(one, "effort", a->effort);
        json_number(one, "speed", a->speed);
        json_number(one, "gear", a->gear);
    }
    cJSON *moves = NULL;
    for (int k = 0; k < 3 * MOTOR_TOLD; k++) {
        const int signal = a->moves[k / 3][k % 3];
        char words[64], name[32];
        if (!signal) continue;
        if (!moves) moves = json_object(one, "moves");
        json_text(moves, told_name(a, k, name), signal_words(&sc->signals[signal - 1], words));
    }
}

static void add_sensor(cJSON *sensors, const ctn_model *m, const ctn_sensor *s)
{
    cJSON *const one = json_object(sensors, NULL);
    json_text(one, "name", s->name);
    json_text(one, "type", ctn_sensor_type_name(s->type));
    if (s->link >= 0) json_text(one, "link", ctn_model_link(m, s->link)->name);
    if (s->bond) json_text(one, "of", s->bond);
    json_number(one, "first", s->first);
    cJSON *const numbers = json_array(one, "numbers"), *const units = json_array(one, "units");
    for (int k = 0; k < s->count; k++) {
        char name[300];
        sensor_name(m, s, k, name, sizeof name);
        json_text(numbers, NULL, name), json_text(units, NULL, sensor_unit(m, s, k));
    }
    json_numbers(one, "noise", s->noise, (size_t)s->count);
    json_number(one, "delay", s->delay);
}

static void add_bonds(cJSON *root, const setup *s)
{
    const ctn_model *const m = s->model;
    int *const redundant = calloc((size_t)m->nbond + 1, sizeof *redundant);
    double *const against = calloc((size_t)m->nbond + 1, sizeof *against);
    const int rank = redundant && against ? bond_ranks(m, s->scene, redundant, against) : -1;
    cJSON *const bonds = json_array(root, "bonds");
    for (int k = 0; k < m->nbond; k++) {
        const scene_bond *const b = &s->scene->bonds[k];
        cJSON *const one = json_object(bonds, NULL);
        json_text(one, "list", b->list);
        json_number(one, "entry", b->entry);
        if (b->name) json_text(one, "name", b->name);
        json_number(one, "equations", m->bonds[k].rows);
        if (rank >= 0) json_number(one, "redundant", redundant[k]);
    }
    json_number(root, "equations", m->nrow);
    if (rank >= 0) json_number(root, "rank", rank);
    free(redundant), free(against);
}

static int print_json(const setup *s, const totals *t, const ctn_engine *engine)
{
    const ctn_model *const m = s->model;
    const double duration = ctn_scene_duration(s->scene);
    cJSON *const root = json_object(NULL, NULL);
    json_text(root, "catena", ctn_version());
    json_text(root, "scene", ctn_scene_name(s->scene));
    cJSON *const files = json_array(root, "files");
    for (int f = 0; f < s->scene->nfile; f++) json_text(files, NULL, s->scene->files[f].path);
    json_number(root, "nlink", ctn_model_nlink(m));
    json_number(root, "nq", ctn_model_nq(m));
    json_number(root, "nv", ctn_model_nv(m));
    json_number(root, "mass", t->mass);
    json_numbers(root, "gravity", t->gravity, 3);
    json_number(root, "springs", s->scene->nspring), json_number(root, "forces", s->scene->nload - s->scene->nspring);
    cJSON *const method = json_object(root, "integrator");
    json_text(method, "method", ctn_method_name(s->cfg.method));
    json_number(method, "dt", s->cfg.dt);
    cJSON_AddBoolToObject(method, "adaptive", s->cfg.adaptive);
    if (s->cfg.adaptive) json_number(method, "error_tolerance", s->cfg.error_tolerance);
    double value;
    const char *const number = method_number(&s->cfg, &value);
    if (number) json_number(method, number, value);
    if (ctn_method_is_implicit(s->cfg.method)) {
        json_text(method, "solver", ctn_solver_name(s->cfg.solver));
        json_number(method, "tolerance", s->cfg.tolerance);
        json_number(method, "max_iterations", s->cfg.max_iterations);
        json_number(method, "max_halvings", s->cfg.max_halvings);
    }
    if (method_limit(&s->cfg)) json_text(method, "stability", method_limit(&s->cfg));
    json_number(root, "duration", duration >= 0 ? duration : (double)NAN);
    cJSON *const engines = json_array(root, "engines");
    for (const ctn_engine *const *e = engines_available(); *e; e++) {
        cJSON *const one = json_object(engines, NULL);
        json_text(one, "name", (*e)->name);
        json_number(one, "lanes", (*e)->lanes);
    }
    for (const char *const *d = device_names; *d; d++) {
        cJSON *const gpu = json_object(root, *d);
        cJSON_AddBoolToObject(gpu, "available", !device_missing(*d));
        if (device_missing(*d)) json_text(gpu, "reason", device_missing(*d));
    }
    const char *const device = device_asked(s->cfg.engine);
    json_text(root, "engine", device ? device : engine->name);
    const int lanes = batch_along_lanes(m, &s->cfg);
    json_text(root, "engine_reason", engine_reason(s->cfg.engine, s->cfg.worlds, lanes > 0));
    char why[PARALLEL_WORDS];
    batch_parallel_reason(m, &s->cfg, why);
    json_text(root, "parallel", ctn_parallel_name(batch_parallel(m, &s->cfg)));
    if (lanes) json_number(root, "lanes", lanes);
    json_text(root, "parallel_reason", why);
    json_number(root, "worlds", s->cfg.worlds);
    cJSON *const links = json_array(root, "links");
    for (int l = 0; l < ctn_model_nlink(m); l++) add_link(links, m, l);
    cJSON *const motors = json_array(root, "motors");
    for (int i = 0; i < s->scene->nmotor; i++) add_motor(motors, s->scene, m, &s->scene->motors[i]);
    if (ctn_model_nsensor(m)) {
        cJSON *const sensors = json_array(root, "sensors");
        for (int i = 0; i < ctn_model_nsensor(m); i++) add_sensor(sensors, m, ctn_model_sensor(m, i));
    }
    const scene_fluid *const f = &s->scene->fluid;
    if (f->ndrag) {
        cJSON *const fluid = json_object(root, "fluid");
        json_number(fluid, "density", f->density);
        json_numbers(fluid, "current", f->current, 3);
        json_number(fluid, "parts", f->ndrag);
        json_number(fluid, "added_mass", added_mass(s->scene));
        cJSON_AddBoolToObject(fluid, "by_height", f->stream.points > 0);
        cJSON_AddBoolToObject(fluid, "by_time", f->stream.moves > 0);
    }
    const scene_contact *const c = &s->scene->contact;
    if (c->nobstacle) json_number(root, "obstacles", c->nobstacle);
    if (c->terrain.columns) {
        cJSON *const terrain = json_object(root, "terrain");
        json_numbers(terrain, "heights", (double[]){c->terrain.columns, c->terrain.rows}, 2);
        json_numbers(terrain, "size", c->terrain.size, 2);
    }
    if (m->nsurface) json_number(root, "contacts", m->ncontact);
    if (c->ground) {
        cJSON *const ground = json_object(root, "ground");
        json_number(ground, "height", c->height);
        json_numbers(ground, "normal", c->normal, 3);
        json_number(ground, "points", m->ncontact);
        json_number(ground, "relaxation", m->relaxation);
    }
    if (m->npair) {
        cJSON *const pairs = json_object(root, "pairs");
        json_number(pairs, "count", m->npair);
        json_number(pairs, "shapes", m->ntouch_shape);
        json_number(pairs, "elements", (double)count_elements(m));
        json_number(pairs, "slots", m->nslot);
        size_t bytes;
        json_number(pairs, "capacity", touch_room(m, &bytes)), json_number(pairs, "bytes_of_room", (double)bytes);
        json_number(pairs, "relaxation", m->relaxation);
    }
    if (m->nbond) add_bonds(root, s);
    if (m->npair || m->nbond) json_number(root, "bytes_between", (double)remembered(m));
    cJSON *const state = json_object(root, "state");
    json_numbers(state, "q", t->q, (size_t)ctn_model_nq(m));
    json_numbers(state, "v", t->v, (size_t)ctn_model_nv(m));
    json_lines(root, "warnings", ctn_scene_warnings(s->scene));
    return json_print(root);
}

static int info_main(const arguments *args)
{
    setup s;
    ctn_error err;
    int status = setup_open_to_step(args, &s);
    if (status != EXIT_OK) return status;
    totals t = {0};
    const ctn_engine *const engine = engine_find(s.cfg.engine, batch_along_lanes(s.model, &s.cfg) ? 2 : s.cfg.worlds, &err);
    t.q = calloc((size_t)ctn_model_nq(s.model) + 1, sizeof *t.q);
    t.v = calloc((size_t)ctn_model_nv(s.model) + 1, sizeof *t.v);
    if (!engine) status = status_error(&err, "");
    else if (!t.q || !t.v) status = run_error("not enough memory");
    else {
        ctn_model_initial_state(s.model, t.q, t.v);
        ctn_model_gravity(s.model, t.gravity);
        for (int l = 0; l < ctn_model_nlink(s.model); l++) t.mass += ctn_model_link(s.model, l)->mass;
        if (args->value[OPT_JSON]) status = print_json(&s, &t, engine);
        else print_info(&s, &t, engine, args->value[OPT_ALL] != NULL);
    }
    free(t.q), free(t.v);
    setup_close(&s);
    return status;
}

const command command_info = {
    .name = "info",
    .files = "SCENE",
    .least = 1,
    .most = 1,
    .scenes = true,
    .does = "Prints a scene's model, its initial state, and the method and engine a run would take.",
    .about = "Long tables are shortened; --all prints them whole, --json always does.\n",
    .takes = TAKES_METHOD | TAKES(OPT_ALL) | TAKES(OPT_JSON),
    .examples = "  catena info scenes/humanoid.yaml\n"
                "  catena info scenes/rope1000.yaml --worlds 64 --json | jq .engine_reason\n",
    .main = info_main,
};

/// Lines of text that keep their width from picture to picture.
#include "cli/pictures/caption.h"

#include "sim/base/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/// Kinetic, potential and spring energy, means over the worlds that move, or over all if none does, J.
static void mean_energy(const frames *f, ctn_dynamics *dyn, double energy[3])
{
    const size_t nq = (size_t)ctn_model_nq(f->s.model), nv = (size_t)ctn_model_nv(f->s.model);
    energy[0] = energy[1] = energy[2] = 0;
    const bool all = f->frozen_count == f->worlds;
    const double count = all ? f->worlds : f->worlds - f->frozen_count;
    for (int w = 0; w < f->worlds; w++) {
        ctn_totals now;
        if (f->frozen[w] && !all) continue;
        ctn_dynamics_set_time(dyn, f->time[w]);
        ctn_energy_momentum(dyn, 1, f->q + (size_t)w * nq, f->v + (size_t)w * nv, &now);
        energy[0] += now.kinetic / count, energy[1] += now.potential / count, energy[2] += now.spring / count;
    }
}

int caption_decimals(const frames *f, ctn_dynamics *dyn, double radius)
{
    double energy[3], g[3], mass = 0;
    mean_energy(f, dyn, energy);
    ctn_model_gravity(f->s.model, g);
    for (int i = 0; i < ctn_model_nlink(f->s.model); i++) mass += ctn_model_link(f->s.model, i)->mass;
    const double falls = mass * radius * sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    const double most = fmax(falls, fabs(energy[0]) + fabs(energy[1]) + fabs(energy[2]));
    const double digits = most > 0 ? 4 - floor(log10(most)) : 0;
    return digits < 0 ? 0 : digits > 9 ? -1 : (int)digits;
}

float caption_size(int width, int height) { return fmaxf(11, roundf(fminf((float)height / 40, (float)width / 48))); }

/// Appends to a text as printf does; what is beyond its end is cut off.
static void write_line(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void write_line(char *text, size_t size, const char *format, ...)
{
    const size_t n = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, size - n, format, args);
    va_end(args);
}

/// Adds a text without the end of its last line, which its plate would go round.
static bool add_block(label_list *labels, const label *how, const char *text)
{
    const size_t n = strlen(text);
    return label_list_add(labels, how, "%.*s", (int)(n && text[n - 1] == '\n' ? n - 1 : n), text);
}

/// As long as in the other pictures, unless it is of another size.
static void write_energy(const caption *c, const char *name, double energy, char *text, size_t size)
{
    if (c->decimals < 0 || fabs(energy) >= 1e9) write_line(text, size, "%s%.4g", name, energy);
    else write_line(text, size, "%s%.*f", name, c->decimals, energy);
}

/// Of a scene: how the step in hand was solved.
static void write_iterations(const frames *f, char *text, size_t size)
{
    double mean = 0;
    int most = 0;
    if (f->recording || !ctn_method_is_implicit(f->s.cfg.method)) return;
    for (int w = 0; w < f->worlds; w++) {
        mean += (double)f->stats[w].iterations / f->worlds;
        if (f->stats[w].iterations_max > most) most = f->stats[w].iterations_max;
    }
    if (f->worlds == 1) write_line(text, size, "%d iterations\n", most);
    else write_line(text, size, "%.1f iterations, at most %d\n", mean, most);
}

bool caption_place(const caption *c, const frames *f, ctn_dynamics *dyn, double t, int width, float size, label_list *labels)
{
    char text[1000] = "", words[CONFIG_WORDS];
    label corner = {.position = {0.9f * size, 0.7f * size, 0},
                    .size = size,
                    .color = {1, 1, 1},
                    .width = (float)width - 1.8f * size,
                    .plate = TEXT_PLATE};
    const bool on_sheet = c->cell >= 0;
    if (c->title && c->cell <= 0) {
        label title = corner;
        title.size = roundf(1.4f * size), corner.position[1] = label_margin(title.size), corner.below = true;
        if (!label_list_add(labels, &title, "%s", c->title)) return false;
    }
    if (!c->text && !on_sheet) return true;
    config_describe(&f->s.cfg, words);
    write_line(text, sizeof text, on_sheet ? "%.4g s\n" : "%.3f s\n", t);
    if (c->cell <= 0) write_line(text, sizeof text, "%s\n", words);
    if (!c->text) return add_block(labels, &corner, text);
    if (!f->own && !f->states.no_rates) {
        double e[3];
        mean_energy(f, dyn, e);
        write_energy(c, "energy ", e[0] + e[1] + e[2], text, sizeof text);
        write_energy(c, " J (kinetic ", e[0], text, sizeof text), write_energy(c, ", potential ", e[1], text, sizeof text);
        if (e[2] != 0) write_energy(c, ", springs ", e[2], text, sizeof text);
        write_line(text, sizeof text, f->worlds < 2 ? ")\n" : f->frozen_count ? "; means of those that move)\n" : "; means)\n");
    }
    write_iterations(f, text, sizeof text);
    if (f->worlds > 1) write_line(text, sizeof text, "%d worlds", f->worlds);
    if (f->worlds > 1 && f->frozen_count) write_line(text, sizeof text, ", %d of them frozen", f->frozen_count);
    return add_block(labels, &corner, text);
}

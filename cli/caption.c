/// Lines of text that keep their width from picture to picture.
#include "cli/caption.h"

#include "sim/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/// Kinetic, potential and spring energy, means over the worlds, J.
static void mean_energy(const frames *f, ctn_dynamics *dyn, double energy[3])
{
    const size_t nq = (size_t)ctn_model_nq(f->s.model), nv = (size_t)ctn_model_nv(f->s.model);
    energy[0] = energy[1] = energy[2] = 0;
    for (int w = 0; w < f->worlds; w++) {
        ctn_totals now;
        ctn_energy_momentum(dyn, 1, f->q + (size_t)w * nq, f->v + (size_t)w * nv, &now);
        energy[0] += now.kinetic / f->worlds, energy[1] += now.potential / f->worlds, energy[2] += now.spring / f->worlds;
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
    return digits < 0 ? 0 : digits > 9 ? 9 : (int)digits;
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

bool caption_place(const caption *c, const frames *f, ctn_dynamics *dyn, double t, float size, label_list *labels)
{
    char text[1000] = "", words[CONFIG_WORDS];
    label corner = {.position = {0.9f * size, 0.7f * size, 0}, .size = size, .color = {1, 1, 1}};
    if (c->title) {
        label title = corner;
        title.size = roundf(1.4f * size), corner.position[1] += 1.9f * size;
        if (!label_list_add(labels, &title, "%s", c->title)) return false;
    }
    if (!c->text) return true;
    config_describe(&f->s.cfg, words);
    write_line(text, sizeof text, "%.3f s\n%s\n", t, words);
    if (!f->own) {
        double e[3];
        mean_energy(f, dyn, e);
        write_line(text, sizeof text, "energy %.*f J", c->decimals, e[0] + e[1] + e[2]);
        write_line(text, sizeof text, " (kinetic %.*f, potential %.*f", c->decimals, e[0], c->decimals, e[1]);
        if (e[2] != 0) write_line(text, sizeof text, ", springs %.*f", c->decimals, e[2]);
        write_line(text, sizeof text, f->worlds > 1 ? "; means)\n" : ")\n");
    }
    write_iterations(f, text, sizeof text);
    if (f->worlds > 1) write_line(text, sizeof text, "%d worlds", f->worlds);
    if (f->worlds > 1 && f->frozen_count) write_line(text, sizeof text, ", %d of them frozen", f->frozen_count);
    return label_list_add(labels, &corner, "%s", text);
}

/// The list of --show has words, and trails of points, whose links are known by their names.
#include "cli/pictures/picture_options.h"

#include "cli/base/message.h"
#include "sim/base/number.h"
#include "sim/base/suggest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"axes", "frames", "com", "trail", "names", "contacts", "text"};
static const unsigned shows[] = {SHOW_AXES, SHOW_FRAMES, SHOW_COM, SHOW_TRAILS, SHOW_NAMES, SHOW_CONTACTS, SHOW_TEXT};
enum { WORDS = sizeof words / sizeof *words };
#define ALL_WORDS "axes, frames, com, trail, names, contacts, and of render trail:LINK, trail:LINK:x,y,z, text"

/// The link whose name `text` begins with, to where a colon, a comma or the end follows; the longest, as names may have colons.
/// Moves `text`.
static int named_link(const ctn_model *model, const char **text)
{
    int best = -1;
    size_t length = 0;
    for (int i = 0; i < ctn_model_nlink(model); i++) {
        const char *const name = ctn_model_link(model, i)->name;
        const size_t n = strlen(name);
        if (n > length && !strncmp(*text, name, n) && strchr(":,", (*text)[n])) best = i, length = n;
    }
    *text += length;
    return best;
}

static int unknown_link(const ctn_model *model, const char *text)
{
    char word[256];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text, ":,"), text);
    const int n = ctn_model_nlink(model);
    const char **const names = malloc(((size_t)n + 1) * sizeof *names);
    for (int i = 0; i < n && names; i++) names[i] = ctn_model_link(model, i)->name;
    const char *const meant = names ? nearest_name(word, names, n) : NULL;
    free(names);
    if (meant) return usage_error("--show: trail: there is no link '%s'; did you mean '%s'?", word, meant);
    return usage_error("--show: trail: there is no link '%s'; catena info lists them", word);
}

/// LINK or LINK:x,y,z; moves `text` behind it.
static int read_trail(const ctn_model *model, const char **text, picture_extras *x)
{
    const char *const from = *text;
    trail_point t = {.link = named_link(model, text)};
    if (t.link < 0) return unknown_link(model, from);
    if (**text == ':') {
        const char *const end = numbers_from_text(*text + 1, ',', 3, t.at);
        if (!end || !strchr(",", *end))
            return usage_error(
                "--show: trail: expected three numbers x,y,z (m, in the frame of the link) after '%s:', found '%s'",
                ctn_model_link(model, t.link)->name, *text + 1);
        *text = end;
    }
    trail_point *const trails = realloc(x->trails, ((size_t)x->trail_count + 1) * sizeof *trails);
    if (!trails) return run_error("not enough memory");
    x->trails = trails, x->trails[x->trail_count++] = t;
    return EXIT_OK;
}

static int read_list(const char *text, const ctn_model *model, picture_extras *x)
{
    for (;;) {
        char word[40];
        const size_t n = strcspn(text, ":,");
        int which = 0;
        snprintf(word, sizeof word, "%.*s", (int)n, text);
        while (which < WORDS && strcmp(word, words[which]) != 0) which++;
        if (which == WORDS) {
            const char *const meant = nearest_name(word, words, WORDS);
            if (meant) return usage_error("--show: unknown word '%s'; did you mean '%s'?", word, meant);
            return usage_error("--show: expected a list of " ALL_WORDS ", found '%s'", word);
        }
        x->what |= shows[which], text += n;
        if (*text == ':' && shows[which] != SHOW_TRAILS) return usage_error("--show: '%s' takes nothing after a colon", word);
        if (*text == ':' && !model) return usage_error("--show: trail: trails of chosen links are for catena render");
        if (*text == ':') {
            text++;
            const int status = read_trail(model, &text, x);
            if (status != EXIT_OK) return status;
        }
        if (!*text) return EXIT_OK;
        text++;
    }
}

int picture_extras_read(const arguments *args, const ctn_model *model, picture_extras *x)
{
    *x = (picture_extras){.seconds = 2, .title = args->value[OPT_TITLE]};
    if (!number_option(args, OPT_TRAIL, &x->seconds)) return EXIT_USAGE;
    if (!(x->seconds > 0) || !isfinite(x->seconds))
        return usage_error("--trail: expected a number of seconds above 0, found %s", args->value[OPT_TRAIL]);
    const int status = args->value[OPT_SHOW] ? read_list(args->value[OPT_SHOW], model, x) : EXIT_OK;
    if (status == EXIT_OK && args->value[OPT_TRAIL] && !(x->what & (SHOW_TRAILS | SHOW_COM)))
        return usage_error("--trail is how long trails last; give --show with trail or com, too");
    return status;
}

void picture_extras_close(picture_extras *x) { free(x->trails); }

int colors_option(const arguments *args, link_coloring *colors, double *most_energy)
{
    static const char *const names[] = {
        [COLORS_SCENE] = "scene", [COLORS_LINK] = "link", [COLORS_ENERGY] = "energy", [COLORS_WORLD] = "world"};
    const char *const text = args->value[OPT_COLORS];
    if (!text) return EXIT_OK;
    for (int k = 0; k < COLORINGS; k++)
        if (!strcmp(text, names[k])) return *colors = (link_coloring)k, EXIT_OK;
    static const char energy[] = "energy:";
    const bool named = !strncmp(text, energy, sizeof energy - 1);
    const char *const end = named ? numbers_from_text(text + sizeof energy - 1, ':', 1, most_energy) : NULL;
    *colors = COLORS_ENERGY;
    if (end && !*end && *most_energy > 0) return EXIT_OK;
    return usage_error("--colors: expected scene, link, energy, energy:MAX (J, above 0) or world, found '%s'", text);
}

int floor_option(const arguments *args, double *floor)
{
    const char *const text = args->value[OPT_FLOOR];
    *floor = text && !strcmp(text, "none") ? -INFINITY : NAN;
    if (!text || !isnan(*floor)) return EXIT_OK;
    const char *const end = numbers_from_text(text, ',', 1, floor);
    return end && !*end ? EXIT_OK : usage_error("--floor: expected a height in metres, or none, found '%s'", text);
}

int layout_option(const arguments *args, world_layout *layout)
{
    const char *const text = args->value[OPT_LAYOUT];
    *layout = text && !strcmp(text, "overlay") ? LAYOUT_OVERLAY : LAYOUT_GRID;
    return !text || *layout == LAYOUT_OVERLAY || !strcmp(text, "grid")
               ? EXIT_OK
               : usage_error("--layout: expected grid or overlay, found '%s'", text);
}

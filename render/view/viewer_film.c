/// Pictures and movies of what the window shows.
#include "render/view/viewer_state.h"
#include "sim/base/status.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILM_RATE = 30 };

/// A name with this ending in the working directory that no file has: the scene's, as far as it can be one of a file.
static void free_name(const viewer *v, const char *ending, char *name, size_t size)
{
    char stem[100];
    snprintf(stem, sizeof stem, "%s", ctn_scene_name(v->exhibit->scene));
    for (char *c = stem; *c; c++)
        if (strchr("/%\\", *c) || (unsigned char)*c < ' ') *c = '-';
    for (int k = 1; k < 100000; k++) {
        snprintf(name, size, "%s-%04d.%s", stem, k, ending);
        if (access(name, F_OK)) return;
    }
}

static bool read_picture(viewer *v, bool with_panel, ctn_error *err)
{
    uint8_t *const rgb = realloc(v->rgb, 3 * (size_t)v->width * (size_t)v->height);
    if (!rgb) return fail(err, CTN_NO_MEMORY, "not enough memory for a picture"), false;
    v->rgb = rgb;
    return (with_panel ? renderer_read_window(v->renderer, rgb, err) : renderer_read(v->renderer, rgb, err)) == CTN_OK;
}

void viewer_take_picture(viewer *v, bool with_panel)
{
    char name[300];
    ctn_error err;
    pictures *out = NULL;
    free_name(v, "png", name, sizeof name);
    bool ok = read_picture(v, with_panel, &err) && pictures_open(name, v->width, v->height, 1, &out, &err) == CTN_OK;
    ok = ok && pictures_add(out, v->rgb, &err) == CTN_OK;
    const bool closed = pictures_close(out, ok ? &err : NULL) == CTN_OK;
    if (ok && closed) viewer_notice(v, "%s: written", name);
    else viewer_notice(v, "%.280s", err.message);
}

ctn_status viewer_end_film(viewer *v, ctn_error *err)
{
    if (!v->film.out) return CTN_OK;
    const ctn_status status = pictures_close(v->film.out, err);
    if (status == CTN_OK) viewer_notice(v, "%s: written", v->film.path);
    else viewer_notice(v, "%.280s", err->message);
    v->film.out = NULL;
    return status;
}

static void begin_film(viewer *v)
{
    ctn_error err;
    free_name(v, "mp4", v->film.path, sizeof v->film.path);
    if (pictures_open(v->film.path, v->width, v->height, FILM_RATE, &v->film.out, &err) != CTN_OK) {
        v->film.out = NULL;
        viewer_notice(v, "%.280s", err.message);
        return;
    }
    v->film.width = v->width, v->film.height = v->height, v->film.next = glfwGetTime();
    viewer_notice(v, "%s: F9 ends it", v->film.path);
}

/// As many pictures of what is seen now as are due by the clock; after a long wait a few, and the clock of the movie starts anew.
void viewer_feed_film(viewer *v)
{
    enum { MOST = FILM_RATE / 3 };
    ctn_error err;
    const double now = glfwGetTime();
    viewer_film *const f = &v->film;
    if (!f->out || now < f->next) return;
    if (v->width != f->width || v->height != f->height) {
        if (viewer_end_film(v, &err) == CTN_OK) viewer_notice(v, "%s: ended, as the window has another size", f->path);
        return;
    }
    bool ok = read_picture(v, false, &err);
    for (int k = 0; ok && k < MOST && f->next <= now; k++, f->next += 1.0 / FILM_RATE)
        ok = pictures_add(f->out, v->rgb, &err) == CTN_OK;
    if (f->next <= now) f->next = now + 1.0 / FILM_RATE;
    if (ok) return;
    pictures_close(f->out, NULL);
    f->out = NULL;
    viewer_notice(v, "%.280s", err.message);
}

void viewer_toggle_film(viewer *v)
{
    ctn_error err;
    if (v->film.out) viewer_end_film(v, &err);
    else begin_film(v);
}

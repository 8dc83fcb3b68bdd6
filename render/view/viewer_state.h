/// The window's state, shared by the files viewer*.c.
#ifndef CATENA_RENDER_VIEWER_STATE_H
#define CATENA_RENDER_VIEWER_STATE_H

#include "render/draw/camera.h"
#include "render/view/panel.h"
#include "render/draw/pictures.h"
#include "render/draw/renderer.h"
#include "render/view/viewer.h"
#include "render/view/window.h"

/// What mouse and keys are at.
typedef struct viewer_hand {
    bool orbits, pans, pulls, moved;  // what the mouse does while it is held
    double x, y;                      // where it was
    pull_at pull;
    double depth;  // z of camera_unproject, of the point that is pulled
} viewer_hand;

/// How the camera keeps in sight what moves.
typedef struct viewer_look {
    bool on, glides;     // it does; it is on its way
    camera_orbit orbit;  // about the middle of what the panel leaves free
    double from[3];  // m, what `seen` is relative to; goes with the centre of mass of trees that are free, which was at `middle`
    double middle[3];
    camera_fit seen;      // all that was there since it began
    double aspect, time;  // of what is free; s, of the last picture
    double clock;         // s, then
} viewer_look;

/// A movie that is being made.
typedef struct viewer_film {
    pictures *out;  // NULL: none
    char path[300];
    int width, height;
    double next;  // s, by the clock: when a picture is due
} viewer_film;

typedef struct viewer {
    const viewer_config *config;
    char path[1024];  // of the scene that is shown
    window *window;
    renderer *renderer;
    exhibit *exhibit;
    panel_state panel;
    int width, height;   // pixels
    double scale;        // of the panel
    camera_orbit orbit;  // the camera, unless it is one of the scene's:
    int mounted;         // which; negative: none
    viewer_look look;    // of the orbit, until it is taken by hand
    camera_mount mount;
    render_camera camera;  // of the picture that is shown
    bool follows;          // the orbit goes with what it looks at
    double followed[3];    // m, where that was
    exhibit_body selected;
    viewer_hand hand;
    viewer_film film;
    uint8_t *rgb;
    char refused[400];  // what the player has said last
    char notice[300], trouble[8192];
    bool again;                   // `trouble` is of the scene that is shown: it may be mended any moment
    double notice_until, looked;  // s: until when it is shown; when files were looked at
} viewer;

/// Something to be read for some seconds.
void viewer_notice(viewer *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Shows the scene at `path` from its beginning; if it has errors, these, and what was shown goes on.
void viewer_open(viewer *v, const char *path);

/// The camera from the direction and at the distance that `from` says; NULL: from the side. Without a distance it has all in
/// sight, and keeps it there.
void viewer_look_from(viewer *v, const camera_choice *from);

/// With each picture: the look goes with trees that are free, and glides to where all that was seen is in sight when something
/// leaves it. At the beginning of the motion, and when the window has another size or the panel comes or goes, it begins anew:
/// the same picture every time.
void viewer_keep_look(viewer *v);

/// The camera where it sees everything; the scene's next one; as it is, moved by hand from now on. (viewer_look.c)
void viewer_look_at_all(viewer *v);
void viewer_next_camera(viewer *v);
void viewer_take_camera(viewer *v);

/// What mouse and keys ask for. (viewer_input.c)
void viewer_input(viewer *v, const window_events *events);

/// Writes what is seen to a file; begins or ends a movie; adds to it what is due by the clock. (viewer_film.c)
void viewer_take_picture(viewer *v, bool with_panel);
void viewer_toggle_film(viewer *v);
void viewer_feed_film(viewer *v);
ctn_status viewer_end_film(viewer *v, ctn_error *err);  // CTN_IO

#endif

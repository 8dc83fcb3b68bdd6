/// The window of `catena view`.
#ifndef CATENA_RENDER_VIEWER_H
#define CATENA_RENDER_VIEWER_H

#include "render/view/exhibit.h"

/// What to show, and how it begins.
typedef struct viewer_config {
    const char *path;  // a scene, or a recording
    int width, height;
    long world;          // of a recording; negative: all
    const char *camera;  // as camera_choose takes it; NULL: the first of the scene, if it has one
    unsigned show;       // marks_show
    link_coloring colors;
    double scale_energy;  // J, as in exhibit
    double floor;         // m, its height; -infinity: none; NAN: where the scene has it
    bool paused, overlaid;
    double speed;               // of the clock, times real time
    exhibit_configure configure;  // for the scene and for those that are opened later
    const exhibit_guide *guide;   // what steers them; NULL: nothing does
    const void *context;          // of both
    void (*warn)(const char *lines);  // told what is to be said of a scene that was opened, line by line; may be NULL
} viewer_config;

/// Opens the window and returns when it is closed. As exhibit_open; CTN_UNAVAILABLE without a display or where OpenGL fails.
/// `began`: what is to be shown was found to be good.
ctn_status view(const viewer_config *config, bool *began, ctn_error *err);

#endif

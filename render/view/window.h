/// A window with an OpenGL 3.3 core context, and what is done to it with mouse and keys. GLFW.
#ifndef CATENA_RENDER_WINDOW_H
#define CATENA_RENDER_WINDOW_H

#include <catena/status.h>
#include <stdbool.h>

typedef struct window window;

enum { WINDOW_KEYS = 16, WINDOW_BUTTONS = 3 };
enum window_button { BUTTON_LEFT, BUTTON_RIGHT, BUTTON_MIDDLE };
enum window_modifier { WITH_SHIFT = 1, WITH_CONTROL = 2, WITH_ALT = 4 };

/// What has happened since the last time. Positions are in pixels of the picture, from its upper left corner.
typedef struct window_events {
    double x, y;                // of the mouse
    double press_x, press_y;    // where a button was pressed last
    double scroll;              // up: > 0
    bool down[WINDOW_BUTTONS];  // is held
    bool pressed[WINDOW_BUTTONS], released[WINDOW_BUTTONS];
    unsigned modifiers;    // held
    int keys;              // pressed, or repeated, in this order:
    int key[WINDOW_KEYS];  // GLFW_KEY_...
    unsigned key_modifiers[WINDOW_KEYS];
    char dropped[1024];  // a file that was dropped on the window; "": none
} window_events;

/// Opens a window and makes its context current in the calling thread, which must be the main one and alone calls what is here.
/// NULL: CTN_UNAVAILABLE without a display or without OpenGL 3.3, in words.
window *window_create(const char *title, int width, int height, ctn_error *err);
void window_free(window *w);  // NULL is allowed

void window_set_title(window *w, const char *title);
void *window_handle(window *w);  // GLFWwindow *

/// Waits for at most `seconds`, 0: not at all; fills `events`. False: it is to be closed.
bool window_poll(window *w, double seconds, window_events *events);
void window_close(window *w);  // window_poll returns false from now on

/// Size of its picture in pixels, 0 x 0 while there is nothing to see of it.
void window_size(const window *w, int *width, int *height);

/// How many of its pixels lie where a usual display has one; its width in units of the display, pixels or points, in which the
/// panel is laid out; how many of these a unit of text is to have.
double window_density(const window *w);
double window_units(const window *w);
double window_scale(const window *w);

void window_swap(window *w);  // shows what was drawn
void window_toggle_full_screen(window *w);

#endif

/// A GLFW window; its callbacks collect events until they are asked for.
#include "render/view/window.h"

#include "sim/base/status.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <glad/gl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct window {
    GLFWwindow *handle;
    window_events events;
    int place[4];  // x, y, width, height, before it filled the screen
};

static char glfw_trouble[300];  // GLFW's last message

static void on_error(int code, const char *text) { snprintf(glfw_trouble, sizeof glfw_trouble, "%.250s (0x%x)", text, code); }

static window *of(GLFWwindow *handle) { return glfwGetWindowUserPointer(handle); }

static unsigned modifiers_of(int mods)
{
    return (mods & GLFW_MOD_SHIFT ? WITH_SHIFT : 0) | (mods & GLFW_MOD_CONTROL ? WITH_CONTROL : 0) |
           (mods & GLFW_MOD_ALT ? WITH_ALT : 0);
}

static void on_key(GLFWwindow *handle, int key, int scancode, int action, int mods)
{
    window_events *const e = &of(handle)->events;
    (void)scancode;
    e->modifiers = modifiers_of(mods);
    if (action == GLFW_RELEASE || e->keys == WINDOW_KEYS) return;
    e->key[e->keys] = key, e->key_modifiers[e->keys++] = modifiers_of(mods);
}

static void on_button(GLFWwindow *handle, int button, int action, int mods)
{
    window_events *const e = &of(handle)->events;
    e->modifiers = modifiers_of(mods);
    if (button >= WINDOW_BUTTONS) return;
    (action == GLFW_PRESS ? e->pressed : e->released)[button] = true;
    e->down[button] = action == GLFW_PRESS;
    if (action == GLFW_PRESS) e->press_x = e->x, e->press_y = e->y;
}

static void on_move(GLFWwindow *handle, double x, double y)
{
    window_events *const e = &of(handle)->events;
    int width, height, pixels, rows;
    glfwGetWindowSize(handle, &width, &height), glfwGetFramebufferSize(handle, &pixels, &rows);
    e->x = width ? x * pixels / width : x, e->y = height ? y * rows / height : y;
}

static void on_scroll(GLFWwindow *handle, double dx, double dy)
{
    (void)dx;
    of(handle)->events.scroll += dy;
}

static void on_drop(GLFWwindow *handle, int count, const char **paths)
{
    if (count > 0) snprintf(of(handle)->events.dropped, sizeof of(handle)->events.dropped, "%s", paths[0]);
}

/// What was held when the window lost the keyboard is let go.
static void on_focus(GLFWwindow *handle, int focused)
{
    window_events *const e = &of(handle)->events;
    for (int k = 0; k < WINDOW_BUTTONS && !focused; k++) e->released[k] = e->released[k] || e->down[k], e->down[k] = false;
    if (!focused) e->modifiers = 0;
}

window *window_create(const char *title, int width, int height, ctn_error *err)
{
    window *const w = calloc(1, sizeof *w);
    if (!w) return fail(err, CTN_NO_MEMORY, "not enough memory for a window"), NULL;
    glfwSetErrorCallback(on_error);
    if (!glfwInit()) {
        fail(err, CTN_UNAVAILABLE, "no window can be opened: %s; catena render makes pictures and movies without a display",
             glfw_trouble);
        return free(w), NULL;
    }
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3), glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE), glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
    glfwWindowHint(GLFW_CONTEXT_ROBUSTNESS, GLFW_LOSE_CONTEXT_ON_RESET);  // where the driver can say so
    glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
    glfwWindowHint(GLFW_SAMPLES, 0);  // the renderer has samples of its own
    w->handle = glfwCreateWindow(width, height, title, NULL, NULL);
    if (!w->handle) {
        fail(err, CTN_UNAVAILABLE, "no window with OpenGL 3.3 can be opened: %s", glfw_trouble);
        return window_free(w), NULL;
    }
    glfwSetWindowUserPointer(w->handle, w);
    glfwMakeContextCurrent(w->handle);
    if (!gladLoadGL(glfwGetProcAddress)) {
        fail(err, CTN_UNAVAILABLE, "the display's OpenGL lacks functions of 3.3 core");
        return window_free(w), NULL;
    }
    glfwSwapInterval(1);
    glfwSetKeyCallback(w->handle, on_key), glfwSetMouseButtonCallback(w->handle, on_button);
    glfwSetCursorPosCallback(w->handle, on_move), glfwSetScrollCallback(w->handle, on_scroll);
    glfwSetDropCallback(w->handle, on_drop), glfwSetWindowFocusCallback(w->handle, on_focus);
    return w;
}

void window_free(window *w)
{
    if (!w) return;
    if (w->handle) glfwDestroyWindow(w->handle);
    glfwTerminate();
    free(w);
}

void window_set_title(window *w, const char *title) { glfwSetWindowTitle(w->handle, title); }

void *window_handle(window *w) { return w->handle; }

bool window_poll(window *w, double seconds, window_events *events)
{
    if (seconds > 0) glfwWaitEventsTimeout(seconds);
    else glfwPollEvents();
    window_events *const e = &w->events;
    *events = *e;
    memset(e->pressed, 0, sizeof e->pressed), memset(e->released, 0, sizeof e->released);
    e->scroll = 0, e->keys = 0, e->dropped[0] = 0;
    return !glfwWindowShouldClose(w->handle);
}

void window_close(window *w) { glfwSetWindowShouldClose(w->handle, GLFW_TRUE); }

void window_size(const window *w, int *width, int *height)
{
    *width = *height = 0;
    if (!glfwGetWindowAttrib(w->handle, GLFW_ICONIFIED)) glfwGetFramebufferSize(w->handle, width, height);
}

double window_density(const window *w)
{
    float x, y;
    glfwGetWindowContentScale(w->handle, &x, &y);
    return fmax(x, y);
}

double window_scale(const window *w)
{
    int units, pixels, rows;
    glfwGetWindowSize(w->handle, &units, &rows), glfwGetFramebufferSize(w->handle, &pixels, &rows);
    return pixels > 0 ? window_density(w) * units / pixels : 1;  // some displays count in points, some in pixels
}

double window_units(const window *w)
{
    int width, height;
    glfwGetWindowSize(w->handle, &width, &height);
    return fmax(width, 1);
}

void window_swap(window *w) { glfwSwapBuffers(w->handle); }

void window_toggle_full_screen(window *w)
{
    if (glfwGetWindowMonitor(w->handle)) {
        glfwSetWindowMonitor(w->handle, NULL, w->place[0], w->place[1], w->place[2], w->place[3], GLFW_DONT_CARE);
        return;
    }
    GLFWmonitor *const screen = glfwGetPrimaryMonitor();
    const GLFWvidmode *const mode = screen ? glfwGetVideoMode(screen) : NULL;
    if (!mode) return;
    glfwGetWindowPos(w->handle, &w->place[0], &w->place[1]), glfwGetWindowSize(w->handle, &w->place[2], &w->place[3]);
    glfwSetWindowMonitor(w->handle, screen, 0, 0, mode->width, mode->height, mode->refreshRate);
}

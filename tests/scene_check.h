/// What the tests of the scene reader share: short texts, numbers compared one by one, errors looked up in a message.
#ifndef CATENA_TESTS_SCENE_CHECK_H
#define CATENA_TESTS_SCENE_CHECK_H

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MASS "mass: 1, inertia: [1, 1, 1, 0, 0, 0]"
#define A "  - {name: a, joint: revolute, " MASS "}\n"
#define LINKS "catena: 1\nlinks:\n"
#define TOP(text) LINKS A text "\n"

static inline ctn_scene *parse(const char *text)
{
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "folder/t.yaml", &err);
    ck_assert_msg(scene != 0, "%s\nin\n%s", err.message, text);
    ck_assert_int_eq(err.count, 0);  // a call that succeeds leaves the error alone
    return scene;
}

static inline void near(const double *got, const double *expected, int n, double tolerance, const char *what)
{
    for (int i = 0; i < n; i++)
        ck_assert_msg(fabs(got[i] - expected[i]) <= tolerance, "%s[%d]: expected %.17g, got %.17g", what, i, expected[i], got[i]);
}
#define EXACT(got, ...) near((got), (double[]){__VA_ARGS__}, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), 0, #got)
#define NEAR(got, tolerance, ...)                                                                                                \
    near((got), (double[]){__VA_ARGS__}, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (tolerance), #got)

static inline bool contains_any_case(const char *text, const char *words)
{
    for (; *text; text++)
        if (!strncasecmp(text, words, strlen(words))) return true;
    return !*words;
}

/// Whether `message` has a line that starts with "file:line:column: " (column 0: any; line 0: any line) and contains `words`.
static inline bool has_error(const char *message, const char *file, int line, int column, const char *words, bool any_case)
{
    char prefix[512] = "";
    if (column) snprintf(prefix, sizeof prefix, "%s:%d:%d: ", file, line, column);
    else if (line) snprintf(prefix, sizeof prefix, "%s:%d:", file, line);
    for (const char *at = message; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : 0) {
        char text[1024];
        snprintf(text, sizeof text, "%.*s", (int)strcspn(at, "\n"), at);
        if (strncmp(text, prefix, strlen(prefix))) continue;
        const char *const rest = text + strlen(prefix);
        if (any_case ? contains_any_case(rest, words) : strstr(rest, words) != 0) return true;
    }
    return false;
}

#endif

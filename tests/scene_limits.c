/// Statuses of bad scenes, and limits: how many errors and warnings are listed, how long messages get, how large a scene is read.
#include "tests/scene_check.h"
#include "tests/suite.h"

#include <stdlib.h>

static ctn_status status_of(const char *text)
{
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ctn_scene_free(scene);
    return scene ? CTN_OK : err.status;
}

START_TEST(statuses)
{
    ck_assert_int_eq(status_of(TOP("")), CTN_OK);
    ck_assert_int_eq(status_of(TOP("wrong: 1")), CTN_BAD_SCENE);
    ck_assert_int_eq(status_of(TOP("record: {}")), CTN_UNAVAILABLE);
    ck_assert_int_eq(status_of(TOP("integrator: {method: collocation, order: 4}")), CTN_OK);
    ck_assert_int_eq(status_of(TOP("integrator: {method: radau, dt: 0}")), CTN_BAD_SCENE);
    ck_assert_int_eq(status_of(TOP("integrator: {dt: 0}")), CTN_BAD_SCENE);
    ck_assert_int_eq(status_of(TOP("include: [nowhere.yaml]")), CTN_IO);
    ck_assert_int_eq(status_of(TOP("include: [nowhere.yaml]\nwrong: 1")), CTN_BAD_SCENE);

    ctn_error err = {0};
    ck_assert_ptr_null(ctn_scene_load("nowhere.yaml", &err));
    ck_assert_int_eq(err.status, CTN_IO);
    ck_assert_int_eq(err.count, 1);
    ck_assert_str_eq(err.message, "nowhere.yaml: cannot be read: No such file or directory");
    ck_assert_ptr_null(ctn_scene_load("/", &err));
    ck_assert_int_eq(err.status, CTN_IO);
    ck_assert_ptr_null(ctn_scene_load(0, &err));
    ck_assert_int_eq(err.status, CTN_BAD_ARGUMENT);
    ck_assert_ptr_null(ctn_scene_parse(0, 0, "t.yaml", &err));
    ck_assert_int_eq(err.status, CTN_BAD_ARGUMENT);
    ck_assert_ptr_null(ctn_scene_parse("", 0, 0, &err));
    ck_assert_int_eq(err.status, CTN_BAD_ARGUMENT);

    // an error that nobody wants to read
    ck_assert_ptr_null(ctn_scene_load("nowhere.yaml", 0));
    ck_assert_ptr_null(ctn_scene_parse("a", 1, "t.yaml", 0));
    ctn_scene_free(0);
}
END_TEST

START_TEST(at_most_twenty)
{
    char text[4096] = LINKS;
    for (int i = 0; i < 30; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "  - {name: a%d, wrong%d: 1, " MASS "}\n", i, i);
    ctn_error err = {0};
    ck_assert_ptr_null(ctn_scene_parse(text, strlen(text), "t.yaml", &err));
    ck_assert_int_eq(err.count, 20);
    int lines = 1;
    for (const char *c = err.message; *c; c++) lines += *c == '\n';
    ck_assert_int_eq(lines, 21);
    ck_assert_str_eq(strrchr(err.message, '\n'), "\n... and maybe more; reading stopped here");
    for (int i = 0; i < 20; i++) {
        char words[32];
        snprintf(words, sizeof words, "wrong%d: unknown key", i);
        ck_assert(has_error(err.message, "t.yaml", 3 + i, i < 10 ? 16 : 17, words, false));
    }
}
END_TEST

/// Warnings are counted on when their list is full, each of them once.
START_TEST(at_most_twenty_warnings)
{
    static char text[65536];
    strcpy(text, "catena: 1\ndefaults: {joint: {type: revolute, effort: 5}}\nlinks:\n");
    for (int i = 0; i < 60; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "  - {name: a%d, density: 1, %s, " MASS "}\n", i,
                 i < 30 ? "joint: {type: revolute, effort: 1}" : "joint: revolute");
    ctn_scene *const scene = parse(text);
    const char *const warnings = ctn_scene_warnings(scene);
    int lines = 1;
    for (const char *c = warnings; *c; c++) lines += *c == '\n';
    ck_assert_int_eq(lines, 21);
    ck_assert_str_eq(strrchr(warnings, '\n'), "\n... and 71 more");
    ctn_scene_free(scene);
}
END_TEST

START_TEST(long_messages_are_cut_at_lines)
{
    char name[1200], text[4096] = LINKS;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    for (int i = 0; i < 20; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "  - {name: a%d, wrong: 1, " MASS "}\n", i);
    ctn_error err = {0};
    ck_assert_ptr_null(ctn_scene_parse(text, strlen(text), name, &err));
    int lines = 1;
    for (const char *c = err.message; *c; c++) lines += *c == '\n';
    ck_assert_int_eq(lines, err.count + 1);
    ck_assert_int_eq(err.count, 6);  // of 1300 characters each
    ck_assert_str_eq(strrchr(err.message, '\n'), "\n... and 14 more; reading stopped here");
    ck_assert(strstr(err.message, "shapes") != 0);

    // a single one that does not fit
    static char longer[9000];
    memset(longer, 'n', sizeof longer - 1);
    ck_assert_ptr_null(ctn_scene_parse(text, strlen(text), longer, &err));
    ck_assert_int_eq(err.count, 1);
    ck_assert_uint_eq(strlen(err.message), sizeof err.message - 1);
}
END_TEST

/// Texts that are large without saying much are refused, not stored.
START_TEST(too_large)
{
    const size_t length = 128u * 1024 * 1024 + 1;
    char *const text = malloc(length);
    ck_assert_ptr_nonnull(text);
    memset(text, ' ', length);
    ctn_error err = {0};
    ck_assert_ptr_null(ctn_scene_parse(text, length, "t.yaml", &err));
    ck_assert_str_eq(err.message, "t.yaml:1:1: too large; the files of a scene have at most 134217728 bytes together");

    const size_t head = strlen("catena: 1\nsample: ["), values = 12000000;
    memcpy(text, "catena: 1\nsample: [", head);
    for (size_t i = 0; i < values; i++) memcpy(text + head + 2 * i, "1,", 2);
    text[head + 2 * values] = ']';
    ck_assert_ptr_null(ctn_scene_parse(text, head + 2 * values + 1, "t.yaml", &err));
    ck_assert(has_error(err.message, "t.yaml", 2, 0, "too many values; at most 12000000 are allowed", false));
    free(text);
}
END_TEST

START_TEST(too_many_links_and_shapes)
{
    ctn_error err = {0};
    const char *const links = LINKS "  - chain: {name: c, count: 1000000, step: [1, 0, 0]}\n  - {name: a}\n";
    ck_assert_ptr_null(ctn_scene_parse(links, strlen(links), "t.yaml", &err));
    ck_assert_str_eq(err.message, "t.yaml:4:5: links[1]: too many links; a scene has at most 1000000");

    // a thousand and one shapes for each of a thousand links
    const size_t size = 200000;
    char *const text = malloc(size);
    ck_assert_ptr_nonnull(text);
    size_t n = (size_t)sprintf(text, "catena: 1\ndefaults:\n  density: 1\n  shapes: [");
    for (int i = 0; i < 1001; i++) n += (size_t)sprintf(text + n, "{type: sphere, radius: 1},");
    n += (size_t)sprintf(text + n, "]\nlinks:\n");
    for (int i = 0; i < 1000; i++) n += (size_t)sprintf(text + n, "  - {name: a%d}\n", i);
    ck_assert_uint_lt(n, size);
    ck_assert_ptr_null(ctn_scene_parse(text, n, "t.yaml", &err));
    ck_assert_str_eq(err.message, "t.yaml:4:11: defaults.shapes: too many shapes; a scene has at most 1000000");
    free(text);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("scene limits");
    TCase *const texts = tcase_create("texts");
    tcase_add_test(texts, statuses);
    tcase_add_test(texts, at_most_twenty);
    tcase_add_test(texts, at_most_twenty_warnings);
    tcase_add_test(texts, long_messages_are_cut_at_lines);
    suite_add_tcase(suite, texts);
    TCase *const large = tcase_create("large");
    tcase_set_timeout(large, 120);
    tcase_add_test(large, too_large);
    tcase_add_test(large, too_many_links_and_shapes);
    suite_add_tcase(suite, large);
    return run_suite(suite);
}

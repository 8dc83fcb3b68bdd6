/// `catena bench crossover`: the form of what it prints, which is all that does not hang on the machine.
#include "tests/command.h"
#include "tests/suite.h"

#include <check.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIZES = 9 };

/// The last of `sizes` from which on `gain` stays above 1; 0: of none.
static int expected_from(const int *sizes, const double *gain)
{
    int k = SIZES;
    while (k && gain[k - 1] > 1) k--;
    return k < SIZES ? sizes[k] : 0;
}

START_TEST(tables)
{
    outcome o = catena("bench", "crossover", "--steps", "1", "--threads", "3");
    ck_assert_msg(o.status == 0 && !*o.err, "%s", o.err);
    const char *at = o.out;
    static const char *const names[] = {"A step of collocation of order 2:\n", "\nA step of alpha:\n"};
    for (int i = 0; i < 2; i++) {
        int links[SIZES], length = 0;
        double gain[2][SIZES];
        ck_assert_msg(!strncmp(at, names[i], strlen(names[i])), "%s", at);
        at += strlen(names[i]), at += strcspn(at, "\n") + 1;
        for (int k = 0; k < SIZES; k++, at += length) {
            double world, one, all;
            const int n =
                sscanf(at, "%d %lf %lf %lf %lf %lf%n", &links[k], &world, &one, &gain[0][k], &all, &gain[1][k], &length);
            ck_assert_msg(n == 6 && world > 0 && one > 0 && all > 0 && (!k || links[k] == 2 * links[k - 1]), "%s", at);
            ck_assert(fabs(gain[0][k] - world / one) < 0.01 + 1e-3 * gain[0][k]);
            ck_assert(fabs(gain[1][k] - world / all) < 0.01 + 1e-3 * gain[1][k]);
        }
        for (int w = 0; w < 2; w++) {
            char says[100];
            const int from = expected_from(links, gain[w]);
            snprintf(says, sizeof says, w ? "on 3 threads along the links pays " : "on 1 thread along the links pays ");
            ck_assert_msg((at = strstr(at, says)) != NULL, "%s", o.out);
            at += strlen(says);
            snprintf(says, sizeof says, from ? "from %d links on\n" : "nowhere\n", from);
            bool close = false;  // a gain that is 1.00 as it is printed may be either
            for (int k = 0; k < SIZES; k++) close = close || fabs(gain[w][k] - 1) < 0.006;
            ck_assert_msg(close || !strncmp(at, says, strlen(says)), "%s for %s", at, says);
            at += strcspn(at, "\n") + 1;
        }
    }
    ck_assert_str_eq(at, "");
    outcome_free(&o);
}
END_TEST

START_TEST(json)
{
    outcome o = catena("bench", "crossover", "--steps", "1", "--threads", "2", "--json");
    ck_assert_msg(o.status == 0, "%s", o.err);
    cJSON *const root = cJSON_Parse(o.out), *const methods = cJSON_GetObjectItem(root, "methods");
    ck_assert_msg(cJSON_GetObjectItem(root, "threads")->valueint == 2 && cJSON_GetArraySize(methods) == 2, "%s", o.out);
    for (int i = 0; i < 2; i++) {
        static const char *const ways[] = {"one_thread", "threads"};
        const cJSON *const one = cJSON_GetArrayItem(methods, i), *const ropes = cJSON_GetObjectItem(one, "ropes");
        ck_assert_str_eq(cJSON_GetObjectItem(one, "method")->valuestring, i ? "alpha" : "collocation");
        ck_assert_int_eq(cJSON_GetArraySize(ropes), SIZES);
        for (int w = 0; w < 2; w++) {
            int links[SIZES];
            double gain[SIZES];
            for (int k = 0; k < SIZES; k++) {
                const cJSON *const rope = cJSON_GetArrayItem(ropes, k);
                links[k] = cJSON_GetObjectItem(rope, "links")->valueint;
                gain[k] = cJSON_GetObjectItem(rope, "worlds")->valuedouble / cJSON_GetObjectItem(rope, ways[w])->valuedouble;
            }
            ck_assert_int_eq(cJSON_GetArrayItem(cJSON_GetObjectItem(one, "pays_from"), w)->valueint, expected_from(links, gain));
        }
    }
    cJSON_Delete(root);
    outcome_free(&o);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("cli bench");
    TCase *const t = tcase_create("cli bench");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, tables);
    tcase_add_test(t, json);
    suite_add_tcase(s, t);
    return run_suite(s);
}

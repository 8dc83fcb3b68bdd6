/// Thin layer over cJSON: exact numbers, and no half objects.
#include "cli/base/json.h"

#include "cli/base/message.h"
#include "sim/base/config.h"
#include "sim/base/printable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void json_format(double x, char *text)
{
    if (!isfinite(x)) {
        strcpy(text, "null");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, JSON_NUMBER, "%.*g", digits, x);
        if (strtod(text, NULL) == x) return;
    }
}

/// Without memory the program ends here: an object that lacks a member would look like a whole one.
static void add(cJSON *to, const char *key, cJSON *item)
{
    if (to && item && (key ? cJSON_AddItemToObject(to, key, item) : cJSON_AddItemToArray(to, item))) return;
    cJSON_Delete(item);
    run_error("not enough memory");
    exit(EXIT_RUN);
}

void json_number(cJSON *to, const char *key, double x)
{
    char text[JSON_NUMBER];
    json_format(x, text);
    add(to, key, cJSON_CreateRaw(text));
}

void json_numbers(cJSON *to, const char *key, const double *x, size_t count)
{
    char *const text = malloc(count * JSON_NUMBER + 3);
    size_t used = 0;
    if (text) {
        text[used++] = '[';
        for (size_t k = 0; k < count; k++) {
            if (k) text[used++] = ',';
            json_format(x[k], text + used);
            used += strlen(text + used);
        }
        strcpy(text + used, "]");
    }
    add(to, key, text ? cJSON_CreateRaw(text) : NULL);
    free(text);
}

void json_text(cJSON *to, const char *key, const char *text) { add(to, key, cJSON_CreateString(text)); }

cJSON *json_object(cJSON *to, const char *key)
{
    cJSON *const object = cJSON_CreateObject();
    if (to || !object) add(to, key, object);
    return object;
}

cJSON *json_array(cJSON *to, const char *key)
{
    cJSON *const array = cJSON_CreateArray();
    add(to, key, array);
    return array;
}

void json_lines(cJSON *to, const char *key, const char *text)
{
    cJSON *const lines = json_array(to, key);
    while (*text) {
        const size_t length = strcspn(text, "\n");
        char *const line = strndup(text, length);
        add(lines, NULL, line ? cJSON_CreateString(line) : NULL);
        free(line);
        text += length + (text[length] == '\n');
    }
}

void json_configuration(cJSON *to, const ctn_batch_config *cfg)
{
    double value;
    const char *const number = method_number(cfg, &value);
    json_text(to, "method", ctn_method_name(cfg->method));
    if (number) json_number(to, number, value);
    if (ctn_method_is_implicit(cfg->method)) {
        json_text(to, "solver", ctn_solver_name(cfg->solver));
        json_number(to, cfg->adaptive ? "solver_tolerance" : "tolerance", cfg->tolerance);
    }
    json_number(to, "dt", cfg->dt);
    cJSON_AddBoolToObject(to, "adaptive", cfg->adaptive);
    if (cfg->adaptive) json_number(to, "tolerance", cfg->error_tolerance);
    json_text(to, "parallel", ctn_parallel_name(cfg->parallel));
    if (cfg->lanes) json_number(to, "lanes", cfg->lanes);
}

void json_put(FILE *out, const char *text)
{
    size_t size;
    for (const char *hidden; (hidden = find_unprintable(text, &size)); text = hidden + size) {
        const long code = character_at(hidden, &size);
        fwrite(text, 1, (size_t)(hidden - text), out);
        if (*hidden == '\n' || *hidden == '\t') putc(*hidden, out);
        else if (code > 0xffff) fprintf(out, "\\u%04lx\\u%04lx", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
        else fprintf(out, "\\u%04lx", code < 0 ? 0xfffd : code);
    }
    fputs(text, out);
}

int json_print(cJSON *object)
{
    char *const text = cJSON_Print(object);
    cJSON_Delete(object);
    if (!text) return run_error("not enough memory");
    json_put(stdout, text);
    putchar('\n');
    cJSON_free(text);
    return EXIT_OK;
}

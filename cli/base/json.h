/// JSON with numbers that read back to the same double. (cJSON's own numbers may be off by one in the last place.)
#ifndef CATENA_CLI_JSON_H
#define CATENA_CLI_JSON_H

#include <catena/batch.h>
#include <cjson/cJSON.h>
#include <stdio.h>

enum { JSON_NUMBER = 32 };

/// Writes `x` into text [JSON_NUMBER] with as few digits as read back to it; "null" if it is not finite.
void json_format(double x, char *text);

/// Add to an object, `key` NULL: to an array.
void json_number(cJSON *to, const char *key, double x);
void json_numbers(cJSON *to, const char *key, const double *x, size_t count);
void json_text(cJSON *to, const char *key, const char *text);
cJSON *json_object(cJSON *to, const char *key);
cJSON *json_array(cJSON *to, const char *key);

/// Each line of `text` as an entry of an array.
void json_lines(cJSON *to, const char *key, const char *text);

/// The method with its numbers, solver, tolerances and time step.
void json_configuration(cJSON *to, const ctn_batch_config *cfg);

/// Writes JSON with escapes for characters of its texts that must not be shown (sim/base/printable.h); bytes that are no UTF-8
/// become U+FFFD.
void json_put(FILE *out, const char *text);

/// Prints the object on standard output and frees it. Returns an exit status; main sees whether it could be written.
int json_print(cJSON *object);

#endif

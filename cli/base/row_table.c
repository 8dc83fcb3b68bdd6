#include "cli/base/row_table.h"

#include "cli/base/message.h"
#include "sim/base/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/// Copies rows up to `done`; a line that a killed run began is left behind, and so is what is no such row.
static void copy_rows(FILE *from, FILE *to, long done)
{
    char *line = NULL, *end;
    size_t room = 0;
    while (getline(&line, &room, from) > 0) {
        const long number = strtol(line, &end, 10);
        if (end != line && *end == ',' && number <= done && strchr(line, '\n')) fputs(line, to);
    }
    free(line);
}

FILE *row_table_open(const char *path, const char *const *columns, int count, long done)
{
    ctn_error err;
    new_file f = {0};
    if (new_file_open(&f, path, &err) != CTN_OK) return status_error(&err, ""), NULL;
    for (int k = 0; k < count; k++) fprintf(f.stream, k ? ",%s" : "%s", columns[k]);
    fputc('\n', f.stream);
    FILE *const before = done ? fopen(path, "r") : NULL;
    if (before) copy_rows(before, f.stream, done), fclose(before);
    if (new_file_close(&f, true, &err) != CTN_OK) return status_error(&err, ""), NULL;
    FILE *const table = fopen(path, "a");
    if (!table) run_error("%s: cannot be written: %s", path, strerror(errno));
    return table;
}

bool row_table_written(FILE *table, const char *path)
{
    return (!fflush(table) && !ferror(table)) || (run_error("%s: cannot be written: %s", path, strerror(errno)), false);
}

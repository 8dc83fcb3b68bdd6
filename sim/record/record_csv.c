/// Recordings as text: `#` lines that say what was run, a line of column names, then one line a record and world.
#include "sim/base/new_file.h"
#include "sim/record/record.h"
#include "sim/scene/scene.h"
#include "sim/base/status.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

typedef struct csv {
    new_file out;
    char *path;
    locale_t c;  // numbers are written with a decimal point, whatever the program's locale
    int worlds, nq, nv, nlink, members, sensors, contacts;  // contacts: numbers of them
    off_t whole;  // bytes up to the last line that was written
    bool failed;
} csv;

static ctn_status cannot_write(const char *path, ctn_error *err)
{
    return fail(err, CTN_IO, "%s: cannot be written: %s", path, strerror(errno ? errno : EIO));
}

/// One field, quoted if it has to be.
static void put_field(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"#")) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"') putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

/// Text after `before`, each further line after `again`. A last line without its end gets one.
static void put_lines(FILE *out, const char *before, const char *again, const char *text)
{
    for (const char *line = before; *text; line = again) {
        const size_t length = strcspn(text, "\n");
        fprintf(out, "%s%.*s\n", line, (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static void put_notes(FILE *out, const record_head *head)
{
    for (int i = 0; i < head->nnote; i++) {
        const record_note *const n = &head->notes[i];
        fprintf(out, "# %s:", n->name);
        if (n->text) put_lines(out, " ", "#   ", n->text);
        for (int k = 0; k < n->count; k++) fprintf(out, n->whole ? " %.0f" : " %.17g", n->numbers[k]);
        if (!n->text || !*n->text) putc('\n', out);
    }
    for (int l = 0; l < head->nlink; l++) {
        const ctn_link *const link = ctn_model_link(head->model, l), *const parent = ctn_model_link(head->model, link->parent);
        fprintf(out, "# link: %s, %s on %s, q %d %d, v %d %d, %.17g kg\n", link->name, joint_name(link->joint),
                parent ? parent->name : "world", link->qadr, link->nq, link->vadr, link->nv, link->mass);
    }
    for (int f = 0; f < head->scene->nfile; f++) {
        const scene_file *const file = &head->scene->files[f];
        if (file->mesh) {
            char hash[CONTENT_HASH];
            content_hash(file->text, file->length, hash);
            fprintf(out, "# mesh: %s, %zu bytes, %s\n", file->path, file->length, hash);
            continue;
        }
        fprintf(out, "# file: %s\n", file->path);
        put_lines(out, "# | ", "# | ", file->text);
    }
}

/// The names of all columns, or their units.
static void put_columns(FILE *out, const record_head *head, bool units)
{
    static const char *const parts[POSE_NUMBERS] = {"x", "y", "z", "qw", "qx", "qy", "qz"};
    char name[600];
    fputs(units ? "# units: s,1" : "time,world", out);
    for (int l = 0; l < head->nlink; l++) {
        const ctn_link *const link = ctn_model_link(head->model, l);
        for (int k = 0; k < link->nq; k++) {
            coordinate_name(link, k, name, sizeof name);
            putc(',', out), put_field(out, units ? coordinate_unit(link, k) : name);
        }
    }
    for (int l = 0; l < head->nlink; l++) {
        const ctn_link *const link = ctn_model_link(head->model, l);
        for (int k = 0; k < link->nv; k++) {
            velocity_name(link, k, name, sizeof name);
            putc(',', out), put_field(out, units ? velocity_unit(link, k) : name);
        }
    }
    for (int i = 0; i < head->members; i++) {
        snprintf(name, sizeof name, "%s", record_members[i].name);
        *strchr(name, '/') = '.';
        putc(',', out), put_field(out, units ? record_members[i].unit : name);
    }
    for (int l = 0; l < head->nlink; l++)
        for (int k = 0; k < POSE_NUMBERS; k++) {
            snprintf(name, sizeof name, "pose.%s.%s", ctn_model_link(head->model, l)->name, parts[k]);
            putc(',', out), put_field(out, units ? k < 3 ? "m" : "1" : name);
        }
    for (int i = 0; i < ctn_model_nsensor(head->model); i++) {
        const ctn_sensor *const s = ctn_model_sensor(head->model, i);
        for (int k = 0; k < s->count; k++) {
            sensor_name(head->model, s, k, name, sizeof name);
            putc(',', out), put_field(out, units ? sensor_unit(head->model, s, k) : name);
        }
    }
    for (int i = 0; i < head->contacts * CTN_CONTACT_NUMBERS; i++) {
        const char *unit;
        int link;
        if (!state_number(head->model, "contacts", (size_t)i, name, sizeof name, &unit, &link)) break;
        putc(',', out), put_field(out, units ? unit : name);
    }
    putc('\n', out);
}

static ctn_status csv_flush(void *file, ctn_error *err)
{
    csv *const f = file;
    FILE *const stream = f->out.stream;
    errno = 0;
    f->failed = fflush(stream) || ferror(stream);
    if (f->failed) return cannot_write(f->path, err);
    f->whole = ftello(stream);
    return CTN_OK;
}

static ctn_status csv_close(void *file, bool keep, ctn_error *err)
{
    csv *const f = file;
    const bool placed = f->out.stream && !f->out.made;
    ctn_status status = new_file_close(&f->out, keep && !f->failed, err);
    if (f->failed) status = cannot_write(f->path, err);
    // a line of which only a part fitted is none; a path that is no file keeps what it has
    if (status != CTN_OK && placed && truncate(f->path, f->whole)) errno = 0;
    if (f->c) freelocale(f->c);
    free(f->path);
    free(f);
    return status;
}

static void *csv_open(const char *path, const record_head *head, ctn_error *err)
{
    csv *const f = calloc(1, sizeof *f);
    if (f) f->path = strdup(path), f->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!f || !f->path || !f->c) {
        if (f) csv_close(f, false, NULL);
        fail(err, CTN_NO_MEMORY, "%s: not enough memory to record", path);
        return NULL;
    }
    f->worlds = head->worlds, f->nq = head->nq, f->nv = head->nv, f->nlink = head->nlink, f->members = head->members;
    f->sensors = head->sensors, f->contacts = head->contacts * CTN_CONTACT_NUMBERS;
    const ctn_status opened = new_file_open(&f->out, path, err);
    if (opened == CTN_OK) {
        const locale_t before = uselocale(f->c);
        put_notes(f->out.stream, head);
        put_columns(f->out.stream, head, true);
        put_columns(f->out.stream, head, false);
        uselocale(before);
    }
    if (opened == CTN_OK && csv_flush(f, err) == CTN_OK) return f;
    csv_close(f, false, NULL);
    return NULL;
}

static void put_numbers(FILE *out, const double *x, int count)
{
    for (int k = 0; k < count; k++) fprintf(out, ",%.17g", x[k]);
}

static ctn_status csv_add(void *file, const record_row *row, ctn_error *err)
{
    csv *const f = file;
    FILE *const stream = f->out.stream;
    const locale_t before = uselocale(f->c);
    ctn_status status = CTN_OK;
    for (int w = 0; w < f->worlds && status == CTN_OK; w++) {
        fprintf(stream, "%.17g,%d", row->time, w);
        put_numbers(stream, row->q + (size_t)w * (size_t)f->nq, f->nq);
        put_numbers(stream, row->v + (size_t)w * (size_t)f->nv, f->nv);
        for (int i = 0; i < f->members; i++) {
            const void *const at = (const char *)&row->world[w] + record_members[i].offset;
            switch (record_members[i].type) {
            case MEMBER_REAL: put_numbers(stream, at, 1); break;
            case MEMBER_LONG: fprintf(stream, ",%ld", *(const long *)at); break;
            case MEMBER_INT: fprintf(stream, ",%d", *(const int *)at); break;
            }
        }
        const int numbers = POSE_NUMBERS * f->nlink;
        put_numbers(stream, row->pose + (size_t)w * (size_t)numbers, numbers);
        if (f->sensors) put_numbers(stream, row->sensors + (size_t)w * (size_t)f->sensors, f->sensors);
        if (f->contacts) put_numbers(stream, row->contacts + (size_t)w * (size_t)f->contacts, f->contacts);
        putc('\n', stream);
        status = csv_flush(f, err);
    }
    uselocale(before);
    return status == CTN_OK && f->out.made ? new_file_place(&f->out, err) : status;  // with its first record
}

const record_format record_csv = {csv_open, csv_add, NULL, csv_flush, csv_close};

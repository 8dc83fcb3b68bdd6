/// Errors and warnings of a scene: collected with their places, sorted, listed.
#include "sim/base/printable.h"
#include "sim/scene/scene_reader.h"
#include "sim/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/// Copies `text` into words[size] so that it can stand in a message: one line, not too long, whole UTF-8 characters.
static void copy_printable(char *words, size_t size, const char *text)
{
    size_t n = strnlen(text, size - 4);
    const bool whole = !text[n];
    while (!whole && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--;  // not in the middle of a character
    memcpy(words, text, n);
    words[n] = 0;
    make_printable(words);
    if (!whole) strcat(words, "...");
}

excerpt printable(const char *text)
{
    excerpt e;
    copy_printable(e.text, sizeof e.text, text);
    return e;
}

excerpt found(const node *n)
{
    excerpt e = {"nothing"};
    if (n->kind == NODE_SEQUENCE) memcpy(e.text, "a list", sizeof "a list");
    else if (n->kind == NODE_MAPPING) memcpy(e.text, "a mapping", sizeof "a mapping");
    else if (!node_is_null(n)) {
        char words[48];
        copy_printable(words, sizeof words, n->text);
        snprintf(e.text, sizeof e.text, n->plain ? "'%s'" : "text '%s'", words);
    }
    return e;
}

/// The keys that lead to a node, "joint.axis[1]", then `key` if there is one. Paths inside an entry of `links` start at that
/// entry.
static void write_path(const node *n, const char *key, char *path, size_t size)
{
    const node *steps[DOCUMENT_DEPTH + 1];
    int count = 0;
    for (; n && n->up; n = n->up) steps[count++] = n;
    const bool in_links =
        count >= 2 && steps[count - 1]->key && !strcmp(steps[count - 1]->key->text, "links") && !steps[count - 2]->key;
    if (in_links && (count > 2 || key)) count -= 2;
    size_t used = 0;
    path[0] = 0;
    while (count-- > 0 && used < size) {
        const node *const step = steps[count];
        if (step->key) {
            char word[44];
            copy_printable(word, sizeof word, step->key->text);
            used += (size_t)snprintf(path + used, size - used, "%s%s", used ? "." : "", word);
        } else {
            int index = 0;
            for (const node *entry = step->up->child; entry != step; entry = entry->next) index++;
            used += (size_t)snprintf(path + used, size - used, "[%d]", index);
        }
    }
    if (key && used < size) snprintf(path + used, size - used, "%s%s", used ? "." : "", key);
}

/// The next letter of a text that says what kind of warning it is: names in quotes and numbers do not.
static const char *next_of_kind(const char *text)
{
    for (;;) {
        if (*text == '\'' && strchr(text + 1, '\'')) text = strchr(text + 1, '\'') + 1;
        else if (*text && strchr("0123456789.+-", *text)) text += strspn(text, "0123456789.+-e");
        else return text;
    }
}

static bool same_kind(const char *a, const char *b)
{
    for (a = next_of_kind(a), b = next_of_kind(b); *a && *a == *b;) a = next_of_kind(a + 1), b = next_of_kind(b + 1);
    return *a == *b;
}

static void add_problem(scene_problems *problems, const scene_problem *new_one)
{
    for (int i = 0; i < problems->count; i++) {
        const scene_problem *const p = &problems->list[i];
        if (p->file == new_one->file && p->line == new_one->line && p->column == new_one->column &&
            !strcmp(p->text, new_one->text))
            return;  // a default or a generator says the same for each of its links
    }
    for (int i = 0; i < problems->count && new_one->once; i++) {
        scene_problem *const p = &problems->list[i];
        if (!p->once || p->file != new_one->file || !same_kind(p->text, new_one->text)) continue;
        p->more++;
        return;
    }
    if (problems->count < SCENE_MAX_PROBLEMS) {
        problems->list[problems->count++] = *new_one;
        return;
    }
    const int file = new_one->file, line = new_one->line, column = new_one->column;
    for (int i = problems->nother - 1; i >= 0; i--)
        if (problems->others[i].line == line && problems->others[i].column == column && problems->others[i].file == file) return;
    if (problems->nother == SCENE_MAX_OTHERS) return;
    problems->others[problems->nother].file = file;
    problems->others[problems->nother].line = line;
    problems->others[problems->nother++].column = column;
}

/// The text of a problem: its key, then the formatted message.
static void write_problem(scene_problem *p, const char *key, const char *format, va_list args)
{
    const size_t used = *key ? (size_t)snprintf(p->text, sizeof p->text, "%s: ", key) : 0;
    p->key = (int)strlen(key);
    vsnprintf(p->text + used, sizeof p->text - used, format, args);
    make_printable(p->text);  // one line, whatever the words of the file that it quotes
}

/// A problem at `at`; its text is the path of `n` and `key`, then the formatted message.
static void report(source *s, scene_problems *problems, const node *at, ctn_status status, const node *n, const char *key,
                   const char *format, va_list args)
{
    if (s->quiet) return;
    const bool left_out = s->lenient && problems == &s->r->errors;
    if (left_out) problems = &s->r->scene->warnings, status = CTN_OK;
    scene_problem p = {.file = at->file ? at->file : s->file, .line = at->line, .column = at->column, .status = status};
    p.once = s->of_robot && problems == &s->r->scene->warnings;
    char path[160];
    write_path(n, key, path, sizeof path);
    write_problem(&p, path, format, args);
    if (left_out) strncat(p.text, "; left out", sizeof p.text - strlen(p.text) - 1);
    add_problem(problems, &p);
}

void scene_warn(ctn_scene *scene, const scene_link *link, const scene_place *at, const char *key, const char *format, ...)
{
    scene_problem p = {.line = at ? at->line : link->line, .column = at ? at->column : link->column, .status = CTN_OK};
    while (scene->files[p.file].path != link->file) p.file++;
    va_list args;
    va_start(args, format);
    write_problem(&p, key, format, args);
    va_end(args);
    add_problem(&scene->warnings, &p);
    list_problems(&scene->warnings, scene->files, &scene->warned);
}

ctn_status scene_refuse(const ctn_scene *scene, const ctn_error *why, ctn_error *err)
{
    static const char *const names[SETTINGS] = {"method", "order", "solver", "dt", "parallel"};
    const size_t length = strcspn(why->message, ":");
    for (int k = 0; k < SETTINGS; k++) {
        const scene_place at = scene->settings[k];
        char key[40];
        if (strlen(names[k]) != length || strncmp(names[k], why->message, length) != 0 || !at.line) continue;
        snprintf(key, sizeof key, "integrator.%s", names[k]);
        return fail_at(err, why->status, scene->path, at.line, at.column, key, "%s", why->message + length + 2);
    }
    return fail(err, why->status, "%s: %s", scene->path, why->message);
}

bool bad_value(source *s, const node *value, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(s, &s->r->errors, value, CTN_BAD_SCENE, value, 0, format, args);
    va_end(args);
    return false;
}

bool bad_key(source *s, const node *value, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(s, &s->r->errors, value->key ? value->key : value, CTN_BAD_SCENE, value, 0, format, args);
    va_end(args);
    return false;
}

bool missing_key(source *s, const node *mapping, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(s, &s->r->errors, mapping, CTN_BAD_SCENE, mapping, key, format, args);
    va_end(args);
    return false;
}

void warn(source *s, const node *value, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(s, &s->r->scene->warnings, value, CTN_OK, value, 0, s->of_robot ? format : format, args);
    va_end(args);
}

__attribute__((format(printf, 5, 6))) static void report_status(source *s, const node *at, const node *value, ctn_status status,
                                                                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(s, &s->r->errors, at, status, value, 0, format, args);
    va_end(args);
}

bool bad_status(source *s, const node *value, ctn_status status, const char *text)
{
    report_status(s, value, value, status, "%s", text);
    return false;
}

bool unavailable(source *s, const node *value)
{
    report_status(s, value->key ? value->key : value, value, CTN_UNAVAILABLE, "not available in this version");
    return false;
}

bool bad_place(source *s, int line, int column, ctn_status status, const char *text)
{
    report_status(s, &(node){.line = line, .column = column}, 0, status, "%s", text);
    return false;
}

bool out_of_memory(source *s)
{
    s->r->no_memory = true;
    return false;
}

void links_unknown(source *s) { s->layout_known = s->r->parents_known = s->r->names_known = false; }

bool hopeless(const source *s) { return s->r->no_memory || s->r->errors.count == SCENE_MAX_PROBLEMS; }

static bool stands_before(const scene_problem *a, const scene_problem *b)
{
    if (a->file != b->file) return a->file < b->file;
    if (a->line != b->line) return a->line < b->line;
    return a->column < b->column;
}

void list_problems(scene_problems *problems, const scene_file *files, ctn_error *list)
{
    for (int i = 1; i < problems->count; i++) {
        const scene_problem p = problems->list[i];
        int j = i;
        for (; j > 0 && stands_before(&p, &problems->list[j - 1]); j--) problems->list[j] = problems->list[j - 1];
        problems->list[j] = p;
    }
    enum { SIZE = sizeof list->message, TAIL = 80 };  // room for the last line
    int used = 0;
    list->count = list->placed = 0;
    list->message[0] = 0;
    for (int i = 0; i < problems->count && SIZE - used > TAIL; i++) {
        const scene_problem *const p = &problems->list[i];
        char text[sizeof p->text + 40], more[40] = "";
        if (p->more) snprintf(more, sizeof more, " (and %d more like it)", p->more);
        snprintf(text, sizeof text, "%s%s", p->text, more);
        const int n = place_line(list, used, files[p->file].path, p->line, p->column, p->key, text);
        if (used && n >= SIZE - used - TAIL) {  // no room for this one
            list->message[used] = 0;
            list->placed = --list->count;
            break;
        }
        used += n;
    }
    if (used >= SIZE) return;  // a single one, cut
    // errors end the reading when the list is full; warnings do not
    const bool stopped = problems->count == SCENE_MAX_PROBLEMS && problems->list[0].status != CTN_OK;
    const int others = problems->count - list->count + (stopped ? 0 : problems->nother);
    const char *const end = stopped ? "; reading stopped here" : problems->nother == SCENE_MAX_OTHERS ? ", or still more" : "";
    char *const tail = list->message + used;
    const size_t size = (size_t)(SIZE - used);
    if (others) snprintf(tail, size, "\n... and %d more%s", others, end);
    else if (stopped) snprintf(tail, size, "\n... and maybe more%s", end);
}

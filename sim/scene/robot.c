/// What readers of URDF and MJCF share: errors, numbers, nodes, and the list of what was ignored.
#include "sim/scene/robot.h"

#include "sim/base/number.h"
#include "sim/scene/foreign.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- errors

bool robot_bad(robot *r, document_place at, const char *format, ...)
{
    char text[320];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->good = false;
    source there = *r->s;
    if (at.file) there.file = at.file;
    return bad_place(&there, at.line, at.column, CTN_BAD_SCENE, text);
}

void robot_warn(robot *r, document_place at, const char *format, ...)
{
    char text[320];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    warn(r->s, &(node){.file = at.file, .line = at.line, .column = at.column}, "%s", text);
}

const char *robot_need(robot *r, xml_element *e, const char *name)
{
    const char *const value = xml_value(e, name);
    if (!value) robot_bad(r, e->at, "<%s>: missing attribute %s=\"...\"", printable(e->name).text, name);
    return value;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

int robot_list(robot *r, const xml_attribute *a, int least, int most, double *x)
{
    const char *p = a->value;
    const excerpt whole = printable(a->value);
    int n = 0;
    for (;; n++) {
        const char *end;
        double number;
        while (is_blank(*p)) p++;
        if (!*p && n >= least) return n;
        if (n == most) {
            robot_bad(r, a->at, "%s: expected %d number%s, found more: '%s'", a->name, most, most == 1 ? "" : "s", whole.text);
            return 0;
        }
        const number_form form = number_from_text(p, &number, &end);
        if ((form != NUMBER_GOOD && form != NUMBER_TOO_SMALL) || (*end && !is_blank(*end))) {
            robot_bad(r, a->at, "%s: expected %d number%s, found '%s'%s", a->name, least, least == 1 ? "" : "s", whole.text,
                      (form == NUMBER_GOOD || form == NUMBER_TOO_SMALL) && *end == ',' ? "; blanks part numbers, no commas"
                                                                                       : number_form_remedy(form));
            return 0;
        }
        x[n] = form == NUMBER_TOO_SMALL ? 0 : number;
        p = end;
    }
}

bool robot_numbers(robot *r, xml_element *e, const char *name, int count, const double *fallback, double *x)
{
    const xml_attribute *const a = xml_find(e, name);
    if (a) return robot_list(r, a, count, count, x);
    if (!fallback) return robot_need(r, e, name);
    memmove(x, fallback, (size_t)count * sizeof *x);  // it may be the same
    return true;
}

// ---- nodes. What `out` refuses, it refuses from then on; robot_document() reports it.

static bool silent(const robot *r) { return r->problem.status != CTN_OK; }

static void say_key(robot *r, const char *key, document_place at)
{
    if (key && !silent(r)) build_scalar(&r->out, key, strlen(key), true, at);
}

void say_open(robot *r, const char *key, node_kind kind, document_place at)
{
    say_key(r, key, at);
    if (!silent(r)) build_open(&r->out, kind, at);
}

void say_close(robot *r)
{
    if (!silent(r)) build_close(&r->out);
}

static void say_scalar(robot *r, const char *key, const char *text, bool plain, document_place at)
{
    say_key(r, key, at);
    if (!silent(r)) build_scalar(&r->out, text, strlen(text), plain, at);
}

void say_word(robot *r, const char *key, const char *word, document_place at) { say_scalar(r, key, word, true, at); }
void say_text(robot *r, const char *key, const char *text, document_place at) { say_scalar(r, key, text, false, at); }

void say_number(robot *r, const char *key, double x, document_place at)
{
    char digits[32];
    for (int precision = 15; precision <= 17; precision++) {  // as few as say it
        snprintf(digits, sizeof digits, "%.*g", precision, x);
        if (strtod(digits, NULL) == x) break;
    }
    say_scalar(r, key, digits, true, at);
}

void say_numbers(robot *r, const char *key, const double *x, int count, document_place at)
{
    say_open(r, key, NODE_SEQUENCE, at);
    for (int i = 0; i < count; i++) say_number(r, NULL, x[i], at);
    say_close(r);
}

void say_unless_zero(robot *r, const char *key, const double *x, int count, document_place at)
{
    for (int i = 0; i < count; i++)
        if (x[i] != 0) return say_numbers(r, key, x, count, at);
}

// ---- what was ignored

/// A kind of thing that nobody looked at: an element, or an attribute of one.
typedef struct ignored {
    const char *element, *attribute;  // NULL: the element with all that is in it
    document_place first;
    int count;
} ignored;

enum { IGNORED_KINDS = 64 };

static void note(ignored *list, int *n, const char *element, const char *attribute, document_place at)
{
    for (int i = 0; i < *n; i++) {
        if (strcmp(list[i].element, element) != 0 || !list[i].attribute != !attribute) continue;
        if (attribute && strcmp(list[i].attribute, attribute) != 0) continue;
        list[i].count++;
        return;
    }
    if (*n < IGNORED_KINDS) list[(*n)++] = (ignored){element, attribute, at, 1};
}

/// Warns of each kind of element and attribute that no reader asked for, once, with how many there are.
static void list_ignored(robot *r)
{
    ignored list[IGNORED_KINDS];
    int n = 0;
    for (xml_element *e = r->root; e;) {
        for (int i = 0; e->used && i < e->count; i++)
            if (!e->attributes[i].used) note(list, &n, e->name, e->attributes[i].name, e->attributes[i].at);
        if (!e->used) note(list, &n, e->name, NULL, e->at);
        if (e->used && e->child) {
            e = e->child;
            continue;
        }
        while (e && !e->next) e = e->up;
        if (e) e = e->next;
    }
    for (int i = 0; i < n; i++) {
        const excerpt element = printable(list[i].element);
        if (list[i].attribute)
            robot_warn(r, list[i].first, "ignored: %s of <%s>, %d time%s", printable(list[i].attribute).text, element.text,
                       list[i].count, list[i].count == 1 ? "" : "s");
        else robot_warn(r, list[i].first, "ignored: <%s>, %d time%s", element.text, list[i].count, list[i].count == 1 ? "" : "s");
    }
}

// ---- files

bool is_robot_text(const char *text, size_t length)
{
    if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) text += 3, length -= 3;
    while (length && is_blank(*text)) text++, length--;
    return length && *text == '<';
}

const node *robot_document(source *s, const char *text, size_t length, document *doc)
{
    *doc = (document){0}, s->of_robot = true;
    const long most = SCENE_MAX_NODES - s->r->nodes;
    xml_document xml = {0};
    robot r = {.s = s, .xml = &xml, .good = true};
    ctn_status status = xml_parse(&xml, text, length, most, 0, &r.problem);
    if (status == CTN_OK) {
        r.root = xml.root, r.root->used = true;
        r.out = (document_builder){.doc = doc, .problem = &r.problem, .most = most};
        const document_place at = r.root->at;
        if (!strcmp(r.root->name, "robot")) {
            if (read_urdf(&r)) list_ignored(&r);
        } else if (!strcmp(r.root->name, "mujoco")) {
            if (read_mjcf(&r)) list_ignored(&r);
        } else if (!strcmp(r.root->name, "sdf")) {
            robot_bad(&r, at, "is SDF: nothing here reads such files; export it as URDF");
        } else {
            robot_bad(&r, at, "<%s> is no robot file: URDF begins with <robot>, MJCF with <mujoco>",
                      printable(r.root->name).text);
        }
        status = r.problem.status;
    }
    if (status == CTN_NO_MEMORY) out_of_memory(s);
    else if (status != CTN_OK) bad_place(s, r.problem.line, r.problem.column, status, r.problem.text);
    xml_free(&xml);
    return status == CTN_OK && r.good ? doc->root : NULL;
}

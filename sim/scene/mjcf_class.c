/// <default> classes of MJCF, and attributes that elements have of their own or by their class.
#include "sim/base/suggest.h"
#include "sim/scene/mjcf.h"

#include <string.h>

// ---- classes

static const char *class_name(const void *of, int i) { return ((const mjcf *)of)->classes[i].name; }

static bool add_class(mjcf *m, xml_element *e, const char *name, int up)
{
    const int other = name_table_find(&m->class_names, name);
    if (other >= 0)
        return robot_bad(m->r, e->at, "<default>: the class '%s' is there already, in line %d", printable(name).text,
                         m->classes[other].element->at.line);
    m->classes[m->nclass] = (mjcf_class){.name = name, .element = e, .up = up};
    if (!name_table_add(&m->class_names, m->nclass)) return out_of_memory(m->r->s);
    m->nclass++;
    return true;
}

/// The classes within a <default> at the top. Each is what the one around it was when it was made: so what follows at the top in
/// another <default> is not in it.
static bool read_section(mjcf *m, xml_element *top)
{
    int in = m->nclass - 1;  // the class whose elements we are among
    for (xml_element *e = top->child; e;) {
        bool inside = false;
        if (!strcmp(e->name, "default")) {
            const char *const name = robot_need(m->r, e, "class");
            inside = name && add_class(m, e, name, in) && e->child;
        }
        if (inside) {
            in = m->nclass - 1, e = e->child;
            continue;
        }
        while (!e->next && e->up != top) e = e->up, in = m->classes[in].up;
        e = e->next;
    }
    xml_use_all(top);
    return m->r->good;
}

static int count_classes(const xml_element *top)
{
    int count = 1;
    for (const xml_element *e = top; e;) {
        count += !strcmp(e->name, "default");
        if (e->child) {
            e = e->child;
            continue;
        }
        while (e != top && !e->next) e = e->up;
        e = e == top ? NULL : e->next;
    }
    return count;
}

bool mjcf_read_classes(mjcf *m)
{
    robot *const r = m->r;
    xml_element *const root = r->root;
    int count = 1;
    for (xml_element *e = xml_next(root->child, "default"); e; e = xml_next(e->next, "default")) count += count_classes(e);
    m->class_names = (name_table){.name = class_name, .of = m};
    m->classes = reader_alloc(r->s->r, (size_t)count * sizeof *m->classes);
    if (!m->classes) return false;
    m->main = -1;
    for (xml_element *e = xml_next(root->child, "default"); e; e = xml_next(e->next, "default")) {
        const char *const name = xml_value(e, "class");
        if (name && *name && strcmp(name, "main") != 0)
            return robot_bad(r, e->at, "<default>: at the top it is the class main; put '%s' inside of it", printable(name).text);
        m->classes[m->nclass++] = (mjcf_class){.name = "main", .element = e, .up = m->main};
        m->main = m->nclass - 1;
        if (!read_section(m, e)) return false;
    }
    const int other = name_table_find(&m->class_names, "main");
    if (other >= 0) return robot_bad(r, m->classes[other].element->at, "<default>: main is the class at the top");
    if (m->main < 0) m->classes[m->main = m->nclass++] = (mjcf_class){.name = "main", .up = -1};
    return name_table_add(&m->class_names, m->main) || out_of_memory(r->s);
}

int mjcf_find_class(mjcf *m, xml_element *e, const char *attribute, int inherited)
{
    const xml_attribute *const a = xml_find(e, attribute);
    const int class = a ? name_table_find(&m->class_names, a->value) : inherited;
    if (class >= 0 || !a) return class;
    const char *names[1000];
    int n = 0;
    for (; n < m->nclass && n < 1000; n++) names[n] = m->classes[n].name;
    const char *const meant = nearest_name(a->value, names, n);
    if (meant)
        robot_bad(m->r, a->at, "%s: unknown class '%s'; did you mean '%s'?", attribute, printable(a->value).text,
                  printable(meant).text);
    else robot_bad(m->r, a->at, "%s: unknown class '%s'; a <default> has the classes", attribute, printable(a->value).text);
    return -1;
}

mjcf_item mjcf_item_of(mjcf *m, xml_element *e, int inherited)
{
    return (mjcf_item){.element = e, .class = mjcf_find_class(m, e, "class", inherited >= 0 ? inherited : m->main)};
}

char *mjcf_text(mjcf *m, size_t length)
{
    char *const text = document_take(&m->r->xml->memory, length + 1);
    if (!text) out_of_memory(m->r->s);
    return text;
}

void mjcf_pass(mjcf_passed *list, document_place at)
{
    if (!list->count++) list->first = at;
}

void mjcf_ignore(mjcf *m, const xml_element *e, const char *why)
{
    int k = 0;
    while (k < m->nignored && (strcmp(m->ignored[k].name, e->name) != 0 || strcmp(m->ignored[k].why, why) != 0)) k++;
    if (k == MJCF_REASONS) {
        robot_warn(m->r, e->at, "ignored: <%s>: %s", e->name, why);
        return;
    }
    if (k == m->nignored) m->ignored[m->nignored++] = (mjcf_ignored){.name = e->name, .why = why};
    mjcf_pass(&m->ignored[k].passed, e->at);
}

// ---- attributes

/// Under which name a <default> speaks for an element.
static const char *kind_in_class(const xml_element *e)
{
    const bool tendon = !strcmp(e->name, "fixed") || !strcmp(e->name, "spatial");
    return tendon ? "tendon" : e->name;
}

/// What a class itself says of elements of this kind: of several, the last one that says it.
static const xml_attribute *find_in_class(const mjcf_class *class, const char *kind, const char *name)
{
    const xml_attribute *found = NULL;
    if (!class->element) return NULL;
    for (xml_element *e = class->element->child; e; e = e->next) {
        const xml_attribute *const a = strcmp(e->name, kind) ? NULL : xml_find(e, name);
        if (a) found = a;
    }
    return found;
}

const xml_attribute *mjcf_find(mjcf *m, mjcf_item of, const char *name)
{
    const xml_attribute *a = xml_find(of.element, name);
    for (int class = of.class; !a && class >= 0; class = m->classes[class].up)
        a = find_in_class(&m->classes[class], kind_in_class(of.element), name);
    return a;
}

const char *mjcf_value(mjcf *m, mjcf_item of, const char *name)
{
    const xml_attribute *const a = mjcf_find(m, of, name);
    return a ? a->value : NULL;
}

bool mjcf_numbers(mjcf *m, mjcf_item of, const char *name, int count, const double *fallback, double *x)
{
    const xml_attribute *const a = mjcf_find(m, of, name);
    if (a) return robot_list(m->r, a, count, count, x);
    if (!fallback) return robot_need(m->r, of.element, name);
    memcpy(x, fallback, (size_t)count * sizeof *x);
    return true;
}

int mjcf_some_numbers(mjcf *m, mjcf_item of, const char *name, int most, double *x)
{
    const xml_attribute *a = xml_find(of.element, name);
    int count = 0, class = of.class;
    for (;; class = m->classes[class].up) {  // from the element outwards: what is nearer stays
        double y[MJCF_MOST_NUMBERS];
        const int n = a ? robot_list(m->r, a, 1, most, y) : 0;
        if (a && !n) return -1;
        for (; count < n; count++) x[count] = y[count];
        if (class < 0) return count;
        a = find_in_class(&m->classes[class], kind_in_class(of.element), name);
    }
}

int mjcf_word(mjcf *m, mjcf_item of, const char *name, const char *const *words, int count, int fallback)
{
    const xml_attribute *const a = mjcf_find(m, of, name);
    if (!a) return fallback;
    for (int k = 0; k < count; k++)
        if (!strcmp(a->value, words[k])) return k;
    char list[160] = "";
    for (int k = 0; k < count && strlen(list) + strlen(words[k]) + 3 < sizeof list; k++)
        strcat(list, k ? ", " : ""), strcat(list, words[k]);
    robot_bad(m->r, a->at, "%s: unknown '%s'; allowed: %s", name, printable(a->value).text, list);
    return -1;
}

bool mjcf_flag(mjcf *m, mjcf_item of, const char *name, bool fallback)
{
    static const char *const words[] = {"false", "true"};
    return mjcf_word(m, of, name, words, 2, fallback) == 1;
}

bool mjcf_limited(mjcf *m, mjcf_item of, const char *flag, const char *range, double x[2])
{
    static const char *const words[] = {"false", "true", "auto"};
    static const double none[2] = {0, 0};
    const int limited = mjcf_word(m, of, flag, words, 3, 2);
    if (!mjcf_numbers(m, of, range, 2, none, x)) return false;
    const bool given = x[0] != 0 || x[1] != 0;
    if (limited == 1 || (limited == 2 && m->limits_by_range && given)) {
        const xml_attribute *const a = mjcf_find(m, of, range);
        if (a && x[0] < x[1]) return true;
        return robot_bad(m->r, a ? a->at : of.element->at, "%s: expected two numbers, the lower one first", range);
    }
    if (limited == 2 && given)
        robot_warn(m->r, of.element->at, "%s is not used: autolimits=\"false\" and no %s=\"true\"", range, flag);
    return false;
}

/// <include file="..."/> of MJCF: what is in the file's root takes the place of the element. Files are beside the model's own, as
/// for MuJoCo, and each is included once at most: so there are no cycles.
#include "sim/scene/mjcf.h"

#include <stdlib.h>
#include <string.h>

/// The element after `e` in the order of the text, with what is in it or without; NULL: the end.
static xml_element *after(xml_element *e, bool inside)
{
    if (inside && e->child) return e->child;
    while (e && !e->next) e = e->up;
    return e ? e->next : NULL;
}

/// Puts a list of elements, which may be empty, in the place of `e`; returns what comes next in the text.
static xml_element *replace(xml_element *e, xml_element *first, xml_element *last)
{
    xml_element *const up = e->up;
    for (xml_element *c = first; c; c = c->next) c->up = up;
    if (last) last->next = e->next;
    xml_element *const instead = first ? first : e->next;
    xml_element *before = up->child == e ? NULL : up->child;
    while (before && before->next != e) before = before->next;
    if (before) before->next = instead;
    else up->child = instead;
    if (up->last == e) up->last = last ? last : before;
    return first ? first : after(e, false);
}

/// Whether the model has this file already: scene->files from its own on.
static bool is_there(const source *s, const char *path)
{
    const ctn_scene *const scene = s->r->scene;
    for (int i = s->file; i < scene->nfile; i++)
        if (!strcmp(scene->files[i].path, path)) return true;
    return false;
}

/// Reads the file at `path` in the place of `e`, which becomes what comes next.
static bool read_inside(mjcf *m, xml_element **include, const char *path)
{
    xml_element *const e = *include;
    robot *const r = m->r;
    reader *const to = r->s->r;
    const document_place at = xml_find(e, "file")->at;
    char *text, reason[128];
    size_t length;
    if (is_there(r->s, path))
        return robot_bad(r, at, "<include>: '%s' is part of the model already; a file is included once", printable(path).text);
    if (to->scene->nfile == SCENE_MAX_FILES)
        return robot_bad(r, at, "<include>: too many files; a scene has at most %d", SCENE_MAX_FILES);
    const ctn_status found = next_text(to, path, &text, &length, reason);
    if (found == CTN_NO_MEMORY) return out_of_memory(r->s);
    if (found != CTN_OK)
        return robot_bad(r, at, "<include>: '%s' %s; files are named as seen from the folder of the model's own",
                         printable(path).text, reason);
    const int file = add_file(to, path, text, length);
    to->bytes += (long)length;
    document_problem problem = {.status = CTN_NO_MEMORY};
    const ctn_status status =
        file < 0 ? CTN_NO_MEMORY : xml_parse(r->xml, text, length, SCENE_MAX_NODES - to->nodes, (short)file, &problem);
    free(text);
    if (status == CTN_NO_MEMORY) return out_of_memory(r->s);
    if (status != CTN_OK) return robot_bad(r, (document_place){problem.line, problem.column, (short)file}, "%s", problem.text);
    *include = replace(e, r->xml->root->child, r->xml->root->last);
    return true;
}

bool mjcf_include(mjcf *m)
{
    robot *const r = m->r;
    for (xml_element *e = r->root->child; e;) {
        if (strcmp(e->name, "include") != 0) {
            e = after(e, true);
            continue;
        }
        const char *const file = robot_need(r, e, "file");
        if (!file) return false;
        char *const path = beside(r->s->r, r->s->r->scene->files[r->s->file].path, file);
        const bool ok = path && read_inside(m, &e, path);
        free(path);
        if (!ok) return false;
    }
    return true;
}

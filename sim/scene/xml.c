/// Builds the tree from expat's events; no recursion, so that the depth of a text costs no stack.
#include "sim/scene/xml.h"

#include <expat.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

typedef struct xml_builder {
    xml_document *doc;
    document_problem *problem;
    XML_Parser parser;
    const char *text;
    size_t length;
    xml_element *open;  // the innermost element that has not ended
    long most;
    int depth;
    short file;
} xml_builder;

static void refuse(xml_builder *b, ctn_status status, document_place at, const char *what)
{
    if (b->problem->status != CTN_OK) return;
    b->problem->status = status, b->problem->line = at.line, b->problem->column = at.column;
    snprintf(b->problem->text, sizeof b->problem->text, "%s", what);
    XML_StopParser(b->parser, XML_FALSE);
}

static document_place here(const xml_builder *b)
{
    return (document_place){.line = (int)XML_GetCurrentLineNumber(b->parser),
                            .column = (int)XML_GetCurrentColumnNumber(b->parser) + 1,
                            .file = b->file};
}

static void *take(xml_builder *b, size_t bytes)
{
    void *const block = document_take(&b->doc->memory, bytes);
    if (!block) refuse(b, CTN_NO_MEMORY, here(b), "out of memory");
    return block;
}

static char *copy(xml_builder *b, const char *text, size_t length)
{
    char *const c = take(b, length + 1);
    if (!c) return NULL;
    memcpy(c, text, length);
    c[length] = 0;
    return c;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Moves a place over the byte at `at`.
static void pass(document_place *place, char byte)
{
    if (byte == '\n') place->line++, place->column = 1;
    else if (((unsigned char)byte & 0xc0) != 0x80) place->column++;
}

/// Where the names of the attributes of the tag that begins here stand: expat says it of the tag alone.
static void place_attributes(const xml_builder *b, xml_element *e)
{
    const XML_Index start = XML_GetCurrentByteIndex(b->parser);
    if (start < 0 || (size_t)start >= b->length) return;
    const char *p = b->text + start;
    const char *const end = b->text + b->length;
    document_place place = e->at;
    while (p < end && !is_blank(*p) && *p != '>') pass(&place, *p++);
    for (int i = 0; i < e->count && p < end; i++) {
        while (p < end && is_blank(*p)) pass(&place, *p++);
        e->attributes[i].at = place;
        while (p < end && *p != '"' && *p != '\'') pass(&place, *p++);
        const char quote = p < end ? *p : 0;
        if (p < end) pass(&place, *p++);
        while (p < end && *p != quote) pass(&place, *p++);
        if (p < end) pass(&place, *p++);
    }
}

static void XMLCALL begin(void *to, const XML_Char *name, const XML_Char **attributes)
{
    xml_builder *const b = to;
    if (b->problem->status != CTN_OK) return;
    int count = 0;
    while (attributes[2 * (size_t)count]) count++;
    if (b->depth == XML_DEPTH) {
        refuse(b, CTN_BAD_SCENE, here(b), "nested too deeply; at most 1000 levels are allowed");
        return;
    }
    b->doc->count += 1 + count;
    if (b->doc->count > b->most) {
        refuse(b, CTN_BAD_SCENE, here(b), "too many elements and attributes");
        return;
    }
    xml_element *const e = take(b, sizeof *e);
    xml_attribute *const list = e ? take(b, (size_t)count * sizeof *list) : NULL;
    char *const word = list ? copy(b, name, strlen(name)) : NULL;
    if (!word) return;
    *e = (xml_element){.name = word, .at = here(b), .up = b->open, .attributes = list, .count = count};
    for (int i = 0; i < count; i++) {
        const char *const key = attributes[2 * (size_t)i], *const value = attributes[2 * (size_t)i + 1];
        list[i] = (xml_attribute){.name = copy(b, key, strlen(key)), .at = e->at};
        list[i].value = list[i].name ? copy(b, value, strlen(value)) : NULL;
        if (!list[i].value) return;
    }
    place_attributes(b, e);
    if (!b->open) b->doc->root = e;
    else if (b->open->last) b->open->last = b->open->last->next = e;
    else b->open->child = b->open->last = e;
    b->open = e, b->depth++;
}

static void XMLCALL end(void *to, const XML_Char *name)
{
    (void)name;
    xml_builder *const b = to;
    if (b->problem->status != CTN_OK) return;
    b->open = b->open->up, b->depth--;
}

static void XMLCALL entity(void *to, const XML_Char *name, int parameter, const XML_Char *value, int length, const XML_Char *base,
                           const XML_Char *system_id, const XML_Char *public_id, const XML_Char *notation)
{
    (void)name, (void)parameter, (void)value, (void)length, (void)base, (void)system_id, (void)public_id, (void)notation;
    xml_builder *const b = to;
    refuse(b, CTN_BAD_SCENE, here(b), "an entity of its own (<!ENTITY ...>): write what it stands for");
}

ctn_status xml_parse(xml_document *doc, const char *text, size_t length, long most, short file, document_problem *problem)
{
    doc->root = NULL;
    *problem = (document_problem){.status = CTN_OK};
    xml_builder b = {.doc = doc, .problem = problem, .text = text, .length = length, .most = most, .file = file};
    b.parser = length < INT_MAX ? XML_ParserCreate(NULL) : NULL;
    if (!b.parser) {
        problem->status = CTN_NO_MEMORY, problem->line = problem->column = 1;
        snprintf(problem->text, sizeof problem->text, "out of memory");
        return problem->status;
    }
    XML_SetUserData(b.parser, &b);
    XML_SetElementHandler(b.parser, begin, end);
    XML_SetEntityDeclHandler(b.parser, entity);
    const enum XML_Status status = XML_Parse(b.parser, text, (int)length, 1);
    if (status != XML_STATUS_OK && problem->status == CTN_OK) {
        const enum XML_Error error = XML_GetErrorCode(b.parser);
        const document_place at = here(&b);
        problem->status = error == XML_ERROR_NO_MEMORY ? CTN_NO_MEMORY : CTN_BAD_SCENE;
        problem->line = at.line, problem->column = at.column;
        if (error == XML_ERROR_TAG_MISMATCH && b.open)
            snprintf(problem->text, sizeof problem->text, "XML: expected the end </%.60s> of the element of line %d",
                     b.open->name, b.open->at.line);
        else snprintf(problem->text, sizeof problem->text, "XML: %s", XML_ErrorString(error));
    }
    XML_ParserFree(b.parser);
    return problem->status;
}

void xml_free(xml_document *doc)
{
    document_free(&doc->memory);
    *doc = (xml_document){0};
}

xml_attribute *xml_find(xml_element *e, const char *name)
{
    for (int i = 0; i < e->count; i++) {
        if (strcmp(e->attributes[i].name, name) != 0) continue;
        e->attributes[i].used = true;
        return &e->attributes[i];
    }
    return NULL;
}

const char *xml_value(xml_element *e, const char *name)
{
    const xml_attribute *const a = xml_find(e, name);
    return a ? a->value : NULL;
}

xml_element *xml_next(xml_element *e, const char *name)
{
    for (; e; e = e->next) {
        if (strcmp(e->name, name) != 0) continue;
        e->used = true;
        return e;
    }
    return NULL;
}

void xml_use_all(xml_element *root)
{
    for (xml_element *e = root; e;) {
        e->used = true;
        for (int i = 0; i < e->count; i++) e->attributes[i].used = true;
        if (e->child) {
            e = e->child;
            continue;
        }
        while (e != root && !e->next) e = e->up;
        e = e == root ? NULL : e->next;
    }
}

/// Builds the tree from libyaml's events, with a stack of open containers in place of recursion.
#include "sim/scene/scene_yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { CHUNK = 64 * 1024 };

typedef struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(max_align_t) char bytes[];
} chunk;

/// Memory of the document; freed all at once. NULL when there is none left.
static void *take(document *doc, size_t bytes)
{
    bytes = (bytes + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
    chunk *c = doc->memory;
    if (!c || c->size - c->used < bytes) {
        const size_t size = bytes > CHUNK ? bytes : CHUNK;
        c = malloc(sizeof *c + size);
        if (!c) return 0;
        *c = (chunk){.next = doc->memory, .size = size};
        doc->memory = c;
    }
    void *const block = c->bytes + c->used;
    c->used += bytes;
    return block;
}

void document_free(document *doc)
{
    for (chunk *c = doc->memory; c;) {
        chunk *const next = c->next;
        free(c);
        c = next;
    }
    *doc = (document){0};
}

bool node_is_null(const node *n)
{
    return n->kind == NODE_SCALAR && n->plain && (!*n->text || !strcmp(n->text, "~") || !strcmp(n->text, "null"));
}

/// A sequence or mapping whose end has not come yet.
typedef struct open_node {
    node *container;
    node *last;       // its newest entry
    const node *key;  // a key that waits for its value
} open_node;

typedef struct builder {
    document *doc;
    document_problem *problem;
    long most;
    int documents;
    int depth;
    open_node open[DOCUMENT_DEPTH];
} builder;

__attribute__((format(printf, 5, 6))) static bool refuse(builder *b, ctn_status status, int line, int column, const char *format,
                                                         ...)
{
    b->problem->status = status, b->problem->line = line, b->problem->column = column;
    va_list args;
    va_start(args, format);
    vsnprintf(b->problem->text, sizeof b->problem->text, format, args);
    va_end(args);
    return false;
}

static bool refuse_at(builder *b, yaml_mark_t mark, const char *what)
{
    return refuse(b, CTN_BAD_SCENE, (int)mark.line + 1, (int)mark.column + 1, "%s", what);
}

/// A new node, hung into the innermost open container (as a key, a value or an entry), or the root.
static node *add(builder *b, node_kind kind, yaml_mark_t mark)
{
    open_node *const in = b->depth ? &b->open[b->depth - 1] : 0;
    const bool is_key = in && in->container->kind == NODE_MAPPING && !in->key;
    if (is_key && kind != NODE_SCALAR) {
        refuse_at(b, mark, "a key must be a word");
        return 0;
    }
    if (++b->doc->count > b->most) {
        refuse(b, CTN_BAD_SCENE, (int)mark.line + 1, (int)mark.column + 1, "too many values; at most %ld are allowed", b->most);
        return 0;
    }
    node *const n = take(b->doc, sizeof *n);
    if (!n) {
        refuse(b, CTN_NO_MEMORY, (int)mark.line + 1, (int)mark.column + 1, "out of memory");
        return 0;
    }
    *n = (node){.kind = kind, .line = (int)mark.line + 1, .column = (int)mark.column + 1};
    if (!in) {
        b->doc->root = n;
    } else if (is_key) {
        n->up = in->container;
        in->key = n;
    } else {
        n->up = in->container, n->key = in->key;
        if (in->last) in->last->next = n;
        else in->container->child = n;
        in->last = n, in->key = 0;
        in->container->size++;
    }
    return n;
}

static bool add_scalar(builder *b, const yaml_event_t *event)
{
    const char *const text = (const char *)event->data.scalar.value;
    const size_t length = event->data.scalar.length;
    if (memchr(text, 0, length)) return refuse_at(b, event->start_mark, "text must not contain the character NUL");
    node *const n = add(b, NODE_SCALAR, event->start_mark);
    if (!n) return false;
    char *const copy = take(b->doc, length + 1);
    if (!copy) return refuse(b, CTN_NO_MEMORY, n->line, n->column, "out of memory");
    memcpy(copy, text, length + 1);
    n->text = copy;
    n->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return true;
}

static bool open_container(builder *b, node_kind kind, yaml_mark_t mark)
{
    if (b->depth == DOCUMENT_DEPTH)
        return refuse(b, CTN_BAD_SCENE, (int)mark.line + 1, (int)mark.column + 1,
                      "nested too deeply; at most %d levels are allowed", DOCUMENT_DEPTH);
    node *const n = add(b, kind, mark);
    if (!n) return false;
    b->open[b->depth++] = (open_node){.container = n};
    return true;
}

static const char no_anchors[] = "anchors and aliases (& and *) are not part of the format; `defaults`, `chain` and `include` "
                                 "say things once";
static const char no_tags[] = "tags (!) are not part of the format";

static bool take_event(builder *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return b->documents++ == 0 || refuse_at(b, event->start_mark, "a second document; a scene is one document");
    case YAML_ALIAS_EVENT: return refuse_at(b, event->start_mark, no_anchors);
    case YAML_SCALAR_EVENT:
        if (event->data.scalar.anchor) return refuse_at(b, event->start_mark, no_anchors);
        if (event->data.scalar.tag) return refuse_at(b, event->start_mark, no_tags);
        return add_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        if (event->data.sequence_start.anchor) return refuse_at(b, event->start_mark, no_anchors);
        if (event->data.sequence_start.tag) return refuse_at(b, event->start_mark, no_tags);
        return open_container(b, NODE_SEQUENCE, event->start_mark);
    case YAML_MAPPING_START_EVENT:
        if (event->data.mapping_start.anchor) return refuse_at(b, event->start_mark, no_anchors);
        if (event->data.mapping_start.tag) return refuse_at(b, event->start_mark, no_tags);
        return open_container(b, NODE_MAPPING, event->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: b->depth--; return true;
    default: return true;
    }
}

/// libyaml names the byte, not the place, of a character that it cannot read.
static bool refuse_character(builder *b, const char *text, const yaml_parser_t *parser)
{
    int line = 1, column = 1;
    for (size_t i = 0; i < parser->problem_offset; i++) {
        if (text[i] == '\n') line++, column = 1;
        else if (((unsigned char)text[i] & 0xc0) != 0x80) column++;
    }
    return refuse(b, CTN_BAD_SCENE, line, column, "not UTF-8 text: %s", parser->problem);
}

/// The byte at a place, 0 beyond the end.
static char byte_at(const char *text, size_t length, yaml_mark_t place)
{
    const char *const end = text + length;
    for (size_t line = 0; line < place.line && text < end; text++) line += *text == '\n';
    for (size_t column = 0; column < place.column && text < end; column++) {
        text++;
        while (text < end && ((unsigned char)*text & 0xc0) == 0x80) text++;
    }
    return text < end ? *text : 0;
}

/// What to do about a message of libyaml's.
static const char *syntax_remedy(const char *problem, const char *context)
{
    static const struct {
        const char *problem, *context, *remedy;
    } remedies[] = {
        {"mapping values are not allowed", "",
         "; check the indentation of this line and of those above, or put a text with ': ' in it in quotes"},
        {"did not find expected key", "block mapping",
         "; check the indentation: the keys of a mapping begin in one column, and text after a closing quote or bracket is an "
         "error"},
        {"did not find expected '-' indicator", "",
         "; check the indentation: the entries of a list begin in one column, each with '- '"},
        {"could not find expected ':'", "", "; a key needs ': ' behind it, a colon and a space; check the indentation, too"},
        {"block sequence entries are not allowed", "",
         "; a list begins in a line of its own below its key, each entry with '- '"},
        {"did not find expected ',' or ']'", "", "; a comma is missing, or the closing bracket"},
        {"did not find expected ',' or '}'", "", "; a comma is missing, or the closing brace; a key needs ': ' behind it"},
        {"did not find expected node content", "", "; a value is missing"},
        {"found unexpected end of stream", "quoted scalar", "; the closing quote is missing"},
        {"cannot start any token", "", "; put a text that begins with this character in quotes"},
        {"found unknown escape character", "",
         "; a backslash in \"double\" quotes is an escape; in 'single' ones it is a backslash"},
        {"did not find expected <document start>", "", "; check the indentation: what follows does not belong to what is above"},
        {"found a tab character", "", "; use spaces"},
        {"found unexpected ':'", "", "; put a text with a colon in it in quotes"},
    };
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (strstr(problem, remedies[i].problem) && strstr(context, remedies[i].context)) return remedies[i].remedy;
    return "";
}

static bool refuse_syntax(builder *b, const char *text, size_t length, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR) return refuse(b, CTN_NO_MEMORY, 1, 1, "out of memory");
    if (parser->error == YAML_READER_ERROR) return refuse_character(b, text, parser);
    const yaml_mark_t at = parser->problem_mark;
    const char *const what = parser->problem ? parser->problem : "not a YAML text";
    const char *const remedy = syntax_remedy(what, parser->context ? parser->context : "");
    if (byte_at(text, length, at) == '\t')
        return refuse(b, CTN_BAD_SCENE, (int)at.line + 1, (int)at.column + 1, "syntax: a tab cannot indent; use spaces (%s)",
                      what);
    if (parser->context && parser->context_mark.line != at.line)
        return refuse(b, CTN_BAD_SCENE, (int)at.line + 1, (int)at.column + 1, "syntax: %s, %s that starts in line %d%s", what,
                      parser->context, (int)parser->context_mark.line + 1, remedy);
    return refuse(b, CTN_BAD_SCENE, (int)at.line + 1, (int)at.column + 1, "syntax: %s%s%s%s", what, parser->context ? ", " : "",
                  parser->context ? parser->context : "", remedy);
}

ctn_status document_parse(document *doc, const char *text, size_t length, long most, document_problem *problem)
{
    *doc = (document){0};
    *problem = (document_problem){.status = CTN_OK};
    if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) text += 3, length -= 3;  // a byte order mark would count as a column
    builder b = {.doc = doc, .problem = problem, .most = most};
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        refuse(&b, CTN_NO_MEMORY, 1, 1, "out of memory");
        return problem->status;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    for (bool more = true; more;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            refuse_syntax(&b, text, length, &parser);
            break;
        }
        more = event.type != YAML_STREAM_END_EVENT && take_event(&b, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    if (problem->status == CTN_OK && doc->root && node_is_null(doc->root)) doc->root = 0;
    return problem->status;
}

/// Documents in memory, with a stack of open containers in place of recursion.
#include "sim/scene/document.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 * 1024 };

typedef struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(max_align_t) char bytes[];
} chunk;

void *document_take(document *doc, size_t bytes)
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

bool build_refuse(document_builder *b, ctn_status status, int line, int column, const char *format, ...)
{
    b->problem->status = status, b->problem->line = line, b->problem->column = column;
    va_list args;
    va_start(args, format);
    vsnprintf(b->problem->text, sizeof b->problem->text, format, args);
    va_end(args);
    return false;
}

/// A new node, hung into the innermost open container (as a key, a value or an entry), or the root.
static node *add(document_builder *b, node_kind kind, document_place at)
{
    open_node *const in = b->depth ? &b->open[b->depth - 1] : 0;
    const bool is_key = in && in->container->kind == NODE_MAPPING && !in->key;
    if (is_key && kind != NODE_SCALAR) {
        build_refuse(b, CTN_BAD_SCENE, at.line, at.column, "a key must be a word");
        return 0;
    }
    if (++b->doc->count > b->most) {
        build_refuse(b, CTN_BAD_SCENE, at.line, at.column, "too many values; at most %ld are allowed", b->most);
        return 0;
    }
    node *const n = document_take(b->doc, sizeof *n);
    if (!n) {
        build_refuse(b, CTN_NO_MEMORY, at.line, at.column, "out of memory");
        return 0;
    }
    *n = (node){.kind = kind, .file = at.file, .line = at.line, .column = at.column};
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

bool build_scalar(document_builder *b, const char *text, size_t length, bool plain, document_place at)
{
    if (memchr(text, 0, length))
        return build_refuse(b, CTN_BAD_SCENE, at.line, at.column, "text must not contain the character NUL");
    node *const n = add(b, NODE_SCALAR, at);
    if (!n) return false;
    char *const copy = document_take(b->doc, length + 1);
    if (!copy) return build_refuse(b, CTN_NO_MEMORY, at.line, at.column, "out of memory");
    memcpy(copy, text, length);
    copy[length] = 0;
    n->text = copy, n->plain = plain;
    return true;
}

bool build_open(document_builder *b, node_kind kind, document_place at)
{
    if (b->depth == DOCUMENT_DEPTH)
        return build_refuse(b, CTN_BAD_SCENE, at.line, at.column, "nested too deeply; at most %d levels are allowed",
                            DOCUMENT_DEPTH);
    node *const n = add(b, kind, at);
    if (!n) return false;
    b->open[b->depth++] = (open_node){.container = n};
    return true;
}

void build_close(document_builder *b) { b->depth--; }

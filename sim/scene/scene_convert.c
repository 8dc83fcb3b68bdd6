/// A document as YAML text: robot files as scenes that people can go on with.
#include "sim/scene/scene_reader.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WIDTH = 120, INDENT = 2 };

typedef struct writer {
    source *s;
    FILE *to;
    bool elsewhere;  // the text will not lie beside the file: names of meshes are made absolute
} writer;

/// Whether a word means the same without quotes, in YAML and to the reader: no number, no other thing.
static bool plain_word(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
    static const char *const others[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", *text) || text[strspn(text, letters)]) return !*text;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcasecmp(text, others[i])) return false;
    return true;
}

/// What a scalar says: of a mesh the name of its file, from where the text will lie.
static void put_scalar(const writer *w, const node *n)
{
    const char *text = n->text;
    char whole[PATH_MAX];
    if (w->elsewhere && n->key && !strcmp(n->key->text, "file")) {
        w->s->quiet++;
        char *const path = mesh_path(w->s, n, text);
        w->s->quiet--;
        if (path && realpath(path, whole)) text = whole;
        free(path);
    }
    if (n->plain || (*text && plain_word(text))) {
        fputs(text, w->to);
        return;
    }
    fputc('\'', w->to);
    for (const char *p = text; *p; p++) {
        if (*p == '\'') fputc('\'', w->to);
        fputc(*p, w->to);
    }
    fputc('\'', w->to);
}

/// Columns of a node in one line, as many as are looked for.
static int width(const node *n, int most)
{
    int used = n->key ? (int)strlen(n->key->text) + 2 : 0;
    if (n->kind == NODE_SCALAR) return used + (int)strlen(n->text) + (n->plain ? 0 : 2);
    for (const node *child = n->child; child && used <= most; child = child->next) used += width(child, most - used) + 2;
    return used + 2;
}

static void put_line(const writer *w, const node *n)
{
    if (n->kind == NODE_SCALAR) {
        put_scalar(w, n);
        return;
    }
    fputc(n->kind == NODE_SEQUENCE ? '[' : '{', w->to);
    for (const node *child = n->child; child; child = child->next) {
        if (child->key) fprintf(w->to, "%s: ", child->key->text);
        put_line(w, child);
        if (child->next) fputs(", ", w->to);
    }
    fputc(n->kind == NODE_SEQUENCE ? ']' : '}', w->to);
}

/// A mapping or a list over several lines, each behind `indent` blanks but for the first where `begun`.
static void put_block(const writer *w, const node *n, int indent, bool begun)
{
    for (const node *child = n->child; child; child = child->next, begun = false) {
        const bool link = !child->key && n->key && !strcmp(n->key->text, "links");  // of these, every key has a line
        fprintf(w->to, "%*s", begun ? 0 : indent, "");
        if (child->key) fprintf(w->to, "%s:", child->key->text);
        else fputc('-', w->to);
        const bool top = child->key && !strcmp(child->key->text, "links") && child->size;
        if (!top && !link && indent + width(child, WIDTH) <= WIDTH) {
            fputc(' ', w->to);
            put_line(w, child);
            fputc('\n', w->to);
        } else if (!child->child) {
            fputs(child->kind == NODE_SEQUENCE ? " []\n" : child->kind == NODE_MAPPING ? " {}\n" : " ", w->to);
            if (child->kind == NODE_SCALAR) put_scalar(w, child), fputc('\n', w->to);
        } else if (child->key) {
            fputc('\n', w->to);
            put_block(w, child, indent + INDENT, false);
        } else {
            fputc(' ', w->to);
            put_block(w, child, indent + INDENT, true);
        }
    }
}

char *document_as_yaml(source *s, const node *root, bool elsewhere)
{
    char *text = NULL;
    size_t length;
    FILE *const to = open_memstream(&text, &length);
    if (to) put_block(&(writer){.s = s, .to = to, .elsewhere = elsewhere}, root, 0, false);
    if (to && !fclose(to)) return text;
    free(text);
    s->r->no_memory = true;
    return NULL;
}

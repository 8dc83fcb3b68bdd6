/// YAML text as a tree of nodes that know where they stand in it.
#ifndef CATENA_SIM_SCENE_YAML_H
#define CATENA_SIM_SCENE_YAML_H

#include <catena/status.h>
#include <stdbool.h>

typedef enum node_kind { NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING } node_kind;

typedef struct node {
    node_kind kind;
    bool plain;                // a scalar without quotes
    int line, column;          // of its first character, from 1; columns count characters
    int size;                  // entries of a sequence or mapping
    const char *text;          // of a scalar
    const struct node *up;     // the sequence or mapping it is in; NULL: the root
    const struct node *key;    // in a mapping: its key, a scalar
    const struct node *child;  // first entry of a sequence, first value of a mapping
    const struct node *next;   // the entry after this one
} node;

enum { DOCUMENT_DEPTH = 32 };  // levels of nesting; a scene needs 8

typedef struct document {
    const node *root;      // NULL: the text holds nothing
    long count;            // nodes, keys included
    struct chunk *memory;  // all nodes and texts
} document;

/// What is wrong with a text, and where.
typedef struct document_problem {
    ctn_status status;
    int line, column;
    char text[320];
} document_problem;

/// Parses UTF-8 text of one YAML document of at most `most` nodes. Anchors, aliases and tags are refused: so every node stands in
/// one place only, and the tree is not larger than its text. Whatever comes out, free it with document_free.
ctn_status document_parse(document *doc, const char *text, size_t length, long most, document_problem *problem);
void document_free(document *doc);

/// A scalar that says nothing: empty, ~ or null, without quotes.
bool node_is_null(const node *n);

#endif

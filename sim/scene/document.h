/// A text as a tree of nodes that know where they stand in it: what YAML text and robot files are read into
/// (sim/scene/scene_yaml.h, sim/scene/robot.h), and what the reader of scenes reads (sim/scene/scene_reader.h).
#ifndef CATENA_SIM_DOCUMENT_H
#define CATENA_SIM_DOCUMENT_H

#include <catena/status.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum node_kind { NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING } node_kind;

typedef struct node {
    node_kind kind;
    bool plain;        // a scalar without quotes
    short file;        // of the scene, where it is not the document's: that of an element that was included; 0: the document's
    int line, column;  // of its first character, from 1; columns count characters
    int size;          // entries of a sequence or mapping
    const char *text;  // of a scalar
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

/// A place in one of the scene's files; file 0: the document's own.
typedef struct document_place {
    int line, column;
    short file;
} document_place;

/// A sequence or mapping whose end has not come yet.
typedef struct open_node {
    node *container;
    node *last;       // its newest entry
    const node *key;  // a key that waits for its value
} open_node;

/// Makes a document in the order of its text. In a mapping, every second scalar is a key.
typedef struct document_builder {
    document *doc;
    document_problem *problem;  // the first one: status CTN_OK until then
    long most;                  // nodes
    int depth;
    open_node open[DOCUMENT_DEPTH];
} document_builder;

/// These return false when they refuse, with the reason in b->problem.
bool build_scalar(document_builder *b, const char *text, size_t length, bool plain, document_place at);
bool build_open(document_builder *b, node_kind kind, document_place at);
void build_close(document_builder *b);
bool build_refuse(document_builder *b, ctn_status status, int line, int column, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/// Memory of the document, freed with it; NULL when there is none left.
void *document_take(document *doc, size_t bytes);
void document_free(document *doc);

/// A scalar that says nothing: empty, ~ or null, without quotes.
bool node_is_null(const node *n);

#endif

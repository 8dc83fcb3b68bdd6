/// XML text as a tree of elements that know where they stand in it, and which of them somebody has looked at: readers of robot
/// files list what was ignored (sim/scene/robot.h). Text between elements says nothing in such files, and is left out.
#ifndef CATENA_SIM_XML_H
#define CATENA_SIM_XML_H

#include "sim/scene/document.h"

typedef struct xml_attribute {
    const char *name, *value;
    document_place at;  // of its name
    bool used;
} xml_attribute;

typedef struct xml_element {
    const char *name;
    document_place at;
    struct xml_element *up, *child, *last, *next;  // `last` is the last child
    xml_attribute *attributes;                     // [count]
    int count;
    bool used;
} xml_element;

typedef struct xml_document {
    xml_element *root;
    long count;       // elements and attributes
    document memory;  // of all of it
} xml_document;

enum {
    XML_DEPTH = 1000,  // levels of nesting: a chain in MJCF has one a body
};

/// Adds a text to a document, which is empty at first, and makes its root the document's. Parses UTF-8 or Latin text; all texts
/// of the document have at most `most` elements and attributes. `file` goes into places. Entities of its own are refused: so the
/// tree is not larger than its text. Whatever comes out, free it with xml_free.
ctn_status xml_parse(xml_document *doc, const char *text, size_t length, long most, short file, document_problem *problem);
void xml_free(xml_document *doc);

/// The attribute of this name, now used, or NULL.
xml_attribute *xml_find(xml_element *e, const char *name);

/// Its value, or NULL.
const char *xml_value(xml_element *e, const char *name);

/// The first child of this name from `e` on, now used, or NULL: xml_next(parent->child, "link").
xml_element *xml_next(xml_element *e, const char *name);

/// Marks an element with all that is in it as used.
void xml_use_all(xml_element *e);

#endif

/// YAML text as a document.
#ifndef CATENA_SIM_SCENE_YAML_H
#define CATENA_SIM_SCENE_YAML_H

#include "sim/scene/document.h"

/// Parses UTF-8 text of one YAML document of at most `most` nodes. Anchors, aliases and tags are refused: so every node stands in
/// one place only, and the tree is not larger than its text. Whatever comes out, free it with document_free.
ctn_status document_parse(document *doc, const char *text, size_t length, long most, document_problem *problem);

#endif

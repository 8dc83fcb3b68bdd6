/// Builds a document from libyaml's events.
#include "sim/scene/scene_yaml.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

typedef document_builder builder;

static document_place place_of(yaml_mark_t mark)
{
    return (document_place){.line = (int)mark.line + 1, .column = (int)mark.column + 1};
}

static bool refuse_at(builder *b, yaml_mark_t mark, const char *what)
{
    return build_refuse(b, CTN_BAD_SCENE, (int)mark.line + 1, (int)mark.column + 1, "%s", what);
}

static const char no_anchors[] = "anchors and aliases (& and *) are not part of the format; `defaults`, `chain` and `include` "
                                 "say things once";
static const char no_tags[] = "tags (!) are not part of the format";

static bool take_event(builder *b, int *documents, const yaml_event_t *event)
{
    const document_place at = place_of(event->start_mark);
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return (*documents)++ == 0 || refuse_at(b, event->start_mark, "a second document; a scene is one document");
    case YAML_ALIAS_EVENT: return refuse_at(b, event->start_mark, no_anchors);
    case YAML_SCALAR_EVENT:
        if (event->data.scalar.anchor) return refuse_at(b, event->start_mark, no_anchors);
        if (event->data.scalar.tag) return refuse_at(b, event->start_mark, no_tags);
        return build_scalar(b, (const char *)event->data.scalar.value, event->data.scalar.length,
                            event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE, at);
    case YAML_SEQUENCE_START_EVENT:
        if (event->data.sequence_start.anchor) return refuse_at(b, event->start_mark, no_anchors);
        if (event->data.sequence_start.tag) return refuse_at(b, event->start_mark, no_tags);
        return build_open(b, NODE_SEQUENCE, at);
    case YAML_MAPPING_START_EVENT:
        if (event->data.mapping_start.anchor) return refuse_at(b, event->start_mark, no_anchors);
        if (event->data.mapping_start.tag) return refuse_at(b, event->start_mark, no_tags);
        return build_open(b, NODE_MAPPING, at);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: build_close(b); return true;
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
    return build_refuse(b, CTN_BAD_SCENE, line, column, "not UTF-8 text: %s", parser->problem);
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
    if (parser->error == YAML_MEMORY_ERROR) return build_refuse(b, CTN_NO_MEMORY, 1, 1, "out of memory");
    if (parser->error == YAML_READER_ERROR) return refuse_character(b, text, parser);
    const yaml_mark_t at = parser->problem_mark;
    const char *const what = parser->problem ? parser->problem : "not a YAML text";
    const char *const remedy = syntax_remedy(what, parser->context ? parser->context : "");
    if (byte_at(text, length, at) == '\t')
        return build_refuse(b, CTN_BAD_SCENE, (int)at.line + 1, (int)at.column + 1,
                            "syntax: a tab cannot indent; use spaces (%s)", what);
    if (parser->context && parser->context_mark.line != at.line)
        return build_refuse(b, CTN_BAD_SCENE, (int)at.line + 1, (int)at.column + 1, "syntax: %s, %s that starts in line %d%s",
                            what, parser->context, (int)parser->context_mark.line + 1, remedy);
    return build_refuse(b, CTN_BAD_SCENE, (int)at.line + 1, (int)at.column + 1, "syntax: %s%s%s%s", what,
                        parser->context ? ", " : "", parser->context ? parser->context : "", remedy);
}

ctn_status document_parse(document *doc, const char *text, size_t length, long most, document_problem *problem)
{
    *doc = (document){0};
    *problem = (document_problem){.status = CTN_OK};
    if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) text += 3, length -= 3;  // a byte order mark would count as a column
    builder b = {.doc = doc, .problem = problem, .most = most};
    int documents = 0;
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        build_refuse(&b, CTN_NO_MEMORY, 1, 1, "out of memory");
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
        more = event.type != YAML_STREAM_END_EVENT && take_event(&b, &documents, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    if (problem->status == CTN_OK && doc->root && node_is_null(doc->root)) doc->root = 0;
    return problem->status;
}

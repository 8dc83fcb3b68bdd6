/// Robot files of other programs, URDF and MJCF, read into the nodes that YAML text is read into: so every check, default, error
/// with its place and recording of scenes is theirs, too. What a file says and catena has nothing for is a warning.
#ifndef CATENA_SIM_ROBOT_H
#define CATENA_SIM_ROBOT_H

#include "sim/scene/scene_reader.h"
#include "sim/scene/xml.h"

/// A robot file while it is read.
typedef struct robot {
    source *s;
    xml_document *xml;  // its text, with those of the files that it includes
    xml_element *root;
    document_builder out;
    document_problem problem;  // of `out`
    bool good;                 // nothing has been reported
} robot;

/// Whether a text is XML, as far as its first character tells.
bool is_robot_text(const char *text, size_t length);

/// Reads URDF or MJCF of the source's file into doc. Errors go to the reader; returns the root, or NULL. What comes out of doc,
/// free it with document_free.
const node *robot_document(source *s, const char *text, size_t length, document *doc);

bool read_urdf(robot *r);
bool read_mjcf(robot *r);

// ---- what readers of robot files share: robot.c

/// Reports an error, "file:line:column: <name>: ...", and returns false.
bool robot_bad(robot *r, document_place at, const char *format, ...) __attribute__((format(printf, 3, 4)));
void robot_warn(robot *r, document_place at, const char *format, ...) __attribute__((format(printf, 3, 4)));

/// The value of an attribute that has to be there, or NULL, reported.
const char *robot_need(robot *r, xml_element *e, const char *name);

/// Numbers [count] of an attribute with blanks between them. `fallback` [count] stands for one that is not there; NULL: it has to
/// be.
bool robot_numbers(robot *r, xml_element *e, const char *name, int count, const double *fallback, double *x);

/// As many numbers as an attribute has, at least `least`, at most `most`; returns how many, 0: reported.
int robot_list(robot *r, const xml_attribute *a, int least, int most, double *x);

// What is said of a link, in the order of a scene. `key` NULL: the entry of a list.
void say_open(robot *r, const char *key, node_kind kind, document_place at);
void say_close(robot *r);
void say_word(robot *r, const char *key, const char *word, document_place at);
void say_text(robot *r, const char *key, const char *text, document_place at);  // in quotes
void say_number(robot *r, const char *key, double x, document_place at);
void say_numbers(robot *r, const char *key, const double *x, int count, document_place at);

void say_unless_zero(robot *r, const char *key, const double *x, int count, document_place at);

#endif

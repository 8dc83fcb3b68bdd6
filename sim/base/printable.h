/// Texts of files and names of files, as people may be shown them.
#ifndef CATENA_SIM_PRINTABLE_H
#define CATENA_SIM_PRINTABLE_H

#include <stddef.h>

/// The first character that must not be shown, NULL: none. It commands a terminal (C0, DEL, C1), turns the direction of writing,
/// has no width, ends a line, or is no UTF-8. `size` (may be NULL) receives its bytes.
const char *find_unprintable(const char *text, size_t *size);

/// The code of the character at `text`, and its bytes; -1 and one byte if it is no UTF-8.
long character_at(const char *text, size_t *size);

/// Makes each of them a '?'. The text gets no longer.
void make_printable(char *text);

#endif

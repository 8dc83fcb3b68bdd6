/// "did you mean ...?": the known name nearest to a misspelt one.
#ifndef CATENA_SIM_SUGGEST_H
#define CATENA_SIM_SUGGEST_H

#include <stdbool.h>

/// Letters to insert, delete, replace or swap with the next one to turn `a` into `b`, whatever their case. Words of more than 31
/// letters are as far as can be.
int edit_distance(const char *a, const char *b);

/// The entry of names [n] nearest to `word` if it is near enough to be meant, else NULL. NULL entries are passed over.
const char *nearest_name(const char *word, const char *const *names, int n);

/// Whether `word` is one of `words`, which have spaces between them, whatever its case.
bool is_word_of(const char *words, const char *word);

#endif

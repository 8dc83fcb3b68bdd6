/// Optimal string alignment distance (Damerau-Levenshtein without repeated edits), three rows of the table at a time.
#include "sim/base/suggest.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 31 };

static int lower(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

static int least(int a, int b) { return a < b ? a : b; }

int edit_distance(const char *a, const char *b)
{
    const int n = (int)strnlen(a, LONGEST + 1), m = (int)strnlen(b, LONGEST + 1);
    if (n > LONGEST || m > LONGEST) return INT_MAX;
    int rows[3][LONGEST + 1], *before = rows[0], *last = rows[1], *row = rows[2];
    for (int j = 0; j <= m; j++) last[j] = j;
    for (int i = 1; i <= n; i++) {
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            const int replaced = last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            row[j] = least(replaced, least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
        int *const spare = before;
        before = last, last = row, row = spare;
    }
    return last[m];
}

const char *nearest_name(const char *word, const char *const *names, int n)
{
    // a third of the letters may be wrong; at least one letter must be right
    const int letters = (int)strnlen(word, LONGEST + 1);
    int nearest = least(letters < 6 ? 2 : letters / 3 + 1, letters);
    const char *name = 0;
    for (int i = 0; i < n; i++) {
        if (!names[i]) continue;
        const int distance = edit_distance(word, names[i]);
        if (distance < nearest) nearest = distance, name = names[i];
    }
    return name;
}

bool is_word_of(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (; *words; words += strcspn(words, " "), words += *words == ' ')
        if (length && strcspn(words, " ") == length && !strncasecmp(words, word, length)) return true;
    return false;
}

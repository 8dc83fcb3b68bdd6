/// Open addressing, FNV-1a.
#include "sim/base/name_table.h"

#include <stdlib.h>
#include <string.h>

static unsigned hash(const char *text)
{
    unsigned h = 2166136261u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

/// The slot where `name` is, or where it could be put. The table is never full.
static int *slot_of(const name_table *t, const char *name)
{
    const unsigned mask = (unsigned)t->size - 1;
    unsigned i = hash(name) & mask;
    while (t->slots[i] && strcmp(t->name(t->of, t->slots[i] - 1), name)) i = (i + 1) & mask;
    return &t->slots[i];
}

int name_table_find(const name_table *table, const char *name) { return table->size ? *slot_of(table, name) - 1 : -1; }

/// Room for one more name.
static bool grow(name_table *t)
{
    if (2 * (t->count + 1) <= t->size) return true;
    name_table larger = *t;
    larger.size = t->size ? 2 * t->size : 64;
    larger.slots = calloc((size_t)larger.size, sizeof *larger.slots);
    if (!larger.slots) return false;
    for (int k = 0; k < t->size; k++)
        if (t->slots[k]) *slot_of(&larger, t->name(t->of, t->slots[k] - 1)) = t->slots[k];
    free(t->slots);
    *t = larger;
    return true;
}

bool name_table_add(name_table *table, int i)
{
    if (!grow(table)) return false;
    *slot_of(table, table->name(table->of, i)) = i + 1;
    table->count++;
    return true;
}

void name_table_free(name_table *table)
{
    free(table->slots);
    table->slots = NULL, table->size = table->count = 0;
}

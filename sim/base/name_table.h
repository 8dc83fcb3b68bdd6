/// Finds things by their names: a hash table of numbers, with the names kept by whoever has the things.
#ifndef CATENA_SIM_NAME_TABLE_H
#define CATENA_SIM_NAME_TABLE_H

#include <stdbool.h>

/// All zero but `name` and `of`: empty.
typedef struct name_table {
    const char *(*name)(const void *of, int i);  // of thing i
    const void *of;
    int *slots;  // number + 1, 0: free
    int size;    // of slots: 0 or a power of two, at least twice `count`
    int count;
} name_table;

/// The number of the thing called `name`, or -1.
int name_table_find(const name_table *table, const char *name);

/// Adds thing `i`, whose name is none of the table's. False: no memory, the table stands as it was.
bool name_table_add(name_table *table, int i);

void name_table_free(name_table *table);

#endif

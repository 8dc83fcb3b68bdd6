/// Quantities of a recording over time, by their names: what the file holds, and what follows from it.
#ifndef CATENA_CLI_SERIES_H
#define CATENA_CLI_SERIES_H

#include "cli/plots/timeline.h"

#include <stdbool.h>

enum { SERIES_NAME = 280 };  // a link's name and what stands about it

/// What is computed of several contact points.
typedef enum contact_series {
    CONTACTS_NORMAL,  // their normal forces together, N
    CONTACTS_DEPTH,   // of the deepest one, m
    CONTACTS_TOUCHING,
    CONTACTS_STICKING,
    CONTACTS_SLIDING
} contact_series;

typedef struct series {
    char name[SERIES_NAME];  // "energy", "q.arm.1"
    const char *unit;        // "J"; "1": none
    const char *set;         // the dataset; NULL: computed, of q and v
    enum { SERIES_NUMBER, SERIES_ENTRY, SERIES_POSITION, SERIES_TOTAL, SERIES_CONTACTS } kind;
    int entry, axis;    // SERIES_ENTRY: of q or v; SERIES_POSITION: link, and 0 .. 2, or contact point, and which of its numbers
    contact_series of;  // SERIES_CONTACTS: what of the contact points of link `entry`, -1: of all
    int term, terms;  // SERIES_TOTAL: the sum of these of the numbers in ctn_totals
    bool whole;       // counts
    bool interval;    // of the steps since the record before, so that the first record has none
    bool summed;      // added up from the first record on
} series;

typedef struct series_list {
    series *list;  // to be freed
    int count;
} series_list;

/// Adds the series that `name` stands for to the list: one, or one for each coordinate. Returns an exit status with the error
/// printed, which says what there is.
int series_find(timeline *t, const char *name, series_list *found);

/// Numbers in memory, of a world at a record, that reading one number of it takes.
size_t series_width(const timeline *t, const series *s);

/// Numbers at records first .. first + count - 1 of all worlds, in the order of timeline_at, into x. Neither sums nor gaps are
/// made: of worlds that were not run, and of intervals at the first record, there is any number. CTN_IO, CTN_NO_MEMORY.
ctn_status series_read(timeline *t, const series *s, int64_t first, int64_t count, double *x, ctn_error *err);

#endif

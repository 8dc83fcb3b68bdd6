/// What the files of `catena diff` share: two recordings, what of their set-ups differs, and where their numbers do.
#ifndef CATENA_CLI_DIFF_H
#define CATENA_CLI_DIFF_H

#include "cli/base/arguments.h"
#include "sim/record/recorded.h"

#include <catena/model.h>
#include <stdbool.h>
#include <stdint.h>

/// What a difference of set-ups does.
typedef enum diff_effect {
    EFFECT_MOTION,    // another motion
    EFFECT_PERHAPS,   // perhaps another motion
    EFFECT_ROUNDING,  // the same up to rounding
    EFFECT_NONE,      // the same bits
} diff_effect;

/// Something that the two recordings say of themselves, and say differently.
typedef struct diff_note {
    char *name, *values[2];  // to be freed
    diff_effect effect;
} diff_note;

/// Where two numbers differ.
typedef struct diff_place {
    int64_t step, pair;  // steps of the first recording; which of the common records
    double time;         // s
    long world;
    size_t entry;        // of a world's numbers in the first recording
    double values[2];    // of hashes nothing
    uint64_t hashes[2];  // of hashes
    double difference;   // the absolute one, or the relative one if that was asked for; infinite: one is no number
} diff_place;

/// A dataset that both have, [record][world][width] or [world][record][width].
typedef struct diff_quantity {
    const char *name, *unit;  // "stats/work"; unit NULL: by entry
    size_t width[2];
    int *partner;  // [width[0]]: which entry of the second recording is the same number, -1: none; NULL: all are their own. Owned
    enum { DIFF_STATES, DIFF_TOTAL, DIFF_HASH } kind;  // over time; one number a world; hashes by step
    int64_t compared, differ;                          // numbers
    diff_place first, largest;                         // of those that differ
} diff_quantity;

/// Records a + k da of the first recording and b + k db of the second have the same times, k = 0 .. count - 1.
typedef struct diff_stretch {
    int64_t a, b, da, db, count;
} diff_stretch;

enum { DIFF_QUANTITIES = 64 };

typedef struct diff {
    recorded from[2];
    ctn_model *model[2];
    int64_t records[2];
    long first, worlds;  // that are compared: first .. first + worlds - 1
    long missing;        // of these, those that one of the files does not have yet
    double tolerance;    // 0: bits
    bool relative;
    diff_note *notes;
    int nnote;
    diff_stretch *common;
    int ncommon;
    int64_t pairs;      // common records
    double span[2];     // s, of the first and the last of them
    bool side_by_side;  // every record is one of the same place in the other file, so that intervals between them are the same
    diff_quantity list[DIFF_QUANTITIES];
    int count;
    const char *only[2][DIFF_QUANTITIES];  // datasets over time that one of the files has alone
    int nonly[2];
} diff;

/// Finds what of the set-ups differs. Returns an exit status.
int diff_setups(diff *d);

/// Which number of the second recording's q, v or pose is number k of the first one's, into partner [width], -1: none. By the
/// names of links, whose joints must be of one type.
void diff_partners(const diff *d, const char *what, int *partner);

/// Finds the records of both that have the same time. Returns an exit status.
int diff_pair(diff *d);

/// Compares the numbers of all quantities. Returns an exit status, EXIT_OK also if they differ.
int diff_numbers(diff *d);

/// What differs first: hashes, if they do before all other numbers, else NULL; and of the other numbers, NULL: none does.
const diff_quantity *diff_first_hash(const diff *d);
const diff_quantity *diff_first_number(const diff *d);

/// Print what was found, on standard output. print_json_diff returns an exit status.
void print_diff(const diff *d);
int print_json_diff(const diff *d);

#endif

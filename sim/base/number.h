/// Numbers as people write them, in scenes, tables and on the command line: decimal, with a point, finite.
#ifndef CATENA_SIM_NUMBER_H
#define CATENA_SIM_NUMBER_H

typedef enum number_form {
    NUMBER_GOOD,
    NUMBER_NONE,        // no decimal number: a word, a hexadecimal number, nothing
    NUMBER_NOT_FINITE,  // inf, nan, as YAML and others write them
    NUMBER_TOO_LARGE,   // for a double
    NUMBER_TOO_SMALL,   // not zero, but nearer to it than to any other double
} number_form;

/// Reads the decimal number that `text` begins with: sign, digits, point, exponent. `end` is what follows it (`text` if there is
/// none), `x` its value if it is good. The program's locale has a decimal point.
number_form number_from_text(const char *text, double *x, const char **end);

/// Reads x [count] with `separator` between them; returns what follows the last, or NULL if these are no good numbers.
const char *numbers_from_text(const char *text, char separator, int count, double *x);

/// What to do about a text that is no number, with "; " before it, as hexadecimal ones and decimal commas; "" if that is unknown.
const char *number_remedy(const char *text);

/// What to do about a number of this form; "" if that is unknown.
const char *number_form_remedy(number_form form);

#endif

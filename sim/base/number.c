/// One grammar for all numbers: strtod alone would take hexadecimal ones, and make zero of what is too small.
#include "sim/base/number.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *skip_digits(const char *c)
{
    while (isdigit((unsigned char)*c)) c++;
    return c;
}

/// What follows the decimal number at the beginning of `text`; `text` if there is none. YAML 1.1 wants a point before an
/// exponent; people do not.
static const char *end_of_decimal(const char *text)
{
    const char *c = text + (*text == '+' || *text == '-');
    const char *const whole = c;
    c = skip_digits(c);
    long digits = c - whole;
    if (*c == '.') {
        const char *const fraction = ++c;
        c = skip_digits(c);
        digits += c - fraction;
    }
    if (!digits) return text;
    if (*c != 'e' && *c != 'E') return c;
    const char *const exponent = c + 1 + (c[1] == '+' || c[1] == '-');
    return isdigit((unsigned char)*exponent) ? skip_digits(exponent) : c;
}

static bool is_not_finite(const char *text)
{
    static const char *const words[] = {".nan", "nan", ".inf", "inf", "infinity"};
    text += *text == '+' || *text == '-';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(text, words[i])) return true;
    return false;
}

/// Whether all digits before the exponent are 0.
static bool is_zero(const char *text, const char *end)
{
    for (; text < end && *text != 'e' && *text != 'E'; text++)
        if (*text >= '1' && *text <= '9') return false;
    return true;
}

number_form number_from_text(const char *text, double *x, const char **end)
{
    *end = end_of_decimal(text);
    if (*end == text) return is_not_finite(text) ? NUMBER_NOT_FINITE : NUMBER_NONE;
    const double value = strtod(text, NULL);
    if (!isfinite(value)) return NUMBER_TOO_LARGE;
    if (value == 0 && !is_zero(text, *end)) return NUMBER_TOO_SMALL;
    *x = value;
    return NUMBER_GOOD;
}

const char *numbers_from_text(const char *text, char separator, int count, double *x)
{
    for (int k = 0; k < count; k++) {
        if (k && *text++ != separator) return NULL;
        if (number_from_text(text, &x[k], &text) != NUMBER_GOOD) return NULL;
    }
    return text;
}

const char *number_form_remedy(number_form form)
{
    switch (form) {
    case NUMBER_TOO_LARGE: return "; the largest is 1.8e308";
    case NUMBER_TOO_SMALL: return "; it would be rounded to zero; the least is 4.9e-324";
    default: return "";
    }
}

const char *number_remedy(const char *text)
{
    const char *end;
    double x;
    const char *const digits = text + (*text == '+' || *text == '-');
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) return "; numbers are decimal";
    if (number_from_text(text, &x, &end) == NUMBER_NONE) return "";
    if (*end == ',') return "; numbers have a decimal point, no comma";
    if (*end == '_') return "; write the digits without _";
    return "";
}

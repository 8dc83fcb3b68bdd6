/// Typed values out of nodes: numbers, vectors, rotations, names, the keys of a mapping.
#include "sim/scene/foreign.h"
#include "sim/base/number.h"
#include "sim/base/printable.h"
#include "sim/scene/scene_reader.h"
#include "sim/base/suggest.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SHORTEST 1e-6  // quaternions and axes shorter than this have no direction

// ---- numbers

/// What may stand behind a number.
static const struct {
    const char *name;
    value_unit unit;
    bool degrees;
} units[] = {{"rad", ANGLE, false}, {"deg", ANGLE, true}, {"rad/s", ANGULAR_VELOCITY, false}, {"deg/s", ANGULAR_VELOCITY, true}};
enum { UNITS = sizeof units / sizeof *units };

/// The entry of `units` that stands behind a number, or -1.
static int find_unit(const char *words)
{
    words += strspn(words, " ");
    for (int i = 0; i < UNITS; i++)
        if (!strcmp(words, units[i].name)) return i;
    return -1;
}

/// What to do about the words behind a number, where a number of this unit is expected.
static const char *unit_remedy(value_unit unit, const char *text, const char *words)
{
    static const char *const degrees[] = {"degrees", "degree", "degs", "\xc2\xb0"};
    const int known = find_unit(words);
    if (known >= 0 && unit == NO_UNIT) return "; this is no angle: give the number alone";
    if (known >= 0) return unit == ANGLE ? "; this is an angle: rad or deg" : "; this is an angular velocity: rad/s or deg/s";
    if (*number_remedy(text)) return number_remedy(text);
    words += strspn(words, " ");
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees && unit != NO_UNIT; i++)
        if (!strncasecmp(words, degrees[i], strlen(degrees[i])))
            return unit == ANGLE ? "; degrees are written as in `90 deg`" : "; degrees a second are written as in `90 deg/s`";
    return isalpha((unsigned char)*words) ? "; units are SI units: give the number alone" : "";
}

bool has_unit(const node *n)
{
    double x;
    const char *end;
    return n->kind == NODE_SCALAR && n->plain && number_from_text(n->text, &x, &end) == NUMBER_GOOD && find_unit(end) >= 0;
}

bool read_quantity(source *s, const node *n, number_sign sign, value_unit unit, double *x)
{
    static const char *const kinds[] = {"a number", "a number >= 0", "a positive number"};
    if (n->kind != NODE_SCALAR) return bad_value(s, n, "expected %s, found %s", kinds[sign], found(n).text);
    const char *end;
    double value;
    const number_form form = number_from_text(n->text, &value, &end);
    if (form == NUMBER_NOT_FINITE || form == NUMBER_TOO_LARGE)
        return bad_value(s, n, "expected a finite number, found %s%s", found(n).text, number_form_remedy(form));
    if (form != NUMBER_GOOD || !n->plain)
        return bad_value(s, n, "expected %s, found %s%s", kinds[sign], found(n).text,
                         form == NUMBER_NONE   ? number_remedy(n->text)
                         : form != NUMBER_GOOD ? number_form_remedy(form)
                                               : "; write it without quotes");
    if (*end) {
        const int i = find_unit(end);
        if (i < 0 || (unit != ANY_UNIT && units[i].unit != unit))
            return bad_value(s, n, "expected %s, found %s%s", kinds[sign], found(n).text, unit_remedy(unit, n->text, end));
        if (units[i].degrees) value = value / 180 * M_PI;  // so divided, right angles are those of M_PI
    }
    if ((sign == NOT_NEGATIVE && value < 0) || (sign == POSITIVE && value <= 0))
        return bad_value(s, n, "expected %s, found %s", kinds[sign], found(n).text);
    *x = value;
    return true;
}

bool read_number(source *s, const node *n, number_sign sign, double *x) { return read_quantity(s, n, sign, NO_UNIT, x); }

bool notice_degrees(source *s, const node *n)
{
    double x;
    const char *end;
    for (const node *entry = n->child; entry; entry = entry->next)
        if (notice_degrees(s, entry)) return true;  // once for them all
    if (n->kind != NODE_SCALAR || number_from_text(n->text, &x, &end) != NUMBER_GOOD || *end) return false;
    if (fabs(x) <= 6.284) return false;  // 2 pi, as it may be rounded
    warn(s, n, "%g rad is more than a full turn; write `%g deg` for degrees, or `%g rad` if it is meant", x, x, x);
    return true;
}

bool read_kind(source *s, const node *n, const void *table, size_t size, int count, const char *known, int *row)
{
    enum { MOST = 64 };
    const char *names[MOST], *text = NULL;
    if (!read_text(s, n, &text)) return false;
    for (int k = 0; k < count && k < MOST; k++) {
        memcpy(&names[k], (const char *)table + (size_t)k * size, sizeof *names);
        if (!strcmp(text, names[k])) return *row = k, true;
    }
    const char *const meant = nearest_name(text, names, count);
    if (meant) return bad_value(s, n, "unknown %s; did you mean '%s'?", found(n).text, meant);
    return bad_value(s, n, "unknown %s; %s", found(n).text, known);
}

bool read_word(source *s, const node *n, const char *const *words, int count, const char *allowed, int *chosen)
{
    const char *text = NULL;
    if (!read_text(s, n, &text)) return false;
    for (int k = 0; k < count; k++)
        if (!strcmp(text, words[k])) return *chosen = k, true;
    return bad_value(s, n, "expected %s, found %s", allowed, found(n).text);
}

bool read_whole(source *s, const node *n, int least, int most, int *x)
{
    char range[64];
    if (most == INT_MAX) snprintf(range, sizeof range, "a whole number, %d or more", least);
    else snprintf(range, sizeof range, "a whole number from %d to %d", least, most);
    const char *end;
    double value = 0;
    const bool number = n->kind == NODE_SCALAR && n->plain && number_from_text(n->text, &value, &end) == NUMBER_GOOD && !*end;
    const bool whole = number && !strpbrk(n->text, ".eE");
    if (!whole || value < least || value > most) return bad_value(s, n, "expected %s, found %s", range, found(n).text);
    *x = (int)value;
    return true;
}

bool read_quantities(source *s, const node *n, int count, number_sign sign, const value_unit *of, double *x)
{
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected %d numbers, found %s", count, found(n).text);
    if (n->size != count) return bad_value(s, n, "expected %d numbers, found %d", count, n->size);
    bool ok = true;
    int i = 0;
    for (const node *entry = n->child; entry; entry = entry->next, i++)
        ok = read_quantity(s, entry, sign, of ? of[i] : NO_UNIT, &x[i]) && ok;
    return ok;
}

bool read_vector(source *s, const node *n, int count, number_sign sign, double *x)
{
    return read_quantities(s, n, count, sign, NULL, x);
}

bool read_each(source *s, const node *n, int count, number_sign sign, const value_unit *of, double *x)
{
    if (n->kind == NODE_SEQUENCE) {
        if (n->size == count) return read_quantities(s, n, count, sign, of, x);
        if (count == 1) return bad_value(s, n, "expected one number, found %d", n->size);
        return bad_value(s, n, "expected one number or %d, found %d", count, n->size);
    }
    value_unit unit = of ? of[0] : NO_UNIT;
    for (int i = 1; i < count; i++)
        if (of && of[i] != unit) unit = NO_UNIT;
    double value;
    if (!read_quantity(s, n, sign, unit, &value)) return false;
    for (int i = 0; i < count; i++) x[i] = value;
    return true;
}

// ---- directions and rotations

double norm(const double *x, int n)
{
    double largest = 0, sum = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(x[i])), sum += x[i] * x[i];
    if (isfinite(sum) && sum > 1e-200) return sqrt(sum);
    if (largest == 0) return 0;
    sum = 0;
    for (int i = 0; i < n; i++) sum += (x[i] / largest) * (x[i] / largest);
    return largest * sqrt(sum);
}

bool normalise(double *x, int n)
{
    double length = norm(x, n);
    if (length < SHORTEST) return false;
    if (isinf(length)) {  // longer than the largest double
        for (int i = 0; i < n; i++) x[i] *= 0.25;
        length = norm(x, n);
    }
    for (int i = 0; i < n; i++) x[i] /= length;
    return true;
}

bool read_direction(source *s, const node *n, double axis[3])
{
    double x[3];
    if (!read_vector(s, n, 3, ANY_SIGN, x)) return false;
    if (!normalise(x, 3)) return bad_value(s, n, "expected a direction, found a vector of length %g", norm(x, 3));
    memcpy(axis, x, sizeof x);
    return true;
}

bool unit_quaternion(source *s, const node *at, double q[4])
{
    return normalise(q, 4) || bad_value(s, at, "expected a unit quaternion w x y z, found one of length %g", norm(q, 4));
}

bool read_quaternion(source *s, const node *n, double q[4])
{
    double x[4];
    if (!read_vector(s, n, 4, ANY_SIGN, x) || !unit_quaternion(s, n, x)) return false;
    memcpy(q, x, sizeof x);
    return true;
}

void quaternion_from_euler(const double euler[3], double q[4])
{
    const double cx = cos(euler[0] / 2), sx = sin(euler[0] / 2);
    const double cy = cos(euler[1] / 2), sy = sin(euler[1] / 2);
    const double cz = cos(euler[2] / 2), sz = sin(euler[2] / 2);
    q[0] = cz * cy * cx + sz * sy * sx;
    q[1] = cz * cy * sx - sz * sy * cx;
    q[2] = cz * sy * cx + sz * cy * sx;
    q[3] = sz * cy * cx - cz * sy * sx;
}

bool read_angles(source *s, const node *n, double angles[3])
{
    static const value_unit of[3] = {ANGLE, ANGLE, ANGLE};
    if (!read_quantities(s, n, 3, ANY_SIGN, of, angles)) return false;
    notice_degrees(s, n);
    return true;
}

bool read_rotation(source *s, const node *rotation, const node *euler, double q[4])
{
    const double none[4] = {1, 0, 0, 0};
    memcpy(q, none, sizeof none);
    if (rotation && euler) return bad_key(s, euler, "`rotation` is given already; only one of the two is allowed");
    if (rotation) return read_quaternion(s, rotation, q);
    double angles[3];
    if (!euler) return true;
    if (!read_angles(s, euler, angles)) return false;
    quaternion_from_euler(angles, q);
    return true;
}

/// x + 2 w (u x x) + 2 u x (u x x) with q = (w, u)
void rotate(const double q[4], const double x[3], double y[3])
{
    const double w = q[0], *u = q + 1;
    const double t[3] = {2 * (u[1] * x[2] - u[2] * x[1]), 2 * (u[2] * x[0] - u[0] * x[2]), 2 * (u[0] * x[1] - u[1] * x[0])};
    const double turned[3] = {x[0] + w * t[0] + u[1] * t[2] - u[2] * t[1], x[1] + w * t[1] + u[2] * t[0] - u[0] * t[2],
                              x[2] + w * t[2] + u[0] * t[1] - u[1] * t[0]};
    memcpy(y, turned, sizeof turned);
}

// ---- texts

bool read_text(source *s, const node *n, const char **text)
{
    if (n->kind != NODE_SCALAR || node_is_null(n) || !*n->text) return bad_value(s, n, "expected text, found %s", found(n).text);
    *text = n->text;
    return true;
}

bool read_choice(source *s, const node *n, const char *no, const char *yes, bool *chosen)
{
    const bool word = n->kind == NODE_SCALAR && !node_is_null(n);
    *chosen = word && !strcmp(n->text, yes);
    return *chosen || (word && !strcmp(n->text, no)) || bad_value(s, n, "expected %s or %s, found %s", yes, no, found(n).text);
}

bool read_flag(source *s, const node *n, bool *flag) { return read_choice(s, n, "false", "true", flag); }

bool read_name(source *s, const node *n, const char **name)
{
    const char *text = 0;
    if (!read_text(s, n, &text)) return false;
    size_t size;
    const char *const hidden = find_unprintable(text, &size);
    if (hidden)
        return bad_value(s, n, "expected a name of printable characters, found %s with U+%04lX", found(n).text,
                         character_at(hidden, &size));
    if (strlen(text) > SCENE_MAX_NAME)
        return bad_value(s, n, "expected a name of at most %d bytes, found %s", SCENE_MAX_NAME, found(n).text);
    *name = text;
    return true;
}

// ---- keys

/// Reports a key that is in no table; returns the index of the key that was meant, or -1.
static int report_unknown_key(source *s, const node *value, const char *what, const key *keys, int count)
{
    enum { MOST = 40 };
    const char *names[MOST];
    char allowed[320] = "";
    for (int i = 0; i < count; i++) {
        names[i] = keys[i].name;
        if (!keys[i].name || keys[i].later) continue;
        const size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", used ? ", " : "", keys[i].name);
    }
    const char *meant = NULL, *const hint = foreign_key(what, value->key->text, &meant);
    if (!hint) meant = nearest_name(value->key->text, names, count);
    if (hint) bad_key(s, value, "unknown key; %s", hint);
    else if (meant) bad_key(s, value, "unknown key; did you mean '%s'?", meant);
    else bad_key(s, value, "unknown key; %s has: %s", what, allowed);
    for (int i = 0; i < count; i++)
        if (meant && keys[i].name && !strcmp(keys[i].name, meant)) return i;
    return -1;
}

static int find_key(const char *name, const key *keys, int count)
{
    for (int i = 0; i < count; i++)
        if (keys[i].name && !strcmp(name, keys[i].name)) return i;
    return -1;
}

bool read_keys(source *s, const node *n, const char *what, const key *keys, int count, const node **values)
{
    for (int i = 0; i < count; i++) values[i] = 0;
    if (n->kind != NODE_MAPPING)
        return bad_value(s, n, "expected %s as a mapping of keys to values, found %s", what, found(n).text);
    for (const node *value = n->child; value; value = value->next) {
        const int i = find_key(value->key->text, keys, count);
        if (i < 0) continue;
        if (values[i]) bad_key(s, value, "given twice; first in line %d", values[i]->key->line);
        else values[i] = value;
    }
    for (const node *value = n->child; value && !hopeless(s); value = value->next) {
        if (find_key(value->key->text, keys, count) >= 0) continue;
        const int i = report_unknown_key(s, value, what, keys, count);
        if (i >= 0 && !values[i]) values[i] = value;  // read what was meant, so that it is not missed as well
    }
    for (int i = 0; i < count; i++) {
        if (!values[i] || !keys[i].later) continue;
        unavailable(s, values[i]);
        values[i] = 0;
    }
    return true;
}
